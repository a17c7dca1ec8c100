"""Headers and footers where they can stand: the layout model takes any lone line for one, and Markdown has none."""

from __future__ import annotations

import re
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING

from uocr_nb.local_server.geometry import Rect, union

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uocr_nb.local_server.layout import Region

__all__ = ["PAGE_NUMBER", "settled"]

ZONE = 0.12
"""Share of the height, at the top and at the bottom, in which headers and footers stand."""
NUMBER_ZONE = 0.2
"""The same for a page number with nothing beyond it: LaTeX's own pages have theirs at 83 % of the height."""
TALLEST = 1 / 25
"""Share of the height that a line of a header has at most: a taller one is of a cut-out, not of a page."""
TITLE = 1.3
"""From how many times the usual height of a line on a line is a title."""
TITLE_LINES = 2

PAGE_NUMBER = re.compile(
    r"^\W*(?:(?:page|p\.|seite|página|pagina|стр\.?|第)\s*)?(?:\d{1,4}|[ivxlcdm]{1,7}|[IVXLCDM]{1,7}|[A-Z]-\d{1,3})"
    r"(?:\s*(?:/|of|von|de|sur|из)\s*\d{1,4})?(?:\s*页)?\W*$",
    re.IGNORECASE,
)
_FURNITURE = ("page-header", "page-footer")


def settled(regions: Sequence[Region], frame: Rect) -> list[Region]:
    """Turn what cannot be a header or a footer into text or a title.

    Parameters
    ----------
    regions : sequence of Region
        All regions of a page.
    frame : Rect
        The page.
    """
    # The words in a picture are not shown either, so they do not make a page one with text.
    body = [
        line.box.height for region in regions if region.kind not in (*_FURNITURE, "picture") for line in region.lines
    ]
    usual = median(body) if body else None
    middles = [region.box.cy for region in regions]
    placed = [
        _placed(region, frame, usual, outermost=region.box.cy in (min(middles), max(middles)))
        if region.kind in _FURNITURE
        else region
        for region in regions
    ]
    if any(region.lines and region.kind not in (*_FURNITURE, "picture") for region in placed):
        return placed
    return [replace(region, kind="text") if region.kind in _FURNITURE else region for region in placed]


def _placed(region: Region, frame: Rect, usual: float | None, *, outermost: bool) -> Region:
    box = union(line.box for line in region.lines) if region.lines else region.box
    height = median(line.box.height for line in region.lines) if region.lines else 0.0
    large = usual is not None and height > TITLE * usual and len(region.lines) <= TITLE_LINES
    place = (box.cy - frame.y1) / max(1.0, frame.height)
    number = outermost and len(region.lines) == 1 and PAGE_NUMBER.match(region.lines[0].text)
    at_edge = min(place, 1 - place) < (NUMBER_ZONE if number else ZONE)
    if at_edge and height <= TALLEST * frame.height and not (large and place < 0.5):
        return replace(region, kind="page-header" if place < 0.5 else "page-footer")
    return replace(region, kind="section-header" if large else "text")
