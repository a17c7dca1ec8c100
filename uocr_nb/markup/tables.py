"""Tables of pages, as pipe tables and as DataFrames; the grid of cells itself is in `uocr_nb.markup.cells`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from uocr_nb.document.model import Table
from uocr_nb.errors import MissingExtraError
from uocr_nb.markup.cells import Cell, Grid, parse_table, split_tables, table_html
from uocr_nb.markup.safe_html import clean_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from uocr_nb.document.model import Page

__all__ = ["Cell", "Grid", "page_tables", "parse_table", "pipe_table", "split_tables", "table_df", "table_html"]


def pipe_table(grid: Grid, inner: Callable[[str], str]) -> str:
    """A pipe table; merged cells are filled, and a comment above says so.

    `inner` writes a cell's text as markdown; pipes are escaped and line ends become ``<br>`` after that.
    """
    lines = [[_pipe_cell(inner(text)) for text in line] for line in grid.matrix()]
    width = grid.columns
    if not width:
        return ""
    if not grid.head_rows():
        lines.insert(0, [""] * width)
    rows = [f"| {' | '.join(line)} |" for line in lines]
    rows.insert(1, f"|{' --- |' * width}")
    note = ["<!-- merged cells are filled -->"] if grid.has_spans else []
    return "\n".join([*note, *rows])


def _pipe_cell(text: str) -> str:
    return text.replace("|", r"\|").replace("\n", "<br>")


def page_tables(page: Page) -> list[Table]:
    """The tables of a page, those inside of blocks with another label too."""
    tables = []
    for block in page.blocks:
        if block.label != "table" and "<table" not in block.text:
            continue
        for kind, part in split_tables(block.text):
            grid = parse_table(part) if kind == "table" else Grid()
            if any(grid.rows):
                tables.append(Table(clean_table(table_html(grid)), block.box, page.position))
    return tables


def table_df(table: Table) -> Any:
    """A DataFrame of `table`: spans filled, all values strings, as a column of numbers may hold dashes or units.

    The head names the columns when there is one (`Grid.head_rows`); several rows of it are joined by " / ".

    Raises
    ------
    MissingExtraError
        When pandas is not installed.
    """
    try:
        import pandas as pd  # noqa: PLC0415 - optional, and slow to import
    except ImportError:
        raise MissingExtraError("A table as a DataFrame needs pandas.", "data", "pandas") from None
    grid = parse_table(table.html)
    lines = grid.matrix()
    head = grid.head_rows()
    if not head:
        return pd.DataFrame(lines, dtype=object)
    names = [" / ".join(dict.fromkeys(filter(None, parts))) for parts in zip(*lines[:head], strict=True)]
    return pd.DataFrame(lines[head:], columns=_unique(names), dtype=object)


def _unique(names: list[str]) -> list[str]:
    """Names of columns, none of them empty or twice."""
    seen: Counter[str] = Counter()
    unique: list[str] = []
    taken = set(names)
    for number, name in enumerate(names, 1):
        base = " ".join(name.split()) or f"column {number}"
        seen[base] += 1
        new, count = base, seen[base]
        while count > 1 and new in taken:
            new = f"{base} ({count})"
            count += 1
        taken.add(new)
        unique.append(new)
    return unique
