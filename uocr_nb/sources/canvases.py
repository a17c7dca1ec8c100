"""Pictures of a IIIF manifest, fetched one by one as their pages are rendered, in the size that the mode can use."""

from __future__ import annotations

import json
import re
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from uocr_nb.errors import SourceError
from uocr_nb.sources.iiif_image import as_info
from uocr_nb.sources.iiif_request import Tiles, requests_for, target
from uocr_nb.sources.sniff import describe, sniff
from uocr_nb.support.fetch import FetchError, Limits, fetch, host_of, with_user

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from uocr_nb.sources.iiif import Book, Canvas
    from uocr_nb.sources.iiif_image import Info, Service
    from uocr_nb.sources.types import RenderSpec, Source

__all__ = ["Canvases", "Entry", "Local", "Place", "as_json", "base_of", "is_page"]

_PICTURE = "image/jpeg, image/png;q=0.9, image/*;q=0.8, */*;q=0.1"
_JSON = "application/ld+json, application/json, */*;q=0.1"

_PAGE = Limits(size=200 << 20, seconds=180.0)
_INFO = Limits(size=5 << 20, seconds=60.0)

_KEPT = 32
"""Fetched pictures that are kept for rendering their page again."""

_FRESH = 600.0
"""Seconds for which a download serves another run."""

_UNKNOWN = 1_000_000

_ROOM = 1.4
"""A picture may have so many times the wanted size before it is made smaller: what servers offer is seldom exact."""


@dataclass(frozen=True)
class Local:
    """A page as the worker can draw it: which file, which of its pages, how, and what the page is called."""

    source: Source
    number: int
    spec: RenderSpec
    name: str = ""
    notes: tuple[str, ...] = ()


