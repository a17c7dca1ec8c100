"""What differs by operating system; the only file with the names of one.

Linux is what the tests run on. The branches for macOS and Windows are written from their documentation. Standard
library alone, because the reaper loads this file as well.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import math
import os
import platform
import select
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_LINUX = sys.platform.startswith("linux")
_MACOS = sys.platform == "darwin"
_WINDOWS = os.name == "nt"
_POLL = 0.2
"""Seconds between two looks where a process's end cannot be waited for."""


# ------------------------------------------------------------------ who a process is
@dataclass(frozen=True, slots=True)
class Identity:
    """A process, told apart from every later one that gets its number.

    Attributes
    ----------
    pid : int
        Its number.
    started : str
        When it started, as the system tells it.
    boot : str
        Which boot of the machine and, after a full stop, which space of process numbers.
    machine : str
        Which machine (a digest, not its name).
    """

    pid: int
    started: str
    boot: str
    machine: str

    @classmethod
    def from_name(cls, text: str) -> Identity | None:
        """Read what `name` wrote; None when the text is something else."""
        parts = text.split("_")
        if len(parts) != 4 or not parts[0].isdigit():  # one for each field
            return None
        return cls(int(parts[0]), *parts[1:])

    @property
    def name(self) -> str:
        """All of it in one word that a file can be named by."""
        return f"{self.pid}_{self.started}_{self.boot}_{self.machine}"

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Identity:
        """Read what `to_dict` wrote."""
        return cls(int(values["pid"]), *(str(values[key]) for key in ("started", "boot", "machine")))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for a file or a pipe."""
        return asdict(self)


def identify(pid: int | None = None) -> Identity:
    """Find the identity of the process `pid` (this one when None).

    Raises
    ------
    ProcessLookupError
        When there is no such process.
    """
    number = os.getpid() if pid is None else pid
    started = _started(number)
    if started is None:
        raise ProcessLookupError(number)
    return Identity(number, started, _boot(), _machine())


def is_alive(who: Identity) -> bool | None:
    """Tell whether this very process still runs; None when that cannot be seen from here (another machine)."""
    if who.machine != _machine():
        return None
    if who.boot != _boot():
        # Same boot but another space of numbers (a container beside this one): its numbers mean nothing here.
        return None if who.boot.split(".")[0] == _boot().split(".")[0] else False
    return _started(who.pid) == who.started


@cache
def _machine() -> str:
    known = [platform.node()]
    with contextlib.suppress(OSError):
        known.append(Path("/etc/machine-id").read_text(encoding="ascii").strip())
    return hashlib.sha256("\n".join(known).encode()).hexdigest()[:16]


@cache
def _boot() -> str:
    boot, space = "", ""
    if _LINUX:
        with contextlib.suppress(OSError):
            boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        with contextlib.suppress(OSError):
            space = "".join(sign for sign in str(Path("/proc/self/ns/pid").readlink()) if sign.isdigit())
    elif _MACOS:
        boot = _output("sysctl", "-n", "kern.bootsessionuuid")
    # Windows tells a process's start as an absolute time, which no other boot can repeat.
    return f"{boot}.{space}"


def _started(pid: int) -> str | None:
    """When `pid` started; None when it does not run (a zombie has ended)."""
    if _LINUX:
        try:
            text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None
        fields = text.rpartition(")")[2].split()  # the name before it may hold spaces and brackets
        return None if fields[0] in "ZX" else fields[19]
    if _WINDOWS:
        return _windows_started(pid)
    state, *started = _output("ps", "-o", "stat=,lstart=", "-p", str(pid)).replace(":", ".").split() or [""]
    return None if not started or state.startswith("Z") else "-".join(started)


def _output(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=5, check=False).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def _windows_started(pid: int) -> str | None:
    kernel32 = ctypes.WinDLL("kernel32")  # type: ignore[attr-defined,unused-ignore]
    handle = kernel32.OpenProcess(0x1000, False, pid)  # PROCESS_QUERY_LIMITED_INFORMATION
    if not handle:
        return None
    try:
        code = ctypes.c_ulong()
        times = [ctypes.c_ulonglong() for _ in range(4)]
        still = kernel32.GetExitCodeProcess(handle, ctypes.byref(code)) and code.value == 259  # STILL_ACTIVE
        if not still or not kernel32.GetProcessTimes(handle, *(ctypes.byref(one) for one in times)):
            return None
        return str(times[0].value)
    finally:
        kernel32.CloseHandle(handle)


# ------------------------------------------------------------------ starting and ending processes
def own_session() -> dict[str, Any]:
    """Make the arguments for ``subprocess.Popen``: out of reach of the signals meant for the kernel and its group."""
    if _WINDOWS:
        # CREATE_NEW_PROCESS_GROUP and CREATE_NO_WINDOW
        return {"creationflags": 0x00000200 | 0x08000000}
    return {"start_new_session": True}


def root_folder() -> str:
    """Name a folder that a long-lived process can stand in without holding anybody's folder or disk."""
    return str(Path(os.sep).absolute())


def signal_group(pid: int, *, force: bool) -> None:
    """Ask the group that `pid` leads to end, or (`force`) end it; quiet when there is none."""
    if _WINDOWS:
        # There is no request to end that a process without a window would hear.
        _output("taskkill", "/T", "/F", "/PID", str(pid))
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL if force else signal.SIGTERM)


