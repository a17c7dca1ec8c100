"""Where on the page a stretch of a block's text stands: guessed, as answers have boxes for blocks alone.

The block's text is set into its box as a printer would: lines of one height, letters of one width (two for a letter of
Chinese, Japanese or Korean). From the shape of the box and the length of the text follows how many lines there are.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING

from uocr_nb.document.model import COORD_MAX

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from uocr_nb.document.model import Box
    from uocr_nb.markup.cells import Grid

__all__ = ["Lines", "cell_box", "count_lines", "line_boxes"]

_LETTER, _LINE = 0.47, 1.3
"""Width of a letter and height of a line, as parts of the size of the type; means of printed pages."""

_LAST_LINE = 0.4
"""Of the last line of a paragraph, this much is empty in the mean."""

_MOST_CHARACTERS = 100_000


def _units(char: str) -> int:
    if char < "\u0300":
        return 1
    return 0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _lengths(text: str) -> Sequence[int]:
    """How many units stand before each character, and in all."""
    return range(len(text) + 1) if text.isascii() else list(accumulate(map(_units, text), initial=0))


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
    length = _lengths(text[:_MOST_CHARACTERS])[-1]
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
    return Lines(box, size, text).places(start, end)


class Lines:
    """A block's text set into its box, for several stretches of it; arguments as in `count_lines`."""

    def __init__(self, box: Box, size: tuple[int, int], text: str) -> None:
        text = text[:_MOST_CHARACTERS]
        self._box = box
        self._length = len(text)
        self._before = _lengths(text)
        number = count_lines(box, size, text)
        self._room = max(self._before[-1] / (number - _LAST_LINE if number > 1 else 1), 1)
        # Each written line begins a printed one; how many more it takes follows from its length.
        self._begins, self._tops, top = [0], [0], 0
        for n in (n for n, char in enumerate(text) if char == "\n"):
            top += self._taken(n)
            self._begins.append(n + 1)
            self._tops.append(top)
        written = top + self._taken(len(text))
        self._tall = (box[3] - box[1]) / (written if len(self._begins) > 1 else max(number, written))

    def _taken(self, after: int) -> int:
        """Printed lines from the beginning of the last written one on."""
        return max(1, -(-(self._before[after] - self._before[self._begins[-1]]) // max(round(self._room), 1)))

    def places(self, start: int, end: int) -> list[Box]:
        """Where the characters `start` to `end` stand, as `line_boxes` gives it."""
        start, end = max(0, start), min(end, self._length)
        found: list[Box] = []
        for n in range(bisect_right(self._begins, start) - 1, len(self._begins)):
            first = self._begins[n]
            if first >= end:
                break
            after = self._begins[n + 1] - 1 if n + 1 < len(self._begins) else self._length
            one, two = max(start, first), min(end, after)
            if one < two:
                found += self._parts(self._before[one], self._before[two], self._before[first], self._tops[n])
        return found

    def _parts(self, left: int, right: int, first: int, top: int) -> Iterator[Box]:
        """One box a printed line, of what stands between two units of a written line."""
        left, right, room, wide = left - first, right - first, self._room, self._box[2] - self._box[0]
        for line in range(int(left // room), int(-(-right // room))):
            x1, x2 = max(left - line * room, 0) / room, min(right - line * room, room) / room
            y1 = self._box[1] + (top + line) * self._tall
            place = (self._box[0] + x1 * wide, y1, self._box[0] + x2 * wide, y1 + self._tall)
            yield _clipped(place, self._box)


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
