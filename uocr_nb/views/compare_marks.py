"""Where on the page two runs differ: a mark under what B has alone, as far as it can be guessed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uocr_nb.document.model import COORD_MAX
from uocr_nb.markup.align import side
from uocr_nb.markup.line_boxes import Lines, cell_box
from uocr_nb.markup.pieces import differences
from uocr_nb.markup.table_pairs import align_tables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from uocr_nb.document.model import Block, Box
    from uocr_nb.markup.align import Pair
    from uocr_nb.markup.content import Content
    from uocr_nb.views.compared import ComparedPage

__all__ = ["places_html", "places_of"]

_GROUND = "#3d82c84d"
"""No line under it, as beside: it would promise more than a guess can keep."""
_AROUND = 3
"""Characters by which a mark is wider than what it marks, on each side."""
_MOST, _MOST_OF_ROW = 120, 12
"""Marks on a page, and those of one block; of a block that differs more, its box says enough."""


def places_html(compared: ComparedPage) -> str:
    """Draw the marks of a page; they lie under its boxes."""
    drawn: list[str] = []
    for pair in compared.pairs:
        found = places_of(compared, pair)
        if len(found) > _MOST_OF_ROW or len(drawn) + len(found) > _MOST:
            continue
        drawn += [
            f'<div class="uo-where" style="position:absolute;{_place(box)};background-color:{_GROUND}"></div>'
            for box in found
        ]
    return "".join(drawn)


def places_of(compared: ComparedPage, pair: Pair) -> list[Box]:
    """Guess where what only B says stands on the page (0..999)."""
    if pair.agreement == 1 or compared.a is None or compared.b is None or len(pair.a) != 1 or len(pair.b) != 1:
        return []
    block = compared.b.blocks[pair.b[0] - 1]
    mine, other = side(compared.a.blocks, pair.a), side(compared.b.blocks, pair.b)
    return list(_places(block, mine, other, compared.b.size)) if block.box is not None else []


def _places(block: Block, mine: Content, other: Content, size: tuple[int, int]) -> Iterator[Box]:
    if block.box is None:
        return
    if mine.kind == other.kind == "table":
        pairs = align_tables(mine.grid, other.grid)
        for r, c in sorted(pairs.differ) if len(pairs.differ) <= _MOST_OF_ROW else ():
            row, column = pairs.rows[r][1], pairs.columns[c][1]
            if row is not None and column is not None:
                yield cell_box(block.box, other.grid, row, column)
    elif other.kind == "text":  # letters of LaTeX are no letters on the page
        pieces = differences(mine.text, other.text)[1]
        if sum(kind == "only" for kind, _text in pieces) > _MOST_OF_ROW:
            return
        lines, at = Lines(block.box, size, other.text), 0
        for kind, text in pieces:
            if kind == "only":
                yield from lines.places(at - _AROUND, at + len(text) + _AROUND)
            at += len(text)


def _place(box: Box) -> str:
    sides = {"left": box[0], "top": box[1], "width": box[2] - box[0], "height": box[3] - box[1]}
    return ";".join(f"{name}:{value / COORD_MAX * 100:.1f}%" for name, value in sides.items())
