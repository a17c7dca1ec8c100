"""A fast engine in place of the real one, and folders of each test's own."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from uocr_nb.serving import engines, start
from uocr_nb.support import platform

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FAKE = Path(__file__).with_name("fake_engine.py")


@pytest.fixture(autouse=True)
def _own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("UOCR_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("UOCR_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("UOCR_ENDPOINT", "UOCR_KEY"):
        monkeypatch.delenv(name, raising=False)
    yield
    start.stop_all()
    start._endpoints.clear()
    start._current = None


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Put the fake engine in the place of `cpu`; the value sets how it misbehaves."""
    profile = dataclasses.replace(engines.get("cpu"), program=(str(FAKE),), needs=(), start_limit=20.0)
    monkeypatch.setitem(engines._profiles, "cpu", profile)

    def misbehave(how: str, **changes: Any) -> None:
        monkeypatch.setenv("FAKE", how)
        monkeypatch.setitem(engines._profiles, "cpu", dataclasses.replace(profile, **changes))

    return misbehave


def until(condition: Callable[[], Any], seconds: float = 10.0) -> Any:
    """Poll until the condition holds; return its value."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value or time.monotonic() > deadline:
            return value
        time.sleep(0.02)


@pytest.fixture(name="until")
def _until() -> Callable[..., Any]:
    return until


def runs(pid: int) -> bool:
    return platform._started(pid) is not None


@pytest.fixture(name="runs")
def _runs() -> Callable[[int], bool]:
    """Whether a process number is that of a running process."""
    return runs


@pytest.fixture
def gone() -> Callable[..., bool]:
    """Whether none of some processes runs, now or within 10 seconds."""
    return lambda *pids, seconds=10.0: until(lambda: not any(map(runs, pids)), seconds)


DRIVER = f"""
import dataclasses, os, signal, sys
from uocr_nb.serving import engines, start
from uocr_nb.serving.reaper import reaper
from uocr_nb.support import state
engines.register(dataclasses.replace(engines.get("cpu"), program=({str(FAKE)!r},), needs=()))
ep = start.serve("cpu")
print("STARTED", ep._runs_on._who.pid, reaper.pid, state.run_folder(), flush=True)
"""
"""What a kernel does in these tests, in a Python of its own."""


@pytest.fixture
def driver() -> str:
    return DRIVER


class Started:
    """A Python of its own that has started an endpoint, and then does something."""

    def __init__(self, code: str, how: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", DRIVER + code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "FAKE": how},
        )
        assert self.process.stdout is not None
        word, engine, watchdog, folder = self.process.stdout.readline().split()
        assert word == "STARTED"
        self.engine, self.watchdog, self.folder = int(engine), int(watchdog), Path(folder)

    def go_on(self) -> None:
        """End its standard input, and wait for its own end."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(20)


@pytest.fixture
def started() -> Iterator[Callable[..., Started]]:
    """Start a Python that starts an endpoint and then runs `code`; `how` says how the engine misbehaves."""
    made = []

    def make(code: str, how: str = "") -> Started:
        made.append(Started(code, how))
        return made[-1]

    yield make
    for one in made:
        one.process.kill()
        one.process.wait()
        for pipe in (one.process.stdin, one.process.stdout):
            pipe.close()
