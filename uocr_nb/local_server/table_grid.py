"""Rows and columns of a table from the places of its pieces."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uocr_nb.local_server.geometry import Rect
    from uocr_nb.local_server.pieces import Piece
    from uocr_nb.local_server.rules import Rules

__all__ = ["Row", "find_columns", "group_rows", "reach", "upright_borders", "usual_pitch"]

COLUMN_INK = (0.0, 0.04, 0.1, 0.2)
"""Shares of the full rows that may have ink where two columns meet, tried in turn (the last was measured)."""
SAME_ROW = 0.33
"""Distance of centres in line heights up to which two pieces stand in one row."""


@dataclass(slots=True)
class Row:
    """Pieces at about one height; `loose` stand half way to the next row."""

    pieces: list[Piece]
    loose: list[Piece]
    open_edges: frozenset[int] = frozenset()
    """Numbers of the borders that are drawn elsewhere but not beside this row."""
    held: frozenset[int] = frozenset()
    """Columns that cells of two rows hold in this row."""

    @property
    def middle(self) -> float:
        """Height at which it stands."""
        return median(piece.box.cy for piece in self.pieces)


def upright_borders(rules: Rules | None, area: Rect, unit: float) -> list[float]:
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


def usual_pitch(pieces: Sequence[Piece], unit: float) -> float:
    """Find the usual distance from a piece to the next one below it."""
    boxes = np.array([piece.box for piece in pieces])
    x1, x2, cy = boxes[:, 0], boxes[:, 2], (boxes[:, 1] + boxes[:, 3]) / 2
    steps: list[float] = []
    for n in range(len(boxes)):
        below = (np.minimum(x2, x2[n]) - np.maximum(x1, x1[n]) > 0.5 * (x2[n] - x1[n])) & (cy > cy[n] + 0.5 * unit)
        if below.any():
            steps.append(float(cy[below].min() - cy[n]))
    return median(steps) if steps else 1.2 * unit


def group_rows(pieces: Sequence[Piece], unit: float, pitch: float) -> list[Row]:
    """Group pieces into rows; what stands half way between two rows hangs loosely on the upper one."""
    clusters: list[list[Piece]] = []
    for piece in sorted(pieces, key=lambda p: p.box.cy):
        if clusters and piece.box.cy - median(p.box.cy for p in clusters[-1][-9:]) <= SAME_ROW * unit:
            clusters[-1].append(piece)
        else:
            clusters.append([piece])
    rows: list[Row] = []
    for n, here in enumerate(clusters):
        between = 0 < n < len(clusters) - 1 and _half_way(clusters[n - 1], here, clusters[n + 1], pitch)
        if between and rows and not rows[-1].loose:
            rows[-1].loose = here
        else:
            rows.append(Row(sorted(here, key=lambda p: p.box.x1), []))
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


def find_columns(rows: Sequence[Row], unit: float, upright: Sequence[float]) -> list[float]:
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


def reach(box: Rect, edges: Sequence[float]) -> tuple[int, int]:
    """Find the first and last column that `box` covers; a column that it only brushes does not count."""
    brush = min(0.4 * box.height, 0.3 * box.width)
    first = sum(1 for edge in edges if edge < box.x1 + brush)
    last = sum(1 for edge in edges if edge < box.x2 - brush)
    return first, max(first, last)
