"""A fast engine in place of the real one, and folders of each test's own."""

from __future__ import annotations

import dataclasses
import sys
import time
from pathlib import Path

import pytest

from uocr_nb.serving import engines, start
from uocr_nb.support import platform

FAKE = Path(__file__).with_name("fake_engine.py")


@pytest.fixture(autouse=True)
def _own_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("UOCR_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("UOCR_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("UOCR_ENDPOINT", "UOCR_KEY"):
        monkeypatch.delenv(name, raising=False)
    yield
    start.stop_all()
    start._endpoints.clear()
    start._current = None


@pytest.fixture
def fake(monkeypatch):
    """Put the fake engine in the place of `cpu`; the value sets how it misbehaves."""
    profile = dataclasses.replace(engines.get("cpu"), program=(str(FAKE),), needs=(), start_limit=20.0)
    monkeypatch.setitem(engines._profiles, "cpu", profile)

    def misbehave(how, **changes):
        monkeypatch.setenv("FAKE", how)
        monkeypatch.setitem(engines._profiles, "cpu", dataclasses.replace(profile, **changes))

    return misbehave


def until(condition, seconds=10.0):
    """Poll until the condition holds; return its value."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value or time.monotonic() > deadline:
            return value
        time.sleep(0.02)


@pytest.fixture(name="until")
def _until():
    return until


@pytest.fixture
def runs():
    """Whether a process number is that of a running process."""
    return lambda pid: platform._started(pid) is not None


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
def driver():
    return DRIVER


@pytest.fixture
def python():
    return [sys.executable, "-W", "ignore"]
