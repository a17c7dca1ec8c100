"""Tables from the places of the words: rows by centre, columns by ink and rules, spans by what crosses.

No model: clustering of the pieces that were read did better than the grid models that can be shipped.
"""

from __future__ import annotations

import html
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from uocr_nb.local_server.geometry import Rect, union
from uocr_nb.local_server.pieces import Piece, cut_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uocr_nb.local_server.rules import Rules

__all__ = ["Cell", "build_table", "table_html"]

COLUMN_INK = (0.0, 0.04, 0.1, 0.2)
"""Shares of the full rows that may have ink where two columns meet, tried in turn (the last was measured)."""
SAME_ROW = 0.33
"""Distance of centres in line heights up to which two pieces stand in one row."""


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


@dataclass(slots=True)
class _Row:
    """Pieces at about one height; `loose` stand half way to the next row."""

    pieces: list[Piece]
    loose: list[Piece]
    open_edges: frozenset[int] = frozenset()
    """Numbers of the borders that are drawn elsewhere but not beside this row."""

    @property
    def middle(self) -> float:
        return median(piece.box.cy for piece in self.pieces)


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
    upright = _upright_borders(rules, area, unit)
    pitch = _pitch(pieces, unit)
    edges = _columns(_rows(pieces, unit, pitch), unit, upright)
    fitted = [part for piece in pieces for part in _fitted(piece, edges)]
    rows = _rows(fitted, unit, pitch)
    level = [rule for rule in (rules.level if rules else ()) if rule.overlap_x(area) > 0.5 * rule.width]
    for row in rows:
        row.open_edges = _open_edges(row, edges, upright, rules)
    rows = _wrapped_between_rules(_wrapped_headings(rows, edges), edges, level, area)
    rows = _continued(rows, edges, unit, pitch)
    _settle(rows, edges)
    cells: list[Cell] = []
    for number, row in enumerate(rows):
        below = rows[number + 1].middle if number + 1 < len(rows) else row.middle
        under = [rule for rule in level if row.middle < rule.cy < below and rule.width < 0.9 * area.width]
        cells += _row_cells(row, number, edges, under)
        cells += [replace(cell, rowspan=2) for cell in _row_cells(_Row(row.loose, []), number, edges)]
    cells = _spans_by_rules(cells, rows, edges, level)
    return sorted(cells, key=lambda cell: (cell.row, cell.col))


def _upright_borders(rules: Rules | None, area: Rect, unit: float) -> list[float]:
    """Find the x of upright rules that run along at least half of the table."""
    if rules is None:
        return []
    inside = [rule for rule in rules.upright if area.x1 < rule.cx < area.x2 and rule.overlap_y(area) > 0]
    groups: list[list[Rect]] = []
    for rule in sorted(inside, key=lambda r: r.cx):
        if groups and rule.cx - groups[-1][-1].cx < 0.5 * unit:
            groups[-1].append(rule)
        else:
            groups.append([rule])
    return [
        sum(rule.cx for rule in group) / len(group)
        for group in groups
        if sum(rule.overlap_y(area) for rule in group) > 0.5 * area.height
    ]


def _pitch(pieces: Sequence[Piece], unit: float) -> float:
    """Find the usual distance from a piece to the next one below it."""
    boxes = np.array([piece.box for piece in pieces])
    x1, x2, cy = boxes[:, 0], boxes[:, 2], (boxes[:, 1] + boxes[:, 3]) / 2
    steps: list[float] = []
    for n in range(len(boxes)):
        below = (np.minimum(x2, x2[n]) - np.maximum(x1, x1[n]) > 0.5 * (x2[n] - x1[n])) & (cy > cy[n] + 0.5 * unit)
        if below.any():
            steps.append(float(cy[below].min() - cy[n]))
    return median(steps) if steps else 1.2 * unit


def _rows(pieces: Sequence[Piece], unit: float, pitch: float) -> list[_Row]:
    """Group pieces into rows; what stands half way between two rows hangs loosely on the upper one."""
    clusters: list[list[Piece]] = []
    for piece in sorted(pieces, key=lambda p: p.box.cy):
        if clusters and piece.box.cy - median(p.box.cy for p in clusters[-1][-9:]) <= SAME_ROW * unit:
            clusters[-1].append(piece)
        else:
            clusters.append([piece])
    rows: list[_Row] = []
    for n, here in enumerate(clusters):
        between = 0 < n < len(clusters) - 1 and _half_way(clusters[n - 1], here, clusters[n + 1], pitch)
        if between and rows and not rows[-1].loose:
            rows[-1].loose = here
        else:
            rows.append(_Row(sorted(here, key=lambda p: p.box.x1), []))
    return rows


