"""Axis-parallel boxes in pixels: the small arithmetic that layout, tables and pictures share."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Rect", "union"]


class Rect(NamedTuple):
    """A box in pixels: left, top, right, bottom (right and bottom are outside)."""

    x1: float
    y1: float
    x2: float
    y2: float

    @property
    def width(self) -> float:
        """Extent along x, never negative."""
        return max(0.0, self.x2 - self.x1)

    @property
    def height(self) -> float:
        """Extent along y, never negative."""
        return max(0.0, self.y2 - self.y1)

    @property
    def area(self) -> float:
        """Width times height."""
        return self.width * self.height

    @property
    def cx(self) -> float:
        """Middle along x."""
        return (self.x1 + self.x2) / 2

    @property
    def cy(self) -> float:
        """Middle along y."""
        return (self.y1 + self.y2) / 2

    def shared(self, other: Rect) -> float:
        """Area that both boxes cover."""
        width = min(self.x2, other.x2) - max(self.x1, other.x1)
        height = min(self.y2, other.y2) - max(self.y1, other.y1)
        return max(0.0, width) * max(0.0, height)

    def covered_by(self, other: Rect) -> float:
        """Share of this box (0..1) that `other` covers."""
        return self.shared(other) / self.area if self.area else 0.0

    def overlap_x(self, other: Rect) -> float:
        """Length along x that both boxes have in common, 0 when none."""
        return max(0.0, min(self.x2, other.x2) - max(self.x1, other.x1))

    def overlap_y(self, other: Rect) -> float:
        """Length along y that both boxes have in common, 0 when none."""
        return max(0.0, min(self.y2, other.y2) - max(self.y1, other.y1))

    def grown(self, by: float) -> Rect:
        """The box with `by` pixels more on each side."""
        return Rect(self.x1 - by, self.y1 - by, self.x2 + by, self.y2 + by)


def union(boxes: Iterable[Rect]) -> Rect:
    """The smallest box around all `boxes`.

    Raises
    ------
    ValueError
        When there is none.
    """
    rects = list(boxes)
    return Rect(min(r.x1 for r in rects), min(r.y1 for r in rects), max(r.x2 for r in rects), max(r.y2 for r in rects))
