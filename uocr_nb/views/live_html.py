"""A document while it is read, drawn anew at each update: one page in full, a line for each of a few others.

What it takes does not grow with the number of pages, nor with what a page holds: the page shown is the first of those
being read, of its text the end, and its picture is encoded once. The frame has from the start the lines that the final
form will have, so that the output keeps its height.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import uuid4

from uocr_nb.document.model import Status
from uocr_nb.markup.safe_html import escape
from uocr_nb.views.boxes import paper_html
from uocr_nb.views.cells import pieces
from uocr_nb.views.icons import icon, status_icon
from uocr_nb.views.labels import FIGURES
from uocr_nb.views.marks import document_marks, page_marks
from uocr_nb.views.page_html import MAX_PAGES, root_html
from uocr_nb.views.page_lines import page_head
from uocr_nb.views.pictures import Pictures, live_pictures
from uocr_nb.views.progress import progress_html
from uocr_nb.views.rows import Limits, block_row
from uocr_nb.views.styles import ACCENT, HAIR, fact, second
from uocr_nb.views.summary import name_of
from uocr_nb.views.tiles import tiles_html, tiles_of
from uocr_nb.views.words import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uocr_nb.document.model import Page
    from uocr_nb.reading.progress import Progress

__all__ = ["live_html"]

_LINES = 24
"""Lines of text beside a page that is being read, about as high as the paper; what is above scrolls away."""

_CHARACTERS = 62
"""Of a line."""

_LIMITS = Limits(text=_LINES * _CHARACTERS, cells=240, rows=14)
_LONG_NAME = 44
_PANE = 420
"""px of the text pane, however little it holds."""


def live_html(progress: Progress, pages: Sequence[Page], *, uid: str | None = None, with_pages: bool = True) -> str:
    """Draw what is done and what is being read.

    Parameters
    ----------
    progress : Progress
        How far the reading is; its `partial` pages are those being read.
    pages : sequence of Page
        Those that have a status.
    uid : str or None
        Marks the root for what drives it.
    with_pages : bool
        Whether pages are drawn; else the line of progress alone.
    """
    total = max(progress.total, len(pages))
    done = {page.position for page in pages}
    # A page may be done between the two looks at it.
    partial = [page for page in progress.partial if page.position not in done] if with_pages else []
    reading = {*progress.reading, *(page.position for page in partial)} - done
    tiles = tiles_html(tiles_of(total, pages, reading), height=8) if total > 1 else ""
    parts = [progress_html(progress, tiles)]
    if with_pages:
        if total > 1:
            parts.append(_counts(pages, reading, total))
        parts += _pages(progress, pages, partial, reading)
    marks = document_marks(pages or partial, total=total, reading=reading)
    return root_html("".join(parts), uid or uuid4().hex[:12], "live", marks=marks)


def _counts(pages: Sequence[Page], reading: set[int], total: int) -> str:
    """How the pages are so far: ``8 ok, 1 looping, 4 being read, 1 waiting``."""
    counts = Counter(page.status for page in pages)
    said = [f"{status_icon(status)}{counts[status]:,} {status}" for status in Status if counts[status]]
    if reading:
        said.append(f"{_ring()}{len(reading):,} being read")
    if (waiting := total - len(pages) - len(reading)) > 0:
        said.append(f"{waiting:,} waiting")
    about = f"{escape(name_of(pages))}, {count(total, 'page')}" if pages else count(total, "page")
    return (
        f'<div class="uo-summary" style="padding:9px 14px;border-bottom:{HAIR}">'
        f"{''.join(fact(text, ink='first') for text in said)}{fact(about, wraps=len(about) > _LONG_NAME)}</div>"
    )


def _ring() -> str:
    return icon("ring", ACCENT)


def _pages(progress: Progress, pages: Sequence[Page], partial: Sequence[Page], reading: set[int]) -> list[str]:
    """The page in front, then a line for each of the others that there is room for."""
    total = max(progress.total, len(pages))
    front = partial[0] if partial else pages[-1] if pages else None
    named = total < 2 or len({page.source for page in (*pages, *partial)}) > 1
    if front is None:
        head, panes = fact(f"{_ring()}No page yet. The first one is being read.", ink="first"), _empty()
        classes, marks = "uo-page", ""
    else:
        written = bool(partial)
        head = page_head(front, total if total > 1 else 0, named=named, state=_reading_word() if written else "")
        panes = _panes(front, written=written)
        classes = f"uo-page uo-p{front.position}"
        marks = page_marks(front, state="reading" if written else "")
    in_front = (
        f'<div class="{classes}"{marks} style="margin:0;padding:0">'
        f'<div class="uo-head" style="padding:9px 14px;border-bottom:{HAIR}">{head}</div>{panes}</div>'
    )
    known = {page.position: page for page in (*pages, *partial)}
    others = _window(total, front.position if front is not None else 1, known, reading)
    parts = [in_front, *(_line(n, known.get(n), total, reading, named=named) for n in others)]
    if (left := total - 1 - len(others)) > 0:
        words = second(count(left, "more page"))
        parts.append(f'<div class="uo-more" style="padding:9px 14px;border-top:{HAIR}">{words}</div>')
    return parts


def _window(total: int, front: int, known: dict[int, Page], reading: set[int]) -> list[int]:
    """Positions of the pages beside the one in front: those being read, the ones done last, the next ones."""
    most = min(total, MAX_PAGES) - 1
    now = sorted(reading - {front})[:most]
    done = sorted(set(known) - reading - {front}, reverse=True)
    upcoming = (n for n in range(1, total + 1) if n not in known and n not in reading and n != front)
    # Half of what is left looks back, unless nothing is to come.
    waiting = [n for n, _ in zip(upcoming, range(most), strict=False)]
    room = most - len(now)
    back = max(room - len(waiting), room // 2)
    chosen = [*now, *done[:back]]
    return sorted([*chosen, *waiting[: most - len(chosen)]])


def _line(position: int, page: Page | None, total: int, reading: set[int], *, named: bool) -> str:
    """One page that is not in front, in the height of a folded page of the final form."""
    now = position in reading
    if page is None or (now and not page.blocks):
        state = _reading_word() if now else second("waiting")
        head = f"{fact(f'page {position:,} of {total:,}', ink='strong')}{fact(state, ink='first')}"
    else:
        head = page_head(page, total, named=named, state=_reading_word() if now else "", kinds=False)
    rule = HAIR if page is not None or now else "1px dashed #8080805c"
    bar = f"border-left:3px solid {ACCENT};padding:9px 14px 9px 11px" if now else "padding:9px 14px"
    # One line in any width, so that nothing moves when a page is done.
    return (
        f'<div class="uo-line uo-p{position}" style="border-top:{rule};{bar}">'
        f'<div style="height:20px;overflow:hidden">{head}</div></div>'
    )


def _reading_word() -> str:
    return f'{_ring()}<span style="font-weight:600">reading</span>'


def _empty() -> str:
    paper = (
        '<div class="uo-paper" style="float:left;width:42%;min-width:300px;max-width:560px;box-sizing:border-box;'
        'margin:0 16px 14px 0;border:1px dashed #80808099"><div style="padding:141.4% 0 0"></div></div>'
    )
    return _frame(paper, "")


def _panes(page: Page, *, written: bool) -> str:
    """The picture with the boxes so far, and the end of the text so far."""
    pictures = live_pictures(page)
    first = _first_shown(page)
    rows = [
        _row(page, number, pictures, written=written and number == len(page.blocks))
        for number in range(first, len(page.blocks) + 1)
    ]
    if first > 1:
        above = second(f"{count(first - 1, 'block')} above")
        rows.insert(0, f'<div style="padding:0 0 6px 73px">{above}</div>')
    return _frame(paper_html(page, pictures, reading=written), "".join(rows))


def _row(page: Page, number: int, pictures: Pictures, *, written: bool) -> str:
    block = page.blocks[number - 1]
    if len(block.text) > _LIMITS.text and "<table" not in block.text:
        end = block.text[-_LIMITS.text :]
        blocks = (*page.blocks[: number - 1], replace(block, text=f"... {end}"), *page.blocks[number:])
        page = replace(page, blocks=blocks)
    return block_row(page, number, pictures.crops.get(number, ""), _LIMITS, written=written)


def _frame(paper: str, text: str) -> str:
    return (
        f'<div class="uo-panes" style="padding:14px 14px 0">{paper}'
        f'<div class="uo-pane" style="overflow:hidden;min-width:300px;min-height:{_PANE}px;padding:0 0 8px;'
        f'overflow-wrap:break-word">{text}</div>'
        '<div style="clear:both"></div></div>'
    )


def _first_shown(page: Page) -> int:
    """Number of the first block whose text, with all that follow, fits beside the paper; the last one always does."""
    room = float(_LINES)
    for number in range(len(page.blocks), 0, -1):
        room -= _lines(page, number)
        if room < 0:
            return min(number + 1, len(page.blocks))
    return 1


def _lines(page: Page, number: int) -> float:
    """Lines that the row of a block takes, about."""
    block = page.blocks[number - 1]
    if block.label in FIGURES:
        return 8.0
    lines = 0.3
    for piece in pieces(block):
        if isinstance(piece, str):
            lines += sum(1 + len(line) // _CHARACTERS for line in piece[: 4 * _LINES * _CHARACTERS].splitlines())
        else:
            lines += 1.1 * min(len(piece.rows), (_LIMITS.rows or 0) + 2)
    return lines
