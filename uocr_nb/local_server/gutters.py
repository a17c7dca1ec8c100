"""White corridors between columns: the detector takes two lines for one across a narrow gutter."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Image = NDArray[np.uint8]
    Quad = NDArray[np.float32]

__all__ = ["cut_at_gutters"]

CORRIDOR_LINES = 5.0
"""Height of a corridor in line heights: spaces between words do not line up over so many lines."""
CORRIDOR_WIDTH = 0.3
"""Width of a corridor in line heights."""
PART_WIDTH = 5.0
"""Least width in line heights of what stands before a cut: bullets and numbers stay with their lines."""
SLIVER = 1.3
"""Up to this width in line heights what lies beyond a corridor is the edge of the neighbour's first letter."""
WIDER = 1.6
"""How much wider than the line's other gaps the one in the corridor must be; else it is a space of a heading."""


def cut_at_gutters(image: Image, quads: Sequence[Quad]) -> list[Quad]:
    """Cut the lines (corners in pixels of `image`, BGR) that run over a corridor."""
    heights = [float(np.linalg.norm(quad[3] - quad[0])) for quad in quads]
    if len(quads) < CORRIDOR_LINES:
        return list(quads)
    unit = median(heights)
    wide = [n for n, quad in enumerate(quads) if _level(quad) and np.ptp(quad[:, 0]) > 2 * PART_WIDTH * unit]
    if not wide:
        return list(quads)
    ink, scale = _ink(image, unit)
    corridors = _corridors(ink, unit * scale)
    parts: list[Quad] = []
    for n, quad in enumerate(quads):
        parts += _cut(quad, ink, corridors, scale, unit) if n in wide else [quad]
    return parts


def _level(quad: Quad) -> bool:
    return bool(abs(quad[1, 1] - quad[0, 1]) < 0.05 * abs(quad[1, 0] - quad[0, 0]))


def _ink(image: Image, unit: float) -> tuple[NDArray[np.bool_], float]:
    """Find where there is ink, at a scale where a line is about 16 pixels high."""
    import cv2  # noqa: PLC0415 - comes with the extra

    scale = min(1.0, 16 / unit)
    size = (max(1, round(image.shape[1] * scale)), max(1, round(image.shape[0] * scale)))
    grey = cv2.cvtColor(cv2.resize(image, size, interpolation=cv2.INTER_AREA), cv2.COLOR_BGR2GRAY)
    # Against the median of the surroundings: paper is seldom white, and cells may be coloured.
    ground = cv2.medianBlur(grey, 31)
    return np.abs(grey.astype(np.int16) - ground) > 40, scale


def _corridors(ink: NDArray[np.bool_], unit: float) -> NDArray[np.bool_]:
    import cv2  # noqa: PLC0415

    def kernel(high: float, wide: float) -> NDArray[np.uint8]:
        return np.ones((max(1, round(high * unit)), max(2, round(wide * unit))), np.uint8)

    # A corridor has text along it, on one side at least: empty bands between blocks do not make one longer.
    beside = cv2.morphologyEx(ink.astype(np.uint8), cv2.MORPH_CLOSE, kernel(0, 4))
    beside = np.maximum(beside, cv2.dilate(ink.astype(np.uint8), kernel(0, 2.4)))
    beside = cv2.morphologyEx(beside, cv2.MORPH_CLOSE, kernel(2.8, 0))
    white = ((beside > 0) & ~ink).astype(np.uint8)
    return np.asarray(cv2.morphologyEx(white, cv2.MORPH_OPEN, kernel(CORRIDOR_LINES, CORRIDOR_WIDTH)), dtype=bool)


def _cut(quad: Quad, ink: NDArray[np.bool_], corridors: NDArray[np.bool_], scale: float, unit: float) -> list[Quad]:
    top, bottom = max(quad[0, 1], quad[1, 1]) * scale, min(quad[2, 1], quad[3, 1]) * scale
    margin = 0.15 * (bottom - top)
    rows = slice(max(0, int(top + margin)), max(1, int(bottom - margin)))
    left, right = (int(v * scale) for v in (quad[:, 0].min(), quad[:, 0].max()))
    gaps = _white_runs(np.asarray(~ink[rows, left:right].any(axis=0)))
    if not gaps:
        return [quad]
    usual = median(end - start for start, end in gaps)
    least, sliver = PART_WIDTH * unit * scale, SLIVER * unit * scale
    cuts: list[float] = []
    first, last = 0.0, 0.0
    for start, end in gaps:
        middle = (start + end) / 2
        rest = right - left - middle
        # At the ends of a corridor the letters next to it may be lower than the line.
        through = (corridors[rows, left + start : left + end].mean(axis=0) > 0.6).any()
        alone = len(gaps) < 4 or end - start >= WIDER * usual
        if not through or not alone:
            continue
        if middle < sliver:
            first = middle
        elif rest < sliver or middle - last >= least:
            cuts.append((left + middle) / scale)
            last = middle
            if rest < sliver:
                return _parts(quad, cuts, first=(left + first) / scale if first else None)[:-1]
    return _parts(quad, cuts, first=(left + first) / scale if first else None)


def _white_runs(white: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Find the gaps wider than those between letters, the ends of the line left out."""
    steps = np.flatnonzero(np.diff(np.concatenate([[False], white, [False]]).astype(np.int8)))
    runs = [(int(a), int(b)) for a, b in zip(steps[::2], steps[1::2], strict=True)]
    return [(a, b) for a, b in runs if b - a >= 3 and a > 0 and b < len(white)]


def _parts(quad: Quad, cuts: Sequence[float], *, first: float | None) -> list[Quad]:
    """Cut `quad` at each x; what lies before `first` is dropped."""
    parts: list[Quad] = []
    rest = quad
    for x in ([] if first is None else [first]) + list(cuts):
        share = (x - rest[0, 0]) / max(1.0, float(rest[1, 0] - rest[0, 0]))
        above, below = rest[0] + (rest[1] - rest[0]) * share, rest[3] + (rest[2] - rest[3]) * share
        parts.append(np.stack([rest[0], above, below, rest[3]]).astype(np.float32))
        rest = np.stack([above, rest[1], rest[2], below]).astype(np.float32)
    parts.append(rest)
    return parts if first is None else parts[1:]
