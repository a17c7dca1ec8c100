"""Pixels as engines take them: upright, on white, 8 bit, bounded. Runs in the worker process only."""

from __future__ import annotations

import contextlib
import io
from typing import Any

from PIL import Image, ImageCms

from uocr_nb.sources.encode import ink_share
from uocr_nb.sources.sizing import bounded
from uocr_nb.sources.types import MAX_SIDE

__all__ = ["MIN_SIDE", "flat", "is_turned", "padded", "upright", "within"]

MIN_SIDE = 32
"""Engines refuse slimmer pictures; white is added to reach it."""

_ORIENTATION = 0x0112

_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
"""EXIF orientation -> what makes the picture upright (Pillow has turned TIFF frames already when it loads them)."""


def _orientation(image: Any) -> int:
    """Read the EXIF orientation (1 when there is none); a broken EXIF part must not cost the picture."""
    with contextlib.suppress(Exception):
        return int(image.getexif().get(_ORIENTATION, 1))
    return 1


def is_turned(image: Any) -> bool:
    """Tell whether a viewer turns or mirrors `image`."""
    return _orientation(image) in _TURNS


def upright(image: Any) -> Any:
    """Turn `image` as a viewer shows it."""
    turn = _TURNS.get(_orientation(image))
    return image if turn is None else image.transpose(turn)


def flat(image: Any, notes: list[str]) -> Any:
    """Bring `image` to mode 1, L or RGB: 8 bit without clipping, transparency on white."""
    mode = image.mode
    if mode.startswith("I") or mode == "F":
        return _eight_bit(image)
    if image.has_transparency_data:
        return _on_paper(image.convert("RGBA"), notes)
    if mode in ("1", "L", "RGB"):
        return image
    if mode == "CMYK":
        return _from_cmyk(image)
    return image.convert("RGB")


def _on_paper(image: Any, notes: list[str]) -> Any:
    alpha = image.getchannel("A")
    page = Image.new("RGB", image.size, "white")
    page.paste(image, mask=alpha)
    least, most = alpha.getextrema()
    if least == most or ink_share(page.convert("L")) > 0:
        return page
    dark = Image.new("RGB", image.size, "black")
    dark.paste(image, mask=alpha)
    notes.append("The picture is white on a transparent ground; it was put on black.")
    return dark


def _eight_bit(image: Any) -> Any:
    """Wider grey levels scaled from the least depth that holds them, so that dark scans of 12 bit are not black."""
    wide = image if image.mode == "F" else image.convert("I")
    low, high = wide.getextrema()
    if image.mode == "F":
        top = next((top for top in (1.0, 255.0, 65535.0) if high <= top), high)
    else:
        top = next((top for top in (255, 1023, 4095, 16383, 65535) if high <= top), high)
    bottom = min(low, 0)
    factor = 255 / ((top - bottom) or 1)
    offset = -bottom * factor
    return wide.point(lambda value: value * factor + offset).convert("L")


def _from_cmyk(image: Any) -> Any:
    profile = image.info.get("icc_profile")
    if profile:
        with contextlib.suppress(ImageCms.PyCMSError, OSError, ValueError):
            source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
            converted = ImageCms.profileToProfile(image, source, ImageCms.createProfile("sRGB"), outputMode="RGB")
            if converted is not None:
                return converted
    return image.convert("RGB")


def within(image: Any, max_pixels: int) -> Any:
    """Scale `image` down to `max_pixels` and the longest side, where it is larger."""
    factor = bounded(image.width, image.height, max_pixels, MAX_SIDE)
    if factor == 1:
        return image
    size = max(1, int(image.width * factor)), max(1, int(image.height * factor))
    grey = image.convert("L") if image.mode == "1" else image
    return grey.resize(size, Image.Resampling.LANCZOS, reducing_gap=2.0)


def padded(image: Any) -> Any:
    """Put white around `image` up to the least side."""
    size = max(image.width, MIN_SIDE), max(image.height, MIN_SIDE)
    page = Image.new("RGB" if image.mode == "RGB" else "L", size, "white")
    page.paste(image, ((size[0] - image.width) // 2, (size[1] - image.height) // 2))
    return page
