"""What the tests of Jobs share: the loopback Hub as the Hub of this process, at a quick pace."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import huggingface_hub
import pytest
from huggingface_hub import constants

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from tests.hub import faults  # noqa: E402
from tests.hub.server import Hub  # noqa: E402
from uocr_nb.serving import start  # noqa: E402
from uocr_nb.serving.hosts import hf_jobs  # noqa: E402
from uocr_nb.serving.hub import account, keeper, log  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Hub", "asks", "faults", "hub", "serve_quick"]


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    """A Hub that this process takes for the real one, with a valid token in the environment."""
    with Hub(keepalive=0.3, speed=60, grace=0.5) as running:
        use_hub(running, monkeypatch, tmp_path)
        monkeypatch.setenv("HF_TOKEN", running.token)
        yield running
        start.stop_all()
        running.wait(lambda: not running.alive(), 10, "a Job still runs")
        errors = running.errors
    assert not errors, errors
    huggingface_hub.utils.close_session()


def use_hub(running: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", running.endpoint)
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_OIDC_RESOURCE"):
        monkeypatch.delenv(name, raising=False)
    for module, name, value in (
        (hf_jobs, "_PROBE", 0.05),
        (hf_jobs, "_TICK", 0.2),
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
