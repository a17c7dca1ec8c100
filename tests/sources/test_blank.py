"""Pages that hold nothing, and pages that hold little: drawn by code, A4 at 165 dpi unless the name says so."""

from __future__ import annotations

import functools
import io
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageChops, ImageDraw, ImageFilter

from uocr_nb.sources import Renderer, resolve
from uocr_nb.sources.blank import is_blank

if TYPE_CHECKING:
    from pathlib import Path

A4 = (1364, 1930)
SCAN_300 = (2480, 3508)

Draw = Callable[[Image.Image], Image.Image]


def sheet(*steps: Draw, level: int = 250, size: tuple[int, int] = A4) -> Image.Image:
    return functools.reduce(lambda page, step: step(page), steps, Image.new("L", size, level))


def noise(sigma: float, seed: int = 0) -> Draw:
    def step(page: Image.Image) -> Image.Image:
        shape = (page.height, page.width)
        wild = np.asarray(page, np.float32) + np.random.default_rng(seed).normal(0, sigma, shape).astype(np.float32)
        return Image.fromarray(wild.clip(0, 255).astype(np.uint8))

    return step


def pepper(share: float) -> Draw:
    def step(page: Image.Image) -> Image.Image:
        levels = np.asarray(page).copy()
        levels[np.random.default_rng(1).random(levels.shape) < share] = 0
        return Image.fromarray(levels)

    return step


def specks(count: int, radius: int = 2) -> Draw:
    def step(page: Image.Image) -> Image.Image:
        rng = np.random.default_rng(2)
        draw = ImageDraw.Draw(page)
        for _ in range(count):
            x, y, r = rng.integers(page.width), rng.integers(page.height), rng.integers(radius + 1)
            draw.ellipse((x - r, y - r, x + r, y + r), fill=int(rng.integers(120)))
        return page

    return step


def border(left: int, top: int, right: int, bottom: int, skew: int = 0) -> Draw:
    def step(page: Image.Image) -> Image.Image:
        draw = ImageDraw.Draw(page)
        width, height = page.size
        draw.polygon([(0, 0), (left, 0), (left + skew, height), (0, height)], fill=10)
        draw.polygon([(width, 0), (width - right, 0), (width - right - skew, height), (width, height)], fill=10)
        if top:
            draw.rectangle((0, 0, width, top), fill=10)
        if bottom:
            draw.rectangle((0, height - bottom, width, height), fill=10)
        return page

    return step


def shadow(part: float, depth: float) -> Draw:
    """Darker towards the left edge."""

    def step(page: Image.Image) -> Image.Image:
        across = np.arange(page.width) / page.width
        light = 1 - depth * (1 - across / part).clip(0, 1)
        return Image.fromarray((np.asarray(page) * light).astype(np.uint8))

    return step


def holes(level: int) -> Draw:
    def step(page: Image.Image) -> Image.Image:
        for y in (page.height * 0.36, page.height * 0.64):
            ImageDraw.Draw(page).ellipse((52, y - 18, 88, y + 18), fill=level)
        return page

    return step


def streak(page: Image.Image) -> Image.Image:
    ImageDraw.Draw(page).line((900, 0, 900, page.height), fill=120, width=2)
    return page


def show_through(contrast: float) -> Draw:
    """The back of the sheet: mirrored, blurred, faint."""

    def step(page: Image.Image) -> Image.Image:
        back = Image.new("L", page.size, 255)
        for row in range(30):
            ImageDraw.Draw(back).text((150, 150 + 50 * row), "and so it went on " * 4, fill=0, font_size=23)
        back = back.transpose(Image.Transpose.FLIP_LEFT_RIGHT).filter(ImageFilter.GaussianBlur(1.5))
        return ImageChops.subtract(page, back.point([int((255 - level) / 160 * contrast) for level in range(256)]))

    return step


def jpeg(page: Image.Image) -> Image.Image:
    buffer = io.BytesIO()
    page.save(buffer, "JPEG", quality=70)
    return Image.open(buffer).convert("L")


def text(words: str, at: tuple[int, int] = (300, 600), size: int = 23, fill: int = 0) -> Draw:
    def step(page: Image.Image) -> Image.Image:
        ImageDraw.Draw(page).text(at, words, fill=fill, font_size=size)
        return page

    return step


def line(start: tuple[int, int], end: tuple[int, int], fill: int, width: int) -> Draw:
    def step(page: Image.Image) -> Image.Image:
        ImageDraw.Draw(page).line((*start, *end), fill=fill, width=width)
        return page

    return step


def photo(page: Image.Image) -> Image.Image:
    across, down = np.meshgrid(np.arange(page.width), np.arange(page.height))
    levels = 128 + 60 * np.sin(across / 90) + 60 * np.cos(down / 70)
    return Image.fromarray(levels.astype(np.uint8))


def glow(page: Image.Image) -> Image.Image:
    """A picture of nothing sharp: a lamp in the dark."""
    across, down = np.meshgrid(np.arange(page.width), np.arange(page.height))
    levels = 20 + 60 * np.exp(-((across - 700) ** 2 + (down - 900) ** 2) / 300**2)
    return Image.fromarray(levels.astype(np.uint8))


FOOT = (680, 1850)

