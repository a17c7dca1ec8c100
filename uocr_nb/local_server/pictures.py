"""Pictures on a page: large connected ink that is not text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from uocr_nb.local_server.geometry import Rect, union

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from uocr_nb.local_server.ppocr import Line

    Image = NDArray[np.uint8]

__all__ = ["find_pictures"]

WORK_SIDE = 800
"""Long side in pixels at which ink is looked at; a picture is never smaller than a dozen pixels there."""
LEAST_SHARE = 0.008
"""Smallest share of the page that counts as a picture."""
LEAST_FILL = 0.12
"""Share of its box that the ink of a picture fills (closed over small gaps); frames and rules fill less."""


def find_pictures(image: Image, lines: Sequence[Line]) -> list[Rect]:
    """Boxes of pictures on `image` (BGR), pixels; text lines are taken out before looking."""
    import cv2  # noqa: PLC0415 - comes with the extra

    height, width = image.shape[:2]
    scale = min(1.0, WORK_SIDE / max(height, width))
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    grey = cv2.cvtColor(cv2.resize(image, size, interpolation=cv2.INTER_AREA), cv2.COLOR_BGR2GRAY)
    paper = int(np.bincount(grey.ravel(), minlength=256).argmax())
    ink = (np.abs(grey.astype(np.int16) - paper) > 28).astype(np.uint8)
    for line in lines:
        x1, y1, x2, y2 = (round(v * scale) for v in line.box.grown(2))
        ink[max(0, y1) : y2, max(0, x1) : x2] = 0
    closed = cv2.morphologyEx(ink, cv2.MORPH_CLOSE, np.ones((7, 7), np.uint8))
    # Rules of a table are thin: opening removes them and leaves what is thick both ways.
    opened = cv2.morphologyEx(closed, cv2.MORPH_OPEN, np.ones((5, 5), np.uint8))
    count, _, stats, _ = cv2.connectedComponentsWithStats(opened, connectivity=8)
    found: list[Rect] = []
    for x, y, w, h, area in stats[1:count]:
        if w * h < LEAST_SHARE * grey.size or area < LEAST_FILL * w * h or min(w, h) < 12:
            continue
        if w > 0.97 * size[0] and h > 0.97 * size[1]:
            continue  # the rim of a scan, not a picture
        found.append(Rect(x / scale, y / scale, (x + w) / scale, (y + h) / scale))
    return _merged(found)


def _merged(boxes: list[Rect]) -> list[Rect]:
    """Join boxes that overlap."""
    merged: list[Rect] = []
    for box in sorted(boxes, key=lambda b: -b.area):
        for n, other in enumerate(merged):
            if box.shared(other) > 0.2 * box.area:
                merged[n] = union([box, other])
                break
        else:
            merged.append(box)
    return merged
