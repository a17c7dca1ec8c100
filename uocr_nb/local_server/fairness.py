"""Who comes next: one place for each client in turn, a bounded number of waiting requests."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from uocr_nb.local_server.faults import Fault

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

__all__ = ["FairQueue"]


class FairQueue:
    """Lets `slots` requests work at once and passes a free place to the next client in turn.

    Parameters
    ----------
    slots : int
        Requests that work at the same time.
    longest : int
        Requests that may wait.
    """

    def __init__(self, slots: int = 1, longest: int = 64) -> None:
        self._free = slots
        self._longest = longest
        # One line of waiting requests for each client; the client served last goes to the end.
        self._lines: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    @property
    def waiting(self) -> int:
        """Requests that wait."""
        return sum(len(line) for line in self._lines.values())

    @asynccontextmanager
    async def turn(self, client: str) -> AsyncIterator[None]:
        """Wait for a place, hold it, give it back.

        Raises
        ------
        Fault
            503 when too many wait already.
        """
        await self._enter(client)
        try:
            yield
        finally:
            self._leave()

    def refuse_when_full(self) -> None:
        """Raise what `turn` would raise, before anything is answered.

        Raises
        ------
        Fault
            503 when too many wait already.
        """
        if not self._free and self.waiting >= self._longest:
            raise Fault(503, f"The server is busy: {self.waiting} requests wait. Please try again.", retry_after=5)

    async def _enter(self, client: str) -> None:
        if self._free and not self._lines:
            self._free -= 1
            return
        self.refuse_when_full()
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._lines.setdefault(client, deque()).append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self._leave()  # the place had just been given: pass it on
            else:
                self._drop(client, place)
            raise

    def _drop(self, client: str, place: asyncio.Future[None]) -> None:
        line = self._lines.get(client)
        if line is not None and place in line:
            line.remove(place)
            if not line:
                del self._lines[client]

    def _leave(self) -> None:
        while self._lines:
            client, line = next(iter(self._lines.items()))
            place = line.popleft()
            del self._lines[client]
            if line:
                self._lines[client] = line
            if not place.done():
                place.set_result(None)
                return
        self._free += 1