def _half_way(above: Sequence[Piece], here: Sequence[Piece], below: Sequence[Piece], pitch: float) -> bool:
    """Tell whether `here` stands between two rows that are one row's distance apart, over and under nothing."""
    up, mid, down = (median(piece.box.cy for piece in row) for row in (above, here, below))
    if down - up > 1.35 * pitch or min(mid - up, down - mid) < 0.25 * (down - up):
        return False
    others = [piece.box for piece in (*above, *below)]
    return not any(
        piece.box.overlap_x(other) > 0.3 * min(piece.box.height, piece.box.width) for piece in here for other in others
    )


def _columns(rows: Sequence[_Row], unit: float, upright: Sequence[float]) -> list[float]:
    """Find the x of each border between two columns."""
    whole = [[*row.pieces, *row.loose] for row in rows]
    most = max(len(row) for row in whole)
    full = [row for row in whole if len(row) > 1 and len(row) >= 0.5 * most]
    borders: list[float] = []
    if full:
        depth, start = _ink(full)
        for share in COLUMN_INK:
            allowed = int(share * len(full))
            for left, right in _low_runs(depth, allowed):
                middle = start + (left + right) / 2
                least = 0.12 if share == 0 else 0.3
                if right - left >= least * unit and _apart(middle, borders, depth, start, allowed):
                    borders.append(middle)
    borders = [x for x in borders if all(abs(x - rule) > unit for rule in upright)]
    return sorted([*upright, *_needed(sorted(borders), full, upright)])


def _ink(rows: Sequence[Sequence[Piece]]) -> tuple[np.ndarray, float]:
    """Count for each pixel along x how many rows have ink there; and the x of the first."""
    start = min(piece.box.x1 for row in rows for piece in row)
    end = max(piece.box.x2 for row in rows for piece in row)
    depth = np.zeros(int(end - start) + 2, dtype=np.int32)
    for row in rows:
        inked = np.zeros(len(depth), dtype=bool)
        for piece in row:
            inked[int(piece.box.x1 - start) : max(int(piece.box.x2 - start), int(piece.box.x1 - start) + 1)] = True
        depth += inked
    return depth, start


def _low_runs(depth: np.ndarray, allowed: int) -> list[tuple[int, int]]:
    """Find the stretches where at most `allowed` rows have ink, with more on both sides."""
    low = np.concatenate([[False], depth <= allowed, [False]]).astype(np.int8)
    steps = np.flatnonzero(np.diff(low))
    return [(int(a), int(b)) for a, b in zip(steps[::2], steps[1::2], strict=True) if a > 0 and b < len(depth) - 1]


def _apart(middle: float, borders: Sequence[float], depth: np.ndarray, start: float, allowed: int) -> bool:
    """Tell whether a full column lies between `middle` and each border found before."""
    for other in borders:
        low, high = sorted((int(middle - start), int(other - start)))
        if depth[low : high + 1].max(initial=0) <= max(allowed, 1):
            return False
    return True


def _needed(borders: Sequence[float], rows: Sequence[Sequence[Piece]], upright: Sequence[float]) -> list[float]:
    """Keep the borders with something between them and the border before."""
    centres = sorted(piece.box.cx for row in rows for piece in row)
    kept: list[float] = []
    for border in borders:
        before = max([x for x in (*kept, *upright) if x < border], default=float("-inf"))
        after = min([x for x in upright if x > border], default=float("inf"))
        if any(before < x < border for x in centres) and any(border < x < after for x in centres):
            kept.append(border)
    return kept


def _reach(box: Rect, edges: Sequence[float]) -> tuple[int, int]:
    """Find the first and last column that `box` covers; a column that it only brushes does not count."""
    brush = min(0.4 * box.height, 0.3 * box.width)
    first = sum(1 for edge in edges if edge < box.x1 + brush)
    last = sum(1 for edge in edges if edge < box.x2 - brush)
    return first, max(first, last)


