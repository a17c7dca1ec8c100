r"""Formulas: what stands in ``\( \)`` and ``\[ \]`` in an answer, told apart from prose and made ready for MathJax.

Dollar signs of an answer are prices, never formulas: the model does not write formulas with them.
"""

from __future__ import annotations

import re
from typing import Literal

__all__ = ["Part", "split_maths", "tidy", "to_dollar"]

Part = tuple[Literal["text", "inline", "display"], str]

# A doubled backslash is a line end of LaTeX, also in "\\[2pt]".
_MARK = re.compile(r"\\\\|\\[()\[\]]")
_KIND: dict[str, Literal["inline", "display"]] = {"\\(": "inline", "\\[": "display"}
_CLOSING = {"\\(": "\\)", "\\[": "\\]"}

_WORDS = re.compile(
    r"\\(?:text|mbox|hbox|textrm|textbf|textit|texttt|operatorname|verb|label|ref|tag|hspace|kern|begin)\b"
)
_SCRIPT = re.compile(r"(?<!\s)\s*+([_^])\s*+")
_SPACED_ARGUMENT = re.compile(r"(\\[A-Za-z]+)[ \t]++(?=\{)")
_DIGITS = re.compile(r"(?<![A-Za-z\\])([0-9][0-9.,]?)[ \t](?=[0-9])")
_LETTERS = re.compile(r"(?<![\\A-Za-z])[A-Za-z](?: [A-Za-z](?![A-Za-z])){2,}+")
_SPACES = re.compile(r"[ \t]{2,}+")
_BLANK_LINES = re.compile(r"\n[ \t]*+(?=\n)")
_LONE_DOLLAR = re.compile(r"(\\.)|\$", re.DOTALL)


def split_maths(text: str) -> list[Part]:
    """`text` in parts of prose and of formulas, the latter without their marks and tidied.

    A mark that is not closed is prose.
    """
    parts: list[Part] = []
    at, opener, start = 0, "", 0
    for match in _MARK.finditer(text):
        mark = match[0]
        if mark in _KIND and (not opener or mark == opener):
            opener, start = mark, match.start()
        elif opener and mark == _CLOSING[opener]:
            if start > at:
                parts.append(("text", text[at:start]))
            parts.append((_KIND[opener], tidy(text[start + 2 : match.start()])))
            at, opener = match.end(), ""
    if at < len(text):
        parts.append(("text", text[at:]))
    return parts


def to_dollar(text: str) -> str:
    r"""`text` with ``\(x\)`` as ``$x$``, ``\[x\]`` as ``$$x$$`` on lines of their own, other dollars as ``\$``."""
    written = []
    for kind, part in split_maths(text):
        if kind == "text":
            written.append(part.replace("$", "\\$"))
        elif not part:
            continue
        elif kind == "inline":
            written.append(f"${part}$")
        else:
            written.append(f"\n$$\n{part}\n$$\n")
    return "".join(written).strip("\n")


def tidy(formula: str) -> str:
    r"""A formula without the space that the model puts between its letters and digits.

    Only what LaTeX itself ignores is taken out, so nothing looks different: space around ``^`` and ``_``, between
    digits, and in runs of three or more single letters; never in formulas that hold words or names (``\text``).
    """
    formula = formula.replace(r"\coloneqq", ":=").replace(r"\eqqcolon", "=:")
    formula = _SPACED_ARGUMENT.sub(r"\1", _BLANK_LINES.sub("", formula))
    # A dollar sign would end the formula early.
    formula = _LONE_DOLLAR.sub(lambda found: found[1] or r"\$", formula)
    if _WORDS.search(formula) is None:
        formula = _SCRIPT.sub(r"\1", formula)
        formula = _DIGITS.sub(r"\1", formula)
        formula = _LETTERS.sub(lambda run: run[0].replace(" ", ""), formula)
        formula = _SPACES.sub(" ", formula)
    return formula.strip()
