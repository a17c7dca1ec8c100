"""Pictures out of data: URLs, with caps on bytes and pixels."""

from __future__ import annotations

import base64
import binascii
import io
import re
import warnings
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_to_bytes

import numpy as np

from uocr_nb.local_server.faults import Fault

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Image = NDArray[np.uint8]

__all__ = ["MAX_BYTES", "data_of", "decode"]

MAX_BYTES = 64 * 1024 * 1024
"""Largest encoded picture, and largest request body."""
MAX_PIXELS = 120_000_000
LOW_PIXELS = 40_000_000
"""Caps on the decoded size: an A3 page at 600 dpi has 70 million."""
WORK_SIDE = 3508
LOW_SIDE = 2400
"""Long side in pixels of the working copy: A4 at 300 dpi, where lines are taller than the recogniser needs."""
LEAST_SIDE = 8
_FORMATS = ("PNG", "JPEG", "WEBP", "TIFF", "BMP", "GIF", "PPM")
_DATA = re.compile(r"data:(?P<mime>[\w.+/-]*)(?P<options>(?:;[\w.+=/-]+)*),(?P<data>.*)", re.DOTALL | re.IGNORECASE)


def data_of(url: object) -> bytes:
    """The bytes in a ``data:`` URL.

    Raises
    ------
    Fault
        400 for another kind of URL or broken base64, 413 when it is too large.
    """
    match = _DATA.fullmatch(url.strip()) if isinstance(url, str) else None
    if match is None:
        raise Fault(400, "Only data: URLs with an image in base64 are accepted here.", param="image_url")
    data = match["data"]
    if len(data) > MAX_BYTES * 4 // 3 + 4:
        raise Fault(413, f"The image is larger than {MAX_BYTES // 2**20} MiB.", param="image_url")
    if not match["options"].lower().endswith(";base64"):
        return unquote_to_bytes(data)
    try:
        return base64.b64decode(re.sub(r"\s+", "", unquote_to_bytes(data).decode("ascii")), validate=True)
    except (binascii.Error, ValueError) as error:
        raise Fault(400, "Failed to load image: the base64 data is damaged.", param="image_url") from error


def decode(data: bytes, *, low_memory: bool = False) -> Image:
    """The picture as BGR pixels, upright by its EXIF note, on white, no larger than the working size.

    Raises
    ------
    Fault
        400 when it is not a picture that can be read, 413 when it has too many pixels.
    """
    from PIL import Image as Pictures  # noqa: PLC0415 - heavy

    limit = LOW_PIXELS if low_memory else MAX_PIXELS
    too_large = Fault(413, f"The image has more than {limit // 1_000_000} million pixels.", param="image_url")
    try:
        with warnings.catch_warnings(), Pictures.open(io.BytesIO(data), formats=_FORMATS) as picture:
            warnings.simplefilter("ignore")
            small = picture.width * picture.height <= limit
            pixels = _pixels(picture, LOW_SIDE if low_memory else WORK_SIDE) if small else None
    except Pictures.DecompressionBombError as error:
        raise too_large from error
    except Exception as error:
        # Decoders fail in many ways on damaged files; each means the same to the client.
        # Their own words are not passed on: they name addresses in memory and inner parts.
        raise Fault(400, "Failed to load image: cannot identify or decode it.", param="image_url") from error
    if pixels is None:
        raise too_large
    return pixels


def _pixels(picture: Any, side: int) -> Image:
    from PIL import Image as Pictures  # noqa: PLC0415
    from PIL import ImageOps  # noqa: PLC0415

    scale = min(1.0, side / max(picture.size))
    if scale < 1:
        # A strip of a thousand to one must keep some pixels of height.
        scale = max(scale, min(1.0, LEAST_SIDE / min(picture.size)))
        picture.draft("RGB", tuple(max(1, round(v * scale)) for v in picture.size))
    picture = _on_white(ImageOps.exif_transpose(picture))
    if scale < 1 and max(picture.size) > side:
        scale = max(side / max(picture.size), min(1.0, LEAST_SIDE / min(picture.size)))
        size = tuple(max(1, round(v * scale)) for v in picture.size)
        picture = picture.resize(size, Pictures.Resampling.BOX if scale < 0.5 else Pictures.Resampling.LANCZOS)
    pixels = np.asarray(picture)[:, :, ::-1]
    if min(picture.size) < LEAST_SIDE:
        repeat = -(-LEAST_SIDE // min(picture.size))
        pixels = pixels.repeat(repeat, axis=0).repeat(repeat, axis=1) if max(picture.size) < side // repeat else pixels
    return np.ascontiguousarray(pixels)


def _on_white(picture: Any) -> Any:
    """RGB; transparent parts become white, 16-bit greys are scaled down."""
    from PIL import Image as Pictures  # noqa: PLC0415

    if picture.mode.startswith("I"):
        values = np.asarray(picture).astype(np.float64)
        top = max(255.0, 65535.0 if values.max() > 255 else 255.0)
        return Pictures.fromarray((np.clip(values, 0, top) / top * 255).astype(np.uint8)).convert("RGB")
    if picture.mode in ("RGBA", "LA", "PA", "RGBa", "La") or "transparency" in picture.info:
        picture = picture.convert("RGBA")
        ground = Pictures.new("RGB", picture.size, "white")
        ground.paste(picture, mask=picture.getchannel("A"))
        return ground
    return picture.convert("RGB")
