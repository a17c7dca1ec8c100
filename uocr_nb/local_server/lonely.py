"""Lone words on an empty page: the detector passes over them, but sees them in a cut-out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from uocr_nb.local_server.geometry import Rect

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from uocr_nb.local_server.ppocr import Line, TextReader

    Image = NDArray[np.uint8]
    Quad = NDArray[np.float32]

__all__ = ["find_lines"]

SPARSE = 12
"""From this many lines on the detector has seen enough around it to miss none."""
MOST_SPOTS = 12
"""Spots of ink that are looked at, the largest first: a scan of an empty page has specks."""
LEAST_SIDE = 6
"""Height in pixels below which ink is a speck or a rule."""
TALLEST = 0.2
"""Share of the long side above which a spot is a picture."""
CONTRAST = 48
"""Steps of grey between paper and ink."""
MARGIN = 2.0
"""Paper around a spot, in heights of it."""
SURE = 0.75
"""Least score of a lone line: strokes and specks stay below (a dash reads as "=" with 0.73)."""


def find_lines(reader: TextReader, image: Image, check: Callable[[], None] | None = None) -> list[Quad]:
    """Corners of the lines on `image` (BGR); on a page with few of them also of those that stand alone.

    `check` is called between the spots and may raise to stop the work.
    """
    quads = reader.find(image)
    if len(quads) >= SPARSE:
        return quads
    for spot in _spots(image, quads):
        if check is not None:
            check()
        x1, y1, x2, y2 = (int(v) for v in spot)
        cut = np.ascontiguousarray(image[y1:y2, x1:x2])
        found = [quad for quad in reader.find(cut) if any(map(_is_word, reader.read(cut, [quad])))]
        moved = [np.asarray(quad + np.array([x1, y1], dtype=np.float32), dtype=np.float32) for quad in found]
        # The margin of a spot may show a line that is known already.
        quads = quads + [quad for quad in moved if not _covered(_box(quad), quads)]
    return quads


def _is_word(line: Line) -> bool:
    return line.score >= SURE and any(char.isalnum() for char in line.text)


def _box(quad: Quad) -> Rect:
    return Rect(*(float(v) for v in (*quad.min(axis=0), *quad.max(axis=0))))


def _covered(box: Rect, quads: Sequence[Quad]) -> bool:
    return any(box.shared(_box(quad)) > 0.3 * box.area for quad in quads)


def _spots(image: Image, quads: Sequence[Quad]) -> list[Rect]:
    """Find ink outside `quads`, words of a line together, with paper around it."""
    import cv2  # noqa: PLC0415 - comes with the extra

    height, width = image.shape[:2]
    grey = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
    paper = int(np.bincount(grey.ravel(), minlength=256).argmax())
    ink = (np.abs(grey.astype(np.int16) - paper) > CONTRAST).astype(np.uint8)
    for quad in quads:
        x1, y1, x2, y2 = (max(0, int(v)) for v in _box(quad).grown(2))
        ink[y1:y2, x1:x2] = 0
    reach = max(3, max(height, width) // 60)
    joined = cv2.morphologyEx(ink, cv2.MORPH_CLOSE, np.ones((3, reach), np.uint8))
    count, _, stats, _ = cv2.connectedComponentsWithStats(joined, connectivity=8)
    boxes = [
        Rect(float(x), float(y), float(x + w), float(y + h))
        for x, y, w, h, _area in stats[1:count]
        if LEAST_SIDE <= h <= TALLEST * max(height, width) and w >= LEAST_SIDE // 2
    ]
    largest = sorted(boxes, key=lambda box: -box.area)[:MOST_SPOTS]
    return [
        Rect(
            max(0.0, box.x1 - around),
            max(0.0, box.y1 - around),
            min(width, box.x2 + around),
            min(height, box.y2 + around),
        )
        for box in largest
        for around in [MARGIN * min(box.height, box.width) + 4]
    ]
