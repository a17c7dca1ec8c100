"""Many pages: rendered a little ahead, several asked at once, handed over in page order."""

from __future__ import annotations

import asyncio
import base64
import concurrent.futures
import contextlib
import queue
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from uocr_nb.document import registry
from uocr_nb.document.model import Document, Page, Status
from uocr_nb.errors import EndpointError, SourceError
from uocr_nb.reading import client
from uocr_nb.reading.pages import better, page_from_answer, page_without_answer
from uocr_nb.reading.plan import Item, Options, open_sources, sources_of, spec_of
from uocr_nb.reading.progress import Progress
from uocr_nb.serving import start
from uocr_nb.sources import PageImage, RenderSpec, Source, default_renderer
from uocr_nb.support.loop import submit

if TYPE_CHECKING:
    from uocr_nb.serving.endpoint import Endpoint

__all__ = ["Watcher", "aiter_ocr", "aocr", "iter_ocr", "last", "ocr", "retry"]

Watcher = Callable[[Progress, list[Page]], None]
"""Called with the progress and the pages so far (those not read yet are not among them)."""

_TICK = 0.2
"""Seconds between two looks at the progress: at most five redraws a second reach the front end."""

_TRIES = 3
"""Times that one page is asked for before it is failed."""

_AHEAD = 2
"""Pages rendered beyond those being asked, so that the endpoint never waits for the next one."""

_last: Document | None = None


class _End:
    """Says that no more pages come."""


class _Slots:
    """The requests that may be under way at once, handed out in the order they are asked for.

    A queue would not do: a newcomer may take from it before the one that was woken up.
    """

    def __init__(self, endpoints: Sequence[Endpoint], each: int | None) -> None:
        counts = {endpoint.id: each or endpoint.slots for endpoint in endpoints}
        # One of each in turn, so that several endpoints share the first pages already.
        self._free = deque(
            endpoint
            for turn in range(max(counts.values()))
            for endpoint in endpoints
            if turn < counts[endpoint.id]
        )
        self.count = len(self._free)
        self._fair = asyncio.Semaphore(self.count)

    async def take(self) -> Endpoint:
        await self._fair.acquire()
        return self._free.popleft()

    def give(self, endpoint: Endpoint) -> None:
        self._free.append(endpoint)
        self._fair.release()


