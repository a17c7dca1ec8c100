"""Page pictures and crops, small enough to be stored in a notebook."""

from __future__ import annotations

import base64
import io
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from uocr_nb.errors import UocrError
from uocr_nb.views.labels import FIGURES

if TYPE_CHECKING:
    from collections.abc import Callable

    from PIL.Image import Image

    from uocr_nb.document.model import Box, Page

__all__ = ["CROWDED", "NOTEBOOK", "VIEW", "WHOLE", "Pictures", "Quality", "live_pictures", "page_pictures", "thumbnail"]


@dataclass(frozen=True)
class Quality:
    """How large pictures may be.

    Attributes
    ----------
    width : int
        Of the page picture in px.
    page_bytes, crop_bytes : int
        Limits of the page picture, and of all crops of a page together, as JPEG.
    crop_width : int
        Of a crop in px.
    """

    width: int
    page_bytes: int
    crop_bytes: int
    crop_width: int


NOTEBOOK = Quality(width=800, page_bytes=72_000, crop_bytes=30_000, crop_width=420)
"""For the stored form: base64 adds a third, and a page may take 200 kB with its text."""

CROWDED = Quality(width=720, page_bytes=42_000, crop_bytes=14_000, crop_width=320)
"""For the stored form of a page with so many blocks that boxes and rows need the room."""

WHOLE = Quality(width=1200, page_bytes=400_000, crop_bytes=300_000, crop_width=640)
"""For a file of its own."""

VIEW = Quality(width=1200, page_bytes=187_000, crop_bytes=120_000, crop_width=640)
"""For a page that is looked at while a kernel runs, and is stored nowhere."""

LIVE = Quality(width=560, page_bytes=52_000, crop_bytes=16_000, crop_width=320)
LIVE_QUALITY = 42
"""For a page that is being read: it is made while the run goes on, and sent again with each update."""

_THUMBNAIL = Quality(width=74, page_bytes=2_600, crop_bytes=0, crop_width=0)

_STEPS = ((1.0, 66), (1.0, 52), (0.8, 54), (0.8, 44), (0.6, 46), (0.45, 42), (0.3, 40))
"""Share of the width and JPEG quality, tried in this order until the limit is kept; resizing costs the most."""


@dataclass(frozen=True)
class Pictures:
    """Pictures of a page as data URIs.

    Attributes
    ----------
    page : str
        The page picture; empty when it is not at hand.
    ratio : float
        Height by width.
    crops : dict
        Number of a figure block (from 1) -> picture.
    reason : str
        Why there is no page picture.
    """

    page: str
    ratio: float
    crops: dict[int, str]
    reason: str = ""


_KEPT = 24
_KEPT_LIVE = 4  # with their pixels, about 2 MB each
_KEPT_THUMBNAILS = 64

Key = tuple[Any, ...]
Value = TypeVar("Value")


