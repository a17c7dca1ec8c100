"""One page of two runs as HTML: the page with what differs, and beside it what A and B say and how far they agree."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from uocr_nb.document.model import Block, Status
from uocr_nb.markup.align import side
from uocr_nb.markup.safe_html import escape
from uocr_nb.views.boxes import paper_html
from uocr_nb.views.compare_marks import places_html
from uocr_nb.views.compare_rows import difference_row
from uocr_nb.views.compared import around, reasons
from uocr_nb.views.labels import status_hue
from uocr_nb.views.marks import page_marks
from uocr_nb.views.page_html import PAGE_BYTES
from uocr_nb.views.pictures import STORED, Pictures, page_pictures
from uocr_nb.views.rows import Limits, block_row
from uocr_nb.views.styles import HAIR, SECOND, TINT_ERROR, TINT_WARNING, code, fact, second
from uocr_nb.views.words import count, facts, percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uocr_nb.document.model import Page
    from uocr_nb.views.compare import Comparison
    from uocr_nb.views.compared import ComparedPage
    from uocr_nb.views.pictures import Quality

__all__ = ["compared_page_html", "drawn_page"]

_FRAME_BYTES = 3_000
_SAME = Limits(text=1_500, cells=160, mathml=True)
"""Of a block that is the same on both sides and folded away."""
_SAME_SHARE = 3
"""The blocks that are the same may take this part of a page's bytes."""
_WIDTH, _WIDE = "width:28%;min-width:240px;max-width:360px", 220.0
"""What the page takes of the room, and what that is in px in a usual output."""


def compared_page_html(
    comparison: Comparison,
    page: ComparedPage,
    *,
    limit: int = PAGE_BYTES,
    folded: bool = False,
    first: bool = True,
    place: str = "",
    quality: Quality | None = None,
) -> str:
    """One page: a line about it, the page with what differs, and what A and B say.

    Parameters
    ----------
    comparison : Comparison
        Whose page it is.
    page : ComparedPage
        The page.
    limit : int
        Bytes that it may take.
    folded : bool
        Whether it is folded away.
    first : bool
        Whether nothing stands above it.
    place : str
        Its id, for links.
    quality : Quality or None
        Of the page picture; what the text leaves room for when None.
    """
    drawn = drawn_page(page)
    inner = _banner(page) + _panes(comparison, page, drawn, limit - _FRAME_BYTES, quality)
    head = _head(comparison, page)
    classes = f"uo-page uo-p{page.position}"
    marks = (f' id="{place}"' if place else "") + page_marks(drawn) + f' data-same="{percent(page.agreement, 1)}"'
    marks += f' data-agree="{sum(pair.same for pair in page.pairs)} of {count(len(page.pairs), "block")}"'
    rule = "" if first else f"border-top:{HAIR};"
    if folded:
        return (
            f'<details class="{classes}"{marks} style="{rule}margin:0;padding:0">'
            f'<summary class="uo-head" style="padding:9px 14px;cursor:pointer">{head}</summary>'
            f'<div style="border-top:{HAIR}"></div>{inner}</details>'
        )
    return (
        f'<div class="{classes}"{marks} style="{rule}margin:0;padding:0">'
        f'<div class="uo-head" style="padding:9px 14px;border-bottom:{HAIR}">{head}</div>{inner}</div>'
    )


def drawn_page(page: ComparedPage) -> Page:
    """The page with one block a pair: numbers, labels and, of those that differ, boxes, as they are drawn.

    Its picture is that of B, or of A where B has none.
    """
    mine, other = ((one.blocks if one is not None else ()) for one in (page.a, page.b))
    blocks = []
    for pair in page.pairs:
        blocks_of, numbers = (other, pair.b) if pair.b else (mine, pair.a)
        first = blocks_of[numbers[0] - 1]
        box = None if pair.same else around(other, pair.b) or around(mine, pair.a)
        blocks.append(Block(first.label, first.text if len(numbers) == 1 else side(blocks_of, numbers).text, box))
    base = page.page
    if base is page.b and page.a is not None and not (base.sha256 or base.image_file or base.origin):
        base = replace(page.a, source=base.source, number=base.number, name=base.name)
    # What a run took stands above its column.
    return replace(base, position=page.position, blocks=tuple(blocks), status=page.status, tokens=None, seconds=None)


