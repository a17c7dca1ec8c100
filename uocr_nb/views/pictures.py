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

__all__ = ["STORED", "VIEW", "WHOLE", "Pictures", "Quality", "live_pictures", "page_pictures", "thumbnail"]


@dataclass(frozen=True)
class Quality:
    """How large pictures may be.

    Attributes
    ----------
    width : int
        Of the page picture in px.
    page_bytes, crop_bytes : int
        Limits of the page picture, and of all crops of a page together, before base64.
    crop_width : int
        Of a crop in px.
    form : str
        JPEG or WEBP, as Pillow names them.
    """

    width: int
    page_bytes: int
    crop_bytes: int
    crop_width: int
    form: str = "JPEG"


STORED = (
    Quality(width=800, page_bytes=78_000, crop_bytes=27_000, crop_width=420, form="WEBP"),
    Quality(width=800, page_bytes=60_000, crop_bytes=21_000, crop_width=380, form="WEBP"),
    Quality(width=800, page_bytes=45_000, crop_bytes=14_000, crop_width=320, form="WEBP"),
    Quality(width=720, page_bytes=32_000, crop_bytes=9_000, crop_width=280, form="WEBP"),
    Quality(width=640, page_bytes=20_000, crop_bytes=6_000, crop_width=240, form="WEBP"),
    Quality(width=560, page_bytes=14_000, crop_bytes=4_000, crop_width=200, form="WEBP"),
)
"""For the stored form, the best one first: base64 adds a third, and a page may take 200 kB with its text and a share of
the script. WebP is sharper than JPEG of the same size on text, but takes five times as long to make."""

WHOLE = Quality(width=1200, page_bytes=400_000, crop_bytes=300_000, crop_width=640)
"""For a file of its own."""

VIEW = Quality(width=1200, page_bytes=220_000, crop_bytes=60_000, crop_width=640)
"""For a page that is looked at while a kernel runs, and is stored nowhere: somebody waits for it."""

LIVE = Quality(width=560, page_bytes=52_000, crop_bytes=16_000, crop_width=320)
LIVE_QUALITY = 42
"""For a page that is being read: it is made while the run goes on, and sent again with each update."""

_THUMBNAIL = Quality(width=74, page_bytes=2_600, crop_bytes=0, crop_width=0)

_STEPS = {
    "JPEG": (
        *((1.0, 66, 1.0), (1.0, 52, 0.9), (0.8, 54, 0.8), (0.8, 44, 0.7)),
        *((0.6, 46, 0.45), (0.45, 42, 0.25), (0.3, 40, 0.1)),
    ),
    "WEBP": ((1.0, 42, 1.0), (0.9, 32, 0.75), (0.8, 28, 0.6), (0.7, 26, 0.48), (0.5, 26, 0.27), (0.35, 26, 0.13)),
}
"""Share of the width, quality, and about the share of the bytes that it takes of the first one. They are tried in this
order until the limit is kept; those that cannot keep it are passed over, because a trial takes 5 to 30 ms."""


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


def page_pictures(page: Page, quality: Quality = STORED[0]) -> Pictures:
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
            live.crops[block.box] = _fitted(part, min(part.width, LIVE.crop_width), LIVE.crop_bytes)
        crops[number] = live.crops[block.box]
    return Pictures(live.page, ratio, crops)


def thumbnail(page: Page) -> str:
    """A picture of 74 px across as a data URI; empty where no picture is at hand (it is not worth rendering one)."""

    def make() -> str:
        image = _from_file(page, _THUMBNAIL.width)
        return _fitted(image, _THUMBNAIL.width, _THUMBNAIL.page_bytes) if image is not None else ""

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


def _encoded(image: Image, quality: int, form: str = "JPEG", *, optimize: bool = False) -> bytes:
    out = io.BytesIO()
    options = {"method": 2} if form == "WEBP" else {"optimize": optimize}
    image.save(out, form, quality=quality, **options)
    return out.getvalue()


def _uri(data: bytes, form: str = "JPEG") -> str:
    return f"data:image/{form.lower()};base64,{base64.b64encode(data).decode('ascii')}"


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
    return Pictures(
        _fitted(image, quality.width, quality.page_bytes, quality.form), ratio, _crops(page, image, quality)
    )


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
        crops[number] = _fitted(part, max(wide, 24), quality.crop_bytes // len(places), quality.form)
    return crops


def _worth_a_crop(pixels: Box) -> bool:
    return pixels[2] - pixels[0] >= 4 and pixels[3] - pixels[1] >= 4


def _fitted(image: Image, width: int, limit: int, form: str = "JPEG") -> str:
    """`image` at `width` px across or less, and in `limit` bytes, as a data URI."""
    from PIL import Image as Images  # noqa: PLC0415 - heavy

    width = min(image.width, max(16, width))
    tall = min(max(1, round(image.height * width / image.width)), 4 * width)
    largest = small = image if image.size == (width, tall) else image.resize((width, tall), Images.Resampling.HAMMING)
    data, first = b"", 0
    steps = _STEPS[form]
    for share, level, bytes_share in steps:
        if first * bytes_share * 0.85 > limit and (share, level, bytes_share) != steps[-1]:
            continue
        size = (max(1, round(width * share)), max(1, round(tall * share)))
        if small.size != size:
            small = largest.resize(size, Images.Resampling.HAMMING)
        data = _encoded(small, level, form, optimize=True)
        first = first or len(data)
        if len(data) <= limit:
            break
    return _uri(data, form)
