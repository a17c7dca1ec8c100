"""Who may ask which endpoint now: how many requests each endpoint takes, and turns among the calls that share it.

Everything here belongs to the background loop and is used there alone, so it needs no lock.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
import weakref
from collections import deque
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from uocr_nb.serving.endpoint import Endpoint

__all__ = ["Caller", "Desk", "Gate", "the_desk"]

MOST = 64
"""Requests at once that are found without being asked for; an engine for one GPU gains nothing beyond."""

_SPARE = 1.25
"""Requests kept at an engine for each of its slots, so that the next one is there when a slot falls free."""

_WAITED = 0.25
"""Share of a request's time spent before its first word, from which the engine is taken to be full."""

_FULL = 0.4
"""The same, from which it is taken to have more than it can do."""

_GROWTH = 1.25
"""By how much the number at once grows in one step."""

_BACK = 0.7
"""What a refusal for too many requests leaves of the number at once."""


class Gate:
    """How many requests one endpoint takes at once, found from how it answers.

    Attributes
    ----------
    active : int
        Requests under way, of all calls.
    told : int
        Of these, the ones of calls that were told how many to have at once.
    down : bool
        Whether it does not answer at all at the moment.
    """

    def __init__(self, slots: int) -> None:
        self.active = self.told = 0
        self.down = False
        self._least = float(max(1, slots))
        # An engine that reads one page at a time has its next one waiting already.
        self._limit = self._least * _SPARE if slots >= 4 else self._least
        self._ceiling: float | None = None
        self._held_until = 0.0
        self._lowered = 0.0
        self._raised = 0.0

    def room(self, wanted: int | None, mine: int) -> bool:
        """Tell whether one more request may go out for a call that has `mine` of them under way.

        Parameters
        ----------
        wanted : int or None
            The number at once that the call was told to keep to; None leaves it to the gate.
        """
        if self.down or time.monotonic() < self._held_until:
            return False
        if self._ceiling is not None and self.active >= int(self._ceiling):
            return False
        if wanted is None:
            # A call that was told to have many at once leaves the others what they would have without it.
            return self.active - self.told < int(self.limit)
        return mine < wanted

    @property
    def limit(self) -> float:
        """Requests at once, as found so far."""
        return min(self._limit, self._ceiling or MOST)

    @property
    def held(self) -> float:
        """Seconds for which the endpoint has asked to be left alone."""
        return max(0.0, self._held_until - time.monotonic())

    def answered(self, began: float, first: float, seconds: float) -> None:
        """Learn from an answer that was asked for at `began` (monotonic) and took `seconds`, `first` to its first word.

        While the first word comes soon, the engine has room and gets a quarter more at once; only a request that was
        sent after one step tells whether there is room for the next. When much of the time is waiting, the number is
        taken back bit by bit.
        """
        share = first / seconds if seconds > 0 else 1.0
        if share < _WAITED and began >= self._raised and self.active >= int(self._limit):
            self._limit = min(max(self._limit + 1, self._limit * _GROWTH), max(MOST, self._least))
            self._raised = time.monotonic()
        elif share > _FULL:
            self._limit = max(self._limit - 0.25, min(self._least * _SPARE, self._limit))
        if self._ceiling is not None:
            self._ceiling += 0.25
            if self._ceiling >= max(MOST, self._limit):
                self._ceiling = None

    def refused(self, began: float, wait: float) -> None:
        """Learn from a refusal for too many requests (429, 503) to one that was sent at `began` (monotonic)."""
        now = time.monotonic()
        self._held_until = max(self._held_until, now + wait)
        # Requests that went out before the number was lowered say nothing about the lower number.
        if began > self._lowered:
            self._lowered = now
            self._ceiling = max(1.0, min(self.limit, self.active) * _BACK)


class Caller(Protocol):
    """A call that has pages to ask for."""

    def start_one(self, desk: Desk) -> bool:
        """Send one request if there is one and a gate has room for it; tell whether it did."""


class Desk:
    """Gives each call in turn the next free place at an endpoint that it uses."""

    def __init__(self) -> None:
        self._callers: deque[Caller] = deque()
        self._gates: weakref.WeakKeyDictionary[Endpoint, Gate] = weakref.WeakKeyDictionary()
        self._timer: asyncio.TimerHandle | None = None

    def gate(self, endpoint: Endpoint) -> Gate:
        """The gate of `endpoint`, the same for all calls."""
        found = self._gates.get(endpoint)
        if found is None:
            found = self._gates[endpoint] = Gate(endpoint.slots)
        return found

    def join(self, caller: Caller) -> None:
        """Let `caller` take its turns."""
        self._callers.append(caller)

    def leave(self, caller: Caller) -> None:
        """Forget `caller`."""
        with contextlib.suppress(ValueError):
            self._callers.remove(caller)

    def dispatch(self) -> None:
        """Send what can be sent now: one request for each call in turn, until no gate has room."""
        missed = 0
        while missed < len(self._callers):
            caller = self._callers[0]
            self._callers.rotate(-1)
            missed = 0 if caller.start_one(self) else missed + 1
        waits = [gate.held for gate in self._gates.values() if gate.held]
        if waits and self._callers:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = asyncio.get_running_loop().call_later(min(waits) + 0.01, self.dispatch)


_desk: tuple[asyncio.AbstractEventLoop, Desk] | None = None


def the_desk() -> Desk:
    """The desk of the running loop (a forked child has a loop of its own)."""
    global _desk  # noqa: PLW0603 - one for the process is the point
    loop = asyncio.get_running_loop()
    if _desk is None or _desk[0] is not loop:
        _desk = (loop, Desk())
    return _desk[1]
