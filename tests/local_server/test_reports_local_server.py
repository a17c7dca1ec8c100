"""Kinds of faults that people reported of tools of this kind: boxes that drift on pages of unusual shape."""

from __future__ import annotations

import numpy as np
import pytest
from cpu_child import Running, data_url, font
from PIL import Image, ImageDraw

from uocr_nb.document.grammar import parse_answer

Pixels = tuple[int, int, int, int]


def shared(a: Pixels, b: Pixels) -> float:
    """The part of both boxes together that lies in each."""
    wide, high = (min(a[n + 2], b[n + 2]) - max(a[n], b[n]) for n in (0, 1))
    inside = max(0, wide) * max(0, high)
    areas = sum((box[2] - box[0]) * (box[3] - box[1]) for box in (a, b))
    return inside / (areas - inside)


@pytest.mark.parametrize("size", [(2000, 400), (400, 2000)])
def test_boxes_stay_on_their_words_on_wide_and_tall_pages(running: Running, size: tuple[int, int]) -> None:
    picture = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(picture)
    words = {"Alpha": (30, 40), "Middle": (size[0] // 2 - 60, size[1] // 2), "Omega": (size[0] - 190, size[1] - 90)}
    for word, at in words.items():
        draw.text(at, word, fill="black", font=font(44))
    (page,) = parse_answer(running.text(data_url(picture)))
    for word, at in words.items():
        alone = Image.new("L", size, 255)
        ImageDraw.Draw(alone).text(at, word, fill=0, font=font(44))
        ys, xs = np.nonzero(np.asarray(alone) < 128)
        truth = (int(xs.min()), int(ys.min()), int(xs.max()) + 1, int(ys.max()) + 1)
        box = next(block.pixels(size) for block in page.blocks if block.text == word)
        assert box is not None
        assert shared(box, truth) > 0.5, (word, box, truth)
