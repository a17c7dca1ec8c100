"""A real kernel: restart, shutdown and kill leave no engine and no watchdog behind."""

from __future__ import annotations

import os
import queue
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from jupyter_client.manager import KernelManager

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")


class Kernel:
    def __init__(self) -> None:
        self.manager = KernelManager(kernel_name="python3")
        # The kernel of this Python, whatever kernels are installed.
        self.manager.kernel_spec.argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        self.manager.start_kernel(env={**os.environ, "PYTHONWARNINGS": "ignore"})
        self._connect()

    def _connect(self) -> None:
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)

    def run(self, code: str) -> Any:
        """Run a cell; return what it printed."""
        self.client.execute(code)
        text, deadline = "", time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                message = self.client.get_iopub_msg(timeout=1)
            except queue.Empty:
                continue
            if message["msg_type"] == "stream":
                text += message["content"]["text"]
            if message["msg_type"] == "error":
                raise AssertionError("\n".join(message["content"]["traceback"]))
            if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle" and text:
                return text
        raise AssertionError("the cell did not end")

    def restart(self, *, now: Any) -> None:
        self.client.stop_channels()
        self.manager.restart_kernel(now=now)
        self._connect()

    def close(self) -> None:
        self.client.stop_channels()
        if self.manager.has_kernel:
            self.manager.shutdown_kernel(now=True)
        self.manager.context.destroy(linger=0)


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
