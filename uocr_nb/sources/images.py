"""Pictures as page images, by Pillow: upright, on white, 8 bit, bounded. Runs in the worker process only."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Any

from PIL import Image, ImageCms, ImageFile, ImageOps, UnidentifiedImageError

from uocr_nb.errors import SourceError
from uocr_nb.sources.encode import ink_share
from uocr_nb.sources.jpeg import stripped
from uocr_nb.sources.pdf import Drawn
from uocr_nb.sources.sizing import bounded
from uocr_nb.sources.sniff import HEAD, is_heic
from uocr_nb.sources.types import MAX_SIDE, PageError

__all__ = ["PictureFile"]

# The bound on pixels is our own (below): it knows what a mode costs, and lets an honest large scan pass.
Image.MAX_IMAGE_PIXELS = None

_MAX_BYTES = 1_300_000_000
"""Decoded pictures larger than this are refused by their header, before anything is decoded."""

_COST = {"1": 2, "L": 1, "P": 5, "I;16": 6, "I": 9, "F": 9, "RGBA": 8, "LA": 12, "PA": 12}
"""Bytes a pixel, with the copy that the conversion to 8 bit makes; 4 for all other modes."""

_PAGED = {"TIFF", "GIF", "WEBP"}
"""Formats whose frames are pages; in others (APNG, MPO, ICO) the first frame is the picture."""

_MIN_SIDE = 32
"""Engines refuse slimmer pictures; white is added to reach it."""

_DAMAGE = (OSError, ValueError, SyntaxError, EOFError, KeyError, IndexError, TypeError, OverflowError)
"""What Pillow raises on broken files, besides errors of its own kind."""

_REDUCED = 254
"""TIFF tag NewSubfileType; its lowest bit marks a thumbnail of another page."""


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
        self.notes: list[str] = []
        with self._open() as image:
            self._format = image.format
            self._refuse_bomb(image)
            self._frames = _frames(image) if image.format in _PAGED else [0]
        self.count = len(self._frames)
        self._paged: Any = None

    def close(self) -> None:
        """Let go of the file."""
        if self._paged is not None:
            self._paged.close()
            self._paged = None

    def draw(self, number: int, *, max_pixels: int) -> Drawn:
        """Frame `number` (from 1) as a viewer shows it.

        Raises
        ------
        PageError
            When there is no such frame or it cannot be decoded.
        """
        if not 1 <= number <= self.count:
            raise PageError(f"{self._name} has no page {number}.", f"It has {self.count}.", f"--pages 1-{self.count}")
        notes: list[str] = []
        image = self._load(number, max_pixels, notes)
        original = self._untouched(image, max_pixels) if not notes else None
        full = image.size
        upright = image if image.format == "TIFF" else ImageOps.exif_transpose(image)
        flat = _within(_flat(upright, notes), max_pixels)
        if flat.size not in (full, full[::-1]) or getattr(image, "size_in_file", full) != full:
            width, height = getattr(image, "size_in_file", full)
            notes.append(
                f"The picture has {width:,} x {height:,} pixels; it was scaled to {flat.width:,} x {flat.height:,}."
            )
        if min(flat.size) < _MIN_SIDE:
            notes.append(f"The picture has only {flat.width:,} x {flat.height:,} pixels; white was added around it.")
            flat = _padded(flat)
        return Drawn(flat, None, notes, quality=95 if self._format in ("JPEG", "MPO") else 92, original=original)

    def _open(self) -> Any:
        try:
            return Image.open(self._path)
        except FileNotFoundError:
            raise
        except (UnidentifiedImageError, *_DAMAGE) as error:
            with self._path.open("rb") as file:
                head = file.read(HEAD)
            if is_heic(head):
                raise _heic(self._name) from error
            why = "Its header is damaged." if isinstance(error, UnidentifiedImageError) else f"{_clean(error)}."
            raise SourceError(
                f"{self._name} cannot be opened as a picture.", why, "Save it again as PNG or JPEG."
            ) from error

    def _refuse_bomb(self, image: Any) -> None:
        width, height = image.size
        pixels = width * height
        if image.format in ("JPEG", "MPO"):
            pixels //= 64  # decoded at an eighth where need be
        if pixels * _COST.get(image.mode, 4) <= _MAX_BYTES:
            return
        raise SourceError(
            f"{self._name} is too large.",
            f"It says that it has {width:,} x {height:,} pixels, more than can be decoded safely.",
            "Cut it into parts, or save it smaller.",
        )

    def _load(self, number: int, max_pixels: int, notes: list[str]) -> Any:
        """The decoded frame; a file that ends early gives what is there."""
        for tolerant in (False, True):
            ImageFile.LOAD_TRUNCATED_IMAGES = tolerant
            try:
                image = self._at(number)
                self._refuse_bomb(image)
                size = image.size
                if image.format in ("JPEG", "MPO"):
                    factor = bounded(*size, max_pixels)
                    if factor < 1:
                        image.draft(None, (int(size[0] * factor), int(size[1] * factor)))
                image.load()
            except MemoryError:
                raise
            except _DAMAGE as error:
                self.close()
                if tolerant:
                    raise PageError(
                        f"Page {number} of {self._name} cannot be decoded.",
                        f"{_clean(error)}.",
                        "Save it again as PNG or JPEG.",
                    ) from error
                continue
            else:
                if tolerant:
                    notes.append("The file is damaged or ends early; the part that could be decoded is shown.")
                if image.size not in (size, size[::-1]):
                    image.size_in_file = size
                return image
            finally:
                ImageFile.LOAD_TRUNCATED_IMAGES = False
        raise AssertionError

    def _at(self, number: int) -> Any:
        """The file, standing at the frame; files of several stay open, so that going on is cheap."""
        if self.count == 1:
            image = self._open()
            image.seek(self._frames[0])
            return image
        if self._paged is None:
            self._paged = self._open()
        self._paged.seek(self._frames[number - 1])
        return self._paged

    def _untouched(self, image: Any, max_pixels: int) -> bytes | None:
        """A JPEG as it came, but for its metadata, when nothing needs to change."""
        if image.format not in ("JPEG", "MPO") or image.mode not in ("L", "RGB"):
            return None
        if image.getexif().get(274, 1) != 1 or hasattr(image, "size_in_file") or min(image.size) < _MIN_SIDE:
            return None
        if bounded(*image.size, max_pixels) < 1:
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


def _flat(image: Any, notes: list[str]) -> Any:
    """`image` in mode 1, L or RGB, 8 bit without clipping, transparency on white."""
    if image.has_transparency_data:
        return _on_paper(image.convert("RGBA"), notes)
    mode = image.mode
    if mode in ("1", "L", "RGB"):
        return image
    if mode.startswith("I") or mode == "F":
        return _eight_bit(image)
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


def _within(image: Any, max_pixels: int) -> Any:
    factor = bounded(*image.size, max_pixels, MAX_SIDE)
    if factor == 1:
        return image
    size = max(1, int(image.width * factor)), max(1, int(image.height * factor))
    grey = image.convert("L") if image.mode == "1" else image
    return grey.resize(size, Image.Resampling.LANCZOS, reducing_gap=2.0)


def _padded(image: Any) -> Any:
    size = max(image.width, _MIN_SIDE), max(image.height, _MIN_SIDE)
    page = Image.new("RGB" if image.mode == "RGB" else "L", size, "white")
    page.paste(image, ((size[0] - image.width) // 2, (size[1] - image.height) // 2))
    return page


def _clean(error: Exception) -> str:
    """One line of what Pillow said, without the path that it may name."""
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    return text.split(" '/")[0].rstrip(".")[:200].capitalize()


def _heic(name: str) -> SourceError:
    try:
        import pillow_heif  # noqa: F401, PLC0415
    except ImportError:
        return SourceError(
            f"{name} is a HEIC picture.",
            "HEIC needs the package pillow-heif, which is not installed.",
            "pip install pillow-heif",
        )
    return SourceError(f"{name} cannot be opened.", "The HEIC file is damaged.", "Export it as JPEG and name that.")
