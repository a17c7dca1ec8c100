"""Kinds of faults that people reported of tools of this kind: boxes and crops."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from PIL import Image, ImageDraw

import uocr_nb as uocr
from uocr_nb.document.grammar import AnswerParser, parse_answer
from uocr_nb.document.model import COORD_MAX, Block, Page

if TYPE_CHECKING:
    from pathlib import Path

Pixels = tuple[int, int, int, int]


@pytest.mark.parametrize(
    ("size", "bar"),
    [
        ((1654, 2339), (165, 234, 1489, 468)),
        ((2000, 400), (100, 300, 1900, 390)),
        ((400, 2000), (10, 1800, 390, 1990)),
        ((20000, 24), (19000, 2, 19990, 22)),
    ],
)
def test_a_box_covers_what_it_names_whatever_the_shape_of_the_page(size: tuple[int, int], bar: Pixels) -> None:
    told = [round(at / size[n % 2] * COORD_MAX) for n, at in enumerate(bar)]
    page = uocr.parse(f"<|det|>text {told}<|/det|>bar", size=size).page(1)
    # Half a step of the grid, and never more than the grid can tell.
    off = max(3, max(size) / COORD_MAX / 2 + 1)
    assert page.blocks[0].pixels(page.size) == pytest.approx(bar, abs=off)


def test_boxes_at_the_edge_shift_no_other_box(tmp_path: Path) -> None:
    size = (500, 700)
    boxes = [(0, 0, 99, 99), (300, 300, 400, 400), (600, 500, 700, 600), (900, 900, 999, 999), (500, 500, 500, 500)]
    colours = ["red", "lime", "blue", "black", "white"]
    picture = Image.new("RGB", size, "white")
    for box, colour in zip(boxes, colours, strict=True):
        x1, y1, x2, y2 = Block("text", "", box).pixels(size) or (0, 0, 0, 0)
        ImageDraw.Draw(picture).rectangle((x1, y1, x2 - 1, y2 - 1) if x2 > x1 else (x1, y1, x2, y2), fill=colour)
    picture.save(tmp_path / "page.png")
    blocks = tuple(Block("image", "", box) for box in boxes)
    page = Page(1, 1, "page.png", size, blocks, image_file=tmp_path / "page.png")
    for number, colour in enumerate(colours, 1):
        crop = page.crop(number)
        assert min(crop.size) >= 1
        assert crop.getcolors() == [(crop.width * crop.height, Image.new("RGB", (1, 1), colour).getpixel((0, 0)))]


def test_a_tag_that_came_in_pieces_leaves_nothing_behind_for_the_next() -> None:
    pieces = ["<|", "det|>itle [162, ", "88, 838, 172]<|/d", "et|><|det|><|det|>elong learning"]
    parser = AnswerParser()
    for piece in pieces:
        parser.feed(piece)
    assert parser.finish() == parse_answer("".join(pieces))