@dataclass
class Entry:
    """What is known of one source, and the lock that keeps two threads from fetching it at once."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    local: Source | None = None
    book: Book | None = None
    infos: dict[str, Info | None] = field(default_factory=dict)
    pictures: OrderedDict[tuple[Any, ...], Path] = field(default_factory=OrderedDict)
    since: float = field(default_factory=time.monotonic)

    def forget_old(self) -> None:
        """Forget what was fetched some time ago: who asks again wants to see what is there now."""
        if time.monotonic() - self.since > _FRESH:
            # Files stay, since another run may be reading them.
            self.local = self.book = None
            self.infos.clear()
            self.pictures.clear()
            self.since = time.monotonic()


@dataclass(frozen=True)
class Place:
    """Where downloads are kept, and how tiles (file, left, top) are put together to a picture of a size, in a file."""

    folder: Callable[[], Path]
    join: Callable[[list[tuple[Path, int, int]], tuple[int, int], Path], None]


class Canvases:
    """Fetches the pictures of one book; its entry is locked meanwhile."""

    def __init__(
        self, place: Place, source: Source, entry: Entry, spec: RenderSpec, stop: threading.Event | None
    ) -> None:
        self._place = place
        self._source = source
        self._entry = entry
        self._spec = spec
        self._stop = stop

    def page(self, canvas: Canvas) -> Local:
        """Fetch the picture of a canvas in a size of use, or find it here."""
        info = canvas.info or (self.info(canvas.service) if canvas.service is not None else None)
        spec = self._spec
        # A picture of unknown size is taken for a square: it has more room than a page needs, and still a bound.
        size = (info.width, info.height) if info is not None else (_UNKNOWN, _UNKNOWN)
        width, height = target(*size, spec, spread=canvas.spread)
        spec = replace(spec, max_pixels=min(spec.max_pixels, int(width * height * _ROOM * _ROOM)))
        key = (canvas.address, canvas.service, canvas.region, self._spec)
        file = self._entry.pictures.get(key)
        notes = canvas.notes
        if file is None or not file.is_file():
            file, more = self._picture(canvas, info)
            notes = (*notes, *more)
            self._keep(key, file)
        source = replace(self._source, kind="image", path=file, url=None, data=None)
        return Local(source, 1, spec, canvas.label, notes)

    def info(self, service: Service) -> Info | None:
        """What a server says of a picture; None when it does not."""
        known = self._entry.infos
        if service.base not in known:
            try:
                fetched = self._get(f"{service.base}/info.json", _JSON, _INFO)
            except FetchError as error:
                if error.status in (401, 403) or error.status is None or error.again:
                    raise
                known[service.base] = None
            else:
                try:
                    text = fetched[0].read_bytes()
                finally:
                    fetched[0].unlink(missing_ok=True)
                known[service.base] = as_info(as_json(text), base_of(fetched[1]) or service.base)
        return known[service.base]

    def _picture(self, canvas: Canvas, info: Info | None) -> tuple[Path, tuple[str, ...]]:
        plans: list[str | Tiles] = []
        notes: tuple[str, ...] = ()
        if info is not None:
            plans = requests_for(info, self._spec, canvas.region, spread=canvas.spread)
            if not plans or canvas.region == "square":
                plans = requests_for(info, self._spec, spread=canvas.spread)
                notes = ("The whole picture is shown, though the manifest means a part of it.",)
        elif canvas.service is not None:
            quality = "native" if canvas.service.version < 2 else "default"
            sizes = ("max", "full") if canvas.service.version >= 3 else ("full", "max")
            plans = [f"{canvas.service.base}/{canvas.region}/{size}/0/{quality}.jpg" for size in sizes]
        if canvas.address:
            plans.append(canvas.address)
        refused: FetchError | None = None
        for plan in plans:
            try:
                return (self._whole(plan) if isinstance(plan, str) else self._tiled(plan)), notes
            except FetchError as error:
                if error.status not in _OTHER_WAY:
                    raise
                refused = refused or error
        raise refused or SourceError("", "Its manifest names no picture that can be fetched.", "Try again later.")

    def _whole(self, address: str) -> Path:
        return self._get(address, _PICTURE, _PAGE, lambda head: _picture_only(head, address))[0]

    def _tiled(self, plan: Tiles) -> Path:
        files: list[tuple[Path, int, int]] = []
        way = 0
        try:
            for tile in plan.tiles:
                while True:
                    try:
                        address = tile.addresses[min(way, len(tile.addresses) - 1)]
                        files.append((self._whole(address), tile.x, tile.y))
                        break
                    except FetchError as error:
                        # The first tile tells how this server wants to be asked.
                        if files or error.status not in _OTHER_WAY or way + 1 >= len(tile.addresses):
                            raise
                        way += 1
            target_file = self._place.folder() / f"{files[0][0].name}-joined"
            self._place.join(files, (plan.width, plan.height), target_file)
            return target_file
        finally:
            for file, _, _ in files:
                file.unlink(missing_ok=True)

    def _get(
        self, address: str, accept: str, limits: Limits, wanted: Callable[[bytes], int | None] | None = None
    ) -> tuple[Path, str]:
        url = with_user(address, self._source.url)
        fetched = fetch(url, self._place.folder(), accept=accept, wanted=wanted, limits=limits, stop=self._stop)
        return fetched.file, fetched.url

    def _keep(self, key: tuple[Any, ...], file: Path) -> None:
        kept = self._entry.pictures
        kept[key] = file
        while len(kept) > _KEPT:
            kept.popitem(last=False)[1].unlink(missing_ok=True)


_OTHER_WAY = (400, 403, 404, 405, 406, 410, 413, 414, 415, 422, 500, 501)
"""Answers of servers that do not take one way of asking for a picture; another may do."""


def _picture_only(head: bytes, address: str) -> None:
    if sniff(head) == "image":
        return
    what = "a web page" if is_page(head) else "a PDF file" if sniff(head) == "pdf" else describe(head)
    raise SourceError("", f"What {host_of(address)} gives for it is {what}, not a picture.", "Try again later.")


def is_page(head: bytes) -> bool:
    """Tell whether the first bytes are those of a web page."""
    return re.match(rb"(?:\xef\xbb\xbf)?\s*<[?!a-z]", head, re.IGNORECASE) is not None and (
        re.search(rb"<(?:!doctype\s+html|html|head|body|script|meta)\b", head, re.IGNORECASE) is not None
    )


def as_json(text: bytes) -> Any:
    """Read JSON; None when it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def base_of(url: str) -> str | None:
    """Address of the image that an ``info.json`` at `url` describes."""
    path = re.split(r"[?#]", url, maxsplit=1)[0]
    return path.removesuffix("/info.json") if path.endswith("/info.json") else None
