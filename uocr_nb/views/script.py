"""The inline script of a stored form: sections of the drawing module, without comments and indentation.

It is one classic script, the last child of its root: `document.currentScript` is set then, and no id is needed to find
the root. It calls ``boot(element)``, which the section `core` defines: the root is the element or around it.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

__all__ = ["inline_script", "section", "squeezed"]

_START = (
    "const own=document.currentScript;"
    'boot(own?.closest(".uo-root")||own?.parentNode.querySelector(".uo-root:not([data-on])")'
    '||[...document.querySelectorAll(".uo-root:not([data-on])>script")].pop());'
)
"""JupyterLab, Notebook, Colab and a page as such run the script where it stands. VS Code runs a copy of it that it
appends to the output; in a module or a worker of a host there may be no current script at all."""

_PIECE = re.compile(
    r"(?P<space>\s+)|(?P<comment>//[^\n]*|/\*.*?\*/)"
    r"|(?P<string>\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')"
    r"|(?P<regex>/(?![*/])(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*)"
    r"|(?P<word>[\w$]+)|(?P<sign>=>|&&|\|\||\?\?|[=!]==?|[<>+]=|\+\+|--|[\s\S])",
    re.DOTALL,
)
_TEMPLATE = re.compile(r"(?:[^`\\$]|\\.|\$(?!\{))*", re.DOTALL)

_BEFORE_VALUE = set("(,=:[!&|?{};+-*%<>~^")
_WORDS_BEFORE_VALUE = {"return", "typeof", "case", "in", "of", "delete", "void", "throw", "new", "else", "do", "await"}
"""After these a slash begins a regular expression; after a name, a number or a closing bracket it divides."""

_TIGHT = {*"{}()[];,=:", "=>", "&&", "||", "??", "==", "===", "!=", "!==", "<=", ">=", "+="}
"""Signs that need no space beside them, whatever stands there."""


@cache
def inline_script(sections: tuple[str, ...] = ("core",)) -> str:
    """The script to stand between ``<script>`` and ``</script>``, made once.

    Parameters
    ----------
    sections : tuple of str
        Of the drawing module: ``core``, ``compare``.
    """
    code = squeezed("\n".join(section(name) for name in sections))
    made = f'(function(){{"use strict";\n{code}\n{_START}\n}})();'
    if re.search(r"</script|<script|<!--|-->", made, re.IGNORECASE):
        raise ValueError("The inline script holds what ends a script element or comments out what follows.")
    return made


def section(name: str) -> str:
    """What stands between ``//#section NAME`` and the next ``//#end`` of the drawing module."""
    code = files("uocr_nb.views").joinpath("viewer.js").read_text(encoding="utf-8")
    found = re.search(rf"^//#section {re.escape(name)}$(.*?)^//#end$", code, re.MULTILINE | re.DOTALL)
    if found is None:
        raise ValueError(f"The drawing module has no section {name!r}.")
    return found[1]


def squeezed(code: str) -> str:
    """JavaScript without comments, indentation, blank lines and spaces that mean nothing; line ends stay.

    Strings, template literals and regular expressions keep every character.
    """
    parts: list[str] = []
    at, last, gap = 0, "", ""
    depth = 0
    inside: list[int] = []  # depth of braces in which each open template literal is interrupted
    while at < len(code):
        ends = code[at] == "}" and inside and inside[-1] == depth
        if code[at] == "`" or ends:
            if ends:
                inside.pop()
                depth -= 1
            text = _TEMPLATE.match(code, at + 1)
            kind, piece = "template", code[at : text.end() + 1 if text else at + 1]
            if piece.endswith("$"):
                piece += "{"
                depth += 1
                inside.append(depth)
        else:
            kind, piece = _piece(code, at, last)
        at += len(piece)
        if kind in ("space", "comment"):
            gap = "\n" if "\n" in gap + piece else " "
            continue
        depth += {"{": 1, "}": -1}.get(piece, 0) if kind == "sign" else 0
        parts.append(_between(last, piece, gap) + piece)
        last, gap = piece, ""
    return "".join(parts)


def _piece(code: str, at: int, last: str) -> tuple[str, str]:
    found = _PIECE.match(code, at)
    if found is None or (found.lastgroup == "regex" and not _value_may_come(last)):
        return "sign", code[at]
    return str(found.lastgroup), found[0]


def _between(before: str, after: str, gap: str) -> str:
    """What is left of the space between two pieces: a line end may end a statement, a space may part two words."""
    if not before or not gap:
        return ""
    if gap == "\n":
        return "" if before[-1] in "{([,;" or after[0] in ")],;}" else "\n"
    if before in _TIGHT or after in _TIGHT or before.endswith("${") or after[0] == "}":
        return ""
    signs = before[-1] + after[0]
    if before in "+-" or after in "+-":
        return " " if signs in ("++", "--", "+-", "-+") else ""
    return "" if before == "?" and after[0] != "." else " "


def _value_may_come(last: str) -> bool:
    return not last or last in _WORDS_BEFORE_VALUE or last[-1] in _BEFORE_VALUE
