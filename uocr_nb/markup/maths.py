r"""Formulas: what stands in ``\( \)`` and ``\[ \]`` in an answer, told apart from prose and made ready for MathJax.

Dollar signs are prices unless what stands between two of them can only be a formula: some engines write ``$x^2$``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from uocr_nb.markup.mathml import to_mathml
from uocr_nb.markup.tex import tidy, typesettable

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Part", "bare_formula", "split_maths", "tidy", "to_mathml", "typesettable"]

Part = tuple[Literal["text", "inline", "display"], str]

# A doubled backslash is a line end of LaTeX, also in "\\[2pt]".
_MARK = re.compile(r"\\\\|\\[()\[\]]")
_KIND: dict[str, Literal["inline", "display"]] = {"\\(": "inline", "\\[": "display"}
_CLOSING = {"\\(": "\\)", "\\[": "\\]"}

_DOLLARS = re.compile(
    r"(?<![\\$])(?:\$\$(?!\$)(?P<display>[^$]{1,3000}?)(?<!\\)\$\$(?!\$)"
    r"|\$(?![\s$])(?P<inline>(?:[^$\\\n]|\\[^\n]){1,300}?)(?<![\s\\])\$(?![0-9$]))"
)
_COMMAND = re.compile(r"\\[A-Za-z]+[ ]?\*?(?:\{[^{}]*\})?")
_SCRIPT = re.compile(r"[A-Za-z0-9)\]}]\s?[_^]\s?[A-Za-z0-9{\\*+\-']")
_SYMBOLS = re.compile(r"\(?[A-Za-z]'*\)?(?:\s?[-+*/=<>,|()]\s?\(?(?:[A-Za-z]|[0-9.]{1,12})'*\)?){0,12}")
_WORD = re.compile(r"[^\W\d_]{3,}|[A-Z]{2,}[_ ]")


def split_maths(text: str) -> list[Part]:
    """`text` in parts of prose and of formulas, the latter without their marks and tidied.

    A mark that is not closed is prose.
    """
    parts: list[Part] = []
    for kind, part in _marked(text):
        if kind != "text":
            parts.append((kind, tidy(part)))
            continue
        for piece in _between_dollars(part):
            # What two unclosed marks leave is one piece of prose.
            if piece[0] == "text" and parts and parts[-1][0] == "text":
                parts[-1] = ("text", parts[-1][1] + piece[1])
            else:
                parts.append(piece)
    return parts


def _marked(text: str) -> Iterator[Part]:
    last = {"\\(": text.rfind("\\)"), "\\[": text.rfind("\\]")}
    at, opener, start = 0, "", 0
    for match in _MARK.finditer(text):
        mark = match[0]
        if mark in _KIND and (not opener or mark == opener):
            # An opener that nothing closes is passed by, so that it does not hide the formulas after it.
            if match.start() < last[mark]:
                opener, start = mark, match.start()
        elif opener and mark == _CLOSING[opener]:
            if start > at:
                yield ("text", text[at:start])
            yield (_KIND[opener], text[start + 2 : match.start()])
            at, opener = match.end(), ""
    if at < len(text):
        yield ("text", text[at:])


def _between_dollars(text: str) -> Iterator[Part]:
    at = 0
    if text.count("$") > 1:
        for match in _DOLLARS.finditer(text):
            kind: Literal["inline", "display"] = "display" if match["display"] is not None else "inline"
            formula = match[kind]
            if not _is_formula(formula):
                continue
            if match.start() > at:
                yield ("text", text[at : match.start()])
            yield (kind, tidy(formula))
            at = match.end()
    if at < len(text):
        yield ("text", text[at:])


def _is_formula(text: str) -> bool:
    """Whether `text` can only be a formula: it has commands or scripts and no words, or is a symbol or a short sum."""
    bare = _COMMAND.sub(" ", text)
    if _WORD.search(bare):
        return False
    return bare != text or _SCRIPT.search(text) is not None or _SYMBOLS.fullmatch(text.strip()) is not None


def bare_formula(text: str) -> str | None:
    """The formula of an equation block, whose marks may be missing or be dollars; None where it holds marked ones."""
    bare = text.strip()
    for mark in ("$$", "$"):
        inner = bare[len(mark) : -len(mark)]
        if bare.startswith(mark) and bare.endswith(mark) and inner.strip() and "$" not in inner:
            return tidy(inner)
    if "\\(" in bare or "\\[" in bare:
        return None
    return tidy(bare)
