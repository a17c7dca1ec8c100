"""Pages to measure with, made by code: papers, reports, forms and scans, A4 and Letter, no two alike.

    python benchmarks/corpus.py PAGES FILE.pdf      or FOLDER, for PNG files of 150 dpi

Two pages in five are scans (150 to 300 dpi, grey, colour and black-and-white, a little crooked, with the noise that
a scanner leaves), the others are born digital. As on real pages a 300 dpi PNG takes about 0.15 s and 0.7 MB.
"""

from __future__ import annotations

import io
import random
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pymupdf
from PIL import Image, ImageChops, ImageFilter

if TYPE_CHECKING:
    from collections.abc import Callable

A4, LETTER = (595, 842), (612, 792)
SYLLABLES = "ba ce di fo gu ha je ki lo mu na pe ri so tu va we xi yo za the of and in to is that for with as".split()  # noqa: SIM905


def words(rng: random.Random, count: int) -> str:
    """So many made-up words."""
    return " ".join("".join(rng.choices(SYLLABLES, k=rng.choice((1, 2, 2, 3)))) for _ in range(count))


def report(page: Any, rng: random.Random, number: int) -> None:
    """One column, a heading, a picture."""
    width, height = page.rect.width, page.rect.height
    page.insert_text((60, 70), f"{number}. {words(rng, 4)}", fontsize=16)
    page.insert_textbox((60, 90, width - 60, height * 0.62), words(rng, 300), fontsize=10.5)
    grey = bytes(rng.choices(range(256), k=60 * 40))
    page.insert_image((60, height * 0.64, 260, height * 0.82), pixmap=pymupdf.Pixmap(pymupdf.csGRAY, 60, 40, grey, 0))
    page.insert_textbox((280, height * 0.64, width - 60, height * 0.9), words(rng, 60), fontsize=10.5)
    page.insert_text((width / 2, height - 30), str(number), fontsize=9)


def paper(page: Any, rng: random.Random, number: int) -> None:
    """Two columns of small print."""
    width, height = page.rect.width, page.rect.height
    page.insert_text((50, 50), f"{words(rng, 7)} {number}", fontsize=9)
    for left in (50, width / 2 + 8):
        page.insert_textbox((left, 64, left + width / 2 - 62, height - 50), words(rng, 330), fontsize=8.5)


def form(page: Any, rng: random.Random, number: int) -> None:
    """Rules, cells and short words."""
    width = page.rect.width
    page.insert_text((50, 60), f"Form {number}: {words(rng, 3)}", fontsize=14)
    for row in range(26):
        top = 90 + 25 * row
        page.draw_line((50, top), (width - 50, top))
        for column in range(4):
            page.insert_text((55 + column * (width - 100) / 4, top + 16), words(rng, 2), fontsize=9)
    for column in range(5):
        left = 50 + column * (width - 100) / 4
        page.draw_line((left, 90), (left, 90 + 25 * 25))


def letter(page: Any, rng: random.Random) -> None:
    """A few paragraphs, wide apart."""
    page.insert_text((70, 110), words(rng, 4), fontsize=13)
    for n in range(4):
        page.insert_textbox((70, 140 + 120 * n, page.rect.width - 70, 250 + 120 * n), words(rng, 55), fontsize=11)


def scan(dpi: int, kind: str, size: tuple[int, int]) -> Image.Image:
    """A printed page as a scanner gives it."""
    rng = random.Random(f"{dpi} {kind}")
    with pymupdf.open() as document:
        page = document.new_page(width=size[0], height=size[1])
        letter(page, rng)
        picture = page.get_pixmap(dpi=dpi, colorspace=pymupdf.csGRAY)
        image = Image.frombytes("L", (picture.width, picture.height), picture.samples)
    image = image.rotate(rng.uniform(-0.8, 0.8), Image.Resampling.BICUBIC, fillcolor=255)
    image = image.filter(ImageFilter.GaussianBlur(dpi / 300))
    if kind == "bilevel":
        return image.point(lambda level: 255 * (level > 150), "1")
    grey = np.asarray(image, np.float32) * 0.88 + 26
    grey += np.random.default_rng(dpi).normal(0, 2, grey.shape)
    # What lies near the paper's tone becomes white, as scanners do it; the noise stays in and around the letters.
    grey[grey > 228] = 255
    image = Image.fromarray(grey.clip(0, 255).astype(np.uint8))
    if kind == "colour":
        image = Image.merge("RGB", (image, image.point(lambda level: level * 0.98), image.point(lambda v: v * 0.9)))
    return image


def stored(image: Image.Image, number: int) -> bytes:
    """The scan as a file that holds no other page's bytes: moved down by some lines."""
    file = io.BytesIO()
    ImageChops.offset(image, 0, number % 40).save(file, "PNG" if image.mode == "1" else "JPEG", quality=70)
    return file.getvalue()


SCANS = ((300, "bilevel", A4), (150, "grey", A4), (200, "grey", LETTER), (200, "colour", A4), (300, "grey", A4))
BORN: tuple[tuple[Callable[[Any, random.Random, int], None], tuple[int, int]], ...] = (
    (report, A4),
    (paper, A4),
    (form, A4),
    (paper, LETTER),
    (report, LETTER),
)


def make(path: Path, pages: int) -> Path:
    """Write a PDF of so many pages to `path`; the same each time."""
    pictures = [scan(*kind) for kind in SCANS]
    with pymupdf.open() as document:
        for number in range(1, pages + 1):
            rng = random.Random(number)
            if number % 5 in (2, 4):
                which = number * 2 // 5 % len(SCANS)
                size = SCANS[which][2]
                page = document.new_page(width=size[0], height=size[1])
                page.insert_image(page.rect, stream=stored(pictures[which], number))
                page.insert_text((40, 30), f"{number} {words(rng, 3)}", fontsize=11)
            else:
                draw, size = BORN[number // 5 % len(BORN)]
                draw(document.new_page(width=size[0], height=size[1]), rng, number)
        document.save(path)
    return path


def main() -> None:
    """Make what the command line asks for."""
    pages, path = int(sys.argv[1]), Path(sys.argv[2])
    if path.suffix == ".pdf":
        make(path, pages)
        return
    path.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, pymupdf.open(make(Path(folder, "pages.pdf"), pages)) as document:
        for number, page in enumerate(document, 1):
            page.get_pixmap(dpi=150).save(path / f"{number:03}.png")


if __name__ == "__main__":
    main()
