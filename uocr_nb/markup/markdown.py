"""Markdown and plain text of blocks, pages and documents.

Titles become second-level headings (the model gives no levels), tables stay HTML because pipe tables cannot merge
cells, formulas stand between dollar signs. What a page says is never markup: tags, links, pictures and dollar signs of
its text are escaped. Pages are parted by a rule (``---``) in markdown and by a form feed in plain text; a page that is
not ok says so in a line in italics.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from uocr_nb.document.halves import show_bytes
from uocr_nb.document.model import Status
from uocr_nb.markup.escaping import (
    DISPLAY,
    FORMULA,
    defused,
    escape_line,
    escape_lines,
    plain_lines,
    without_pipes,
)
from uocr_nb.markup.maths import bare_formula, split_maths, typesettable
from uocr_nb.markup.safe_html import clean_table, escape
from uocr_nb.markup.tables import Cell, Grid, parse_table, pipe_table, split_tables, table_html

if TYPE_CHECKING:
    from collections.abc import Callable

    from uocr_nb.document.model import Block, Document, Page

__all__ = ["FURNITURE", "block_markdown", "block_text", "document_markdown", "page_markdown", "page_text"]

FURNITURE = frozenset({"header", "footer", "page_number"})
"""Labels left out of markdown and text, unless asked for or where a page has no other text.

Footnotes and text at the margin are content.
"""

Tables = Literal["html", "pipe"]

_FIGURES = frozenset({"image", "chart"})
_BULLET = "- "
_CLOSING_SIGNS = re.compile(r"(?:^|(?<=[ \t]))#(?=#*$)")

# They stand for what must be written after a table is cleaned (noncharacters, which `visible` leaves in no text).
_SIGN, _LONE_DOLLAR, _DOLLAR, _BACKSLASH = "\ufdd0", "\ufdd1", "\ufdd2", "\ufdd3"
_WRITTEN = {
    _SIGN: "$",
    _LONE_DOLLAR: "&#36;",
    _DOLLAR: "<span>&#36;</span>",
    _BACKSLASH: "<span>&#92;</span>",
}
_TAG = re.compile(r"<[^<>]*>")
_TEX_MARK = re.compile(r"\\(?=[\\$()\[\]]|(?:begin|end|(?:eq)?ref)\b)")


def block_markdown(block: Block, *, tables: Tables = "html") -> str:
    """Markdown of one block; "" for one without text, such as a list's container."""
    text = plain_lines(block.text)
    if block.label == "table" or "<table" in text:
        return _with_tables(text, tables)
    if block.label in _FIGURES:
        return "\n\n".join(filter(None, (f"*[{block.label}]*", _prose(text))))
    write = _WRITERS.get(block.label, _prose)
    return write(text).strip("\n")


def block_text(block: Block) -> str:
    """Plain text of one block: cells parted by tabs, formulas without their marks."""
    if block.label == "table" or "<table" in block.text:
        parts = split_tables(block.text)
        return "\n".join(_table_text(parse_table(part)) if kind == "table" else part.strip() for kind, part in parts)
    return "".join(part.strip() if kind == "display" else part for kind, part in split_maths(block.text)).strip()


def page_markdown(page: Page, *, furniture: bool = False, tables: Tables = "html") -> str:
    """Markdown of a page.

    Parameters
    ----------
    page : Page
    furniture : bool
        Whether headers, footers and page numbers are kept; they are kept anyway where a page has no other text.
    tables : str
        "html", or "pipe" for pipe tables, whose merged cells are filled.
    """
    written: list[str] = []
    in_list = False
    left_out = frozenset() if furniture else _left_out(page)
    for block in page.blocks:
        text = "" if block.label in left_out else block_markdown(block, tables=tables)
        if not text:
            continue
        bullet = text.startswith(_BULLET)
        if written:
            written.append("\n" if bullet and in_list else "\n\n")
        written.append(text)
        in_list = bullet
    note = _note(page)
    if note:
        written.append(f"\n\n{note}" if written else note)
    return "".join(written)


def page_text(page: Page, *, furniture: bool = False) -> str:
    """Plain text of a page, a blank line between blocks; `furniture` as in `page_markdown`."""
    left_out = frozenset() if furniture else _left_out(page)
    texts = (block_text(block) for block in page.blocks if block.label not in left_out)
    return "\n\n".join(filter(None, texts))


def _left_out(page: Page) -> frozenset[str]:
    """Labels that are left out: none on a page that would come out empty though it has text."""
    content = (block for block in page.blocks if block.label not in FURNITURE)
    return FURNITURE if any(_TAG.sub("", block.text).strip() for block in content) else frozenset()


def document_markdown(document: Document, *, furniture: bool = False, tables: Tables = "html") -> str:
    """Markdown of all pages, a rule between two pages; see `page_markdown`. Of several sources each one is named."""
    pages = document.pages
    several = len({page.source for page in pages}) > 1
    written, before = [], None
    for page in pages:
        named = [_source(page)] if several and page.source != before else []
        before = page.source
        written.append("\n\n".join([*named, page_markdown(page, furniture=furniture, tables=tables)]))
    return "\n\n---\n\n".join(written)


