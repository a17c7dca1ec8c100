"""Two readings of one table, laid cell on cell: which row and column of one is which of the other."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from uocr_nb.markup.cells import Cell, Grid
from uocr_nb.markup.distance import agreement, normal, tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["TablePairs", "align_tables", "joined", "table_characters"]

Line = tuple[int | None, int | None]
"""A row or column of A and of B, from 0; None where a side has none."""

_MOST_SQUARES = 40_000
"""Rows of A times rows of B that are laid against each other; of more, each is taken for the one at its own place."""


@dataclass(frozen=True, slots=True)
class TablePairs:
    """How two tables lie on each other.

    Attributes
    ----------
    rows, columns : tuple of (int or None, int or None)
        In order; a number from 0 on each side, None where a side has no such row or column.
    differ : frozenset of (int, int)
        Places (index in `rows`, index in `columns`) that do not read the same.
    agreement : float
        The mean over all places that hold a text on one side at least: 1 where they read the same, 0 where they do not
        and hold a number or stand on one side alone, the agreement of their characters where they hold words.
    """

    rows: tuple[Line, ...]
    columns: tuple[Line, ...]
    differ: frozenset[tuple[int, int]]
    agreement: float


def align_tables(a: Grid, b: Grid) -> TablePairs:
    """Lay table `b` on table `a`."""
    mine, other = _normal_places(a), _normal_places(b)
    wide_a, wide_b = a.columns, b.columns
    columns = _columns(mine, other, wide_a, wide_b)
    shared = [(x, y) for x, y in columns if x is not None and y is not None]
    rows = _rows(mine, other, shared)
    differ, total, places = set(), 0.0, 0
    for r, (row_a, row_b) in enumerate(rows):
        for c, (col_a, col_b) in enumerate(columns):
            one = mine[row_a][col_a] if row_a is not None and col_a is not None else ""
            two = other[row_b][col_b] if row_b is not None and col_b is not None else ""
            if not one and not two:
                continue
            places += 1
            if one == two:
                total += 1
                continue
            differ.add((r, c))
            total += 0.0 if _is_number(one) or _is_number(two) else agreement(one, two)
    return TablePairs(tuple(rows), tuple(columns), frozenset(differ), total / places if places else 1.0)


def joined(grids: Sequence[Grid]) -> Grid:
    """One table of several that stand under each other."""
    if len(grids) == 1:
        return grids[0]
    rows: list[tuple[Cell, ...]] = []
    for grid in grids:
        above = len(rows)
        rows += [tuple(replace(cell, row=cell.row + above) for cell in row) for row in grid.rows]
    return Grid(tuple(rows))


def table_characters(grid: Grid) -> int:
    """Characters of all cells, each counted once."""
    return sum(len(" ".join(cell.text.split())) for row in grid.rows for cell in row)


def _is_number(text: str) -> bool:
    return any(char.isdigit() for char in text) and not any(char.isalpha() for char in text)


def _normal_places(grid: Grid) -> list[list[str]]:
    known: dict[str, str] = {}

    def form(text: str) -> str:
        if text not in known:
            known[text] = normal(tokens(text))
        return known[text]

    return [[form(text) for text in line] for line in grid.matrix()]


def _columns(a: list[list[str]], b: list[list[str]], wide_a: int, wide_b: int) -> list[Line]:
    if wide_a == wide_b:
        return [(n, n) for n in range(wide_a)]
    bags_a = [Counter(filter(None, (line[n] for line in a))) for n in range(wide_a)]
    bags_b = [Counter(filter(None, (line[n] for line in b))) for n in range(wide_b)]

    def alike(x: int, y: int) -> float:
        same = sum((bags_a[x] & bags_b[y]).values())
        return same / max(sum(bags_a[x].values()), sum(bags_b[y].values()), 1)

    return _closed(_in_order(wide_a, wide_b, alike))


def _rows(a: list[list[str]], b: list[list[str]], shared: Sequence[tuple[int, int]]) -> list[Line]:
    """Rows that are the same at the head and the foot first, then the best order-keeping match of what is between."""
    mine = [tuple(line[x] for x, _y in shared) for line in a]
    other = [tuple(line[y] for _x, y in shared) for line in b]
    start, shorter = 0, min(len(mine), len(other))
    while start < shorter and mine[start] == other[start]:
        start += 1
    end = 0
    while end < shorter - start and mine[-1 - end] == other[-1 - end]:
        end += 1
    middle_a, middle_b = mine[start : len(mine) - end], other[start : len(other) - end]
    sets_a = [{(n, text) for n, text in enumerate(line) if text} for line in middle_a]
    sets_b = [{(n, text) for n, text in enumerate(line) if text} for line in middle_b]

    def alike(x: int, y: int) -> float:
        return 2 * len(sets_a[x] & sets_b[y]) / max(len(sets_a[x]) + len(sets_b[y]), 1)

    between = _closed(_in_order(len(middle_a), len(middle_b), alike))
    return [
        *((n, n) for n in range(start)),
        *((None if x is None else x + start, None if y is None else y + start) for x, y in between),
        *((len(mine) - n, len(other) - n) for n in range(end, 0, -1)),
    ]


def _in_order(n: int, m: int, alike: Callable[[int, int], float]) -> list[Line]:
    """Pair what is most alike in all, keeping the order of both sides; the others stand alone."""
    if n * m > _MOST_SQUARES:
        return [(x if x < n else None, x if x < m else None) for x in range(max(n, m))]
    best = [[0.0] * (m + 1) for _ in range(n + 1)]
    scores = [[alike(x, y) for y in range(m)] for x in range(n)]
    for x in range(n - 1, -1, -1):
        for y in range(m - 1, -1, -1):
            best[x][y] = max(best[x + 1][y], best[x][y + 1], best[x + 1][y + 1] + scores[x][y])
    lines: list[Line] = []
    x = y = 0
    while x < n and y < m:
        if scores[x][y] > 0 and best[x][y] == best[x + 1][y + 1] + scores[x][y]:
            lines.append((x, y))
            x, y = x + 1, y + 1
        elif best[x][y] == best[x + 1][y]:
            lines.append((x, None))
            x += 1
        else:
            lines.append((None, y))
            y += 1
    lines += [(left, None) for left in range(x, n)]
    lines += [(None, left) for left in range(y, m)]
    return lines


def _closed(lines: Sequence[Line]) -> list[Line]:
    """Pair what stands alone between two pairs, one for one, where both sides have as many."""
    closed: list[Line] = []
    alone: list[Line] = []
    for line in [*lines, (-1, -1)]:
        if None in line:
            alone.append(line)
            continue
        mine = [x for x, _y in alone if x is not None]
        other = [y for _x, y in alone if y is not None]
        closed += list(zip(mine, other, strict=True)) if len(mine) == len(other) else alone
        alone = []
        closed.append(line)
    return closed[:-1]
