"""What the scanners of the two dialects share: the marks, the buffer, and the page marks.

A scanner works on a buffer: what may still become a mark waits there for the next chunk, and no decision looks further
than a fixed number of characters ahead. So the result depends on the text alone, and the time is linear in its length.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from uocr_nb.document.building import Builder

__all__ = ["BEGIN", "DET", "END", "LONGEST", "PREFIXES", "Scanner", "partial"]

DET = ("<|det|>", "<|/det|>")
BEGIN = r"<[|｜]begin[▁_]of[▁_]sentence[|｜]>|<[|｜]▁pad▁[|｜]>"
"""Marks that may stand anywhere and say nothing."""
END = r"<[|｜]end[▁_]of[▁_]sentence[|｜]>|<ï½ľendâĸģofâĸģsentenceï½ľ>"
"""The mark of an answer's end, which servers show when they are asked for the tags; the last as byte-level text."""

_PAGE_LOOK = 64
_BARS, _DASHES = "|｜", "▁_"
_ENDS = (
    *(
        f"<{a}{word}{b}of{c}sentence{d}>"
        for a, word, b, c, d in product(_BARS, ("begin", "end"), _DASHES, _DASHES, _BARS)
    ),
    *(f"<{a}▁pad▁{b}>" for a, b in product(_BARS, _BARS)),
    "<ï½ľendâĸģofâĸģsentenceï½ľ>",
)
_OPENERS = ("<|det|>", "<|ref|>", "<PAGE>", *_ENDS)
PREFIXES = frozenset(mark[:n] for mark in (*_OPENERS, "<|/det|>", "<|/ref|>") for n in range(1, len(mark)))
LONGEST = max(map(len, _OPENERS))
_INVISIBLE = "\ufeff\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069"


def partial(text: str, start: int) -> int:
    """Where, after `start`, the end of `text` begins that may still become a mark; its length when nowhere."""
    at = text.rfind("<", max(start, len(text) - LONGEST))
    return at if at >= 0 and text[at:] in PREFIXES else len(text)


class Scanner:
    """The buffer and the page marks."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.buffer = ""
        self.at = 0
        """Where in the text the buffer begins."""
        self.before = "\n"
        """The last character that was consumed, "\n" after a mark."""
        self.unfinished = False
        """Whether the answer ended inside a tag (known after the final feed)."""

    @property
    def end(self) -> int:
        """How much text there was."""
        return self.at + len(self.buffer)

    def _keep(self, start: int) -> None:
        """Let go of the buffer before `start`."""
        self.buffer = self.buffer[start:]
        self.at += start

    def _text(self, text: str) -> None:
        if text:
            self.builder.add_text(text)
            self.before = text[-1]

    def _literal(self, text: str) -> None:
        self.builder.note("literal")
        self._text(text)
        self.builder.end_token()

    def _end_mark(self, written: str) -> None:
        # The text goes on with a new line, should anything follow.
        self.builder.add_text("\n")
        if "end" in written:
            self.builder.end_mark()
        self.builder.end_token()
        self.before = "\n"

    def _page_mark(self, start: int, *, final: bool, tagged: bool) -> bool | None:
        """Whether the page mark that ends at `start` opens a page; None when more text is needed to tell.

        It does at the start of a line, when a tag, another page mark or the end follows, or, in an answer that began
        with a page mark, the end of the line. Right before a tag it does anywhere. Else the page itself prints it.
        """
        ahead = self.buffer[start : start + _PAGE_LOOK]
        follows = ahead.lstrip()
        line_start = self.before == "\n" or self.before in _INVISIBLE
        if self.builder.untouched or (line_start and not tagged):
            return True
        if not final and len(ahead) < _PAGE_LOOK and (not follows or follows in PREFIXES):
            return None
        opens = not follows or follows.startswith(_OPENERS) or follows in PREFIXES
        if line_start:
            return opens or (self.builder.multi and "\n" in ahead[: len(ahead) - len(follows)])
        return ahead.startswith(("<|det|>", "<|ref|>"))
