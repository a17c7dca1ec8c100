"""Sources that are in memory: bytes, file objects, PIL images, numpy arrays, matplotlib figures.

Each is frozen into the bytes of a file when it is handed over, so that a later change to it does not change the page.
"""

from __future__ import annotations

import io
import sys
from pathlib import PurePath
from typing import Any

from uocr_nb.errors import SourceError
from uocr_nb.sources.sniff import HEAD, describe, sniff
from uocr_nb.sources.types import Source

__all__ = ["from_memory"]

_HANDED = (
    "Read are paths, patterns, folders, bytes, file objects, PIL images, numpy arrays, matplotlib figures, "
    "and lists of these."
)

_FIGURE_DPI = 165.0
"""Least resolution of a figure: what the default mode can use."""


def from_memory(item: Any) -> Source:
    """Make the source that holds what `item` shows now.

    Raises
    ------
    SourceError
        When `item` is of a kind that is not read, or its content is neither PDF nor picture.
    """
    if isinstance(item, (bytes, bytearray, memoryview)):
        return _from_bytes(bytes(item), "bytes")
    if _is_a(item, "PIL.Image", "Image"):
        return _from_pil(item)
    if _is_a(item, "numpy", "ndarray"):
        return _from_array(item)
    if _is_a(item, "matplotlib.artist", "Artist"):
        return _from_figure(item)
    if callable(getattr(item, "read", None)):
        return _from_stream(item)
    kind = type(item).__name__
    raise SourceError(f"A {kind} is not something that can be read.", _HANDED, "%uocr report.pdf")


def _is_a(item: Any, module: str, name: str) -> bool:
    """Whether `item` is an instance of a class whose module has been imported (else it cannot be)."""
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(item, getattr(loaded, name))


def _from_bytes(data: bytes, name: str) -> Source:
    head = data[:HEAD]
    kind = sniff(head)
    if kind is None:
        raise SourceError(
            f"The {name} handed over cannot be read." if name == "bytes" else f"{name} cannot be read.",
            f"The content is {describe(head)}; PDF and pictures are read.",
            "Hand over the bytes of a PDF or picture file.",
        )
    return Source(name, kind, data=data)


def _from_stream(stream: Any) -> Source:
    name = getattr(stream, "name", None)
    name = PurePath(name).name if isinstance(name, str) and name else "file object"
    try:
        # After writing, a stream stands at its end; the whole content is meant, and the position is given back.
        if stream.seekable():
            before = stream.tell()
            stream.seek(0)
            data = stream.read()
            stream.seek(before)
        else:
            data = stream.read()
    except (OSError, ValueError, AttributeError) as error:
        raise SourceError(f"{name} cannot be read.", f"{error}.", "Open it again, in mode 'rb'.") from error
    if not isinstance(data, (bytes, bytearray)):
        raise SourceError(f"{name} cannot be read.", "It was opened as text.", f"open({name!r}, 'rb')")
    return _from_bytes(bytes(data), name)


def _from_pil(image: Any) -> Source:
    from PIL import ImageOps  # noqa: PLC0415 - heavy, and loaded already by whoever made the image

    name = PurePath(str(getattr(image, "filename", "") or "image")).name
    try:
        # A picture fresh from a file is meant as a viewer shows it. One that was worked on still carries the file's
        # orientation mark, though its pixels may have been turned: it is taken as it is.
        upright = ImageOps.exif_transpose(image) if image.format is not None else image
        data = _encoded(upright)
    except (OSError, ValueError, SyntaxError) as error:
        raise SourceError(f"{name} cannot be read.", f"{error}.", "Load the picture again.") from error
    return Source(name, "image", data=data)


def _encoded(image: Any) -> bytes:
    buffer = io.BytesIO()
    if min(image.size) < 1:
        raise ValueError("The picture has no pixels")
    if image.mode in {"1", "L", "LA", "P", "RGB", "RGBA", "I;16"}:
        image.save(buffer, "PNG", compress_level=1, exif=b"")
    else:
        image.save(buffer, "TIFF", **({"icc_profile": profile} if (profile := image.info.get("icc_profile")) else {}))
    return buffer.getvalue()


def _from_array(array: Any) -> Source:
    import numpy as np  # noqa: PLC0415 - heavy, and loaded already by whoever made the array
    from PIL import Image  # noqa: PLC0415

    shape = array.shape
    values = array[..., 0] if array.ndim == 3 and shape[2] == 1 else array
    if values.ndim not in (2, 3) or 0 in shape or (values.ndim == 3 and shape[2] not in (2, 3, 4)):
        raise SourceError(
            f"An array of shape {shape} is not a picture.",
            "A picture is height x width, or height x width x 3 (RGB) or 4 (RGBA).",
            "%uocr {array[0]}" if array.ndim == 4 else "array.reshape(height, width)",
        )
    if values.dtype == bool:
        eight = values.astype(np.uint8) * 255
    elif values.dtype == np.uint8:
        eight = values
    elif values.dtype.kind == "f":
        eight = _from_floats(np.nan_to_num(values.astype(np.float32)))
    elif values.dtype.kind in "iu":
        eight = _from_integers(values)
    else:
        raise SourceError(f"An array of {values.dtype} is not a picture.", "Numbers are needed.", "array.astype(float)")
    return Source("array", "image", data=_encoded(Image.fromarray(np.ascontiguousarray(eight))))


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
    if low < 0:
        values = values.astype(np.float64) - low
        high -= low
    top = next((top for top in (255, 1023, 4095, 16383, 65535) if high <= top), high)
    return (values.astype(np.float64) * (255 / top)).round().clip(0, 255).astype(np.uint8)


def _from_figure(artist: Any) -> Source:
    figure = artist.get_figure() if artist.get_figure() is not None else artist
    if not callable(getattr(figure, "savefig", None)):
        kind = type(artist).__name__
        raise SourceError(f"A {kind} is not something that can be read.", _HANDED, "%uocr {figure}")
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=max(float(figure.dpi), _FIGURE_DPI))
    return Source("figure", "image", data=buffer.getvalue())
