"""Formulas as MathML, for where no typesetter runs."""

from __future__ import annotations

import re
from functools import lru_cache

from uocr_nb.markup.safe_html import clean_mathml, escape
from uocr_nb.markup.tex import typesettable

__all__ = ["to_mathml"]

_TAG = re.compile(r"\\tag(\*?)\s*\{((?:[^{}\\]|\\.)*)\}")
_NUMBERED = re.compile(r"\\(begin|end)\s*\{(equation|align|gather|multline|alignat|eqnarray|flalign)\}")
_OTHER_NAMES = (
    (re.compile(r"\\[mh]box(?![A-Za-z])"), r"\\text"),
    (re.compile(r"\\(begin|end)\s*\{split\}"), r"\\\1{aligned}"),
    (re.compile(r"\\(begin|end)\s*\{(?:eqnarray|flalign|alignat)\*\}"), r"\\\1{align*}"),
    (re.compile(r"\\(?:nonumber|notag|hfill|allowbreak|displaylimits|protect)(?![A-Za-z])"), ""),
    (re.compile(r"\\vspace\*?\s*\{[^{}]*\}"), ""),
    (re.compile(r"\\smallint(?![A-Za-z])"), r"\\int"),
)
_LENGTH = re.compile(r"\\hspace\*?\s*\{[^{}]*\}")
_TEXT_ESCAPE = re.compile(r"\\([^A-Za-z])")


@lru_cache(maxsize=1024)
def to_mathml(tex: str, display: bool) -> str | None:  # noqa: FBT001 - inline or display, nothing between
    r"""MathML of a formula without its marks; None where it cannot be set, so that its source is shown instead.

    Parameters
    ----------
    tex : str
        As in an answer, or tidied.
    display : bool
        On a line of its own, with the number of its ``\tag`` beside it.
    """
    if not typesettable(tex):
        return None
    import math_core  # noqa: PLC0415 - only where formulas are exported

    numbers = _TAG.findall(tex)
    bare = _NUMBERED.sub(r"\\\1{\2*}", _TAG.sub("", tex))
    for pattern, other in _OTHER_NAMES:
        bare = pattern.sub(other, bare)
    bare = _LENGTH.sub(lambda found: "".join(found[0].split()), bare)
    if "\\tag" in bare:
        return None
    converter = math_core.LatexToMathML(fancy_error=False, allow_unreliable_rendering=True, max_expansions=10)
    try:
        made = converter.convert_with_local_state(bare.strip(), displaystyle=display)
    except Exception:  # noqa: BLE001 - whatever a formula does to the library, its source can still be read
        return None
    said = " ".join(_number(star, text) for star, text in numbers)
    if said:
        inner = made[made.index(">") + 1 : made.rindex("</math>")]
        opening = made[: made.index(">") + 1]
        made = f'{opening}<mrow>{inner}</mrow><mspace width="2em"></mspace><mtext>{escape(said)}</mtext></math>'
    return clean_mathml(made)


def _number(star: str, text: str) -> str:
    said = _TEXT_ESCAPE.sub(r"\1", text).replace("$", "").strip()
    return said if star else f"({said})"
