"""A real kernel: restart, shutdown and kill leave no engine and no watchdog behind."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any

import pytest
from kernel_kit import Kernel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")


@pytest.fixture
def kernel() -> Iterator[Any]:
    made = Kernel()
    yield made
    made.close()


def _start(kernel: Kernel, driver: str) -> Any:
    line = next(line for line in kernel.run(driver).splitlines() if line.startswith("STARTED"))
    return [int(word) for word in line.split()[1:3]]


def test_restarts_kills_and_shutdown_leave_nothing(
    kernel: Kernel, driver: str, gone: Callable[..., bool], runs: Callable[[int], bool]
) -> None:
    numbers = _start(kernel, driver)
    kernel.manager.interrupt_kernel()
    assert all(runs(number) for number in numbers)
    kernel.restart(now=False)
    assert gone(*numbers), "restart"

    numbers = _start(kernel, driver)
    kernel.client.execute("import time; time.sleep(600)")
    kernel.restart(now=True)
    assert gone(*numbers), "restart of a busy kernel"

    numbers = _start(kernel, driver)
    os.kill(kernel.manager.provisioner.pid, signal.SIGKILL)
    assert gone(*numbers), "SIGKILL"

    kernel.restart(now=True)
    numbers = _start(kernel, driver)
    kernel.manager.shutdown_kernel()
    assert gone(*numbers), "shutdown"
