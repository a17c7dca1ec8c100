"""Real kernels with a Job: shut down, restarted, interrupted, killed."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING, Any

import pytest
from jobs_kit import DRIVER, faults, remote_hub
from kernel_kit import Kernel

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from jobs_kit import RemoteHub

__all__ = ["remote_hub"]

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")

QUICK = DRIVER + "%load_ext uocr_nb\n"


@pytest.fixture
def kernel(remote_hub: RemoteHub, tmp_path: Path) -> Iterator[Any]:
    more = {"HF_ENDPOINT": remote_hub.endpoint, "HF_TOKEN": remote_hub.token, "HF_HOME": str(tmp_path / "hf")}
    made = Kernel(**more)
    yield made
    made.close()


def _ready(kernel: Kernel) -> None:
    kernel.run(QUICK + "print('LOADED')")
    kernel.run("%uocr_serve vllm\nprint('READY')")


def _over(hub: RemoteHub, jobs: int, how: str) -> None:
    hub.wait(lambda: len(hub.cancels(accepted=True)) == jobs, 10, f"no cancel: {how}")
    hub.wait(lambda: not hub.alive(), 10, f"runs on: {how}")
    assert len(hub.cancels()) == jobs, how


def test_however_a_kernel_ends_its_job_does(remote_hub: RemoteHub, kernel: Kernel) -> None:
    hub = remote_hub
    _ready(kernel)
    kernel.manager.interrupt_kernel()
    kernel.client.execute("raise ValueError")
    time.sleep(0.5)
    assert hub.cancels() == []
    kernel.restart(now=False)
    _over(hub, 1, "restart")

    _ready(kernel)
    kernel.client.execute("import time; time.sleep(600)")
    kernel.restart(now=True)
    _over(hub, 2, "restart of a busy kernel")

    _ready(kernel)
    kernel.run("%unload_ext uocr_nb\nprint('UNLOADED')")
    _over(hub, 3, "unload")

    hub.add(faults.Engine(stuck=True))
    kernel.run(QUICK + "print('LOADED')")
    kernel.client.execute("%uocr_serve vllm")
    hub.wait(lambda: len(hub.alive()) == 1, 20)
    kernel.manager.interrupt_kernel()
    _over(hub, 4, "interrupt while it starts")

    _ready(kernel)
    os.kill(kernel.manager.provisioner.pid, signal.SIGKILL)
    _over(hub, 5, "SIGKILL")

    kernel.restart(now=True)
    _ready(kernel)
    kernel.manager.shutdown_kernel()
    _over(hub, 6, "shutdown")
    assert all(record.token_in == () for record in hub.records())
