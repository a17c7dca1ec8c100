"""The embedded engine over real sockets, started once, as its host starts it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from cpu_child import KEY, Child, Running

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def running() -> Iterator[Running]:
    child = Child(key=KEY, port=0, low_memory=False, threads=None)
    try:
        listening = child.event()
        assert listening["event"] == "listening", child.log
        assert child.event() == {"event": "ready"}, child.log
        yield Running(listening["url"], KEY, child)
    finally:
        child.close()
