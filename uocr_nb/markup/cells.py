"""The HTML of a table as a grid of cells, and the grid as clean HTML.

Broken HTML is read for what it holds: cells without rows, rows without ends, quotes that never close, ragged rows.
Spans are bounded, so that a row span of a billion costs nothing.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from uocr_nb.markup.safe_html import MAX_SPAN, escape

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Cell", "Grid", "parse_table", "split_tables", "table_html"]

_SPAN_BUDGET = 200_000
"""Places that all spans of a table may cover together; what goes beyond counts as a single cell."""
_MOST_PLACES = 4_000_000
"""Rows times columns of a table, filled or not."""

_STRUCTURE = frozenset({"table", "thead", "tbody", "tfoot", "tr", "td", "th", "caption", "col", "colgroup"})
_INLINE = frozenset({"sub", "sup"})
_LINE_END = frozenset({"br", "p", "div", "li"})
_SILENT = frozenset({"script", "style"})
_DROPPED = frozenset(
    {
        *(
            "a",
            "abbr",
            "b",
            "big",
            "body",
            "button",
            "center",
            "code",
            "details",
            "em",
            "embed",
            "font",
            "form",
            "h1",
            "h2",
        ),
        *(
            "h3",
            "h4",
            "h5",
            "h6",
            "head",
            "hr",
            "html",
            "i",
            "iframe",
            "img",
            "input",
            "label",
            "link",
            "math",
            "meta",
            "ol",
        ),
        *("object", "pre", "s", "small", "span", "strong", "svg", "u", "ul", "video", "audio", "image"),
    }
)
_TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9]{0,15}+)([^<>]*+)(>|(?=<)|\Z)")
_SPAN = re.compile(r"\b(rowspan|colspan)\s*+=\s*+[\"']?\s*+([0-9]{1,18})", re.IGNORECASE)
_TABLE_MARK = re.compile(r"<table\b|</table\s*+>", re.IGNORECASE)
_ANY_CELL = re.compile(r"</?t[drh]\b", re.IGNORECASE)
_SPACE = re.compile(r"[ \t\r\n\f]+")
_NUMERIC = re.compile(r"[\s$€£¥₹%()+\-−–—.,:/0-9]*[0-9][\s$€£¥₹%()+\-−–—.,:/0-9]*")


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell.

    Attributes
    ----------
    text : str
        Plain text, lines parted by a line feed.
    row, col : int
        Where it begins, from 0.
    rowspan, colspan : int
        How many rows and columns it covers, bounded by the table.
    header : bool
        Whether it is marked as a header (th, or inside thead). Answers of the model never are.
    html : str
        Its text as safe HTML that keeps br, sub and sup.
    """

    text: str
    row: int
    col: int
    rowspan: int = 1
    colspan: int = 1
    header: bool = False
    html: str = ""


@dataclass(frozen=True, slots=True)
class Grid:
    """The cells of a table, row by row; each stands in the row where it begins."""

    rows: tuple[tuple[Cell, ...], ...] = ()

    @property
    def columns(self) -> int:
        """How many columns there are."""
        return max((cell.col + cell.colspan for row in self.rows for cell in row), default=0)

    @property
    def has_spans(self) -> bool:
        """Whether any cell covers more than one place."""
        return any(cell.rowspan > 1 or cell.colspan > 1 for row in self.rows for cell in row)

    def matrix(self) -> list[list[str]]:
        """The text of each place: a cell's text in every place it covers, "" where a row is short."""
        width = self.columns
        lines: list[list[str]] = [[""] * width for _ in self.rows]
        for row in self.rows:
            for cell in row:
                for line in lines[cell.row : cell.row + cell.rowspan]:
                    line[cell.col : cell.col + cell.colspan] = [cell.text] * cell.colspan
        return lines

    def head_rows(self) -> int:
        """How many rows at the top are the head: those of header cells, else the first one if it holds words alone."""
        marked = 0
        for row in self.rows:
            if not row or not all(cell.header for cell in row):
                break
            marked += 1
        if marked:
            return marked
        first = self.rows[0] if len(self.rows) > 1 else ()
        texts = [cell.text for cell in first if cell.text]
        return int(bool(texts) and not any(_NUMERIC.fullmatch(text) for text in texts))


@dataclass(slots=True)
class _Raw:
    """A cell as it was written, before it has a place."""

    header: bool = False
    rowspan: int = 1
    colspan: int = 1
    texts: list[str] = field(default_factory=list)
    htmls: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)


