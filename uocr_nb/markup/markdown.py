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
from uocr_nb.markup.maths import split_maths, tidy
from uocr_nb.markup.safe_html import clean_table, escape
from uocr_nb.markup.tables import Cell, Grid, parse_table, pipe_table, split_tables, table_html

if TYPE_CHECKING:
    from uocr_nb.document.model import Block, Document, Page

__all__ = ["FURNITURE", "block_markdown", "block_text", "document_markdown", "page_markdown", "page_text"]

FURNITURE = frozenset({"header", "footer", "page_number"})
"""Labels left out of markdown and text, unless asked for or where a page has no other text.

Footnotes and text at the margin are content.
"""

Tables = Literal["html", "pipe"]

_FIGURES = frozenset({"image", "chart"})
_BULLET = re.compile(r"[-*+•] |[0-9]{1,3}[.)] ")

# What could be read as HTML, as a link or picture, as emphasis or code, in the middle of a line.
_INLINE = re.compile(
    r"(?P<tag><(?=[A-Za-z/!?]))|(?P<entity>&(?=#?[A-Za-z0-9]{1,31};))|(?P<link>\](?=[(\[]))|(?P<back>\\(?=[!-/:-@\[-`{-~]))"
    r"|(?P<mark>[$`]|\*(?=\S)|(?<=\S)\*|~(?=~)|(?<![^\W_])_|_(?![^\W_]))"
)
# What could be read as a heading, a quotation, a rule, a fence or a link's definition at the start of a line.
_LINE = re.compile(
    r"^([ ]{0,3})(?:(#{1,6})(?=\s|$)|(>)|([-=]+|[_*]{2,})(?=[ \t]*$)|(\[[^\]\n]{1,999}\])(?=:)|(~~~))", re.MULTILINE
)
_INDENT = re.compile(r"^(?:[ ]{4,}|[ ]{0,3}\t[ \t]*)(?![-*+•] )", re.MULTILINE)
_HARD_BREAK = re.compile(r"(?<!\n)\n(?=[^\n])(?!(?:[-*+•] |[0-9]{1,3}[.)] ))")
_UNSAFE_TEX = re.compile(
    r"\\(?:href|url|class|style|cssId|data|html\w*|require|includegraphics|unicode|def|gdef|edef|let|newcommand"
    r"|renewcommand|newenvironment|input|write|catcode|csname|mmlToken)(?![A-Za-z])"
)
_DOLLAR = "\ue000"
"""Stands for the dollar signs of formulas while those of prose are escaped (private use, taken out of page text)."""


def block_markdown(block: Block, *, tables: Tables = "html") -> str:
    """Markdown of one block; "" for one without text, such as a list's container."""
    text = block.text.replace(_DOLLAR, "")
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
        bullet = _BULLET.match(text) is not None
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
    return FURNITURE if any(block_text(block) and block_markdown(block) for block in content) else frozenset()


def document_markdown(document: Document, *, furniture: bool = False, tables: Tables = "html") -> str:
    """Markdown of all pages, a rule between two pages; see `page_markdown`."""
    return "\n\n---\n\n".join(page_markdown(page, furniture=furniture, tables=tables) for page in document.pages)


def _note(page: Page) -> str:
    """What a reader must know who sees the markdown alone."""
    if page.status in (Status.OK, Status.UNBOXED):
        return ""
    return f"*[page {page.position}: {_inline(show_bytes(page.reason) or str(page.status)).replace(chr(10), ' ')}]*"


def _with_tables(text: str, tables: Tables) -> str:
    parts = (_table(part, tables) if kind == "table" else _prose(part) for kind, part in split_tables(text))
    return "\n\n".join(filter(None, parts))


def _title(text: str) -> str:
    lines = [_formulas(line.strip().lstrip("#").strip()) for line in text.splitlines()]
    return f"## {'<br>'.join(filter(None, lines))}" if any(lines) else ""


def _equation(text: str) -> str:
    """An equation block is a formula also when its marks are missing, or are dollars."""
    bare = text.strip()
    for opener, closer in (("$$", "$$"), ("$", "$")):
        if bare.startswith(opener) and bare.endswith(closer) and len(bare) > 2 * len(opener):
            return _formula("display", tidy(bare[len(opener) : -len(closer)]))
    if bare and "\\(" not in bare and "\\[" not in bare:
        return _formula("display", tidy(bare))
    return _prose(text)


def _fenced(text: str) -> str:
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}" if text else ""


def _prose(text: str) -> str:
    """Prose and formulas; line ends of the page are kept."""
    written = _formulas(_INDENT.sub("   ", text)).strip("\n")
    return re.sub(r"\n{3,}", "\n\n", written)


def _formulas(text: str) -> str:
    return "".join(_lines(part) if kind == "text" else _formula(kind, part) for kind, part in split_maths(text))


def _lines(text: str) -> str:
    return _HARD_BREAK.sub("  \n", _LINE.sub(_escape_start, _inline(text)))


def _escape_start(found: re.Match[str]) -> str:
    if found[5]:
        return f"{found[1]}{found[5]}\\"
    return f"{found[1]}\\{found[0][len(found[1]) :]}"


def _inline(text: str) -> str:
    def escaped(found: re.Match[str]) -> str:
        kind = found.lastgroup
        if kind == "tag":
            return "&lt;"
        if kind == "entity":
            return "&amp;"
        if kind == "link":
            return "\\]"
        return "\\" + found[0]

    return _INLINE.sub(escaped, text)


def _formula(kind: str, formula: str, dollar: str = "$") -> str:
    if not formula:
        return ""
    if _UNSAFE_TEX.search(formula):
        return _code(formula)
    # No "<" of a formula can begin a tag, whoever reads the markdown.
    formula = formula.replace("<", r"\lt ")
    if kind == "inline":
        return f"{dollar}{' '.join(formula.split())}{dollar}"
    return f"\n{dollar * 2}\n{formula}\n{dollar * 2}\n"


def _code(text: str) -> str:
    fence = "`" * (1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    return f"{fence} {' '.join(text.split())} {fence}"


def _table(markup: str, tables: Tables) -> str:
    grid = parse_table(markup)
    if not any(grid.rows):
        return ""
    if tables == "pipe":
        return pipe_table(grid, lambda text: _formulas(text).strip())
    cleaned = clean_table(table_html(grid, _cell_html))
    # As an entity, a price is no formula to those who look for dollar signs in the source.
    return cleaned.replace("\n", " ").replace("$", "&#36;").replace(_DOLLAR, "$")


def _cell_html(cell: Cell) -> str:
    if "\\(" not in cell.text and "\\[" not in cell.text:
        return cell.html
    parts = []
    for kind, part in split_maths(cell.text):
        if kind == "text":
            parts.append(escape(part).replace("\n", "<br>"))
        elif _UNSAFE_TEX.search(part):
            parts.append(escape(part))
        else:
            parts.append(escape(_formula("inline", part, _DOLLAR)))
    return "".join(parts)


def _table_text(grid: Grid) -> str:
    return "\n".join("\t".join(cell.replace("\n", " ") for cell in line) for line in grid.matrix())


_WRITERS = {"title": _title, "subtitle": _title, "equation": _equation, "code": _fenced, "algorithm": _fenced}
"""How the text of a block with such a label is written; any other label is prose."""
