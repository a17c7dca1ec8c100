"""Whose a Job is: listed, swept, taken over, or let be."""

from __future__ import annotations

import dataclasses
import json
import shutil
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from jobs_kit import SERVE, drive, faults, hub, remote_hub, serve_quick

from uocr_nb.errors import OptionError
from uocr_nb.serving import ledger, start
from uocr_nb.serving.hub import adoption, listing, sweep
from uocr_nb.serving.hub.client import HubClient
from uocr_nb.serving.hub.labels import clean, labels_for, machine_of
from uocr_nb.serving.plan import Options, make_plan
from uocr_nb.serving.reaper import reaper
from uocr_nb.support.net import Secret
from uocr_nb.support.platform import identify

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from jobs_kit import Hub, RemoteHub

__all__ = ["drive", "hub", "remote_hub"]

DEAD = dataclasses.replace(identify(), pid=2**22 + 1)
ELSEWHERE = dataclasses.replace(identify(), machine="0123456789abcdef")


def job_on(hub: Hub, **labels: str) -> str:
    """Make a Job as another kernel would have."""
    body = {
        "command": ["sleep", "30"],
        "environment": {},
        "flavor": "l4x1",
        "timeoutSeconds": 1800,
        "labels": {"app": "uocr_nb", "engine": "vllm", "variant": "dedicated", "name": "vllm", **labels},
        "dockerImage": "vllm/vllm-openai:unlimited-ocr",
    }
    job = hub.create(body, "alice", "user")
    hub.wait(lambda: job.stage == "RUNNING")
    return job.id


@pytest.fixture
def others(hub: Hub) -> Iterator[Hub]:
    """A Hub on which other kernels have Jobs, which are ended for the test alone."""
    yield hub
    for job in hub.jobs():
        job.end("CANCELED", at_once=True)


def dies(hub: Hub, job_id: str) -> None:
    hub.kill(job_id)
    hub.wait(lambda: job_id not in running(hub))


def note(hub: Hub, job_id: str, owner: Any, **fields: Any) -> ledger.Entry:
    entry = ledger.Entry(
        id=f"e{job_id[-8:]}{len(ledger.entries())}",
        name="vllm",
        engine="vllm",
        host="hf",
        base_url="",
        owner=owner,
        process=None,
        started="2026-11-30T10:00:00+00:00",
        job=ledger.JobNote(hub.endpoint, "alice", job_id, "m" + job_id[-8:], "l4x1", 10**9, 0.81),
        variant="dedicated",
        **fields,
    )
    ledger.write(entry)
    return entry


def running(hub: Hub) -> list[str]:
    return [info["id"] for info in hub.infos() if info["status"]["stage"] == "RUNNING"]


def test_only_what_is_proven_dead_is_swept(hub: Hub, others: Hub) -> None:
    dead, other, kept, mine = (job_on(hub) for _ in range(4))
    note(hub, dead, DEAD)
    note(hub, other, ELSEWHERE)
    note(hub, kept, DEAD, keep=True)
    note(hub, mine, identify())
    told: list[str] = []
    thread = sweep.sweep_later(told.append)
    assert thread is not None
    thread.join(10)
    assert len(told) == 1
    assert told[0].startswith("A Job from a kernel that died was still running and is now cancelled: vllm on l4x1, ")
    assert sorted(running(hub)) == sorted([other, kept, mine])
    assert len(hub.cancels()) == 1
    assert sweep.sweep_later() is None


def test_no_socket_without_an_open_job(hub: Hub) -> None:
    note(hub, "aa", ELSEWHERE)
    hub.forget()
    assert sweep.sweep_later() is None
    assert hub.records() == []


def test_black_hole_holds_nobody(hub: Hub) -> None:
    hub.add(faults.Silent(times=None))
    note(hub, "aa" * 12, DEAD)
    began = time.monotonic()
    assert sweep.sweep_later() is not None
    assert time.monotonic() - began < 0.3
    hub.clear()


def test_another_process_sweeping_is_left_to_it(hub: Hub) -> None:
    entry = note(hub, job_on(hub), DEAD)
    with subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE) as other:
        entry.file.with_suffix(".claim").write_text(identify(other.pid).name)
        assert sweep.sweep_jobs() == []
        other.communicate()
    assert len(sweep.sweep_jobs()) == 1
    assert len(hub.cancels()) == 1


def test_job_that_has_ended_is_struck_off_without_a_cancel(hub: Hub) -> None:
    job_id = job_on(hub)
    dies(hub, job_id)
    note(hub, job_id, DEAD)
    note(hub, "f" * 24, DEAD)
    assert sweep.sweep_jobs() == []
    assert ledger.entries() == []
    assert hub.cancels() == []


def test_files_of_others_and_torn_ones_are_passed_over(hub: Hub) -> None:
    entry = note(hub, "aa", DEAD)
    folder = entry.file.parent
    (folder / "torn.json").write_text('{"id": "x", "na')
    (folder / "list.json").write_text("[]")
    newer = json.loads(entry.file.read_text()) | {"id": "newer", "of_a_later_version": 1}
    (folder / "newer.json").write_text(json.dumps(newer))
    assert {one.id for one in ledger.entries()} == {entry.id, "newer"}


