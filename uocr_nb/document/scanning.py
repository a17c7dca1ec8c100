"""Scanners of the two dialects: they cut an answer at its marks, whatever way it was split into chunks.

Both work on a buffer: what may still become a mark waits there for the next chunk, and no decision looks further than
a fixed number of characters ahead. So the result depends on the text alone, and the time is linear in its length.
"""

from __future__ import annotations

import re
from itertools import product
from typing import TYPE_CHECKING

from uocr_nb.document.heads import (
    HEAD_LIMIT,
    KNOWN_LABELS,
    Head,
    is_unfinished,
    read_box,
    read_head,
    read_unclosed_head,
)

if TYPE_CHECKING:
    from uocr_nb.document.building import Builder

__all__ = ["LineScanner", "TaggedScanner"]

_END = r"<[|｜](?:(?:begin|end)[▁_]of[▁_]sentence|▁pad▁)[|｜]>"
_TAG = (
    r"<\|det\|>([A-Za-z_][A-Za-z0-9_-]{0,63}+) "
    r"\[([0-9]{1,3}+), ([0-9]{1,3}+), ([0-9]{1,3}+), ([0-9]{1,3}+)\]<\|/det\|>"
)
_MARK = re.compile(rf"{_TAG}|(<\|(?:det|/det|ref)\|>|<PAGE>)|{_END}")
_HEAD_END = re.compile(rf"<\|/?det\|>|<\|ref\|>|\n<PAGE>|{_END}")
_REF = re.compile(r"([^<>\n]{1,64}+)<\|/ref\|>\s*+(<\|det\|>)\s*+\[")
_REF_CUT = re.compile(
    r"[^<>\n]{0,64}+(?:<(?:\|(?:/(?:r(?:e(?:f\|?)?)?)?)?)?|<\|/ref\|>\s*+(?:<(?:\|(?:d(?:e(?:t(?:\|>?)?)?)?)?)?)?\s*+)?"
)
_REF_LOOK = 128
_PAGE_LOOK = 64
_LABEL = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")

_HEAD_OF_LINE = r"[ \t]{0,2}+([a-z][a-z_]{0,31}+) ?\[([^\[\]\n<]{0,80}+)\]"
_LINE = re.compile(rf"\n{_HEAD_OF_LINE}|(<PAGE>)|{_END}")
_LINE_HEAD = re.compile(_HEAD_OF_LINE)
_LINE_PART = re.compile(r"\n[ \t]{0,2}+(?:[a-z][a-z_]{0,31}+(?: ?(?:\[[^\[\]\n<]{0,80}+)?)?)?")
_LINE_CUT = re.compile(r"\n[ \t]{0,2}+([a-z][a-z_]{0,31}+) ?\[[0-9, .-]*+")
_LINE_LOOK = 128
_SOUND_BOX = re.compile(r"([0-9]{1,3}), ([0-9]{1,3}), ([0-9]{1,3}), ([0-9]{1,3})")

_BARS, _DASHES = "|｜", "▁_"
_ENDS = tuple(
    f"<{a}{word}{b}of{c}sentence{d}>" for a, word, b, c, d in product(_BARS, ("begin", "end"), _DASHES, _DASHES, _BARS)
) + tuple(f"<{a}▁pad▁{b}>" for a, b in product(_BARS, _BARS))
_OPENERS = ("<|det|>", "<|ref|>", "<PAGE>", *_ENDS)
_PREFIXES = frozenset(mark[:n] for mark in (*_OPENERS, "<|/det|>", "<|/ref|>") for n in range(1, len(mark)))
_LONGEST = max(map(len, _OPENERS))


def _partial(text: str, start: int) -> int:
    """Where, after `start`, the end of `text` begins that may still become a mark; its length when nowhere."""
    at = text.rfind("<", max(start, len(text) - _LONGEST))
    return at if at >= 0 and text[at:] in _PREFIXES else len(text)


