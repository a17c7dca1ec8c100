"""Runs inside a Job: starts the engine, and ends the Job when nobody has asked for a page for some time.

The last net but one: when the laptop sleeps or the notebook's machine was taken, nobody outside cancels the Job. Its
source travels in the Job's command (`uocr_nb.serving.hub.command`), so it is one file of standard library alone, for
Python 3.8 and later, and is called as

    python3 -c SOURCE {"idle": 900, "at": "127.0.0.1:8000", ...} -- ENGINE ARGUMENTS...

The engine's own counters tell when a page was asked for; looks at health, models and counters do not move them, and a
request that is being answered keeps the Job however long it takes. Where the engine has no counters, its log tells.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import IO

ASKED = re.compile(rb'"POST /v1/|Running: [1-9]|#running-req: [1-9]')
"""What an engine's log says when it works: an access line at a request's end, a state line in its midst."""

GRACE = 10.0
"""Seconds between the request to end and the force."""


class Supervisor:
    """Watches one engine."""

    def __init__(self, settings: dict[str, Any], command: list[str]) -> None:
        self.idle = float(settings["idle"])
        self.url = "http://" + settings["at"]
        self.metrics = settings.get("metrics", "")
        self.health = settings.get("health", "/health")
        self.gauges = settings.get("gauges", [])
        self.counters = settings.get("counters", [])
        self.pause = min(5.0, max(0.05, self.idle / 20))
        self.command = command
        self.last: float | None = None
        self.counted: float | None = None
        self.busy = False
        self.by_log = not self.metrics
        self.over = threading.Event()
        # The engine is on this machine: no proxy leads to it.
        self.open = urllib.request.build_opener(urllib.request.ProxyHandler({})).open

    def run(self) -> int:
        """Start the engine, watch it to its end; return its exit status, 0 when it was ended for being idle."""
        engine = subprocess.Popen(
            self.command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda number, _: self.end(engine, number))
        reader = threading.Thread(target=self.forward, args=(engine.stdout,), daemon=True)
        reader.start()
        threading.Thread(target=self.watch, args=(engine,), daemon=True).start()
        status = engine.wait()
        reader.join(2.0)
        if self.over.is_set():
            return 0
        return 128 - status if status < 0 else status

    def forward(self, pipe: IO[bytes]) -> None:
        """Pass the engine's output on as it comes."""
        tail = b""
        while True:
            piece = os.read(pipe.fileno(), 65536)
            if not piece:
                return
            rest = piece
            while rest:
                rest = rest[os.write(1, rest) :]
            if self.by_log and ASKED.search(tail + piece) and self.last is not None:
                self.last = time.monotonic()
            tail = piece[-200:]

    def watch(self, engine: subprocess.Popen[bytes]) -> None:
        """End the engine when it has been idle for long enough."""
        while engine.poll() is None:
            time.sleep(self.pause)
            self.look()
            if self.last is not None and not self.busy and time.monotonic() - self.last >= self.idle:
                print(f"uocr_nb: no page was asked for in {self.idle:g} s, so this Job ends itself.", flush=True)
                self.over.set()
                self.end(engine, signal.SIGTERM)
                return

    def look(self) -> None:
        """Ask the engine for its counters once."""
        if self.by_log:
            if self.last is None and self.get(self.health)[0] == 200:
                self.last = time.monotonic()
            return
        status, text = self.get(self.metrics)
        if status in (404, 405):
            self.by_log = True
            return
        if status != 200:
            # It may be too busy to answer: what was known last still holds.
            return
        counted, gauges = totals(text, self.counters), totals(text, self.gauges)
        if counted is None and gauges is None:
            self.by_log = True
            return
        self.busy = bool(gauges)
        if self.busy or self.last is None or counted != self.counted:
            self.last = time.monotonic()
        self.counted = counted

    def get(self, path: str) -> tuple[int, str]:
        """Ask for a path; status 0 when nothing answers."""
        try:
            with self.open(self.url + path, timeout=5) as answer:
                return answer.status, answer.read().decode("utf-8", "replace")
        except Exception as error:  # noqa: BLE001 - whatever it is, the engine did not answer
            return getattr(error, "code", 0), ""

    def end(self, engine: subprocess.Popen[bytes], number: int) -> None:
        """Pass a signal on to the engine and all it started; force the end when that is not heeded."""
        send(engine.pid, number)
        timer = threading.Timer(GRACE, send, (engine.pid, signal.SIGKILL))
        timer.daemon = True
        timer.start()


def send(group: int, number: int) -> None:
    """Signal a group of processes."""
    with contextlib.suppress(OSError):
        os.killpg(group, number)


def totals(text: str, names: list[str]) -> float | None:
    """Sum the samples of these names; None when there is none."""
    found: float | None = None
    for line in text.splitlines():
        if line.startswith(tuple(names)) and re.split(r"[{ ]", line, maxsplit=1)[0] in names:
            with contextlib.suppress(ValueError):
                found = (found or 0.0) + float(line.rpartition(" ")[2])
    return found


def main(arguments: list[str]) -> int:
    """Run the engine named after the two dashes."""
    settings, _, *command = arguments
    return Supervisor(json.loads(settings), command).run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