class _Reader:
    def __init__(self) -> None:
        self.rows: list[list[_Raw]] = []
        self.cell: _Raw | None = None
        self.in_head = False
        self.silent = ""
        self._in_row = False

    def text(self, written: str) -> None:
        if self.silent or (self.cell is None and not written.strip()):
            return
        text = _SPACE.sub(" ", html.unescape(written))
        cell = self._cell()
        cell.texts.append(text)
        cell.htmls.append(escape(text))

    def tag(self, closing: bool, name: str, attributes: str) -> None:  # noqa: FBT001 - as the pattern gives it
        if self.silent:
            self.silent = "" if closing and name == self.silent else self.silent
        elif name in _SILENT:
            self.silent = "" if closing else name
        elif name in ("td", "th"):
            self._end_cell()
            if not closing:
                self._start_cell(name, attributes)
        elif name in _STRUCTURE:
            self._structure(closing, name)
        elif name in _INLINE:
            self._inline(closing, name)
        elif name in _LINE_END and self.cell is not None:
            self.cell.texts.append("\n")
            self.cell.htmls.append("<br>")
        elif name in ("img", "image") and not closing:
            self.text("[image]")

    def _structure(self, closing: bool, name: str) -> None:  # noqa: FBT001
        self._end_cell()
        if name == "thead":
            self.in_head = not closing
        elif name in ("tbody", "tfoot"):
            self.in_head = False
        self._in_row = name == "tr" and not closing
        if self._in_row:
            self.rows.append([])

    def _start_cell(self, name: str, attributes: str) -> None:
        spans = {kind.lower(): int(number) for kind, number in _SPAN.findall(attributes)}
        self.cell = _Raw(
            name == "th" or self.in_head,
            max(1, spans.get("rowspan", 1)),
            min(max(1, spans.get("colspan", 1)), MAX_SPAN),
        )
        if not self._in_row:
            self.rows.append([])
            self._in_row = True
        self.rows[-1].append(self.cell)

    def _cell(self) -> _Raw:
        if self.cell is None:
            self._start_cell("td", "")
        assert self.cell is not None  # noqa: S101 - the line above makes it
        return self.cell

    def _end_cell(self) -> None:
        if self.cell is not None:
            self.cell.htmls += [f"</{name}>" for name in reversed(self.cell.open)]
            self.cell.open = []
        self.cell = None

    def _inline(self, closing: bool, name: str) -> None:  # noqa: FBT001
        cell = self._cell()
        if not closing and len(cell.open) < 8:
            cell.open.append(name)
            cell.htmls.append(f"<{name}>")
        elif closing and cell.open and cell.open[-1] == name:
            cell.open.pop()
            cell.htmls.append(f"</{name}>")


def parse_table(markup: str) -> Grid:
    """The grid of the first table in `markup`; of all of it when it names no table."""
    parts = [part for kind, part in split_tables(markup) if kind == "table"]
    markup = parts[0] if parts else markup
    reader = _Reader()
    at = 0
    for match in _TAG.finditer(markup):
        closing, name, attributes, end = match[1] == "/", match[2].lower(), match[3], match[4]
        known = name in _STRUCTURE or (
            end and (name in _INLINE or name in _LINE_END or name in _SILENT or name in _DROPPED)
        )
        if not known:
            continue
        reader.text(markup[at : match.start()])
        reader.tag(closing, name, attributes)
        at = match.end()
    reader.text(markup[at:])
    grid = Grid(_place(reader.rows))
    return grid if grid.columns * len(grid.rows) <= _MOST_PLACES else _narrow(grid)


def _narrow(grid: Grid) -> Grid:
    """A table that few cells make far too wide: without spans, and what is left over joined in the last column."""
    width = max(1, _MOST_PLACES // len(grid.rows))
    rows = []
    for number, row in enumerate(grid.rows):
        cells = [Cell(c.text, number, column, header=c.header, html=c.html) for column, c in enumerate(row[:width])]
        if len(row) > width:
            last = row[width - 1 :]
            text, markup = " ".join(c.text for c in last), " ".join(c.html for c in last)
            cells[-1] = Cell(text, number, width - 1, header=last[0].header, html=markup)
        rows.append(tuple(cells))
    return Grid(tuple(rows))


def _place(rows: list[list[_Raw]]) -> tuple[tuple[Cell, ...], ...]:
    """Give each cell its place; what a span covers moves later cells on, as browsers do."""
    covered: dict[int, int] = {}  # column -> first row that is free again
    budget = _SPAN_BUDGET
    placed = []
    for number, row in enumerate(rows):
        cells, column = [], 0
        for raw in row:
            while covered.get(column, 0) > number:
                column += 1
            rowspan, colspan = min(raw.rowspan, len(rows) - number), raw.colspan
            area = rowspan * colspan
            if area > 1:
                if area > budget:
                    rowspan = colspan = area = 1
                budget -= area
            if rowspan > 1:
                for place in range(column, column + colspan):
                    covered[place] = number + rowspan
            text = "".join(raw.texts)
            text = "\n".join(line.strip() for line in text.split("\n")).strip()
            cells.append(Cell(text, number, column, rowspan, colspan, raw.header, "".join(raw.htmls).strip()))
            column += colspan
        placed.append(tuple(cells))
    return tuple(placed)


def split_tables(text: str) -> list[tuple[str, str]]:
    """`text` in pieces: ("table", its HTML) and ("text", what stands around). A table may lack its end or its start."""
    pieces: list[tuple[str, str]] = []
    at = depth = 0
    for match in _TABLE_MARK.finditer(text):
        if match[0][1] != "/":
            if depth == 0:
                pieces.append(("text", text[at : match.start()]))
                at = match.start()
            depth += 1
        elif depth:
            depth -= 1
            if depth == 0:
                pieces.append(("table", text[at : match.end()]))
                at = match.end()
    pieces.append(("table" if depth else "text", text[at:]))
    return [
        ("table", part) if kind == "text" and _ANY_CELL.search(part) else (kind, part)
        for kind, part in pieces
        if part.strip()
    ]


def table_html(grid: Grid, inner: Callable[[Cell], str] | None = None) -> str:
    """Clean HTML of a grid on one line; `inner` writes the inside of a cell, by default `Cell.html`."""
    lines = []
    for row in grid.rows:
        cells = []
        for cell in row:
            name = "th" if cell.header else "td"
            spans = f' rowspan="{cell.rowspan}"' if cell.rowspan > 1 else ""
            spans += f' colspan="{cell.colspan}"' if cell.colspan > 1 else ""
            cells.append(f"<{name}{spans}>{inner(cell) if inner else cell.html}</{name}>")
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table>{''.join(lines)}</table>"