def test_list_says_whose_and_what_it_costs(hub: Hub, others: Hub) -> None:
    dead, other, kept = (job_on(hub) for _ in range(3))
    far = job_on(hub, host="laptop.0123456789abcdef")
    lost = job_on(hub, host=f"here.{identify().machine}")
    job_on(hub, app="somebody-elses")
    gone = job_on(hub)
    dies(hub, gone)
    note(hub, dead, DEAD)
    note(hub, other, ELSEWHERE)
    note(hub, kept, DEAD, keep=True)
    note(hub, gone, DEAD)
    rows = {row.id: row for row in listing.jobs()}
    assert {job: row.whose for job, row in rows.items()} == {
        dead: "a dead kernel",
        other: "another machine",
        kept: "kept",
        far: "another machine",
        lost: "unknown",
    }
    assert [job for job, row in rows.items() if row.dead] == [dead]
    assert rows[far].machine == "laptop"
    assert all(row.cost is not None and row.cost < 0.1 for row in rows.values())
    assert "vllm on l4x1" in rows[far].line
    assert len(listing.cancel_dead()) == 1
    assert sorted(running(hub))[:1] != [dead]
    assert dead not in running(hub)
    assert listing.cancel_job(f"alice/{far}").startswith(f"Cancelled alice/{far}")
    with pytest.raises(OptionError):
        listing.cancel_job("0" * 24)
    assert len(hub.cancels(accepted=True)) == len(hub.cancels()) == 2


def test_list_without_a_token_asks_nobody(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_TOKEN")
    assert listing.jobs() == []
    assert hub.records() == []


def test_lost_endpoint_is_taken_over(hub: Hub) -> None:
    endpoint = serve_quick()
    job_id = endpoint.id
    # As if another kernel had started it, and had died with its watchdog.
    keeper = endpoint._runs_on._keeper
    keeper._hub.ask = lambda *_, **__: (time.sleep(3600), None)[1]
    reaper.forget(endpoint.uid)
    entry = dataclasses.replace(ledger.entries()[0], owner=DEAD, id="lost")
    ledger.remove(ledger.entries()[0])
    ledger.write(entry)
    start._endpoints.clear()
    start._current = None
    told: list[Any] = []
    again = serve_quick(reuse=True, told=told)
    assert again.id == job_id
    assert again.state == "ready"
    assert any("It is taken over" in event.text for event in told)
    assert len(hub.posts()) == 1
    assert [(one.owner, one.job.id) for one in ledger.entries() if one.job] == [(identify(), job_id)]
    again.stop()
    assert len(hub.cancels(job_id)) == 1


def test_kept_one_of_another_machine_is_found_by_its_labels(hub: Hub, others: Hub) -> None:
    plan = make_plan("vllm", Options(reuse=True))
    client = HubClient(Secret(hub.token))
    job_on(hub, host="laptop.0123456789abcdef")
    assert adoption.find(plan, client, "alice") is None
    kept = job_on(hub, host="laptop.0123456789abcdef", keep="yes")
    found = adoption.find(plan, client, "alice")
    assert found is not None
    assert found.id == kept
    assert adoption.find(make_plan("sglang", Options(reuse=True)), client, "alice") is None


def test_reuse_with_nothing_there_starts_one(hub: Hub) -> None:
    told: list[Any] = []
    assert serve_quick(reuse=True, told=told).state == "ready"
    assert any("a new one is started" in event.text for event in told)


def test_labels_hold_what_the_hub_takes() -> None:
    labels = labels_for(make_plan("sglang:stable", Options(keep=True)), "my name/ß", "abc123")
    assert labels["name"] == "my-name"
    assert labels["keep"] == "yes"
    assert labels["variant"] == "stable"
    assert machine_of(labels) == identify().machine
    assert len(clean("x" * 500)) == 100
    assert clean("///") == "none"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("unshare") is None, reason="no unshare")
def test_two_number_spaces_with_one_home(remote_hub: RemoteHub, drive: Any, tmp_path: Path) -> None:
    """Two pods on one home: neither can see the other's processes, so neither ends the other's Jobs."""
    probe = subprocess.run(["unshare", "-pf", "--mount-proc", "true"], capture_output=True, check=False)
    if probe.returncode:
        pytest.skip("no right to make a number space")
    first = drive(remote_hub, SERVE + "sys.stdin.read()\n", prefix=["unshare", "-pf", "--mount-proc", "--kill-child"])
    first.until("READY")
    (its_job,) = remote_hub.alive()
    second = drive(remote_hub, SERVE + "sys.stdin.read()\n")
    second.until("READY")
    assert remote_hub.cancels() == []
    first.process.kill()  # with all that is in its space, the watchdog too, which may just have had the time to cancel
    first.process.wait()
    third = drive(remote_hub, SERVE + "sys.stdin.read()\n")
    third.until("READY")
    by_others = [record for record in remote_hub.cancels() if record.headers.get("User-Agent") != "uocr_nb-watchdog"]
    assert by_others == []
    assert {record.job_id for record in remote_hub.cancels()} <= {its_job}
    assert len({*remote_hub.alive(), its_job}) == 3
