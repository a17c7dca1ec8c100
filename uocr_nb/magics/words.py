"""The words of a magic's line, and what they stand for in the user's namespace.

IPython's own expansion is switched off for the magics: it would turn ``report{2}.pdf`` into ``report2.pdf``. A word
that is wholly ``{expression}`` or ``$name`` stands for that object; inside a longer word the same forms are replaced
by their text, unless a file of exactly that name exists.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from uocr_nb.errors import OptionError

__all__ = ["split", "value_of"]

_NAME = re.compile(r"\$([A-Za-z_]\w*)")
_INSIDE = re.compile(r"\{([^{}]+)\}|\$([A-Za-z_]\w*)")
_CLOSING = {"{": "}", "[": "]", "(": ")"}


def split(line: str) -> list[str]:
    """Split `line` at white space; quotes hold a word together, and so do the brackets of a ``{...}`` word.

    Raises
    ------
    OptionError
        When a quote or a brace is not closed.
    """
    words: list[str] = []
    at = 0
    while at < len(line):
        if line[at].isspace():
            at += 1
            continue
        word, at = _word(line, at)
        words.append(word)
    return words


def _word(line: str, at: int) -> tuple[str, int]:
    if line[at] == "{":
        end = _end_of_braces(line, at)
        if end is not None:
            return line[at:end], end
    parts: list[str] = []
    while at < len(line) and not line[at].isspace():
        char = line[at]
        # Behind a letter it is an apostrophe, as in l'atlas.pdf or an address.
        if char == '"' or (char == "'" and not line[at - 1 : at].isalnum()):
            end = line.find(char, at + 1)
            if end < 0:
                raise OptionError(
                    "A quote is not closed.",
                    f"It opens at: {line[at : at + 40]}",
                    "Put names with spaces between two quotes of one kind.",
                )
            parts.append(line[at + 1 : end])
            at = end + 1
        elif char == "\\" and os.name != "nt" and line[at + 1 : at + 2] in (" ", '"', "'", "\\"):
            parts.append(line[at + 1])
            at += 2
        else:
            parts.append(char)
            at += 1
    return "".join(parts), at


def _end_of_braces(line: str, at: int) -> int | None:
    """The place after the brace that closes the one at `at`, if the word ends there."""
    closing: list[str] = []
    while at < len(line):
        char = line[at]
        if char in "\"'":
            end = line.find(char, at + 1)
            at = len(line) if end < 0 else end
        elif char in _CLOSING:
            closing.append(_CLOSING[char])
        elif closing and char == closing[-1]:
            closing.pop()
            if not closing:
                return at + 1 if at + 1 == len(line) or line[at + 1].isspace() else None
        at += 1
    return None


def value_of(word: str, namespace: dict[str, Any]) -> Any:
    """What `word` stands for: an object for a whole ``{expression}`` or ``$name``, else text.

    Raises
    ------
    OptionError
        When an expression fails or a name is unknown.
    """
    if _is_file(word):
        return word
    if word.startswith("{") and word.endswith("}") and len(word) > 2:
        return _evaluate(word[1:-1], namespace)
    if match := _NAME.fullmatch(word):
        return _named(match[1], namespace)
    return _INSIDE.sub(lambda match: _text_of(match, namespace), word)


def _text_of(match: re.Match[str], namespace: dict[str, Any]) -> str:
    expression, name = match.groups()
    if name is not None:
        if name in namespace or name in os.environ:
            return str(_named(name, namespace))
        return match[0]
    try:
        return str(_evaluate(expression, namespace))
    except OptionError:
        # Braces are legal in file names: what is no expression stays as it was typed.
        return match[0]


def _named(name: str, namespace: dict[str, Any]) -> Any:
    if name in namespace:
        return namespace[name]
    if name in os.environ:
        return os.environ[name]
    raise OptionError(
        f"There is no variable {name}.", f"${name} stands for a variable of this notebook.", f"{name} = ..."
    )


def _evaluate(expression: str, namespace: dict[str, Any]) -> Any:
    """The user's own expression in the user's own namespace, as in any cell."""
    try:
        return eval(expression, namespace)  # noqa: S307 - typed by the user, never taken from a page
    except Exception as error:  # noqa: BLE001 - whatever the user's expression raises
        raise OptionError(
            f"{{{expression}}} could not be worked out.",
            f"{type(error).__name__}: {error}",
            "Try it in a cell of its own.",
        ) from None


def _is_file(word: str) -> bool:
    try:
        return Path(word).expanduser().exists()
    except (OSError, ValueError, RuntimeError):
        return False
