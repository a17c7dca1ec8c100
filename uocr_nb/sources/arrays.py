"""Arrays of numbers as pictures: grey and colours, any depth, one page or several."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from uocr_nb.errors import SourceError
from uocr_nb.sources.types import Source

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["encoded", "from_array", "pages"]


def encoded(image: Any) -> bytes:
    """A PIL image as a file that loses nothing."""
    buffer = io.BytesIO()
    if min(image.size) < 1:
        raise ValueError("The picture has no pixels")
    if image.mode in {"1", "L", "LA", "P", "RGB", "RGBA", "I;16"}:
        image.save(buffer, "PNG", compress_level=1, exif=b"")
    else:
        image.save(buffer, "TIFF", **({"icc_profile": profile} if (profile := image.info.get("icc_profile")) else {}))
    return buffer.getvalue()


def pages(images: Iterable[Any]) -> bytes:
    """PIL images as one file of several pages."""
    buffer = io.BytesIO()
    first, *others = images
    first.save(buffer, "TIFF", save_all=True, append_images=others, compression="tiff_adobe_deflate", exif=b"")
    return buffer.getvalue()


def from_array(array: Any, called: str = "") -> Source:
    """Make the source of a numpy array: height x width, with colours behind, and the number of pages before.

    Raises
    ------
    SourceError
        When it has another shape or holds no numbers.
    """
    from PIL import Image  # noqa: PLC0415 - heavy

    name = called or "array"
    shape = array.shape
    colours = array.ndim in (3, 4) and shape[-1] in (1, 2, 3, 4)
    if 0 in shape or array.ndim not in (2, 3, 4) or (array.ndim == 4 and not colours):
        raise _no_picture(shape)
    if array.ndim == 3 and not colours and shape[0] in (1, 3, 4):
        raise _no_picture(shape, "array.transpose(1, 2, 0)      (or list(array), for pages in grey)")
    several = array.ndim == 4 or (array.ndim == 3 and not colours)
    found = [Image.fromarray(_eight_bit(page)) for page in (array if several else [array])]
    return Source(name, "image", data=encoded(found[0]) if len(found) == 1 else pages(found))


def _no_picture(shape: tuple[int, ...], step: str = "array.reshape(height, width)") -> SourceError:
    return SourceError(
        f"An array of shape {shape} is not a picture.",
        "A picture is height x width, or height x width x 3 (RGB) or 4 (RGBA); several have their number before that.",
        step,
    )


def _eight_bit(page: Any) -> Any:
    """The values of one picture as 8 bit numbers, without clipping."""
    import numpy as np  # noqa: PLC0415 - heavy, and loaded already by whoever made the array

    values = page[..., 0] if page.ndim == 3 and page.shape[2] == 1 else page
    if values.dtype == bool:
        eight = values.astype(np.uint8) * 255
    elif values.dtype.kind == "f":
        eight = _from_floats(np.nan_to_num(values.astype(np.float32)))
    elif values.dtype.kind in "iu":
        eight = _from_integers(values)
    else:
        raise SourceError(f"An array of {values.dtype} is not a picture.", "Numbers are needed.", "array.astype(float)")
    return np.ascontiguousarray(eight)


def _from_floats(values: Any) -> Any:
    """8 bit from 0..1 where they keep to it (a little over is rounding), else from 0..255 or their own range."""
    low, high = float(values.min()), float(values.max())
    if low >= -0.01 and high <= 1.01:
        scaled = values * 255
    elif low >= 0 and high <= 255:
        scaled = values
    else:
        scaled = (values - low) / (high - low or 1) * 255
    return scaled.clip(0, 255).round().astype("uint8")


def _from_integers(values: Any) -> Any:
    """8 bit from wider integers: scaled from the least depth (8, 10, 12, 14, 16 bit) that holds the largest value."""
    import numpy as np  # noqa: PLC0415

    low, high = int(values.min()), int(values.max())
    if low >= 0 and high <= 1:  # black and white, as 0 and 1
        return (values * 255).astype(np.uint8)
    if values.dtype == np.uint8:
        return values
    if low < 0:
        values = values.astype(np.float64) - low
        high -= low
    top = next((top for top in (255, 1023, 4095, 16383, 65535) if high <= top), high)
    return (values.astype(np.float64) * (255 / top)).round().clip(0, 255).astype(np.uint8)