def _source(page: Page) -> str:
    name = " ".join(plain_lines(show_bytes(page.source)).split())
    return f"*[{escape_line(name, paired=name.count('$') > 1)}]*"


def _note(page: Page) -> str:
    """What a reader must know who sees the markdown alone."""
    if page.status in (Status.OK, Status.UNBOXED):
        return ""
    reason = " ".join(plain_lines(show_bytes(page.reason) or str(page.status)).split())
    return f"*[page {page.position}: {escape_line(reason, paired=reason.count('$') > 1)}]*"


def _with_tables(text: str, tables: Tables) -> str:
    parts = (_table(part, tables) if kind == "table" else _prose(part) for kind, part in split_tables(text))
    return "\n\n".join(filter(None, parts))


def _title(text: str) -> str:
    lines = [re.sub(r"^#{1,6}(?:[ \t]+|$)", "", line.strip()) for line in text.splitlines()]
    title = _line("\n".join(filter(None, lines))).replace("\n", "<br>")
    # Number signs at its end would be taken for the end of the heading.
    title = _CLOSING_SIGNS.sub(r"\\#", title)
    return f"## {title}" if title else ""


def _equation(text: str) -> str:
    formula = bare_formula(text)
    return _prose(text) if formula is None else _formula("display", formula)


def _fenced(text: str) -> str:
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}\n{text}\n{fence}" if text else ""


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall(r"`+", text)), default=0)


def _prose(text: str) -> str:
    """Prose and formulas; line ends of the page are kept."""
    text, formulas = _set_aside(text)
    written = escape_lines(text, paired=_paired(text))
    return re.sub(r"\n{3,}", "\n\n", _put_back(written, formulas)).strip("\n")


def _line(text: str, write: Callable[[str], str] = str) -> str:
    """Prose and formulas where nothing is read as the start of a line; `write` has the last word on a formula."""
    text, formulas = _set_aside(text, display=False)
    return _put_back(escape_line(text, paired=_paired(text)), [write(formula) for formula in formulas])


def _set_aside(text: str, *, display: bool = True) -> tuple[str, list[str]]:
    """`text` with a mark for each formula, and the formulas as they are written."""
    parts: list[str] = []
    formulas: list[str] = []
    for kind, part in split_maths(text):
        if kind == "text":
            parts.append(part)
        elif part:
            alone = display and kind == "display"
            # Two dollar signs side by side would be one mark.
            parts.append(f"\n\n{DISPLAY}\n\n" if alone else " " + FORMULA if parts[-1:] == [FORMULA] else FORMULA)
            formulas.append(_formula("display" if alone else "inline", part))
    return "".join(parts), formulas


def _put_back(text: str, formulas: list[str]) -> str:
    left = iter(formulas)
    return re.sub(f"[{FORMULA}{DISPLAY}]", lambda _mark: next(left), text)


def _paired(text: str) -> bool:
    """Whether a dollar sign of the prose could be taken for the start or the end of a formula."""
    return text.count("$") > 1 or (FORMULA in text and "$" in text)


def _formula(kind: str, formula: str) -> str:
    if not typesettable(formula):
        return _code(formula)
    if kind == "inline":
        return f"${defused(' '.join(formula.split()))}$"
    written = defused("\n" + formula.strip())
    return f"$${written}\n$$"


def _code(text: str) -> str:
    fence = "`" * (_longest_run(text) + 1)
    return f"{fence} {' '.join(text.split())} {fence}"


def _table(markup: str, tables: Tables) -> str:
    grid = parse_table(markup)
    if not any(grid.rows):
        return ""
    if tables == "pipe":
        return pipe_table(grid, lambda text: _line(text, without_pipes))
    cleaned = clean_table(table_html(grid, _cell_html)).replace("\n", " ")
    return re.sub(f"[{''.join(_WRITTEN)}]", lambda mark: _WRITTEN[mark[0]], cleaned)


def _cell_html(cell: Cell) -> str:
    parts = split_maths(cell.text)
    paired = cell.text.count("$") > 1
    if all(kind == "text" for kind, _part in parts):
        return _without_marks(cell.html, paired=paired)
    written = []
    for kind, part in parts:
        if kind == "text" or not typesettable(part):
            written.append(_without_marks(escape(part).replace("\n", "<br>"), paired=True))
        else:
            formula = escape(defused(" ".join(part.split())))
            written.append(_SIGN + formula.replace("$", _LONE_DOLLAR) + _SIGN)
    return "".join(written)


def _without_marks(markup: str, *, paired: bool) -> str:
    """HTML in which nothing is read as the mark of a formula; as an entity, a dollar is none in the source either."""
    return _TEX_MARK.sub(_BACKSLASH, markup.replace("$", _DOLLAR if paired else _LONE_DOLLAR))


def _table_text(grid: Grid) -> str:
    return "\n".join("\t".join(cell.replace("\n", " ") for cell in line) for line in grid.matrix())


_WRITERS = {"title": _title, "subtitle": _title, "equation": _equation, "code": _fenced, "algorithm": _fenced}
"""How the text of a block with such a label is written; any other label is prose."""
