"""However a kernel ends, its Job is cancelled: exactly once, within ten seconds, and nobody else's."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from jobs_kit import SERVE, drive, faults, remote_hub

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobs_kit import RemoteHub

__all__ = ["drive", "remote_hub"]

ENDS = {
    "end of the program": "",
    "exception": "raise RuntimeError\n",
    "sys.exit": "sys.exit(3)\n",
    "os._exit": "os._exit(1)\n",
    "SIGTERM": "os.kill(os.getpid(), signal.SIGTERM)\n",
    "SIGHUP": "os.kill(os.getpid(), signal.SIGHUP)\n",
    "SIGKILL": "os.kill(os.getpid(), signal.SIGKILL)\n",
    "abort": "os.abort()\n",
    "segfault": "import ctypes; ctypes.string_at(0)\n",
    "stop": "ep.stop()\n",
    "stop, then SIGKILL": "ep.ask_to_stop(); os.kill(os.getpid(), signal.SIGKILL)\n",
    "fork that lives on": "os.fork() or (sys.stdout.close(), __import__('time').sleep(6), os._exit(0))\nos._exit(1)\n",
}


def cancelled_once(hub: RemoteHub, jobs: int = 1) -> None:
    hub.wait(lambda: len(hub.cancels(accepted=True)) >= jobs, 10, "no cancel was accepted")
    hub.wait(lambda: not hub.alive(), 5, "the Job runs on")
    assert len(hub.infos()) == jobs
    assert len(hub.cancels()) == jobs


# The test command tries the hardest way; all of them are tried by .ci/run.
@pytest.mark.parametrize(
    "how", [how if how == "SIGKILL" else pytest.param(how, marks=pytest.mark.slow) for how in ENDS]
)
def test_ends_of_a_ready_kernel(remote_hub: RemoteHub, drive: Any, how: str, gone: Callable[..., bool]) -> None:
    driver = drive(remote_hub, SERVE + ENDS[how])
    driver.until("READY")
    driver.process.stdin.close()
    driver.process.wait(20)
    cancelled_once(remote_hub)
    assert gone(driver.watchdog)
    assert list((driver.folder / "state" / "ledger").glob("*")) == []


@pytest.mark.parametrize("stage", ["queued", "pulling"])
def test_killed_while_it_starts(remote_hub: RemoteHub, drive: Any, stage: str) -> None:
    remote_hub.add(faults.Queue(seconds=None if stage == "queued" else 0.05), faults.Engine(stuck=True))
    driver = drive(remote_hub)
    driver.until(stage)
    driver.process.kill()
    cancelled_once(remote_hub)


@pytest.mark.parametrize("created", [True, False], ids=["job is there", "job comes later"])
def test_killed_while_the_request_is_on_its_way(remote_hub: RemoteHub, drive: Any, created: bool) -> None:
    remote_hub.add(faults.Slow(route="run", seconds=1.5, created=created))
    driver = drive(remote_hub)
    remote_hub.wait(remote_hub.posts, 20)
    driver.process.kill()
    cancelled_once(remote_hub)
    assert list((driver.folder / "state" / "ledger").glob("*.json")) == []


@pytest.mark.parametrize("moment", ["queued", "loading", "READY"])
def test_interrupt(remote_hub: RemoteHub, drive: Any, moment: str) -> None:
    code = "try:\n    ep = start.serve('vllm', on_event=told)\n    print('READY', flush=True)\n    sys.stdin.read()\n"
    code += "except KeyboardInterrupt:\n    print('INTERRUPTED', flush=True)\n    sys.stdin.read()\n"
    remote_hub.add(faults.Queue(seconds=None if moment == "queued" else 0.05), faults.Engine(stuck=moment == "loading"))
    driver = drive(remote_hub, code)
    driver.until(moment)
    driver.process.send_signal(signal.SIGINT)
    driver.until("INTERRUPTED")
    if moment == "READY":
        assert remote_hub.cancels() == []  # an interrupt of a later cell stops no endpoint
        driver.process.stdin.close()
    cancelled_once(remote_hub)


def test_two_kernels_leave_each_other_alone(remote_hub: RemoteHub, drive: Any, tmp_path: Path) -> None:
    wait = "sys.stdin.read()\n"
    first, second = drive(remote_hub, SERVE + wait), drive(remote_hub, SERVE + wait)
    first.until("READY")
    second.until("READY")
    first.process.kill()
    cancelled = remote_hub.wait(lambda: remote_hub.cancels(accepted=True), 10)
    # A third kernel, whose start sweeps the ledger that it shares with the second.
    third = drive(remote_hub, SERVE + wait)
    third.until("READY")
    assert len(remote_hub.cancels()) == 1
    running = [info["id"] for info in remote_hub.infos() if info["status"]["stage"] == "RUNNING"]
    assert cancelled[0].job_id not in running
    assert len(running) == 2


def test_kernel_and_watchdog_killed_the_next_kernel_sweeps(remote_hub: RemoteHub, drive: Any) -> None:
    first = drive(remote_hub, SERVE + "sys.stdin.read()\n")
    first.until("READY")
    os.kill(first.watchdog, signal.SIGKILL)
    first.process.kill()
    first.process.wait()
    second = drive(remote_hub, "from uocr_nb.serving.hub.sweep import sweep_later\nsweep_later(print).join()\n")
    assert "was still running and is now cancelled: vllm on l4x1, " in second.process.stdout.read()
    cancelled_once(remote_hub)
    assert list((first.folder / "state" / "ledger").glob("*")) == []


def test_kernel_and_watchdog_killed_in_the_request(remote_hub: RemoteHub, drive: Any) -> None:
    remote_hub.add(faults.Slow(route="run", seconds=1.0, created=True))
    first = drive(remote_hub)
    first.until("plan")
    remote_hub.wait(remote_hub.posts, 20)
    for line in (first.folder / "state" / "ledger").glob("*.json"):
        assert '"id": ""' in line.read_text()
    pid = _watchdog_of(first.process.pid)
    os.kill(pid, signal.SIGKILL)
    first.process.kill()
    first.process.wait()
    second = drive(remote_hub, "from uocr_nb.serving.hub.sweep import sweep_later\nsweep_later(print).join()\n")
    assert "is now cancelled" in second.process.stdout.read()
    cancelled_once(remote_hub)


def _watchdog_of(parent: int) -> int:
    import psutil

    return next(child.pid for child in psutil.Process(parent).children() if "reaper" in " ".join(child.cmdline()))


def test_killed_watchdog_gets_a_successor(remote_hub: RemoteHub, drive: Any) -> None:
    code = "keeper._CALM = 0.1\n" + SERVE + "old = reaper.pid\nsys.stdin.readline()\n"
    code += (
        "import time\nwhile reaper.pid in (old, None):\n    time.sleep(0.02)\nprint('NEW', reaper.pid, flush=True)\n"
    )
    driver = drive(remote_hub, code + "sys.stdin.read()\n")
    driver.until("READY")
    os.kill(driver.watchdog, signal.SIGKILL)
    driver.process.stdin.write("go on\n")
    driver.process.stdin.flush()
    driver.until("NEW")
    driver.process.kill()
    cancelled_once(remote_hub)


def test_watchdog_repeats_until_one_cancel_is_accepted(remote_hub: RemoteHub, drive: Any) -> None:
    driver = drive(remote_hub, SERVE + "sys.stdin.read()\n")
    driver.until("READY")
    remote_hub.add(faults.Answer(route="cancel", status=503, times=2))
    driver.process.kill()
    remote_hub.wait(lambda: remote_hub.cancels(accepted=True), 10)
    remote_hub.wait(lambda: not remote_hub.alive(), 5)
    assert [record.status for record in remote_hub.cancels()] == [503, 503, 200]


def test_watchdog_waits_for_a_hub_that_is_down(remote_hub: RemoteHub, drive: Any) -> None:
    driver = drive(remote_hub, SERVE + "sys.stdin.read()\n")
    driver.until("READY")
    remote_hub.down_for(2)
    time.sleep(0.3)
    driver.process.kill()
    time.sleep(2.2)
    cancelled_once(remote_hub)


def test_watchdog_reads_a_newer_token_from_the_file(remote_hub: RemoteHub, drive: Any, tmp_path: Path) -> None:
    file = tmp_path / "hf" / "token"
    file.parent.mkdir()
    file.write_text(remote_hub.token)
    driver = drive(remote_hub, SERVE + "sys.stdin.read()\n", HF_TOKEN="")
    driver.until("READY")
    newer = remote_hub.add_token()
    file.write_text(newer)
    remote_hub.revoke(remote_hub.token)
    driver.process.kill()
    cancelled_once(remote_hub)


def test_no_token_in_children_files_or_words(remote_hub: RemoteHub, drive: Any) -> None:
    driver = drive(remote_hub, SERVE + "print(repr(ep), repr(ep._runs_on), ep.describe(), ep.plan)\nsys.stdin.read()\n")
    driver.until("READY")
    for pid in (driver.watchdog,):
        for name in ("environ", "cmdline"):
            assert remote_hub.token.encode() not in Path(f"/proc/{pid}/{name}").read_bytes()
    driver.process.stdin.close()
    words = driver.process.stdout.read() + driver.process.stderr.read()
    assert "Endpoint vllm" in words
    assert remote_hub.token not in words
    for path in driver.folder.rglob("*"):
        assert not path.is_file() or remote_hub.token.encode() not in path.read_bytes()
    assert all(record.token_in == () for record in remote_hub.records())


def test_kept_job_outlives_its_kernel_and_is_taken_over(remote_hub: RemoteHub, drive: Any) -> None:
    first = drive(remote_hub, SERVE.replace("'vllm'", "'vllm', keep=True"))
    first.until("READY")
    first.process.wait(20)
    time.sleep(1)
    assert remote_hub.cancels() == []
    assert len(remote_hub.alive()) == 1
    second = drive(remote_hub, SERVE.replace("'vllm'", "'vllm', reuse=True"))
    second.until("READY")
    second.process.wait(20)
    cancelled_once(remote_hub)
    assert len(remote_hub.posts()) == 1


def test_sleeping_laptop_the_job_ends_itself(remote_hub: RemoteHub, drive: Any) -> None:
    driver = drive(remote_hub, SERVE.replace("'vllm'", "'vllm', idle=1.5") + "sys.stdin.read()\n")
    driver.until("READY")
    os.kill(driver.process.pid, signal.SIGSTOP)
    os.kill(driver.watchdog, signal.SIGSTOP)
    began = time.monotonic()
    try:
        remote_hub.wait(lambda: remote_hub.infos()[0]["status"]["stage"] == "COMPLETED", 11)
    finally:
        os.kill(driver.watchdog, signal.SIGCONT)
    assert time.monotonic() - began > 0.7
    assert remote_hub.cancels() == []
