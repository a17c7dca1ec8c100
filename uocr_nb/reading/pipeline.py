"""Many pages: `ocr` and its relatives, for a cell, a script, and `await`."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import queue
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Literal

from uocr_nb.config import settings
from uocr_nb.document import registry
from uocr_nb.document.edits import not_read
from uocr_nb.document.model import Document, Page, Status
from uocr_nb.errors import SourceError
from uocr_nb.reading.asking import recorded
from uocr_nb.reading.late import items_again
from uocr_nb.reading.pages import better
from uocr_nb.reading.plan import Options
from uocr_nb.reading.progress import Progress
from uocr_nb.reading.run import End, Run
from uocr_nb.support.loop import held_interrupts, submit

__all__ = ["Watcher", "aiter_ocr", "aocr", "iter_ocr", "last", "ocr", "retry"]

Watcher = Callable[[Progress, list[Page]], None]
"""Called with the progress and the pages so far (those not read yet are not among them), several times a second.

It may end the reading by raising `StopReading`."""

_TICK = 0.2
"""Seconds between two looks at the progress: at most five redraws a second reach the front end."""

_last: Document | None = None


def _events(run: Run) -> Generator[Page | None, None, None]:
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
            if event is End:
                future.result()
                return
            yield event
    finally:
        if not future.done():
            future.cancel()
            # The work lets go of its connections before the caller has the prompt back.
            concurrent.futures.wait([future], timeout=2.0)


async def _aevents(run: Run) -> AsyncGenerator[Page | None, None]:
    """`_events` for a caller with a loop of its own."""
    arrivals: asyncio.Queue[Any] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def tell(event: Any) -> None:
        with contextlib.suppress(RuntimeError):  # a loop that was closed meanwhile: nobody listens any more
            loop.call_soon_threadsafe(arrivals.put_nowait, event)

    future = submit(run.drive(tell))
    arrival: asyncio.Future[Any] | None = None
    try:
        while True:
            # One getter until it has got something: a timeout around `get` may drop what arrives at that moment.
            arrival = arrival or asyncio.ensure_future(arrivals.get())
            await asyncio.wait({arrival}, timeout=_TICK)
            if not arrival.done():
                yield None
                continue
            event, arrival = arrival.result(), None
            if event is End:
                await asyncio.wrap_future(future)
                return
            yield event
    finally:
        if arrival is not None:
            arrival.cancel()
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
    multi: bool | int | None = None,
    blank: bool = False,
    second_tries: int | None = None,
    confidence: bool = False,
    cache: bool | None = None,
    progress: bool | Watcher | None = None,
    show: str | None = None,
) -> Document:
    """Read page images and PDFs.

    Parameters
    ----------
    source : path, glob, folder, http(s) URL, IIIF manifest, bytes, PIL image, numpy array, matplotlib figure, ...
        What to read, or a list of these; see docs/inputs.md.
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
        Most tokens of one answer (8192; with `multi` 16384).
    concurrency : "auto" or int, optional
        Requests at once at each endpoint.
    password : str, optional
        Of encrypted PDFs.
    multi : bool or int, optional
        Several pages in one request, at most so many (True: as the engine's profile says, at most 8). It reads worse
        than page by page, which is the default.
    blank : bool
        Ask for blank pages too; otherwise they are known before, noted, and not sent.
    second_tries : int, optional
        How often a page whose answer is not good is asked for once more (1), where the engine's profile knows another
        way. The better answer is kept, all are recorded in `Page.tries`.
    confidence : bool
        Ask a GPU engine for the scores that become `Block.confidence`: the answer takes half as many bytes again on
        the wire (benchmarks/README.md). The embedded engine always gives them.
    cache : bool, optional
        False asks again for what was kept from earlier runs; see `uocr_nb.cache`.
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
    run = Run(
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
            multi=multi,
            blank=blank,
            second_tries=second_tries,
            confidence=confidence,
            cache=cache,
        ),
    )
    watcher = _watcher(progress)
    try:
        # Closed before the pages are put away: an interrupt may come from the watcher.
        with contextlib.closing(_events(run)) as events:
            for _ in events:
                watcher(run.progress(), run.tally.pages())
        watcher(run.progress(), run.tally.pages())
    except KeyboardInterrupt:
        with held_interrupts():
            _keep(run, show)
        raise
    return _keep(run, show)


