"""The document as plain text: 80 columns, no colour needed, the codes carry the labels."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from typing import TYPE_CHECKING

from uocr_nb.document.halves import show_bytes
from uocr_nb.document.model import Status
from uocr_nb.markup.markdown import block_text
from uocr_nb.views.cells import head_rows, is_number, numeric_columns, pieces, table_index
from uocr_nb.views.labels import FIGURES, code_of, label_name, label_style
from uocr_nb.views.words import (
    BLANK,
    BY_SOURCE,
    DOUBTS,
    EMPTY_LIST,
    MOST_WARNINGS,
    alike,
    count,
    doubts,
    facts,
    is_blank,
    not_ok,
    pages_by_source,
    places,
    reason_of,
    retry_line,
    source_place,
    status_counts,
    tries_line,
    warnings_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from uocr_nb.document.model import Block, Document, Page
    from uocr_nb.markup.tables import Grid

__all__ = ["COLUMNS", "cells", "clip", "document_plain", "page_plain", "printable", "wrap"]

COLUMNS = 80
"""Width of a terminal nobody has made wider."""

_INDENT = " " * 9
_WIDTH = COLUMNS - len(_INDENT)
_EXCERPT_LINES = 2
_EXCERPT_ROWS = 4
_EXCERPT_BLOCKS = 40
_MAX_CELL = 24
_MOST_BAD = 10
_MOST_SOURCES = 8
_SHORT_HEAD = 6

# Control characters, escape sequences among them, and marks that turn the direction of the text around them:
# a terminal would obey them.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


def printable(text: str) -> str:
    """Drop the characters that a terminal obeys instead of showing, and write out those that it cannot be sent."""
    return _UNSAFE.sub("", show_bytes(text).replace("\t", " "))


def cells(text: str) -> int:
    """Columns that the text takes on a terminal: two for a wide character, none for a combining one."""
    if text.isascii():
        return len(text)
    return sum(_cells(c) for c in text)


def _cells(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


def clip(text: str, width: int) -> str:
    """Cut the text to at most `width` columns; ``...`` at its end when something is missing."""
    if cells(text) <= width:
        return text
    return _head(text, width - 3).rstrip() + "..." if width > 3 else _head(text, width)  # the dots themselves


def _head(text: str, width: int) -> str:
    used = 0
    for n, char in enumerate(text):
        used += _cells(char)
        if used > width:
            return text[:n]
    return text


def wrap(text: str, width: int) -> list[str]:
    """Lines of at most `width` columns; broken at spaces, and anywhere where there are none (Chinese, long URLs)."""
    lines: list[str] = []
    for paragraph in text.splitlines():
        line = ""
        for word in paragraph.split():
            joined = f"{line} {word}" if line else word
            if cells(joined) <= width:
                line = joined
                continue
            # A long word fills the line it begins on if it holds wide characters, as they may be broken anywhere.
            if line and cells(word) > len(word):
                part = _head(word, width - cells(line) - 1)
                line, word = (f"{line} {part}" if part else line), word[len(part) :]  # noqa: PLW2901
            if line:
                lines.append(line)
            while cells(word) > width:
                part = _head(word, width) or word[0]
                lines.append(part)
                word = word[len(part) :]  # noqa: PLW2901 - what is left of it
            line = word
        if line:
            lines.append(line)
    return lines


def document_plain(doc: Document) -> str:
    """Write the document for a terminal: how its pages are, the first page in short, and the lines that show more."""
    pages = doc.pages
    if not pages:
        return "A document without pages."
    lines = [_title(pages)]
    warnings = doc.own_warnings
    for text in warnings[:MOST_WARNINGS]:
        lines += _indented("  ", wrap(f"! {printable(text)}", COLUMNS - 2))
    if (left := len(warnings) - MOST_WARNINGS) > 0:
        lines.append(f"  ! {left:,} more: doc.warnings")
    lines += _source_lines(pages)
    lines += _page_lines(pages[0], whole=False)
    lines += _bad_lines(pages)
    lines += _last_lines(pages)
    return "\n".join(lines)


def page_plain(page: Page) -> str:
    """One page for a terminal, its text in full."""
    name = f", {printable(page.name)}" if page.name else ""
    return "\n".join([f"{printable(page.source)}   page {page.number}{name}", *_page_lines(page, whole=True)])


def _title(pages: Sequence[Page]) -> str:
    sources = list(dict.fromkeys(page.source for page in pages))
    name = printable(sources[0]) if len(sources) == 1 else f"{len(sources):,} sources"
    said = ", ".join(text for _status, text in status_counts(pages))
    return f"{clip(name, 40)}   {count(len(pages), 'page')}: {said}"


def _source_lines(pages: Sequence[Page]) -> list[str]:
    """How the pages of each source are, one line each; nothing where every source is one page."""
    groups = pages_by_source(pages)
    if len(groups) < 2 or len(groups) == len(pages):  # one source, or a page each
        return []
    ordered = sorted(groups.items(), key=lambda item: not not_ok(item[1]))
    lines = []
    for name, group in ordered[:_MOST_SOURCES]:
        counts = status_counts([replace(page, position=page.number) for page in group])
        said = ", ".join(text for _status, text in counts) if len(group) > 1 else group[0].status
        lines += _indented("  ", wrap(f"{printable(name)}: {said}", COLUMNS - 2))
    if len(ordered) > _MOST_SOURCES:
        lines.append(f"  {count(len(ordered) - _MOST_SOURCES, 'more source')}: {BY_SOURCE}")
    return lines


def _bad_lines(pages: Sequence[Page]) -> list[str]:
    """A line for each page that is not ok, with its reason; the first page has told its own."""
    groups = alike(not_ok(pages[1:]))
    lines = []
    for group in groups[:_MOST_BAD]:
        place = source_place(group, pages)
        reason = reason_of(group[0])
        named = f"{place}: " if place and group[0].source not in reason else ""
        head = f"{places(group)}  {group[0].status}  "
        said = wrap(printable(named + reason), COLUMNS - len(head))
        lines += [head + said[0], *_indented(" " * len(head), said[1:])]
    if left := sum(map(len, groups[_MOST_BAD:])):
        lines.append(f"{count(left, 'more page')} not ok: {DOUBTS}")
    return lines


def _last_lines(pages: Sequence[Page]) -> list[str]:
    more = len(pages) - 1
    parts = []
    if more == 1:
        parts.append("1 more page: doc.page(2)")
    elif more:
        parts.append(f"{more:,} more pages: doc.page(2) ... doc.page({len(pages)})")
    if again := retry_line(pages):
        parts.append(again)
    if unsure := doubts(pages):
        parts.append(f"{count(unsure, 'block')} in doubt: {DOUBTS}")
    lines: list[str] = []
    for part in parts:
        # Two short ones stand on one line.
        if lines and cells(f"{lines[-1]}.  {part}") <= COLUMNS:
            lines[-1] += f".  {part}"
        else:
            lines.append(part)
    return lines


def _page_lines(page: Page, *, whole: bool) -> list[str]:
    said = BLANK if is_blank(page) else count(len(page.blocks), "block")
    lines = ["  ".join([f"page {page.position}", str(page.status), said, *facts(page)])]
    if page.status is not Status.OK:
        lines += _indented("  ", wrap(printable(page.reason or reason_of(page)), COLUMNS - 2))
    warnings = warnings_of(page)
    for warning in warnings if whole else warnings[:3]:
        lines += _indented("  ", wrap(f"! {printable(warning)}", COLUMNS - 2))
    if again := tries_line(page):
        lines.append(f"  {again}")
    blocks = page.blocks if whole else page.blocks[:_EXCERPT_BLOCKS]
    for number in range(1, len(blocks) + 1):
        lines += _block_lines(page, number, whole=whole)
    if len(blocks) < len(page.blocks):
        left = len(page.blocks) - len(blocks)
        lines.append(f"{_INDENT}{count(left, 'more block')}: print(doc.page({page.position}))")
    if page.status in (Status.TRUNCATED, Status.LOOPING):
        lines.append(f"{_INDENT}{'- ' * 10}cut here")
    return lines


def _indented(indent: str, lines: Iterable[str]) -> list[str]:
    return [indent + line for line in lines]


def _block_lines(page: Page, number: int, *, whole: bool) -> list[str]:
    block = page.blocks[number - 1]
    body: list[str] = []
    for piece in pieces(block):
        if isinstance(piece, str):
            body += _text_lines(replace(block, text=piece), whole=whole)
        else:
            body += _table_lines(page, number, piece, whole=whole)
    body = body or [_without_text(block)]
    return [f"{number:>4} {code_of(block.label):<2}  {body[0]}", *_indented(_INDENT, body[1:])]


def _text_lines(block: Block, *, whole: bool) -> list[str]:
    # A list with a text is no mere container, so its text is shown.
    label = "text" if block.label == "list" else block.label
    lines = wrap(printable(block_text(replace(block, label=label))), _WIDTH)
    if not whole and len(lines) > _EXCERPT_LINES:
        return [*lines[: _EXCERPT_LINES - 1], _broken_off(lines[_EXCERPT_LINES - 1])]
    return lines


def _broken_off(line: str) -> str:
    """Mark the last line of an excerpt, ended at a word where it has words."""
    room = _WIDTH - 4
    if cells(line) > room:
        line = _head(line, room)
        line = line.rsplit(" ", 1)[0] if " " in line else line
    return f"{line} ..."


def _without_text(block: Block) -> str:
    if block.label in FIGURES:
        return f"({label_name(block.label)})"
    if block.label == "list":
        return f"({EMPTY_LIST})"
    return f"({label_style(block.label).family} without text)"


def _table_lines(page: Page, number: int, grid: Grid, *, whole: bool) -> list[str]:
    columns = grid.columns
    matrix = [[""] * columns for _row in grid.rows]
    for cell in (cell for row in grid.rows for cell in row):
        matrix[cell.row][cell.col] = " ".join(printable(cell.text).split())
    rows = matrix if whole else matrix[:_EXCERPT_ROWS]
    head = head_rows(grid)
    # A head of two words stands on two lines, so that it does not make a column of numbers wide.
    widths = [max(_least(row[c]) if n < head else cells(row[c]) for n, row in enumerate(rows)) for c in range(columns)]
    widths = [min(max(width, 1), _MAX_CELL) for width in widths]
    fit = _columns_that_fit(widths)
    right = numeric_columns(grid)
    lines = []
    for n, row in enumerate(rows):
        lines += _table_row(row[:fit], widths, right, head=n < head)
    if fit < columns:
        lines[0] = f"{lines[0].ljust(_WIDTH - 6)}  +{columns - fit}"
    index = table_index(page, number)
    left = len(matrix) - len(rows)
    if left or fit < columns:
        words = f"{count(left, 'more row')}: " if left else "All columns: "
        lines.append(f"{words}doc.page({page.position}).tables[{index}].df")
    return lines


def _least(text: str) -> int:
    """Columns that the longest word of a head takes; short heads stay on one line."""
    return cells(text) if cells(text) <= _SHORT_HEAD else max(map(cells, text.split()), default=0)


def _columns_that_fit(widths: Sequence[int]) -> int:
    if sum(widths) + 2 * (len(widths) - 1) <= _WIDTH:
        return len(widths)
    used, fit = 0, 0
    for width in widths:
        used += width + 2
        if used > _WIDTH - 6:  # the mark of what is missing: "  +12"
            break
        fit += 1
    return max(fit, 1)


def _table_row(row: Sequence[str], widths: Sequence[int], right: set[int], *, head: bool) -> list[str]:
    broken = [wrap(text, width) if head else [clip(text, width)] for text, width in zip(row, widths, strict=False)]
    lines = []
    for n in range(max(1, *map(len, broken)) if broken else 1):
        parts = []
        for column, cell in enumerate(broken):
            shown = cell[n] if n < len(cell) else ""
            gap = " " * (widths[column] - cells(shown))
            stands_right = column in right and (head or is_number(row[column]))
            parts.append(gap + shown if stands_right else shown + gap)
        lines.append("  ".join(parts).rstrip())
    return lines
