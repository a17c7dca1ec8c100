"""Tables from the places of the words: rows by centre, columns by ink and rules, spans by what crosses.

No model: clustering of the pieces that were read did better than the grid models that can be shipped.
"""

from __future__ import annotations

import html
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from uocr_nb.local_server.geometry import Rect, union
from uocr_nb.local_server.pieces import Piece, Run, cut_at, scored_words
from uocr_nb.local_server.table_grid import Row, find_columns, group_rows, reach, upright_borders, usual_pitch
from uocr_nb.local_server.table_rows import (
    join_between_rules,
    join_headings,
    join_rests,
    open_edges_of,
    places,
    settle_loose,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uocr_nb.local_server.rules import Rules

__all__ = ["Cell", "build_table", "table_html", "table_runs"]


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: its place, how far it spans, and its pieces in reading order."""

    row: int
    col: int
    rowspan: int
    colspan: int
    pieces: tuple[Piece, ...]

    @property
    def text(self) -> str:
        """Text of the pieces, one space between."""
        return " ".join(piece.text for piece in self.pieces)


def build_table(pieces: Sequence[Piece], rules: Rules | None = None) -> list[Cell]:
    """Cells of the table that `pieces` make up, by row, then column; empty places are not listed.

    Parameters
    ----------
    pieces : sequence of Piece
        All text inside the table.
    rules : Rules, optional
        Drawn lines of the page.
    """
    if not pieces:
        return []
    unit = median(piece.box.height for piece in pieces)
    area = union(piece.box for piece in pieces)
    upright = upright_borders(rules, area, unit)
    pitch = usual_pitch(pieces, unit)
    edges = find_columns(group_rows(pieces, unit, pitch), unit, upright)
    fitted = [part for piece in pieces for part in _fitted(piece, edges)]
    rows = group_rows(fitted, unit, pitch)
    level = [rule for rule in (rules.level if rules else ()) if rule.overlap_x(area) > 0.5 * rule.width]
    for row in rows:
        row.open_edges = open_edges_of(row, edges, upright, rules)
    rows = join_between_rules(join_headings(rows, edges), edges, level, area)
    rows = join_rests(rows, edges, unit, pitch)
    settle_loose(rows, edges)
    cells: list[Cell] = []
    for number, row in enumerate(rows):
        below = rows[number + 1].middle if number + 1 < len(rows) else row.middle
        under = [rule for rule in level if row.middle < rule.cy < below and rule.width < 0.9 * area.width]
        cells += _row_cells(row, number, edges, under)
        cells += [replace(cell, rowspan=2) for cell in _row_cells(Row(row.loose, []), number, edges)]
    cells = _spans_by_rules(cells, rows, edges, level)
    return sorted(cells, key=lambda cell: (cell.row, cell.col))


def _fitted(piece: Piece, edges: Sequence[float]) -> list[Piece]:
    """Cut a piece that holds the texts of several columns: each border meets a space, each part its column."""
    first, last = reach(piece.box, edges)
    if first == last:
        return [piece]
    parts = cut_at(piece, edges[first:last])
    fits = len(parts) == last - first + 1 and all(
        reach(Rect(part.box.cx, 0, part.box.cx, 0), edges)[0] == first + n for n, part in enumerate(parts)
    )
    return parts if fits else [piece]


def _row_cells(row: Row, number: int, edges: Sequence[float], under: Sequence[Rect] = ()) -> list[Cell]:
    """Make the cells of one row; pieces that meet in a column share a cell."""
    return [
        Cell(number, first, 1, last - first + 1, _by_line(members))
        for first, last, members in places(row, edges, under)
    ]


def _by_line(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    """Order the pieces of a cell: line by line, each from left to right."""
    lines: list[list[Piece]] = []
    for piece in sorted(pieces, key=lambda p: p.box.cy):
        if lines and piece.box.cy - lines[-1][0].box.cy < 0.5 * piece.box.height:
            lines[-1].append(piece)
        else:
            lines.append([piece])
    return tuple(piece for line in lines for piece in sorted(line, key=lambda p: p.box.x1))


def _spans_by_rules(
    cells: Sequence[Cell], rows: Sequence[Row], edges: Sequence[float], level: Sequence[Rect]
) -> list[Cell]:
    """Let a cell reach down where a rule below its row leaves out its column and the place below is empty."""
    taken = {
        (r, c)
        for cell in cells
        for r in range(cell.row, cell.row + cell.rowspan)
        for c in range(cell.col, cell.col + cell.colspan)
    }
    grown = list(cells)
    for number, (upper, lower) in enumerate(pairwise(rows)):
        between = [rule for rule in level if upper.middle < rule.cy < lower.middle]
        if not between:
            continue
        ruled = {c for rule in between for c in range(reach(rule, edges)[0], reach(rule, edges)[1] + 1)}
        for n, cell in enumerate(grown):
            own = range(cell.col, cell.col + cell.colspan)
            ends_here = cell.row + cell.rowspan - 1 == number
            if ends_here and not ruled.intersection(own) and not any((number + 1, c) in taken for c in own):
                grown[n] = replace(cell, rowspan=cell.rowspan + 1)
                taken |= {(number + 1, c) for c in own}
    return grown


def table_html(cells: Sequence[Cell]) -> str:
    """Write one line of HTML as the model does: no header cells, spans in double quotes, empty cells empty."""
    return "".join(text for text, _ in table_runs(cells))


def table_runs(cells: Sequence[Cell]) -> list[Run]:
    """The same in stretches: markup is certain, what stands in a cell has the scores of its words."""
    out: list[Run] = [("<table>", 1.0)]
    rows = max((cell.row + cell.rowspan for cell in cells), default=0)
    columns = max((cell.col + cell.colspan for cell in cells), default=0)
    at = {(cell.row, cell.col): cell for cell in cells}
    taken: set[tuple[int, int]] = set()
    for row in range(rows):
        out.append(("<tr>", 1.0))
        for col in range(columns):
            if (row, col) in taken:
                continue
            cell = at.get((row, col))
            if cell is None:
                out.append(("<td></td>", 1.0))
                continue
            taken |= {(r, c) for r in range(row, row + cell.rowspan) for c in range(col, col + cell.colspan)}
            spans = f' colspan="{cell.colspan}"' if cell.colspan > 1 else ""
            spans += f' rowspan="{cell.rowspan}"' if cell.rowspan > 1 else ""
            out += [(f"<td{spans}>", 1.0), *_cell_runs(cell), ("</td>", 1.0)]
        out.append(("</tr>", 1.0))
    out.append(("</table>", 1.0))
    return out


def _cell_runs(cell: Cell) -> list[Run]:
    runs: list[Run] = []
    for piece in cell.pieces:
        for n, (word, score) in enumerate(scored_words(piece)):
            text = html.escape(word, quote=False)
            runs.append((f" {text}" if runs and n == 0 else text, score))
    return runs
