"""The watchdog: a detached process that ends what a kernel started, however the kernel ends.

An exit hook does not run when a kernel is killed, crashes, or is restarted while stuck. So a small process of its own
session holds the read end of a pipe from the kernel, and also watches the kernel itself (a forked child can hold the
pipe open for long). When the kernel is gone, it ends the processes and removes the folders it was told of.

The program is standard library alone; `Reaper` is the kernel's side of it.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uocr_nb.serving import ledger
from uocr_nb.serving.hub import ending
from uocr_nb.support.platform import (
    Identity,
    end_group,
    ignore_signals,
    own_session,
    root_folder,
    wait_for_parent,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_GRACE = 2.0
"""Seconds that an engine gets between the request to end and the force."""

_DRAIN = 0.2
"""Seconds without a word after which a dead kernel's pipe is taken as read, should a forked child hold it open."""


# ------------------------------------------------------------------ the program
def _end_process(thing: dict[str, Any]) -> None:
    end_group(Identity.from_dict(thing["process"]), within=_GRACE)
    if thing.get("entry"):
        Path(thing["entry"]).unlink(missing_ok=True)


def _remove_folder(thing: dict[str, Any]) -> None:
    shutil.rmtree(thing["path"], ignore_errors=True)


def _run_command(thing: dict[str, Any]) -> None:
    ledger.run_cleanup(tuple(thing["command"]))
    if thing.get("entry"):
        Path(thing["entry"]).unlink(missing_ok=True)


def _end_job(thing: dict[str, Any]) -> None:
    """Cancel a Job, or the one that turns up under a mark."""
    entry = Path(thing["entry"])
    if not ledger.claim(entry):
        return  # the next kernel was quicker
    try:
        ask = ending.caller_of(thing["call"]).ask
        if thing["job"]:
            until = time.monotonic() + thing["seconds"]
            done = ending.end_job(ask, thing["path"], asked=bool(thing.get("asked")), until=until)
        else:
            done = ending.end_marked(ask, thing["namespace"], thing["mark"])
            # Not made, or made later than anybody waits: the next kernel looks once more.
        if done:
            entry.unlink(missing_ok=True)
    finally:
        ledger.release(entry)


ENDINGS: dict[str, Callable[[dict[str, Any]], None]] = {
    "process": _end_process,
    "command": _run_command,
    "job": _end_job,
    "folder": _remove_folder,
}
"""How each kind of thing is ended."""


def main(parent: int) -> None:
    """Watch the process `parent`, told over standard input what to end after it."""
    ignore_signals()
    inbox: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(inbox,), daemon=True).start()
    threading.Thread(target=_watch, args=(parent, inbox), daemon=True).start()
    things: dict[str, dict[str, Any]] = {}
    while True:
        message = inbox.get()
        if message["do"] == "done":
            return
        if message["do"] in ("end", "gone"):
            break
        _note(message, things)
    # What the kernel wrote last may still be in the pipe.
    with contextlib.suppress(queue.Empty):
        while message["do"] != "end":
            message = inbox.get(timeout=_DRAIN)
            _note(message, things)
    _end_all(things)


def _listen(inbox: queue.SimpleQueue[dict[str, Any]]) -> None:
    for line in sys.stdin.buffer:
        with contextlib.suppress(ValueError):  # a line that the kernel's death cut short
            inbox.put(json.loads(line))
    inbox.put({"do": "end"})


def _watch(parent: int, inbox: queue.SimpleQueue[dict[str, Any]]) -> None:
    wait_for_parent(parent)
    inbox.put({"do": "gone"})


def _note(message: dict[str, Any], things: dict[str, dict[str, Any]]) -> None:
    if message["do"] == "watch":
        things[message["id"]] = message
    elif message["do"] == "forget":
        things.pop(message["id"], None)
    elif message["do"] == "asked" and message["id"] in things:
        things[message["id"]]["asked"] = True
    elif message["do"] == "done":
        things.clear()


def _end_all(things: dict[str, dict[str, Any]]) -> None:
    """End everything: at the same time what does not hang together, in this order what does.

    A container is removed after the client that may be about to make it, a folder after the processes that write to it.
    """
    # A Hub that does not answer must not keep folders on the disk.
    jobs = _begin(thing for thing in things.values() if thing["kind"] == "job")
    for kind in ("process", "command", "folder"):
        for thread in _begin(thing for thing in things.values() if thing["kind"] == kind):
            thread.join()
    for thread in jobs:
        thread.join()


def _begin(things: Iterable[dict[str, Any]]) -> list[threading.Thread]:
    threads = [threading.Thread(target=_end_one, args=(thing,)) for thing in things]
    for thread in threads:
        thread.start()
    return threads


def _end_one(thing: dict[str, Any]) -> None:
    # One thing that cannot be ended must not keep the others.
    with contextlib.suppress(Exception):
        ENDINGS[thing["kind"]](thing)


