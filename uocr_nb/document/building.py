"""Pages under construction: what the scanners of the two dialects find is put together here."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from uocr_nb.document.cleaning import clean, left_open, without_fence, without_residue
from uocr_nb.document.model import Block, Box
from uocr_nb.document.notes import Notes
from uocr_nb.document.parsed import BlockClosed, BlockOpened, Dialect, Event, Open, PageOpened, ParsedPage, TextGrown

if TYPE_CHECKING:
    from uocr_nb.document.heads import Head

__all__ = ["Builder"]

_LOST_OPENING = re.compile(
    r"(?:<?\|?d?e?t?\|?>)?[ \tĠ]*+([A-Za-z_][A-Za-z0-9_-]{0,63}+)?[ \tĠ]*+((?=[^\n0-9]*+[0-9])\[[^\n]*\])[ \tĠ]*+"
)
_LOST_BEHIND_TEXT = re.compile(r"(?<![A-Za-z_])([a-z][a-z_]{0,31})? ?(\[[0-9]{1,3}(?:, ?[0-9]{1,3}){3}\])\Z")
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
        self.silent = not events
        """Whether sound blocks may be added whole: nobody listens, and the text holds no carriage return."""
        self.pages = [_Draft()]
        self.page = self.pages[0]
        self.parts: list[str] = []
        self.label: str | None = None
        self.box: Box | None = None
        self._since = 0
        self._text_at = 0
        self._ended = 0
        """How many parts there were at the answer's end mark that was read last, 0 when there was none."""
        self._fence = ""
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
        page = self.pages[0]
        if len(self.pages) > 1 or page.blocks or page.marked or self.label is not None:
            return False
        return not "".join(self.parts).strip()

    @property
    def just_opened(self) -> bool:
        """Whether a tag has been read, and nothing behind it."""
        return self.label is not None and not self.parts

    def note(self, kind: str, *, here: bool = False) -> None:
        """Count a repair on this page, of the open block if `here`."""
        self._note(kind, block=len(self.page.blocks) + 1 if here else 0)

    def _note(self, kind: str, times: int = 1, *, block: int = 0) -> None:
        # Most pages need no repair, so they carry no notes.
        if self.page.notes is None:
            self.page.notes = Notes()
        self.page.notes.add(kind, block, times)

    def add_text(self, text: str) -> None:
        """More text of the open block, or of the preamble."""
        self.parts.append(text)
        if self.events is not None and self.label is not None:
            self._tell_text(text)

    def open_page(self, start: int) -> None:
        """A page mark, which stands at `start` of the text: the first one only confirms the page that is there."""
        page = self.page
        first = page is self.pages[0] and not page.marked and not page.blocks and self.label is None
        if self._ended:
            self._went_on()
        if not first:
            self.close_block(start, marked=True)
            self.page = _Draft(start=start)
            self.pages.append(self.page)
        self.page.marked = True
        if self.events is not None:
            self._tell_page()

    def open_block(self, label: str, box: Box | None, start: int, end: int) -> None:
        """A tag has been read, from `start` to `end` of the text."""
        self.close_open(start)
        self.label, self.box, self._text_at = label, box, end
        if self.events is not None:
            self._tell_page()
            self._white, self._begun = [], False
            self.events.append(BlockOpened(len(self.pages) - 1, len(self.page.blocks), label, box))

    def close_open(self, start: int) -> None:
        """A tag at `start` of the text ends what is open, if anything is."""
        if self._ended:
            self._went_on()
        if self.label is not None or self.parts:
            self.close_block(start, marked=True)

    def add_block(self, label: str, text: str, box: Box, start: int, end: int) -> None:
        """A block that needs no repair has been read whole, its text (stripped) from `start` to `end`."""
        self.page.blocks.append(Block(label, text, box))
        self.page.spans.append((start, end))

    def open_head(self, head: Head, start: int, end: int) -> None:
        """A tag that took repairs."""
        self.open_block(head.label, head.box, start, end)
        for kind in head.repairs:
            self.note(kind, here=True)
        if head.text:
            self.add_text(head.text)

    def end_token(self) -> None:
        """Text before this point holds no more than one lost opening, and none that a later mark may take."""
        self._since = len(self.parts)

    def end_mark(self) -> None:
        """The mark of an answer's end has been read."""
        if self._ended and "".join(self.parts[self._ended :]).strip():
            self._note("end_inside")
        self._ended = len(self.parts)

    def _went_on(self) -> None:
        self._note("end_inside")
        self._ended = 0

    def lost_opening(self) -> tuple[str, str, int] | None:
        """Label, box and length of a head at the end of the text whose opening mark is missing; it leaves the text."""
        since = "".join(self.parts[self._since :])
        start = since.rfind("\n") + 1
        match = None
        if (start > 0 or self._since == 0) and len(since) - start <= _LOOK_BACK:
            match = _LOST_OPENING.fullmatch(since, start)
        if match is None:
            match = _LOST_BEHIND_TEXT.search(since, max(start, len(since) - _LOOK_BACK))
        if match is None:
            return None
        self.parts[self._since :] = [since[: match.start()]] if match.start() else []
        return match[1] or "", match[2], len(since) - match.start()

    def close_block(self, end: int, *, marked: bool = False, last: bool = False) -> None:
        """End the open block, or the preamble, at `end` of the text, `marked` by a tag or a page mark."""
        parts, page = self.parts, self.page
        text = ""
        if parts:
            text = parts[0] if len(parts) == 1 else "".join(parts)
            self.parts = []
            self._since = 0
            text = clean(text, self._note, marked=marked, preamble=self.label is None)
            if last:
                text = self._ending(text)
        if self.label is None:
            page.preamble = self._beginning(text) if text else ""
            return
        if "<table" in text and not last and text.count("<table") > text.count("</table>"):
            self._note("open_table", block=len(page.blocks) + 1)
        block = Block(self.label, text, self.box)
        self.label = None
        page.blocks.append(block)
        page.spans.append((self._text_at, end))
        if self.events is not None:
            self.events.append(BlockClosed(len(self.pages) - 1, len(page.blocks) - 1, block))

    def _beginning(self, preamble: str) -> str:
        """The preamble without the code fence that the answer stands in."""
        fenced = without_fence(preamble)
        if fenced is None or self._fence:
            return preamble
        self._note("fence")
        self._fence = fenced[1]
        return fenced[0]

    def _ending(self, text: str) -> str:
        """The last text of the answer without what servers leave there."""
        whole = without_residue(text)
        if whole != text:
            self._note("residue")
        if self._fence:
            at = f"\n{whole}".rfind(f"\n{self._fence}")
            if at >= 0 and not whole[at + len(self._fence) :].split("\n", 1)[0].strip():
                whole = whole[:at].rstrip()
        return whole

    def finish(self, end: int, *, unfinished: bool) -> list[ParsedPage]:
        """Close everything at `end` of the text; `unfinished` when that is the beginning of a tag."""
        page, had_block = self.page, self.label is not None
        if self._ended and "".join(self.parts[self._ended :]).strip():
            self._note("end_inside")
        self.close_block(end, marked=page.notes is not None and page.notes.has("surface_mark"), last=True)
        if unfinished:
            page.open = "tag"
            self.note("unfinished")
        elif had_block:
            page.open = left_open(page.blocks[-1].text)
        elif not page.blocks:
            page.open = left_open(page.preamble)
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
