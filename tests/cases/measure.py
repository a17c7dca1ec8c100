"""What a case costs and what it prints: seconds, memory of the client and its worker, noise on the terminal."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import psutil

from uocr_nb.sources import default_renderer

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Memory", "Noise", "listen"]

_TICK = 0.05


class Memory:
    """The most that this process and its render worker held together, looked at twenty times a second."""

    def __init__(self) -> None:
        self.peak = 0.0
        """MB of both."""
        self.worker = 0.0
        """MB of the worker alone."""
        self._lap = 0.0
        self._own = psutil.Process()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()
        self.look()

    def _watch(self) -> None:
        while not self._end.wait(_TICK):
            self.look()

    def look(self) -> None:
        """Measure now."""
        worker = 0.0
        pid = default_renderer().worker_pid
        if pid is not None:
            with contextlib.suppress(psutil.Error):
                worker = psutil.Process(pid).memory_info().rss / 1e6
        both = self._own.memory_info().rss / 1e6 + worker
        self.worker = max(self.worker, worker)
        self.peak = max(self.peak, both)
        self._lap = max(self._lap, both)

    def lap(self) -> float:
        """MB of both at most since the last call."""
        self.look()
        most, self._lap = self._lap, 0.0
        return most


@dataclass
class Noise:
    """What was printed past Python, by C libraries for one."""

    text: str = ""


@contextlib.contextmanager
def listen() -> Iterator[Noise]:
    """Catch everything that is written to the terminal, also by libraries and threads."""
    noise = Noise()
    sys.stdout.flush()
    sys.stderr.flush()
    saved = os.dup(1), os.dup(2)
    with tempfile.TemporaryFile() as caught:
        os.dup2(caught.fileno(), 1)
        os.dup2(caught.fileno(), 2)
        try:
            yield noise
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            for number, original in enumerate(saved, 1):
                os.dup2(original, number)
                os.close(original)
            caught.seek(0)
            noise.text = caught.read().decode("utf-8", "replace").strip()
