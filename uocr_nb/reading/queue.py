"""The pages of one call that wait for their turn, those being asked for, and what becomes of each request."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from typing import TYPE_CHECKING, Any

from uocr_nb.document.grammar import parse_answer
from uocr_nb.document.model import Page, Status
from uocr_nb.errors import SourceError
from uocr_nb.reading import client
from uocr_nb.reading.asking import LOST_TRIES, Move, Window, body_of, decide, smaller_spec
from uocr_nb.reading.desk import Desk, the_desk
from uocr_nb.reading.kept import Kept
from uocr_nb.reading.pages import page_without_answer, pages_from_answer
from uocr_nb.reading.whereto import another, raise_failure, raise_if_gone, ready, wait_until_back
from uocr_nb.reading.windows import AnswerLength, pages_opened, split

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from uocr_nb.reading.plan import Item, Options
    from uocr_nb.reading.tally import Tally
    from uocr_nb.serving.endpoint import Endpoint
    from uocr_nb.sources import PageImage, RenderSpec

__all__ = ["PATIENCE", "Queue", "not_asked"]

PATIENCE = 600.0
"""Seconds that an endpoint which has answered is waited for when it does not answer any more."""

_SHORT_PATIENCE = 10.0
"""The same for one that has not answered in this run."""

_CUT = "The connection ended before the answer did."

_AHEAD_BYTES = 64 * 1024 * 1024
"""Bytes of page images that wait to be sent, at most (but for one page)."""


class Queue:
    """The windows of one call, from being drawn to their pages. Lives on the background loop.

    Parameters
    ----------
    endpoints : list of Endpoint
        Where pages are asked; one that takes over is added.
    follows : bool
        Whether the call follows the current endpoint, so that another one may take over.
    options, spec
        How pages are asked for and drawn.
    tally : Tally
        Where requests and tokens are counted.
    image : callable
        Draws a page.
    finish : callable
        Takes each page that has its status.
    """

    def __init__(
        self,
        endpoints: list[Endpoint],
        *,
        follows: bool,
        options: Options,
        spec: RenderSpec,
        tally: Tally,
        image: Callable[[Item, RenderSpec], Awaitable[PageImage]],
        finish: Callable[[Page], None],
    ) -> None:
        self.endpoints = endpoints
        self.options = options
        self.spec = spec
        self.tally = tally
        self.kept = Kept(options)
        self.lengths = AnswerLength()
        self.error: client.RequestError | None = None
        self.lost: client.RequestError | None = None
        self.open = 0
        """Windows that have no answer yet, wherever they are."""
        self.asked: dict[object, Window] = {}
        """The windows under way; each time that one is sent counts by itself."""
        self._follows = follows
        self._image = image
        self._finish_page = finish
        self._ready: deque[Window] = deque()
        self._answered: set[Endpoint] = set()
        self._gone: set[Endpoint] = set()
        self._mine: Counter[Endpoint] = Counter()
        self._sent: Counter[Endpoint] = Counter()
        self._watches: dict[Endpoint, asyncio.Task[None]] = {}

    def start(self, group: asyncio.TaskGroup) -> None:
        """Take part in the turns; requests are tasks of `group`."""
        self._group = group
        self._moved = asyncio.Event()
        self._desk = the_desk()
        self._desk.join(self)

    def leave(self) -> None:
        """Take no more turns."""
        self._desk.leave(self)

    def stop_watching(self) -> None:
        """Look out for no endpoint any more."""
        for watch in self._watches.values():
            watch.cancel()

    def _finish(self, page: Page) -> None:
        self._finish_page(page)
        self._moved.set()

    # -- what waits ------------------------------------------------------------------------------------------------

    def put(self, window: Window, *, first: bool = False) -> None:
        """Let `window` wait for its turn; `first` for one that had it already."""
        if self.lost is not None:
            self._give_up(window, self.lost)
            return
        (self._ready.appendleft if first else self._ready.append)(window)
        self._desk.dispatch()

    def full(self) -> bool:
        """Whether enough pages wait to be sent: one for each request that may be under way, and not too many bytes."""
        if not self._ready:
            return False
        at_once = self.options.concurrency
        ahead = sum(at_once or int(self._desk.gate(endpoint).limit) for endpoint in self.usable())
        return len(self._ready) >= max(2, ahead) or sum(window.size for window in self._ready) > _AHEAD_BYTES

    async def move(self) -> None:
        """Wait until something has come about."""
        self._moved.clear()
        await self._moved.wait()

    def usable(self) -> list[Endpoint]:
        """The endpoints that are not given up."""
        return [endpoint for endpoint in self.endpoints if endpoint not in self._gone]

    # -- asking ----------------------------------------------------------------------------------------------------

    def start_one(self, desk: Desk) -> bool:
        """Send the next window where there is room; the desk calls it in its turn."""
        if not self._ready:
            return False
        free = []
        for endpoint in self.usable():
            gate = desk.gate(endpoint)
            if gate.down:
                self._watch(endpoint)
            elif gate.room(self.options.concurrency, self._mine[endpoint]):
                free.append((gate.active / gate.limit, self._sent[endpoint], endpoint))
        if not free:
            return False
        # The least busy one; among equals the one that has had least, so that idle ones share the pages too.
        endpoint = min(free, key=lambda one: one[:2])[2]
        window = self._ready.popleft()
        window.begin()
        asking = self._ask(endpoint, window)
        try:
            task = self._group.create_task(asking)
        except RuntimeError:
            # This call is ending; the turn of another one has brought us here.
            asking.close()
            return False
        ticket = object()
        self.asked[ticket] = window
        self._sent[endpoint] += 1
        self._mine[endpoint] += 1
        endpoint.in_flight += len(window.items)
        gate = desk.gate(endpoint)
        told = self.options.concurrency is not None
        gate.active += 1
        gate.told += told

        def give_back(_task: Any) -> None:
            # By a callback, because a task that is cancelled before its first step runs nothing of its own.
            gate.active -= 1
            gate.told -= told
            self._mine[endpoint] -= 1
            endpoint.in_flight -= len(window.items)
            self.asked.pop(ticket)
            self._moved.set()
            desk.dispatch()

        task.add_done_callback(give_back)
        self._moved.set()
        return True

    async def _ask(self, endpoint: Endpoint, window: Window) -> None:
        began = time.monotonic()
        try:
            raise_failure(endpoint)
            body = await self._body(window, endpoint)
            self.tally.requests += 1
            answer = await client.ask(endpoint, body, on_text=window.read)
            self.tally.pieces += window.pieces
            self.tally.tokens += answer.tokens or window.pieces
            if answer.finish_reason == "cut":
                window.cut = _longer(window.cut, answer)
                raise client.RequestError(_CUT, again=True, lost=True)  # noqa: TRY301 - a lost connection as any other
        except client.RequestError as error:
            await self._refused(endpoint, window, error, began)
        else:
            self._desk.gate(endpoint).answered(began, answer.first, answer.seconds)
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
            return await self._image(item, spec or self.spec)
        except SourceError as error:
            raise client.RequestError(error.what, error.why, error.next, status=0) from None

    async def _settle(self, endpoint: Endpoint, window: Window, answer: client.Answer) -> None:
        """Take the pages of an answer, or ask once more where that may give better ones."""
        pages = self.pages(window, answer)
        if len(pages) > 1:
            await self._settle_many(endpoint, window, answer, pages)
            return
        more = window.once_more(pages[0], endpoint, self.options)
        if more is not None:
            self._put_back(more)
            return
        page = window.best(pages[0], self.options)
        self.open -= 1
        self._finish(page)
        if pages[0].status is Status.OK:
            await self.kept.put(window.shas[0], endpoint, pages[0], answer)

    async def _settle_many(
        self, endpoint: Endpoint, window: Window, answer: client.Answer, pages: Sequence[Page]
    ) -> None:
        """Keep the pages of a window that are sure, and ask for the others in smaller windows."""
        opened = pages_opened(parse_answer(answer.text), len(pages))
        statuses = [page.status for page in pages]
        parts = split(range(len(pages)), statuses, opened=opened, stopped=answer.finish_reason == "stop")
        self.open += len(parts.again) - 1
        for part in reversed(parts.again):
            self._put_back(window.some(part))
        for n in parts.kept:
            self._finish(pages[n])
        if not parts.again:
            self.lengths.saw(len(pages), answer.tokens)
        for n in parts.kept:
            if pages[n].status is Status.OK:
                await self.kept.put(window.shas[n], endpoint, pages[n], answer)

    def pages(self, window: Window, answer: client.Answer) -> list[Page]:
        """The pages of `window` as `answer` describes them."""
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
        if move.what == "stop" and error.lost and await ready(endpoint):
            # It is there, so that the page is at fault.
            move = Move("fail")
        elif (
            move.what == "fail"
            and (error.status or 0) >= 500
            and window.lost < LOST_TRIES
            and not await ready(endpoint)
        ):
            # A gateway answers in place of an engine that has gone.
            window.lost += 1
            move = Move("down")
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
            self.open += 1
            for half in reversed(window.halves()):
                self._put_back(half)
        else:
            self._give_up(window, error)

    def _put_back(self, window: Window) -> None:
        self.put(window, first=True)

    def _give_up(self, window: Window, error: client.RequestError) -> None:
        """Give the pages of `window` the status that they are left with."""
        self.open -= 1
        for item, image in zip(window.items, window.images, strict=True):
            if window.cut is not None and len(window.items) == 1:
                page = self.pages(window, window.cut)[0]
            else:
                reason = not_asked(error) if error is self.lost else error.reason
                page = page_without_answer(item.position, image, self.spec, Status.FAILED, reason)
            self._finish(window.best(page, self.options))

    def _leave_endpoint(self, endpoint: Endpoint, error: client.RequestError) -> None:
        """Ask nothing more of `endpoint`; where no other is left, the pages that wait have failed."""
        self._gone.add(endpoint)
        self.error = error
        if not self.usable():
            self.lost = error
            while self._ready:
                self._give_up(self._ready.popleft(), error)
        self._moved.set()

    def _watch(self, endpoint: Endpoint) -> None:
        """Look out for an endpoint that does not answer, until it does."""
        if endpoint not in self._watches and endpoint not in self._gone:
            self._watches[endpoint] = self._group.create_task(self._look_out(endpoint))

    async def _look_out(self, endpoint: Endpoint) -> None:
        patience = PATIENCE if endpoint in self._answered else _SHORT_PATIENCE
        try:
            await wait_until_back(endpoint, patience, self._take_another)
        except client.RequestError as error:
            self._leave_endpoint(endpoint, error)
        finally:
            self._watches.pop(endpoint, None)
        if endpoint not in self._gone:
            self.kept.forget(endpoint)
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

    # -- for the caller --------------------------------------------------------------------------------------------

    def so_far(self) -> tuple[Page, ...]:
        """The pages that are being read, with the blocks that have arrived."""
        pages = [page for window in list(self.asked.values()) for page in window.so_far(self.spec)]
        return tuple(sorted(pages, key=lambda page: page.position))

    def waiting(self, total: int) -> str:
        """Why nothing goes on, in a sentence; empty when it goes on. `total` is the number of pages in all."""
        names = [endpoint.name for endpoint in list(self._watches)]
        if not names or len(names) < len(self.usable()):
            return ""
        left = total - len(self.tally.done)
        many = f"{left:,} pages wait" if left != 1 else "1 page waits"
        verb = "does" if len(names) == 1 else "do"
        return f"{' and '.join(names)} {verb} not answer; {many}. Interrupt the cell; pages that are done are kept."


def not_asked(error: client.RequestError) -> str:
    """Why a page was not asked for."""
    return f"Not asked. {error.reason}"


def _longer(one: client.Answer | None, other: client.Answer) -> client.Answer:
    return one if one is not None and len(one.text) >= len(other.text) else other
