"""What reading an answer gives: pages at the end, and events on the way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from uocr_nb.document.model import Block, Box

__all__ = [
    "BlockClosed",
    "BlockOpened",
    "Dialect",
    "Event",
    "Open",
    "PageOpened",
    "ParsedPage",
    "Restarted",
    "TextGrown",
]

Dialect = Literal["tagged", "stripped", "plain"]
Open = Literal["", "tag", "table", "formula"]


@dataclass(frozen=True, slots=True)
class ParsedPage:
    """One page of an answer as it was read.

    Attributes
    ----------
    blocks : tuple of Block
        In the order of the answer.
    warnings : tuple of str
        One sentence for each kind of repair.
    preamble : str
        Text before the first block; it belongs to no place on the page.
    complete : bool
        False when the answer ends inside a tag, a table or a formula of this page.
    open : str
        Which of them: tag, table, formula, or nothing.
    dialect : str
        tagged, stripped (the marks of the tags are missing) or plain (no block at all, only text).
    start : int
        Where in the answer the page begins: 0 for the first, else where its page mark stands. It ends where the next
        one begins.
    spans : tuple of (int, int)
        Where in the answer the text of each block begins and ends, as the engine wrote it.
    """

    blocks: tuple[Block, ...] = ()
    warnings: tuple[str, ...] = ()
    preamble: str = ""
    complete: bool = True
    open: Open = ""
    dialect: Dialect = "tagged"
    start: int = 0
    spans: tuple[tuple[int, int], ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class PageOpened:
    """A page begins; `page` counts from 0."""

    page: int


@dataclass(frozen=True, slots=True)
class BlockOpened:
    """The tag of block number `block` (from 0) of a page is closed; its text follows."""

    page: int
    block: int
    label: str
    box: Box | None


@dataclass(frozen=True, slots=True)
class TextGrown:
    """The open block goes on with `text`. For showing only: what counts is the block of `BlockClosed`."""

    page: int
    block: int
    text: str


@dataclass(frozen=True, slots=True)
class BlockClosed:
    """A block as it stays."""

    page: int
    block: int
    value: Block


@dataclass(frozen=True, slots=True)
class Restarted:
    """The answer turned out to be in another form: forget all events so far, they come again."""


Event = PageOpened | BlockOpened | TextGrown | BlockClosed | Restarted
