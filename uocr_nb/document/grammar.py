"""The language of the answers: text to blocks, as a stream, and back.

An answer is read in one of two dialects: *tagged* (``<|det|>label [x1, y1, x2, y2]<|/det|>text``) when a tag's mark is
anywhere in it, else *stripped* (the same without the marks, at the start of a line). Whatever the engine made of it,
there are pages at the end, with one sentence for each kind of repair, and never an exception. How the text was split
into chunks makes no difference.

Tags that a page itself prints cannot be told from the engine's own. `write_block` therefore puts a zero-width space
(U+200B) behind the "<" of such text, and the reader takes it out again, so that what is written is read back as it was.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from uocr_nb.document.building import Builder
from uocr_nb.document.halves import UNSOUND, is_sound, kind_of
from uocr_nb.document.heads import KNOWN_LABELS
from uocr_nb.document.notes import sentence
from uocr_nb.document.parsed import BlockClosed, BlockOpened, Event, PageOpened, ParsedPage, Restarted, TextGrown
from uocr_nb.document.scanning import DET
from uocr_nb.document.stripped import StrippedScanner
from uocr_nb.document.surface import LOOK, SurfaceDecoder, is_surface
from uocr_nb.document.tagged import TaggedScanner

if TYPE_CHECKING:
    from collections.abc import Iterable

    from uocr_nb.document.model import Block

__all__ = [
    "KNOWN_LABELS",
    "AnswerParser",
    "BlockClosed",
    "BlockOpened",
    "Event",
    "PageOpened",
    "ParsedPage",
    "Restarted",
    "TextGrown",
    "parse_answer",
    "strip_special",
    "write_answer",
    "write_block",
]

_TO_ESCAPE = re.compile("<(?=\u200b*+(?:[|｜]|PAGE|(?:P(?:AG?)?)?\\Z))")
_LONE_RETURN = re.compile(r"\r(?!\n)")
_ENOUGH = 4_096
"""Characters put aside before they are read, where nobody listens."""
_SPECIAL = re.compile(r"</?t[dr]>|<image>|<\|/?(?:ref|det)\|>|<\|grounding\|>")


class AnswerParser:
    """Reads an answer as it arrives.

    Parameters
    ----------
    events : bool
        Whether `feed` tells what it found. Without, chunks are put aside and read when there are enough of them, or
        when somebody looks at `pages`, which is many times as fast.
    """

    def __init__(self, *, events: bool = True) -> None:
        self._events = events
        self._told = False
        self._aside: list[str] = []
        self._waiting = 0
        self._held = ""
        """A carriage return that ended the last chunk: what it is depends on the next character."""
        self._returns = False
        """Whether lines end in a carriage return and a line feed."""
        self._start = ""
        self._passed = 0
        self._surface: bool | None = None
        self._decoder: SurfaceDecoder | None = None
        self._fed = 0
        self._unsound: list[tuple[int, str]] = []
        """Where characters stood in the answer that no text can hold, and the kind of each."""
        self._tagged = False
        self._kept: list[str] = []
        self._tail = ""
        self._result: list[ParsedPage] | None = None
        self._builder = Builder("stripped", events=events)
        self._scanner: StrippedScanner | TaggedScanner = StrippedScanner(self._builder)

    def feed(self, chunk: str) -> list[Event]:
        """Read on.

        Returns
        -------
        list of Event
            What the chunk brought: pages and blocks opened, text grown, blocks closed. Each block is closed with its
            final text. After `Restarted`, everything comes again.
        """
        if self._events:
            self._form(self._sound(chunk), final=False)
            return self._drain()
        self._aside.append(chunk)
        self._waiting += len(chunk)
        if self._waiting >= _ENOUGH:
            self._catch_up()
        return []

    def finish(self) -> list[ParsedPage]:
        """Read to the end; the pages, at least one. Feeding after this is an error; a second call gives the same."""
        if self._result is None:
            self._catch_up()
            held, self._held = self._held, ""
            self._form("\n" if held else "", final=True)
            self._result = self._placed(self._builder.finish(self._scanner.end, unfinished=self._scanner.unfinished))
        return self._result

    def rest(self) -> list[Event]:
        """The events that `finish` brought, such as the closing of the last block."""
        return self._drain()

    @property
    def pages(self) -> list[ParsedPage]:
        """The pages so far, with the block that is being read."""
        if self._result is not None:
            return self._result
        self._catch_up()
        return self._placed(self._builder.snapshot())

    def _catch_up(self) -> None:
        if self._aside:
            chunk = "".join(self._aside)
            self._aside, self._waiting = [], 0
            self._form(self._sound(chunk), final=False)

    def _drain(self) -> list[Event]:
        events = self._builder.events
        if not events:
            return []
        self._builder.events = []
        self._told = True
        return events

    def _sound(self, chunk: str) -> str:
        """Replace what is no character, one for one, so that every place stays where it was."""
        if self._fed == 0 and chunk.startswith("\ufeff"):
            chunk = " " + chunk[1:]
        if self._held or not is_sound(chunk):
            chunk = self._held + chunk
            self._held = ""
            if chunk.endswith("\r"):
                chunk, self._held = chunk[:-1], "\r"
            if "\r" in chunk:
                chunk = _LONE_RETURN.sub("\n", chunk)
                self._returns = self._returns or "\r" in chunk
                self._builder.silent = self._builder.silent and not self._returns
            self._unsound += [(self._fed + found.start(), kind_of(found[0])) for found in UNSOUND.finditer(chunk)]
            chunk = UNSOUND.sub("\ufffd", chunk)
        self._fed += len(chunk)
        return chunk

    def _placed(self, pages: list[ParsedPage]) -> list[ParsedPage]:
        """The pages with their places in the answer itself, and with what is known by its place."""
        if self._decoder:
            origin = self._decoder.origin
            pages = [
                replace(
                    page,
                    start=origin(page.start) if page.start else 0,
                    spans=tuple((origin(start), origin(end)) for start, end in page.spans),
                )
                for page in pages
            ]
        if self._unsound:
            starts = [page.start for page in pages]
            counts = Counter((bisect_right(starts, at) - 1, kind) for at, kind in self._unsound)
            told: dict[int, list[str]] = {}
            for (number, kind), count in counts.items():
                told.setdefault(number, []).append(sentence(kind, count))
            pages = [
                replace(page, warnings=(*page.warnings, *told[number])) if number in told else page
                for number, page in enumerate(pages)
            ]
        return pages

    def _form(self, chunk: str, *, final: bool) -> None:
        """Find out whether the answer is in byte-level form, and decode it if so."""
        if self._surface is None:
            self._start += chunk
            if len(self._start) >= LOOK or final:
                self._surface = is_surface(self._start[:LOOK])
                chunk = self._start[0 if self._surface else self._passed :]
                if self._surface:
                    self._decoder = SurfaceDecoder()
                    self._restart()
            elif "Ġ" in self._start or "Ċ" in self._start:
                return
            else:
                self._passed += len(chunk)
        if self._decoder:
            chunk = self._decoder.feed(chunk, final=final)
        self._scan(chunk, final=final)

    def _scan(self, text: str, *, final: bool) -> None:
        """Find out the dialect, and read on in it."""
        if not self._tagged:
            self._kept.append(text)
            probe = self._tail + text
            if DET[0] in probe or DET[1] in probe:
                self._tagged = True
                text = "".join(self._kept)
                self._restart()
            else:
                self._tail = probe[1 - len(DET[1]) :]
        self._scanner.feed(text, final=final)

    def _restart(self) -> None:
        self._kept = []
        self._tail = ""
        self._builder = Builder("tagged" if self._tagged else "stripped", events=self._events)
        self._scanner = TaggedScanner(self._builder) if self._tagged else StrippedScanner(self._builder)
        self._builder.silent = not self._events and not self._returns
        if self._surface:
            self._builder.note("surface")
        if self._told and self._builder.events is not None:
            self._builder.events.append(Restarted())
            self._told = False


def parse_answer(text: str) -> list[ParsedPage]:
    """The pages of a whole answer, at least one."""
    parser = AnswerParser(events=False)
    parser.feed(text)
    return parser.finish()


def write_block(block: Block) -> str:
    """The block in the tagged dialect. Read back, it is the same, but for space at the ends of its text."""
    box = "" if block.box is None else f" [{', '.join(map(str, block.box))}]"
    return f"<|det|>{block.label}{box}<|/det|>{_TO_ESCAPE.sub(chr(60) + chr(0x200B), block.text)}"


def write_answer(pages: Iterable[Iterable[Block]], *, multi: bool) -> str:
    """An answer about `pages` in the tagged dialect; with `multi`, ``<PAGE>`` opens each page, the first one too."""
    mark = "<PAGE>" if multi else ""
    return "\n".join(mark + "\n".join(map(write_block, blocks)) for blocks in pages)


def strip_special(text: str) -> str:
    """What is left of an answer when the server skips special tokens: the stripped dialect, tables without cells."""
    return _SPECIAL.sub("", text)
