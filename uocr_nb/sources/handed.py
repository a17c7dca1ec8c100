"""Single things in memory as sources: bytes, file objects, PIL images, matplotlib figures, manifests.

Each is frozen into the bytes of a file when it is handed over, so that a later change to it does not change the page.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePath
from typing import Any

from uocr_nb.errors import SourceError
from uocr_nb.sources.arrays import encoded, from_array, pages
from uocr_nb.sources.iiif import is_iiif, looks_like_json
from uocr_nb.sources.sniff import HEAD, describe, sniff
from uocr_nb.sources.types import Source
from uocr_nb.sources.unpack import is_a

__all__ = ["from_memory"]

_HANDED = (
    "Read are paths, patterns, folders, addresses, bytes, file objects, PIL images, numpy arrays, matplotlib figures, "
    "uploads, and lists, columns and dictionaries of these."
)

_FIGURE_DPI = 165.0
"""Least resolution of a figure: what the default mode can use."""

_PAGED = ("TIFF", "GIF", "WEBP")
"""Formats whose frames are pages, also when the file was opened by its owner and stands at the first."""


def from_memory(item: Any, name: str = "") -> Source:
    """Make the source that holds what `item` shows now; `name` is what its owner calls it.

    Raises
    ------
    SourceError
        When `item` is of a kind that is not read, or its content is neither PDF nor picture.
    """
    if isinstance(item, (bytes, bytearray, memoryview)):
        return _from_bytes(bytes(item), name or "bytes")
    for module, kind, make in _KINDS:
        if is_a(item, module, kind):
            return make(item, name)
    if callable(getattr(item, "read", None)):
        return _from_stream(item, name)
    if isinstance(item, Mapping) and is_iiif(item):
        return Source(name or "manifest", "iiif", data=json.dumps(item).encode())
    if callable(getattr(item, "__array__", None)) and not isinstance(item, type):
        return _from_tensor(item, name)
    raise _unknown(item)


def _unknown(item: Any) -> SourceError:
    content = getattr(item, "content", None)
    step = "%uocr {answer.content}" if isinstance(content, bytes) else "%uocr report.pdf"
    return SourceError(f"A {type(item).__name__} is not something that can be read.", _HANDED, step)


def _from_bytes(data: bytes, name: str) -> Source:
    head = data[:HEAD]
    kind = sniff(head)
    if kind is None and looks_like_json(head) and b"iiif.io/api/" in data[: 1 << 18]:
        kind = "iiif"
    if kind is None:
        raise SourceError(
            f"The {name} handed over cannot be read." if name == "bytes" else f"{name} cannot be read.",
            f"The content is {describe(head)}; PDF and pictures are read.",
            "Hand over the bytes of a PDF or picture file.",
        )
    return Source(name, kind, data=data)


def _from_stream(stream: Any, called: str) -> Source:
    name = getattr(stream, "name", None)
    name = called or (PurePath(name).name if isinstance(name, str) and name else "file object")
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


def _from_pil(image: Any, called: str) -> Source:
    from PIL import ImageOps  # noqa: PLC0415 - heavy, and loaded already by whoever made the image

    name = called or PurePath(str(getattr(image, "filename", "") or "image")).name
    try:
        if image.format in _PAGED and getattr(image, "n_frames", 1) > 1 and image.tell() == 0:
            return Source(name, "image", data=pages(ImageOps.exif_transpose(frame) for frame in _frames(image)))
        # A picture fresh from a file is meant as a viewer shows it. One that was worked on still carries the file's
        # orientation mark, though its pixels may have been turned: it is taken as it is.
        upright = ImageOps.exif_transpose(image) if image.format is not None else image
        data = encoded(upright)
    except (OSError, ValueError, SyntaxError, EOFError) as error:
        raise SourceError(f"{name} cannot be read.", f"{error}.", "Load the picture again.") from error
    return Source(name, "image", data=data)


def _frames(image: Any) -> Iterator[Any]:
    try:
        for number in range(image.n_frames):
            image.seek(number)
            yield image.convert("RGBA") if image.mode in ("P", "PA") else image.copy()
    finally:
        image.seek(0)


def _from_tensor(item: Any, called: str) -> Source:
    """Read what can be seen as an array: a tensor, whose colours usually stand first."""
    import numpy as np  # noqa: PLC0415 - heavy

    try:
        array = np.asarray(item.detach().cpu() if is_a(item, "torch", "Tensor") else item)
    except (TypeError, ValueError, RuntimeError) as error:
        raise SourceError(
            f"A {type(item).__name__} cannot be read.", f"{type(error).__name__}: {error}.", "Hand over a numpy array."
        ) from error
    if array.dtype.kind not in "biuf" or array.ndim < 2:
        raise _unknown(item)
    if array.ndim in (3, 4) and array.shape[-3] in (1, 3, 4) and array.shape[-1] not in (1, 2, 3, 4):
        array = np.moveaxis(array, -3, -1)
    return from_array(array, called)


def _from_figure(artist: Any, called: str) -> Source:
    figure = artist.get_figure() if artist.get_figure() is not None else artist
    if not callable(getattr(figure, "savefig", None)):
        kind = type(artist).__name__
        raise SourceError(f"A {kind} is not something that can be read.", _HANDED, "%uocr {figure}")
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=max(float(figure.dpi), _FIGURE_DPI))
    return Source(called or "figure", "image", data=buffer.getvalue())


def _from_display(shown: Any, called: str) -> Source:
    """A picture that a cell shows."""
    if not isinstance(shown.data, bytes):
        raise _unknown(shown)
    return _from_bytes(shown.data, called or PurePath(str(shown.filename or "picture")).name)


_KINDS: tuple[tuple[str, str, Callable[[Any, str], Source]], ...] = (
    ("PIL.Image", "Image", _from_pil),
    ("numpy", "ndarray", from_array),
    ("matplotlib.artist", "Artist", _from_figure),
    ("IPython.core.display", "Image", _from_display),
)
