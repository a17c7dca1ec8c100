"""Processes under a stopwatch and on the scales (Linux): the simulated engine, and a client with all its children."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
EVERY = 0.2
"""Seconds between two looks at the memory."""


class Engine:
    """A simulated engine in a process of its own."""

    def __init__(self, *arguments: str) -> None:
        self._child = subprocess.Popen(
            [sys.executable, str(HERE / "simulated_engine.py"), *arguments], stdout=subprocess.PIPE, text=True
        )
        assert self._child.stdout is not None
        self.url: str = json.loads(self._child.stdout.readline())["url"]

    def call(self, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Ask for `path`, or post to it."""
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(self.url.removesuffix("/v1") + path, data, timeout=30) as answer:
            found: dict[str, Any] = json.load(answer)
        return found

    def stats(self) -> dict[str, Any]:
        """What it has seen since the last reset."""
        return self.call("/stats")

    def close(self) -> None:
        """End it."""
        self._child.terminate()
        self._child.wait(10)
        if self._child.stdout is not None:
            self._child.stdout.close()

    def __enter__(self) -> Engine:  # noqa: PYI034 - as everywhere in this project
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def tree(pid: int) -> Iterator[int]:
    """A process and all that descend from it."""
    yield pid
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                for child in (task / "children").read_text().split():
                    yield from tree(int(child))


def pss(pid: int) -> float:
    """MiB of a process and its children, what they share counted once."""
    total = 0
    for one in tree(pid):
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{one}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1])
    return total / 1024


class Scales:
    """The memory of a process tree over time."""

    def __init__(self, pid: int) -> None:
        self.samples: list[tuple[float, float]] = []
        self._pid = pid
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._weigh, daemon=True)
        self._thread.start()

    def _weigh(self) -> None:
        while not self._stop.is_set():
            self.samples.append((time.monotonic(), pss(self._pid)))
            self._stop.wait(EVERY)

    def stop(self) -> None:
        """Weigh no more."""
        self._stop.set()
        self._thread.join()

    def peak(self) -> float:
        """The most that was seen."""
        return max(mib for _, mib in self.samples)

    def at(self, when: float) -> float:
        """The memory at a moment (monotonic), as it was seen last before."""
        return [mib for moment, mib in self.samples if moment <= when][-1]


def client(script: str, *arguments: str) -> dict[str, Any]:
    """Run a client of this folder until it ends; what it printed, its memory, and what files it left.

    The script says when it is ready to be measured by a first line, and begins when it is sent one.
    """
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        places = {key: str(folder / key.lower()) for key in ("TMPDIR", "UOCR_CACHE_DIR", "UOCR_STATE_DIR")}
        for place in places.values():
            Path(place).mkdir()
        child = subprocess.Popen(
            [sys.executable, str(HERE / script), *arguments, "--wait"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | places | {"PYTHONPATH": str(HERE.parent)},
        )
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdout.readline()
        started = pss(child.pid)
        scales = Scales(child.pid)
        child.stdin.write("\n")
        child.stdin.flush()
        line = child.stdout.readline()
        scales.stop()
        child.stdin.close()
        child.wait(60)
        child.stdout.close()
        if not line:
            raise RuntimeError(f"{script} ended with status {child.returncode} and no result")
        found: dict[str, Any] = json.loads(line)
        kept = sum(1 for path in (folder / "uocr_cache_dir" / "answers").rglob("*") if path.is_file())
        left = sum(1 for path in folder.rglob("*") if path.is_file())
        found |= {"memory_start": started, "memory_peak": scales.peak(), "answers_kept": kept, "left": left - kept}
        at = found.pop("done_at", [])
        found["memory_at"] = {n: scales.at(found["began"] + at[n - 1]) for n in (100, 500, 1000) if n <= len(at)}
    return found
