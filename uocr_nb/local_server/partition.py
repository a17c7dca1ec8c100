"""Regions put right: one for each column, none inside another, pictures with their ink."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from uocr_nb.local_server.geometry import Rect, union
from uocr_nb.local_server.layout import Region
from uocr_nb.local_server.order import find_gutter
from uocr_nb.local_server.pieces import cut_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uocr_nb.local_server.ppocr import Line

__all__ = ["part_regions", "with_pictures"]

_FLOWING = ("text", "list-item", "caption", "footnote", "formula")


def part_regions(regions: Sequence[Region]) -> list[Region]:
    """Regions that reach over a gutter become one for each column."""
    parts: list[Region] = []
    for region in _nested_joined(regions):
        if region.kind in ("table", "picture"):
            parts.append(region)
            continue
        for members in _columns(list(region.lines)):
            parts.append(Region(region.kind, union(line.box for line in members), tuple(members)))  # noqa: PERF401
    return parts


def _columns(lines: list[Line]) -> list[list[Line]]:
    """Part the lines of a block at its gutters, left to right."""
    cut = find_gutter([line.box for line in lines])
    if cut is None:
        return [lines]
    sides: tuple[list[Line], list[Line]] = ([], [])
    for line in lines:
        reach = min(cut - line.box.x1, line.box.x2 - cut)
        for part in cut_line(line, cut) if reach > line.box.height else [line]:
            sides[part.box.cx > cut].append(part)
    if not all(sides):
        return [lines]
    return [*_columns(sides[0]), *_columns(sides[1])]


def _nested_joined(regions: Sequence[Region]) -> list[Region]:
    """Join a region to the one it lies in: both are parts of one block, or a table with a stray cell."""
    kept: list[Region] = []
    for region in sorted(regions, key=lambda r: -r.box.area):
        for n, outer in enumerate(kept):
            loose = region.kind in _FLOWING and outer.kind in (*_FLOWING, "table")
            if loose and region.box.covered_by(outer.box) > 0.8:
                kept[n] = Region(outer.kind, union([outer.box, region.box]), outer.lines + region.lines)
                break
        else:
            kept.append(region)
    return kept


def with_pictures(regions: Sequence[Region], pictures: Sequence[Rect]) -> list[Region]:
    """Add the pictures found by their ink; what the model calls a picture grows to the ink it touches."""
    found: list[Region] = []
    used: set[int] = set()
    for region in regions:
        if region.kind != "picture":
            found.append(region)
            continue
        touching = [
            n for n, box in enumerate(pictures) if box.shared(region.box) > 0.3 * min(box.area, region.box.area)
        ]
        used.update(touching)
        box = union([region.box, *(pictures[n] for n in touching)])
        if _is_prose(region.lines, box):
            found.append(Region("text", region.box, region.lines))
        else:
            found.append(Region("picture", box, region.lines))
    texts = [line.box for region in found if region.kind != "picture" for line in region.lines]
    tables = [region.box for region in found if region.kind == "table"]
    for n, box in enumerate(pictures):
        written = sum(text.shared(box) for text in texts)
        if n in used or written > 0.15 * box.area or any(box.covered_by(table) > 0.5 for table in tables):
            continue
        found.append(Region("picture", box, ()))
    return found


def _is_prose(lines: Sequence[Line], box: Rect) -> bool:
    """True when a "picture" is rather text: dense, or made of long lines."""
    if not lines:
        return False
    covered = sum(line.box.area for line in lines) / max(1.0, box.area)
    return covered > 0.4 or (covered > 0.2 and median(len(line.text) for line in lines) > 25)
