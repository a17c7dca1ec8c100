"""The page picture with its boxes: absolutely placed divs over one image, in percent, so that they scale with it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from uocr_nb.document.model import COORD_MAX, Status
from uocr_nb.markup.safe_html import escape
from uocr_nb.views.cells import about
from uocr_nb.views.icons import hatch
from uocr_nb.views.labels import block_name, label_style, tag_of
from uocr_nb.views.marks import block_marks
from uocr_nb.views.styles import HAIR, MONO

if TYPE_CHECKING:
    from collections.abc import Collection

    from uocr_nb.document.model import Box, Page
    from uocr_nb.views.pictures import Pictures

__all__ = ["ALL_BOXES", "STORED_BOXES", "Tag", "box_divs", "boxed", "paper_html", "place_tags", "tag_width", "unread"]

_NOMINAL = 333.0
"""Width in px of the picture in an output of 900 px; tags have a fixed size, so whether they fit depends on it."""

_CHARACTER = 6.02
_TAG_HEIGHT = 11.0
_SAME_COLUMN = 15
"""Thousandths of the page's width by which boxes of one column may begin before each other."""

_CARET_ROOM = 14
"""px that the tag of the box being written takes more than another."""

_MAX_TAGS = 150
STORED_BOXES = 300
"""Boxes of a page in a stored form. Where there are more, each is a line alone."""

ALL_BOXES = 2_000
"""Boxes of a page where bytes do not matter as much."""


@dataclass(frozen=True)
class Tag:
    """Where the number and code of a box stand.

    Attributes
    ----------
    number : int
        Of the block, from 1.
    side : str
        ``left`` of the box; ``inside`` in its top left corner, where there is no room for that; ``corner``, the top
        right one, of a box around other boxes, whose tags stand on the left.
    down : float
        px by which it moves down, so that it does not cover the tag above.
    """

    number: int
    side: str
    down: float = 0.0


def place_tags(boxes: dict[int, Box], ratio: float, wide: float = _NOMINAL) -> dict[int, Tag]:
    """Place the tags of `boxes` (number -> box) on a page of which `ratio` is height by width, `wide` px across."""
    across, along = wide / COORD_MAX, wide * ratio / COORD_MAX
    tags: dict[int, Tag] = {}
    taken: list[tuple[float, float, float]] = []  # left, top, right of tags placed so far
    for number, (x1, y1, x2, _y2) in sorted(boxes.items(), key=lambda item: (item[1][1], item[1][0])):
        wide = tag_width(number)
        left, top = x1 * across, y1 * along
        room = left - _edge_before(number, boxes, top / along, (top + _TAG_HEIGHT) / along) * across
        side = "corner" if _holds_others(number, boxes) else "inside" if room < wide else "left"
        start = {"corner": x2 * across - wide, "inside": left}.get(side, left - wide)
        down = 0.0
        for other_left, other_top, other_right in taken:
            apart = top + down - other_top
            if other_left < start + wide and start < other_right and apart < _TAG_HEIGHT:
                down = min(down + _TAG_HEIGHT - apart, _TAG_HEIGHT)
        taken.append((start, top + down, start + wide))
        tags[number] = Tag(number, side, round(down, 1))
    return tags


def tag_width(number: int) -> float:
    """Width in px of a tag: number, a narrow space and two letters, with the gap between it and its box."""
    return (len(str(number)) + 3) * _CHARACTER - 1


def _edge_before(number: int, boxes: dict[int, Box], top: float, bottom: float) -> float:
    """Find the right edge of what stands left of a box at the height of its tag: a box, or the paper's own edge."""
    box = boxes[number]
    column = box[0] - _SAME_COLUMN
    edges = (
        min(other[2], box[0])
        for n, other in boxes.items()
        if n != number and other[0] < column and other[1] < bottom and top < other[3] and not _around(other, box)
    )
    return max(edges, default=0)


def _holds_others(number: int, boxes: dict[int, Box]) -> bool:
    """Tell whether a box lies around another one, as a list around its items."""
    return any(_around(boxes[number], other) for n, other in boxes.items() if n != number)


def _around(box: Box, other: Box) -> bool:
    slack = 4  # thousandths of the page
    inside = (
        box[0] - slack <= other[0]
        and box[1] - slack <= other[1]
        and other[2] <= box[2] + slack
        and other[3] <= box[3] + slack
    )
    return inside and _area(other) < 0.9 * _area(box)


