"""The embedded engine itself, started, asked and ended as users do it."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from uocr_nb.serving import start
from uocr_nb.serving.probe import test_page as draw_page

if TYPE_CHECKING:
    from collections.abc import Callable

pytest.importorskip("rapidocr")


def test_it_starts_is_asked_by_a_raw_client_and_leaves_nothing(gone: Callable[..., bool]) -> None:
    stages = []
    with start.serve("cpu", low_memory=True, on_event=lambda event: stages.append(event.stage)) as endpoint:
        assert {"starting", "log", "loading", "checking", "ready"} == set(stages)
        body = endpoint.profile.request([draw_page()])
        named = {key: body.pop(key) for key in ("model", "messages", "temperature", "logprobs")}
        answer = endpoint.openai().chat.completions.create(**named, extra_body=body)
        assert "Ready" in (answer.choices[0].message.content or "")
        pid = endpoint._runs_on._who.pid
    assert gone(pid)


def test_a_killed_kernel_leaves_no_engine(gone: Callable[..., bool]) -> None:
    code = (
        "import os, signal; from uocr_nb.serving import start; from uocr_nb.serving.reaper import reaper;"
        "ep = start.serve('cpu'); print(ep._runs_on._who.pid, reaper.pid, flush=True);"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False)
    engine, watchdog = map(int, done.stdout.split())
    assert gone(engine, watchdog)
