"""Pictures as page images, by Pillow: upright, on white, 8 bit, bounded. Runs in the worker process only."""

from __future__ import annotations

import contextlib
import importlib
import io
import re
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from PIL import Image, ImageFile, UnidentifiedImageError

from uocr_nb.errors import SourceError
from uocr_nb.sources.jpeg import stripped
from uocr_nb.sources.pdf import Drawn
from uocr_nb.sources.pixels import MIN_SIDE, flat, is_turned, padded, upright, within
from uocr_nb.sources.sizing import bounded
from uocr_nb.sources.sniff import HEAD, is_heic
from uocr_nb.sources.types import PageError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["PictureFile"]

# The bound on pixels is our own (below): it knows what a mode costs, and lets an honest large scan pass.
Image.MAX_IMAGE_PIXELS = None

_MAX_BYTES = 800_000_000
"""Decoded pictures larger than this are refused by their header, before anything is decoded."""

_COST = {"1": 2, "L": 1, "P": 5, "I;16": 6, "I": 9, "F": 9, "RGBA": 8, "LA": 12, "PA": 12}
"""Bytes a pixel, with the copy that the conversion to 8 bit makes; 4 for all other modes."""

_PAGED = {"TIFF", "GIF", "WEBP"}
"""Formats whose frames are pages; in others (APNG, MPO, ICO) the first frame is the picture."""

_DAMAGE = (
    Image.DecompressionBombError,
    struct.error,
    OSError,
    ValueError,
    SyntaxError,
    EOFError,
    KeyError,
    IndexError,
    TypeError,
    OverflowError,
)
"""What Pillow raises on broken files, besides errors of its own kind."""

_JPEGS = ("JPEG", "MPO")

_REDUCED = 254
"""TIFF tag NewSubfileType; its lowest bit marks a thumbnail of another page."""


@dataclass
class _Frame:
    """A decoded frame, and its size as the file gives it (larger, when it was decoded at a part of it)."""

    image: Any
    size: tuple[int, int]
    damaged: bool