def _panes(comparison: Comparison, page: ComparedPage, drawn: Page, limit: int, quality: Quality | None) -> str:
    # What differs is neither cut off nor hatched on the page: the banner says how far a run came.
    sheet = replace(drawn, status=Status.OK)
    places = places_html(page)
    bare = len(paper_html(sheet, Pictures("", 1.414, {}), width=_WIDTH, wide=_WIDE, under=places).encode())
    least = STORED[-1].page_bytes * 4 // 3
    rows = _rows(comparison, page, drawn, limit - bare - least)
    left = limit - bare - len(rows.encode())
    fitting = [one for one in STORED if one.page_bytes * 4 // 3 <= left]
    # Crops are not shown, so none are made.
    picture = page_pictures(replace(sheet, blocks=()), quality or (fitting or STORED[-1:])[0])
    paper = paper_html(sheet, picture, width=_WIDTH, wide=_WIDE, under=places)
    return (
        f'<div class="uo-panes" style="padding:14px 14px 0">{paper}'
        f'<div class="uo-pane" style="overflow:hidden;min-width:300px;padding:0 0 10px">{rows}</div>'
        '<div style="clear:both"></div></div>'
    )


def _rows(comparison: Comparison, page: ComparedPage, drawn: Page, room: int) -> str:
    """The rows that differ in full, as far as there is room; those between them folded into one line."""
    parts = [_columns_head(comparison, page)]
    room -= len(parts[0].encode())
    folding = room // _SAME_SHARE  # for all that is the same
    left_out = 0
    run: list[int] = []

    def fold() -> None:
        nonlocal folding, room
        if run:
            part = _fold(drawn, run, folding)
            folding -= len(part.encode())
            room -= len(part.encode())
            parts.append(part)
            run.clear()

    for number, pair in enumerate(page.pairs, 1):
        if pair.same:
            run.append(number)
            continue
        fold()
        row = difference_row(page, drawn, number)
        size = len(row.encode("utf-8", "replace"))
        if left_out or size > room - max(folding, 0):
            left_out += 1
            continue
        room -= size
        parts.append(row)
    fold()
    if left_out:
        words = second(f"{count(left_out, 'more difference')}:")
        line = code(f"comparison.page({page.position}).blocks")
        parts.append(f'<div class="uo-left" style="padding:8px 0 0 54px;border-top:{HAIR}">{words} {line}</div>')
    if not page.pairs:
        parts.append(f'<div style="padding:8px 0;{SECOND}">There is no text on either side.</div>')
    return "".join(parts)


def _fold(drawn: Page, numbers: Sequence[int], room: int) -> str:
    """``3 blocks are the same``, unfolded to their text."""
    rows: list[str] = []
    for number in numbers:
        row = block_row(drawn, number, "", _SAME)
        room -= len(row.encode("utf-8", "replace"))
        if room < 0:
            rows.append(
                f'<div style="padding:0 0 6px 60px">{second(count(len(numbers) - len(rows), "more block"))}</div>'
            )
            break
        rows.append(row)
    words = f"{count(len(numbers), 'block')} {'is' if len(numbers) == 1 else 'are'} the same"
    return (
        f'<details class="uo-same" style="margin:0;padding:0;border-top:{HAIR}"><summary style="padding:7px 0 7px 54px;'
        f'font-size:12px;cursor:pointer;background-color:#80808012">{words}</summary>'
        f'<div style="padding:6px 0 2px">{"".join(rows)}</div></details>'
    )


def _columns_head(comparison: Comparison, page: ComparedPage) -> str:
    """What A and B are, above their columns."""
    sides = []
    for letter, one, name, place in zip(
        "AB", (page.a, page.b), comparison.names, ("float:left;width:50%", "overflow:hidden"), strict=True
    ):
        took = ", ".join(facts(one)) if one is not None else f"{letter} has no such page"
        title = fact(escape(name), ink="strong", wraps=True) if name else ""
        sides.append(
            f'<div class="uo-side uo-side-{letter.lower()}" style="{place};min-width:230px;box-sizing:border-box;'
            f'padding:0 14px 0 0">{fact(letter, ink="strong")}{title}{fact(escape(took), wraps=True)}</div>'
        )
    return (
        '<div class="uo-heads" style="position:relative;padding:0 66px 7px 54px">'
        f'{"".join(sides)}<div style="clear:both"></div>'
        f'<div class="uo-share" style="position:absolute;right:0;top:0;{SECOND}">same</div></div>'
    )


def _head(comparison: Comparison, page: ComparedPage) -> str:
    """The line about a page: its place, how many blocks agree, and how far they do."""
    total = len(comparison)
    base = page.page
    place = f"page {page.position:,} of {total:,}"
    many = len({one.page.source for one in comparison.pages}) > 1
    name = fact(escape(base.source), ink="strong", kind="uo-name", wraps=True) if many or total == 1 else ""
    agree = sum(pair.same for pair in page.pairs)
    said = f"A and B agree on {agree:,} of {count(len(page.pairs), 'block')}" if page.pairs else "no text"
    moved = f"{count(page.moved, 'block')} in another order" if page.moved else ""
    # The share stands at the right end: people look for it first.
    share = (
        f'<div style="float:right;margin:0 0 0 12px"><span style="font-weight:600">{percent(page.agreement, 1)}</span>'
        f"{second(' the same')}</div>"
    )
    facts_ = [name, fact(place, ink="first" if name else "strong"), fact(said, wraps=True)]
    return share + "".join(facts_) + (fact(moved, wraps=True) if moved else "")


def _banner(page: ComparedPage) -> str:
    said = reasons(page)
    if not said:
        return ""
    severe = page.status in (Status.MISSING, Status.FAILED)
    return (
        f'<div class="uo-banner" style="padding:8px 14px 8px 11px;border-left:3px solid {status_hue(page.status)};'
        f'border-bottom:{HAIR};background-color:{TINT_ERROR if severe else TINT_WARNING}">'
        f'<span class="uo-reason" dir="auto">{escape(" ".join(said))}</span></div>'
    )
