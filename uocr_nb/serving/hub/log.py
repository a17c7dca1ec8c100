"""The log of a Job, followed in a thread of its own: no line lost, none twice, however often the stream ends."""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING

from uocr_nb.serving.hub.ending import job_path

if TYPE_CHECKING:
    from collections.abc import Callable

    from uocr_nb.serving.hub.client import HubClient

_MARK = "===== Job started at "
"""How the Hub opens every stream; not the engine's own."""

_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_SILENCE = 120.0
"""Seconds without a sign of life (the Hub sends one every 30) after which the stream is opened anew."""

_PAUSE, _LONGEST_PAUSE = 0.5, 10.0
_MAX_LINE = 4000


class JobLog:
    """Follows a Job's log.

    Parameters
    ----------
    hub : HubClient
        Who is asked.
    namespace, job_id : str
        The Job.
    on_line : callable
        Called in this thread with each new line.
    over : callable
        Tells whether the Job has ended; then the end of the stream is the end of the log.
    """

    def __init__(
        self, hub: HubClient, namespace: str, job_id: str, on_line: Callable[[str], None], over: Callable[[], bool]
    ) -> None:
        self._hub = hub
        self._path = job_path(namespace, job_id) + "/logs"
        self._on_line = on_line
        self._over = over
        self._seen: Counter[int] = Counter()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow, name=f"log of {job_id}", daemon=True)
        self.on_end: Callable[[], None] = lambda: None
        self.starts = 0
        self.last_at = time.monotonic()

    def start(self) -> None:
        """Begin to follow."""
        self._thread.start()

    def stop(self) -> None:
        """Follow no longer; the thread ends with the next event."""
        self._stop.set()

    def wait(self, seconds: float) -> None:
        """Wait for the last line, or so many seconds."""
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join(seconds)

    def _follow(self) -> None:
        pause = _PAUSE
        while not self._stop.is_set():
            before, ended = sum(self._seen.values()), self._over()
            whole = self._read_stream()
            if self._stop.is_set() or (ended and whole):
                return
            # Often the first sign that the Job has ended.
            self.on_end()
            pause = _PAUSE if sum(self._seen.values()) > before else min(pause * 1.6, _LONGEST_PAUSE)
            self._stop.wait(pause)

    def _read_stream(self) -> bool:
        """Read one stream to its end; tell whether it came to a clean one."""
        # The Hub sends the whole log on every connection, so what is new is what came more often than before.
        now: Counter[int] = Counter()
        starts = 0
        try:
            for event in self._hub.events(self._path, silence=_SILENCE):
                if self._stop.is_set():
                    return False
                if event is None:
                    continue
                text = str(event.get("data", ""))
                if text.startswith(_MARK):
                    starts += 1
                    self.starts = max(self.starts, starts)
                    continue
                key = hash((event.get("timestamp"), text))
                now[key] += 1
                if now[key] > self._seen[key]:
                    self._seen[key] = now[key]
                    self.last_at = time.monotonic()
                    self._tell(text)
        except ConnectionError:
            return False
        return True

    def _tell(self, text: str) -> None:
        # A progress bar writes over its own line: what stands at the end is what a terminal would show.
        pieces = [piece for piece in text.split("\r") if piece.strip()]
        self._on_line(_COLOURS.sub("", pieces[-1] if pieces else "")[:_MAX_LINE])
