"""What can go wrong at the Hub, in its proxy and in a Job: one dataclass a fault, handed to ``Hub.add``.

A fault waits in a list until a request (or a new Job) fits it. The first that fits is used, once for each of its
``times``; ``times=None`` is for good, until ``Hub.clear``.

Routes: ``whoami hardware run list inspect logs metrics cancel labels expose duplicate auth proxy unknown``, or ``*``.
"""

from __future__ import annotations

import dataclasses
import re
import threading
from dataclasses import dataclass
from typing import Any, Literal, TypeVar


@dataclass(kw_only=True)
class Fault:
    """What all faults share."""

    times: int | None = 1


@dataclass(kw_only=True)
class RouteFault(Fault):
    """A fault of a request; `path` is a piece of the path, `skip` lets so many fitting requests pass before."""

    route: str = "*"
    path: str = ""
    job_id: str = ""
    skip: int = 0


@dataclass(kw_only=True)
class Answer(RouteFault):
    """Answer with this status and do nothing. An empty message becomes the status's usual text."""

    status: int = 503
    message: str = ""
    headers: dict[str, str] = dataclasses.field(default_factory=dict)
    body: str | None = None
    """Sent as it is, for answers that are no JSON (a login page, half a JSON)."""


@dataclass(kw_only=True)
class Lost(RouteFault):
    """Do what was asked (a Job is created, a cancel is done), then lose the answer. Routes of the API only."""

    how: Literal["close", "reset", "silence", "status"] = "close"
    status: int = 500


@dataclass(kw_only=True)
class Silent(RouteFault):
    """Accept, read the request, never answer, do nothing."""


@dataclass(kw_only=True)
class Hangup(RouteFault):
    """Close the connection without an answer, do nothing."""

    reset: bool = True


@dataclass(kw_only=True)
class Slow(RouteFault):
    """Answer rightly, but late. `created` says whether the work is done before the wait or after it.

    The work is done also when the client has gone in the meantime: its request had arrived.
    """

    seconds: float = 1.0
    created: bool = False


@dataclass(kw_only=True)
class CutLogs(RouteFault):
    """End a log stream after so many events (the start mark is one): by a cut connection or by a clean end."""

    route: str = "logs"
    after: int = 1
    how: Literal["drop", "end"] = "drop"


@dataclass(kw_only=True)
class QuietLogs(RouteFault):
    """A log stream that carries nothing but keep-alive comments."""

    route: str = "logs"
    every: float = 0.2


@dataclass(kw_only=True)
class JobFault(Fault):
    """A fault of a Job, taken when it is created."""


@dataclass(kw_only=True)
class Queue(JobFault):
    """The Job waits in the queue: seconds, or None for ever. `marks` repeats the start mark in its log meanwhile."""

    seconds: float | None = None
    marks: int = 0
    message: str | None = None


@dataclass(kw_only=True)
class Death(JobFault):
    """The Job dies as soon as its log has `line` lines, or a line that `match` (a pattern) finds."""

    line: int | None = None
    match: str | None = None
    code: int = 137
    message: str | None = None
    stage: str = "ERROR"

    def strikes(self, number: int, text: str) -> bool:
        """Whether line `number` (from 1) ends the Job."""
        return number == self.line or (self.match is not None and re.search(self.match, text) is not None)


@dataclass(kw_only=True)
class NoUrls(JobFault):
    """``exposeUrls`` is missing: while the Job is in the queue, in the first `looks` answers, or always."""

    until: Literal["running", "looks", "never"] = "never"
    looks: int = 3


@dataclass(kw_only=True)
class Engine(JobFault):
    """How the stand-in engine of a Job behaves (read by ``tests/hub/engine.py``)."""

    startup: float = 0.1
    """Seconds until it is ready."""
    lines: list[str] = dataclasses.field(default_factory=list)
    """Lines written while it starts."""
    fatal: str = ""
    """The line it dies with; empty = it lives."""
    fatal_at: Literal["start", "weights", "ready"] = "weights"
    exit_code: int = 1
    stuck: bool = False
    """Never gets ready, and does not end."""
    answer: str = ""
    """The text of one page; empty = the fixed tagged page."""
    piece: int = 12
    """Characters in one streamed event."""
    delay: float = 0.0
    """Seconds between two streamed events."""
    think: float = 0.0
    """Seconds before the first event."""
    die_after: int | None = None
    """Dies in the middle of the answer with this number (from 1)."""
    refuse: int = 0
    """Answers every chat request with this status; 0 = it does not."""
    metrics: bool = True
    pip_exit: int = 0
    backend: Literal["fixed", "cpu"] = "fixed"
    """``cpu``: the project's real CPU engine reads the pages behind this face."""


FAULTS: dict[str, type[Fault]] = {
    kind.__name__: kind
    for kind in (Answer, Lost, Silent, Hangup, Slow, CutLogs, QuietLogs, Queue, Death, NoUrls, Engine)
}
_OfRoute = TypeVar("_OfRoute", bound=RouteFault)
_OfJob = TypeVar("_OfJob", bound=JobFault)


def to_json(fault: Fault) -> dict[str, Any]:
    """Write a fault so that ``from_json`` makes it again in another process."""
    return {"fault": type(fault).__name__, **dataclasses.asdict(fault)}


def from_json(data: dict[str, Any]) -> Fault:
    """Read what ``to_json`` wrote."""
    fields = dict(data)
    return FAULTS[fields.pop("fault")](**fields)


class Script:
    """The faults that wait, in order."""

    def __init__(self) -> None:
        self._waiting: list[Fault] = []
        self._lock = threading.Lock()

    def add(self, *faults: Fault) -> None:
        """Append faults (copies: the caller's own stay as they are)."""
        with self._lock:
            self._waiting += [dataclasses.replace(fault) for fault in faults]

    def clear(self) -> None:
        """Forget every fault that waits."""
        with self._lock:
            self._waiting.clear()

    def waiting(self) -> list[Fault]:
        """List the faults that wait, with what is left of their times."""
        with self._lock:
            return [dataclasses.replace(fault) for fault in self._waiting]

    def _use(self, fault: Fault) -> None:
        if fault.times is not None:
            fault.times -= 1
            if fault.times <= 0:
                self._waiting.remove(fault)

    def for_request(self, kinds: tuple[type[_OfRoute], ...], route: str, path: str, job_id: str) -> _OfRoute | None:
        """Take the first fault of these kinds that fits a request."""
        with self._lock:
            for fault in self._waiting:
                if not isinstance(fault, kinds) or fault.route not in {"*", route}:
                    continue
                if fault.path not in path or fault.job_id not in {"", job_id}:
                    continue
                if fault.skip > 0:
                    fault.skip -= 1
                    continue
                self._use(fault)
                return fault
        return None

    def for_job(self, kind: type[_OfJob]) -> _OfJob | None:
        """Take the first fault of this kind for a new Job."""
        with self._lock:
            for fault in self._waiting:
                if isinstance(fault, kind):
                    self._use(fault)
                    return fault
        return None
