"""Where the pages of a figure stand, in inches."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from uocr_nb.errors import OptionError
from uocr_nb.views.artists import extent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uocr_nb.document.model import Page

__all__ = ["MARGIN", "Grid", "columns_for", "lay_out", "positive"]

_MOST_PIXELS = 32_000
"""Of a figure along one side; matplotlib's own limit is twice as much, and no viewer likes it."""

MARGIN, _GAP = 0.06, 0.18
"""Inches round the figure and between pages."""

_TALLEST = 10.0
"""Inches that a page takes along where no `height` is given: with the title it stays on a sheet of paper."""


@dataclass(frozen=True)
class Grid:
    """Size of a figure, and where its pages lie in it: left, top, width, height; all in inches, from its top left."""

    width: float
    height: float
    places: tuple[tuple[float, float, float, float], ...]


def lay_out(
    pages: Sequence[Page],
    columns: int,
    *,
    width: float,
    height: float | None,
    dpi: float,
    title: float = 0.0,
    caption: float = 0.0,
) -> Grid:
    """Lay the pages out: all of a row are equally high at most, and the figure is as large as they need."""
    for name, value in {"width": width, "height": height or 1.0, "dpi": dpi, "columns": columns}.items():
        positive(name, value)
    columns = min(columns, max(len(pages), 1))
    rows = [pages[n : n + columns] for n in range(0, len(pages), columns)]
    wide = (width - 2 * MARGIN - (columns - 1) * _GAP) / columns
    # Where a height is given, all rows share it.
    most = _TALLEST if height is None else (height - title - 2 * MARGIN) / len(rows or "1") - caption - _GAP
    if min(wide, most) <= 0:
        raise OptionError("The figure has no room for its pages.", f"It is {width:g} inches wide.", "Give it more.")
    if columns > 1:
        most = min(most, 1.5 * wide)  # a till receipt would make all others of its row small
    top, places = MARGIN + title, []
    for row in rows:
        sizes = [_fitted(page, wide, most) for page in row]
        for n, (page_wide, page_tall) in enumerate(sizes):
            places.append((MARGIN + n * (wide + _GAP), top + caption, page_wide, page_tall))
        top += caption + max(tall for _, tall in sizes) + _GAP
    across = max((left + page_wide for left, _, page_wide, _ in places), default=width - MARGIN) + MARGIN
    along = max(top - _GAP + MARGIN, 0.5)
    if max(across, along) * dpi > _MOST_PIXELS:
        raise OptionError(
            f"The figure would have {across * dpi:,.0f} x {along * dpi:,.0f} pixels.",
            f"It is {across:.1f} x {along:.1f} inches at {dpi:g} dpi.",
            "Choose fewer pages, more columns, or a lower dpi.",
        )
    # Without this a page of 7 inches has 1,049 pixels at 150 dpi.
    return Grid(round(across, 6), round(along, 6), tuple(places))


def _fitted(page: Page, wide: float, most: float) -> tuple[float, float]:
    across, along = extent(page)
    # A line of pixels is drawn as a strip that can be seen.
    ratio = min(max(along / across, 0.02), 50.0)
    return (wide, wide * ratio) if wide * ratio <= most else (most / ratio, most)


def columns_for(count: int) -> int:
    """How many pages stand side by side where nobody chose."""
    return min(count, 4) if count <= 2 or count > 6 else 3 if count != 4 else 2


def positive(name: str, value: float) -> float:
    """`value`, if it is a size that something can have."""
    if 0 < value < math.inf:
        return value
    raise OptionError(f"{name}={value!r} cannot be used.", "It is a number above 0.", f"{name}=1")
