"""Where on the page a stretch of a block's text stands: guessed, as answers have boxes for blocks alone.

The block's text is set into its box as a printer would: lines of one height, letters of one width (two for a letter of
Chinese, Japanese or Korean). From the shape of the box and the length of the text follows how many lines there are.
"""

from __future__ import annotations

import unicodedata
from itertools import accumulate
from typing import TYPE_CHECKING

from uocr_nb.document.model import COORD_MAX

if TYPE_CHECKING:
    from uocr_nb.document.model import Box
    from uocr_nb.markup.cells import Grid

__all__ = ["cell_box", "count_lines", "line_boxes"]

_LETTER, _LINE = 0.47, 1.3
"""Width of a letter and height of a line, as parts of the size of the type; means of printed pages."""

_LAST_LINE = 0.4
"""Of the last line of a paragraph, this much is empty in the mean."""

_MOST_CHARACTERS = 100_000


def _units(char: str) -> int:
    if char < "\u0300":
        return 1
    return 0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1


def count_lines(box: Box, size: tuple[int, int], text: str) -> int:
    """Guess how many printed lines the text takes in its box; at least the lines that it is written in.

    Parameters
    ----------
    box : tuple of int
        x1, y1, x2, y2 in 0..999.
    size : tuple of int
        Width and height of the page image in pixels, of which only the ratio counts.
    text : str
        The whole text of the block.
    """
    lines = text[:_MOST_CHARACTERS].split("\n")
    length = sum(map(_units, text[:_MOST_CHARACTERS]))
    across = max(box[2] - box[0], 1) * max(size[0], 1)
    along = max(box[3] - box[1], 1) * max(size[1], 1)
    # across = letters a line * 0.47 type, along = lines * 1.3 type, letters a line * lines = length.
    guess: float = (along * length * _LETTER / (across * _LINE)) ** 0.5
    return max(1, round(guess), len([line for line in lines if line.strip()]))


def line_boxes(box: Box, size: tuple[int, int], text: str, start: int, end: int) -> list[Box]:
    """Guess where the characters `start` to `end` of a block's text stand: one box (0..999) for each line.

    Parameters
    ----------
    box, size, text
        As in `count_lines`.
    start, end : int
        The stretch, as a slice has it.
    """
    text = text[:_MOST_CHARACTERS]
    start, end = max(0, min(start, len(text))), max(0, min(end, len(text)))
    if start >= end:
        return []
    number = count_lines(box, size, text)
    ends = list(accumulate(map(_units, text), initial=0))
    room = max(ends[-1] / (number - _LAST_LINE if number > 1 else 1), 1)
    # Each written line begins a printed one; how many more it takes follows from its length.
    begins, tops, top = [0], [0], 0
    for n, char in enumerate(text):
        if char == "\n":
            top += max(1, -(-(ends[n] - ends[begins[-1]]) // max(round(room), 1)))
            begins.append(n + 1)
            tops.append(top)
    last = max(1, -(-(ends[-1] - ends[begins[-1]]) // max(round(room), 1)))
    number = max(number, top + last)
    if len(begins) > 1:
        number = top + last
    wide, tall = box[2] - box[0], (box[3] - box[1]) / number
    found: list[Box] = []
    for n, first in enumerate(begins):
        after = begins[n + 1] - 1 if n + 1 < len(begins) else len(text)
        one, two = max(start, first), min(end, after)
        if one >= two:
            continue
        left, right = ends[one] - ends[first], ends[two] - ends[first]
        for line in range(int(left // room), int(-(-right // room))):
            x1, x2 = max(left - line * room, 0) / room, min(right - line * room, room) / room
            y1 = box[1] + (tops[n] + line) * tall
            found.append(_clipped((box[0] + x1 * wide, y1, box[0] + x2 * wide, y1 + tall), box))
    return found


def cell_box(box: Box, grid: Grid, row: int, column: int) -> Box:
    """Guess where a cell of a table stands (row and column from 0): rows of one height, columns by their texts."""
    widths = [3.0] * max(grid.columns, 1)
    for cell in (cell for line in grid.rows for cell in line):
        if cell.colspan == 1:
            widths[cell.col] = max(widths[cell.col], min(24.0, 2.0 + max(map(len, cell.text.split("\n")))))
    edges = [0.0, *accumulate(widths)]
    rows = max(len(grid.rows), 1)
    row, column = max(0, min(row, rows - 1)), max(0, min(column, len(widths) - 1))
    found = next((c for line in grid.rows for c in line if (c.row, c.col) == (row, column)), None)
    down, over = (found.rowspan, found.colspan) if found else (1, 1)
    wide, tall = (box[2] - box[0]) / edges[-1], (box[3] - box[1]) / rows
    return _clipped(
        (
            box[0] + edges[column] * wide,
            box[1] + row * tall,
            box[0] + edges[min(column + over, len(widths))] * wide,
            box[1] + (row + down) * tall,
        ),
        box,
    )


def _clipped(found: tuple[float, float, float, float], box: Box) -> Box:
    """Whole numbers, inside the block's box, at least one wide and high where the page has room."""
    x1, y1 = (max(0, min(round(found[n]), box[n + 2], COORD_MAX)) for n in (0, 1))
    x2, y2 = (max(0, min(round(found[n]), box[n], COORD_MAX)) for n in (2, 3))
    return x1, y1, max(x2, min(x1 + 1, COORD_MAX)), max(y2, min(y1 + 1, COORD_MAX))
