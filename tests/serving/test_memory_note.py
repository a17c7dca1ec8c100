"""A machine with little memory: the embedded engine spares it unasked, and says so."""

from __future__ import annotations

from typing import Any

import pytest

from uocr_nb.serving import start

pytestmark = pytest.mark.usefixtures("fake")


@pytest.mark.parametrize(("limit", "spares"), [(2 * 1024**3, True), (64 * 1024**3, False)])
def test_little_memory_is_spared_and_told(monkeypatch: pytest.MonkeyPatch, limit: int, spares: bool) -> None:
    monkeypatch.setenv("MEM_LIMIT", str(limit))
    told: list[Any] = []
    start.serve("cpu", on_event=told.append).stop()
    assert any("spares it" in event.text for event in told if event.stage == "note") is spares
    assert any("sparing memory" in event.text for event in told if event.stage == "starting") is spares