class _Run:
    """One call: its pages, where they are asked, and what has come back."""

    def __init__(
        self, given: Any, endpoint: Any, options: Options, *, items: list[Item] | None = None, spec: RenderSpec | None = None
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
        self.warnings = [warning for point in self.endpoints for warning in self._doubts(point)]

    def _doubts(self, endpoint: Endpoint) -> Iterator[str]:
        if self.options.prompt:
            yield "The model knows few prompts; another one often gives an empty answer."
        modes = endpoint.profile.modes
        if modes and self.options.mode not in modes:
            yield f"{endpoint.name} has no image mode {self.options.mode}; its own is used."

    # -- on the background loop ------------------------------------------------------------------------------------

    async def drive(self, tell: Callable[[Any], None]) -> None:
        """Read every page; `tell` gets each Page as it is done and _End at the end, however it comes."""
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
            tell(_End)
        if self.error is not None and not any(page.raw or page.blocks for page in self.done.values()):
            raise EndpointError(self.error.what, self.error.why, self.error.next)

    async def _image(self, item: Item) -> PageImage | Page:
        if item.failed is not None:
            return item.failed
        try:
            image = await asyncio.to_thread(default_renderer().render, item.source, item.number, self.spec)
        except SourceError as error:
            reason = f"{error.what} {error.why}".strip()
            return Page(
                item.position,
                item.number,
                item.source.name,
                (0, 0),
                status=Status.FAILED,
                reason=reason,
                origin=(item.source, self.spec),
            )
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
        try:
            page = await self._page(endpoint, item, image)
        finally:
            self.reading.discard(item.position)
            slots.give(endpoint)
            room.release()
        self._finish(page, tell)

    async def _page(self, endpoint: Endpoint, item: Item, image: PageImage) -> Page:
        if self.error is not None and not self._alive():
            return page_without_answer(
                item.position, image, self.spec, Status.FAILED, f"Not asked: {self.error.what[0].lower()}{self.error.what[1:]}"
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
        return page_from_answer(item.position, image, self.spec, answer, max_tokens=self.options.max_tokens)

    def _alive(self) -> bool:
        return any(endpoint.state == "ready" for endpoint in self.endpoints) and (
            self.error is None or self.error.status not in (401, 404)
        )

    async def _patient(self, endpoint: Endpoint, body: dict[str, Any]) -> client.Answer:
        """Ask; ask again where that can help, after the time the server names or a growing one."""
        for attempt in range(1, _TRIES + 1):
            try:
                return await client.ask(endpoint, body, on_text=self._count)
            except client.RequestError as error:
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
        """This moment in numbers."""
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
        pages = [self.done.get(item.position) or self._unreached(item) for item in self.items]
        return Document(pages, meta=self._meta(pages), show=show, warnings=dict.fromkeys(self.warnings))

    def _unreached(self, item: Item) -> Page:
        return Page(
            item.position,
            item.number,
            item.source.name,
            (0, 0),
            status=Status.MISSING,
            reason="The reading was interrupted before this page.",
            origin=(item.source, self.spec),
        )

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
        found = start.current()
        if found is None:
            raise EndpointError(
                "No endpoint is running.",
                "Pages are read by an engine, and none was started in this kernel.",
                "%uocr_serve        (in Python: uocr_nb.serve())",
            )
        return [found]
    if isinstance(endpoint, str):
        return [start.find(name.strip()) for name in endpoint.split(",") if name.strip()]
    if isinstance(endpoint, Iterable):
        return [point for one in endpoint for point in endpoints_for(one)]
    return [endpoint]


def _data_url(image: PageImage) -> str:
    return f"data:{image.mime};base64,{base64.b64encode(image.file.read_bytes()).decode('ascii')}"


def _events(run: _Run) -> Iterator[Page | None]:
    """Pages as they are done, and None at each tick; closing it, or an interrupt, ends the run."""
    arrivals: queue.SimpleQueue[Any] = queue.SimpleQueue()
    future = submit(run.drive(arrivals.put))
    try:
        while True:
            try:
                event = arrivals.get(timeout=_TICK)
            except queue.Empty:
                yield None
                continue
            if event is _End:
                future.result()
                return
            yield event
    finally:
        if not future.done():
            future.cancel()
            # The work lets go of its connections before the caller has the prompt back.
            concurrent.futures.wait([future], timeout=2.0)


async def _aevents(run: _Run) -> AsyncIterator[Page | None]:
    """`_events` for a caller with a loop of its own."""
    arrivals: asyncio.Queue[Any] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    future = submit(run.drive(lambda event: loop.call_soon_threadsafe(arrivals.put_nowait, event)))
    try:
        while True:
            try:
                event = await asyncio.wait_for(arrivals.get(), _TICK)
            except TimeoutError:
                yield None
                continue
            if event is _End:
                await asyncio.wrap_future(future)
                return
            yield event
    finally:
        future.cancel()


class _InOrder:
    """Lets pages go in page order, as soon as each is ready."""

    def __init__(self) -> None:
        self._waiting: dict[int, Page] = {}
        self._next = 1

    def add(self, page: Page) -> Iterator[Page]:
        self._waiting[page.position] = page
        while self._next in self._waiting:
            yield self._waiting.pop(self._next)
            self._next += 1


def ocr(
    source: Any,
    *,
    endpoint: Any = None,
    pages: str | int | Iterable[int] | None = None,
    mode: str | None = None,
    prompt: str | None = None,
    dpi: float | Literal["auto"] | None = None,
    max_tokens: int | None = None,
    concurrency: int | Literal["auto"] | None = None,
    password: str | None = None,
    progress: bool | Watcher | None = None,
    show: str | None = None,
) -> Document:
    """Read page images and PDFs.

    Parameters
    ----------
    source : path, glob, folder, bytes, PIL image, numpy array, matplotlib figure, or a list of these
        What to read.
    endpoint : Endpoint, str or list, optional
        Where; several share the pages. Default: the current endpoint.
    pages : str, int or iterable of int, optional
        Pages of each multi-page source, from 1; "1-3,7,-1", negative from the end.
    mode : str, optional
        Image mode, where the engine has modes: gundam, large, base, small, tiny.
    prompt : str, optional
        Another prompt than the model's own.
    dpi : "auto" or float, optional
        Resolution of PDF pages.
    max_tokens : int, optional
        Most tokens of one page's answer (8192).
    concurrency : "auto" or int, optional
        Requests at once at each endpoint.
    password : str, optional
        Of encrypted PDFs.
    progress : bool or callable, optional
        Show how far it is (default: where somebody can see it), or a function that is called with it.
    show : str, optional
        How the document shows itself.

    Returns
    -------
    Document
        As many pages as there are page images, each with its status.

    Raises
    ------
    EndpointError
        When no endpoint runs or it cannot be reached.
    SourceError
        When nothing could be read.
    OptionError
        When an option cannot be used.
    """
    run = _Run(
        source,
        endpoint,
        Options.checked(
            pages=pages,
            mode=mode,
            prompt=prompt,
            dpi=dpi,
            max_tokens=max_tokens,
            concurrency=concurrency,
            password=password,
        ),
    )
    watcher = _watcher(progress)
    try:
        for _ in _events(run):
            watcher(run.progress(), run.pages_so_far())
    except KeyboardInterrupt:
        _keep(run, show)
        raise
    finally:
        if run.seconds is not None:
            watcher(run.progress(), run.pages_so_far())
    return _keep(run, show)


async def aocr(
    source: Any, *, endpoint: Any = None, progress: bool | Watcher | None = None, show: str | None = None, **options: Any
) -> Document:
    """`ocr` as a coroutine: the caller's loop goes on while pages are read. Arguments as in `ocr`."""
    run = _Run(source, endpoint, Options.checked(**options))
    watcher = _watcher(progress)
    async with contextlib.aclosing(_aevents(run)) as events:
        try:
            async for _ in events:
                watcher(run.progress(), run.pages_so_far())
        except asyncio.CancelledError:
            _keep(run, show)
            raise
    watcher(run.progress(), run.pages_so_far())
    return _keep(run, show)


def iter_ocr(source: Any, *, endpoint: Any = None, **options: Any) -> Iterator[Page]:
    """Pages in order, as soon as each is ready. Leaving the loop ends the reading. Arguments as in `ocr`."""
    run = _Run(source, endpoint, Options.checked(**options))
    in_order = _InOrder()
    with contextlib.closing(_events(run)) as events:
        for event in events:
            if event is not None:
                yield from in_order.add(event)


async def aiter_ocr(source: Any, *, endpoint: Any = None, **options: Any) -> AsyncIterator[Page]:
    """`iter_ocr` for ``async for``."""
    run = _Run(source, endpoint, Options.checked(**options))
    in_order = _InOrder()
    async with contextlib.aclosing(_aevents(run)) as events:
        async for event in events:
            if event is not None:
                for page in in_order.add(event):
                    yield page


def last() -> Document | None:
    """The document read last in this process, also when its reading was interrupted."""
    return _last


def retry(document: Document, endpoint: Any = None) -> None:
    """Ask again for the pages of `document` that are not ok; the better reading of each stays in place."""
    bad = [page for page in document.pages if page.status is not Status.OK]
    for page in bad:
        if page.origin is None:
            raise SourceError(
                f"Page {page.position} cannot be asked for again.",
                "The document does not know where its page image came from.",
                "Read the source again: uocr_nb.ocr(...)",
            )
    if not bad:
        return
    spec = bad[0].origin[1]
    options = Options.checked(
        mode=spec.mode, prompt=document.meta.get("prompt"), max_tokens=document.meta.get("max_tokens")
    )
    items = [Item(page.position, page.origin[0], page.number) for page in bad]
    run = _Run(None, endpoint, options, items=items, spec=spec)
    old = {page.position: page for page in bad}
    for page in _events(run):
        if page is not None:
            document.put(better(old[page.position], page))


def _keep(run: _Run, show: str | None) -> Document:
    global _last  # noqa: PLW0603 - the last document of the process is one thing
    from uocr_nb.config import settings  # noqa: PLC0415 - read at the time of the call

    _last = run.document(show or settings.show)
    return _last


def _watcher(progress: bool | Watcher | None) -> Watcher:
    if callable(progress):
        return progress
    if progress is False:
        return lambda _progress, _pages: None
    watcher: Watcher = registry.call("watcher", demanded=progress is True)
    return watcher
