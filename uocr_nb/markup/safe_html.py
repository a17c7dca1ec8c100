"""The one place where page text becomes HTML: everything is escaped, and tables go through an allow-list."""

from __future__ import annotations

import html
import re

__all__ = ["MAX_SPAN", "clean_table", "escape"]

MAX_SPAN = 1000
"""Cells spread over no more columns or rows than this (HTML's own limit for columns)."""

_TAGS = {"table", "tr", "td", "th", "br", "sub", "sup"}
_ATTRIBUTES = {"td": {"colspan", "rowspan"}, "th": {"colspan", "rowspan"}}
_DROPPED = {"script", "style", "template", "noscript", "iframe", "object", "svg", "math", "title", "textarea", "xmp"}
# Control characters have no place in HTML, and lone surrogates cannot be written in UTF-8.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


def escape(text: str) -> str:
    """`text` as it may stand in HTML, in an element or between the quotes of an attribute."""
    return html.escape(_FORBIDDEN.sub("\ufffd", text), quote=True)


def clean_table(markup: str) -> str:
    """HTML of a table that keeps table, tr, td, th, br, sub, sup and sound spans, and nothing else."""
    import nh3  # noqa: PLC0415 - only where markup is shown

    return nh3.clean(
        _FORBIDDEN.sub("\ufffd", markup),
        tags=_TAGS,
        clean_content_tags=_DROPPED,
        attributes=_ATTRIBUTES,
        attribute_filter=_span,
        link_rel=None,
        url_schemes=set(),
        strip_comments=True,
    )


def _span(_element: str, _attribute: str, value: str) -> str | None:
    number = value.strip()
    if not (number.isascii() and number.isdigit() and len(number) <= 18):
        return None
    return str(min(int(number), MAX_SPAN)) if int(number) > 1 else None
