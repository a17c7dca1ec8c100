"""Pages that lie on a side or stand on their head: found before they are read in vain."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from uocr_nb.local_server.ppocr import Line, TextReader

    Image = NDArray[np.uint8]
    Quad = NDArray[np.float32]

__all__ = ["doubtful", "lies_sideways", "quarter_turns", "sample_score"]

SAMPLE = 6
"""Lines that are read to compare two directions."""
DOUBTFUL = 0.9
"""Mean score below which a page may be upside down (upright pages score 0.94 and more, also Fraktur)."""
READABLE = 0.6
"""Mean score below which nothing was read: Chinese set upright looks like a page on its side."""
CLEARLY = 0.04
"""By how much another direction must read better."""


def lies_sideways(quads: Sequence[Quad]) -> bool:
    """True when most of the text, by length, stands upright on the page."""
    tall = level = 0.0
    for quad in quads:
        width = float(np.linalg.norm(quad[1] - quad[0]))
        height = float(np.linalg.norm(quad[3] - quad[0]))
        if height >= 1.5 * width:
            tall += height
        elif width >= 1.5 * height:
            level += width
    return tall > 2 * level and tall > 0


def doubtful(lines: Sequence[Line]) -> bool:
    """True when the lines read so badly that the page may stand on its head."""
    weight = sum(len(line.text) for line in lines)
    if not weight:
        return False
    return sum(line.score * len(line.text) for line in lines) / weight < DOUBTFUL


def sample_score(reader: TextReader, image: Image, quads: Sequence[Quad], check: Callable[[], None] | None) -> float:
    """Mean score of a few long lines; 0 when nothing can be read."""

    def length(quad: Quad) -> float:
        return float(max(np.linalg.norm(quad[1] - quad[0]), np.linalg.norm(quad[3] - quad[0])))

    # The very longest lines are often headings set wide; those around the middle are the page's own.
    ranked = sorted(quads, key=length, reverse=True)
    chosen = ranked[len(ranked) // 8 :][:SAMPLE]
    lines = reader.read(image, chosen, check)
    return fmean([line.score for line in lines] + [0.0] * (len(chosen) - len(lines))) if chosen else 0.0


def quarter_turns(
    reader: TextReader, image: Image, quads: Sequence[Quad], candidates: Sequence[int], check: Callable[[], None] | None
) -> int:
    """Find which of `candidates` (quarter turns against the clock) reads best; 0 unless it reads clearly better.

    For a page on its side, 0 is no candidate: its lines are turned one by one to be read, whichever way they run.
    """
    scores = {turn: _turned_score(reader, image, quads, turn, check) for turn in candidates}
    best = max(scores, key=lambda turn: scores[turn])
    return best if scores[best] > scores.get(0, READABLE) + CLEARLY else 0


def _turned_score(
    reader: TextReader, image: Image, quads: Sequence[Quad], turn: int, check: Callable[[], None] | None
) -> float:
    """Score of the sample when each crop is turned: the page itself need not be."""
    height, width = image.shape[:2]
    moved = list(quads)
    turned = image
    for _ in range(turn):
        # np.rot90 takes (x, y) to (y, width - x); the corners keep running clockwise from the new top left.
        moved = [_clockwise(np.stack([quad[:, 1], width - quad[:, 0]], axis=1)) for quad in moved]
        turned = np.rot90(turned)
        height, width = width, height
    return sample_score(reader, np.ascontiguousarray(turned), moved, check)


def _clockwise(quad: Quad) -> Quad:
    """Corners again from top left, clockwise."""
    by_x = quad[np.argsort(quad[:, 0], kind="stable")]
    left, right = by_x[:2], by_x[2:]
    left, right = left[np.argsort(left[:, 1])], right[np.argsort(right[:, 1])]
    return np.asarray(np.stack([left[0], right[0], right[1], left[1]]), dtype=np.float32)
