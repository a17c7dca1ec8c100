"""Sources that come over the network: fetched when they are opened, then read like any other file.

An address is a PDF, a picture or a IIIF manifest by what it gives, never by how it is written. Pictures of a manifest
are fetched one by one as their pages are rendered, in the size that the mode can use.
"""

from __future__ import annotations

import re
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from uocr_nb.errors import SourceError
from uocr_nb.sources import iiif
from uocr_nb.sources.canvases import Canvases, Entry, Local, Place, as_json, base_of, is_page
from uocr_nb.sources.iiif_image import as_info, service_of_address
from uocr_nb.sources.sniff import HEAD, describe, sniff
from uocr_nb.sources.types import PageError, RenderSpec, Source
from uocr_nb.support.fetch import Limits, fetch, host_of
from uocr_nb.support.lines import stopped

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from uocr_nb.sources.iiif import Book

__all__ = ["Local", "Remote"]

_OVER_THE_NETWORK = ("url", "iiif")

_DOCUMENT = (
    'application/pdf, image/*, application/ld+json;profile="http://iiif.io/api/presentation/3/context.json", '
    "application/ld+json, application/json, */*;q=0.5"
)
_FILE = Limits()

_JSON_BYTES = 50 << 20
"""A manifest of 10,000 pages has about 20 MB."""


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
        self._place = Place(folder, join)
        self._lock = threading.Lock()
        self._entries: dict[Any, Entry] = {}

    def open(self, source: Source, stop: threading.Event | None = None, *, renew: bool = True) -> Source | Book:
        """Fetch `source` and tell what it is: a source for a file, or a book of canvases.

        With `renew`, what was fetched long ago is fetched again.

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
            if renew:
                entry.forget_old()
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
        found = self.open(source, stop, renew=False)
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
            return Canvases(self._place, source, entry, spec, stop).page(canvas)
        except SourceError as error:
            raise PageError(f"{what} cannot be fetched.", error.why, error.next) from error
        finally:
            entry.lock.release()

    def _entry(self, source: Source) -> Entry:
        key = source.url or source.path or source.data
        with self._lock:
            return self._entries.setdefault(key, Entry())

    def _opened(self, source: Source, entry: Entry, stop: threading.Event | None) -> Source | Book:
        if source.kind == "iiif":
            return iiif.read(_content(source), source.name)
        url = source.url or ""
        service, region = service_of_address(url)
        if service is not None:
            info = Canvases(self._place, source, entry, RenderSpec(), stop).info(service)
            if info is not None:
                return iiif.Book("", (iiif.Canvas(address=url, service=service, info=info, region=region),))
        fetched = fetch(
            url,
            self._place.folder(),
            accept=_DOCUMENT,
            wanted=lambda head: _wanted(head, source),
            limits=_FILE,
            stop=stop,
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


def _acquire(lock: threading.Lock, stop: threading.Event | None) -> None:
    """Wait for `lock`, as long as nobody says stop."""
    while not lock.acquire(timeout=0.2):
        if stopped(stop):
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
    data = as_json(text)
    info = as_info(data, base_of(url))
    if info is not None and not iiif.is_presentation(data):
        return iiif.Book("", (iiif.Canvas(service=info.service, info=info),))
    return iiif.parse(data, source.name) if data is not None else iiif.read(text, source.name)


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
    if is_page(head):
        raise SourceError(
            f"{source.name} is a web page, not a file.",
            f"{host} gives a page for people to look at; the PDF or picture has an address of its own.",
            _manifest_in(source.url or "") or "Open it in a browser, and copy the address of the PDF or IIIF manifest.",
        )
    raise SourceError(
        f"{source.name} is not a file that can be read.",
        f"What {host} gives is {describe(head)}. Read are PDF files, pictures and IIIF manifests.",
        "Look at the address in a browser.",
    )


def _manifest_in(url: str) -> str:
    """The line that reads the manifest which the address of a viewer carries along."""
    try:
        given = parse_qsl(urlsplit(url).query)
    except ValueError:
        return ""
    found = (value for key, value in given if iiif.may_be_pasted(value) and re.search(r"manifest|iiif", key + value))
    first = next(found, "")
    return f"%uocr {first}" if first else ""
