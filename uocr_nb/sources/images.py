"""Pictures as page images, by Pillow: upright, on white, 8 bit, bounded. Runs in the worker process only."""

from __future__ import annotations

import contextlib
import importlib
import io
import math
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from PIL import Image, ImageFile

from uocr_nb.errors import SourceError
from uocr_nb.sources.jpeg import stripped
from uocr_nb.sources.pdf import Drawn
from uocr_nb.sources.pixels import MIN_SIDE, flat, orientation, padded, slim, upright, within
from uocr_nb.sources.sizing import bounded
from uocr_nb.sources.sniff import HEAD, is_heic, variant
from uocr_nb.sources.types import MAX_PIXELS, PageError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["PictureFile"]

# The bound on pixels is our own (below): it knows what a mode costs, and lets an honest large scan pass.
Image.MAX_IMAGE_PIXELS = None

_MAX_BYTES = 680_000_000
"""Decoded pictures larger than this are refused by their header, before anything is decoded."""

_COST = {"1": 2, "L": 1, "P": 5, "I;16": 5, "I;16B": 5, "I": 9, "F": 9, "RGBA": 8, "LA": 12, "PA": 12}
"""Bytes a pixel, with the copy that the conversion to 8 bit makes; 4 for all other modes."""

_HEAVY = {"HEIF": 10, "AVIF": 10, "JPEG2000": 16}
"""Bytes a pixel where the decoder holds more than the picture."""

_LARGEST_JPEG = 1_000_000_000
"""Pixels of a JPEG, which is decoded at an eighth of its size where need be: more take longer than a page may."""

_PAGED = {"TIFF", "GIF", "WEBP", "HEIF"}
"""Formats whose frames are pages."""

_FILMS = {"PNG", "AVIF"}
"""Formats whose further frames are the steps of an animation: the first is the picture, and a note says so. (Those of
MPO and ICO are the same picture again.)"""

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
    ArithmeticError,
    AttributeError,
    RuntimeError,
)
"""What Pillow raises on broken files, besides errors of its own kind."""

_PROGRESSIVE = 3
"""Bytes a pixel that the decoder of a progressive JPEG holds."""

_META = 1 << 18
"""Bytes at the start of a HEIC file among which its properties stand."""

_JPEGS = ("JPEG", "MPO")

_SUBFILE, _OLD_SUBFILE = 254, 255
"""TIFF tags that tell thumbnails (bit 1) and transparency masks (bit 4) from pages, and in old files (2) thumbnails."""

_SQUARES = 32
"""No mode of the model looks at more squares in a row, so that the text of slimmer strips is crushed."""


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
        self._heic = False
        with path.open("rb") as file:
            head = file.read(_META)
            if is_heic(head[:HEAD]):
                _teach_heic(name)
                # The turns that a HEIC file tells are done by its decoder; without any, what EXIF says is meant.
                self._heic = not (b"irot" in head or b"imir" in head)
        with self._open() as image:
            self._format = image.format
            self._refuse_bomb(image)
            self._frames = _frames(image) if image.format in _PAGED else [0]
            if image.format in _FILMS and (count := int(getattr(image, "n_frames", 1))) > 1:
                self.notes.append(f"The picture moves: the first of its {count:,} frames is read.")
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
        # Scaled before it is turned: turning takes as much memory as the picture.
        image = upright(within(flat(frame.image, notes), max_pixels), self._orientation(frame.image))
        if frame.damaged and _is_flat(image):
            raise PageError(
                f"Page {number} of {self._name} cannot be decoded.",
                "The file is damaged or cut off, and nothing of the picture is left.",
                "Copy or download it again.",
            )
        width, height = frame.size
        if image.size not in (frame.size, frame.size[::-1]):
            notes.append(
                f"The picture has {width:,} x {height:,} pixels; it was scaled to {image.width:,} x {image.height:,}."
            )
        if max(image.size) > _SQUARES * min(image.size) and max(image.size) > _SQUARES * MIN_SIDE:
            times = round(max(frame.size) / min(frame.size))
            notes.append(
                f"The picture is {times:,} times as long as it is slim, more than the model takes in; "
                f"cut it into parts if its text is not read."
            )
        if min(image.size) < MIN_SIDE:
            notes.append(slim("picture", min(image.size)))
            image = padded(image)
        quality = 95 if self._format in _JPEGS else 92
        return Drawn(image, None, notes, quality=quality, original=original, sure=not frame.damaged)

    def _orientation(self, image: Any) -> int:
        return int(image.info.get("original_orientation") or 1) if self._heic else orientation(image)

    def _open(self) -> Any:
        try:
            return Image.open(self._path)
        except FileNotFoundError:
            raise
        except _DAMAGE as error:
            raise SourceError(
                f"{self._name} cannot be opened as a picture.", self._why(error), "Save it again as PNG or JPEG."
            ) from error

    def _why(self, error: Exception) -> str:
        if "Decompressed data too large" in str(error):
            return "A text or profile inside it unpacks to more than is safe."
        size = self._path.stat().st_size
        with self._path.open("rb") as file:
            what = variant(file.read(HEAD))
        return f"It is damaged or cut off ({size:,} bytes){f', or {what}' if what else ''}."

    def _refuse_bomb(self, image: Any) -> None:
        width, height = image.size
        pixels = width * height
        cost: float = max(_COST.get(image.mode, 4), _HEAVY.get(image.format, 0))
        if image.format == "JPEG2000":
            pixels >>= 2 * _halvings(image, MAX_PIXELS)
        elif image.format in _JPEGS:
            # Decoded at an eighth of its size where need be; a progressive one is held whole all the same.
            cost = max(_PROGRESSIVE if "progressive" in image.info else 0, cost / 64)
        if pixels * cost > _MAX_BYTES or (image.format in _JPEGS and pixels > _LARGEST_JPEG):
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
                f"Page {number} of {self._name} cannot be decoded.", self._why(error), "Save it again as PNG or JPEG."
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
            elif image.format == "JPEG2000":
                image.reduce = _halvings(image, max_pixels)
            image.load()
            if image.format == "JPEG2000":
                image.reduce = 0  # gives the method of this name back
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
            or self._orientation(image) != 1
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
        if not int(image.tag_v2.get(_SUBFILE, 0)) & 5 and int(image.tag_v2.get(_OLD_SUBFILE, 1)) != 2:
            pages.append(index)
    return pages or [0]


def _halvings(image: Any, max_pixels: int) -> int:
    """How often a JPEG 2000 picture is halved as it is decoded, to keep within `max_pixels`."""
    factor = bounded(image.width, image.height, max_pixels)
    return min(5, math.ceil(math.log2(1 / factor)))


def _is_flat(image: Any) -> bool:
    levels = image.getextrema()
    return all(low == high for low, high in (levels if isinstance(levels[0], tuple) else (levels,)))


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