# ------------------------------------------------------------------ the kernel's side
_ROOT = str(Path(__file__).resolve().parents[2])
_CODE = "import sys; sys.path.insert(0, sys.argv[1]); from uocr_nb.serving.reaper import main; main(int(sys.argv[2]))"
_KEPT_VARIABLES = ("PATH", "HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PYTHONHOME", "SYSTEMROOT", "TEMP", "TMP")


class Reaper:
    """The one watchdog of this process, started with the first thing to watch."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._program: subprocess.Popen[bytes] | None = None
        self._things: dict[str, dict[str, Any]] = {}

    def watch_process(self, name: str, who: Identity, entry: Path) -> None:
        """Have a process and its group ended after this one, and its ledger entry removed."""
        self._watch(name, {"kind": "process", "process": who.to_dict(), "entry": str(entry)})

    def watch_folder(self, name: str, path: Path) -> None:
        """Have a folder removed after this process."""
        self._watch(name, {"kind": "folder", "path": str(path)})

    def watch_command(self, name: str, command: Sequence[str], entry: Path) -> None:
        """Have a command run after this process (one that removes a container), and its ledger entry removed."""
        self._watch(name, {"kind": "command", "command": list(command), "entry": str(entry)})

    def watch_mark(self, name: str, call: dict[str, Any], namespace: str, mark: str, entry: Path) -> None:
        """Have the Job looked for and cancelled after this process that is being asked for now.

        Parameters
        ----------
        name : str
            Under which it is watched; `watch_job` takes its place.
        call : dict
            How the Hub is asked, from `uocr_nb.serving.hub.token.for_watchdog`.
        namespace, mark : str
            Where and by which label it is found.
        entry : Path
            Its ledger entry.
        """
        more = {"job": "", "namespace": namespace, "mark": mark, "entry": str(entry)}
        self._watch(name, {"kind": "job", "call": call, **more})

    def watch_job(
        self, name: str, call: dict[str, Any], *, path: str, job_id: str, seconds: float, entry: Path
    ) -> None:
        """Have a Job cancelled after this process; tried for so many seconds, after which its own timeout has come."""
        more = {"job": job_id, "path": path, "seconds": seconds, "entry": str(entry)}
        self._watch(name, {"kind": "job", "call": call, **more})

    def asked(self, name: str) -> None:
        """Note that a Job's end is being asked for now, so that it is looked at before that is done again."""
        with self._lock:
            if name in self._things:
                self._things[name]["asked"] = True
                self._send({"do": "asked", "id": name})

    def forget(self, name: str) -> None:
        """No longer watch what was named so."""
        with self._lock:
            if self._things.pop(name, None) is not None:
                self._send({"do": "forget", "id": name})

    def ensure(self) -> None:
        """Start another one when somebody has ended it while it had something to watch."""
        with self._lock:
            if self._things and (self._program is None or self._program.poll() is not None):
                self._close(wait=0.0)
                self._start()

    @property
    def pid(self) -> int | None:
        """Number of its process, None when it does not run."""
        return self._program.pid if self._program and self._program.poll() is None else None

    def _watch(self, name: str, thing: dict[str, Any]) -> None:
        with self._lock:
            self._things[name] = {"do": "watch", "id": name, **thing}
            if self._program is None:
                self._start()
            else:
                self._send(self._things[name])

    def _start(self) -> None:
        self._program = subprocess.Popen(
            # -S: no site packages, so that it is up in a few hundredths of a second.
            [sys.executable, "-S", "-c", _CODE, _ROOT, str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            cwd=root_folder(),
            env={name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ},
            **own_session(),
        )
        for thing in self._things.values():
            self._write(thing)

    def _send(self, message: dict[str, Any]) -> None:
        try:
            self._write(message)
        except OSError:
            # Someone ended it; another one takes over all that is watched.
            self._close()
            with contextlib.suppress(OSError):
                self._start()

    def _write(self, message: dict[str, Any]) -> None:
        if self._program is not None and self._program.stdin is not None:
            self._program.stdin.write(json.dumps(message).encode() + b"\n")

    def done(self) -> None:
        """Let it go: what has not been ended in order is its business now."""
        with self._lock:
            left = any(thing["kind"] != "folder" for thing in self._things.values())
            self._things.clear()
            if self._program is not None:
                if not left:
                    with contextlib.suppress(OSError):
                        self._write({"do": "done"})
                self._close(wait=0.0 if left else 0.5)

    def _close(self, wait: float = 0.5) -> None:
        program, self._program = self._program, None
        if program is not None and program.stdin is not None:
            with contextlib.suppress(OSError):
                program.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                program.wait(wait)
            if program.returncode is None:
                program.returncode = 0  # it goes on without its parent, which must not warn of it

    def let_go_in_child(self) -> None:
        """Close the pipe's end that a forked child got, so that the end of the parent is seen at once."""
        program, self._program = self._program, None
        self._lock = threading.Lock()
        self._things = {}
        if program is not None and program.stdin is not None:
            program.stdin.close()
            program.returncode = 0  # not this process's child


reaper = Reaper()
"""The watchdog of this process."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=reaper.let_go_in_child)