BLANK = {
    "white": lambda: sheet(level=255),
    "black": lambda: sheet(level=0),
    "coloured paper": lambda: sheet(noise(3), level=190),
    "little noise": lambda: sheet(noise(3)),
    "noise": lambda: sheet(noise(8), level=235),
    "much noise": lambda: sheet(noise(15), level=225),
    "grain": lambda: noise(10)(sheet(level=230)).filter(ImageFilter.GaussianBlur(1)),
    "JPEG of noise": lambda: sheet(noise(6), jpeg, level=240),
    "specks": lambda: sheet(noise(3), specks(80)),
    "specks at 300 dpi": lambda: sheet(noise(5), specks(80, 3), size=SCAN_300),
    "pepper": lambda: sheet(pepper(0.002), level=255),
    "much pepper": lambda: sheet(pepper(0.01), level=255),
    "black border": lambda: sheet(border(40, 30, 50, 20), noise(3)),
    "crooked black border": lambda: sheet(noise(3), border(20, 30, 30, 60, skew=40), jpeg),
    "black strip": lambda: sheet(border(0, 0, 100, 0), level=255),
    "shadow of the edge": lambda: sheet(shadow(0.1, 0.7), noise(3)),
    "gutter": lambda: sheet(shadow(0.08, 0.9), noise(3)),
    "lamp from one side": lambda: sheet(shadow(1.0, 0.25), noise(3)),
    "holes": lambda: sheet(holes(20), noise(2)),
    "grey holes": lambda: sheet(holes(120), noise(2), jpeg),
    "white holes in coloured paper": lambda: sheet(holes(255), noise(2), level=200),
    "streak of the scanner": lambda: sheet(noise(3), streak),
    "show-through": lambda: sheet(show_through(10), noise(2), level=245),
    "many at once": lambda: sheet(show_through(8), noise(3), specks(40), border(20, 20, 30, 20), holes(20)),
    "small": lambda: sheet(noise(4), level=245, size=(600, 800)),
}

NOT_BLANK = {
    "page number": lambda: sheet(text("7", FOOT), level=255),
    "slim page number": lambda: sheet(text("1", FOOT), level=255),
    "small page number": lambda: sheet(noise(3), text("12", FOOT, 14)),
    "page number in the corner": lambda: sheet(text("23", (1310, 20)), noise(3)),
    "page number in noise": lambda: sheet(text("3", FOOT), noise(8)),
    "page number in pepper": lambda: sheet(pepper(0.01), text("17", FOOT, 28), level=255),
    "page number and border": lambda: sheet(border(40, 30, 50, 20), text("7", FOOT), noise(3)),
    "page number and holes": lambda: sheet(holes(20), text("7", FOOT), noise(3)),
    "page number and shadow": lambda: sheet(text("vi", FOOT), shadow(0.1, 0.7), noise(3)),
    "page number and show-through": lambda: sheet(show_through(10), text("12", FOOT), noise(2), level=245),
    "page number at 300 dpi": lambda: sheet(text("7", (1240, 3350), 42), noise(5), size=SCAN_300),
    "page number of a small picture": lambda: sheet(text("7", (150, 385), 8), size=(300, 400)),
    "line": lambda: sheet(text("See next page."), noise(3)),
    "line in much noise": lambda: sheet(text("See next page."), noise(15), level=230),
    "line in pepper": lambda: sheet(pepper(0.01), text("See next page."), level=255),
    "line of tiny print": lambda: sheet(text("all rights reserved", size=13), level=255),
    "line of light grey": lambda: sheet(text("confidential", size=30, fill=225), level=255),
    "line in pencil": lambda: sheet(text("see page nine", fill=195), noise(3), level=245),
    "stroke in pencil": lambda: sheet(line((300, 800), (900, 803), 190, 3), noise(3), level=245),
    "stroke in faint pencil": lambda: sheet(line((300, 800), (500, 820), 215, 3), noise(3), level=245),
    "hair line": lambda: sheet(line((300, 800), (600, 800), 0, 1), level=255),
    "white on black": lambda: sheet(text("THE END", fill=255), level=0),
    "light on dark, in noise": lambda: sheet(text("7", fill=235), noise(4), level=10),
    "light on coloured paper": lambda: sheet(text("white words", fill=230), noise(3), level=190),
    "dark on coloured paper": lambda: sheet(text("blue book", fill=120), noise(3), level=190),
    "stamp over the edge": lambda: sheet(text("RECEIVED", (-20, 900), 40), noise(3)),
    "photo": lambda: sheet(photo, noise(4)),
    "picture of nothing sharp": lambda: sheet(glow, noise(3)),
}


@pytest.mark.parametrize("name", BLANK)
def test_nothing_is_blank(name: str) -> None:
    assert is_blank(BLANK[name]())


@pytest.mark.parametrize("name", NOT_BLANK)
def test_little_is_not_blank(name: str) -> None:
    assert not is_blank(NOT_BLANK[name]())


@settings(deadline=None, max_examples=40, derandomize=True)
@given(
    word=st.sampled_from(["1", "7", "ix", "23", "-4-", "no", "Vol. 2"]),
    at=st.tuples(st.integers(4, 1280), st.integers(4, 1880)),
    size=st.integers(18, 60),
    levels=st.tuples(st.integers(205, 255), st.integers(50, 200)),
    sigma=st.sampled_from([0, 2, 4]),
)
def test_a_word_anywhere_is_seen(
    word: str, at: tuple[int, int], size: int, levels: tuple[int, int], sigma: int
) -> None:
    page = sheet(text(word, at, size, levels[0] - levels[1]), level=levels[0])
    assert not is_blank(noise(sigma)(page) if sigma else page)


def test_pages_say_that_they_are_blank(renderer: Renderer, raw_pdf: Callable[..., Path]) -> None:
    for content, blank in (("", True), ("BT /F 10 Tf 300 40 Td (4) Tj ET", False), ("0 0 10 842 re f", True)):
        (source,) = resolve(raw_pdf("/MediaBox[0 0 595 842]", content))
        assert renderer.render(source, 1).blank is blank
    (source,) = resolve(sheet(noise(3), holes(20)))
    assert renderer.render(source, 1).blank