def _fitted(piece: Piece, edges: Sequence[float]) -> list[Piece]:
    """Cut a piece that holds the texts of several columns: each border meets a space, each part its column."""
    first, last = _reach(piece.box, edges)
    if first == last:
        return [piece]
    parts = cut_at(piece, edges[first:last])
    fits = len(parts) == last - first + 1 and all(
        _reach(Rect(part.box.cx, 0, part.box.cx, 0), edges)[0] == first + n for n, part in enumerate(parts)
    )
    return parts if fits else [piece]


def _open_edges(row: _Row, edges: Sequence[float], upright: Sequence[float], rules: Rules | None) -> frozenset[int]:
    """Find the borders drawn along most of the table that leave this row out: a cell spans there."""
    drawn = {n for n, edge in enumerate(edges) if edge in upright}
    beside = [rule for rule in (rules.upright if rules else ()) if rule.y1 < row.middle < rule.y2]
    return frozenset(n for n in drawn if not any(abs(rule.cx - edges[n]) < 8 for rule in beside))


def _places(row: _Row, edges: Sequence[float], under: Sequence[Rect] = ()) -> list[tuple[int, int, list[Piece]]]:
    """Find the columns of each cell in a row: first, last, and its pieces."""
    middles = [_reach(Rect(piece.box.cx, 0, piece.box.cx, 0), edges)[0] for piece in row.pieces]
    groups: list[tuple[int, int, list[Piece]]] = []
    for n, piece in sorted(enumerate(row.pieces), key=lambda item: middles[item[0]]):
        first, last = _reach(piece.box, edges)
        others = set(middles[:n] + middles[n + 1 :])
        # Text wider than its column does not reach into a column that has text of its own.
        while first < middles[n] and first in others:
            first += 1
        while last > middles[n] and last in others:
            last -= 1
        if groups and first <= groups[-1][1]:
            start, end, members = groups[-1]
            groups[-1] = (start, max(end, last), [*members, piece])
        else:
            groups.append((first, last, [piece]))
    return _grown(groups, row.open_edges, edges, under)


def _grown(
    groups: list[tuple[int, int, list[Piece]]],
    open_edges: frozenset[int],
    edges: Sequence[float],
    under: Sequence[Rect],
) -> list[tuple[int, int, list[Piece]]]:
    """Let cells reach over borders that are not drawn here, and as far as a short rule right below them."""
    taken = {column for first, last, _ in groups for column in range(first, last + 1)}
    grown: list[tuple[int, int, list[Piece]]] = []
    for first, last, members in groups:
        box = union(piece.box for piece in members)
        rule = max((r for r in under if r.overlap_x(box) > 0.8 * box.width), key=lambda r: r.width, default=None)
        left, right = _reach(rule, edges) if rule else (first, last)
        beyond = open_edges if rule is None else frozenset()
        while first > 0 and first - 1 not in taken and (first - 1 >= left or first - 1 in beyond):
            first -= 1  # noqa: PLW2901 - the cell grows
            taken.add(first)
        while last < len(edges) and last + 1 not in taken and (last + 1 <= right or last in beyond):
            last += 1  # noqa: PLW2901
            taken.add(last)
        grown.append((first, last, members))
    return grown


def _wrapped_headings(rows: Sequence[_Row], edges: Sequence[float]) -> list[_Row]:
    """Make one row of two where more columns are loose than stacked: those are cells of two lines."""
    joined: list[_Row] = []
    for row in rows:
        before = joined[-1] if joined else None
        if before is not None and before.loose:
            upper = {_reach(piece.box, edges)[0] for piece in before.pieces}
            stacked = sum(1 for piece in row.pieces if _reach(piece.box, edges)[0] in upper)
            if len(before.loose) > stacked:
                before.pieces += [*before.loose, *row.pieces]
                before.loose = row.loose
                continue
        joined.append(row)
    return joined


