"""Drawn lines on a page: they border tables, and upright ones must not be read as letters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from uocr_nb.local_server.geometry import Rect

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Image = NDArray[np.uint8]

__all__ = ["Rules", "find_rules", "without_upright"]

THICKEST = 7
"""Pixels; what is thicker is a bar or an edge of a picture."""
SLIMNESS = 14
"""Length over thickness; strokes of large letters are below 12."""


@dataclass(frozen=True, slots=True)
class Rules:
    """Level and upright rules of a page, pixels."""

    level: tuple[Rect, ...] = ()
    upright: tuple[Rect, ...] = ()


def find_rules(image: Image) -> Rules:
    """Rules on `image` (BGR); a fortieth of the long side is the shortest that counts."""
    import cv2  # noqa: PLC0415 - comes with the extra

    grey = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
    # Darker than its surroundings, whatever the ground: cells are often coloured.
    ground = cv2.blur(grey, (25, 25))
    ink = ((ground.astype(np.int16) - grey) > 24).astype(np.uint8)
    shortest = max(36, round(max(grey.shape) / 44))
    return Rules(tuple(_runs(ink, shortest * 2, across=True)), tuple(_runs(ink, shortest, across=False)))


def _runs(ink: Image, shortest: int, *, across: bool) -> list[Rect]:
    import cv2  # noqa: PLC0415

    kernel = np.ones((1, shortest) if across else (shortest, 1), np.uint8)
    kept = cv2.morphologyEx(ink, cv2.MORPH_OPEN, kernel)
    count, _, stats, _ = cv2.connectedComponentsWithStats(kept, connectivity=8)
    found: list[Rect] = []
    for x, y, width, height, _area in stats[1:count]:
        length, thickness = (width, height) if across else (height, width)
        if thickness <= THICKEST and length >= SLIMNESS * thickness:
            found.append(Rect(float(x), float(y), float(x + width), float(y + height)))
    return found


def without_upright(image: Image, rules: Rules) -> Image:
    """The picture with its upright rules painted over by what stands beside them (`image` itself when none)."""
    if not rules.upright:
        return image
    cleaned = image.copy()
    height, width = image.shape[:2]
    for rule in rules.upright:
        x1, x2 = max(0, int(rule.x1) - 1), min(width, int(rule.x2) + 1)
        y1, y2 = max(0, int(rule.y1)), min(height, int(rule.y2))
        left, right = cleaned[y1:y2, max(0, x1 - 2)], cleaned[y1:y2, min(width - 1, x2 + 1)]
        # The lighter neighbour is paper, the other may be a letter that touches the rule.
        cleaned[y1:y2, x1:x2] = np.maximum(left, right)[:, np.newaxis]
    return cleaned
