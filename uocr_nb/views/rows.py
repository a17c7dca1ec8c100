"""The text pane: one row a block, with its number, code and line, and its text as markup reads it."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

from uocr_nb.markup.maths import bare_formula, split_maths, to_mathml, typesettable
from uocr_nb.markup.safe_html import escape, quoted
from uocr_nb.views.cells import about, head_rows, is_number, last_rows, numeric_columns, pieces, table_index
from uocr_nb.views.labels import FIGURES, block_name, label_style, tag_of
from uocr_nb.views.marks import block_marks
from uocr_nb.views.styles import ACCENT, HAIR, MONO, SECOND, code, second
from uocr_nb.views.words import EMPTY_LIST, count, in_doubt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uocr_nb.document.model import Block, Page
    from uocr_nb.markup.tables import Cell, Grid

__all__ = ["ALL", "FULL", "SHORT", "Limits", "block_row", "formula_html", "text_html"]

MATHS = "uo-math tex2jax_process mathjax_process"
"""Classes of a formula: the root tells the typesetter to ignore everything else."""

_LONGEST_MATHML = 4_000
"""Bytes of MathML that are worth storing beside a formula."""

_NUMBERS = "ui-monospace,monospace"
"""Short, because every row says it."""

_SHORT_CELL = 24
"""Characters of a cell that is not broken into lines; in the head it may be, to keep the columns narrow."""

_DOUBT = "border-bottom:1px dotted #a9761a"
"""Under what the engine was not sure of: under each line of a text, at the foot of a table."""

_CARET = (
    '<span class="uo-caret" style="display:inline-block;width:6px;height:14px;margin:0 0 0 2px;vertical-align:-2px;'
    f'background-color:{ACCENT}"></span>'
)

_LOOKS = {
    "title": "font-size:15px;font-weight:600;white-space:pre-line",
    "caption": f"font-size:12px;line-height:18px;white-space:pre-line;{SECOND}",
    "furniture": f"font-size:12px;white-space:pre-line;{SECOND}",
    "code": f"font-family:{MONO};font-size:11px;line-height:17px;white-space:pre-wrap",
    "table": "white-space:normal",
    "figure": "white-space:normal",
}


@dataclass(frozen=True)
class Limits:
    """How much of a block is shown.

    Attributes
    ----------
    text : int
        Characters of a text.
    cells : int
        Cells of a table.
    rows : int or None
        Of a table, when only its end is shown.
    mathml : bool
        Whether formulas carry their MathML, for the script to show it.
    """

    text: int
    cells: int
    rows: int | None = None
    mathml: bool = False


SHORT = Limits(text=6_000, cells=500, mathml=True)
"""For the stored form."""

FULL = Limits(text=24_000, cells=2_000, mathml=True)
"""For a page that is looked at while a kernel runs."""

ALL = Limits(text=10_000_000, cells=1_000_000)
"""For a file of its own; its formulas are MathML already."""


def text_html(text: str, *, mathml: bool = False) -> str:
    """Make HTML of a page's text, its formulas marked for the typesetter; everything is escaped."""
    return "".join(
        escape(part) if kind == "text" else formula_html(kind, part, mathml=mathml) for kind, part in split_maths(text)
    )


def formula_html(kind: str, formula: str, *, mathml: bool = False) -> str:
    """Make HTML of one formula, without its marks; `kind` is inline or display."""
    if not formula.strip():
        return ""
    if not typesettable(formula):
        return code(formula)
    tex = escape(formula.strip())
    mml = _mathml(formula.strip(), kind) if mathml else ""
    if kind == "inline":
        return f'<span class="{MATHS}"{mml}>${tex}$</span>'
    return f'<div class="{MATHS}"{mml} style="overflow-x:auto;overflow-y:hidden;white-space:normal">$${tex}$$</div>'


def _mathml(formula: str, kind: str) -> str:
    made = to_mathml(formula, kind == "display")
    return f" data-mml='{quoted(made)}'" if made and len(made.encode()) <= _LONGEST_MATHML else ""


def _equation(text: str, *, mathml: bool) -> str:
    """An equation block is a formula also when its marks are missing, or are dollars."""
    formula = bare_formula(text)
    if formula is None:
        return text_html(text, mathml=mathml)
    return formula_html("display", formula, mathml=mathml)


def _reads_from_right(text: str) -> bool:
    """Tell whether the first letter with a direction belongs to a script that is written from right to left."""
    for char in text:
        direction = unicodedata.bidirectional(char)
        if direction in ("L", "R", "AL"):
            return direction != "L"
    return False