async def aocr(
    source: Any,
    *,
    endpoint: Any = None,
    progress: bool | Watcher | None = None,
    show: str | None = None,
    **options: Any,
) -> Document:
    """`ocr` as a coroutine: the caller's loop goes on while pages are read. Arguments as in `ocr`."""
    run = Run(source, endpoint, Options.named(options, "aocr"))
    watcher = _watcher(progress)
    async with contextlib.aclosing(_aevents(run)) as events:
        try:
            async for _ in events:
                watcher(run.progress(), run.tally.pages())
        except asyncio.CancelledError:
            _keep(run, show)
            raise
    watcher(run.progress(), run.tally.pages())
    return _keep(run, show)


def iter_ocr(source: Any, *, endpoint: Any = None, **options: Any) -> Iterator[Page]:
    """Pages in order, as soon as each is ready. Leaving the loop ends the reading. Arguments as in `ocr`."""
    run = Run(source, endpoint, Options.named(options, "iter_ocr"))
    in_order = _InOrder()
    with contextlib.closing(_events(run)) as events:
        for event in events:
            if event is not None:
                yield from in_order.add(event)


async def aiter_ocr(source: Any, *, endpoint: Any = None, **options: Any) -> AsyncIterator[Page]:
    """`iter_ocr` for ``async for``."""
    run = Run(source, endpoint, Options.named(options, "aiter_ocr"))
    in_order = _InOrder()
    async with contextlib.aclosing(_aevents(run)) as events:
        async for event in events:
            if event is not None:
                for page in in_order.add(event):
                    yield page


def last() -> Document | None:
    """The document read last in this process, also when its reading was interrupted."""
    return _last


def retry(
    document: Document,
    endpoint: Any = None,
    pages: Iterable[int] | int | None = None,
    *,
    watcher: Watcher | None = None,
) -> None:
    """Ask again for pages of `document`, those that are not ok by default; the better reading of each stays in place.

    Kept answers are passed over. What it costs is added to the document's `meta`, and each reading to `Page.tries`.
    What a person corrected is not lost unless `pages` names the page: it is not asked for, and the document says so.
    The `watcher` is called as `ocr` does it; `StopReading` leaves the pages that have been read again.
    """
    if pages is None:
        edited = document.edits.per_page
        bad = [page for page in document.pages if page.status is not Status.OK]
        for page in bad:
            if edited[page.position]:
                document.warn(not_read(page.position))
        bad = [page for page in bad if not edited[page.position]]
    else:
        bad = [document.page(n) for n in dict.fromkeys([pages] if isinstance(pages, int) else pages)]
    known = [page for page in bad if page.origin is not None]
    if not bad:
        return
    if not known:
        raise SourceError(
            f"Page {bad[0].position} cannot be asked for again.",
            "The document does not know where its page image came from.",
            "Read the source again: uocr_nb.ocr(...)",
        )
    spec = known[0].origin[1]
    options = Options.checked(
        mode=spec.mode,
        prompt=document.meta.get("prompt"),
        max_tokens=_max_tokens(document),
        confidence=bool(document.meta.get("confidence")),
        blank=True,
        cache=False,
    )
    items = items_again(document, known)
    run = Run(None, endpoint, options, items=items, spec=spec)
    try:
        with contextlib.closing(_events(run)) as events:
            for new in events:
                if new is not None:
                    document.settle(new.position, partial(_better, new=new, over_edits=pages is not None))
                if watcher is not None:
                    watcher(run.progress(), run.tally.pages())
    finally:
        run.charge(document)


def _max_tokens(document: Document) -> int | None:
    """The most tokens of an answer that the document was read with, where the user named them."""
    return document.meta.get("max_tokens") if document.meta.get("max_tokens_named") else None


def _better(old: Page, edited: bool, *, new: Page, over_edits: bool) -> Page:  # noqa: FBT001 - as `Document.settle` asks
    """The better of two readings, with both recorded where both came from an answer.

    A page that was corrected while the new one was on its way stays, unless it was named.
    """
    kept = old if edited and not over_edits else better(old, new)
    readings = [page for page in (old, new) if page.raw or page.finish_reason]
    if len(readings) < len((old, new)):
        return kept
    return replace(kept, tries=(*recorded(old, kept=kept is old), *recorded(new, kept=kept is new)))


def _keep(run: Run, show: str | None) -> Document:
    global _last  # noqa: PLW0603 - the last document of the process is one thing
    _last = run.document(show or settings.show)
    return _last


def _watcher(progress: bool | Watcher | None) -> Watcher:  # noqa: FBT001 - as `ocr` takes it
    if callable(progress):
        return progress
    if progress is False:
        return lambda _progress, _pages: None
    watcher: Watcher = registry.call("watcher", demanded=progress is True)
    return watcher
