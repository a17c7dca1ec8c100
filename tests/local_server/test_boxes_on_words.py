"""Whatever way a page came in, the box that the engine found lies on its word in the picture that is shown."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np
import pytest
from cpu_child import font
from PIL import Image, ImageDraw

import uocr_nb as uocr

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from cpu_child import Running

    from uocr_nb.document.model import Page
    from uocr_nb.serving.endpoint import Endpoint

SIZE = (1000, 700)
WORDS = {"MARIGOLD": (70, 60), "THISTLE": (620, 560)}
"""Far from each other and from the middle, so that no turn or mirror brings one to the other's place."""

TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_90,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_270,
}

Box = tuple[float, float, float, float]


def upright() -> Image.Image:
    """The page as a reader sees it."""
    page = Image.new("L", SIZE, 255)
    for word, at in WORDS.items():
        ImageDraw.Draw(page).text(at, word, fill=0, font=font(60))
    return page


def truth(word: str) -> Box:
    """Where the ink of a word is, as parts of the page."""
    alone = Image.new("L", SIZE, 0)
    ImageDraw.Draw(alone).text(WORDS[word], word, fill=255, font=font(60))
    box = alone.getbbox()
    assert box is not None
    return box[0] / SIZE[0], box[1] / SIZE[1], box[2] / SIZE[0], box[3] / SIZE[1]


def encoded(image: Image.Image, form: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, form, **options)
    return buffer.getvalue()


def with_orientation(form: str, orientation: int) -> bytes:
    exif = Image.Exif()
    exif[0x0112] = orientation
    page = upright().convert("RGB")
    return encoded(page.transpose(TURNS[orientation]) if orientation > 1 else page, form, exif=exif)


def transparent() -> bytes:
    clear = Image.new("RGBA", SIZE, (0, 0, 0, 0))
    clear.putalpha(upright().point(lambda level: 255 - level))
    return encoded(clear, "PNG")


def deep(form: str) -> bytes:
    levels = np.asarray(upright()).astype(np.uint16) * 200 + 3000
    return encoded(Image.fromarray(levels), form)


def framed(form: str) -> bytes:
    other = Image.new("RGB", (300, 300) if form == "TIFF" else SIZE, "white")
    return encoded(other, form, save_all=True, append_images=[upright().convert("RGB")], duration=100)


def pdf(*, turn: int = 0, crop: bool = False, unit: float = 1) -> bytes:
    """The page as a picture in a PDF, turned and cut so that a reader sees it upright and whole."""
    import pymupdf

    picture = upright().rotate(turn, expand=True)
    width, height = picture.width * 0.5, picture.height * 0.5
    left, top = (90, 130) if crop else (0, 0)
    with pymupdf.open() as document:
        page = document.new_page(width=width + 2 * left, height=height + 2.5 * top)
        if crop:
            page.insert_text((5, 30), "OUTSIDE", fontsize=25)
        rect = pymupdf.Rect(left, top, left + width, top + height)
        page.insert_image(rect, stream=encoded(picture, "PNG"))
        if crop:
            page.set_cropbox(rect)
        page.set_rotation(turn)
        if unit != 1:
            document.xref_set_key(page.xref, "UserUnit", str(unit))
        data: bytes = document.tobytes()
    return data


INPUTS: dict[str, Callable[[], bytes]] = {
    **{f"jpeg, orientation {n}": lambda n=n: with_orientation("JPEG", n) for n in range(1, 9)},
    "tiff, orientation 5": lambda: with_orientation("TIFF", 5),
    "webp, orientation 6": lambda: with_orientation("WEBP", 6),
    "png, orientation 8": lambda: with_orientation("PNG", 8),
    **{f"pdf, turned by {turn}": lambda turn=turn: pdf(turn=turn) for turn in (0, 90, 180, 270)},
    **{f"pdf, cropped, turned by {turn}": lambda turn=turn: pdf(turn=turn, crop=True) for turn in (0, 90, 180, 270)},
    "pdf, user unit": lambda: pdf(unit=2.5),
    "pdf, cropped, turned, user unit": lambda: pdf(turn=90, crop=True, unit=0.5),
    "transparent": transparent,
    "png of 16 bit": lambda: deep("PNG"),
    "tiff of 16 bit": lambda: deep("TIFF"),
    "bilevel": lambda: encoded(upright().convert("1"), "TIFF", compression="group4"),
    "palette": lambda: encoded(upright().convert("P"), "GIF"),
    "second frame of a tiff": lambda: framed("TIFF"),
    "second frame of a gif": lambda: framed("GIF"),
    "second frame of a webp": lambda: framed("WEBP"),
    "scaled down": lambda: encoded(upright().resize((9000, 6300)), "PNG"),
}

QUICK = ["jpeg, orientation 6", "pdf, cropped, turned by 90", "second frame of a tiff"]


@pytest.fixture(scope="module")
def endpoint(running: Running) -> Iterator[Endpoint]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BOXES_KEY", running.key)
        with uocr.serve(running.url, api_key_env="BOXES_KEY") as served:
            yield served


def overlap(one: Box, other: Box) -> float:
    """Intersection over union."""
    wide = max(0.0, min(one[2], other[2]) - max(one[0], other[0]))
    tall = max(0.0, min(one[3], other[3]) - max(one[1], other[1]))
    area = (one[2] - one[0]) * (one[3] - one[1]) + (other[2] - other[0]) * (other[3] - other[1]) - wide * tall
    return wide * tall / area


def check(page: Page) -> None:
    shown = page.image.convert("L")
    assert shown.size == page.size
    assert "OUTSIDE" not in page.text
    for word in WORDS:
        (block,) = [block for block in page.blocks if word in block.text]
        found = block.pixels(page.size)
        assert found is not None
        true = tuple(part * side for part, side in zip(truth(word), (*page.size, *page.size), strict=True))
        # The engine puts a third of the height of large letters around them.
        assert overlap(found, true) >= 0.5, (word, found, true)  # type: ignore[arg-type]
        # The ink in the picture that is shown lies there too, and not only where it should.
        around = (found[0] - 20, found[1] - 20, found[2] + 20, found[3] + 20)
        ink = shown.crop(around).point(lambda level: 255 * (level < 110)).getbbox()
        assert ink is not None
        seen = (ink[0] + around[0], ink[1] + around[1], ink[2] + around[0], ink[3] + around[1])
        assert overlap(seen, true) >= 0.9, (word, seen, true)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in INPUTS]
)
def test_the_box_lies_on_its_word(endpoint: Endpoint, tmp_path: Path, name: str) -> None:
    file = tmp_path / "page.bin"
    file.write_bytes(INPUTS[name]())
    page = uocr.ocr(file, endpoint=endpoint, pages=-1, cache=False, show=None).pages[0]
    check(page)