def block_row(
    page: Page,
    number: int,
    crop: str,
    limits: Limits,
    *,
    written: bool = False,
    edited: bool = False,
    titled: bool = True,
    plain: bool = False,
) -> str:
    """Draw the row of block `number` (from 1).

    Parameters
    ----------
    page : Page
        With the block.
    number : int
        Of the block.
    crop : str
        Its picture as a data URI, or empty.
    limits : Limits
        How much of it is shown.
    written : bool
        Whether it is being written: tinted, and with a caret after its last character.
    edited : bool
        Whether a person corrected it, which a dot after its code says.
    titled : bool
        Whether the row is named itself, where no box is; the script gives it the name of its box else.
    plain : bool
        Whether a text is drawn in few bytes, in the looks that its pane has.
    """
    block = page.blocks[number - 1]
    style = label_style(block.label)
    parts = pieces(block)
    side = ";text-align:right" if parts and isinstance(parts[0], str) and _reads_from_right(parts[0]) else ""
    # The lines of an algorithm are set in by their depth.
    shape = "white-space:pre-wrap" if block.label == "algorithm" else "white-space:pre-line"
    look = _LOOKS.get(style.family, shape) + side
    body = _figure(block, crop) if block.label in FIGURES else ""
    body += "".join(_piece(page, number, part, limits) for part in parts)
    body = body or second(_nothing(block))
    if in_doubt(block):
        if len(parts) == 1 and isinstance(parts[0], str) and block.label not in ("equation", *FIGURES):
            body = f'<span class="uo-doubt" style="{_DOUBT}">{body}</span>'
        else:
            look += f";{_DOUBT}"
    tint = ""
    if written:
        body = _with_caret(body)
        tint = f";background-color:{style.static}17"
    name = f' title="{escape(block_name(page, number, about(block, edited=edited)))}"' if titled else ""
    mark, dot = (" uo-edited", "•") if edited else ("", "")
    plain = plain and _is_plain(block, parts)
    opening = f'<div class="uo-row uo-b{number}{mark}"{block_marks(page, number, named=True, coded=not plain)}{name}'
    if plain:
        no = f"{tag_of(number, block.label)}{dot}".rjust(len(str(len(page.blocks))) + 3, "\xa0")
        return f'{opening}><code class="uo-no">{escape(no)}\xa0</code> <span class="uo-text">{body}</span></div>'
    return (
        f'{opening} style="position:relative;margin:0 0 6px;padding:0 0 0 60px{tint}">'
        '<div class="uo-no" style="position:absolute;left:0;width:48px;text-align:right;'
        f'font-family:{_NUMBERS};font-size:11px">{escape(tag_of(number, block.label))}{dot}</div>'
        f'<div class="uo-text" dir="auto" style="border-left:3px {style.line} {style.static};padding:0 0 0 10px;'
        f'{look}">{body}</div></div>'
    )


def _is_plain(block: Block, parts: Sequence[Grid | str]) -> bool:
    """Tell whether a block reads well as a line of plain text."""
    if block.label == "equation" or label_style(block.label).family in ("figure", "code"):
        return False
    return all(isinstance(part, str) and (part.isascii() or not _turns(part)) for part in parts)


_TURNING = {"R", "AL", "RLE", "RLO", "RLI", "FSI", "LRE", "LRO"}


def _turns(text: str) -> bool:
    """Tell whether anything in a text is written from right to left, or turns its direction."""
    return any(
        unicodedata.bidirectional(char) in ("R", "AL", "RLE", "RLO", "RLI", "FSI", "LRE", "LRO") for char in text
    )


def _with_caret(body: str) -> str:
    """Set the caret after the last character, in the last cell of a table."""
    at = max(body.rfind("</td></tr></table>"), body.rfind("</th></tr></table>"))
    inside = at >= 0 and body.endswith("</table></div>")
    return f"{body[:at]}{_CARET}{body[at:]}" if inside else body + _CARET


def _nothing(block: Block) -> str:
    return EMPTY_LIST if block.label == "list" else "no text"


def _piece(page: Page, number: int, part: Grid | str, limits: Limits) -> str:
    """Draw a table, or text as its label wants it."""
    block = page.blocks[number - 1]
    if not isinstance(part, str):
        part = part if limits.rows is None else last_rows(part, limits.rows)
        return _table(part, limits, f"doc.page({page.position}).tables[{table_index(page, number)}].df")
    shown = part[: limits.text]
    left = len(part) - len(shown)
    more = _note(f"{left:,} more characters: ", f"doc.page({page.position}).text") if left else ""
    family = label_style(block.label).family
    if family == "title":
        return text_html(shown.lstrip("#").strip(), mathml=limits.mathml) + more
    if family == "code":
        return escape(shown) + more
    draw = _equation if block.label == "equation" else text_html
    return draw(shown, mathml=limits.mathml) + more


def _note(words: str, line: str) -> str:
    return f'<div style="font-size:12px;{SECOND}">{escape(words)}{code(line)}</div>'


def _figure(block: Block, crop: str) -> str:
    if not crop or block.box is None:
        return second(f"{block.label}, not shown")
    share = max(12, round((block.box[2] - block.box[0]) / 9.99))
    return (
        f'<img alt="{escape(block.label)}" src="{crop}" style="display:block;width:{share}%;max-width:100%;'
        f'height:auto;margin:2px 0 4px;padding:0;border:{HAIR};box-sizing:border-box;background-color:#ffffff">'
    )


def _table(grid: Grid, limits: Limits, line: str) -> str:
    right, head = numeric_columns(grid), head_rows(grid)
    rows: list[str] = []
    cells = 0
    for n, row in enumerate(grid.rows):
        cells += len(row)
        if cells > limits.cells and rows:
            break
        inner = "".join(_cell(cell, right, head=cell.header or n < head, mathml=limits.mathml) for cell in row)
        rows.append(f'<tr style="background-color:transparent;border-bottom:{HAIR}">{inner}</tr>')
    left = len(grid.rows) - len(rows)
    note = _note(f"{count(left, 'more row')}: ", line) if left else ""
    return (
        '<div class="uo-scroll" style="overflow-x:auto;max-width:100%">'
        '<table dir="auto" style="table-layout:auto;border-collapse:collapse;border:0;margin:0 0 4px;width:auto;'
        f'font-size:11px;line-height:15px;border-top:{HAIR}">{"".join(rows)}</table></div>{note}'
    )


def _cell(cell: Cell, right: set[int], *, head: bool, mathml: bool) -> str:
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
    formulas = "\\(" in text or "\\[" in text or text.count("$") > 1
    inner = text_html(text, mathml=mathml).replace("\n", "<br>") if formulas else cell.html
    return f'<{kind}{spans} style="padding:3px 7px;text-align:{side}{weight};{room}">{inner}</{kind}>'
