"""What the tests of Jobs share: the loopback Hub as the Hub of this process, at a quick pace."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from huggingface_hub import constants

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from tests.hub import faults  # noqa: E402
from tests.hub.remote import RemoteHub  # noqa: E402
from tests.hub.server import Hub  # noqa: E402
from uocr_nb.serving import start  # noqa: E402
from uocr_nb.serving.hosts import hf_jobs  # noqa: E402
from uocr_nb.serving.hub import account, client, keeper, log  # noqa: E402
from uocr_nb.support.platform import _started  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["DRIVER", "SERVE", "Hub", "RemoteHub", "asks", "drive", "faults", "hub", "remote_hub", "serve_quick"]


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    """A Hub that this process takes for the real one, with a valid token in the environment."""
    # Ports of its own: other test runs of this machine play the same Jobs.
    with Hub(keepalive=0.3, speed=60, grace=0.5, mapped=True) as running:
        use_hub(running, monkeypatch, tmp_path)
        monkeypatch.setenv("HF_TOKEN", running.token)
        yield running
        start.stop_all()
        running.wait(lambda: not running.alive(), 10, "a Job still runs")
        errors = running.errors
    assert not errors, errors
    client.close_session()


@pytest.fixture
def remote_hub() -> Iterator[RemoteHub]:
    """A Hub in a process of its own, for tests that kill the process that uses it."""
    with RemoteHub.start("--keepalive", "0.3", "--speed", "60", "--grace", "0.5", "--mapped") as running:
        yield running
        assert running.errors == []


def use_hub(running: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", running.endpoint)
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_OIDC_RESOURCE"):
        monkeypatch.delenv(name, raising=False)
    for module, name, value in (
        (hf_jobs, "_PROBE", 0.05),
        (hf_jobs, "_TICK", 0.2),
        (hf_jobs, "_RENEW", 0.1),
        (keeper, "_EAGER", 0.05),
        (keeper, "_CALM", 0.2),
        (keeper, "_LOOKS", (0.0, 0.1, 0.2)),
        (log, "_PAUSE", 0.05),
    ):
        monkeypatch.setattr(module, name, value)
    account.forget()


@pytest.fixture
def events() -> list[Any]:
    return []


def serve_quick(target: str = "vllm", **options: Any) -> Any:
    """Start an endpoint, and keep what was told."""
    told = options.pop("told", [])
    return start.serve(target, on_event=told.append, **options)


def asks(hub: Any) -> list[str]:
    """What the Hub was asked for, by route, apart from looks and logs."""
    left_out = {"inspect", "logs", "unknown"}
    return [record.route for record in hub.records() if record.where == "hub" and record.route not in left_out]


DRIVER = """
import os, signal, sys
from uocr_nb.serving import start
from uocr_nb.serving.hosts import hf_jobs
from uocr_nb.serving.hub import keeper
from uocr_nb.serving.reaper import reaper
hf_jobs._PROBE = keeper._EAGER = 0.05
def told(event):
    if event.stage != "log":
        print(event.stage, reaper.pid, flush=True)
"""
SERVE = "ep = start.serve('vllm', on_event=told)\nprint('READY', reaper.pid, flush=True)\n"


class Driver:
    """A Python of its own that starts an endpoint on a Hub, and is then ended in some way."""

    def __init__(self, hub: Any, folder: Path, code: str, prefix: list[str], **more: str) -> None:
        self.folder = folder
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGING"))}
        self.process = subprocess.Popen(
            [*prefix, sys.executable, "-W", "ignore", "-c", DRIVER + code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
            env={
                **kept,
                "PYTHONPATH": str(ROOT),
                "HF_ENDPOINT": hub.endpoint,
                "HF_TOKEN": hub.token,
                "HF_HOME": str(folder / "hf"),
                "UOCR_STATE_DIR": str(folder / "state"),
                "UOCR_CACHE_DIR": str(folder / "cache"),
                **more,
            },
        )
        self.watchdog = 0

    def until(self, word: str) -> None:
        """Read its output up to this word; keeps the watchdog's number."""
        for line in self.process.stdout:
            first, *rest = line.split()
            if rest and rest[0].isdigit():
                self.watchdog = int(rest[0])
            if first == word:
                return
        raise AssertionError(f"no {word}: {self.process.stderr.read()}")

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            pipe.close()


@pytest.fixture
def drive(tmp_path: Path) -> Iterator[Any]:
    """Make drivers, all with one home."""
    made: list[Driver] = []

    def make(hub: Any, code: str = SERVE, *, prefix: Any = (), **more: str) -> Driver:
        made.append(Driver(hub, tmp_path, code, list(prefix), **more))
        return made[-1]

    yield make
    for one in made:
        one.close()
        # While its Hub is there: a watchdog goes on asking one that is not.
        deadline = time.monotonic() + 5
        while one.watchdog and _started(one.watchdog) and time.monotonic() < deadline:
            time.sleep(0.02)
