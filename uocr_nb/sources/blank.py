"""Telling a page that holds nothing from one that holds little. Runs in the worker process only.

A share of dark pixels cannot tell: a scanner's black border has a hundred times the ink of a page number. What counts
is connected structure of the size of letters that stands out from the paper around it. In doubt a page is not blank:
a blank page that is asked for costs a request, a page called blank is not read.
"""

from __future__ import annotations

import math
import re
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from PIL import Image, ImageChops, ImageFilter

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["is_blank"]

# The numbers below were set on pages made by code (tests/sources/test_blank.py draws their kinds): clean and noisy
# paper, specks, borders, shadows, holes and show-through on one side, the least that must be seen on the other.

_SIDE = 800
"""Pages are looked at with about so many pixels a side (A4: 85 to 110 dpi), where a digit of 10 points is 9 high."""

_BLOCK = 16
"""Side of the squares, in pixels of the reduced page, whose means tell the level of the paper."""

_GAP = 0.1
"""Dark areas up to twice this part of the page are bridged when the level of the paper is told from around them."""

_FAINT, _SIGMAS, _LOUDEST = 8.0, 3.5, 48.0
"""A pixel stands out from 8 levels on clean paper, plus 3.5 standard deviations of the paper's noise (most: 48).
Show-through, smoothed by the paper, has about 12 levels; a faint pencil has 40."""

_MARGIN = 0.12
"""Dark parts that hang on an edge of the page and stay within this part of it are scanner border or shadow."""

_UNEVEN = 0.3
"""Part by which the paper's level may fall over a sheet; a photo of nothing much falls by more."""

_RESTLESS = 0.12
"""Changes along the rows between what stands out and what does not, for each pixel: peppered paper has 0.08, halftone
0.2 to 0.5, text 0.06 to 0.17."""

_RARE = 0.001
"""Part of the pixels that stand out on a noisy page for good reason."""

_HOLES = 8
"""Punch holes of a page, at most."""

_LETTERS = 12
"""So many letters decide, without a look at the rest."""


@dataclass
class _Part:
    """Connected pixels: their bounds (`right` and `bottom` lie outside), number, and how many are off the margins."""

    left: int
    top: int
    right: int
    bottom: int
    mass: int = 0
    inner: int = 0

    def join(self, other: _Part) -> None:
        """Take up the pixels of `other`."""
        self.left, self.top = min(self.left, other.left), min(self.top, other.top)
        self.right, self.bottom = max(self.right, other.right), max(self.bottom, other.bottom)
        self.mass += other.mass
        self.inner += other.inner


