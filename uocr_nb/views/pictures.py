"""Page pictures and crops, small enough to be stored in a notebook."""

from __future__ import annotations

import base64
import io
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from uocr_nb.errors import UocrError
from uocr_nb.views.labels import FIGURES

if TYPE_CHECKING:
    from PIL.Image import Image

    from uocr_nb.document.model import Page

__all__ = ["CROWDED", "NOTEBOOK", "WHOLE", "Pictures", "Quality", "page_pictures"]


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
_cache: OrderedDict[tuple[int, Quality], tuple[Page, Pictures]] = OrderedDict()
_lock = threading.Lock()


def page_pictures(page: Page, quality: Quality = NOTEBOOK) -> Pictures:
    """Page picture and crops; made once while the page is in use, because a run draws its document again and again."""
    key = (id(page), quality)
    with _lock:
        held = _cache.get(key)
        if held is not None:  # the page itself is held too, so its id cannot have passed to another one
            _cache.move_to_end(key)
            return held[1]
    made = _make(page, quality)
    with _lock:
        if made.page:  # a picture that is not at hand may come back
            _cache[key] = (page, made)
        while len(_cache) > _KEPT:
            _cache.popitem(last=False)
    return made


def _make(page: Page, quality: Quality) -> Pictures:
    width, height = page.size
    ratio = height / width if width > 0 and height > 0 else 1.414
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
        if x2 - x1 < 4 or y2 - y1 < 4:
            continue
        part = image.crop((x1, y1, x2, y2))
        wide = min(quality.crop_width, round(quality.width * part.width / image.width))
        crops[number] = _jpeg(part, max(wide, 24), quality.crop_bytes // len(places))
    return crops


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
        out = io.BytesIO()
        small.save(out, "JPEG", quality=level, optimize=True)
        data = out.getvalue()
        if len(data) <= limit:
            break
    return "data:image/jpeg;base64," + base64.b64encode(data).decode("ascii")
