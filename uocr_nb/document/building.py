"""Pages under construction: what the scanners of the two dialects find is put together here."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from uocr_nb.document.model import Block, Box
from uocr_nb.document.notes import Notes

if TYPE_CHECKING:
    from uocr_nb.document.heads import Head

__all__ = [
    "BlockClosed",
    "BlockOpened",
    "Builder",
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

_NOTHING = re.compile(
    r"^[ \t]*+(?:\[(?:non-text|no text detected)\]|\(no text(?: to output)?\))$\n?", re.MULTILINE | re.IGNORECASE
)
_ESCAPED = re.compile("<\u200b(?=\u200b*+(?:[|｜]|PAGE|(?:P(?:AG?)?)?\\Z))")
_LOST_OPENING = re.compile(r"[ \tĠ]*+([A-Za-z_][A-Za-z0-9_-]{0,63}+)?[ \tĠ]*+((?=[^\n0-9]*+[0-9])\[[^\n]*\])[ \tĠ]*+")
_MARK_ENDS = frozenset("])")
_LOOK_BACK = 300


@dataclass(slots=True)
class _Draft:
    marked: bool = False
    blocks: list[Block] = field(default_factory=list)
    spans: list[tuple[int, int]] = field(default_factory=list)
    notes: Notes | None = None
    preamble: str = ""
    open: Open = ""
    start: int = 0


class Builder:
    """Takes text, tags and page marks in order; gives pages, and events when asked for them."""

    def __init__(self, dialect: Dialect, *, events: bool) -> None:
        self.dialect = dialect
        self.events: list[Event] | None = [] if events else None
        self.pages = [_Draft()]
        self.page = self.pages[0]
        self.parts: list[str] = []
        self.label: str | None = None
        self.box: Box | None = None
        self._since = 0
        self._text_at = 0
        self._white: list[str] = []
        self._begun = False
        self._told_page = -1

    @property
    def multi(self) -> bool:
        """Whether the answer began with a page mark, as answers about several pages do."""
        return self.pages[0].marked

    @property
    def untouched(self) -> bool:
        """Whether nothing but space has come so far."""
        return len(self.pages) == 1 and self.label is None and not self.multi and not "".join(self.parts).strip()

    def note(self, kind: str, *, here: bool = False) -> None:
        """Count a repair on this page, of the open block if `here`."""
        self._note(kind, len(self.page.blocks) + 1 if here else 0)

    def _note(self, kind: str, block: int = 0, times: int = 1) -> None:
        # Most pages need no repair, so they carry no notes.
        if self.page.notes is None:
            self.page.notes = Notes()
        self.page.notes.add(kind, block, times)

    def add_text(self, text: str) -> None:
        """More text of the open block, or of the preamble."""
        if not text:
            return
        self.parts.append(text)
        if self.events is not None and self.label is not None:
            self._tell_text(text)

    def open_page(self, start: int) -> None:
        """A page mark, which stands at `start` of the text: the first one only confirms the page that is there."""
        first = self.page is self.pages[0] and not self.page.marked and self.label is None
        if not first:
            self.close_block(start)
            self.page = _Draft(start=start)
            self.pages.append(self.page)
        self.page.marked = True
        self._tell_page()

    def open_block(self, label: str, box: Box | None, start: int, end: int) -> None:
        """A tag has been read, from `start` to `end` of the text."""
        self.close_block(start)
        self.label, self.box, self._text_at = label, box, end
        if self.events is not None:
            self._tell_page()
            self._white, self._begun = [], False
            self.events.append(BlockOpened(len(self.pages) - 1, len(self.page.blocks), label, box))

    def open_head(self, head: Head, start: int, end: int) -> None:
        """A tag that took repairs."""
        self.open_block(head.label, head.box, start, end)
        for kind in head.repairs:
            self.note(kind, here=True)
        self.add_text(head.text)

    def end_token(self) -> None:
        """Text before this point holds no more than one lost opening, and none that a later mark may take."""
        self._since = len(self.parts)

    def lost_opening(self) -> tuple[str, str] | None:
        """Label and box at the end of the text so far, whose opening mark is missing; they leave the text."""
        since = "".join(self.parts[self._since :])
        start = since.rfind("\n") + 1
        if (start == 0 and self._since > 0) or len(since) - start > _LOOK_BACK:
            return None
        match = _LOST_OPENING.fullmatch(since, start)
        if match is None:
            return None
        self.parts[self._since :] = [since[:start]]
        return match[1] or "", match[2]

    def close_block(self, end: int, *, last: bool = False) -> None:
        """End the open block, or the preamble, at `end` of the text."""
        parts, page = self.parts, self.page
        if parts:
            text = (parts[0] if len(parts) == 1 else "".join(parts)).strip()
            self.parts = []
            self._since = 0
            if "\u200b" in text:
                text = _ESCAPED.sub("<", text)
            # Only a line's end can end a mark for nothing; most blocks end in a word.
            if text[-1:] in _MARK_ENDS or "]\n" in text or ")\n" in text:
                text = self._without_marks(text)
        else:
            text = ""
        if self.label is None:
            page.preamble = text
            return
        if "<table" in text and not last and text.count("<table") > text.count("</table>"):
            self._note("open_table", len(page.blocks) + 1)
        block = Block(self.label, text, self.box)
        self.label = None
        page.blocks.append(block)
        page.spans.append((self._text_at, end))
        if self.events is not None:
            self.events.append(BlockClosed(len(self.pages) - 1, len(page.blocks) - 1, block))

    def _without_marks(self, text: str) -> str:
        text, taken = _NOTHING.subn("", text)
        if taken:
            self._note("nothing", times=taken)
        return text.strip()

    def drop_surface_mark(self) -> None:
        """Take the "Ċ" off that ends the text right before a mark: an engine that decoded only a part of its text."""
        if self.parts and self.parts[-1].endswith("Ċ"):
            self.parts[-1] = self.parts[-1][:-1]
            self.note("surface_mark")

    def finish(self, end: int, *, unfinished: bool) -> list[ParsedPage]:
        """Close everything at `end` of the text; `unfinished` when that is the beginning of a tag."""
        page, had_block = self.page, self.label is not None
        if page.notes is not None and page.notes.has("surface_mark"):
            self.parts = ["".join(self.parts).rstrip()]
            self.drop_surface_mark()
        self.close_block(end, last=True)
        if unfinished:
            page.open = "tag"
            self.note("unfinished")
        elif had_block:
            page.open = _left_open(page.blocks[-1].text)
        elif not page.blocks:
            page.open = _left_open(page.preamble)
        return self.snapshot()

    def snapshot(self) -> list[ParsedPage]:
        """The pages as they stand."""
        return [self._freeze(draft) for draft in self.pages]

    def _freeze(self, draft: _Draft) -> ParsedPage:
        blocks, preamble, dialect = tuple(draft.blocks), draft.preamble, self.dialect
        if draft is self.page and (self.parts or self.label is not None):
            text = "".join(self.parts).strip()
            if self.label is None:
                preamble = text
            else:
                blocks = (*blocks, Block(self.label, text, self.box))
        warnings = draft.notes.sentences() if draft.notes else ()
        if not blocks:
            dialect = "plain" if preamble or dialect == "stripped" else dialect
            if preamble:
                blocks, preamble = (Block("text", preamble),), ""
        elif preamble:
            warnings += (_about(preamble),)
        return ParsedPage(
            blocks, warnings, preamble, not draft.open, draft.open, dialect, draft.start, tuple(draft.spans)
        )

    def _tell_page(self) -> None:
        if self.events is not None and self._told_page < len(self.pages) - 1:
            self._told_page = len(self.pages) - 1
            self.events.append(PageOpened(self._told_page))

    def _tell_text(self, text: str) -> None:
        # Space at the ends of a block's text does not count, so it is told only when something follows it.
        kept = text.rstrip()
        if kept:
            told = "".join(self._white) + kept if self._begun else kept.lstrip()
            self._white, self._begun = [], True
            if self.events is not None:
                self.events.append(TextGrown(len(self.pages) - 1, len(self.page.blocks), told))
        if self._begun and len(kept) < len(text):
            self._white.append(text[len(kept) :])


def _about(preamble: str) -> str:
    first = " ".join(preamble[:200].split())
    shown = first if len(first) <= 60 else first[:57].rstrip() + "..."
    return f'Text before the first block has no place on the page and is left out: "{shown}"'


def _left_open(text: str) -> Open:
    if text.count("<table") > text.count("</table>"):
        return "table"
    if text.count("\\[") > text.count("\\]") or text.count("\\(") > text.count("\\)"):
        return "formula"
    return ""