def is_blank(grey: Image.Image) -> bool:
    """Tell whether `grey` (mode L) shows nothing but paper.

    White and coloured paper with noise, specks, punch holes, streaks of the scanner, its black border and shadow, and
    the faint back of the sheet are blank. One short line, a page number, a pencil line, white on black or a photo is
    not.
    """
    low, high = _levels(grey)
    if high - low < _FAINT:
        return True
    if min(grey.size) < 4 * _BLOCK:
        return False
    factor = max(1, int(math.sqrt(grey.width * grey.height) / _SIDE))
    paper = _paper(grey, factor * _BLOCK)
    if _is_scene(paper):
        return False
    # A band across the upper half is enough for most pages that have text.
    band = (0, grey.height // 4, grey.width, grey.height * 3 // 8)
    if grey.height > 40 * factor * _BLOCK and _Look.at(grey, factor, paper, band).shows(letters=True):
        return False
    return not _Look.at(grey, factor, paper, (0, 0, *grey.size)).shows()


def _levels(grey: Image.Image) -> tuple[int, int]:
    return cast("tuple[int, int]", grey.getextrema())


def _paper(grey: Image.Image, block: int) -> Image.Image:
    """Level of the paper in each block: the brightest around it, so that text and borders leave no trace in it."""
    means = grey.reduce(block)
    for grown in (ImageFilter.MaxFilter(3), ImageFilter.MinFilter(3)):
        for _ in range(max(1, round(min(means.size) * _GAP))):
            means = means.filter(grown)
    return means


def _is_scene(paper: Image.Image) -> bool:
    """Tell whether the ground itself, margins aside, is too uneven for a sheet under a lamp."""
    x, y = int(paper.width * _MARGIN), int(paper.height * _MARGIN)
    low, high = _levels(paper.crop((x, y, paper.width - x, paper.height - y)))
    return high - low > max(2 * _FAINT, _UNEVEN * high)


class _Look:
    """One look at a part of the page: how far each pixel of the reduced page is from the paper."""

    def __init__(self, apart: Image.Image, least: int) -> None:
        self._apart = apart
        """Above 128 darker than the paper, below it lighter."""
        self._least = least
        """Pixels that a letter measures at least; specks of dust are smaller."""
        self._size = apart.size
        self._counts = apart.histogram()

    @classmethod
    def at(cls, grey: Image.Image, factor: int, paper: Image.Image, box: tuple[int, int, int, int]) -> _Look:
        """Look at `box` of the page."""
        small = grey.reduce(factor, box) if factor > 1 else grey.crop(box)
        left, top, right, bottom = (side / (factor * _BLOCK) for side in box)
        level = paper.resize(small.size, Image.Resampling.BILINEAR, (left, top, right, bottom))
        return cls(ImageChops.subtract(level, small, 1, 128), 5 if math.sqrt(grey.width * grey.height) >= _SIDE else 3)

    def shows(self, *, letters: bool = False) -> bool:
        """Tell whether there is anything that is not dust, border, streak or hole, or only (`letters`) plenty of text.

        With pixels all over that stand out, what they form by chance is not told from what was written: then only the
        darkest are believed, and what is seen from far, where noise is smoothed.
        """
        threshold = self._threshold()
        if self._is_restless(threshold) or self._many_letters(threshold):
            return True
        if letters or not self._structure(threshold):
            return False
        louder = self._exceeded_by(_RARE)
        if self._share(threshold) < 5 * _RARE or louder <= threshold:
            return True
        # Whole squares only: what is left over at the edges would be less smooth.
        width, height = (side // 4 * 4 for side in self._size)
        far = _Look(self._apart.reduce(4, (0, 0, width, height)), 3)
        return self._structure(louder) or far._structure(far._threshold())

    def _is_restless(self, threshold: float) -> bool:
        """Tell whether light and dark change so often that it is a picture; each change costs time, too."""
        mask = self._mask(threshold)
        width, height = self._size
        changes = ImageChops.difference(mask.crop((1, 0, width, height)), mask.crop((0, 0, width - 1, height)))
        return changes.histogram()[255] > _RESTLESS * width * height

    def _mask(self, threshold: float, *, light: bool = False) -> Image.Image:
        limit = int(threshold)
        return self._apart.point(
            [255 * (level < 128 - limit if light else level > 128 + limit) for level in range(256)]
        )

    def _many_letters(self, threshold: float) -> bool:
        letters = specks = 0
        for part in self._parts(threshold):
            tall, wide = part.bottom - part.top, part.right - part.left
            if part.mass <= 3:
                specks += 1
            elif 5 <= tall <= 60 and 3 <= wide <= 400 and not self._at_edge(part):
                letters += 1
            if letters >= _LETTERS and letters > specks // 4:
                return True
        return False

    def _threshold(self) -> float:
        # Ink makes one side of the paper's level heavy; the other tells the noise: a sixth lies below one deviation.
        total, below, level = sum(self._counts), 0, 0
        while below + self._counts[level] < 0.159 * total:
            below += self._counts[level]
            level += 1
        return min(_FAINT + _SIGMAS * max(0, 128 - level), _LOUDEST)

    def _share(self, threshold: float) -> float:
        return sum(self._counts[129 + int(threshold) :]) / sum(self._counts)

    def _exceeded_by(self, share: float) -> float:
        """Distance from the paper that no more than `share` of the pixels have."""
        return next((distance for distance in range(127) if self._share(distance) <= share), 127)

    def _structure(self, threshold: float) -> bool:
        holes = 0
        for light in (False, True):
            for part in self._parts(threshold, light=light):
                if max(part.right - part.left, part.bottom - part.top) < self._least or part.mass <= self._least:
                    continue
                if self._is_border(part) or self._is_streak(part):
                    continue
                holes += 1
                if holes > _HOLES or not self._is_hole(part):
                    return True
        return False

    def _at_edge(self, part: _Part) -> bool:
        width, height = self._size
        return part.left < 2 or part.top < 2 or part.right > width - 2 or part.bottom > height - 2

    def _is_border(self, part: _Part) -> bool:
        """Whether it hangs on an edge, keeps to the margin, and is long or a solid piece larger than letters."""
        width, height = self._size
        sides = part.left < 2 or part.right > width - 2
        ends = part.top < 2 or part.bottom > height - 2
        if part.inner or not (sides or ends):
            return False
        wide, tall = part.right - part.left, part.bottom - part.top
        long = (sides and tall > height / 5) or (ends and wide > width / 5)
        return long or (part.mass > 0.4 * wide * tall and min(wide, tall) > height / 50)

    def _is_streak(self, part: _Part) -> bool:
        """Whether it is a thin line through the whole page, as dust on a scanner's glass makes."""
        width, height = self._size
        wide, tall = part.right - part.left, part.bottom - part.top
        return (wide > 0.9 * width and tall <= max(4, height // 50)) or (
            tall > 0.9 * height and wide <= max(4, width // 50)
        )

    def _is_hole(self, part: _Part) -> bool:
        """Whether it is a solid disc near an edge, of the size of a punch hole (2.5 to 13 mm of an A4 page)."""
        width, height = self._size
        wide, tall = part.right - part.left, part.bottom - part.top
        x, y = (part.left + part.right) / 2 / width, (part.top + part.bottom) / 2 / height
        return (
            height / 120 < max(wide, tall) < height / 22
            and 0.82 < wide / tall < 1.22
            and 0.70 < part.mass / (wide * tall) < 0.88
            and min(x, 1 - x, y, 1 - y) < 0.15
        )

    def _parts(self, threshold: float, *, light: bool = False) -> Iterator[_Part]:
        """Find connected pixels that stand out, from top to bottom; gaps of one pixel are bridged within a row."""
        width, height = self._size
        data = self._mask(threshold, light=light).tobytes()
        x, y = int(width * _MARGIN), int(height * _MARGIN)
        above: list[tuple[int, int, _Ref]] = []
        for row in range(height):
            line = data[row * width : (row + 1) * width]
            here: list[tuple[int, int, _Ref]] = []
            inner = y <= row < height - y
            pending = deque(above)
            for found in _RUN.finditer(line) if b"\xff" in line else ():
                left, right = found.span()
                within = max(0, min(right, width - x) - max(left, x)) if inner else 0
                ref = _Ref(_Part(left, row, right, row + 1, right - left, within))
                while pending and pending[0][1] < left:
                    pending.popleft()
                for start, _, other in pending:
                    if start > right:
                        break
                    ref = ref.joined(other)
                here.append((left, right, ref))
            alive = {id(ref.root) for _, _, ref in here}
            done = {id(ref.root): ref.root.part for _, _, ref in above}
            yield from (part for key, part in done.items() if key not in alive)
            above = here
        yield from {id(ref.root): ref.root.part for _, _, ref in above}.values()


_RUN = re.compile(rb"\xff+(?:\x00\xff+)*")


class _Ref:
    """A part that may yet turn out to belong to another."""

    __slots__ = ("moved", "part")

    def __init__(self, part: _Part) -> None:
        self.part = part
        self.moved: _Ref | None = None

    @property
    def root(self) -> _Ref:
        """The one that it belongs to by now."""
        ref = self
        while ref.moved is not None:
            ref = ref.moved
        if ref is not self:
            self.moved = ref
        return ref

    def joined(self, other: _Ref) -> _Ref:
        """Make one of two; it is given back."""
        mine, theirs = self.root, other.root
        if mine is not theirs:
            theirs.part.join(mine.part)
            mine.moved = theirs
        return theirs
