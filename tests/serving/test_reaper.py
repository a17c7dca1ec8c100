"""However a kernel ends, nothing that it started is left: a real Python that starts an endpoint and dies."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from uocr_nb.serving import ledger, reaper, start
from uocr_nb.support import platform
from uocr_nb.support.state import state_dir, write_atomic

if TYPE_CHECKING:
    from collections.abc import Callable


WAYS = {
    "normal exit": "",
    "sys.exit": "sys.exit(3)",
    "exception": "raise ValueError('in a script')",
    "os._exit": "os._exit(0)",
    "SIGKILL": "os.kill(os.getpid(), signal.SIGKILL)",
    "SIGTERM": "os.kill(os.getpid(), signal.SIGTERM)",
    "SIGHUP": "os.kill(os.getpid(), signal.SIGHUP)",
    "crash": "import ctypes; ctypes.string_at(0)",
    "exec": "os.execv('/bin/sleep', ['sleep', '0.1'])",
    "a forked child holds the pipe": (
        "\nif os.fork() == 0:\n    import time; os.closerange(0, 3); time.sleep(30); os._exit(0)\nos._exit(0)"
    ),
}


@pytest.mark.parametrize(("way", "how"), [*((way, "") for way in WAYS), ("SIGKILL", "deaf"), ("normal exit", "deaf")])
def test_whatever_way_it_ends_nothing_is_left(
    way: str, how: str, started: Callable[..., Any], gone: Callable[..., bool], until: Callable[..., Any]
) -> None:
    # A core dump of the crash would only cost time.
    kernel = started("import resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n" + WAYS[way], how)
    kernel.process.wait(20)
    began = time.monotonic()
    assert gone(kernel.engine, kernel.watchdog)
    assert until(lambda: not kernel.folder.exists())
    assert time.monotonic() - began < 10
    assert ledger.entries() == []


def test_an_exit_hook_takes_less_than_a_kernel_has(started: Callable[..., Any], gone: Callable[..., bool]) -> None:
    kernel = started("sys.stdin.readline()", "deaf")
    began = time.monotonic()
    kernel.go_on()
    assert time.monotonic() - began < 2.5
    assert gone(kernel.engine, seconds=1)


def test_the_watchdog_is_out_of_reach(
    started: Callable[..., Any], gone: Callable[..., bool], runs: Callable[[int], bool]
) -> None:
    kernel = started("sys.stdin.readline(); os._exit(0)")
    assert os.getsid(kernel.watchdog) == kernel.watchdog
    assert os.getsid(kernel.engine) == kernel.engine
    proc = Path(f"/proc/{kernel.watchdog}")
    assert (proc / "cwd").resolve() == Path("/")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(kernel.watchdog, number)
    assert "UOCR" not in (proc / "cmdline").read_text() + (proc / "environ").read_text()
    assert runs(kernel.watchdog)
    kernel.go_on()
    assert gone(kernel.engine, kernel.watchdog)


@pytest.mark.usefixtures("fake")
def test_a_watchdog_that_was_killed_is_replaced_with_all_it_knew(gone: Callable[..., bool]) -> None:
    endpoint = start.serve("cpu")
    first = reaper.reaper.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    assert gone(first)
    second = start.serve("cpu", another=True)
    assert reaper.reaper.pid not in (None, first)
    assert {endpoint.id, second.id} <= set(reaper.reaper._things)
    assert start.stop_all()


def _program() -> Any:
    return subprocess.Popen(
        [sys.executable, "-S", "-c", reaper._CODE, reaper._ROOT, str(os.getpid())],
        stdin=subprocess.PIPE,
        cwd="/",
        **platform.own_session(),
    )


def test_the_end_of_the_pipe_alone_is_enough_and_cut_lines_do_no_harm(tmp_path: Path) -> None:
    victim = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(60)"], **platform.own_session())
    who = platform.identify(victim.pid)
    spared = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(60)"], **platform.own_session())
    stranger = {**platform.identify(spared.pid).to_dict(), "started": "1"}
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "page.jpg").write_bytes(b"x")
    kept = tmp_path / "kept"
    kept.mkdir()
    watchdog = _program()
    messages = [
        {"do": "watch", "id": "a", "kind": "process", "process": who.to_dict()},
        {"do": "watch", "id": "b", "kind": "folder", "path": str(folder)},
        {"do": "watch", "id": "c", "kind": "folder", "path": str(kept)},
        {"do": "watch", "id": "d", "kind": "of a later version"},
        {"do": "watch", "id": "e", "kind": "process", "process": stranger},
        {"do": "forget", "id": "c"},
    ]
    watchdog.stdin.write(b"".join(json.dumps(message).encode() + b"\n" for message in messages) + b'{"do": "wat')
    watchdog.stdin.close()
    assert watchdog.wait(10) == 0
    victim.wait(5)
    assert not folder.exists()
    assert kept.exists()
    assert spared.poll() is None
    spared.kill()
    spared.wait()


def test_done_ends_the_watchdog_and_nothing_else(tmp_path: Path) -> None:
    watchdog = _program()
    message = {"do": "watch", "id": "b", "kind": "folder", "path": str(tmp_path)}
    watchdog.stdin.write(json.dumps(message).encode() + b'\n{"do": "done"}\n')
    watchdog.stdin.close()
    assert watchdog.wait(10) == 0
    assert tmp_path.exists()


def test_what_was_left_behind_is_found_by_the_next_start(
    fake: Callable[..., None],
    started: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    gone: Callable[..., bool],
    runs: Callable[[int], bool],
) -> None:
    # Kernel and watchdog killed together, as when a machine's memory runs out.
    kernel = started("os.kill(reaper.pid, signal.SIGKILL); os.kill(os.getpid(), signal.SIGKILL)", "deaf")
    kernel.process.wait(20)
    assert runs(kernel.engine)
    assert [entry.is_orphan() for entry in ledger.entries()] == [True]
    monkeypatch.setattr(start, "_swept", None)
    events: list[Any] = []
    fake("")
    endpoint = start.serve("cpu", on_event=events.append)
    assert [event.text for event in events if event.stage == "note"] == [
        "An engine from a kernel that died was still running and is now stopped: cpu."
    ]
    assert gone(kernel.engine)
    assert [entry.id for entry in ledger.entries()] == [endpoint.id]


@pytest.mark.usefixtures("fake")
def test_the_ledger_leaves_the_living_and_what_it_cannot_see() -> None:
    endpoint = start.serve("cpu")
    mine = ledger.entries()[0]
    elsewhere = ledger.Entry(
        **{
            **{name: getattr(mine, name) for name in ("name", "engine", "host", "base_url", "process", "started")},
            "id": "elsewhere",
            "owner": platform.Identity.from_dict({**mine.owner.to_dict(), "machine": "another"}),
        }
    )
    ledger.write(elsewhere)
    write_atomic(state_dir() / "ledger" / "odd.json", b"{")
    write_atomic(state_dir() / "ledger" / "odd2.json", b"[1]")
    assert ledger.sweep() == []
    assert {entry.id for entry in ledger.entries()} == {endpoint.id, "elsewhere"}
    assert endpoint.state == "ready"
    assert ledger.end(mine) is True
    assert {entry.id for entry in ledger.entries()} == {"elsewhere"}
