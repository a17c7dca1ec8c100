"""Fixtures: a Hub in this process, and one in a process of its own. Nothing global is set."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.hub.remote import RemoteHub
from tests.hub.server import Hub

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def hub() -> Iterator[Hub]:
    """A Hub with ``endpoint`` and ``token``; quick keep-alives, Jobs 60 times quicker to time out."""
    with Hub(keepalive=0.3, speed=60, grace=0.5) as running:
        yield running
        errors = running.errors
    assert not errors, errors
    assert running.alive() == []


@pytest.fixture
def remote_hub() -> Iterator[RemoteHub]:
    """A Hub in a process of its own."""
    with RemoteHub.start("--keepalive", "0.3", "--speed", "60", "--grace", "0.5") as running:
        yield running
        assert running.errors == []
