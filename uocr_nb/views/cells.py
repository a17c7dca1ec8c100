"""Tables as the views need them: which blocks hold one, and which cells stand right."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from uocr_nb.markup.safe_html import escape
from uocr_nb.markup.tables import Cell, Grid, parse_table, split_tables
from uocr_nb.views.words import count, in_doubt

if TYPE_CHECKING:
    from uocr_nb.document.model import Block, Page

__all__ = ["about", "extent", "head_rows", "is_number", "last_rows", "numeric_columns", "pieces", "table_index"]


_NUMBER = re.compile(r"[^\w\s]{0,3}\d[\d.,\s]{0,24}(?:[eE][+-]?\d{1,4})?\s?[^\w\s]{0,3}(?:[kKMmB])?|[-–—]")
_LONGEST_NUMBER = 40
_MOST_HEAD_ROWS = 4


def pieces(block: Block) -> tuple[Grid | str, ...]:
    """Split the text of a block into tables and what stands around them; most blocks are one piece of text."""
    text = block.text.strip()
    if block.label != "table" and "<table" not in text:
        return (text,)
    return _split(text)


@lru_cache(maxsize=256)  # the box, its row and the plain text ask for the same table
def _split(text: str) -> tuple[Grid | str, ...]:
    found: list[Grid | str] = []
    for kind, part in split_tables(text):
        if kind == "text":
            found.append(part.strip())
        elif any((grid := parse_table(part)).rows):
            found.append(grid)
    return tuple(found)


def table_index(page: Page, number: int) -> int:
    """Count the tables of `page` before its block `number`: the index in `page.tables` of the block's first one."""
    return sum(not isinstance(piece, str) for block in page.blocks[: number - 1] for piece in pieces(block))


def extent(block: Block) -> str:
    """Size of the block's first table, ``7 rows, 11 columns``; nothing when it has none."""
    for piece in pieces(block):
        if not isinstance(piece, str):
            return f"{count(len(piece.rows), 'row')}, {count(piece.columns, 'column')}"
    return ""


def about(block: Block, *, edited: bool = False) -> str:
    """Say what is to be known of a block beside its label: the size of its table, that it is in doubt or `edited`."""
    sure = f"in doubt ({block.confidence:.0%} sure)" if block.confidence is not None and in_doubt(block) else ""
    return ", ".join(filter(None, (extent(block), sure, "edited" if edited else "")))


def last_rows(grid: Grid, keep: int) -> Grid:
    """The head and the last `keep` rows of a table that grows at its end, spans filled."""
    head = head_rows(grid)
    if len(grid.rows) <= head + keep:
        return grid
    matrix = grid.matrix()
    lines = matrix[:head] + matrix[len(matrix) - keep :]
    # The last row ends where it is being written.
    lines[-1] = lines[-1][: max((cell.col + cell.colspan for cell in grid.rows[-1]), default=0)]
    return Grid(
        tuple(
            tuple(Cell(text, row, col, html=escape(text).replace("\n", "<br>")) for col, text in enumerate(line))
            for row, line in enumerate(lines)
        )
    )


def is_number(text: str) -> bool:
    """Tell whether a cell stands right: a number with its sign, unit sign or percent, or a dash for none."""
    return len(text) <= _LONGEST_NUMBER and _NUMBER.fullmatch(text.strip()) is not None


def numeric_columns(grid: Grid) -> set[int]:
    """Find the columns (from 0) in which at least half of the filled cells below the head are numbers."""
    numbers: dict[int, list[bool]] = {}
    head = grid.head_rows()
    for cell in (cell for row in grid.rows[head:] for cell in row):
        if cell.colspan == 1 and not cell.header and cell.text.strip():
            numbers.setdefault(cell.col, []).append(is_number(cell.text))
    return {column for column, votes in numbers.items() if sum(votes) * 2 >= len(votes)}


def head_rows(grid: Grid) -> int:
    """Count the rows at the top that are the head: further ones hold words where columns of numbers stand below."""
    head = grid.head_rows()
    right = numeric_columns(grid)
    while head and head < min(len(grid.rows) - 1, _MOST_HEAD_ROWS):
        above = [cell.text for cell in grid.rows[head] if cell.col in right and cell.text.strip()]
        if not above or any(map(is_number, above)):
            break
        head += 1
    return head
