"""Reading order: columns are split apart, then blocks are put in order by recursive cuts."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, TypeVar

from uocr_nb.local_server.geometry import Rect, union

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")

__all__ = ["find_gutter", "reading_order"]

GUTTER_CROSSED = 0.05
"""Share of a block's lines that may run across a gutter (measured)."""
OVERHANG = 1.5
"""Line heights by which a block may reach over the border of its column."""
CUT_CROSSED = 0.12
"""Share of blocks' lines that may cross a vertical cut when no clean cut is there (measured)."""


def _gaps(spans: Sequence[tuple[float, float]], least: float) -> list[tuple[float, float]]:
    """Gaps of at least `least` between spans along one axis."""
    gaps: list[tuple[float, float]] = []
    reach: float | None = None
    for start, end in sorted(spans):
        if reach is not None and start - reach >= least:
            gaps.append((reach, start))
        reach = end if reach is None else max(reach, end)
    return gaps


def find_gutter(boxes: Sequence[Rect]) -> float | None:
    """Find the x where the lines of one block part into two columns; None when they are one.

    A few lines may run across: the detector takes two neighbouring lines for one now and then.
    """
    if len(boxes) < 4:
        return None
    unit = median(box.height for box in boxes)
    allowed = max(int(GUTTER_CROSSED * len(boxes)), 1 if len(boxes) >= 10 else 0)
    # Among many lines even a narrow gap is no chance: magazines set their columns close.
    cut = _best_cut(boxes, (0.5 if len(boxes) < 12 else 0.2) * unit, allowed)
    if cut is None:
        return None
    left = [box for box in boxes if box.x2 <= cut + 0.2 * unit]
    right = [box for box in boxes if box.x1 >= cut - 0.2 * unit]
    return cut if _are_columns(left, right, unit) else None


def _best_cut(boxes: Sequence[Rect], least: float, allowed: int) -> float | None:
    """The x that the fewest boxes cross (at most `allowed`), in the widest gap; None when there is none."""
    ordered = sorted(boxes, key=lambda box: box.x2)
    best: tuple[int, float, float] | None = None
    for n, box in enumerate(ordered[:-1]):
        right = box.x2
        beyond = [other for other in ordered[n + 1 :] if other.x1 >= right]
        if not beyond:
            continue
        edge = min(other.x1 for other in beyond)
        if edge - right < least:
            continue
        crossing = sum(1 for other in ordered[n + 1 :] if other.x1 < right)
        key = (crossing, right - edge, (right + edge) / 2)
        if crossing <= allowed and (best is None or key < best):
            best = key
    return None if best is None else best[2]


def _are_columns(left: Sequence[Rect], right: Sequence[Rect], unit: float) -> bool:
    """Tell columns of running text from the two sides of a form or a bill, which are read row by row."""
    if min(len(left), len(right)) < 2 or not _side_by_side(left, right):
        return False
    if (
        min(_filled(left, unit), _filled(right, unit)) > 0.7
        and min(_middle_width(left), _middle_width(right)) > 6 * unit
    ):
        return True
    fewer, more = sorted((left, right), key=len)
    partnered = sum(1 for box in fewer if any(abs(box.cy - other.cy) < 0.4 * unit for other in more))
    return partnered < 0.6 * len(fewer)


def _middle_width(boxes: Sequence[Rect]) -> float:
    return median(box.width for box in boxes)


def _filled(boxes: Sequence[Rect], unit: float) -> float:
    """Share of its column that the middle line fills; lines of running text fill nearly all."""
    cut = _best_cut(boxes, 0.2 * unit, len(boxes) // 10) if len(boxes) > 11 else None
    if cut is not None:
        sides = [[box for box in boxes if box.x2 <= cut], [box for box in boxes if box.x1 >= cut]]
        return min(_filled(side, unit) for side in sides)
    width = union(boxes).width
    return _middle_width(boxes) / width if width else 1.0


def _side_by_side(left: Sequence[Rect], right: Sequence[Rect]) -> bool:
    a, b = union(left), union(right)
    return a.overlap_y(b) > 0.3 * min(a.height, b.height)


def reading_order(items: Sequence[T], box_of: Callable[[T], Rect], unit: float) -> list[T]:
    """`items` in reading order by recursive cuts.

    Parameters
    ----------
    items : sequence
        Blocks of a page.
    box_of : callable
        Gives the box of an item.
    unit : float
        Height of a usual line in pixels; gaps are measured in it.
    """
    if len(items) < 2:
        return list(items)
    boxes = [box_of(item) for item in items]
    cut = _vertical_cut(boxes, unit)
    if cut is not None:
        return _both(items, boxes, cut, box_of, unit)
    bands = _bands(items, boxes, unit, box_of)
    if len(bands) > 1:
        return [item for band in bands for item in reading_order(band, box_of, unit)]
    crossed = _best_cut(boxes, 0.6 * unit, max(1, int(CUT_CROSSED * len(boxes)))) if len(boxes) > 3 else None
    if crossed is not None and _splits(boxes, crossed):
        return _both(items, boxes, crossed, box_of, unit)
    return sorted(items, key=lambda item: (round(box_of(item).y1 / unit), box_of(item).x1))


def _both(items: Sequence[T], boxes: Sequence[Rect], cut: float, box_of: Callable[[T], Rect], unit: float) -> list[T]:
    left = [item for item, box in zip(items, boxes, strict=True) if box.cx <= cut]
    right = [item for item, box in zip(items, boxes, strict=True) if box.cx > cut]
    return reading_order(left, box_of, unit) + reading_order(right, box_of, unit)


def _splits(boxes: Sequence[Rect], cut: float) -> bool:
    left = [box for box in boxes if box.cx <= cut]
    return 0 < len(left) < len(boxes) and _side_by_side(left, [box for box in boxes if box.cx > cut])


def _vertical_cut(boxes: Sequence[Rect], unit: float) -> float | None:
    """Middle of the widest gap along x that no box crosses and that has blocks side by side."""
    # A block may overhang by a letter or two: what the detector took from its neighbour.
    lean = [min(OVERHANG * unit, 0.1 * box.width) for box in boxes]
    gaps = _gaps([(box.x1, box.x2) for box in boxes], 0.4 * unit) or _gaps(
        [(box.x1 + by, box.x2 - by) for box, by in zip(boxes, lean, strict=True)], 0.8 * unit
    )
    for start, end in sorted(gaps, key=lambda gap: gap[0] - gap[1]):
        cut = (start + end) / 2
        if _splits(boxes, cut):
            return cut
    return None


def _bands(items: Sequence[T], boxes: Sequence[Rect], unit: float, box_of: Callable[[T], Rect]) -> list[list[T]]:
    """Split at clean horizontal gaps, keeping together what lies in the same columns."""
    # Line boxes reach into one another by a few pixels, so a small overlap still counts as a gap.
    gaps = _gaps([(box.y1 + 0.2 * unit, box.y2 - 0.2 * unit) for box in boxes], 0.0)
    edges = [(start + end) / 2 for start, end in gaps]
    bands: list[list[T]] = [[] for _ in range(len(edges) + 1)]
    for item, box in zip(items, boxes, strict=True):
        bands[sum(1 for edge in edges if box.cy > edge)].append(item)
    merged: list[list[T]] = []
    for band in (band for band in bands if band):
        if merged and len(merged[-1]) + len(band) < len(items):
            both = [box_of(item) for item in merged[-1] + band]
            if _vertical_cut(both, unit) is not None:
                merged[-1] = merged[-1] + band
                continue
        merged.append(list(band))
    return merged