class _Kept(Generic[Value]):
    """The pictures made last, by page picture (not by page: one that is being read is a new one at each update)."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: OrderedDict[Key, tuple[Page, Value]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, page: Page, more: Key, make: Callable[[], Value], keep: Callable[[Value], bool] = bool) -> Value:
        # The page is held where its id is the key, so that its id cannot pass to another one.
        key = (page.sha256 or id(page), *more)
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                return self._held[key][1]
        made = make()
        with self._lock:
            if keep(made):  # a picture that is not at hand may come back
                self._held[key] = (page, made)
            while len(self._held) > self._most:
                self._held.popitem(last=False)
        return made


@dataclass
class _Live:
    """The picture of a page that is being read, with its pixels for the crops to come."""

    page: str
    image: Image
    crops: dict[Box, str]


_pages: _Kept[Pictures] = _Kept(_KEPT)
_live: _Kept[_Live | None] = _Kept(_KEPT_LIVE)
_thumbnails: _Kept[str] = _Kept(_KEPT_THUMBNAILS)


def page_pictures(page: Page, quality: Quality = NOTEBOOK) -> Pictures:
    """Page picture and crops; made once for a page picture and the figures on it."""
    figures = tuple((n, block.box) for n, block in enumerate(page.blocks) if block.label in FIGURES)
    return _pages.get(page, (quality, figures), lambda: _make(page, quality), lambda made: bool(made.page))


def live_pictures(page: Page) -> Pictures:
    """Page picture and crops of a page that is being read; each is encoded once, however often it is drawn."""
    ratio = _ratio(page)
    live = _live.get(page, (), lambda: _make_live(page))
    if live is None:
        return Pictures("", ratio, {}, "The page picture is not at hand.")
    crops = {}
    for number, block in enumerate(page.blocks, 1):
        pixels = block.pixels(live.image.size) if block.label in FIGURES else None
        if block.box is None or pixels is None or not _worth_a_crop(pixels):
            continue
        if block.box not in live.crops:
            part = live.image.crop(pixels)
            live.crops[block.box] = _jpeg(part, min(part.width, LIVE.crop_width), LIVE.crop_bytes)
        crops[number] = live.crops[block.box]
    return Pictures(live.page, ratio, crops)


def thumbnail(page: Page) -> str:
    """A picture of 74 px across as a data URI; empty where no picture is at hand (it is not worth rendering one)."""

    def make() -> str:
        image = _from_file(page, _THUMBNAIL.width)
        return _jpeg(image, _THUMBNAIL.width, _THUMBNAIL.page_bytes) if image is not None else ""

    return _thumbnails.get(page, (), make)


def _make_live(page: Page) -> _Live | None:
    image = _from_file(page, LIVE.width)
    if image is None:
        return None
    # A picture half as large again is not worth the time of making it smaller.
    small = image if image.width <= 1.5 * LIVE.width else _smaller(image, LIVE.width)
    data = _encoded(small, LIVE_QUALITY)
    if len(data) > LIVE.page_bytes:
        data = _encoded(_smaller(small, LIVE.width * 2 // 3), LIVE_QUALITY)
    return _Live(_uri(data), small, {})


def _smaller(image: Image, width: int) -> Image:
    from PIL import Image as Images  # noqa: PLC0415 - heavy

    width = min(image.width, width)
    return image.resize((width, max(1, round(image.height * width / image.width))), Images.Resampling.HAMMING)


def _encoded(image: Image, quality: int, *, optimize: bool = False) -> bytes:
    out = io.BytesIO()
    image.save(out, "JPEG", quality=quality, optimize=optimize)
    return out.getvalue()


def _uri(data: bytes) -> str:
    return "data:image/jpeg;base64," + base64.b64encode(data).decode("ascii")


def _from_file(page: Page, width: int) -> Image | None:
    """The page picture at no less than `width` px across, decoded no larger than that needs."""
    from PIL import Image as Images  # noqa: PLC0415 - heavy

    if page.image_file is None:
        return None
    try:
        with Images.open(page.image_file) as opened:
            opened.draft("RGB", (width, max(1, round(width * opened.height / opened.width))))
            return opened.convert("RGB")
    except (OSError, ValueError):
        return None


def _ratio(page: Page) -> float:
    width, height = page.size
    return height / width if width > 0 and height > 0 else 1.414  # a sheet of A4


def _make(page: Page, quality: Quality) -> Pictures:
    ratio = _ratio(page)
    if not page.sha256 and page.image_file is None and page.origin is None:
        return Pictures("", ratio, {}, "The page picture is not part of this document.")
    try:
        image = page.image
        # Decoding happens here, so a file that has been cut short since shows itself here too.
        image = image if image.mode == "RGB" else image.convert("RGB")
        image.load()
    except (UocrError, OSError) as error:
        return Pictures("", ratio, {}, getattr(error, "what", "") or "The page picture cannot be read.")
    ratio = image.height / image.width
    return Pictures(_jpeg(image, quality.width, quality.page_bytes), ratio, _crops(page, image, quality))


def _crops(page: Page, image: Image, quality: Quality) -> dict[int, str]:
    crops: dict[int, str] = {}
    places = [
        (number, pixels)
        for number, block in enumerate(page.blocks, 1)
        if block.label in FIGURES and (pixels := block.pixels(image.size)) is not None
    ]
    for number, (x1, y1, x2, y2) in places:
        if not _worth_a_crop((x1, y1, x2, y2)):
            continue
        part = image.crop((x1, y1, x2, y2))
        wide = min(quality.crop_width, round(quality.width * part.width / image.width))
        crops[number] = _jpeg(part, max(wide, 24), quality.crop_bytes // len(places))
    return crops


def _worth_a_crop(pixels: Box) -> bool:
    return pixels[2] - pixels[0] >= 4 and pixels[3] - pixels[1] >= 4


def _jpeg(image: Image, width: int, limit: int) -> str:
    from PIL import Image as Images  # noqa: PLC0415 - heavy

    width = min(image.width, max(16, width))
    tall = min(max(1, round(image.height * width / image.width)), 4 * width)
    largest = small = image if image.size == (width, tall) else image.resize((width, tall), Images.Resampling.HAMMING)
    data = b""
    for share, level in _STEPS:
        size = (max(1, round(width * share)), max(1, round(tall * share)))
        if small.size != size:
            small = largest.resize(size, Images.Resampling.HAMMING)
        data = _encoded(small, level, optimize=True)
        if len(data) <= limit:
            break
    return _uri(data)
