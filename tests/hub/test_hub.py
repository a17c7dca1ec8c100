"""The loopback Hub, proven with the real clients."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from huggingface_hub.errors import HfHubHTTPError

from tests.hub import faults, rules, schema
from tests.hub.records import HIDDEN

if TYPE_CHECKING:
    from tests.hub.server import Hub

from tests.hub.asking import EXTRA, SGLANG, VLLM, client, messages, openai_client, ready, run, stage

# -- the way of a Job ------------------------------------------------------------------------------------------------


def test_hardware_needs_no_token(hub: Hub) -> None:
    rows = {row.name: row for row in client(hub, False).list_jobs_hardware()}
    assert rows["l4x1"].unit_cost_micro_usd == 13333
    assert getattr(rows["l4x1"].accelerator, "vram", "") == "24 GB"
    assert rows["cpu-basic"].accelerator is None
    assert round(rows["a100-large"].unit_cost_usd * 60, 2) == 2.50
    assert hub.records()[0].auth == "none"


@pytest.mark.parametrize(("engine", "command", "port"), [("vllm", VLLM, 8000), ("sglang", SGLANG, 30000)])
def test_a_job_from_start_to_cancel(hub: Hub, engine: str, command: list[str], port: int) -> None:
    api = client(hub)
    job = run(hub, command, expose=[port], labels={"app": "uocr_nb"})
    assert job.owner.name == "alice"
    assert job.status.expose_urls == [f"{hub._proxy.url}/{job.id}--{port}"]
    url = ready(hub, job)
    with openai_client(hub, url) as chat:
        assert [model.owned_by for model in chat.models.list()] == [engine]
        ask: dict[str, Any] = {"model": "Unlimited-OCR", "messages": messages(engine), "temperature": 0}
        whole = chat.chat.completions.create(**ask, extra_body=EXTRA[engine])
        assert whole.choices[0].message.content == rules.page_text()
        stream = chat.chat.completions.create(
            **ask, stream=True, stream_options={"include_usage": True}, extra_body=EXTRA[engine]
        )
        events = list(stream)
    assert "".join(event.choices[0].delta.content or "" for event in events if event.choices) == rules.page_text()
    assert events[-1].usage is not None
    shown = api.inspect_job(job_id=job.id, namespace="alice")
    assert shown.status.stage == "RUNNING"
    assert shown.command == command
    assert shown.started_at is not None
    api.cancel_job(job_id=job.id, namespace="alice")
    ended = api.wait_for_job(job.id, namespace="alice", poll_interval=0.05, timeout=5)
    assert ended.status.stage == "CANCELED"
    assert ended.finished_at is not None
    hub.wait(lambda: not hub.alive(), 5, "processes gone")
    with pytest.raises(HfHubHTTPError, match="409"):
        api.cancel_job(job_id=job.id, namespace="alice")
    assert len(hub.posts()) == 1
    assert [record.status for record in hub.cancels(job.id)] == [200, 409]
    assert len(hub.cancels(accepted=True)) == 1


def test_sglang_through_a_login_shell_and_a_supervisor(hub: Hub) -> None:
    """`bash -lc` sets PATH anew, and `python -c ... -- python -m sglang...` must run the real interpreter first."""
    line = (
        "pip install --no-deps https://example.org/x.whl && python -m sglang.launch_server --host 0.0.0.0 --port 10000"
    )
    supervisor = "import subprocess, sys; print('watching', flush=True); sys.exit(subprocess.call(sys.argv[2:]))"
    job = run(hub, ["python3", "-u", "-c", supervisor, "--", "bash", "-lc", line], expose=[10000])
    ready(hub, job)
    lines = hub.lines(job.id)
    assert lines[0] == "watching"
    assert lines[1].startswith("Successfully installed x.whl")
    assert any("fired up and ready to roll" in text for text in lines)
    assert next(info for info in hub.infos())["status"]["stage"] == "RUNNING"


def test_a_job_sees_its_own_environment_alone(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "not for the Job")
    code = "import os; e = os.environ; print(e['ASKED'], len(e['HF_TOKEN']), e['JOB_ID'], os.getcwd() == e['HOME'])"
    api = client(hub)
    job = run(hub, ["python", "-c", code], env={"ASKED": "yes"}, secrets={"HF_TOKEN": hub.token})
    assert job.secrets == ["HF_TOKEN"]
    assert api.wait_for_job(job.id, namespace="alice", poll_interval=0.05, timeout=10).status.stage == "COMPLETED"
    assert hub.lines(job.id) == [f"yes {len(hub.token)} {job.id} True"]
    post = hub.posts()[0]
    assert post.body["secrets"] == {"HF_TOKEN": HIDDEN}
    assert post.token_in == ("secrets",)
    plain = run(hub, ["python", "-c", "import os; print(os.environ.get('HF_TOKEN'))"])
    hub.wait(lambda: hub.lines(plain.id), 5)
    assert hub.lines(plain.id) == ["None"]


def test_a_token_in_the_wrong_place_is_noticed(hub: Hub) -> None:
    run(hub, ["true"], env={"LEAK": f"x {hub.token} y"})
    assert hub.posts()[0].token_in == ("body",)
    assert hub.token not in repr(hub.records())


def test_exit_codes_timeouts_and_messages(hub: Hub) -> None:
    api = client(hub)
    failed = run(hub, ["sh", "-c", "echo no; exit 3"])
    absent = run(hub, ["no-such-program"])
    late = run(hub, ["sh", "-c", "trap '' TERM; while :; do sleep 0.1; done"], timeout=30)
    ended = {
        job.id: api.wait_for_job(job.id, namespace="alice", poll_interval=0.05, timeout=10)
        for job in (failed, absent, late)
    }
    assert ended[failed.id].status.stage == "ERROR"
    assert ended[failed.id].status.message == "Job failed with exit code: 3"
    assert ended[absent.id].status.message == "Job failed with exit code: 127"
    assert "No such file" in hub.lines(absent.id)[0]
    assert ended[late.id].status.message == "Job timeout"
    assert hub.infos()[0]["timeout"] == 30


def test_nothing_outlives_a_cancelled_job(hub: Hub) -> None:
    """Also what put itself into a session of its own and ignores SIGTERM."""
    deep = "import os, signal, time; os.setsid(); signal.signal(15, signal.SIG_IGN); "
    deep += "print(os.getpid(), flush=True); time.sleep(600)"
    shell = f'python -c "{deep}" & python -c "import time; time.sleep(600)"'
    job = run(hub, ["sh", "-c", shell])
    pid = int(hub.wait(lambda: hub.lines(job.id), 5)[0])
    client(hub).cancel_job(job_id=job.id, namespace="alice")
    hub.wait(lambda: not hub.alive(), 5)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_cancel_in_the_queue(hub: Hub) -> None:
    hub.add(faults.Queue(message="Waiting for hardware"))
    job = run(hub, VLLM, expose=[8000])
    shown = client(hub).inspect_job(job_id=job.id, namespace="alice")
    assert (shown.status.stage, shown.status.message, shown.started_at) == ("SCHEDULING", "Waiting for hardware", None)
    client(hub).cancel_job(job_id=job.id, namespace="alice")
    assert stage(hub, job.id) == "CANCELED"
    assert list(client(hub).fetch_job_logs(job_id=job.id, namespace="alice")) == []


# -- logs ------------------------------------------------------------------------------------------------------------

COUNT = ["python", "-uc", "import time\nfor n in range(8): print('line', n); time.sleep(0.02)"]
LINES = [f"line {n}" for n in range(8)]


def test_following_through_a_drop_and_a_clean_end(hub: Hub) -> None:
    hub.add(faults.CutLogs(after=3, how="drop"), faults.CutLogs(after=5, how="end"))
    # It goes on: after a clean end of the stream the client reads no further when the Job has ended meanwhile.
    job = run(hub, [*COUNT[:2], f"{COUNT[2]}\ntime.sleep(600)"])
    lines = iter(client(hub).fetch_job_logs(job_id=job.id, namespace="alice", follow=True))
    assert [next(lines) for _ in LINES] == LINES
    assert hub.count("logs") == 3
    lines.close()  # type: ignore[attr-defined]


def test_following_from_the_queue_on_and_the_wire(hub: Hub) -> None:
    hub.add(faults.Queue(seconds=0.8))
    job = run(hub, COUNT)
    assert list(client(hub).fetch_job_logs(job_id=job.id, namespace="alice", follow=True)) == LINES
    header = {"Authorization": f"Bearer {hub.token}"}
    answer = httpx2.get(f"{hub.endpoint}/api/jobs/alice/{job.id}/logs", headers=header)
    assert answer.text.startswith('data: {"data":"===== Job started at ')
    assert answer.text.count("\n\n") == 9
    assert "date" in answer.headers


def test_tail(hub: Hub) -> None:
    job = run(hub, COUNT)
    client(hub).wait_for_job(job.id, namespace="alice", poll_interval=0.05, timeout=5)
    assert list(client(hub).fetch_job_logs(job_id=job.id, namespace="alice", tail=2)) == LINES[-2:]
    assert hub.records()[-1].query == {"tail": ["2"]}


def test_a_stream_of_keep_alives_only(hub: Hub) -> None:
    hub.add(faults.QuietLogs(every=0.02))
    job = run(hub, ["sleep", "60"])
    header = {"Authorization": f"Bearer {hub.token}"}
    with httpx2.stream("GET", f"{hub.endpoint}/api/jobs/alice/{job.id}/logs", headers=header, timeout=5) as answer:
        lines = answer.iter_lines()
        assert {next(lines) for _ in range(6)} == {": keep-alive", ""}


def test_start_marks_in_the_queue(hub: Hub) -> None:
    hub.add(faults.Queue(marks=3))
    job = run(hub, COUNT)
    found = hub.find(job.id)
    assert found is not None
    hub.wait(lambda: len(found.logs) == 3, 5)
    assert stage(hub, job.id) == "SCHEDULING"


def test_metrics(hub: Hub) -> None:
    job = run(hub, ["sleep", "60"])
    samples = list(client(hub).fetch_job_metrics(job_id=job.id, namespace="alice"))
    assert [sample["cpu_usage_pct"] for sample in samples] == [12]
    client(hub).cancel_job(job_id=job.id, namespace="alice")
    assert list(client(hub).fetch_job_metrics(job_id=job.id, namespace="alice")) == []
    assert hub.records()[-1].status == 406


# -- list, labels, account -------------------------------------------------------------------------------------------


def test_listing_with_filters_and_pages(hub: Hub) -> None:
    hub.page_size = 2
    hub.add(faults.Queue(times=None))
    made = [run(hub, ["true"], labels={"app": "uocr_nb", "n": str(n % 2)}).id for n in range(5)]
    client(hub).cancel_job(job_id=made[0], namespace="alice")
    api = client(hub)
    assert [job.id for job in api.list_jobs(namespace="alice")] == made[::-1]
    waiting = api.list_jobs(namespace="alice", status="SCHEDULING", labels={"app": "uocr_nb", "n": "0"})
    assert [job.id for job in waiting] == [made[4], made[2]]
    both = api.list_jobs(namespace="alice", status=["SCHEDULING", "CANCELED"], labels={"app": "uocr_nb"})
    assert [job.id for job in both] == made[::-1]
    cursors = [record.query for record in hub.records() if record.route == "list" and "cursor" in record.query]
    assert cursors[-1]["stage"] == ["SCHEDULING", "CANCELED"]
    assert list(api.list_jobs(namespace="acme")) == []


def test_labels_ports_and_a_second_run(hub: Hub) -> None:
    hub.add(faults.Queue(times=None))
    api = client(hub)
    job = run(hub, ["true"], expose=[8000])
    assert api.update_job_labels(job_id=job.id, labels={"a": "b"}, namespace="alice").labels == {"a": "b"}
    assert api.update_job_expose(job_id=job.id, expose=[8001], namespace="alice").expose == [8001]
    again = api.rerun_job(job_id=job.id, namespace="alice")
    assert again.id != job.id
    assert again.initiator is not None
    assert again.initiator.type == "duplicated-job"


def test_account_money_and_rights(hub: Hub) -> None:
    api = client(hub)
    who = api.whoami()
    assert (who["name"], who["canPay"], who["auth"]["accessToken"]["role"]) == ("alice", True, "write")
    header = {"Authorization": f"Bearer {hub.token}"}
    check = f"{hub.endpoint}/api/jobs/alice/auth-check/write"
    assert httpx2.post(check, headers=header).status_code == 200
    hub.set_account(can_pay=False)
    assert api.whoami()["canPay"] is False
    with pytest.raises(HfHubHTTPError, match="Pre-paid credit"):
        run(hub, ["true"])
    assert run(hub, ["true"], namespace="acme").owner.type == "org"
    with pytest.raises(HfHubHTTPError):
        run(hub, ["true"], namespace="strangers")
    hub.set_account(can_pay=True, role="read")
    assert httpx2.post(check, headers=header).status_code == 403
    with pytest.raises(HfHubHTTPError, match=r"job\.write"):
        run(hub, ["true"])
    fresh = hub.add_token(role="write")
    assert list(client(hub, fresh).list_jobs(namespace="acme"))
    hub.revoke(fresh)
    with pytest.raises(HfHubHTTPError, match="401"):
        list(client(hub, fresh).list_jobs(namespace="acme"))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"command": []}, "command"),
        ({"command": ["a", ""]}, "command"),
        ({"dockerImage": None}, "dockerImage"),
        ({"flavor": "h300"}, "flavor"),
        ({"timeoutSeconds": 0}, "timeoutSeconds"),
        ({"timeoutSeconds": "30m"}, "timeoutSeconds"),
        ({"labels": {"a b": "c"}}, "labels"),
        ({"labels": {"a": "c/d"}}, "labels"),
        ({"labels": {"a": "x" * 101}}, "labels"),
        ({"environment": {"A": "1"}}, "environment"),
        ({"environment": {"AB": 1}}, "environment"),
        ({"secrets": {"1A": "1"}}, "secrets"),
        ({"expose": {"ports": [0]}}, "expose"),
        ({"expose": {"ports": list(range(1, 22))}}, "expose"),
        ({"resourceGroupId": "x"}, "resourceGroupId"),
    ],
)
def test_limits_of_the_schema(change: dict[str, Any], text: str) -> None:
    good = {"command": ["true"], "dockerImage": "a/b:c", "flavor": "l4x1", "secrets": {"A": "1"}, "labels": {"a": ""}}
    assert schema.job_error(good) is None
    assert text in str(schema.job_error({**good, **change}))