class _Scanner:
    """The buffer and the page marks, which both dialects share."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self._buffer = ""
        self._at = 0
        """Where in the text the buffer begins."""
        self._before = "\n"
        """The last character that was consumed, "\n" after a mark."""
        self.unfinished = False
        """Whether the answer ended inside a tag (known after the final feed)."""

    @property
    def end(self) -> int:
        """How much text there was."""
        return self._at + len(self._buffer)

    def _keep(self, start: int) -> None:
        """Let go of the buffer before `start`."""
        self._buffer = self._buffer[start:]
        self._at += start

    def _text(self, text: str) -> None:
        if text:
            self.builder.add_text(text)
            self._before = text[-1]

    def _literal(self, text: str) -> None:
        self.builder.note("literal")
        self._text(text)
        self.builder.end_token()

    def _end_mark(self) -> None:
        # The text goes on with a new line, should anything follow.
        self.builder.add_text("\n")
        self.builder.end_token()
        self._before = "\n"

    def _page_mark(self, start: int, *, final: bool, tagged: bool) -> bool | None:
        """Whether the page mark that ends at `start` opens a page; None when more text is needed to tell.

        It does at the start of a line, when a tag, another page mark or the end follows, or, in an answer that began
        with a page mark, the end of the line. Right before a tag it does anywhere. Else the page itself prints it.
        """
        ahead = self._buffer[start : start + _PAGE_LOOK]
        follows = ahead.lstrip()
        line_start = self._before == "\n"
        if self.builder.untouched or (line_start and not tagged):
            return True
        if not final and len(ahead) < _PAGE_LOOK and (not follows or follows in _PREFIXES):
            return None
        opens = not follows or follows.startswith(_OPENERS) or follows in _PREFIXES
        if line_start:
            return opens or (self.builder.multi and "\n" in ahead[: len(ahead) - len(follows)])
        return ahead.startswith(("<|det|>", "<|ref|>"))


class TaggedScanner(_Scanner):
    """``<|det|>label [x1, y1, x2, y2]<|/det|>text``, with everything that engines do to it."""

    def __init__(self, builder: Builder) -> None:
        super().__init__(builder)
        self._label = ""
        """What the ``<|ref|>`` before the tag at the buffer's start said."""
        self._searched = 0
        """How far the tag at the buffer's start was searched for its end."""

    def feed(self, chunk: str, *, final: bool = False) -> None:
        """Read on; with `final`, to the end."""
        buffer = self._buffer = self._buffer + chunk
        at = 0
        while True:
            mark = None
            for match in _MARK.finditer(buffer, at):
                if match.lastindex != 5:
                    mark = match
                    break
                start, end = match.span()
                self._sound_tag(match, buffer[at:start], start, end)
                at = end
            if mark is None:
                break
            self._text(buffer[at : mark.start()])
            at = self._mark(mark, final=final)
            if at < 0:
                self._keep(mark.start())
                return
        rest = _partial(buffer, at)
        if final and rest < len(buffer):
            # A lone "<" is a cut tag only where a tag may stand; "<|" is one anywhere.
            before = buffer[rest - 1] if rest > at else self._before
            if before == "\n" or buffer.startswith(("<|", "<｜"), rest):
                self.unfinished = True
            else:
                rest = len(buffer)
        self._text(buffer[at:rest])
        self._keep(rest)

    def _sound_tag(self, match: re.Match[str], text: str, start: int, end: int) -> None:
        """A tag in the form that the model was taught, the common case, and the text before it."""
        builder = self.builder
        if text:
            builder.add_text(text)
        if not text or text[-1] == "Ċ":
            builder.drop_surface_mark()
        label, a, b, c, d = match.group(1, 2, 3, 4, 5)
        x1, y1, x2, y2 = int(a), int(b), int(c), int(d)
        if x1 <= x2 and y1 <= y2:
            builder.open_block(label, (x1, y1, x2, y2), self._at + start, self._at + end)
        else:
            box = (min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2))
            builder.open_block(label, box, self._at + start, self._at + end)
            builder.note("swapped", here=True)
        self._before = "\n"

    def _mark(self, match: re.Match[str], *, final: bool) -> int:
        """Deal with a mark that is not a sound tag. Where to read on, or -1 to wait for more text."""
        mark, end = match[6], match.end()
        if mark is None:
            self._end_mark()
        elif mark == "<|det|>":
            return self._bent_tag(match.start(), end, final=final)
        elif mark == "<|ref|>":
            return self._reference(end, final=final)
        elif mark == "<|/det|>":
            self._stray_close(match.start(), end)
        else:
            opens = self._page_mark(end, final=final, tagged=True)
            if opens is None:
                return -1
            if opens:
                self.builder.drop_surface_mark()
                self.builder.open_page(self._at + match.start())
                self._before = "\n"
            else:
                self._literal(mark)
        return end

    def _bent_tag(self, start: int, end: int, *, final: bool) -> int:
        buffer, limit = self._buffer, end + HEAD_LIMIT
        found = _HEAD_END.search(buffer, max(end, start + self._searched), limit)
        if found is None and len(buffer) < limit and not final:
            self._searched = len(buffer) - start - _LONGEST
            return -1
        self._searched = 0
        label, self._label = self._label, ""
        stop = found.start() if found else min(limit, len(buffer))
        inside = buffer[end:stop]
        if found and found[0] == "<|/det|>":
            head = read_head(inside, label)
            if head:
                self.builder.drop_surface_mark()
                self.builder.open_head(head, self._at + start, self._at + found.end())
                self._before = "\n"
                return found.end()
        elif (stop == len(buffer) or (found and found[0][-1] == ">" and "of" in found[0])) and is_unfinished(inside):
            self.unfinished = True
            return stop
        else:
            head = read_unclosed_head(inside)
            if head:
                self.builder.drop_surface_mark()
                read = stop - len(head.text)
                self.builder.open_head(head._replace(text=""), self._at + start, self._at + read)
                self._before = "\n"
                return read
        self._literal(buffer[start:end])
        return end

    def _reference(self, end: int, *, final: bool) -> int:
        """``<|ref|>label<|/ref|>`` before a tag that holds only boxes."""
        ahead = self._buffer[end : end + _REF_LOOK]
        match = _REF.match(ahead)
        if match:
            self._label = match[1].strip() if _LABEL.fullmatch(match[1].strip()) else "text"
            return end + match.start(2)
        if len(ahead) < _REF_LOOK:
            if not final:
                return -1
            if _REF_CUT.fullmatch(ahead):
                self.unfinished = True
                return end + len(ahead)
        self._literal("<|ref|>")
        return end

    def _stray_close(self, start: int, end: int) -> None:
        lost = self.builder.lost_opening()
        if lost is None:
            self._literal("<|/det|>")
            return
        label, written = lost
        box, repairs = read_box(written)
        at = self._at + start - len(label) - len(written)
        self.builder.open_head(Head(label or "text", box, "", (*repairs, "no_open")), at, self._at + end)
        self._before = "\n"