def _area(box: Box) -> int:
    return (box[2] - box[0]) * (box[3] - box[1])


def unread(page: Page) -> list[Box]:
    """Regions of the page (0..999) that the model did not reach, as far as the boxes tell."""
    if page.status in (Status.MISSING, Status.FAILED):
        return [(0, 0, COORD_MAX, COORD_MAX)]
    if page.status not in (Status.TRUNCATED, Status.LOOPING):
        return []
    boxes = [block.box for block in page.blocks if block.box is not None]
    if not boxes:
        return [(0, 0, COORD_MAX, COORD_MAX)]
    regions = []
    lowest = max(box[3] for box in boxes)
    last = boxes[-1]
    below = [box for box in boxes if box[1] >= last[3] and box[0] < last[2] and last[0] < box[2]]
    if last[3] < lowest and not below:  # the last column ends higher than the one before it
        regions.append((last[0], last[3], last[2], lowest))
    if lowest < COORD_MAX:
        regions.append((0, lowest, COORD_MAX, COORD_MAX))
    return regions


_NEVER_DRAWN = 0.3
"""Height of the paper of a page without a picture, as a part of its width."""


def paper_html(
    page: Page,
    pictures: Pictures,
    *,
    reading: bool = False,
    edited: Collection[int] = (),
    width: str = "width:42%;min-width:300px;max-width:560px",
    wide: float = _NOMINAL,
    plain: bool = False,
    under: str = "",
    most: int = STORED_BOXES,
) -> str:
    """Draw the page picture (or blank paper when it is not at hand) with boxes, tags, and what was not read.

    While the page is `reading`, its last box is the one whose text is being written. The boxes of blocks with `edited`
    numbers are marked. `width` is what the paper takes of the room, `wide` what that is in px in a usual output.
    `plain` boxes are a line alone, in few bytes; no more than `most` boxes are drawn.
    """
    if pictures.page:
        paper = (
            f'<img class="uo-image" alt="Page {page.position}" src="{pictures.page}" style="display:block;width:100%;'
            'max-width:none;height:auto;margin:0;padding:0;border:0">'
        )
    else:
        # Of a page that was never drawn there is nothing to see but that.
        ratio = pictures.ratio if reading or page.size != (0, 0) else _NEVER_DRAWN
        tall = f"padding:{ratio * 100:.2f}% 0 0"
        paper = f'<div class="uo-blank" title="{escape(pictures.reason)}" style="{tall}"></div>'
    layer = "".join(
        [
            *box_divs(page, pictures.ratio, reading=reading, edited=edited, wide=wide, plain=plain, most=most).values(),
            *_unread(page),
        ]
    )
    return (
        f'<div class="uo-paper" style="float:left;{width};box-sizing:border-box;margin:0 16px 14px 0;border:{HAIR}">'
        '<div class="uo-sheet" style="position:relative;overflow:hidden;background-color:#ffffff;color:#1b1f24;'
        f'font-family:{MONO};font-size:10px;line-height:11px;font-weight:600;word-spacing:-4px;white-space:nowrap">{paper}{under}{layer}</div></div>'
    )


def boxed(page: Page, *, reading: bool = False, most: int = STORED_BOXES) -> dict[int, Box]:
    """Boxes that are drawn, by the number of their block."""
    boxes = [(number, block.box) for number, block in enumerate(page.blocks, 1) if block.box is not None]
    # What is read last matters most while the page is being read.
    return dict(boxes[-most:] if reading else boxes[:most])


def box_divs(
    page: Page,
    ratio: float,
    *,
    reading: bool = False,
    edited: Collection[int] = (),
    wide: float = _NOMINAL,
    plain: bool = False,
    most: int = STORED_BOXES,
) -> dict[int, str]:
    """Draw the boxes alone: number of the block -> HTML. `ratio` is height by width of the page."""
    boxes = boxed(page, reading=reading, most=most)
    if plain or len(boxes) > STORED_BOXES:
        return {number: _plain_box(page, number, box, edited=number in edited) for number, box in boxes.items()}
    tags = place_tags(boxes, ratio, wide) if len(boxes) <= _MAX_TAGS else {}
    written = len(page.blocks) if reading else 0
    return {
        number: _box(page, number, box, tags.get(number), written=number == written, edited=number in edited)
        for number, box in boxes.items()
    }


