from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from uocr_nb.support import platform

if TYPE_CHECKING:
    from pathlib import Path


def _sleeper(code: str = "import time; time.sleep(60)", **options: Any) -> Any:
    return subprocess.Popen([sys.executable, "-S", "-c", code], **platform.own_session(), **options)


def test_an_identity_holds_until_the_process_ends() -> None:
    child = _sleeper()
    who = platform.identify(child.pid)
    assert platform.is_alive(who) is True
    child.kill()
    child.wait()
    assert platform.is_alive(who) is False
    with pytest.raises(ProcessLookupError):
        platform.identify(child.pid)


def test_a_zombie_has_ended() -> None:
    child = _sleeper("pass")
    deadline = time.monotonic() + 5
    while platform._started(child.pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert platform._started(child.pid) is None
    child.wait()


def test_who_cannot_be_seen_from_here_is_not_called_dead() -> None:
    me = platform.identify()
    boot, space = me.boot.split(".")
    assert platform.is_alive(me) is True
    assert platform.is_alive(replace(me, started="1")) is False
    assert platform.is_alive(replace(me, boot=f"another.{space}")) is False
    assert platform.is_alive(replace(me, boot=f"{boot}.another")) is None
    assert platform.is_alive(replace(me, machine="another")) is None


def test_an_identity_survives_a_file_and_a_file_name() -> None:
    me = platform.identify()
    assert platform.Identity.from_dict(me.to_dict()) == me
    assert platform.Identity.from_name(me.name) == me
    assert platform.Identity.from_name("lost+found") is None


def test_end_group_asks_then_forces_and_takes_the_children_too() -> None:
    code = (
        "import signal, subprocess, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen([sys.executable, '-S', '-c', 'import signal, time;"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)'])\n"
        "print(child.pid, flush=True)\ntime.sleep(60)"
    )
    leader = _sleeper(code, stdout=subprocess.PIPE, text=True)
    child = platform.identify(int(leader.stdout.readline()))
    assert platform.end_group(platform.identify(leader.pid), within=0.2) is True
    leader.wait(5)
    deadline = time.monotonic() + 5
    while platform.is_alive(child) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert platform.is_alive(child) is False
    leader.stdout.close()


def test_a_process_that_got_the_number_of_another_is_left_alone() -> None:
    child = _sleeper()
    stranger = replace(platform.identify(child.pid), started="1")
    assert platform.end_group(stranger, within=0.1) is False
    assert child.poll() is None
    child.kill()
    child.wait()


def test_exits_are_told_in_words() -> None:
    assert platform.describe_exit(3) == "ended with status 3"
    assert platform.describe_exit(-9) == "was ended by SIGKILL"
    assert platform.was_killed(-9)
    assert platform.was_killed(137)
    assert not platform.was_killed(1)


def test_waiting_for_a_parent_that_is_gone_returns_at_once() -> None:
    platform.wait_for_parent(1 if os.getppid() != 1 else 2)


def _cgroup(root: Path, line: str, files: dict[str, str]) -> Path:
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(line + "\n")
    for name, text in files.items():
        path = root / "sys/fs/cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    return root


def test_budgets_follow_cgroup_v2_up_to_the_top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(32)))
    root = _cgroup(
        tmp_path,
        "0::/pod/box",
        {
            "pod/box/cpu.max": "max 100000",
            "pod/cpu.max": "350000 100000",
            "pod/box/memory.max": "max",
            "pod/memory.max": "2147483648",
            "cpu.max": "800000 100000",
        },
    )
    assert platform.cpu_budget(root, {}) == 3
    assert platform.memory_limit(root, {}) == 2**31


def test_budgets_follow_cgroup_v1_and_a_container_that_sees_only_the_top(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(32)))
    root = _cgroup(
        tmp_path,
        "4:cpu,cpuacct:/docker/abc\n5:memory:/docker/abc",
        {
            "cpu,cpuacct/cpu.cfs_quota_us": "50000",
            "cpu,cpuacct/cpu.cfs_period_us": "100000",
            "memory/memory.limit_in_bytes": "1073741824",
        },
    )
    assert platform.cpu_budget(root, {}) == 1
    assert platform.memory_limit(root, {}) == 2**30


def test_no_limit_is_no_limit(tmp_path: Path) -> None:
    root = _cgroup(
        tmp_path,
        "4:cpu:/\n5:memory:/",
        {
            "cpu/cpu.cfs_quota_us": "-1",
            "cpu/cpu.cfs_period_us": "100000",
            "memory/memory.limit_in_bytes": str(2**63 - 4096),
        },
    )
    assert platform.cpu_budget(root, {}) == len(os.sched_getaffinity(0))
    assert platform.memory_limit(root, {}) is None
    assert platform.memory_limit(tmp_path / "nothing", {}) is None


def test_variables_of_a_hub_lower_the_budgets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    assert platform.cpu_budget(tmp_path, {"CPU_LIMIT": "2.0"}) == 2
    assert platform.cpu_budget(tmp_path, {"CPU_LIMIT": "0.5"}) == 1
    assert platform.cpu_budget(tmp_path, {"CPU_LIMIT": "many"}) == 8
    assert platform.memory_limit(tmp_path, {"MEM_LIMIT": "2147483648"}) == 2**31