def end_group(who: Identity, *, within: float) -> bool:
    """End a process (a leader of its own session, from `own_session`) and its group: asked first, then forced.

    Nothing is sent when the number now belongs to another process.

    Returns
    -------
    bool
        Whether anything was there to end.
    """
    if is_alive(who) is not True:
        return False
    signal_group(who.pid, force=False)
    deadline = time.monotonic() + within
    while is_alive(who) and time.monotonic() < deadline:
        time.sleep(0.02)
    # Also when the leader has gone: what it started may be left, and holds the group's number.
    if _started(who.pid) in (None, who.started):
        signal_group(who.pid, force=True)
    return True


def describe_exit(code: int) -> str:
    """Write an exit status in words: ``ended with status 3``, ``was ended by SIGKILL``."""
    if code < 0:
        try:
            return f"was ended by {signal.Signals(-code).name}"
        except ValueError:
            return f"was ended by signal {-code}"
    return f"ended with status {code}"


def was_killed(code: int) -> bool:
    """Tell whether an exit status is that of a kill from outside, as a system short of memory does it."""
    return code in (-9, 137)


def ignore_signals() -> None:
    """Let the signals pass by which a terminal or a kernel ends its children."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)


def wait_for_parent(parent: int) -> None:
    """Return when the process `parent`, which started this one, has ended.

    A pipe's end can stay open in a forked child long after the parent; this cannot be fooled by that.
    """
    if _WINDOWS:
        kernel32 = ctypes.WinDLL("kernel32")  # type: ignore[attr-defined,unused-ignore]
        handle = kernel32.OpenProcess(0x00100000, False, parent)  # SYNCHRONIZE
        if handle:
            kernel32.WaitForSingleObject(handle, 0xFFFFFFFF)
            kernel32.CloseHandle(handle)
        return
    with contextlib.suppress(OSError):  # too old a system: look again and again
        _wait_for_exit(parent)
    while os.getppid() == parent:
        time.sleep(_POLL)


def _wait_for_exit(pid: int) -> None:
    if hasattr(os, "pidfd_open"):
        descriptor = os.pidfd_open(pid)
        try:
            # The number may have been taken by another process before it was opened.
            if os.getppid() == pid:
                select.select([descriptor], [], [])
        finally:
            os.close(descriptor)
    elif sys.platform == "darwin":
        queue = select.kqueue()
        try:
            event = select.kevent(
                pid,
                filter=select.KQ_FILTER_PROC,
                flags=select.KQ_EV_ADD | select.KQ_EV_ONESHOT,
                fflags=select.KQ_NOTE_EXIT,
            )
            if os.getppid() == pid:
                queue.control([event], 1, None)
        finally:
            queue.close()


# ------------------------------------------------------------------ what this process may use
def cpu_budget(root: Path = Path("/"), environ: Mapping[str, str] | None = None) -> int:
    """Count the threads that can really run at once here: the least of affinity, cgroup quota and ``CPU_LIMIT``.

    The host's own count would give a container on a large machine dozens of threads on two cores' worth of time.
    """
    limits: list[float] = [float(os.cpu_count() or 1)]
    if hasattr(os, "sched_getaffinity"):
        limits.append(float(len(os.sched_getaffinity(0))))
    limits += _cpu_quotas(root)
    asked = _number((os.environ if environ is None else environ).get("CPU_LIMIT"))
    if asked:
        limits.append(asked)
    return max(1, math.floor(min(limits)))


def memory_limit(root: Path = Path("/"), environ: Mapping[str, str] | None = None) -> int | None:
    """Find the bytes that this process and its children may use by cgroup or ``MEM_LIMIT``; None without a limit."""
    limits: list[float] = []
    for version, folder in _cgroup_folders(root, "memory"):
        text = _read(folder / ("memory.max" if version == 2 else "memory.limit_in_bytes"))
        value = _number(text)
        # cgroup v1 writes "no limit" as a number near 2**63.
        if value and value < 2**60:
            limits.append(value)
    asked = _number((os.environ if environ is None else environ).get("MEM_LIMIT"))
    if asked:
        limits.append(asked)
    return int(min(limits)) if limits else None


def _cpu_quotas(root: Path) -> list[float]:
    quotas = []
    for version, folder in _cgroup_folders(root, "cpu"):
        if version == 2:
            quota, _, period = _read(folder / "cpu.max").partition(" ")
        else:
            quota, period = _read(folder / "cpu.cfs_quota_us"), _read(folder / "cpu.cfs_period_us")
        top, below = _number(quota), _number(period)
        if top and below:
            quotas.append(top / below)
    return quotas


def _cgroup_folders(root: Path, controller: str) -> Iterator[tuple[int, Path]]:
    """Version and folder of every cgroup that holds this process, from its own up to the top."""
    for line in _read(root / "proc/self/cgroup").splitlines():
        _, _, rest = line.partition(":")
        names, _, path = rest.partition(":")
        if names and controller not in names.split(","):
            continue
        mounts = [names, controller] if names else ["", "unified"]
        inside = Path(path.lstrip("/"))
        for mount in dict.fromkeys(mounts):
            top = root / "sys/fs/cgroup" / mount
            # In a container the path is often the host's and not to be seen: then only the top is there.
            for folder in dict.fromkeys([top / inside, *(top / parent for parent in inside.parents), top]):
                if folder.is_dir():
                    yield (1 if names else 2), folder


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and value > 0 else None
