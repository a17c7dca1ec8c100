"""Threads that work for the views, so that neither a cell nor a message of the browser waits for them."""

from __future__ import annotations

import logging
import queue
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Hands"]

_log = logging.getLogger("uocr_nb")


class Hands:
    """A few threads that take work in the order in which it comes; they never hold up the end of the process.

    Parameters
    ----------
    name : str
        Of the threads.
    threads : int
        How many, at most.
    """

    def __init__(self, name: str, threads: int) -> None:
        self._name = name
        self._most = threads
        self._started = 0
        self._lock = threading.Lock()
        self._work: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()

    def give(self, work: Callable[[], None]) -> None:
        """Have `work` done soon."""
        self._work.put(work)
        with self._lock:
            if self._started < self._most:
                self._started += 1
                threading.Thread(target=self._go, name=self._name, daemon=True).start()

    def _go(self) -> None:
        while True:
            work = self._work.get()
            try:
                work()
            except Exception:  # noqa: BLE001 - the next work is done all the same
                _log.exception("Something that a view was asked for failed.")
