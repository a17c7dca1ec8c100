"""One call: its pages rendered a little ahead, asked for wherever there is room, and what has come back."""

from __future__ import annotations

import asyncio
import importlib
import threading
import time
from collections import Counter, deque
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from uocr_nb.document.grammar import parse_answer
from uocr_nb.document.model import Document, Page, Status
from uocr_nb.errors import EndpointError, SourceError
from uocr_nb.reading import client
from uocr_nb.reading.asking import Window, body_of, decide, smaller_spec
from uocr_nb.reading.cache import cache
from uocr_nb.reading.desk import Desk, the_desk
from uocr_nb.reading.kept import Kept
from uocr_nb.reading.pages import page_without_answer, pages_from_answer
from uocr_nb.reading.plan import Item, Options, sources_of, spec_of
from uocr_nb.reading.progress import Progress
from uocr_nb.reading.supply import Supply
from uocr_nb.reading.tally import Tally
from uocr_nb.reading.whereto import another, endpoints_for, raise_failure, raise_if_gone, wait_until_back
from uocr_nb.reading.windows import PAGE_TOKENS, AnswerLength, pages_opened, plan_windows, split

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from uocr_nb.serving.endpoint import Endpoint
    from uocr_nb.sources import PageImage, RenderSpec

__all__ = ["End", "Run"]

BLANK = "blank, not asked"
"""The note on a page that holds nothing but paper."""

PATIENCE = 600.0
"""Seconds that an endpoint which has answered is waited for when it does not answer any more."""

_SHORT_PATIENCE = 10.0
"""The same for one that has not answered in this run."""

_CUT = "The connection ended before the answer did."

