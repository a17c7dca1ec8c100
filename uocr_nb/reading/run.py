"""One call: its pages rendered a little ahead, asked for wherever there is room, and what has come back."""

from __future__ import annotations

import asyncio
import importlib
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from uocr_nb.document.model import Document, Page, Status
from uocr_nb.errors import EndpointError, SourceError
from uocr_nb.reading.asking import Window
from uocr_nb.reading.cache import cache
from uocr_nb.reading.pages import page_without_answer
from uocr_nb.reading.plan import Item, Options, sources_of, spec_of, unread_page
from uocr_nb.reading.progress import Progress
from uocr_nb.reading.queue import Queue, not_asked
from uocr_nb.reading.supply import Supply
from uocr_nb.reading.tally import Tally
from uocr_nb.reading.whereto import endpoints_for
from uocr_nb.reading.windows import PAGE_TOKENS, plan_windows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from uocr_nb.serving.endpoint import Endpoint
    from uocr_nb.sources import PageImage, RenderSpec

__all__ = ["End", "Run"]

BLANK = "blank, not asked"
"""The note on a page that holds nothing but paper."""


DENSE = 225
"""Above this resolution mode gundam cuts an A4 page into 24 tiles instead of 6 (SGLang's and the model's own rule)."""


class End:
    """Says that no more pages come."""


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
        self.spec: RenderSpec = spec or spec_of(options)
        self._supply = Supply(sources_of(given, options.password) if items is None else (), items or [], options)
        self.tally = Tally()
        self.warnings = [warning for point in self.endpoints for warning in self._doubts(point)]
        self._queue = Queue(
            self.endpoints,
            follows=endpoint is None,
            options=options,
            spec=self.spec,
            tally=self.tally,
            image=self._supply.image,
            finish=self._finish,
        )

    def _doubts(self, endpoint: Endpoint) -> Iterator[str]:
        if self.options.prompt:
            yield "The model knows few prompts; another one often gives an empty answer."
        modes = endpoint.profile.modes
        if modes and self.options.mode not in modes:
            yield f"{endpoint.name} has no image mode {self.options.mode}; its own is used."
        if self.options.dpi is not None and self.options.dpi > DENSE and self.spec.mode == "gundam" and modes:
            yield f"Above {DENSE} dpi an A4 page takes 2,733 image tokens instead of 903: about three times the cost."
        if self.options.multi is not None and endpoint.profile.multi == "pages":
            yield endpoint.profile.multi_note

    async def drive(self, tell: Callable[[Any], None]) -> None:
        """Read every page; `tell` gets each Page as it is done and End at the end, however it comes."""
        self.tally.start()
        self._tell = tell
        # It takes half a second, in which the first source is opened and its first page drawn.
        threading.Thread(target=importlib.import_module, args=("openai",), daemon=True).start()
        try:
            async with asyncio.TaskGroup() as group:
                self._queue.start(group)
                try:
                    await self._produce()
                    while self._queue.open:
                        await self._queue.move()
                finally:
                    self._queue.leave()
                self._queue.stop_watching()
        except ExceptionGroup as group_error:
            raise group_error.exceptions[0] from None
        finally:
            self._supply.stop()
            self.tally.stop()
            tell(End)
        self._supply.raise_if_unreadable()
        error = self._queue.error
        if error is not None and not any(page.raw or page.blocks for page in self.tally.done.values()):
            raise EndpointError(error.what, error.why, error.next)

    async def _produce(self) -> None:
        """Draw the pages a little ahead of those being asked, so that an endpoint never waits for the next one."""
        async for group in self._supply.groups():
            for batch in self._batches(group):
                while self._queue.full():
                    await self._queue.move()
                drawn = [(item, image) for item in batch if (image := await self._draw(item)) is not None]
                if drawn:
                    items, images = zip(*drawn, strict=True)
                    self._queue.open += 1
                    self._queue.put(Window(items, images, self.options.max_tokens))
        if trouble := cache.take_warning():
            self.warnings.append(trouble)

    def _batches(self, group: list[Item]) -> Iterator[tuple[Item, ...]]:
        """The pages of one source as they go together in a request."""
        if self.options.multi is None:
            yield from ((item,) for item in group)
            return
        profile = self.endpoints[0].profile
        page_tokens = dict(profile.page_tokens).get(self.spec.mode, PAGE_TOKENS)
        most = self.options.multi or profile.window
        start = 0
        while start < len(group):
            # One window at a time: how long answers are is learnt meanwhile.
            window = plan_windows(
                len(group) - start,
                most=most,
                context=profile.context,
                page_tokens=page_tokens,
                output_tokens=self._queue.lengths.per_page,
                max_tokens=self.options.max_tokens,
            )[0]
            yield tuple(group[start : start + len(window)])
            start += len(window)

    async def _draw(self, item: Item) -> PageImage | None:
        """The page image to ask for; None when the page has its status without that."""
        if item.failed is not None:
            self.tally.unasked += 1
            self._finish(item.failed)
            return None
        if self._queue.lost is not None:
            self._finish(unread_page(item, (item.source, self.spec), Status.FAILED, not_asked(self._queue.lost)))
            return None
        try:
            image = await self._supply.image(item, self.spec)
        except SourceError as error:
            self.tally.unasked += 1
            reason = error.advice
            self._finish(unread_page(item, (item.source, self.spec), Status.FAILED, reason))
            return None
        if image.blank and not self.options.blank:
            page = page_without_answer(item.position, image, self.spec, Status.OK, "")
            self.tally.unasked += 1
            self._finish(replace(page, warnings=(*page.warnings, BLANK)))
            return None
        return None if await self._remembered(item, image) else image

    async def _remembered(self, item: Item, image: PageImage) -> bool:
        """Whether an ok answer about this page image was kept."""
        for endpoint in self._queue.usable():
            answer = await self._queue.kept.get(image.sha256, endpoint)
            if answer is None:
                continue
            page = self._queue.pages(Window((item,), (image,), self.options.max_tokens), answer)[0]
            if page.status is Status.OK:
                self.tally.cached += 1
                self._finish(page)
                return True
        return False

    def _finish(self, page: Page) -> None:
        self.tally.add(page)
        self._tell(page)

    # -- for the caller --------------------------------------------------------------------------------------------

    def progress(self) -> Progress:
        """How far it is at this moment, in numbers."""
        asked, tally = list(self._queue.asked.values()), self.tally
        return Progress(
            total=self._supply.total,
            done=len(tally.done),
            not_ok=tally.not_ok,
            seconds=tally.seconds,
            reading=tuple(sorted(item.position for window in asked for item in window.items)),
            tokens=tally.pieces + sum(window.pieces for window in asked),
            cost=tally.cost(self.endpoints),
            cached=tally.cached,
            unasked=tally.unasked,
            waiting=self._queue.waiting(self._supply.total),
            look=self._queue.so_far,
        )

    def document(self, show: str) -> Document:
        """The document as it stands: a page that was not reached is there, and says so."""
        pages = [
            self.tally.done.get(item.position) or unread_page(item, (item.source, self.spec))
            for item in [*self._supply.items, *self._supply.rest()]
        ]
        meta = self.tally.meta(self.endpoints, self.options)
        return Document(pages, meta=meta, show=show, warnings=dict.fromkeys(self.warnings))

    def charge(self, document: Document) -> None:
        """Add what this call took to the `meta` of a document that was there before."""
        for name, value in self.tally.meta(self.endpoints, self.options).items():
            if name in ("requests", "tokens", "seconds", "cost") and value is not None:
                document.meta[name] = (document.meta.get(name) or 0) + value
