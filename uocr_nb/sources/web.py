"""Sources that come over the network: fetched when they are opened, then read like any other file.

An address is a PDF, a picture or a IIIF manifest by what it gives, never by how it is written. Pictures of a manifest
are fetched one by one as their pages are rendered, in the size that the mode can use.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from uocr_nb.errors import SourceError
from uocr_nb.sources import iiif
from uocr_nb.sources.iiif_image import as_info, service_of_address
from uocr_nb.sources.iiif_request import Tiles, requests_for, target
from uocr_nb.sources.sniff import HEAD, describe, sniff
from uocr_nb.sources.types import PageError, RenderSpec, Source
from uocr_nb.support.fetch import FetchError, Limits, fetch, host_of, with_user

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from uocr_nb.sources.iiif import Book, Canvas
    from uocr_nb.sources.iiif_image import Info, Service

__all__ = ["Local", "Remote"]

_OVER_THE_NETWORK = ("url", "iiif")

_DOCUMENT = (
    'application/pdf, image/*, application/ld+json;profile="http://iiif.io/api/presentation/3/context.json", '
    "application/ld+json, application/json, */*;q=0.5"
)
_PICTURE = "image/jpeg, image/png;q=0.9, image/*;q=0.8, */*;q=0.1"
_JSON = "application/ld+json, application/json, */*;q=0.1"

_FILE = Limits()
_PAGE = Limits(size=200 << 20, seconds=180.0)
_INFO = Limits(size=5 << 20, seconds=60.0)

_JSON_BYTES = 50 << 20
"""A manifest of 10,000 pages has about 20 MB."""

_KEPT = 32
"""Fetched pictures that are kept for rendering their page again."""

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
class _Entry:
    """What is known of one source, and the lock that keeps two threads from fetching it at once."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    local: Source | None = None
    book: Book | None = None
    infos: dict[str, Info | None] = field(default_factory=dict)
    pictures: OrderedDict[tuple[Any, ...], Path] = field(default_factory=OrderedDict)


class Remote:
    """What has come over the network, for one renderer.

    Parameters
    ----------
    folder : callable
        Gives the folder where downloads are kept.
    join : callable
        Puts pictures (file, left, top) together to one of a size, in a file.
    """

    def __init__(
        self,
        folder: Callable[[], Path],
        join: Callable[[list[tuple[Path, int, int]], tuple[int, int], Path], None],
    ) -> None:
        self._folder = folder
        self._join = join
        self._lock = threading.Lock()
        self._entries: dict[Any, _Entry] = {}

    def open(self, source: Source, stop: threading.Event | None = None) -> Source | Book:
        """Fetch `source` and tell what it is: a source for a file, or a book of canvases.

        Raises
        ------
        SourceError
            When it cannot be had, or is neither PDF nor picture nor manifest.
        """
        if source.kind not in _OVER_THE_NETWORK:
            return source
        entry = self._entry(source)
        _acquire(entry.lock, stop)
        try:
            if entry.book is not None:
                return entry.book
            if entry.local is not None and entry.local.path is not None and entry.local.path.is_file():
                return replace(entry.local, name=source.name, password=source.password)
            found = self._opened(source, entry, stop)
            if isinstance(found, Source):
                entry.local = found
            else:
                entry.book = found
            return found
        finally:
            entry.lock.release()

    def page(self, source: Source, number: int, spec: RenderSpec, stop: threading.Event | None = None) -> Local:
        """Give page `number` of `source` as the worker can draw it, fetching what is not here.

        Raises
        ------
        PageError
            When this page cannot be had; others may.
        SourceError
            When the source cannot be opened.
        """
        found = self.open(source, stop)
        if isinstance(found, Source):
            return Local(found, number, spec)
        if not 1 <= number <= len(found.canvases):
            count = len(found.canvases)
            raise PageError(f"{source.name} has no page {number}.", f"It has {count}.", f"--pages 1-{count}")
        canvas = found.canvases[number - 1]
        what = f"Page {number} of {source.name}" + (f" ({canvas.label})" if canvas.label else "")
        if canvas.problem:
            raise PageError(f"{what} has no picture.", canvas.problem, "Leave it out with --pages.")
        entry = self._entry(source)
        _acquire(entry.lock, stop)
        try:
            return _Fetcher(self, source, entry, spec, stop).page(canvas)
        except SourceError as error:
            raise PageError(f"{what} cannot be fetched.", error.why, error.next) from error
        finally:
            entry.lock.release()

    def _entry(self, source: Source) -> _Entry:
        key = source.url or source.path or source.data
        with self._lock:
            return self._entries.setdefault(key, _Entry())

    def _opened(self, source: Source, entry: _Entry, stop: threading.Event | None) -> Source | Book:
        if source.kind == "iiif":
            return iiif.read(_content(source), source.name)
        url = source.url or ""
        service, region = service_of_address(url)
        if service is not None:
            info = _Fetcher(self, source, entry, RenderSpec(), stop).info(service)
            if info is not None:
                return iiif.Book("", (iiif.Canvas(address=url, service=service, info=info, region=region),))
        fetched = fetch(
            url, self._folder(), accept=_DOCUMENT, wanted=lambda head: _wanted(head, source), limits=_FILE, stop=stop
        )
        with fetched.file.open("rb") as file:
            head = file.read(HEAD)
        kind = _kind(head, url)
        if kind is not None:
            return replace(source, kind=kind, path=fetched.file, url=None)
        try:
            return _book(fetched.file.read_bytes(), source, fetched.url)
        finally:
            fetched.file.unlink(missing_ok=True)

    # -- for `_Fetcher` ------------------------------------------------------------------------------------------------

    def folder(self) -> Path:
        """Where downloads are kept."""
        return self._folder()

    def join(self, tiles: list[tuple[Path, int, int]], size: tuple[int, int], file: Path) -> None:
        """Put tiles together."""
        self._join(tiles, size, file)


