"""One call: its pages rendered a little ahead, several asked at once, and what has come back."""

from __future__ import annotations

import asyncio
import base64
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from uocr_nb.document.model import Document, Page, Status
from uocr_nb.errors import EndpointError, OptionError, SourceError
from uocr_nb.reading import client
from uocr_nb.reading.pages import page_from_answer, page_without_answer
from uocr_nb.reading.plan import Item, Options, open_sources, sources_of, spec_of
from uocr_nb.reading.progress import Progress
from uocr_nb.serving import start
from uocr_nb.sources import PageImage, RenderSpec, Source, default_renderer

if TYPE_CHECKING:
    from uocr_nb.serving.endpoint import Endpoint

__all__ = ["End", "Run", "endpoints_for"]

_TRIES = 3
"""Times that one page is asked for before it is failed."""

_AHEAD = 2
"""Pages rendered beyond those being asked, so that the endpoint never waits for the next one."""


class End:
    """Says that no more pages come."""


class _Slots:
    """The requests that may be under way at once, handed out in the order they are asked for.

    A queue would not do: a newcomer may take from it before the one that was woken up.
    """

    def __init__(self, endpoints: Sequence[Endpoint], each: int | None) -> None:
        counts = {endpoint.id: each or endpoint.slots for endpoint in endpoints}
        # One of each in turn, so that several endpoints share the first pages already.
        self._free = deque(
            endpoint for turn in range(max(counts.values())) for endpoint in endpoints if turn < counts[endpoint.id]
        )
        self.count = len(self._free)
        self._fair = asyncio.Semaphore(self.count)

    async def take(self) -> Endpoint:
        await self._fair.acquire()
        return self._free.popleft()

    def give(self, endpoint: Endpoint) -> None:
        self._free.append(endpoint)
        self._fair.release()


class Run:
    """One call: its pages, where they are asked, and what has come back."""

    def __init__(
        self,
        given: Any,
        endpoint: Any,
        options: Options,
        *,
        items: list[Item] | None = None,
        spec: RenderSpec | None = None,
    ) -> None:
        self.options = options
        self.endpoints = endpoints_for(endpoint)
        self.sources: Sequence[Source] = sources_of(given, options.password) if items is None else ()
        self.spec: RenderSpec = spec or spec_of(options)
        self.items: list[Item] = items or []
        self.done: dict[int, Page] = {}
        self.reading: set[int] = set()
        self.pieces = 0
        self.began = time.monotonic()
        self.seconds: float | None = None
        self.error: client.RequestError | None = None
        self.unreadable: list[SourceError] = []
        self.warnings = [warning for point in self.endpoints for warning in self._doubts(point)]

    def _doubts(self, endpoint: Endpoint) -> Iterator[str]:
        if self.options.prompt:
            yield "The model knows few prompts; another one often gives an empty answer."
        modes = endpoint.profile.modes
        if modes and self.options.mode not in modes:
            yield f"{endpoint.name} has no image mode {self.options.mode}; its own is used."

    # -- on the background loop ------------------------------------------------------------------------------------

    async def drive(self, tell: Callable[[Any], None]) -> None:
        """Read every page; `tell` gets each Page as it is done and End at the end, however it comes."""
        self.began = time.monotonic()
        try:
            if self.sources:
                self.items = await asyncio.to_thread(open_sources, self.sources, self.options, default_renderer())
            slots = _Slots(self.endpoints, self.options.concurrency)
            room = asyncio.Semaphore(slots.count + _AHEAD)
            async with asyncio.TaskGroup() as group:
                for item in self.items:
                    await room.acquire()
                    image = await self._image(item)
                    if isinstance(image, Page):
                        self._finish(image, tell)
                        room.release()
                    else:
                        group.create_task(self._read(item, image, slots, room, tell))
        except ExceptionGroup as group_error:
            raise group_error.exceptions[0] from None
        finally:
            self.seconds = time.monotonic() - self.began
            tell(End)
        if self.unreadable and len(self.unreadable) == len(self.items):
            raise self.unreadable[0]
        if self.error is not None and not any(page.raw or page.blocks for page in self.done.values()):
            raise EndpointError(self.error.what, self.error.why, self.error.next)

    async def _image(self, item: Item) -> PageImage | Page:
        if item.failed is not None:
            return item.failed
        try:
            image = await asyncio.to_thread(default_renderer().render, item.source, item.number, self.spec)
        except SourceError as error:
            self.unreadable.append(error)
            return self._without_image(item, Status.FAILED, f"{error.what} {error.why}".strip())
        return replace(image, notes=(*item.notes, *image.notes)) if item.notes else image

    async def _read(
        self,
        item: Item,
        image: PageImage,
        slots: _Slots,
        room: asyncio.Semaphore,
        tell: Callable[[Any], None],
    ) -> None:
        endpoint = await slots.take()
        self.reading.add(item.position)
        endpoint.in_flight += 1
        try:
            page = await self._page(endpoint, item, image)
        finally:
            endpoint.in_flight -= 1
            self.reading.discard(item.position)
            slots.give(endpoint)
            room.release()
        self._finish(page, tell)

    async def _page(self, endpoint: Endpoint, item: Item, image: PageImage) -> Page:
        if self.error is not None and not self._alive():
            return page_without_answer(
                item.position,
                image,
                self.spec,
                Status.FAILED,
                f"Not asked: {self.error.what[0].lower()}{self.error.what[1:]}",
            )
        body = endpoint.profile.request(
            [_data_url(image)],
            mode=self.options.mode,
            prompt=self.options.prompt,
            max_tokens=self.options.max_tokens,
            model=endpoint.model,
        )
        try:
            answer = await self._patient(endpoint, body)
        except client.RequestError as error:
            if error.status is None or error.status in (401, 404):
                self.error = error
            reason = f"{error.what} {error.why}".strip()
            return page_without_answer(item.position, image, self.spec, Status.FAILED, reason)
        endpoint.pages_read += 1
        return page_from_answer(item.position, image, self.spec, answer, max_tokens=self.options.max_tokens)

    def _alive(self) -> bool:
        return any(endpoint.state == "ready" for endpoint in self.endpoints) and (
            self.error is None or self.error.status not in (401, 404)
        )

    async def _patient(self, endpoint: Endpoint, body: dict[str, Any]) -> client.Answer:
        """Ask; ask again where that can help, after the time the server names or a growing one."""
        for attempt in range(1, _TRIES + 1):
            _raise_failure(endpoint)
            try:
                return await client.ask(endpoint, body, on_text=self._count)
            except client.RequestError as error:
                if error.status in (None, 404) or error.status >= 500:
                    await _raise_if_gone(endpoint)
                if not error.again or attempt == _TRIES or endpoint.state != "ready":
                    raise
                await asyncio.sleep(error.wait if error.wait is not None else 0.5 * 2**attempt)
        raise AssertionError("unreachable")  # pragma: no cover

    def _count(self, _text: str) -> None:
        self.pieces += 1

    def _finish(self, page: Page, tell: Callable[[Any], None]) -> None:
        self.done[page.position] = page
        tell(page)

    # -- for the caller --------------------------------------------------------------------------------------------

    def progress(self) -> Progress:
        """How far it is at this moment, in numbers."""
        pages = list(self.done.values())
        return Progress(
            total=len(self.items) or 0,
            done=len(pages),
            not_ok=sum(page.status is not Status.OK for page in pages),
            seconds=self.seconds if self.seconds is not None else time.monotonic() - self.began,
            reading=tuple(sorted(self.reading)),
            tokens=self.pieces,
            cost=self._cost(),
        )

    def pages_so_far(self) -> list[Page]:
        """The pages that have a status, in page order."""
        return [self.done[position] for position in sorted(self.done)]

    def document(self, show: str) -> Document:
        """The document as it stands: a page that was not reached is there, and says so."""
        pages = [
            self.done.get(item.position)
            or self._without_image(item, Status.MISSING, "The reading was interrupted before this page.")
            for item in self.items
        ]
        return Document(pages, meta=self._meta(pages), show=show, warnings=dict.fromkeys(self.warnings))

    def _without_image(self, item: Item, status: Status, reason: str) -> Page:
        """A page that was not rendered; it knows where it comes from, so that it can be asked for again."""
        origin = (item.source, self.spec)
        return Page(item.position, item.number, item.source.name, (0, 0), status=status, reason=reason, origin=origin)

    def _cost(self) -> float | None:
        """US dollars of this run: the time of each endpoint that has a price."""
        prices = [endpoint.price for endpoint in self.endpoints if endpoint.price]
        if not prices:
            return None
        seconds = self.seconds if self.seconds is not None else time.monotonic() - self.began
        return sum(prices) * seconds / 3600

    def _meta(self, pages: Sequence[Page]) -> dict[str, Any]:
        first = self.endpoints[0]
        return {
            "engine": "+".join(dict.fromkeys(endpoint.engine for endpoint in self.endpoints)),
            "endpoint": "+".join(endpoint.name for endpoint in self.endpoints),
            "model": first.model,
            "revision": getattr(first, "revision", None),
            "mode": self.options.mode,
            "prompt": self.options.prompt,
            "max_tokens": self.options.max_tokens,
            "tokens": sum(page.tokens or 0 for page in pages),
            "seconds": round(self.seconds or 0.0, 3),
            "cost": self._cost(),
        }


