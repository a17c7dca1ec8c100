"""Which port of this machine plays a Job's port."""

from __future__ import annotations

import os
import re
import socket
import sys
import tempfile
import threading
from pathlib import Path

_guard = threading.Lock()
_claimed: set[int] = set()
_file: list[int] = []


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


def _lock(port: int, *, take: bool) -> bool:
    """Lock one byte of a file that all Hubs of this user share; the system lets go of it when a Hub dies."""
    if sys.platform == "win32":
        return True
    import fcntl

    if not _file:
        name = Path(tempfile.gettempdir()) / f"uocr-hub-ports-{os.getuid()}.lock"
        _file.append(os.open(name, os.O_RDWR | os.O_CREAT, 0o600))
    try:
        fcntl.lockf(_file[0], (fcntl.LOCK_EX | fcntl.LOCK_NB) if take else fcntl.LOCK_UN, 1, port)
    except OSError:
        return False
    return True


class Claim:
    """A port that no other Hub of this machine takes until ``release``.

    A Job binds its port some time after it was found free: the claim keeps another test run off it meanwhile.
    """

    def __init__(self, port: int) -> None:
        self.port = port
        self._held = False

    def take(self) -> bool:
        """Try to get the port."""
        with _guard:
            # Locks are the process's own, so claims within it are told apart by the set.
            if self.port in _claimed or not _lock(self.port, take=True):
                return False
            if not _bindable(self.port):
                _lock(self.port, take=False)
                return False
            _claimed.add(self.port)
            self._held = True
        return True

    def release(self) -> None:
        """Let the port go."""
        with _guard:
            if self._held:
                self._held = False
                _claimed.discard(self.port)
                _lock(self.port, take=False)


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