class PictureFile:
    """One picture file.

    Raises
    ------
    SourceError
        When it is not a picture that Pillow reads, or a bomb.
    """

    def __init__(self, path: Path, name: str) -> None:
        self._path = path
        self._name = name
        self._paged: Any = None
        self.notes: list[str] = []
        with path.open("rb") as file:
            if is_heic(file.read(HEAD)):
                _teach_heic(name)
        with self._open() as image:
            self._format = image.format
            self._refuse_bomb(image)
            self._frames = _frames(image) if image.format in _PAGED else [0]
        self.count = len(self._frames)

    def close(self) -> None:
        """Let go of the file."""
        if self._paged is not None:
            self._paged.close()
            self._paged = None

    def draw(self, number: int, *, max_pixels: int) -> Drawn:
        """Draw frame `number` (from 1) as a viewer shows it.

        Raises
        ------
        PageError
            When there is no such frame or it cannot be decoded.
        """
        if not 1 <= number <= self.count:
            raise PageError(f"{self._name} has no page {number}.", f"It has {self.count}.", f"--pages 1-{self.count}")
        frame = self._load(number, max_pixels)
        notes = ["The file is damaged or ends early; the part that could be decoded is shown."] if frame.damaged else []
        original = self._untouched(frame, max_pixels)
        image = within(flat(upright(frame.image), notes), max_pixels)
        width, height = frame.size
        if image.size not in (frame.size, frame.size[::-1]):
            notes.append(
                f"The picture has {width:,} x {height:,} pixels; it was scaled to {image.width:,} x {image.height:,}."
            )
        if min(image.size) < MIN_SIDE:
            notes.append(f"The picture is only {min(image.size)} pixels slim; white was added around it.")
            image = padded(image)
        quality = 95 if self._format in _JPEGS else 92
        return Drawn(image, None, notes, quality=quality, original=original, sure=not frame.damaged)

    def _open(self) -> Any:
        try:
            return Image.open(self._path)
        except FileNotFoundError:
            raise
        except _DAMAGE as error:
            why = "Its header is damaged." if isinstance(error, UnidentifiedImageError) else _clean(error)
            raise SourceError(
                f"{self._name} cannot be opened as a picture.", why, "Save it again as PNG or JPEG."
            ) from error

    def _refuse_bomb(self, image: Any) -> None:
        width, height = image.size
        # A JPEG is decoded at an eighth of its size where need be.
        pixels = width * height // (64 if image.format in _JPEGS else 1)
        if pixels * _COST.get(image.mode, 4) > _MAX_BYTES:
            raise SourceError(
                f"{self._name} is too large.",
                f"It says that it has {width:,} x {height:,} pixels, more than can be decoded safely.",
                "Cut it into parts, or save it smaller.",
            )

    def _load(self, number: int, max_pixels: int) -> _Frame:
        """Decode a frame; a file that ends early gives what is there."""
        try:
            return self._decode(number, max_pixels, tolerant=False)
        except _DAMAGE:
            self.close()
        try:
            return self._decode(number, max_pixels, tolerant=True)
        except _DAMAGE as error:
            self.close()
            raise PageError(
                f"Page {number} of {self._name} cannot be decoded.", _clean(error), "Save it again as PNG or JPEG."
            ) from error

    def _decode(self, number: int, max_pixels: int, *, tolerant: bool) -> _Frame:
        ImageFile.LOAD_TRUNCATED_IMAGES = tolerant
        try:
            image = self._at(number)
            self._refuse_bomb(image)
            width, height = image.size
            factor = bounded(width, height, max_pixels)
            if image.format in _JPEGS and factor < 1:
                image.draft(None, (int(width * factor), int(height * factor)))
            image.load()
        finally:
            ImageFile.LOAD_TRUNCATED_IMAGES = False
        return _Frame(image, (width, height), tolerant)

    def _at(self, number: int) -> Any:
        """Stand at a frame; a file of several stays open, so that going on is cheap."""
        if self.count == 1:
            return self._open()
        if self._paged is None:
            self._paged = self._open()
        self._paged.seek(self._frames[number - 1])
        return self._paged

    def _untouched(self, frame: _Frame, max_pixels: int) -> bytes | None:
        """Give back a JPEG as it came, but for its metadata, when nothing needs to change."""
        image = frame.image
        if (
            image.format not in _JPEGS
            or image.mode not in ("L", "RGB")
            or frame.damaged
            or image.size != frame.size
            or min(image.size) < MIN_SIDE
            or bounded(image.width, image.height, max_pixels) < 1
            or is_turned(image)
        ):
            return None
        data = stripped(self._path.read_bytes())
        if data is None:
            return None
        with contextlib.suppress(*_DAMAGE), Image.open(io.BytesIO(data)) as check:
            return data if check.size == image.size and check.mode == image.mode else None
        return None


def _frames(image: Any) -> list[int]:
    """Frames that are pages, thumbnails of pages left out."""
    try:
        count = int(getattr(image, "n_frames", 1))
    except _DAMAGE:
        count = 1
    if image.format != "TIFF" or count == 1:
        return list(range(count))
    pages = []
    for index in range(count):
        try:
            image.seek(index)
        except _DAMAGE:
            break
        if not int(image.tag_v2.get(_REDUCED, 0)) & 1:
            pages.append(index)
    return pages or [0]


def _clean(error: Exception) -> str:
    """Make one sentence of what Pillow said, without the path that it may name."""
    text = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    if "Decompressed data too large" in text:
        return "A text or profile inside it unpacks to more than is safe."
    text = re.sub(r" '.*'$", "", text).rstrip(".")[:200]
    return f"{text[:1].upper()}{text[1:]}."


def _teach_heic(name: str) -> None:
    """Let Pillow read HEIC, by the package that does.

    Raises
    ------
    SourceError
        When it is not installed.
    """
    try:
        plugin = importlib.import_module("pillow_heif")
    except ImportError as error:
        raise SourceError(
            f"{name} is a HEIC picture.",
            "HEIC needs the package pillow-heif, which is not installed.",
            'pip install "uocr_nb[heif]"',
        ) from error
    plugin.register_heif_opener()