def _percent(value: float, digits: int = 2) -> str:
    return f"{value / COORD_MAX * 100:.{digits}f}".rstrip("0").rstrip(".") + "%"


def _place(box: Box, digits: int = 2) -> str:
    x1, y1, x2, y2 = box
    sides = {"left": x1, "top": y1, "width": x2 - x1, "height": y2 - y1}
    return ";".join(f"{name}:{_percent(value, digits)}" for name, value in sides.items())


def _plain_box(page: Page, number: int, box: Box, *, edited: bool) -> str:
    """A box as a line alone; boxes are told to a thousandth of the page, which is one digit of a percentage."""
    block = page.blocks[number - 1]
    style = label_style(block.label)
    name, mark = block_name(page, number, about(block, edited=edited)), " uo-edited" if edited else ""
    return (
        f'<div class="uo-box uo-b{number}{mark}"{block_marks(page, number)} title="{escape(name)}" '
        f'style="position:absolute;{_place(box, 1)};border:{style.width:g}px {style.line} {style.paper}"></div>'
    )


def _box(page: Page, number: int, box: Box, tag: Tag | None, *, written: bool, edited: bool) -> str:
    block = page.blocks[number - 1]
    style = label_style(block.label)
    # The outset is 3 px across and 2 px along, outside which the line is drawn; the data stay untouched.
    line = style.width
    colour = style.paper + ("cc" if style.family in ("text", "code") else "")
    ground = f"background-color:{style.paper}0f;" if style.fill else ""
    if written:
        line, colour, ground = max(line, 2), style.paper, f"background-color:{style.paper}1c;"  # 11 %
    name, mark = block_name(page, number, about(block, edited=edited)), " uo-edited" if edited else ""
    kind = "solid" if written else style.line
    if tag is not None and written and box[0] * _NOMINAL / COORD_MAX < tag_width(number) + _CARET_ROOM:
        tag = replace(tag, side="inside")
    inner = _tag(number, block.label, tag, written=written)
    return (
        f'<div class="uo-box uo-b{number}{mark}"{block_marks(page, number)} title="{escape(name)}" '
        f'style="position:absolute;{_place(box)};'
        f"box-sizing:content-box;margin:{-2 - line:g}px 0 0 {-3 - line:g}px;padding:2px 3px;{ground}"
        f'border:{line:g}px {kind} {colour}">{inner}</div>'
    )


def _tag(number: int, label: str, tag: Tag | None, *, written: bool) -> str:
    if tag is None:
        return ""
    style = label_style(label)
    gap = max(style.width, 2 if written else 0) + 1
    side = {
        "left": f"right:100%;margin:0 {gap:g}px 0 0;background-color:#ffffffb3;",
        "inside": "left:0;background-color:#ffffffe6;",
        "corner": "right:0;background-color:#ffffffe6;",
    }[tag.side]
    if written:
        caret = (
            '<span style="display:inline-block;width:4px;height:8px;margin:0 0 0 3px;background-color:#ffffff"></span>'
        )
        place = side[: side.index("background-color")]
        return (
            f'<span class="uo-tag" style="position:absolute;top:{tag.down:g}px;{place}padding:0 2px;color:#ffffff;'
            f'background-color:{style.paper}">{escape(tag_of(number, label))}{caret}</span>'
        )
    return (
        f'<span class="uo-tag" style="position:absolute;top:{tag.down:g}px;{side}'
        f'color:{style.paper}">{escape(tag_of(number, label))}</span>'
    )


def _unread(page: Page) -> list[str]:
    regions = unread(page)
    parts = []
    for n, box in enumerate(regions):
        words = (
            '<span style="position:absolute;left:8px;bottom:8px;padding:1px 5px;background-color:#ffffffe6;'
            'color:#8a5200;font-size:12px;line-height:16px;word-spacing:0">not read</span>'
            if n == len(regions) - 1
            else ""
        )
        parts.append(
            f'<div class="uo-unread" title="not read" style="position:absolute;overflow:hidden;{_place(box)};'
            f'box-sizing:border-box;background-color:#fff5e04d;border-top:1px dashed #8a5200">{hatch()}{words}</div>'
        )
    return parts
