"""The worker process seen from here: started, asked, given up."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO, Any, cast

from uocr_nb.errors import SourceError
from uocr_nb.sources.worker import read_message, write_message
from uocr_nb.support.platform import own_session

__all__ = ["Gone", "TooSlow", "WorkerProcess"]

_START = 60.0
"""Seconds that the process may take to load its libraries (0.3 on an idle machine)."""

_PROGRAM = "import sys; sys.path.insert(0, sys.argv[1]); from uocr_nb.sources.worker import main; main()"

_SECRET = re.compile(r"TOKEN|KEY|SECRET|PASS|CREDENTIAL|AUTH", re.IGNORECASE)

_KEEP_MEMORY = {
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(128 << 20),
    "PILLOW_BLOCKS_MAX": "4",
}
"""For glibc and Pillow: a page's 10 MB are kept for the next page. Given back to the system and asked for again, they
cost as much as all the drawing: 30 ms a page instead of 16."""


class TooSlow(Exception):  # noqa: N818 - a finding, not a fault
    """No answer came in time; the process has been ended."""


class Gone(Exception):  # noqa: N818
    """The process ended instead of answering; `status` is how (negative: the signal)."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class WorkerProcess:
    """One running worker. Not thread-safe; `Renderer` holds a lock around it.

    Parameters
    ----------
    memory : int
        Bytes that the process may hold beyond its own size.

    Raises
    ------
    SourceError
        When the process does not come up.
    """

    def __init__(self, memory: int) -> None:
        root = Path(__file__).parents[2]
        # It opens files of unknown origin in C libraries, so what it has no use for is not in its reach.
        env = {name: value for name, value in os.environ.items() if not _SECRET.search(name)}
        env.update(_KEEP_MEMORY)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-W", "ignore", "-c", _PROGRAM, str(root)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            cwd=root,
            env=env,
            # An interrupt of the kernel goes to its whole group; this process outlives it.
            **own_session(),
        )
        self._answers: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._asked = 0
        stdout = cast("IO[bytes]", self._process.stdout)
        threading.Thread(target=_collect, args=(stdout, self._answers), name="uocr_nb pages", daemon=True).start()
        try:
            self._send({"memory": memory})
            failed = self._wait(0, _START).get("failed")
        except (Gone, TooSlow):
            failed = "No answer came from it."
        except BaseException:
            self.kill()
            raise
        if failed:
            self.kill()
            raise SourceError(
                "Pages cannot be drawn.",
                f"The process that opens PDFs and pictures did not start: {failed}",
                f"{sys.executable} -m pip install pypdfium2 pillow",
            )

    @property
    def pid(self) -> int:
        """Number of the process."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self._process.poll() is None

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Send `request` and wait for its answer.

        Raises
        ------
        TooSlow, Gone
            When none came; the process has ended then.
        """
        self._asked += 1
        try:
            self._send({**request, "id": self._asked})
            return self._wait(self._asked, seconds)
        except BaseException:
            # Also when the user interrupts: an answer that comes later would be taken for the next one's.
            self.kill()
            raise

    def kill(self) -> None:
        """End it at once."""
        with contextlib.suppress(OSError):
            self._process.kill()
        self._leave()

    def close(self) -> None:
        """Let it end by itself, and end it when it does not."""
        with contextlib.suppress(OSError):
            cast("IO[bytes]", self._process.stdin).close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        self.kill()

    def forget(self) -> None:
        """In a forked child: the process belongs to the parent; only our ends of its pipes are closed."""
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                cast("IO[bytes]", pipe).close()
        self._process.returncode = 0

    def _leave(self) -> None:
        with contextlib.suppress(OSError):
            cast("IO[bytes]", self._process.stdin).close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(10.0)

    def _send(self, message: dict[str, Any]) -> None:
        # When it has ended, the wait says how.
        with contextlib.suppress(OSError):
            write_message(cast("Any", self._process.stdin), message)

    def _wait(self, number: int, seconds: float) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            try:
                # Short waits, because a long one cannot be interrupted on Windows.
                answer = self._answers.get(timeout=min(left, 0.5))
            except queue.Empty:
                continue
            if answer is None:
                self._leave()
                raise Gone(self._process.returncode or 0)
            if answer.get("id") == number:
                return answer
        raise TooSlow


def _collect(stdout: IO[bytes], answers: queue.Queue[dict[str, Any] | None]) -> None:
    """Put each message into `answers`, and None when there will be no more."""
    with contextlib.suppress(OSError, ValueError, json.JSONDecodeError), stdout:
        while (message := read_message(cast("Any", stdout))) is not None:
            answers.put(message)
    answers.put(None)
