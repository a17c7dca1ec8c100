"""A real kernel of this Python, driven from a test."""

from __future__ import annotations

import os
import queue
import sys
import time
from typing import Any

from jupyter_client.manager import KernelManager


class Kernel:
    def __init__(self, **more: str) -> None:
        self.manager = KernelManager(kernel_name="python3")
        # The kernel of this Python, whatever kernels are installed.
        self.manager.kernel_spec.argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        self.manager.start_kernel(env={**os.environ, "PYTHONWARNINGS": "ignore", **more})
        self._connect()

    def _connect(self) -> None:
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)

    def run(self, code: str) -> Any:
        """Run a cell; return what it printed."""
        own = self.client.execute(code)
        text, deadline = "", time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                message = self.client.get_iopub_msg(timeout=1)
            except queue.Empty:
                continue
            if message["parent_header"].get("msg_id") != own:
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
