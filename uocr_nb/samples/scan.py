"""A poor scan of a PDF: grey, tilted, softly focused, unevenly lit, speckled, saved as JPEG."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import numpy as np
import pymupdf
from PIL import Image, ImageFilter

__all__ = ["degrade", "make_scan"]

DPI = 150
TILTS = (0.4, -0.3, 0.5)
"""Degrees, one a page in turn: sheets do not go through a feeder alike."""
PAPER = 244
INK = 34
"""Grey levels of blank paper and of full ink at the brightest spot."""
SPECKS = 160
QUALITY = 46


def degrade(page: Any, number: int) -> bytes:
    """Return one page as the JPEG file that a tired office scanner would make of it.

    Parameters
    ----------
    page : pymupdf.Page
        The page.
    number : int
        Its number from 0: seed of the noise and choice of the tilt, so the same page gives the same picture.
    """
    raw = page.get_pixmap(dpi=DPI, colorspace=pymupdf.csGRAY, alpha=False)
    clean = Image.frombytes("L", (raw.width, raw.height), raw.samples)
    tilted = clean.rotate(TILTS[number % len(TILTS)], Image.Resampling.BICUBIC, fillcolor=255)
    soft = tilted.filter(ImageFilter.GaussianBlur(0.75))
    chance = np.random.default_rng(1912 + number)
    ink = np.asarray(soft, dtype=np.float32) / 255
    height, width = ink.shape
    down, across = np.mgrid[0 : 1 : height * 1j, 0 : 1 : width * 1j].astype(np.float32)
    # The lamp fades towards the right and the foot; along the left edge lies the shadow of a lid that does not close.
    light = 1 - 0.07 * across - 0.05 * down**2 - 0.2 * np.exp(-across / 0.018)
    grey = (INK + (PAPER - INK) * ink) * light
    for y, x in zip(chance.integers(2, height - 2, SPECKS), chance.integers(2, width - 2, SPECKS), strict=True):
        grey[y : y + chance.integers(1, 3), x : x + chance.integers(1, 3)] -= chance.integers(30, 110)
    grey += chance.normal(0, 4.5, grey.shape).astype(np.float32)
    picture = Image.fromarray(grey.clip(0, 255).astype(np.uint8))
    file = BytesIO()
    picture.save(file, "JPEG", quality=QUALITY, optimize=True, dpi=(DPI, DPI))
    return file.getvalue()


def make_scan(document: Any) -> Any:
    """Return a new PDF that holds nothing but a picture of every page of `document`."""
    scan = pymupdf.open()
    for number, page in enumerate(document):
        sheet = scan.new_page(width=page.rect.width, height=page.rect.height)
        image = sheet.insert_image(sheet.rect, stream=degrade(page, number))
        scan.xref_set_key(image, "ColorSpace", "/DeviceGray")  # instead of MuPDF's own colour profile
    return scan
