"""The two panes of a page and what is folded under them, kept within a number of bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uocr_nb.document.model import Status
from uocr_nb.markup.markdown import page_markdown
from uocr_nb.markup.safe_html import escape
from uocr_nb.views.boxes import paper_html
from uocr_nb.views.pictures import CROWDED, NOTEBOOK, Quality, page_pictures
from uocr_nb.views.rows import Limits, block_row
from uocr_nb.views.styles import HAIR, MONO, SECOND, code, second
from uocr_nb.views.words import count, is_blank, shortened

if TYPE_CHECKING:
    from uocr_nb.document.model import Page

__all__ = ["page_panes", "stored_quality"]

_CROWD = 60
"""From this many blocks on, boxes and rows take so many bytes that the pictures must take fewer."""

_SOURCE_SHARE = 30_000
"""Bytes at least left for the answer and the markdown source, when both are long."""


def page_panes(page: Page, *, limit: int | None, quality: Quality, limits: Limits) -> str:
    """Page picture and text, then the answer and the markdown source.

    Parameters
    ----------
    page : Page
        The page.
    limit : int or None
        Bytes of UTF-8 that all of it may take; what does not fit is named with the line that shows it.
    quality : Quality
        Of its pictures.
    limits : Limits
        Of each of its blocks.
    """
    pictures = page_pictures(page, quality)
    paper = paper_html(page, pictures)
    left = None if limit is None else limit - _size(paper) - 3_000
    rows, used = [], 0
    reserve = min(_SOURCE_SHARE, 8 * len(page.raw))
    for number in range(1, len(page.blocks) + 1):
        row = block_row(page, number, pictures.crops.get(number, ""), limits)
        used += _size(row)
        if left is not None and used > left - reserve:
            used -= _size(row)
            break
        rows.append(row)
    if left is not None:
        left -= used
    return (
        f'<div class="uo-panes" style="padding:14px 14px 0">{paper}'
        f'<div class="uo-pane" style="overflow:hidden;min-width:300px;padding:0 0 8px">{_text(page, rows)}</div>'
        '<div style="clear:both"></div></div>'
        f"{_sources(page, left)}"
    )


def stored_quality(page: Page) -> Quality:
    """How large the pictures of a page in a stored form may be."""
    return CROWDED if len(page.blocks) > _CROWD else NOTEBOOK


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _text(page: Page, rows: list[str]) -> str:
    said = list(rows)
    hidden = len(page.blocks) - len(rows)
    if hidden:
        words = f"{count(hidden, 'more block')}: "
        said.append(f'<div style="padding:0 0 0 73px">{second(words)}{code(f"doc.page({page.position}).blocks")}</div>')
    if not page.blocks:
        said.append(f'<div style="{SECOND}">{_nothing(page)}</div>')
    if page.status in (Status.TRUNCATED, Status.LOOPING):
        said.append(_cut_line(page))
    return "".join(said)


def _nothing(page: Page) -> str:
    if page.status is Status.OK:
        return "A blank page; it was not asked." if is_blank(page) else "A blank page: there is nothing to read."
    return "There is no text."


def _cut_line(page: Page) -> str:
    if page.status is Status.LOOPING:
        words = "Cut here, where the repetition began"
    elif page.finish_reason == "length" and page.tokens:
        words = f"Cut here, at {count(page.tokens, 'token')}"
    else:
        words = "Cut here"
    return (
        '<div class="uo-cut" style="margin:10px 0 8px 60px;border-top:1px dashed #a9761a;padding:4px 0 0;'
        f'font-weight:600;font-size:12px">{words}</div>'
    )


def _sources(page: Page, left: int | None) -> str:
    """Fold the answer as it came, and the markdown made from it, as far as there is room for both."""
    parts = []
    answer = page.raw
    # No more is shown than there is room for, so no more is made.
    markdown = page_markdown(page if left is None else shortened(page, max(left, 1))) if page.blocks else ""
    for kind, title, text, line in (
        ("raw", "Answer as the model wrote it", answer, f"print(doc.page({page.position}).raw)"),
        ("source", "Markdown source", markdown, f"print(doc.page({page.position}).markdown)"),
    ):
        if not text.strip():
            continue
        room = None if left is None else max(0, left if kind == "source" else left // 2)
        html, took = _folded(kind, title, text, line, room)
        left = None if left is None else left - took
        parts.append(html)
    return "".join(parts)


def _folded(kind: str, title: str, text: str, line: str, room: int | None) -> tuple[str, int]:
    note = ""
    shown = escape(text if room is None else text[: room + 1])
    if room is not None and _size(shown) > room:
        # An escaped character takes up to six bytes, a character of UTF-8 up to four.
        kept = text[: room // 6]
        shown = escape(kept)
        more = second(f"{len(text) - len(kept):,} more characters:")
        note = f'<div style="padding:0 14px 10px">{more} {code(line)}</div>'
    html = (
        f'<details class="uo-fold uo-{kind}" style="border-top:{HAIR};margin:0;padding:0">'
        f'<summary style="padding:7px 14px;font-size:12px;cursor:pointer">{title}'
        f'</summary><pre dir="auto" style="margin:0;padding:0 14px 12px;white-space:pre-wrap;overflow-wrap:break-word;'
        f"max-height:360px;overflow:auto;font-family:{MONO};font-size:11px;line-height:17px;background-color:transparent;"
        f'border:0">{shown}</pre>{note}</details>'
    )
    return html, _size(shown)
