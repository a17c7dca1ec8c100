"""From a drawn page to the file that is sent. Runs in the worker process only."""

from __future__ import annotations

import hashlib
import io
import os
from typing import TYPE_CHECKING, Any

from PIL import ImageChops

from uocr_nb.sources.blank import is_blank

if TYPE_CHECKING:
    from pathlib import Path

    from PIL.Image import Image

    from uocr_nb.sources.pdf import Drawn

__all__ = ["ink_share", "is_grey", "write"]

_SMALL = 512 * 512
"""Pictures of no more pixels are tried as PNG too: clean small ones become smaller and stay exact."""

_CLEAN = 0.8
"""Share of one grey level above which a grey page is written as PNG. Paper of born-digital pages is of one level:
PNG is exact and 40 % smaller there (202 against 348 KiB at 165 dpi, for 4 ms more). Scans have noise; PNG would double
them."""

_GREYS = bytes(level for level in range(256) for _ in "rgb")

_CLEAR = 40
"""Grey levels between paper and ink; the noise and shadow of a decent scan stay below."""


def write(drawn: Drawn, folder: Path) -> dict[str, Any]:
    """Write the picture into `folder`, named by its content, and tell what it is.

    JPEG for scans and colour, because it is 7 to 8 times quicker than the quickest PNG and no larger there; PNG for
    bilevel pictures, ten times smaller so, and for clean grey pages.
    """
    image = drawn.image
    grey = image if image.mode == "L" else image.convert("L")
    if drawn.original is not None:
        data, mime = drawn.original, "image/jpeg"
    else:
        if image.mode in ("RGB", "RGBX") and is_grey(image):
            image = grey
        data, mime = _encoded(image, drawn.quality)
    digest = hashlib.sha256(data).hexdigest()
    file = folder / f"{digest[:40]}.{'png' if mime == 'image/png' else 'jpg'}"
    if not file.exists():
        part = file.with_suffix(f".{os.getpid()}.part")
        part.write_bytes(data)
        part.replace(file)
    blank = drawn.sure and is_blank(grey)
    if blank and drawn.hidden is not None and (hidden := drawn.hidden()):
        drawn.notes.append(hidden)
        blank = False
    return {
        "size": image.size,
        "dpi": drawn.dpi,
        "sha256": digest,
        "file": str(file),
        "mime": mime,
        "notes": drawn.notes,
        "ink": ink_share(grey),
        "blank": blank,
    }


def ink_share(grey: Image) -> float:
    """Measure the share of pixels of `grey` (mode L) that differ clearly from its most frequent level, the paper."""
    levels = grey.histogram()
    paper = levels.index(max(levels))
    near = sum(levels[max(0, paper - _CLEAR) : paper + _CLEAR + 1])
    return 1 - near / (grey.width * grey.height)


def is_grey(image: Image) -> bool:
    """Tell whether no pixel of `image` (RGB or RGBX) has a colour."""
    red, green, blue = image.split()[:3]
    return ImageChops.difference(red, green).getbbox() is None and ImageChops.difference(red, blue).getbbox() is None


def _encoded(image: Image, quality: int) -> tuple[bytes, str]:
    if image.mode == "1":
        return _png(image), "image/png"
    if image.mode == "L" and max(image.histogram()) > _CLEAN * image.width * image.height:
        # With its greys as a palette it is the same picture, written in half the time: Pillow then tries no filters.
        listed = image.copy()
        listed.putpalette(_GREYS)
        return _png(listed, compress_level=1), "image/png"
    buffer = io.BytesIO()
    options = {"subsampling": "4:2:0"} if image.mode != "L" else {}
    image.save(buffer, "JPEG", quality=quality, **options)
    jpeg = buffer.getvalue()
    if image.width * image.height <= _SMALL:
        png = _png(image)
        if len(png) <= len(jpeg):
            return png, "image/png"
    return jpeg, "image/jpeg"


def _png(image: Image, **options: int) -> bytes:
    buffer = io.BytesIO()
    (image.convert("RGB") if image.mode == "RGBX" else image).save(buffer, "PNG", **options)
    return buffer.getvalue()