def endpoints_for(endpoint: Any) -> list[Endpoint]:
    """The endpoints a call shall use: those given (objects or names), else the current one.

    Raises
    ------
    EndpointError
        When there is none.
    """
    if endpoint is None:
        running = start.current()
        if running is None:
            raise EndpointError(
                "No endpoint is running.",
                "Pages are read by an engine, and none was started in this kernel.",
                "%uocr_serve        (in Python: uocr_nb.serve())",
            )
        return [running]
    if isinstance(endpoint, str):
        endpoint = [start.find(name.strip()) for name in endpoint.split(",") if name.strip()]
    if isinstance(endpoint, Iterable):
        found = [point for one in endpoint for point in endpoints_for(one)]
        if not found:
            raise OptionError(
                "No endpoint was named.", "The list is empty.", "Leave endpoint= out for the current one."
            )
        return found
    if not hasattr(endpoint, "profile"):
        raise OptionError(
            f"endpoint={endpoint!r} is no endpoint.",
            "It is what uocr_nb.serve returned, its name, or a list of these.",
            "uocr_nb.endpoints()",
        )
    if endpoint.failure is not None and endpoint.state == "failed":
        raise endpoint.failure
    if endpoint.state in ("stopped", "stopping", "failed"):
        raise EndpointError(f"{endpoint.name} is {endpoint.state}.", "It reads no more pages.", "%uocr_serve")
    return [endpoint]


async def _raise_if_gone(endpoint: Endpoint) -> None:
    """Say why an engine that we started has gone, which tells more than the broken request that is its first sign."""
    if endpoint.host != "url" and not await endpoint.still_there():
        _raise_failure(endpoint)


def _raise_failure(endpoint: Endpoint) -> None:
    failure = endpoint.failure
    if endpoint.state == "failed" and failure is not None:
        raise client.RequestError(failure.what, failure.why, failure.next)


def _data_url(image: PageImage) -> str:
    return f"data:{image.mime};base64,{base64.b64encode(image.file.read_bytes()).decode('ascii')}"
