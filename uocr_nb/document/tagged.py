"""The tagged dialect: ``<|det|>label [x1, y1, x2, y2]<|/det|>text``, with everything that engines do to it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from uocr_nb.document.cleaning import is_plain
from uocr_nb.document.heads import (
    HEAD_LIMIT,
    KNOWN_LABELS,
    Head,
    is_label,
    is_label_of_ref,
    is_unfinished,
    known_label,
    read_box,
    read_head,
    read_unclosed_head,
)
from uocr_nb.document.scanning import BEGIN, END, LONGEST, Scanner, partial

if TYPE_CHECKING:
    from uocr_nb.document.building import Builder
    from uocr_nb.document.model import Box

__all__ = ["TaggedScanner"]

_SOUND = re.compile(
    r"<\|det\|>([A-Za-z_][A-Za-z0-9_-]{0,63}+) "
    r"\[([0-9]{1,3}+), ([0-9]{1,3}+), ([0-9]{1,3}+), ([0-9]{1,3}+)\]<\|/det\|>"
)
_MARK = re.compile(rf"<\|(?:det|/det|ref)\|>|<PAGE>|{END}|{BEGIN}")
_HEAD_END = re.compile(rf"<\|/?det\|>|<\|ref\|>|\n<PAGE>|{END}|{BEGIN}")
_REF_END = re.compile(r"<\|/ref\|>|<\|/?det\|>|<\|ref\|>|\n<PAGE>")
_BOX_BEHIND = re.compile(r"\s*+(<\|det\|>)\s*+\[")
_BOX_CUT = re.compile(r"\s*+(?:<(?:\|(?:d(?:e(?:t(?:\|(?:>\s*+)?)?)?)?)?)?)?")
_REF_CUT = re.compile(r"[A-Za-z_]{0,64}+(?:<(?:\|(?:/(?:r(?:e(?:f\|?)?)?)?)?)?)?")
_REF_LOOK = 64


class TaggedScanner(Scanner):
    """Cuts a tagged answer at its marks."""

    def __init__(self, builder: Builder) -> None:
        super().__init__(builder)
        self._label = ""
        """What the ``<|ref|>`` before the tag at the buffer's start said."""
        self._text_of_ref = ""
        """What it said where that was no label but the text itself."""
        self._searched = 0
        """How far the tag at the buffer's start was searched for its end."""
        self._unclosed = False
        """Whether the tag read last had no end, and nothing has come behind it."""

    def feed(self, chunk: str, *, final: bool = False) -> None:
        """Read on; with `final`, to the end."""
        buffer = self.buffer = self.buffer + chunk
        at = 0
        while True:
            mark = _MARK.search(buffer, at)
            if mark is None:
                break
            start = mark.start()
            if start > at:
                self._text(buffer[at:start])
            at = self._sound_run(start) if mark[0] == "<|det|>" and not self._label else start
            if at > start:
                self._searched = 0
                continue
            at = self._mark(mark, final=final)
            if at < 0:
                self._keep(start)
                return
        rest = partial(buffer, at)
        if final and rest < len(buffer):
            # A lone "<" is a cut tag only where a tag may stand; "<|" is one anywhere.
            before = buffer[rest - 1] if rest > at else self.before
            if before == "\n" or buffer.startswith(("<|", "<｜"), rest):
                self.unfinished = True
            else:
                rest = len(buffer)
        self._text(buffer[at:rest])
        self._keep(rest)

    def _sound_run(self, start: int) -> int:
        """Tags in the form that the model was taught, the common case, from `start` on. Where to read on."""
        buffer, builder, base = self.buffer, self.builder, self.at
        silent, add_block = builder.silent, builder.add_block
        match = _SOUND.match(buffer, start)
        if match is not None and silent:
            builder.close_open(base + start)
        while match is not None:
            end = match.end()
            label, a, b, c, d = match.groups()
            x1, y1, x2, y2 = box = (int(a), int(b), int(c), int(d))
            following = buffer.find("<|det|>", end)
            text = buffer[end:following] if following >= 0 else "<|"
            if "<|" in text or "<PAGE>" in text or (not text.isascii() and ("<｜" in text or "<ï½ľ" in text)):
                self._open_sound(label, box, base + start, base + end)
                return end
            match = _SOUND.match(buffer, following)
            sound = match is not None and x1 <= x2 and y1 <= y2 and label in KNOWN_LABELS
            if silent and sound and is_plain(short := text.strip()):
                add_block(label, short, box, base + end, base + following)
            else:
                self._open_sound(label, box, base + start, base + end)
                if text:
                    builder.add_text(text)
                if silent and match is not None:
                    builder.close_open(base + following)
            self.before = text[-1:] or "\n"
            start = following
        return start

    def _open_sound(self, label: str, box: Box, start: int, end: int) -> None:
        x1, y1, x2, y2 = box
        repairs: tuple[str, ...] = ()
        if x1 > x2 or y1 > y2:
            box, repairs = (min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2)), ("swapped",)
        known = label if label in KNOWN_LABELS else known_label(label) or label
        if known != label:
            repairs = (*repairs, "spelling")
        self.builder.open_head(Head(known, box, "", repairs), start, end)
        self.before = "\n"

    def _mark(self, match: re.Match[str], *, final: bool) -> int:
        """Deal with a mark that does not begin a sound tag. Where to read on, or -1 to wait for more text."""
        mark, end = match[0], match.end()
        if mark == "<|det|>":
            return self._bent_tag(match.start(), end, final=final)
        if mark == "<|ref|>":
            return self._reference(match.start(), end, final=final)
        if mark == "<|/det|>":
            self._stray_close(match.start(), end)
        elif mark == "<PAGE>":
            opens = self._page_mark(end, final=final, tagged=True)
            if opens is None:
                return -1
            if opens:
                self.builder.open_page(self.at + match.start())
                self.before = "\n"
            else:
                self._literal(mark)
        else:
            self._end_mark(mark)
        return end

    def _bent_tag(self, start: int, end: int, *, final: bool) -> int:
        buffer, limit = self.buffer, end + HEAD_LIMIT
        found = _HEAD_END.search(buffer, max(end, start + self._searched), limit)
        if found is None and len(buffer) < limit and not final:
            self._searched = len(buffer) - start - LONGEST
            return -1
        self._searched = 0
        label, self._label = self._label, ""
        stop = found.start() if found else min(limit, len(buffer))
        inside = buffer[end:stop]
        if found and found[0] == "<|/det|>":
            head = read_head(inside, label)
            if head:
                self._open(head, start, found.end())
                return found.end()
        elif (stop == len(buffer) or (found and found[0][-1] == ">" and "of" in found[0])) and is_unfinished(inside):
            self.unfinished = True
            return stop
        elif found and found[0] == "<|det|>" and (not inside.strip() or is_label(inside.strip())):
            # The mark came twice; what stood between is the label of the second.
            self.builder.note("doubled")
            self._label = label or inside.strip()
            return stop
        else:
            head = read_unclosed_head(inside)
            if head:
                read = stop - len(head.text)
                self._open(head._replace(text=""), start, read)
                self._unclosed = not head.text
                return read
        if not (self._unclosed and self.builder.just_opened):
            self._literal(buffer[start:end])
        # Else it is the end of the tag before it, without the slash.
        self._unclosed = False
        return end

    def _reference(self, start: int, end: int, *, final: bool) -> int:
        """``<|ref|>label<|/ref|>``, or the text itself, before a tag that holds only boxes."""
        buffer, limit = self.buffer, end + HEAD_LIMIT
        found = _REF_END.search(buffer, max(end, start + self._searched), limit)
        if found is None and len(buffer) < limit and not final:
            self._searched = len(buffer) - start - LONGEST
            return -1
        if found is not None and found[0] == "<|/ref|>":
            box = _BOX_BEHIND.match(buffer, found.end(), found.end() + _REF_LOOK)
            if box:
                self._searched = 0
                said = buffer[end : found.start()].strip()
                label = is_label_of_ref(said)
                self._label, self._text_of_ref = (said, "") if label else ("text", said)
                return box.start(1)
            ahead = buffer[found.end() : found.end() + _REF_LOOK]
            cut = len(ahead) < _REF_LOOK and _BOX_CUT.fullmatch(ahead) is not None
        else:
            cut = found is None and len(buffer) < limit and _REF_CUT.fullmatch(buffer, end) is not None
        if cut and not final:
            return -1
        self._searched = 0
        if cut:
            self.unfinished = True
            return len(buffer)
        self._literal("<|ref|>")
        return end

    def _open(self, head: Head, start: int, end: int) -> None:
        text, self._text_of_ref = self._text_of_ref, ""
        self.builder.open_head(head._replace(text=text + head.text), self.at + start, self.at + end)
        self.before = "\n"

    def _stray_close(self, start: int, end: int) -> None:
        if self.builder.just_opened:
            self.builder.note("doubled")
            return
        lost = self.builder.lost_opening()
        if lost is None:
            self._literal("<|/det|>")
            return
        label, written, length = lost
        box, repairs = read_box(written)
        self._open(Head(label or "text", box, "", (*repairs, "no_open")), start - length, end)
