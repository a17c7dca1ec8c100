"""Tables from the places of the words: rows by centre, columns by ink, spans by what crosses."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from uocr_nb.local_server.geometry import Rect, union
from uocr_nb.local_server.ppocr import Line

__all__ = ["Cell", "Piece", "build_table", "split_line", "table_html"]

WORD_GAP = 0.9
"""Gap in line heights at which one line holds two cells (measured)."""
COLUMN_INK = 0.2
"""Share of the rows with several items that may have ink where two columns meet (measured on six tables)."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of text inside a table: what stands in one cell, or a part of it.

    Attributes
    ----------
    box : Rect
        Pixels.
    text : str
        What was read.
    score : float
        0..1.
    """

    box: Rect
    text: str
    score: float


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


def split_line(line: Line, gap: float = WORD_GAP) -> list[Piece]:
    """The pieces of one line, split where the characters stand further apart than `gap` line heights."""
    text, marks = line.text, line.marks
    if len(marks) != len(text) or len(text) < 2 or line.tall:
        return [Piece(line.box, text.strip(), line.score)]
    height = line.box.height
    solid = [n for n, char in enumerate(text) if not char.isspace()]
    if len(solid) < 2:
        return [Piece(line.box, text.strip(), line.score)]
    steps = [marks[b][0] - marks[a][0] for a, b in zip(solid, solid[1:], strict=False)]
    advance = min(median(steps), 0.8 * height)
    cuts = [n for n, step in enumerate(steps) if step - advance > gap * height]
    pieces: list[Piece] = []
    start = 0
    for cut in [*cuts, len(solid) - 1]:
        first, last = solid[start], solid[cut]
        left = line.box.x1 if start == 0 else marks[first][0] - advance / 2
        right = line.box.x2 if cut == len(solid) - 1 else marks[last][0] + advance / 2
        odds = [marks[n][1] for n in range(first, last + 1)]
        pieces.append(Piece(Rect(left, line.box.y1, right, line.box.y2), text[first : last + 1], sum(odds) / len(odds)))
        start = cut + 1
    return pieces


def build_table(pieces: Sequence[Piece]) -> list[Cell]:
    """Cells of the table that `pieces` make up, by row, then column; empty places are not listed."""
    if not pieces:
        return []
    unit = median(piece.box.height for piece in pieces)
    rows, floating = _rows(pieces, unit)
    edges = _columns(rows, unit)
    columns = len(edges) + 1
    rows, floating = _join_wrapped(rows, floating, edges)
    cells: list[Cell] = []
    for number, row in enumerate(rows):
        cells += _row_cells(row, number, edges, columns)
    for piece, above in floating:
        first, last = _reach(piece.box, edges)
        cells.append(Cell(above, first, 2, last - first + 1, (piece,)))
    return sorted(cells, key=lambda cell: (cell.row, cell.col))


def _rows(pieces: Sequence[Piece], unit: float) -> tuple[list[list[Piece]], list[tuple[Piece, int]]]:
    """Rows of pieces, and the pieces that stand half way between two rows with the number of the upper one."""
    clusters: list[list[Piece]] = []
    for piece in sorted(pieces, key=lambda p: p.box.cy):
        if clusters and piece.box.cy - _middle(clusters[-1]) <= 0.45 * unit:
            clusters[-1].append(piece)
        else:
            clusters.append([piece])
    rows: list[list[Piece]] = []
    floating: list[tuple[Piece, int]] = []
    n = 0
    while n < len(clusters):
        here = clusters[n]
        between = 0 < n < len(clusters) - 1 and _half_way(clusters[n - 1], here, clusters[n + 1], unit)
        if between and len(here) < max(len(clusters[n - 1]), len(clusters[n + 1])) + 1:
            floating += [(piece, len(rows) - 1) for piece in here]
        else:
            rows.append(sorted(here, key=lambda p: p.box.x1))
        n += 1
    return rows, floating


def _middle(cluster: Sequence[Piece]) -> float:
    return median(piece.box.cy for piece in cluster)


def _half_way(above: Sequence[Piece], here: Sequence[Piece], below: Sequence[Piece], unit: float) -> bool:
    """True when `here` overlaps both rows around it, and touches nothing of them along x."""
    up, mid, down = _middle(above), _middle(here), _middle(below)
    if down - up > 2.2 * unit or mid - up > 0.8 * unit or down - mid > 0.8 * unit:
        return False
    others = [piece.box for piece in (*above, *below)]
    return not any(
        piece.box.overlap_x(other) > 0.2 * unit and piece.box.overlap_y(other) > 0.3 * unit
        for piece in here
        for other in others
    )


def _columns(rows: Sequence[Sequence[Piece]], unit: float) -> list[float]:
    """The x of each border between two columns."""
    full = [row for row in rows if len(row) > 1]
    if not full:
        return []
    allowed = int(COLUMN_INK * len(full))
    # Sweep along x: how many rows have ink at each place.
    events: list[tuple[float, int]] = []
    for row in full:
        for piece in row:
            events += [(piece.box.x1, 1), (piece.box.x2, -1)]
    events.sort(key=lambda event: (event[0], event[1]))
    low: list[tuple[float, float, int]] = []
    depth = 0
    for (x, change), (following, _) in zip(events, events[1:], strict=False):
        depth += change
        if depth <= allowed and following > x:
            low.append((x, following, depth))
    borders: list[float] = []
    for start, end, depth_there in _joined(low):
        ahead = any(p.box.cx < (start + end) / 2 for row in full for p in row)
        if ahead and end - start > (0.15 if depth_there == 0 else 0.3) * unit:
            borders.append((start + end) / 2)
    return _needed(borders, full)


def _joined(runs: Sequence[tuple[float, float, int]]) -> list[tuple[float, float, int]]:
    """Runs that touch become one; of each the emptiest part is kept."""
    groups: list[list[tuple[float, float, int]]] = []
    for run in runs:
        if groups and run[0] <= groups[-1][-1][1]:
            groups[-1].append(run)
        else:
            groups.append([run])
    best: list[tuple[float, float, int]] = []
    for group in groups:
        least = min(run[2] for run in group)
        best.append(max((run for run in group if run[2] == least), key=lambda run: run[1] - run[0]))
    return best


def _needed(borders: Sequence[float], rows: Sequence[Sequence[Piece]]) -> list[float]:
    """Borders that have a piece between them and the one before, and after the last."""
    kept: list[float] = []
    for border in borders:
        before = kept[-1] if kept else float("-inf")
        if any(before < piece.box.cx < border for row in rows for piece in row):
            kept.append(border)
    while kept and not any(piece.box.cx > kept[-1] for row in rows for piece in row):
        kept.pop()
    return kept


def _reach(box: Rect, edges: Sequence[float]) -> tuple[int, int]:
    """First and last column that `box` covers; a column that it only brushes does not count."""
    brush = min(0.35 * box.height, 0.3 * box.width)
    first = sum(1 for edge in edges if edge < box.x1 + brush)
    last = sum(1 for edge in edges if edge < box.x2 - brush)
    return first, max(first, last)


def _join_wrapped(
    rows: list[list[Piece]], floating: list[tuple[Piece, int]], edges: Sequence[float]
) -> tuple[list[list[Piece]], list[tuple[Piece, int]]]:
    """Make one row of two where most columns hold one piece half way between: those are cells of two lines."""
    joined: list[list[Piece]] = []
    kept: list[tuple[Piece, int]] = []
    n = 0
    while n < len(rows):
        loose = [piece for piece, above in floating if above == n]
        if loose and n + 1 < len(rows):
            upper = {_reach(piece.box, edges)[0] for piece in rows[n]}
            stacked = sum(1 for piece in rows[n + 1] if _reach(piece.box, edges)[0] in upper)
            if len(loose) > stacked:
                joined.append([*rows[n], *rows[n + 1], *loose])
                n += 2
                continue
        kept += [(piece, len(joined)) for piece in loose]
        joined.append(rows[n])
        n += 1
    return joined, kept


def _row_cells(row: Sequence[Piece], number: int, edges: Sequence[float], columns: int) -> list[Cell]:
    """Cells of one row; pieces that meet in a column share a cell."""
    groups: list[tuple[int, int, list[Piece]]] = []
    for piece in sorted(row, key=lambda p: p.box.x1):
        first, last = _reach(piece.box, edges)
        if groups and first <= groups[-1][1]:
            start, end, members = groups[-1]
            groups[-1] = (start, max(end, last), [*members, piece])
        else:
            groups.append((first, min(last, columns - 1), [piece]))
    return [
        Cell(number, first, 1, last - first + 1, tuple(sorted(members, key=_by_line)))
        for first, last, members in groups
    ]


def _by_line(piece: Piece) -> tuple[int, float]:
    return (round(piece.box.cy / max(1.0, 0.8 * piece.box.height)), piece.box.x1)


def table_html(cells: Sequence[Cell]) -> str:
    """One line of HTML as the model writes it: no header cells, spans in double quotes, empty cells empty."""
    if not cells:
        return "<table></table>"
    rows = max(cell.row + cell.rowspan for cell in cells)
    columns = max(cell.col + cell.colspan for cell in cells)
    at = {(cell.row, cell.col): cell for cell in cells}
    taken: set[tuple[int, int]] = set()
    out: list[str] = []
    for row in range(rows):
        out.append("<tr>")
        for col in range(columns):
            if (row, col) in taken:
                continue
            cell = at.get((row, col))
            if cell is None:
                out.append("<td></td>")
                continue
            taken |= {(r, c) for r in range(row, row + cell.rowspan) for c in range(col, col + cell.colspan)}
            spans = f' colspan="{cell.colspan}"' if cell.colspan > 1 else ""
            spans += f' rowspan="{cell.rowspan}"' if cell.rowspan > 1 else ""
            out.append(f"<td{spans}>{html.escape(cell.text, quote=False)}</td>")
        out.append("</tr>")
    return "<table>" + "".join(out) + "</table>"


def table_box(pieces: Sequence[Piece]) -> Rect:
    """The box around all pieces."""
    return union(piece.box for piece in pieces)