_AHEAD_BYTES = 64 * 1024 * 1024
"""Bytes of page images that wait to be sent, at most (but for one page)."""


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
        self._follows = endpoint is None
        self.endpoints = endpoints_for(endpoint)
        self.spec: RenderSpec = spec or spec_of(options)
        self._supply = Supply(sources_of(given, options.password) if items is None else (), items or [], options)
        self.tally = Tally()
        self._kept = Kept(options)
        self._lengths = AnswerLength()
        self.error: client.RequestError | None = None
        self.warnings = [warning for point in self.endpoints for warning in self._doubts(point)]
        self._ready: deque[Window] = deque()
        self._asked: dict[Window, Endpoint] = {}
        self._answered: set[Endpoint] = set()
        self._gone: set[Endpoint] = set()
        self._lost: client.RequestError | None = None
        self._mine: Counter[Endpoint] = Counter()
        self._sent: Counter[Endpoint] = Counter()
        self._watches: dict[Endpoint, asyncio.Task[None]] = {}
        self._open = 0
        """Windows that have no answer yet, wherever they are."""

    def _doubts(self, endpoint: Endpoint) -> Iterator[str]:
        if self.options.prompt:
            yield "The model knows few prompts; another one often gives an empty answer."
        modes = endpoint.profile.modes
        if modes and self.options.mode not in modes:
            yield f"{endpoint.name} has no image mode {self.options.mode}; its own is used."
        if self.options.multi is not None and endpoint.profile.multi == "pages":
            yield endpoint.profile.multi_note

    # -- on the background loop ------------------------------------------------------------------------------------

    async def drive(self, tell: Callable[[Any], None]) -> None:
        """Read every page; `tell` gets each Page as it is done and End at the end, however it comes."""
        self.tally.start()
        self._tell = tell
        # It takes half a second, in which the first source is opened and its first page drawn.
        threading.Thread(target=importlib.import_module, args=("openai",), daemon=True).start()
        self._moved = asyncio.Event()
        self._desk = the_desk()
        self._group = asyncio.TaskGroup()
        try:
            async with self._group:
                self._desk.join(self)
                try:
                    await self._produce()
                    while self._open:
                        await self._move()
                finally:
                    self._desk.leave(self)
                for watch in self._watches.values():
                    watch.cancel()
        except ExceptionGroup as group_error:
            raise group_error.exceptions[0] from None
        finally:
            self.tally.stop()
            tell(End)
        self._supply.raise_if_unreadable()
        if self.error is not None and not any(page.raw or page.blocks for page in self.tally.done.values()):
            raise EndpointError(self.error.what, self.error.why, self.error.next)

    async def _produce(self) -> None:
        """Draw the pages a little ahead of those being asked, so that an endpoint never waits for the next one."""
        async for group in self._supply.groups():
            for batch in self._batches(group):
                while self._full():
                    await self._move()
                drawn = [(item, image) for item in batch if (image := await self._draw(item)) is not None]
                if drawn:
                    items, images = zip(*drawn, strict=True)
                    self._open += 1
                    self._put(Window(items, images, self.options.max_tokens))
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
                output_tokens=self._lengths.per_page,
                max_tokens=self.options.max_tokens,
            )[0]
            yield tuple(group[start : start + len(window)])
            start += len(window)

    def _full(self) -> bool:
        """Whether enough pages wait to be sent: one for each request that may be under way, and not too many bytes."""
        if not self._ready:
            return False
        at_once = self.options.concurrency
        ahead = sum(at_once or int(self._desk.gate(endpoint).limit) for endpoint in self._usable())
        return len(self._ready) >= max(2, ahead) or sum(window.size for window in self._ready) > _AHEAD_BYTES

    async def _move(self) -> None:
        """Wait until something has come about."""
        self._moved.clear()
        await self._moved.wait()

    async def _draw(self, item: Item) -> PageImage | None:
        """The page image to ask for; None when the page has its status without that."""
        if item.failed is not None:
            self.tally.unasked += 1
            self._finish(item.failed)
            return None
        if self._lost is not None:
            self._finish(self._without_image(item, Status.FAILED, _not_asked(self._lost)))
            return None
        try:
            image = await self._supply.image(item, self.spec)
        except SourceError as error:
            self.tally.unasked += 1
            self._finish(self._without_image(item, Status.FAILED, f"{error.what} {error.why}".strip()))
            return None
        if image.blank and not self.options.blank:
            page = page_without_answer(item.position, image, self.spec, Status.OK, "")
            self.tally.unasked += 1
            self._finish(replace(page, warnings=(*page.warnings, BLANK)))
            return None
        return None if await self._remembered(item, image) else image

    async def _remembered(self, item: Item, image: PageImage) -> bool:
        """Whether an ok answer about this page image was kept."""
        for endpoint in self._usable():
            answer = await self._kept.get(image.sha256, endpoint)
            if answer is None:
                continue
            page = self._pages(Window((item,), (image,), self.options.max_tokens), answer)[0]
            if page.status is Status.OK:
                self.tally.cached += 1
                self._finish(page)
                return True
        return False

    # -- asking ----------------------------------------------------------------------------------------------------

    def start_one(self, desk: Desk) -> bool:
        """Send the next window where there is room; the desk calls it in its turn."""
        if not self._ready:
            return False
        free = []
        for endpoint in self._usable():
            gate = desk.gate(endpoint)
            if gate.down:
                self._watch(endpoint)
            elif gate.room(self.options.concurrency, self._mine[endpoint]):
                free.append((gate.active / gate.limit, self._sent[endpoint], endpoint))
        if not free:
            return False
        # The least busy one; among equals the one that has had least, so that idle ones share the pages too.
        endpoint = min(free, key=lambda one: one[:2])[2]
        self._sent[endpoint] += 1
        window = self._ready.popleft()
        window.parts = []
        self._asked[window] = endpoint
        self._mine[endpoint] += 1
        endpoint.in_flight += len(window.items)
        gate = desk.gate(endpoint)
        gate.active += 1

        def give_back(_task: Any) -> None:
            # By a callback, because a task that is cancelled before its first step runs nothing of its own.
            gate.active -= 1
            self._mine[endpoint] -= 1
            endpoint.in_flight -= len(window.items)
            self._asked.pop(window, None)
            self._moved.set()
            desk.dispatch()

        self._group.create_task(self._ask(endpoint, window)).add_done_callback(give_back)
        self._moved.set()
        return True

    async def _ask(self, endpoint: Endpoint, window: Window) -> None:
        began = time.monotonic()
        try:
            raise_failure(endpoint)
            body = await self._body(window, endpoint)
            self.tally.requests += 1
            answer = await client.ask(endpoint, body, on_text=window.parts.append)
            self.tally.pieces += len(window.parts)
            self.tally.tokens += answer.tokens or 0
            if answer.finish_reason == "cut":
                window.cut = _longer(window.cut, answer)
                raise client.RequestError(_CUT, again=True, lost=True)  # noqa: TRY301 - a lost connection as any other
        except client.RequestError as error:
            await self._refused(endpoint, window, error, began)
        else:
            self._desk.gate(endpoint).answered(answer.first, answer.seconds)
            self._answered.add(endpoint)
            endpoint.pages_read += len(window.items)
            await self._settle(endpoint, window, answer)

    async def _body(self, window: Window, endpoint: Endpoint) -> dict[str, Any]:
        try:
            return body_of(window, endpoint, self.options)
        except OSError:
            # The picture was cleared away meanwhile: it is drawn again.
            window.images = tuple([await self._redrawn(item) for item in window.items])
            return body_of(window, endpoint, self.options)

    async def _redrawn(self, item: Item, spec: RenderSpec | None = None) -> PageImage:
        try:
            return await self._supply.image(item, spec or self.spec)
        except SourceError as error:
            raise client.RequestError(error.what, error.why, error.next, status=0) from None

    async def _settle(self, endpoint: Endpoint, window: Window, answer: client.Answer) -> None:
        """Take the pages of an answer, or ask once more where that may give better ones."""
        pages = self._pages(window, answer)
        if len(pages) > 1:
            await self._settle_many(endpoint, window, answer, pages)
            return
        more = window.once_more(pages[0], endpoint, self.options)
        if more is not None:
            self._put_back(more)
            return
        page = window.best(pages[0], self.options)
        self._open -= 1
        self._finish(page)
        if pages[0].status is Status.OK:
            await self._kept.put(window.shas[0], endpoint, pages[0], answer)

    async def _settle_many(
        self, endpoint: Endpoint, window: Window, answer: client.Answer, pages: Sequence[Page]
    ) -> None:
        """Keep the pages of a window that are sure, and ask for the others in smaller windows."""
        opened = pages_opened(parse_answer(answer.text), len(pages))
        statuses = [page.status for page in pages]
        parts = split(range(len(pages)), statuses, opened=opened, stopped=answer.finish_reason == "stop")
        self._open += len(parts.again) - 1
        for part in reversed(parts.again):
            self._put_back(window.some(part))
        for n in parts.kept:
            self._finish(pages[n])
        if not parts.again:
            self._lengths.saw(len(pages), answer.tokens)
        for n in parts.kept:
            if pages[n].status is Status.OK:
                await self._kept.put(window.shas[n], endpoint, pages[n], answer)

    def _pages(self, window: Window, answer: client.Answer) -> list[Page]:
        positions = [item.position for item in window.items]
        return pages_from_answer(positions, window.images, self.spec, answer, max_tokens=window.max_tokens)

    # -- faults ----------------------------------------------------------------------------------------------------

    async def _refused(self, endpoint: Endpoint, window: Window, error: client.RequestError, began: float) -> None:
        """Do about a request that failed what can be done."""
        if error.lost or error.status == 404 or (error.status or 0) >= 500:
            try:
                await raise_if_gone(endpoint)
            except client.RequestError as failure:
                error = failure
        move = decide(window, error, answered=endpoint in self._answered)
        window.lost += error.lost
        match move.what:
            case "again":
                window.refused += not error.lost
                asyncio.get_running_loop().call_later(move.delay, self._put_back, window)
                return
            case "busy":
                window.busy += 1
                self._desk.gate(endpoint).refused(began, move.delay)
            case "down":
                self._desk.gate(endpoint).down = True
                self._watch(endpoint)
            case "stop":
                self._leave_endpoint(endpoint, error)
            case "fewer" | "shrink" if await self._made_smaller(window, move.what):
                pass
            case _:
                self._divide_or_give_up(window, error)
                return
        self._put_back(window)

    async def _made_smaller(self, window: Window, how: str) -> bool:
        """Ask for fewer tokens, or send a smaller picture; whether that was possible."""
        if how == "fewer":
            window.max_tokens //= 2
            told = f"The endpoint takes no longer answer than {window.max_tokens:,} tokens."
        else:
            before = window.images[0]
            try:
                smaller = await self._redrawn(window.items[0], smaller_spec(self.spec, [before.size]))
            except client.RequestError:
                return False
            if max(smaller.size) >= max(before.size):
                return False
            # The hash of the first picture stays, by which the answer is found again.
            window.images, window.shrunk = (smaller,), before.sha256
            size = f"{smaller.size[0]:,} x {smaller.size[1]:,} pixels"
            told = f"The endpoint refused the page image as too large; it was sent at {size}."
        window.notes = (*window.notes, told)
        return True

    def _divide_or_give_up(self, window: Window, error: client.RequestError) -> None:
        if len(window.items) > 1:
            self._open += 1
            for half in reversed(window.halves()):
                self._put_back(half)
        else:
            self._give_up(window, error)

    def _put(self, window: Window, *, first: bool = False) -> None:
        """Let `window` wait for its turn; `first` for one that had it already."""
        if self._lost is not None:
            self._give_up(window, self._lost)
            return
        (self._ready.appendleft if first else self._ready.append)(window)
        self._desk.dispatch()

    def _put_back(self, window: Window) -> None:
        self._put(window, first=True)

    def _give_up(self, window: Window, error: client.RequestError) -> None:
        """Give the pages of `window` the status that they are left with."""
        self._open -= 1
        for item, image in zip(window.items, window.images, strict=True):
            if window.cut is not None and len(window.items) == 1:
                page = self._pages(window, window.cut)[0]
            else:
                reason = _not_asked(error) if error is self._lost else f"{error.what} {error.why}".strip()
                page = page_without_answer(item.position, image, self.spec, Status.FAILED, reason)
            self._finish(window.best(page, self.options))

    def _usable(self) -> list[Endpoint]:
        return [endpoint for endpoint in self.endpoints if endpoint not in self._gone]

    def _leave_endpoint(self, endpoint: Endpoint, error: client.RequestError) -> None:
        """Ask nothing more of `endpoint`; where no other is left, the pages that wait have failed."""
        self._gone.add(endpoint)
        self.error = error
        if not self._usable():
            self._lost = error
            while self._ready:
                self._give_up(self._ready.popleft(), error)
        self._moved.set()

    def _watch(self, endpoint: Endpoint) -> None:
        """Look out for an endpoint that does not answer, until it does."""
        if endpoint not in self._watches:
            self._watches[endpoint] = self._group.create_task(self._look_out(endpoint))

    async def _look_out(self, endpoint: Endpoint) -> None:
        patience = PATIENCE if endpoint in self._answered else _SHORT_PATIENCE
        try:
            await wait_until_back(endpoint, patience, self._take_another)
        except client.RequestError as error:
            self._leave_endpoint(endpoint, error)
        finally:
            self._watches.pop(endpoint, None)
        self._desk.gate(endpoint).down = False
        self._desk.dispatch()

    def _take_another(self) -> bool:
        """Go on at an endpoint that was started meanwhile, where the call follows the current one."""
        new = another(self.endpoints) if self._follows else None
        if new is None:
            return False
        self._gone.update(self.endpoints)
        self.endpoints.append(new)
        return True

    def _finish(self, page: Page) -> None:
        self.tally.add(page)
        self._tell(page)
        self._moved.set()

    # -- for the caller --------------------------------------------------------------------------------------------

    def progress(self) -> Progress:
        """How far it is at this moment, in numbers."""
        asked, tally = list(self._asked), self.tally
        return Progress(
            total=self._supply.total,
            done=len(tally.done),
            not_ok=tally.not_ok,
            seconds=tally.seconds,
            reading=tuple(sorted(item.position for window in asked for item in window.items)),
            tokens=tally.pieces + sum(len(window.parts) for window in asked),
            cost=tally.cost(self.endpoints),
            cached=tally.cached,
            unasked=tally.unasked,
            waiting=self._waiting(),
            look=self._so_far,
        )

    def _so_far(self) -> tuple[Page, ...]:
        pages = [page for window in list(self._asked) for page in window.so_far(self.spec)]
        return tuple(sorted(pages, key=lambda page: page.position))

    def _waiting(self) -> str:
        names = [endpoint.name for endpoint in list(self._watches)]
        if not names or len(names) < len(self._usable()):
            return ""
        left = self._supply.total - len(self.tally.done)
        many = f"{left:,} pages wait" if left != 1 else "1 page waits"
        verb = "does" if len(names) == 1 else "do"
        return f"{' and '.join(names)} {verb} not answer; {many}. Interrupt the cell; pages that are done are kept."

    def document(self, show: str) -> Document:
        """The document as it stands: a page that was not reached is there, and says so."""
        why = "The reading was interrupted before this page."
        pages = [
            self.tally.done.get(item.position) or self._without_image(item, Status.MISSING, why)
            for item in [*self._supply.items, *self._supply.rest()]
        ]
        meta = self.tally.meta(self.endpoints, self.options)
        return Document(pages, meta=meta, show=show, warnings=dict.fromkeys(self.warnings))

    def charge(self, document: Document) -> None:
        """Add what this call took to the `meta` of a document that was there before."""
        for name, value in self.tally.meta(self.endpoints, self.options).items():
            if name in ("requests", "tokens", "seconds", "cost") and value is not None:
                document.meta[name] = (document.meta.get(name) or 0) + value

    def _without_image(self, item: Item, status: Status, reason: str) -> Page:
        """A page that was not rendered; it knows where it comes from, so that it can be asked for again."""
        origin = (item.source, self.spec)
        return Page(item.position, item.number, item.source.name, (0, 0), status=status, reason=reason, origin=origin)


def _not_asked(error: client.RequestError) -> str:
    return f"Not asked: {error.what[0].lower()}{error.what[1:]}"


def _longer(one: client.Answer | None, other: client.Answer) -> client.Answer:
    return one if one is not None and len(one.text) >= len(other.text) else other
