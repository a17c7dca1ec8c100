"""At which size a PDF page is drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass

from uocr_nb.sources.types import MAX_SIDE

__all__ = ["Plan", "bounded", "plan"]

POINTS = 72.0
"""PDF units in an inch."""

GUNDAM_DPI = 165.0
"""Fills the six 640 pixel tiles that mode gundam cuts an A4 page into (1,280 x 1,920); more adds nothing below 225 dpi,
and above that the engine's cost triples. The embedded engine reads best at 150 to 165."""

GUNDAM_PIXELS = 32 * 640 * 640
"""Mode gundam has at most 32 tiles of 640 x 640."""

GUNDAM_SMALL = 640
"""A page no larger than one tile costs the same up to this size, so a small one is drawn larger to fill it."""

DENSE_DPI = 300.0
"""The resolution that the model's authors draw pages at before they shrink them."""

SQUARE = {"base": 1024, "tiny": 512, "small": 640, "large": 1280}
"""Long side of what the other modes see; the engine shrinks anything larger to it."""


@dataclass(frozen=True)
class Plan:
    """How a page is drawn: at `scale` pixels a unit, then shrunk so that its long side is `shrink` (None: not at all).

    `dpi` is that of the finished picture; `limited` says that it is lower than was asked for or is usual.
    """

    scale: float
    shrink: int | None
    dpi: float
    limited: bool


def bounded(width: float, height: float, max_pixels: int, max_side: int = MAX_SIDE) -> float:
    """Factor (at most 1) that brings width x height within both bounds."""
    return min(1.0, max_side / max(width, height), math.sqrt(max_pixels / (width * height)))


def plan(width: float, height: float, *, unit: float, dpi: float | None, mode: str, max_pixels: int) -> Plan:
    """Plan a page of `width` x `height` PDF units, each `unit` / 72 inch.

    Without `dpi`, mode gundam draws at 165 dpi. The square modes are drawn at 300 dpi and shrunk by the engine's own
    filter: the result is pixel for pixel what the engine makes of a 300 dpi page (drawing at the small size directly
    is not: other antialiasing, 26 dB), at a sixth of the bytes; it costs about 25 ms a page, hidden behind the reading.
    """
    inches = max(width, height) * unit / POINTS
    if dpi is None and mode in SQUARE:
        side = SQUARE[mode]
        wanted = DENSE_DPI * unit / POINTS
        scale = wanted * bounded(width * wanted, height * wanted, min(max_pixels, GUNDAM_PIXELS))
        longest = max(width, height) * scale
        shrink = side if longest > side else None
        return Plan(scale, shrink, min(side, longest) / inches, False)
    if dpi is None:
        usual = min(DENSE_DPI, max(GUNDAM_DPI, GUNDAM_SMALL / inches))
        bound = min(max_pixels, GUNDAM_PIXELS)
    else:
        usual = dpi
        bound = max_pixels
    scale = usual * unit / POINTS
    factor = bounded(width * scale, height * scale, bound)
    return Plan(scale * factor, None, usual * factor, factor < 1)
