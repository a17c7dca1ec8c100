"""The text pane: one row a block, with its number, code and line, and its text as markup reads it."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

from uocr_nb.markup.maths import split_maths
from uocr_nb.markup.safe_html import escape
from uocr_nb.markup.tables import parse_table
from uocr_nb.views.labels import FIGURES, block_name, label_style, tag_of
from uocr_nb.views.styles import HAIR, MONO, SECOND, code
from uocr_nb.views.words import count

if TYPE_CHECKING:
    from uocr_nb.document.model import Block, Page
    from uocr_nb.markup.tables import Cell, Grid

__all__ = [
    "ALL",
    "SHORT",
    "Limits",
    "block_row",
    "column_count",
    "extent",
    "head_rows",
    "is_number",
    "numeric_columns",
    "table_of",
    "text_html",
]

MATHS = "uo-math tex2jax_process mathjax_process"
"""Classes of a formula: the root tells the typesetter to ignore everything else."""

_MAX_FORMULA = 3_000
_UNSAFE_TEX = re.compile(
    r"\\(?:href|url|style|class|cssId|data|html\w*|require|unicode|mmlToken|(?:re)?newcommand|(?:re)?newenvironment|"
    r"DeclareMathOperator|[egx]?def|let|input|include)(?![A-Za-z])"
)
"""Commands that reach past their formula: links, styles, definitions that later formulas would see."""

_SHORT_CELL = 24
"""Characters of a cell that is not broken into lines; in the head it may be, to keep the columns narrow."""

_NUMBER = re.compile(r"[^\w\s]{0,3}\d[\d.,\s]{0,24}(?:[eE][+-]?\d{1,4})?\s?[^\w\s]{0,3}(?:[kKMmB])?|[-–—]")


@dataclass(frozen=True)
class Limits:
    """How much of a block is shown.

    Attributes
    ----------
    text : int
        Characters of a text.
    cells : int
        Cells of a table.
    """

    text: int
    cells: int


SHORT = Limits(text=6_000, cells=500)
"""For the stored form."""

ALL = Limits(text=10_000_000, cells=1_000_000)
"""For a file of its own."""


def table_of(block: Block) -> Grid | None:
    """Read the cells of a table block; None when it is none, or holds no cell."""
    if block.label != "table":
        return None
    grid = parse_table(block.text)
    return grid if any(grid.rows) else None


def reads_from_right(text: str) -> bool:
    """Whether the first letter with a direction belongs to a script that is written from right to left."""
    for char in text:
        direction = unicodedata.bidirectional(char)
        if direction in ("L", "R", "AL"):
            return direction != "L"
    return False


def is_number(text: str) -> bool:
    """Whether a cell stands right: a number with its sign, unit sign or percent, or a dash for none."""
    return len(text) <= 40 and _NUMBER.fullmatch(text.strip()) is not None


def numeric_columns(grid: Grid) -> set[int]:
    """Columns (from 0) in which at least half of the filled cells below the head are numbers."""
    numbers: dict[int, list[bool]] = {}
    for cell in (cell for row in grid.rows for cell in row):
        if cell.colspan == 1 and not cell.header and cell.text.strip():
            numbers.setdefault(cell.col, []).append(is_number(cell.text))
    return {column for column, votes in numbers.items() if sum(votes) * 2 >= len(votes)}


def text_html(text: str) -> str:
    """Text of a page with its formulas marked for the typesetter; everything is escaped."""
    parts = []
    for kind, part in split_maths(text):
        if kind == "text":
            parts.append(escape(part))
        elif len(part) > _MAX_FORMULA or _UNSAFE_TEX.search(part):
            parts.append(code(part))
        elif kind == "inline":
            parts.append(f'<span class="{MATHS}">${_tex(part)}$</span>')
        else:
            wide = "overflow-x:auto;overflow-y:hidden;white-space:normal"
            parts.append(f'<div class="{MATHS}" style="{wide}">$${_tex(part)}$$</div>')
    return "".join(parts)


def _tex(formula: str) -> str:
    # A dollar sign inside would end the formula early, an empty line would end it in some front ends.
    bare = re.sub(r"(?<!\\)\$", r"\\$", formula.strip())
    return escape(re.sub(r"\n\s*\n", "\n", bare))


def block_row(page: Page, number: int, crop: str, limits: Limits) -> str:
    """One row of the text pane for the block `number` (from 1); `crop` is its picture as a data URI, or empty."""
    block = page.blocks[number - 1]
    style = label_style(block.label)
    grid = table_of(block)
    name = block_name(page, number, extent(grid))
    body = _body(page, number, grid, crop, limits)
    side = ";text-align:right" if grid is None and reads_from_right(block.text) else ""
    look = _TEXT_STYLE.get(style.family, "white-space:pre-line") + side
    return (
        f'<div class="uo-row uo-b{number} uo-f-{style.family}" title="{escape(name)}" '
        'style="position:relative;margin:0 0 6px;padding:0 0 0 60px">'
        f'<div class="uo-no" style="position:absolute;left:0;top:0;width:48px;text-align:right;white-space:nowrap;'
        f'font-family:{MONO};font-size:11px">{escape(tag_of(number, block.label))}</div>'
        f'<div class="uo-text" dir="auto" style="border-left:3px {style.line} {style.static};min-height:20px;'
        f'padding:0 0 0 10px;{look};overflow-wrap:break-word">{body}</div>'
        "</div>"
    )


_TEXT_STYLE = {
    "title": "font-size:15px;font-weight:600;white-space:pre-line",
    "caption": f"font-size:12px;line-height:18px;white-space:pre-line;{SECOND}",
    "furniture": f"font-size:12px;white-space:pre-line;{SECOND}",
    "code": f"font-family:{MONO};font-size:11px;line-height:17px;white-space:pre-wrap",
    "table": "white-space:normal",
    "figure": "white-space:normal",
}


def extent(grid: Grid | None) -> str:
    """``7 rows, 11 columns``."""
    if grid is None:
        return ""
    return f"{count(len(grid.rows), 'row')}, {count(column_count(grid), 'column')}"


def column_count(grid: Grid) -> int:
    """Count the columns of a table."""
    return max(cell.col + cell.colspan for row in grid.rows for cell in row)


def _body(page: Page, number: int, grid: Grid | None, crop: str, limits: Limits) -> str:
    block = page.blocks[number - 1]
    if grid is not None:
        return _table(page, number, grid, limits.cells)
    text = block.text.strip()
    if block.label in FIGURES:
        return _figure(page, block, crop, text, limits)
    if label_style(block.label).family == "title":
        text = text.lstrip("#").strip()
    elif label_style(block.label).family == "code":
        return escape(_cut(text, limits.text)) + _more_text(page, text, limits.text)
    if not text:
        return f'<span style="{SECOND}">no text</span>'
    return text_html(_cut(text, limits.text)) + _more_text(page, text, limits.text)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[:limit]


def _more_text(page: Page, text: str, limit: int) -> str:
    if len(text) <= limit:
        return ""
    return _note(f"{len(text) - limit:,} more characters: ", f"doc.page({page.position}).text")


def _note(words: str, line: str) -> str:
    return f'<div style="font-size:12px;{SECOND}">{escape(words)}{code(line)}</div>'


def _figure(page: Page, block: Block, crop: str, text: str, limits: Limits) -> str:
    if crop and block.box is not None:
        share = max(12, round((block.box[2] - block.box[0]) / 9.99))
        picture = (
            f'<img alt="{escape(block.label)}" src="{crop}" style="display:block;width:{share}%;max-width:100%;'
            f'height:auto;margin:2px 0 4px;padding:0;border:{HAIR};box-sizing:border-box;background-color:#ffffff">'
        )
    else:
        picture = f'<span style="{SECOND}">{escape(block.label)}, not shown</span>'
    words = f"<div>{text_html(_cut(text, limits.text))}</div>" if text else ""
    return picture + words + _more_text(page, text, limits.text)


def head_rows(grid: Grid) -> int:
    """How many rows at the top are the head: those of header cells, else the first one if it holds words alone."""
    marked = 0
    for row in grid.rows:
        if not row or not all(cell.header for cell in row):
            break
        marked += 1
    if marked:
        return marked
    first = grid.rows[0] if grid.rows else ()
    wordy = any(cell.text.strip() for cell in first) and not any(is_number(cell.text) for cell in first)
    return int(wordy and len(grid.rows) > 1)


def _table(page: Page, number: int, grid: Grid, most: int) -> str:
    right, head = numeric_columns(grid), head_rows(grid)
    rows: list[str] = []
    cells = 0
    for n, row in enumerate(grid.rows):
        cells += len(row)
        if cells > most and rows:
            break
        inner = "".join(_cell(cell, right, head=cell.header or n < head) for cell in row)
        rows.append(f'<tr style="background-color:transparent;border-bottom:{HAIR}">{inner}</tr>')
    left = len(grid.rows) - len(rows)
    index = sum(block.label == "table" for block in page.blocks[: number - 1])
    note = _note(f"{count(left, 'more row')}: ", f"doc.page({page.position}).tables[{index}].df") if left else ""
    return (
        '<div class="uo-scroll" style="overflow-x:auto;max-width:100%">'
        '<table dir="auto" style="table-layout:auto;border-collapse:collapse;border:0;margin:0 0 4px;width:auto;'
        f'font-size:11px;line-height:15px;border-top:{HAIR}">{"".join(rows)}</table></div>{note}'
    )


def _cell(cell: Cell, right: set[int], *, head: bool) -> str:
    kind = "th" if cell.header else "td"
    spans = "".join(
        f' {name}="{number}"' for name, number in (("rowspan", cell.rowspan), ("colspan", cell.colspan)) if number > 1
    )
    text = cell.text.strip()
    stands_right = cell.colspan == 1 and cell.col in right and (head or is_number(text))
    side = "center" if cell.colspan > 1 else "right" if stands_right else "left"
    # A table keeps its size and scrolls: short cells are never broken, long ones get room.
    room = "min-width:110px" if len(text) > _SHORT_CELL else "" if head else "white-space:nowrap"
    weight = ";font-weight:600;vertical-align:bottom" if head else ""
    return (
        f'<{kind}{spans} style="padding:3px 7px;text-align:{side}{weight};{room}">'
        f"{text_html(text).replace(chr(10), '<br>')}</{kind}>"
    )
