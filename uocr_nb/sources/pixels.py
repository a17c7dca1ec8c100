"""Pixels as engines take them: upright, on white, 8 bit, bounded. Runs in the worker process only."""

from __future__ import annotations

import contextlib
import io
import math
from typing import Any

from PIL import Image, ImageCms

from uocr_nb.sources.encode import ink_share
from uocr_nb.sources.sizing import bounded
from uocr_nb.sources.types import MAX_SIDE

__all__ = ["MIN_SIDE", "flat", "orientation", "padded", "slim", "upright", "within"]

MIN_SIDE = 32
"""Engines refuse slimmer pictures; white is added to reach it."""

_ORIENTATION = 0x0112

_PHOTOMETRIC, _SAMPLE_FORMAT = 262, 339
"""TIFF tags: 0 is white; 1 is unsigned, 2 signed, 3 floating point."""

_HALF = 0.7
"""Below this factor of the sides a picture is halved (or divided by 3, ...); what is left is still more than a mode
looks at."""

_ROWS = 256
"""Rows that are scaled at a time, so that the numbers between take little memory."""

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


def orientation(image: Any) -> int:
    """Read the EXIF orientation (1 when there is none); a broken EXIF part must not cost the picture."""
    with contextlib.suppress(Exception):
        return int(image.getexif().get(_ORIENTATION, 1))
    return 1


def upright(image: Any, turned: int) -> Any:
    """Turn `image`, whose orientation is `turned`, as a viewer shows it."""
    turn = _TURNS.get(turned)
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
    """Wider grey levels as 8 bit.

    They are scaled from the least usual depth that holds them, so that scans of 12 bit in files of 16 are not black;
    where less than half of that is used, from their own largest, so that dark ones are not black either.
    """
    import numpy as np  # noqa: PLC0415 - 0.1 s, for rare files only

    values = np.asarray(image)
    if values.dtype == np.int32 and _tag(image, _SAMPLE_FORMAT, 1 if hasattr(image, "tag_v2") else 2) == 1:
        values = values.view(np.uint32)
    real = values.dtype.kind == "f"
    known = values[np.isfinite(values)] if real else values
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 0.0)
    depths = (1.0, 255.0, 65535.0) if real else (255.0, 1023.0, 4095.0, 16383.0, 65535.0)
    top = next((depth for depth in depths if high <= depth), high)
    if high < top / 2:
        top = high
    bottom = min(low, 0.0)
    factor = 255 / ((top - bottom) or 1.0)
    grey = np.empty(values.shape, np.uint8)
    for row in range(0, len(values), _ROWS):
        part = values[row : row + _ROWS].astype(np.float32)
        if real:
            part = np.nan_to_num(part, nan=top, posinf=top, neginf=bottom)
        grey[row : row + _ROWS] = ((part - bottom) * factor).clip(0, 255)
    # Pillow turns files where white is zero the right way round only for 8 bit.
    return Image.fromarray(255 - grey if _tag(image, _PHOTOMETRIC, 1) == 0 else grey)


def _tag(image: Any, number: int, default: int) -> int:
    value = getattr(image, "tag_v2", {}).get(number, default)
    return int(value[0] if isinstance(value, tuple) else value)


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
    grey = image.convert("L") if image.mode == "1" else image
    if factor < _HALF:
        # Whole steps need next to no memory beside the picture, which may be all that there is.
        return grey.reduce(math.ceil(1 / factor))
    size = max(1, int(image.width * factor)), max(1, int(image.height * factor))
    return grey.resize(size, Image.Resampling.LANCZOS)


def slim(what: str, side: int) -> str:
    """Note that white is put around a page or picture of `side` pixels."""
    return f"The {what} is only {side} pixel{'s' if side != 1 else ''} slim; white was added around it."


def padded(image: Any) -> Any:
    """Put white around `image` up to the least side."""
    size = max(image.width, MIN_SIDE), max(image.height, MIN_SIDE)
    page = Image.new("RGB" if image.mode == "RGB" else "L", size, "white")
    page.paste(image, ((size[0] - image.width) // 2, (size[1] - image.height) // 2))
    return page
