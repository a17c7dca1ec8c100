"""Keeping downloads within bounds: an end to each, whatever the other side does, and turns among those of one host."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from uocr_nb.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["CutError", "Line", "hold", "stopped", "turn"]

_LOOK = 0.1
"""Seconds between two looks at the lines that are open, and most of a wait that cannot be ended otherwise."""

_GRACE = 20.0
"""Seconds in which a download may be as slow as it likes."""


_leaving = threading.Event()
"""Set when the process is about to end."""


def stopped(stop: threading.Event | None) -> bool:
    """Tell whether a wait must end: because somebody says so, or with the process."""
    return _leaving.is_set() or (stop is not None and stop.is_set())


class CutError(SourceError):
    """A download that was ended from this side."""


class Line:
    """One download: how long it may take, and the way to end it.

    Parameters
    ----------
    seconds : float
        From now to its end.
    stop : Event, optional
        Ends it when it is set.
    """

    def __init__(self, seconds: float, stop: threading.Event | None = None) -> None:
        self._began = time.monotonic()
        self._seconds = seconds
        self._stop = stop
        self._socket: socket.socket | None = None
        self._due = float("inf")
        self.cut: CutError | None = None

    @property
    def over(self) -> bool:
        """Whether it must end now."""
        if self.cut is None:
            if time.monotonic() - self._began > self._seconds:
                self.end(f"It took longer than {self._seconds:g} s.")
            elif time.monotonic() > self._due:
                self.end("The server did not begin to answer in time.")
            elif stopped(self._stop):
                self.end("It was stopped.")
        return self.cut is not None

    def attach(self, connection: socket.socket | None) -> None:
        """Know the connection that it uses now."""
        self._socket = connection
        self.check()

    def expect(self, seconds: float | None) -> None:
        """End it when an answer has not begun after so many seconds; None once it has."""
        self._due = float("inf") if seconds is None else time.monotonic() + seconds

    def check(self) -> None:
        """Raise `CutError` when it must end."""
        if self.over and self.cut is not None:
            raise self.cut

    def check_pace(self, size: int, least: float) -> None:
        """End it when `size` bytes are fewer than `least` a second would have brought."""
        taken = time.monotonic() - self._began
        if taken > _GRACE and size < least * taken:
            self.end(f"It is too slow: {size:,} bytes in {taken:.0f} s.")
        self.check()

    def end(self, why: str) -> None:
        """End it: whoever waits for bytes wakes up."""
        if self.cut is None:
            self.cut = CutError("The download was ended.", why, "Try again later.")
        connection = self._socket
        if connection is not None:
            with contextlib.suppress(OSError):
                # The plain socket's own way: that of a TLS one takes it apart while another thread reads.
                socket.socket.shutdown(connection, socket.SHUT_RDWR)

    def sleep(self, seconds: float) -> None:
        """Wait, but no longer than it may take."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self.check()
            time.sleep(min(left, _LOOK))


@dataclass
class _Watch:
    """The thread that ends lines in time; it lives as long as there are any."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    lines: set[Line] = field(default_factory=set)
    thread: threading.Thread | None = None

    def add(self, line: Line) -> None:
        with self.lock:
            self.lines.add(line)
            if self.thread is None:
                self.thread = threading.Thread(target=self._run, name="uocr-downloads", daemon=True)
                self.thread.start()

    def remove(self, line: Line) -> None:
        with self.lock:
            self.lines.discard(line)

    def _run(self) -> None:
        while True:
            time.sleep(_LOOK)
            with self.lock:
                lines = list(self.lines)
                if not lines:
                    self.thread = None
                    return
            for line in lines:
                _ = line.over


@dataclass
class _Host:
    """Whose turn it is at one host, and from when on it may be asked again."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    ready: float = 0.0


_watch = _Watch()
_hosts: dict[str, _Host] = {}
_hosts_lock = threading.Lock()

_LONGEST = 3600.0
"""Most seconds that a host is left alone, whatever it asks for."""

_MOST_HOSTS = 64
"""Hosts remembered; those that nobody waits for are forgotten first."""


@contextlib.contextmanager
def hold(line: Line) -> Iterator[None]:
    """Watch over `line` while it is used."""
    _watch.add(line)
    try:
        yield
    finally:
        _watch.remove(line)


@contextlib.contextmanager
def turn(name: str, gap: float, patience: float, line: Line) -> Iterator[Callable[[float], None]]:
    """Wait for one's turn at a host: one request at a time, `gap` seconds apart.

    The function that is given asks everybody to leave the host alone for so many seconds; when these are more than
    `patience`, it is not asked at all meanwhile.
    """
    host = _host(name)
    while not host.lock.acquire(timeout=_LOOK):
        line.check()
    waits = [gap]
    try:
        left = host.ready - time.monotonic()
        if left > patience:
            raise CutError(
                "The download was ended.", f"{name} asks to be left alone for {left:,.0f} s more.", "Try again later."
            )
        line.sleep(left)
        yield waits.append
    finally:
        host.ready = max(host.ready, time.monotonic() + min(max(waits), _LONGEST))
        host.lock.release()


def _host(name: str) -> _Host:
    with _hosts_lock:
        if len(_hosts) > _MOST_HOSTS:
            now = time.monotonic()
            for old in [key for key, host in _hosts.items() if host.ready < now and not host.lock.locked()]:
                del _hosts[old]
        return _hosts.setdefault(name, _Host())


def _after_fork() -> None:
    """In a forked child: no lock that another thread may have held, and no thread."""
    global _watch, _hosts_lock
    _watch, _hosts_lock = _Watch(), threading.Lock()
    _hosts.clear()


_register: Callable[..., None] | None = getattr(os, "register_at_fork", None)
if _register is not None:
    _register(after_in_child=_after_fork)

# An executor waits for its threads before the hooks of `atexit` are run, so that these come too late for a download in
# such a thread. Executors themselves are told in this way, which has no public name.
_before_threads: Callable[..., None] | None = getattr(threading, "_register_atexit", None)
if _before_threads is not None:
    import concurrent.futures.thread  # noqa: F401 - what is registered last is called first

    _before_threads(_leaving.set)
