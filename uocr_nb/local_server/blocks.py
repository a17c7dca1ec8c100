"""From regions to blocks: labels, text and boxes as the model would write them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING

from uocr_nb.local_server.furniture import PAGE_NUMBER, settled
from uocr_nb.local_server.geometry import Rect, union
from uocr_nb.local_server.ink import tightened
from uocr_nb.local_server.latex import display_formula
from uocr_nb.local_server.order import reading_order
from uocr_nb.local_server.partition import part_regions, with_pictures
from uocr_nb.local_server.pieces import Run, scored_words, split_line
from uocr_nb.local_server.tables import build_table, table_runs

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from uocr_nb.local_server.layout import Region
    from uocr_nb.local_server.ppocr import Line
    from uocr_nb.local_server.rules import Rules

    Image = NDArray[np.uint8]

__all__ = ["Spoken", "page_blocks"]

_LABELS = {
    "title": "title",
    "section-header": "title",
    "text": "text",
    "list-item": "list-item",
    "page-header": "header",
    "page-footer": "footer",
    "footnote": "page_footnote",
    "caption": "caption",
    "formula": "equation",
    "table": "table",
    "picture": "image",
}
_BULLET = re.compile(r"^\s*(?:[•●○◦▪▫■□‣∙·*]\s*|[-–—]\s+|o\s+(?=[A-Z]))")
_NUMBERED = re.compile(r"^\s*(?:\(?\d{1,2}[.)]|\(?[a-z][.)]|\([ivx]+\))\s+")
_TABLE_CAPTION = re.compile(r"^(?:table|tab\.|tabelle|tableau|tabla|表)\s*[A-Z]?\d", re.IGNORECASE)
_IMAGE_CAPTION = re.compile(r"^(?:figure|fig\.|abbildung|abb\.|chart|plate|图)\s*[A-Z]?\d", re.IGNORECASE)
_CJK = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\u3000-\u303f]")
_NUMBER = re.compile(r"^[\s\-−+$€£]*\d[\d.,]*\s*%?$")


@dataclass(frozen=True, slots=True)
class Spoken:
    """A block before it is written out.

    Attributes
    ----------
    label : str
        One of the model's labels.
    rect : Rect
        Pixels of the picture as read.
    runs : tuple
        Text in stretches, each with the score of its reading.
    """

    label: str
    rect: Rect
    runs: tuple[Run, ...] = ()

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(text for text, _ in self.runs)


def page_blocks(regions: Sequence[Region], pictures: Sequence[Rect], image: Image, rules: Rules) -> list[Spoken]:
    """Put the blocks of a page in reading order.

    Parameters
    ----------
    regions : sequence of Region
        Groups of lines from the layout model.
    pictures : sequence of Rect
        Pictures found by their ink.
    image : array
        The page (BGR), without its upright rules.
    rules : Rules
        Drawn lines of the page.
    """
    lines = [line for region in regions for line in region.lines]
    unit = median(line.box.height for line in lines) if lines else 16.0
    frame = Rect(0.0, 0.0, float(image.shape[1]), float(image.shape[0]))
    parts = settled(with_pictures(part_regions(regions), pictures), frame)
    blocks = [_table(part, image, rules) if part.kind == "table" else _spoken(part) for part in parts]
    blocks = _captions(blocks, unit)
    first = [block for block in blocks if block.label == "header"]
    last = [block for block in blocks if block.label in ("footer", "page_footnote")]
    numbers = [block for block in blocks if block.label == "page_number"]
    body = [block for block in blocks if block.label not in ("header", "footer", "page_number", "page_footnote")]
    if numbers:
        middle = median(line.box.cy for line in lines)
        first += [block for block in numbers if block.rect.cy < middle]
        last += [block for block in numbers if block.rect.cy >= middle]
    ordered = (
        _top_down(first, unit)
        + reading_order(body, lambda block: block.rect, unit)
        + sorted(_top_down(last, unit), key=lambda block: block.label != "page_footnote")
    )
    return _lists(ordered)


def _top_down(blocks: Sequence[Spoken], unit: float) -> list[Spoken]:
    return sorted(blocks, key=lambda block: (round(block.rect.cy / (0.8 * unit)), block.rect.x1))


def _spoken(region: Region) -> Spoken:
    label = _LABELS.get(region.kind, "text")
    if label == "image":
        return Spoken("chart" if _is_chart(region) else "image", region.box)
    rows = text_rows(region.lines)
    if label == "equation":
        text = display_formula([" ".join(line.text for line in row) for row in rows])
        return Spoken(label, region.box, ((text, _least(region.lines)),))
    runs = _flow(rows)
    text = "".join(run[0] for run in runs)
    if label in ("header", "footer") and PAGE_NUMBER.match(text):
        label = "page_number"
    return Spoken(label, region.box, runs)


def _least(lines: Sequence[Line]) -> float:
    return min((score for line in lines for _, score in scored_words(line)), default=1.0)


def _is_chart(region: Region) -> bool:
    """Axis numbers: at least three bare numbers in one column or one row."""
    numbers = [line.box for line in region.lines if _NUMBER.match(line.text)]
    return any(
        sum(1 for other in numbers if abs(other.x2 - box.x2) < box.height) >= 3
        or sum(1 for other in numbers if abs(other.cy - box.cy) < 0.5 * box.height) >= 3
        for box in numbers
    )


def _table(region: Region, image: Image, rules: Rules) -> Spoken:
    pieces = [piece for line in region.lines for piece in split_line(line, rules)]
    boxes = tightened([piece.box for piece in pieces], image)
    cells = build_table([replace(piece, box=box) for piece, box in zip(pieces, boxes, strict=True)], rules)
    return Spoken("table", region.box, tuple(table_runs(cells)))


def text_rows(lines: Sequence[Line]) -> list[list[Line]]:
    """Lines of a block grouped into rows, top down, each from left to right."""
    rows: list[list[Line]] = []
    for line in sorted(lines, key=lambda item: item.box.cy):
        if rows and any(_same_row(line.box, other.box) for other in rows[-1]):
            rows[-1].append(line)
        else:
            rows.append([line])
    return [sorted(row, key=lambda item: item.box.x1) for row in rows]


def _same_row(a: Rect, b: Rect) -> bool:
    return a.overlap_y(b) > 0.5 * min(a.height, b.height) and a.overlap_x(b) < 0.5 * min(a.width, b.width)


def _flow(rows: Sequence[Sequence[Line]]) -> tuple[Run, ...]:
    """Write lines as flowing text; a line ends hard where the next word would still have had room."""
    runs: list[Run] = []
    if not rows:
        return ()
    around = union(line.box for row in rows for line in row)
    before: list[Line] = []
    for row in rows:
        for n, line in enumerate(row):
            (first, score), *rest = scored_words(line) or [("", line.score)]
            first = first.lstrip()
            if runs:
                hard = n == 0 and (max(len(before), len(row)) > 1 or _ends_early(before, row[0], around))
                first = _joint(runs[-1][0], first, hard=hard) + first
            runs += [(first, score), *rest]
        before = list(row)
    return tuple(runs)


def _joint(before: str, text: str, *, hard: bool) -> str:
    """Choose what stands between two lines: no space where Chinese or a hyphen meets the line's end."""
    if re.search(r"[^\W\d_]-$", before) and text[0].islower():
        return ""
    if hard:
        return "\n"
    return "" if _CJK.match(before[-1]) and _CJK.match(text[0]) else " "


