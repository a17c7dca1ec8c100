"""Which port of this machine plays a Job's port."""

from __future__ import annotations

import os
import re
import socket
import sys
import tempfile
from pathlib import Path
from typing import IO


def _bindable(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _unused() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Claim:
    """A port that no other Hub of this machine takes until ``release``.

    A Job binds its port some time after it was found free: the lock file keeps another test run off it meanwhile, and
    the system lets go of it when the Hub dies.
    """

    def __init__(self, port: int) -> None:
        self.port = port
        self._file: IO[bytes] | None = None

    def take(self) -> bool:
        """Try to get the port."""
        if sys.platform == "win32":
            return _bindable(self.port)
        import fcntl

        folder = Path(tempfile.gettempdir()) / f"uocr-hub-ports-{os.getuid()}"
        folder.mkdir(exist_ok=True)
        file = (folder / str(self.port)).open("ab")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            return False
        if not _bindable(self.port):
            file.close()
            return False
        self._file = file
        return True

    def release(self) -> None:
        """Let the port go."""
        if self._file is not None:
            self._file.close()
            self._file = None


def claim(port: int, *, mapped: bool) -> Claim:
    """Claim the port itself where it is free and wanted, else any free one."""
    if not mapped:
        wanted = Claim(port)
        if wanted.take():
            return wanted
    while True:
        other = Claim(_unused())
        if other.take():
            return other


def rewrite(command: list[str], ports: dict[int, int]) -> list[str]:
    """Write a Job's command with this machine's ports: ``--port N`` in any spelling, and ``host:N`` of loopback."""
    for declared, real in ports.items():
        if declared == real:
            continue
        option = re.compile(rf"(--port[= ]+){declared}\b")
        address = re.compile(rf"\b(127\.0\.0\.1|localhost|0\.0\.0\.0):{declared}\b")
        rewritten: list[str] = []
        for part in command:
            if rewritten and rewritten[-1] == "--port" and part == str(declared):
                rewritten.append(str(real))
                continue
            once = option.sub(lambda found, real=real: f"{found[1]}{real}", part)  # type: ignore[misc]
            rewritten.append(address.sub(lambda found, real=real: f"{found[1]}:{real}", once))  # type: ignore[misc]
        command = rewritten
    return command
