"""Confidence means something: what spoils a page lowers it, and errors stand in unsure blocks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from cpu_child import data_url, font
from PIL import Image, ImageDraw, ImageFilter

from uocr_nb.document.confidence import with_confidence
from uocr_nb.document.grammar import parse_answer
from uocr_nb.local_server.pieces import Piece, scored_words
from uocr_nb.local_server.ppocr import Line, Rect

if TYPE_CHECKING:
    from cpu_child import Running

    from uocr_nb.document.model import Block

LINES = ["Quarterly figures of the harbour", "Seventeen boats and 4,608 crates", "Weather kept the ferry in port"]


def read(running: Running, picture: Image.Image) -> tuple[Block, ...]:
    choice = running.ask(data_url(picture), logprobs=True)["choices"][0]
    text = choice["message"]["content"]
    scores = [(piece["token"], math.exp(piece["logprob"])) for piece in choice["logprobs"]["content"]]
    (page,) = with_confidence(parse_answer(text), text, scores)
    return page.blocks


def drawn(spoiled: int | None = None) -> Image.Image:
    """Three paragraphs far apart; the one numbered `spoiled` is blurred and noisy."""
    picture = Image.new("L", (900, 900), 255)
    for n, line in enumerate(LINES):
        ImageDraw.Draw(picture).text((60, 100 + 280 * n), line, fill=0, font=font(30))
    if spoiled is not None:
        place = (0, 60 + 280 * spoiled, 900, 180 + 280 * spoiled)
        part = np.asarray(picture.crop(place).filter(ImageFilter.GaussianBlur(3)), np.float64)
        noise = np.random.default_rng(spoiled).normal(0, 50, part.shape)
        picture.paste(Image.fromarray(np.clip(part + noise, 0, 255).astype(np.uint8)), place[:2])
    return picture


@pytest.mark.parametrize("spoiled", [0, 1])
def test_what_is_spoiled_has_errors_and_is_unsure(running: Running, spoiled: int) -> None:
    blocks = [block for block in read(running, drawn(spoiled)) if block.text]
    wrong = [block for block in blocks if block.text not in LINES]
    right = [block for block in blocks if block.text in LINES]
    assert len(right) == 2
    assert wrong
    assert max(block.confidence or 0 for block in wrong) < 0.5
    assert min(block.confidence or 0 for block in right) > 0.9


def test_a_word_is_as_sure_as_its_least_sure_letter() -> None:
    box = Rect(0, 0, 100, 20)
    odds = [0.9, 0.4, 0.3, 1.0, 0.8, 0.2]
    line = Line(box, "ab, cd!"[:6], 0.7, tuple((float(n), odd) for n, odd in enumerate(odds)))
    assert scored_words(line) == [("ab,", 0.4), (" cd", 0.2)]
    assert scored_words(Piece(box, "?!", 0.7, ((0.0, 0.1), (1.0, 0.2)))) == [("?!", 0.7)]
    assert scored_words(Piece(box, "no marks", 0.7)) == [("no", 0.7), (" marks", 0.7)]
