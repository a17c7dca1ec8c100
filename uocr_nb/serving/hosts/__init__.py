"""Hosts: where an engine runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uocr_nb.serving.hosts.hf_jobs import JobHost
from uocr_nb.serving.hosts.process import ProcessHost
from uocr_nb.serving.hosts.url import UrlHost

if TYPE_CHECKING:
    from collections.abc import Callable

    from uocr_nb.serving.endpoint import Endpoint, Host

HOSTS: dict[str, Callable[[Endpoint], Host]] = {"hf": JobHost, "process": ProcessHost, "url": UrlHost}
"""How a host is made for an endpoint, by the name a plan gives."""
