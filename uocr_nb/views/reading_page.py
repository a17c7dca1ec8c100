"""A page that is being read, as a view draws it: whole once, then the rows and boxes that are new or have grown.

What has been sent of a page is a *key*; what has changed since goes together with the name of its key, so that a view
that missed some of it is right again with the next one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from uocr_nb.markup.safe_html import escape
from uocr_nb.views.boxes import box_divs, paper_html
from uocr_nb.views.marks import page_marks
from uocr_nb.views.pictures import Pictures, live_pictures
from uocr_nb.views.rows import Limits, block_row

if TYPE_CHECKING:
    from uocr_nb.document.model import Block, Page

__all__ = ["ReadingPage", "size_of"]

_LIMITS = Limits(text=4_000, cells=300, rows=40)
_PAGE_BYTES = 120_000
"""Of the rows of a key; a longer page shows its end."""

_SINCE_BYTES = 14_000
"""Of what has changed since a key, above which another key is cheaper."""

_NAME = re.compile(' title="[^"]*"')

_PLACE = "data:,"
"""Stands for the picture, which is sent once."""


def size_of(parts: dict[int, str]) -> int:
    """Characters of HTML parts."""
    return sum(map(len, parts.values()))


class ReadingPage:
    """What a view has been sent of one page.

    Parameters
    ----------
    page : Page
        With the blocks so far.
    """

    def __init__(self, page: Page) -> None:
        self.position = page.position
        self._drawn: dict[int, tuple[Block, bool, str]] = {}
        self._key = 0
        self._rows: dict[int, str] = {}
        self._boxes: dict[int, str] = {}
        self._sent_picture = ""

    def key(self, page: Page, *, again: bool = False) -> dict[str, Any]:
        """All of the page; its picture goes with it the first time, and when it is asked for `again`."""
        self._key += 1
        pictures, self._rows, self._boxes = self._draw(page)
        told = {"p": page.position, "key": self._key, "html": _whole(page, pictures, self._rows)}
        if pictures.page and (again or pictures.page != self._sent_picture):
            told["picture"] = self._sent_picture = pictures.page
        return told

    def since(self, page: Page) -> dict[str, Any] | None:
        """What has changed since the key; None when it is time for another key."""
        if not self._key:
            return None
        pictures, rows, boxes = self._draw(page)
        if pictures.page != self._sent_picture or not rows.keys() >= self._rows.keys():
            return None
        new_rows = {n: html for n, html in rows.items() if self._rows.get(n) != html}
        new_boxes = {n: html for n, html in boxes.items() if _unnamed(self._boxes.get(n, "")) != _unnamed(html)}
        if size_of(new_rows) + size_of(new_boxes) > _SINCE_BYTES and len(new_rows) > 1:
            return None
        return {"p": page.position, "key": self._key, "rows": _told(new_rows), "boxes": _told(new_boxes)}

    def _draw(self, page: Page) -> tuple[Pictures, dict[int, str], dict[int, str]]:
        pictures = live_pictures(page)
        rows: dict[int, str] = {}
        left = _PAGE_BYTES
        for number in range(len(page.blocks), 0, -1):
            html = self._row(page, number, pictures)
            left -= len(html)
            if left < 0 and rows:
                break
            rows[number] = html
        return pictures, dict(sorted(rows.items())), box_divs(page, pictures.ratio, reading=True)

    def _row(self, page: Page, number: int, pictures: Pictures) -> str:
        block, written = page.blocks[number - 1], number == len(page.blocks)
        kept = self._drawn.get(number)
        if kept is None or kept[:2] != (block, written):
            html = block_row(page, number, pictures.crops.get(number, ""), _LIMITS, written=written)
            self._drawn[number] = kept = (block, written, html)
        return kept[2]


def _unnamed(box: str) -> str:
    """A box without its name, which counts the blocks so far: all of them would change with each new one."""
    return _NAME.sub("", box, count=1)


def _told(parts: dict[int, str]) -> list[list[Any]]:
    return [[number, html] for number, html in parts.items()]


def _whole(page: Page, pictures: Pictures, rows: dict[int, str]) -> str:
    without = Pictures(_PLACE if pictures.page else "", pictures.ratio, {}, pictures.reason)
    return (
        f'<div class="uo-page uo-p{page.position}"{page_marks(page, state="reading")}>'
        f'<div class="uo-head">{escape(page.source)}</div>'
        f'<div class="uo-panes">{paper_html(page, without, reading=True)}'
        f'<div class="uo-pane">{"".join(rows.values())}</div></div></div>'
    )
