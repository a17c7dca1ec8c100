"""The one place where page text becomes HTML: everything is escaped, and tables and formulas go through allow-lists."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Any

from uocr_nb.document.halves import UNSOUND

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["MAX_SPAN", "clean_mathml", "clean_table", "escape", "quoted", "visible"]

MAX_SPAN = 1000
"""Cells spread over no more columns or rows than this (HTML's own limit for columns)."""

_TABLE = {name: set[str]() for name in ("table", "tr", "br", "sub", "sup")}
_TABLE |= {"td": {"colspan", "rowspan"}, "th": {"colspan", "rowspan"}}

_MATHML = {name: set[str]() for name in ("mn", "mprescripts", "msub", "msubsup", "msup", "mtext", "b", "i")}
_MATHML |= {name: set[str]() for name in ("msqrt", "mroot", "mmultiscripts", "mphantom", "mtr")}
_MATHML |= {
    "math": {"display"},
    "menclose": {"notation"},
    "mfrac": {"linethickness", "displaystyle", "scriptlevel", "style"},
    "mi": {"mathvariant"},
    "mo": {"lspace", "rspace", "stretchy", "symmetric", "form", "minsize", "maxsize", "movablelimits", "largeop"},
    "mover": {"accent"},
    "mpadded": {"style"},
    "mrow": {"style", "displaystyle", "scriptlevel"},
    "mspace": {"width", "style"},
    "mtable": {"displaystyle", "scriptlevel", "style"},
    "mtd": {"style"},
    "munder": {"accentunder"},
    "munderover": {"accent", "accentunder"},
}
_WORD = re.compile(r"[a-z]{1,24}(?: [a-z]{1,24})?|[0-9]{1,2}(?:\.[0-9]{1,9})?(?:em)?")
_STYLE = re.compile(
    r"(?:color: ?#[0-9A-Fa-f]{6}|width: ?(?:100|[0-9]{1,2}(?:\.[0-9])?)%|text-align: ?(?:left|right|center)|padding-"
    r"(?:left|right|top|bottom): ?(?:0|[0-2]?\.[0-9]{1,4}em|[0-2]em)|justify-items: ?(?:start|end|center)"
    r"|margin-left: ?-?(?:0?\.[0-9]{1,9}|1)em|border-(?:left|right|top|bottom): ?0\.05em (?:solid|dashed) currentcolor)"
)

_DROPPED = {"script", "style", "template", "noscript", "iframe", "object", "svg", "math", "title", "textarea", "xmp"}
# Noncharacters, which the rooms of this package use as marks in text that is being written.
_OURS = re.compile("[\ufdd0-\ufdef]")
# They turn the direction of what follows, also beyond the text that holds them.
_TURNING = re.compile("[\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """`text` with its control characters as U+FFFD, and the marks that turn the direction of text written out.

    A right-to-left override in a name or a line would show other text in a false order. Arabic and Hebrew need no such
    marks: what they are written in comes from their letters.
    """
    text = _OURS.sub("\ufffd", UNSOUND.sub("\ufffd", text))
    return _TURNING.sub(lambda found: f"[U+{ord(found[0]):04X}]", text)


def escape(text: str) -> str:
    """`text` as it may stand in HTML, in an element or between the quotes of an attribute."""
    return html.escape(visible(text), quote=True)


def quoted(text: str) -> str:
    """`text` as it may stand between the single quotes of an attribute: JSON and markup, which it keeps short."""
    return visible(text).replace("&", "&amp;").replace("'", "&#39;")


def clean_table(markup: str) -> str:
    """HTML of a table that keeps table, tr, td, th, br, sub, sup and sound spans, and nothing else."""
    return _clean(UNSOUND.sub("\ufffd", markup), _TABLE, _DROPPED, _span)


def clean_mathml(markup: str) -> str:
    """MathML without links, actions, classes, or styles that reach past the formula."""
    return _clean(visible(markup), _MATHML, _DROPPED - {"math"}, _sound)


def _clean(
    markup: str, allowed: dict[str, set[str]], dropped: set[str], sound: Callable[[str, str, str], str | None]
) -> str:
    import nh3  # noqa: PLC0415 - only where markup is shown

    options: dict[str, Any] = {"link_rel": None, "url_schemes": set(), "strip_comments": True}
    return nh3.clean(
        markup,
        tags=set(allowed),
        clean_content_tags=dropped,
        attributes={name: attributes for name, attributes in allowed.items() if attributes},
        attribute_filter=sound,
        **options,
    )


def _span(_element: str, _attribute: str, value: str) -> str | None:
    number = value.strip()
    if not (number.isascii() and number.isdigit() and len(number) <= 18):
        return None
    return str(min(int(number), MAX_SPAN)) if int(number) > 1 else None


def _sound(_element: str, attribute: str, value: str) -> str | None:
    if attribute == "style":
        kept = [part.strip() for part in value.split(";") if _STYLE.fullmatch(part.strip())]
        return ";".join(kept) or None
    return value if _WORD.fullmatch(value) else None
