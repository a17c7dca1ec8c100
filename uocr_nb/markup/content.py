"""What is compared of a block: its table, its formula, or its text, without the marks that only say which it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from uocr_nb.markup.cells import Grid, parse_table, split_tables
from uocr_nb.markup.distance import MOST_CHARACTERS, agreement, fine_tokens, normal, tokens
from uocr_nb.markup.maths import bare_formula, split_maths
from uocr_nb.markup.table_pairs import align_tables, joined, table_characters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uocr_nb.document.model import Block
    from uocr_nb.markup.distance import Token

__all__ = ["Content", "content", "content_agreement", "joined_content"]


@dataclass(frozen=True)
class Content:
    """What is compared.

    Attributes
    ----------
    kind : str
        ``table``, ``formula`` or ``text``.
    text : str
        The text; of a table its cells, a line a row.
    grid : Grid
        Of a table.
    """

    kind: str
    text: str
    grid: Grid = field(default_factory=Grid)

    @cached_property
    def tokens(self) -> list[Token]:
        """What is compared where one side is no formula."""
        return tokens(self.text)

    @cached_property
    def as_text(self) -> str:
        """The text without what is not compared (`uocr_nb.markup.distance.normal`)."""
        return normal(self.tokens)

    @cached_property
    def normal(self) -> str:
        """The same, of a formula by its commands and signs."""
        return normal(fine_tokens(self.text)) if self.kind == "formula" else self.as_text

    @cached_property
    def length(self) -> int:
        """How many characters it weighs."""
        return table_characters(self.grid) if self.kind == "table" else len(self.normal)


def content(block: Block) -> Content:
    """What is compared of a block."""
    text = block.text.strip()
    if block.label == "table" or "<table" in text:
        return _of_tables(text)
    if block.label == "equation":
        bare = bare_formula(text)
        return Content("formula", _formulas(text) if bare is None else bare)
    return Content("text", text.lstrip("#").strip() if block.label in ("title", "subtitle") else text)


def _formulas(text: str) -> str:
    return " ".join(part.strip() for _kind, part in split_maths(text))


def _of_tables(text: str) -> Content:
    parts: list[str] = []
    grids: list[Grid] = []
    words = False
    for kind, part in split_tables(text):
        grid = parse_table(part) if kind == "table" else Grid()
        if any(grid.rows):
            grids.append(grid)
            parts.append(_lines(grid))
        elif kind == "text" and part.strip():
            words = True
            parts.append(part.strip())
    whole = joined(grids) if grids and not words else Grid()
    return Content("table" if whole.rows else "text", "\n".join(parts), whole)


def _lines(grid: Grid) -> str:
    return "\n".join(" ".join(" ".join(cell.text.split()) for cell in row) for row in grid.rows)


def joined_content(parts: Sequence[Content]) -> Content:
    """One content of those of several blocks that one block holds in the other run."""
    if len(parts) == 1:
        return parts[0]
    kinds = {part.kind for part in parts}
    kind = kinds.pop() if len(kinds) == 1 else "text"
    text = "\n".join(part.text for part in parts if part.text)
    return Content(kind, text, joined([part.grid for part in parts]) if kind == "table" else Grid())


def content_agreement(a: Content, b: Content, most: int = MOST_CHARACTERS) -> float:
    """How far two contents agree, 0..1; the same from either side.

    Of two tables by cells (`uocr_nb.markup.table_pairs.TablePairs`), else 1 - edit distance / characters of the longer
    one, without what no reader sees: spaces, line ends, the marks of a title or a formula.
    """
    if a.kind == b.kind == "table":
        if a.text == b.text and a.grid == b.grid:
            return 1.0
        # Which of two equally good matches of rows is taken must not depend on the side.
        first, second = (a, b) if a.text <= b.text else (b, a)
        return align_tables(first.grid, second.grid).agreement
    if a.kind == b.kind:
        return agreement(a.normal, b.normal, most)
    return agreement(a.as_text, b.as_text, most)
