"""The stripped dialect: ``label [x1, y1, x2, y2]text`` at the start of a line.

It is what is left of the tagged one when a server drops special tokens.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from uocr_nb.document.cleaning import is_plain
from uocr_nb.document.heads import KNOWN_LABELS, Head, read_box
from uocr_nb.document.scanning import BEGIN, END, Scanner, partial

if TYPE_CHECKING:
    from uocr_nb.document.building import Builder

__all__ = ["StrippedScanner"]

_LEAD = "[ \\t\ufeff\u200e\u200f\u2066-\u2069]{0,3}+"
_LABEL = "([a-z][a-z_]{0,31}+)"
_HEAD_OF_LINE = rf"{_LEAD}{_LABEL} ?([\[［【]{{1,2}}[^\[\]\n<］】]{{0,80}}+[\]］】]{{1,2}})"
_SOUND = re.compile(r"\n([a-z][a-z_]{0,31}+) \[([0-9]{1,3}+), ([0-9]{1,3}+), ([0-9]{1,3}+), ([0-9]{1,3}+)\]")
_LINE = re.compile(rf"\n{_HEAD_OF_LINE}|(<PAGE>)|{END}|{BEGIN}")
_HEAD = re.compile(_HEAD_OF_LINE)
_PART = re.compile(rf"\n?{_LEAD}(?:{_LABEL}(?: ?(?:[\[［【]{{1,2}}(?:[^\[\]\n<］】]{{0,80}}+[\]］】]?)?)?)?)?")
_CUT = re.compile(rf"\n{_LEAD}{_LABEL} ?[\[［【]{{1,2}}[0-9, .-]*+")
_SOUND_BOX = re.compile(r"\[[0-9]{1,3}(?:, [0-9]{1,3}){3}\]")
_LOOK = 128
_WITHOUT_TEXT = frozenset({"image", "chart", "list"})
"""Labels of blocks that hold no text: a head right behind theirs is the next block's."""


class StrippedScanner(Scanner):
    """Cuts a stripped answer at its marks."""

    def __init__(self, builder: Builder) -> None:
        super().__init__(builder)
        self.buffer = "\n"
        self.at = -1
        self._glued = False
        """Whether a head may come right here, without a line's end before it."""

    def feed(self, chunk: str, *, final: bool = False) -> None:
        """Read on; with `final`, to the end."""
        buffer = self.buffer = self.buffer + chunk
        size, at = len(buffer), 0
        while True:
            if self._glued:
                if not final and size - at < _LOOK and _PART.fullmatch(buffer, at):
                    break
                self._glued = False
                match = _HEAD.match(buffer, at)
                if match:
                    at = self._line(match)
                    continue
            match = _LINE.search(buffer, at)
            if match is None:
                break
            start, end = match.span()
            if start > at:
                self._text(buffer[at:start])
            if match[3] is not None and not final and size - end < _LOOK:
                self._keep(start)
                return
            at = self._sound_run(start) if match[1] else start
            if at == start:
                at = self._line(match) if match[1] else self._other(match, final=final)
        rest = self._rest(at, final=final)
        self._text(buffer[at:rest])
        self._keep(rest)

    def _rest(self, at: int, *, final: bool) -> int:
        """Where, from `at` on, the end of the buffer begins that has to wait, or that is a cut head."""
        buffer = self.buffer
        size = len(buffer)
        if self._glued and not final:
            return at
        newline = buffer.rfind("\n", max(at, size - _LOOK))
        if final:
            cut = _CUT.fullmatch(buffer, newline) if newline >= 0 else None
            if cut and cut[1] in KNOWN_LABELS:
                self.unfinished = True
                return newline
            return size
        return newline if newline >= 0 and _PART.fullmatch(buffer, newline) else partial(buffer, at)

    def _sound_run(self, at: int) -> int:
        """Heads in the form that the model was taught, the common case, from `at` on. Where to read on."""
        buffer, builder, base = self.buffer, self.builder, self.at
        silent, add_block = builder.silent, builder.add_block
        match = _SOUND.match(buffer, at)
        if match is not None and silent:
            builder.close_open(base + at)
        while match is not None:
            label, a, b, c, d = match.groups()
            x1, y1, x2, y2 = box = (int(a), int(b), int(c), int(d))
            if x1 > x2 or y1 > y2:
                return at
            end = match.end()
            newline = buffer.find("\n", end)
            text = buffer[end:newline] if newline >= 0 else "<|"
            other = "<" in text and ("<PAGE>" in text or "<|" in text or "<｜" in text or "<ï½ľ" in text)
            if other or (label in _WITHOUT_TEXT and (text or newline < 0)):
                builder.open_block(label, box, base + at, base + end)
                self.before = "\n"
                self._glued = label in _WITHOUT_TEXT
                return end
            match = _SOUND.match(buffer, newline)
            if silent and match is not None and is_plain(short := text.strip()):
                add_block(label, short, box, base + end, base + newline)
            else:
                builder.open_block(label, box, base + at, base + end)
                if text:
                    builder.add_text(text)
                if silent and match is not None:
                    builder.close_open(base + newline)
            self.before = text[-1:] or "\n"
            at = newline
        return at

    def _line(self, match: re.Match[str]) -> int:
        """What has the form of a head, and is one when its label is known or its box is sound. Where to read on."""
        label, written = match[1], match[2]
        sound = _SOUND_BOX.fullmatch(written) is not None
        if sound or label in KNOWN_LABELS:
            box, repairs = read_box(written)
            if box:
                self.builder.open_head(Head(label, box, "", repairs), self.at + match.start(), self.at + match.end())
                self.before = "\n"
                self._glued = label in _WITHOUT_TEXT
                return match.end()
        self._text(match[0])
        return match.end()

    def _other(self, match: re.Match[str], *, final: bool) -> int:
        end = match.end()
        if match[3] is None:
            self._end_mark(match[0])
        elif self._page_mark(end, final=final, tagged=False):
            self.builder.open_page(self.at + match.start())
            self.before = "\n"
            self._glued = True
        else:
            self._literal(match[0])
        return end
