"""Hosts: where an engine runs."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from uocr_nb.serving.hosts.docker import DockerHost
from uocr_nb.serving.hosts.hf_jobs import JobHost
from uocr_nb.serving.hosts.process import ProcessHost
from uocr_nb.serving.hosts.program import ProgramHost
from uocr_nb.serving.hosts.url import UrlHost

if TYPE_CHECKING:
    from collections.abc import Callable

    from uocr_nb.serving.endpoint import Endpoint, Host


def on_this_machine(endpoint: Endpoint) -> ProcessHost | ProgramHost:
    """Choose by who wrote the engine's program: this package, or others."""
    return ProcessHost(endpoint) if endpoint.profile.launch is None else ProgramHost(endpoint)


def local_line(endpoint: Endpoint) -> str:
    """Say in a line by which command an endpoint would be started on this machine, without starting it."""
    host = DockerHost(endpoint) if endpoint.host == "docker" else on_this_machine(endpoint)
    return f"{endpoint.engine}{host.where}, free: {shlex.join(host.line())}"


HOSTS: dict[str, Callable[[Endpoint], Host]] = {
    "hf": JobHost,
    "docker": DockerHost,
    "process": on_this_machine,
    "url": UrlHost,
}
"""How a host is made for an endpoint, by the name a plan gives."""