def _ends_early(row: Sequence[Line], following: Line, around: Rect) -> bool:
    """Tell whether the first word of the next line would have fitted at the end of this one."""
    last = union(line.box for line in row)
    words = following.text.split()
    share = (len(words[0]) + 2 if not _CJK.match(words[0]) else 3) / max(1, len(following.text))
    room = around.width - (last.x2 - min(last.x1, following.box.x1 if following.box.x1 < around.cx else last.x1))
    return room > following.box.width * share + 0.5 * following.box.height


def _captions(blocks: Sequence[Spoken], unit: float) -> list[Spoken]:
    """Captions by their first word, else by what is nearest."""
    targets = [block for block in blocks if block.label in ("image", "chart", "table")]
    done: list[Spoken] = []
    for block in blocks:
        label = block.label
        near = min(targets, key=lambda target: _distance(block.rect, target.rect), default=None)
        close = near is not None and _distance(block.rect, near.rect) < 4 * unit
        if label in ("caption", "text", "list-item", "title") and (label == "caption" or close):
            if _TABLE_CAPTION.match(block.text):
                label = "table_caption"
            elif _IMAGE_CAPTION.match(block.text):
                label = "image_caption"
            elif label == "caption":
                label = "text" if near is None else "table_caption" if near.label == "table" else "image_caption"
        done.append(Spoken(label, block.rect, block.runs))
    return done


def _distance(a: Rect, b: Rect) -> float:
    across = max(0.0, a.x1 - b.x2, b.x1 - a.x2)
    along = max(0.0, a.y1 - b.y2, b.y1 - a.y2)
    return along + 2 * across


def _lists(blocks: Sequence[Spoken]) -> list[Spoken]:
    """Items begin with "- " or their number; after the items of a list comes an empty box around them."""
    out: list[Spoken] = []
    items: list[Spoken] = []
    for block in [*blocks, None]:
        if block is not None and block.label == "list-item":
            item = Spoken("text", block.rect, _item(block.runs))
            items.append(item)
            out.append(item)
            continue
        if len(items) > 1:
            out.append(Spoken("list", union(item.rect for item in items)))
        items = []
        if block is not None:
            out.append(block)
    return out


def _item(runs: tuple[Run, ...]) -> tuple[Run, ...]:
    text = "".join(part for part, _ in runs)
    if not runs or _NUMBERED.match(text):
        return runs
    drop = len(text) - len(_BULLET.sub("", text).lstrip())
    kept: list[Run] = []
    for part, score in runs:
        left, drop = part[drop:], max(0, drop - len(part))
        if left or not kept:
            kept.append((left, score))
    (first, score), *rest = kept
    return (("- " + first, score), *rest)