class LineScanner(_Scanner):
    """``label [x1, y1, x2, y2]text`` at the start of a line: what is left when the server drops special tokens."""

    def __init__(self, builder: Builder) -> None:
        super().__init__(builder)
        self._buffer = "\n"
        self._at = -1

    def feed(self, chunk: str, *, final: bool = False) -> None:
        """Read on; with `final`, to the end."""
        buffer = self._buffer = self._buffer + chunk
        at = 0
        for match in _LINE.finditer(buffer):
            start, end = match.span()
            if start < at:
                continue
            if match[3] is not None and not final and len(buffer) - end < _LINE_LOOK:
                # A page mark and the head right after it are dealt with in one go.
                self._text(buffer[at:start])
                self._keep(start)
                return
            self._text(buffer[at:start])
            at = self._line(match) if match[1] else self._other(match, final=final)
        rest = len(buffer)
        newline = buffer.rfind("\n", max(at, rest - _LINE_LOOK))
        if final:
            cut = _LINE_CUT.fullmatch(buffer, newline) if newline >= 0 else None
            if cut and cut[1] in KNOWN_LABELS:
                self.unfinished = True
                rest = newline
        else:
            rest = newline if newline >= 0 and _LINE_PART.fullmatch(buffer, newline) else _partial(buffer, at)
        self._text(buffer[at:rest])
        self._keep(rest)

    def _line(self, match: re.Match[str]) -> int:
        label, written = match[1], match[2]
        sound = _SOUND_BOX.fullmatch(written)
        if sound:
            a, b, c, d = sound.groups()
            x1, y1, x2, y2 = int(a), int(b), int(c), int(d)
            if x1 <= x2 and y1 <= y2:
                self.builder.open_block(label, (x1, y1, x2, y2), self._at + match.start(), self._at + match.end())
                self._before = "\n"
                return match.end()
        if sound or label in KNOWN_LABELS:
            box, repairs = read_box(written)
            if box:
                head = Head(label, box, "", repairs)
                self.builder.open_head(head, self._at + match.start(), self._at + match.end())
                self._before = "\n"
                return match.end()
        self._text(match[0])
        return match.end()

    def _other(self, match: re.Match[str], *, final: bool) -> int:
        end = match.end()
        if match[3] is None:
            self._end_mark()
        elif self._page_mark(end, final=final, tagged=False):
            self.builder.open_page(self._at + match.start())
            self._before = "\n"
            head = _LINE_HEAD.match(self._buffer, end)
            if head:
                return self._line(head)
        else:
            self._literal(match[0])
        return end
