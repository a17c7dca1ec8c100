"""The container of a Job, as far as one machine can play it: starts the command, and lets nothing outlive it.

Run as a program by ``tests/hub/jobs.py``. One JSON line on stdin says what to run; then ``term`` asks the processes to
end and kills what is left after the grace time, and end-of-file (the Hub closed or died) kills at once. On Linux it is
the subreaper of all that the command starts, sessions of their own included.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36


def _become_subreaper() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _descendants() -> list[int]:
    """Every living process below this one (Linux; elsewhere none is known)."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            head, _, tail = entry.read_text(errors="replace").rpartition(")")
        except OSError:
            continue
        state, parent = tail.split()[:2]
        if state != "Z":
            children.setdefault(int(parent), []).append(int(head.split()[0]))
    found: list[int] = []
    front = [os.getpid()]
    while front:
        front = [child for parent in front for child in children.get(parent, [])]
        found += front
    return found


def _signal(child: int, number: int) -> None:
    with contextlib.suppress(OSError):
        os.killpg(child, number)
    for pid in _descendants():
        try:
            os.kill(pid, number)
        except OSError:
            continue


def _ask(child: int) -> None:
    with contextlib.suppress(OSError):
        os.kill(child, signal.SIGTERM)


def _reap(child: int) -> int | None:
    """Collect dead children; the exit status when `child` is among them."""
    status = None
    while True:
        try:
            pid, code = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return status
        if pid == 0:
            return status
        if pid == child:
            status = os.waitstatus_to_exitcode(code)


def _watch(child: int, grace: float, *, asked: bool) -> int:
    """Wait for the end of the child, for a word on stdin, or for the death of the Hub."""
    parent = os.getppid()
    wake, hook = os.pipe()
    os.set_blocking(hook, False)
    signal.set_wakeup_fd(hook, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    kill_at: float | None = None
    if asked:
        _ask(child)
        kill_at = time.monotonic() + grace
    inputs = [0, wake]
    while True:
        status = _reap(child)
        if status is not None:
            return status
        ready, _, _ = select.select(inputs, [], [], 0.2 if kill_at is None else 0.05)
        if wake in ready:
            os.read(wake, 512)
        gone = os.getppid() != parent
        if 0 in ready:
            if os.read(0, 512):
                # As in a container: the first process is asked, the others are its own business.
                _ask(child)
                kill_at = kill_at or time.monotonic() + grace
            else:
                inputs = [wake]
                gone = True
        if gone or (kill_at is not None and time.monotonic() >= kill_at):
            _signal(child, signal.SIGKILL)


def _finish(child: int) -> None:
    """Kill what the command left behind, and collect it (a dead process that nobody collects keeps its number)."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        _signal(child, signal.SIGKILL)
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            time.sleep(0.01)


def main() -> int:
    """Run one Job; the exit status is the command's, 128 + N after a signal."""
    parent = os.getppid()
    _become_subreaper()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    told = b""
    while b"\n" not in told:
        piece = os.read(0, 65536)
        if not piece:
            return 1
        told += piece
    line, _, rest = told.partition(b"\n")
    order = json.loads(line)
    try:
        process = subprocess.Popen(
            order["command"],
            stdin=subprocess.DEVNULL,
            cwd=order["folder"],
            env=order["environment"],
            start_new_session=True,
            restore_signals=True,
            preexec_fn=_default_signals,  # noqa: PLW1509 - no thread runs here
        )
    except OSError as error:
        print(f"exec: {order['command'][0]!r}: {error.strerror}", flush=True)
        return 127
    status = _watch(process.pid, order["grace"], asked=bool(rest))
    process.returncode = status
    _finish(process.pid)
    shutil.rmtree(order["folder"], ignore_errors=True)
    if os.getppid() != parent:
        # The Hub died without a word: its folder goes with its last Job.
        with contextlib.suppress(OSError):
            Path(order["folder"]).parent.rmdir()
    return 128 - status if status < 0 else status


def _default_signals() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


if __name__ == "__main__":
    sys.exit(main())
