"""The two panes of a page and what is folded under them, kept within a number of bytes."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from uocr_nb.document.model import Status
from uocr_nb.markup.markdown import page_markdown
from uocr_nb.markup.safe_html import escape
from uocr_nb.views.boxes import ALL_BOXES, STORED_BOXES, boxed, paper_html
from uocr_nb.views.labels import FIGURES
from uocr_nb.views.pictures import STORED, Pictures, page_pictures
from uocr_nb.views.rows import FULL, SHORT, block_row
from uocr_nb.views.styles import HAIR, MONO, SECOND, code, second
from uocr_nb.views.words import count, is_blank, shortened

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from uocr_nb.document.model import Page
    from uocr_nb.views.pictures import Quality
    from uocr_nb.views.rows import Limits

__all__ = ["page_panes"]

_SOURCE_SHARE = 30_000
"""Bytes at least left for the answer and the markdown source, when both are long."""

_FOLD = 800
"""Bytes of each of them without its text."""

_LEAST_SOURCE = 2 * _FOLD + 400
"""Bytes left for both where the blocks need the room."""

_CROWDED = 60
"""Blocks of a stored page from which on they are drawn in few bytes, so that all of them are there."""

_DENSE = 200
"""The same for a page that is sent to a view, which may take more."""

_FRAME = 1_500
"""Bytes of what stands around them, and of the lines that name what is left out."""

_PANE = "overflow:hidden;min-width:300px;padding:0 0 8px;overflow-wrap:break-word"
_PLAIN_PANE = f"{_PANE};font-size:12px;line-height:18px;white-space:pre-line"

_MATHML = re.compile(r" data-mml='[^']*'")


def page_panes(
    page: Page, *, limit: int | None, limits: Limits, quality: Quality | None = None, edited: Collection[int] = ()
) -> str:
    """Page picture and text, then the answer and the markdown source.

    Parameters
    ----------
    page : Page
        The page.
    limit : int or None
        Bytes of UTF-8 that all of it may take; what does not fit is named with the line that shows it.
    limits : Limits
        Of each of its blocks.
    quality : Quality or None
        Of its pictures; what the text leaves room for when None.
    edited : collection of int
        Numbers of the blocks that a person corrected.
    """
    plain = limit is not None and len(page.blocks) > (_CROWDED if quality is None else _DENSE)
    most = ALL_BOXES if limit is None or quality is not None else STORED_BOXES
    draw_paper = partial(paper_html, page, edited=edited, plain=plain, most=most)
    text = _Rows(page, limits, edited, None if limit is None else limit // 5, plain=plain, most=most)
    if limit is None:
        pictures = page_pictures(page, quality or STORED[0])
        paper = draw_paper(pictures)
        text.fill(None)
        text.show(pictures.crops)
    else:
        # The text comes first: a picture can be smaller, words cannot.
        limit -= _FRAME
        reserve = max(_LEAST_SOURCE, min(_SOURCE_SHARE, limit // 6, 8 * len(page.raw)))
        bare = _size(draw_paper(Pictures("", 1.414, {}))) + reserve
        text.fill(limit - bare - _most(page, quality or STORED[-1]))
        if len(text.drawn) < len(page.blocks):  # then they need the room more than their source does
            bare -= reserve - _LEAST_SOURCE
            reserve = _LEAST_SOURCE
            text.fill(limit - bare - _most(page, quality or STORED[-1]))
        left = limit - bare - text.size
        fitting = [one for one in STORED if _most(page, one) <= left]
        pictures = page_pictures(page, quality or (fitting or STORED[-1:])[0])
        paper = draw_paper(pictures)
        text.show(pictures.crops)
        limit -= _size(paper)
        text.fill(limit - reserve)
        limit -= text.size
    return (
        f'<div class="uo-panes" style="padding:14px 14px 0">{paper}'
        f'<div class="uo-pane" style="{_PLAIN_PANE if plain else _PANE}">'
        f"{_text(page, text.drawn)}</div>"
        '<div style="clear:both"></div></div>'
        f"{_sources(page, limit)}"
    )


def _most(page: Page, quality: Quality) -> int:
    """Bytes that the pictures of a page may take in base64."""
    crops = quality.crop_bytes if any(block.label in FIGURES for block in page.blocks) else 0
    return (quality.page_bytes + crops) * 4 // 3


class _Rows:
    """The rows of a page, from the first one, as far as there is room.

    Parameters
    ----------
    page, limits, edited : Page, Limits, collection of int
        As in `page_panes`.
    mathml : int or None
        Characters of MathML; formulas after that are set by the host's typesetter, or stay as written.
    plain : bool
        Whether they are drawn in few bytes.
    most : int
        Boxes on the page; the rows of further blocks have none beside them.
    """

    def __init__(
        self, page: Page, limits: Limits, edited: Collection[int], mathml: int | None, *, plain: bool, most: int
    ) -> None:
        self.drawn: list[str] = []
        self.size = 0
        self._page = page
        self._limits = limits
        self._edited = edited
        self._crops: Mapping[int, str] = {}
        self._mathml = mathml
        self._plain = plain
        self._boxed = boxed(page, most=most)

    def fill(self, room: int | None) -> None:
        """Draw further rows, up to so many bytes of all of them."""
        for number in range(len(self.drawn) + 1, len(self._page.blocks) + 1):
            row = self._row(number, self._limits)
            if room is not None and self.size + _size(row) > room and self._limits is FULL:
                # The beginning of a long block is more than nothing.
                row = self._row(number, SHORT)
            if room is not None and self.size + _size(row) > room:
                break
            self.drawn.append(row)
            self.size += _size(row)

    def show(self, crops: Mapping[int, str]) -> None:
        """Put the crops of figures into their rows."""
        self._crops = crops
        for number in crops:
            if number <= len(self.drawn):
                row = self._row(number, self._limits)
                self.size += _size(row) - _size(self.drawn[number - 1])
                self.drawn[number - 1] = row

    def _row(self, number: int, limits: Limits) -> str:
        draw = partial(
            block_row,
            self._page,
            number,
            self._crops.get(number, ""),
            edited=number in self._edited,
            titled=number not in self._boxed,
            plain=self._plain,
        )
        row = draw(limits)
        if self._mathml is None:
            return row
        took = sum(map(len, _MATHML.findall(row)))
        if took > self._mathml:
            return draw(replace(limits, mathml=False))
        self._mathml -= took
        return row


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _text(page: Page, rows: list[str]) -> str:
    said = list(rows)
    hidden = len(page.blocks) - len(rows)
    if hidden:
        words = f"{count(hidden, 'more block')}: "
        said.append(f'<div style="padding:0 0 0 73px">{second(words)}{code(f"doc.page({page.position}).blocks")}</div>')
    if not page.blocks:
        said.append(f'<div class="uo-say" style="{SECOND}">{_nothing(page)}</div>')
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
        room = None if left is None else max(0, (left if kind == "source" else left // 2) - _FOLD)
        html = _folded(kind, title, text, line, room)
        left = None if left is None else left - _size(html)
        parts.append(html)
    return "".join(parts)


def _folded(kind: str, title: str, text: str, line: str, room: int | None) -> str:
    note = ""
    shown = escape(text if room is None else text[: room + 1])
    if room is not None and _size(shown) > room:
        # An escaped character takes up to six bytes, a character of UTF-8 up to four.
        kept = text[: room // 6]
        shown = escape(kept)
        more = second(f"{len(text) - len(kept):,} more characters:")
        note = f'<div class="uo-left" style="padding:0 14px 10px">{more} {code(line)}</div>'
    return (
        f'<details class="uo-fold uo-{kind}" style="border-top:{HAIR};margin:0;padding:0">'
        f'<summary style="padding:7px 14px;font-size:12px;cursor:pointer">{title}'
        f'</summary><pre dir="auto" style="margin:0;padding:0 14px 12px;white-space:pre-wrap;overflow-wrap:break-word;'
        f"max-height:360px;overflow:auto;font-family:{MONO};font-size:11px;line-height:17px;background-color:transparent;"
        f'border:0">{shown}</pre>{note}</details>'
    )