class _Fetcher:
    """Fetches the pictures of one book; its entry is locked meanwhile."""

    def __init__(
        self, remote: Remote, source: Source, entry: _Entry, spec: RenderSpec, stop: threading.Event | None
    ) -> None:
        self._remote = remote
        self._source = source
        self._entry = entry
        self._spec = spec
        self._stop = stop

    def page(self, canvas: Canvas) -> Local:
        """Fetch the picture of a canvas in a size of use, or find it here."""
        info = canvas.info or (self.info(canvas.service) if canvas.service is not None else None)
        spec = self._spec
        if info is not None:
            width, height = target(info.width, info.height, spec, spread=canvas.spread)
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
                known[service.base] = as_info(_json(text), _base_of(fetched[1]) or service.base)
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
            target_file = self._remote.folder() / f"{files[0][0].name}-joined"
            self._remote.join(files, (plan.width, plan.height), target_file)
            return target_file
        finally:
            for file, _, _ in files:
                file.unlink(missing_ok=True)

    def _get(
        self, address: str, accept: str, limits: Limits, wanted: Callable[[bytes], int | None] | None = None
    ) -> tuple[Path, str]:
        url = with_user(address, self._source.url)
        fetched = fetch(url, self._remote.folder(), accept=accept, wanted=wanted, limits=limits, stop=self._stop)
        return fetched.file, fetched.url

    def _keep(self, key: tuple[Any, ...], file: Path) -> None:
        kept = self._entry.pictures
        kept[key] = file
        while len(kept) > _KEPT:
            kept.popitem(last=False)[1].unlink(missing_ok=True)


_OTHER_WAY = (400, 403, 404, 405, 406, 410, 413, 414, 415, 422, 500, 501)
"""Answers of servers that do not take one way of asking for a picture; another may do."""


def _acquire(lock: threading.Lock, stop: threading.Event | None) -> None:
    """Wait for `lock`, as long as nobody says stop."""
    while not lock.acquire(timeout=0.2):
        if (stop is not None and stop.is_set()) or not threading.main_thread().is_alive():
            raise SourceError("The download was ended.", "It was stopped.", "Try again.")


def _content(source: Source) -> bytes:
    if source.data is not None or source.path is None:
        return source.data or b""
    try:
        with source.path.open("rb") as file:
            return file.read(_JSON_BYTES)
    except OSError as error:
        raise SourceError(
            f"{source.name} cannot be opened.", f"{error.strerror or error}.", "Look at its rights and try again."
        ) from error


def _book(text: bytes, source: Source, url: str) -> Book:
    data = _json(text)
    info = as_info(data, _base_of(url))
    if info is not None and not iiif.is_presentation(data):
        return iiif.Book("", (iiif.Canvas(service=info.service, info=info),))
    return iiif.parse(data, source.name) if data is not None else iiif.read(text, source.name)


def _json(text: bytes) -> Any:
    import json  # noqa: PLC0415 - for this alone

    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _base_of(url: str) -> str | None:
    path = re.split(r"[?#]", url, maxsplit=1)[0]
    return path.removesuffix("/info.json") if path.endswith("/info.json") else None


def _kind(head: bytes, url: str) -> Any:
    kind = sniff(head)
    if kind is None and describe(head) == "of a kind that is not known here" and urlsplit(url).path.endswith(".pdf"):
        kind = "pdf"  # one that lost its header
    return kind


def _wanted(head: bytes, source: Source) -> int | None:
    """Refuse what cannot be read as soon as its first bytes are there."""
    if _kind(head, source.url or "") is not None:
        return None
    if iiif.looks_like_json(head):
        return _JSON_BYTES
    host = host_of(source.url or "")
    if _is_page(head):
        raise SourceError(
            f"{source.name} is a web page, not a file.",
            f"{host} gives a page for people to look at; the PDF or picture has an address of its own.",
            "Open it in a browser, and copy the address of the download or of the IIIF manifest.",
        )
    raise SourceError(
        f"{source.name} is not a file that can be read.",
        f"What {host} gives is {describe(head)}. Read are PDF files, pictures and IIIF manifests.",
        "Look at the address in a browser.",
    )


def _picture_only(head: bytes, address: str) -> None:
    if sniff(head) == "image":
        return
    what = "a web page" if _is_page(head) else "a PDF file" if sniff(head) == "pdf" else describe(head)
    raise SourceError("", f"What {host_of(address)} gives for it is {what}, not a picture.", "Try again later.")


def _is_page(head: bytes) -> bool:
    return re.match(rb"(?:\xef\xbb\xbf)?\s*<[?!a-z]", head, re.IGNORECASE) is not None and (
        re.search(rb"<(?:!doctype\s+html|html|head|body|script|meta)\b", head, re.IGNORECASE) is not None
    )