def _wrapped_between_rules(
    rows: Sequence[_Row], edges: Sequence[float], level: Sequence[Rect], area: Rect
) -> list[_Row]:
    """Join the lines between two rules that go all the way, unless most columns hold several."""
    full = sorted(rule.cy for rule in level if rule.overlap_x(area) > 0.7 * area.width)
    inner = [y for y in full if rows and rows[0].middle < y < rows[-1].middle]
    if len(inner) < 2:
        return list(rows)
    bands: list[list[_Row]] = [[] for _ in range(len(inner) + 1)]
    for row in rows:
        bands[sum(1 for y in inner if y < row.middle)].append(row)
    out: list[_Row] = []
    for band in (band for band in bands if band):
        counts: dict[int, int] = {}
        for row in band:
            for first, last, _ in _places(row, edges) + _places(_Row(row.loose, []), edges):
                for column in range(first, last + 1):
                    counts[column] = counts.get(column, 0) + 1
        several = sum(1 for count in counts.values() if count > 1)
        parted = any(band[0].middle < rule.cy < band[-1].middle for rule in level)
        if len(band) > 1 and len(counts) > 1 and several <= 0.5 * len(counts) and not parted:
            out.append(_Row([piece for row in band for piece in (*row.pieces, *row.loose)], []))
        else:
            out += band
    return out


def _continued(rows: Sequence[_Row], edges: Sequence[float], unit: float, pitch: float) -> list[_Row]:
    """Join a line to the row above when all it holds are ends of texts that had filled their columns."""
    rights: dict[int, float] = {}
    for row in rows:
        for piece in row.pieces:
            first, last = _reach(piece.box, edges)
            if first == last:
                rights[first] = max(rights.get(first, 0.0), piece.box.x2)
    joined: list[_Row] = []
    for row in rows:
        if (
            joined
            and not row.loose
            and not joined[-1].loose
            and _is_rest(joined[-1], row, edges=edges, rights=rights, unit=unit, pitch=pitch)
        ):
            joined[-1].pieces += row.pieces
        else:
            joined.append(row)
    return joined


def _is_rest(
    above: _Row, row: _Row, *, edges: Sequence[float], rights: dict[int, float], unit: float, pitch: float
) -> bool:
    lowest = max(piece.box.cy for piece in above.pieces)
    if row.middle - lowest > 1.15 * pitch or len(row.pieces) > 0.5 * (len(edges) + 1):
        return False
    for piece in row.pieces:
        column = _reach(piece.box, edges)
        over = [p for p in above.pieces if _reach(p.box, edges)[0] == column[0]]
        word = piece.box.width / max(1, len(piece.text)) * len(piece.text.split()[0])
        if column[0] == 0 or not over or abs(over[-1].box.x1 - piece.box.x1) > 0.5 * unit:
            return False
        if max(p.box.x2 for p in over) + word < rights.get(column[0], 0.0) or len(over[-1].text) < 8:
            return False
    return True


def _row_cells(row: _Row, number: int, edges: Sequence[float], under: Sequence[Rect] = ()) -> list[Cell]:
    """Make the cells of one row; pieces that meet in a column share a cell."""
    return [
        Cell(number, first, 1, last - first + 1, _by_line(members))
        for first, last, members in _places(row, edges, under)
    ]


def _settle(rows: Sequence[_Row], edges: Sequence[float]) -> None:
    """Put loose pieces into their upper row where the places below are taken, or there is no row below."""
    for number, row in enumerate(rows):
        near = rows[number : number + 2]
        taken = {c for other in near for first, last, _ in _places(other, edges) for c in range(first, last + 1)}
        loose: list[Piece] = []
        for first, last, members in _places(_Row(row.loose, []), edges):
            if len(near) < 2 or taken.intersection(range(first, last + 1)):
                row.pieces += members
            else:
                loose += members
        row.loose = loose


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
    cells: Sequence[Cell], rows: Sequence[_Row], edges: Sequence[float], level: Sequence[Rect]
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
        ruled = {c for rule in between for c in range(_reach(rule, edges)[0], _reach(rule, edges)[1] + 1)}
        for n, cell in enumerate(grown):
            own = range(cell.col, cell.col + cell.colspan)
            ends_here = cell.row + cell.rowspan - 1 == number
            if ends_here and not ruled.intersection(own) and not any((number + 1, c) in taken for c in own):
                grown[n] = replace(cell, rowspan=cell.rowspan + 1)
                taken |= {(number + 1, c) for c in own}
    return grown


def table_html(cells: Sequence[Cell]) -> str:
    """Write one line of HTML as the model does: no header cells, spans in double quotes, empty cells empty."""
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
