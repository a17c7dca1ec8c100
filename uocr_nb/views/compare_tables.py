"""Two readings of a table beside each other: the rows and columns that differ, the others folded into one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uocr_nb.markup.safe_html import escape
from uocr_nb.markup.table_pairs import align_tables
from uocr_nb.views.cells import head_rows, is_number
from uocr_nb.views.rows import text_html
from uocr_nb.views.styles import HAIR, SECOND, second
from uocr_nb.views.words import count

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from uocr_nb.markup.cells import Cell, Grid
    from uocr_nb.markup.table_pairs import TablePairs

    Mark = Callable[[str, str], str]

__all__ = ["table_sides"]

_FEW_COLUMNS, _FEW_ROWS = 5, 5
"""Columns and rows up to which a table is shown whole."""
_MOST_COLUMNS, _MOST_ROWS = 24, 40
_MOST_WHOLE = 400
"""Cells of a table up to which all of it is kept, folded."""
_LONG_CELL, _MOST_CELL = 22, 400


def table_sides(a: Grid, b: Grid, only: Mark) -> tuple[str, str]:
    """Draw both sides of a table of which something differs.

    Parameters
    ----------
    a, b : Grid
        The readings; one without rows where only the other has the table.
    only : callable
        Marks HTML that stands on one side alone: letter of the side and HTML -> HTML.
    """
    pairs = align_tables(a, b)
    if not a.rows or not b.rows:  # what a side has alone is shown, as far as there is room
        rows, columns = (
            list(range(min(len(pairs.rows), _MOST_ROWS))),
            list(range(min(len(pairs.columns), _MOST_COLUMNS))),
        )
    else:
        rows, columns = _rows_shown(pairs, a, b), _columns_shown(pairs, b)
    folded = _folded(pairs, rows, columns)
    drawn = [_table(grid, n, pairs, (rows, columns), only) for n, grid in enumerate((a, b))]
    if folded and max(_size(a), _size(b)) <= _MOST_WHOLE:
        every = list(range(len(pairs.rows))), list(range(len(pairs.columns)))
        whole = [_table(grid, n, pairs, every, only) for n, grid in enumerate((a, b))]
        drawn = [
            f'{part}<details class="uo-rest" style="margin:0;padding:0"><summary style="cursor:pointer;font-size:12px;'
            f'{SECOND}">{folded}</summary>{all_of_it}</details>'
            for part, all_of_it in zip(drawn, whole, strict=True)
        ]
    elif folded:
        drawn = [f'{part}<div style="font-size:12px;{SECOND}">{folded}</div>' for part in drawn]
    return drawn[0], drawn[1]


def _size(grid: Grid) -> int:
    return sum(map(len, grid.rows))


def _rows_shown(pairs: TablePairs, a: Grid, b: Grid) -> list[int]:
    """The head, and the rows in which something differs."""
    if len(pairs.rows) <= _FEW_ROWS:
        return list(range(len(pairs.rows)))
    heads = head_rows(b), head_rows(a)
    differ = {row for row, _column in pairs.differ}
    differ |= {n for n, line in enumerate(pairs.rows) if None in line}
    shown = [
        n
        for n, (mine, other) in enumerate(pairs.rows)
        if n in differ or (other is not None and other < heads[0]) or (other is None and (mine or 0) < heads[1])
    ]
    return shown[:_MOST_ROWS]


def _columns_shown(pairs: TablePairs, b: Grid) -> list[int]:
    """The columns that name the rows, those in which something differs, and those beside them while they are few."""
    total = len(pairs.columns)
    if total <= _FEW_COLUMNS:
        return list(range(total))
    differ = {column for _row, column in pairs.differ}
    differ |= {n for n, line in enumerate(pairs.columns) if None in line}
    names = {0}
    words = [not is_number(cell.text) for row in b.rows[head_rows(b) :] for cell in row if cell.col == 1 and cell.text]
    if words and sum(words) * 2 > len(words):
        names.add(1)
    shown = names | differ
    for near in sorted({n + by for n in differ for by in (-1, 1)} - shown):
        if 0 <= near < total and len(shown) < _FEW_COLUMNS:
            shown.add(near)
    return sorted(shown)[:_MOST_COLUMNS]


def _folded(pairs: TablePairs, rows: Sequence[int], columns: Sequence[int]) -> str:
    """``5 more rows and 6 columns are the same``, or that there is more to see."""
    left_rows, left_columns = set(range(len(pairs.rows))) - {*rows}, set(range(len(pairs.columns))) - {*columns}
    if not left_rows and not left_columns:
        return ""
    said = " and ".join(
        count(number, noun)
        for number, noun in (
            (len(left_rows), "more row"),
            (len(left_columns), "column" if left_rows else "more column"),
        )
        if number
    )
    cut = any(row in left_rows or column in left_columns for row, column in pairs.differ) or any(
        None in pairs.rows[n] for n in left_rows
    )
    one = len(left_rows) + len(left_columns) == 1
    return said if cut else f"{said} {'is' if one else 'are'} the same"


def _table(grid: Grid, which: int, pairs: TablePairs, shown: tuple[Sequence[int], Sequence[int]], only: Mark) -> str:
    """One side, with the same rows and columns as the other one; `which` is 0 for A and 1 for B."""
    rows, columns = shown
    places = _places(grid)
    letter = "AB"[which]
    drawn = []
    before: list[Cell | None] = [None] * len(columns)
    head = head_rows(grid) if grid.rows else 0
    for r in rows:
        row = pairs.rows[r][which]
        if row is None:
            words = second(f"no such row in {letter}")
            drawn.append(_tr(f'<td colspan="{len(columns)}" style="padding:3px 6px;text-align:left">{words}</td>'))
            continue
        cells, left = [], None
        for at, c in enumerate(columns):
            column = pairs.columns[c][which]
            cell = places[row][column] if column is not None else None
            # A merged cell is written once, where it begins among what is shown.
            again = cell is not None and (cell is before[at] or cell is left)
            cells.append(
                _td(None if again else cell, letter, only if (r, c) in pairs.differ else None, head=row < head)
            )
            before[at] = left = cell
        drawn.append(_tr("".join(cells)))
    return (
        '<div class="uo-scroll" style="overflow-x:auto;max-width:100%">'
        '<table dir="auto" style="table-layout:auto;border-collapse:collapse;border:0;margin:0 0 4px;width:auto;'
        f'font-size:11px;line-height:15px;border-top:{HAIR}">{"".join(drawn)}</table></div>'
    )


def _tr(inner: str) -> str:
    return f'<tr style="background-color:transparent;border-bottom:{HAIR}">{inner}</tr>'


def _td(cell: Cell | None, letter: str, only: Mark | None, *, head: bool) -> str:
    text = cell.text.strip() if cell is not None else ""
    shown = text if len(text) <= _MOST_CELL else f"{text[:_MOST_CELL]} ..."
    html = text_html(shown, mathml=True).replace("\n", "<br>") if only is None else escape(shown).replace("\n", "<br>")
    if only is not None:
        html = only(letter, html) if text else second("–")
    side = "right" if is_number(text) else "left"
    room = "min-width:90px" if len(text) > _LONG_CELL else "min-width:44px" if head else "white-space:nowrap"
    weight = ";font-weight:600;vertical-align:bottom" if head else ""
    return f'<td style="padding:3px 6px;text-align:{side}{weight};{room}">{html}</td>'


def _places(grid: Grid) -> list[list[Cell | None]]:
    """The cell that covers each place."""
    width = grid.columns
    lines: list[list[Cell | None]] = [[None] * width for _row in grid.rows]
    for cell in (cell for row in grid.rows for cell in row):
        for line in lines[cell.row : cell.row + cell.rowspan]:
            line[cell.col : cell.col + cell.colspan] = [cell] * cell.colspan
    return lines
