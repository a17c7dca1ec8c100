"""A small typesetter: words with italics and note marks, justified lines, and the paper they are put on."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pymupdf

__all__ = ["INK", "PALE", "Line", "Paper", "Style", "Word", "break_lines", "plain", "text_width", "words"]

INK = (0.07, 0.08, 0.1)
PALE = (0.36, 0.39, 0.43)

MARK = re.compile(r"\^(\w+)")
RAISED_SIZE = 0.66
RAISED_BY = 0.36
LOOSE_LAST = 10.0
"""Badness of a line that has to be stretched to more than three times its spaces; only taken when nothing else fits."""


@dataclass(frozen=True)
class Style:
    """How a piece of text looks: sizes in points, fonts by their names in the PDF standard's fourteen."""

    size: float
    leading: float
    font: str = "tiro"
    italic: str = "tiit"
    justify: bool = False
    after: float = 0.0
    color: tuple[float, float, float] = INK


@dataclass(frozen=True)
class Word:
    """Pieces of text set without a space between them: (text, font, size, raised by)."""

    runs: tuple[tuple[str, str, float, float], ...]

    @property
    def width(self) -> float:
        """Points."""
        return sum(text_width(text, font, size) for text, font, size, _ in self.runs)


@dataclass(frozen=True)
class Line:
    """Words of one line and whether the paragraph ends with it."""

    words: tuple[Word, ...]
    last: bool

    @property
    def text(self) -> str:
        """The characters of the line."""
        return " ".join("".join(run[0] for run in word.runs) for word in self.words)


@cache
def font(name: str) -> Any:
    """Return one of the fourteen standard fonts, as MuPDF carries them."""
    return pymupdf.Font(name)


def text_width(text: str, name: str, size: float) -> float:
    """Return the advance of `text` in points."""
    return float(font(name).text_length(text, fontsize=size))


def plain(text: str) -> str:
    """Return `text` without its marks: what a reader of the page sees."""
    return MARK.sub(r"\1", text.replace("*", ""))


def words(text: str, style: Style) -> list[Word]:
    """Split marked text into words."""
    out = []
    italic = False
    for raw in text.split():
        runs = []
        for index, part in enumerate(raw.split("*")):
            italic ^= index > 0
            name = style.italic if italic else style.font
            for position, piece in enumerate(MARK.split(part)):
                if piece and position % 2:
                    runs.append((piece, style.font, style.size * RAISED_SIZE, style.size * RAISED_BY))
                elif piece:
                    runs.append((piece, name, style.size, 0.0))
        out.append(Word(tuple(runs)))
    return out


def break_lines(items: list[Word], width: float, space: float, *, justify: bool) -> list[Line]:
    """Break words into lines of `width` points, the sum of all stretch kept small (not line by line)."""
    shrink = 0.12 * space if justify else 0.0
    widths = [word.width for word in items]
    count = len(items)
    best = [0.0] * count + [0.0]
    cut = [count] * count
    for start in range(count - 1, -1, -1):
        best[start] = math.inf
        natural = -space
        for end in range(start + 1, count + 1):
            natural += widths[end - 1] + space
            gaps = end - start - 1
            slack = width - natural
            if slack < -shrink * gaps:
                break
            total = _badness(slack, gaps, space, last=end == count) + best[end]
            if total < best[start]:
                best[start], cut[start] = total, end
    lines, start = [], 0
    while start < count:
        if best[start] == math.inf:
            raise ValueError(f"a word is wider than the column: {items[start]}")
        lines.append(Line(tuple(items[start : cut[start]]), last=cut[start] == count))
        start = cut[start]
    return lines


def _badness(slack: float, gaps: int, space: float, *, last: bool) -> float:
    if last:
        return 0.0 if gaps else 1.0  # one word alone on the last line is a little ugly
    stretch = slack / (space * gaps) if gaps else 3.0
    return abs(stretch) ** 3 + (LOOSE_LAST if stretch > 2 else 0.0)


@dataclass
class Paper:
    """One page that is written on, and the record of what was written, in reading order.

    Attributes
    ----------
    page : pymupdf.Page
        The page of the PDF.
    truth : list of (str, str)
        Label and text of everything that was put on it.
    """

    page: Any
    truth: list[tuple[str, str]] = field(default_factory=list)
    _writer: Any = None
    _color: tuple[float, float, float] = INK

    def put(self, text: str, x: float, y: float, style: Style, *, align: float = 0.0) -> None:
        """Write one run of text with its baseline at `y`; `align` is the share of its width left of `x`."""
        self.line(Line(tuple(words(text, style)), last=True), x, y, style, 0.0, align=align)

    def line(self, line: Line, x: float, y: float, style: Style, width: float, *, align: float = 0.0) -> None:
        """Write one line, stretched to `width` points unless it is the last of its paragraph."""
        space = text_width(" ", style.font, style.size)
        natural = sum(word.width for word in line.words)
        gaps = len(line.words) - 1
        gap = (width - natural) / gaps if style.justify and not line.last and gaps else space
        x -= align * (natural + gap * gaps)
        if self._writer is None or self._color != style.color:
            self.finish()
            self._writer, self._color = pymupdf.TextWriter(self.page.rect, color=style.color), style.color
        for word in line.words:
            for text, name, size, raised in word.runs:
                self._writer.append((x, y - raised), text, font=font(name), fontsize=size)
                x += text_width(text, name, size)
            x += gap

    def finish(self) -> None:
        """Put what was written on the page: runs of one colour in one piece, so that each names its fonts once."""
        if self._writer is not None:
            self._writer.write_text(self.page)
            self._writer = None

    def rule(self, x0: float, x1: float, y: float, *, width: float = 0.5, color: tuple[float, ...] = PALE) -> None:
        """Draw a level line."""
        self.page.draw_line((x0, y), (x1, y), color=color, width=width)
