"""What goes wrong at the Hub, in the queue, while an engine starts and later: said, and nothing left running."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from jobs_kit import asks, faults, hub, serve_quick
from PIL import Image

import uocr_nb as uocr
from uocr_nb.errors import OptionError, UocrError
from uocr_nb.serving import ledger, start
from uocr_nb.serving.hub import account, keeper
from uocr_nb.serving.reaper import reaper

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from jobs_kit import Hub

__all__ = ["hub"]

FREE = "nothing is charged"


def refused(target: str = "vllm", **options: Any) -> UocrError:
    with pytest.raises(UocrError) as caught:
        serve_quick(target, **options)
    return caught.value


def nothing_left(hub: Hub) -> None:
    hub.wait(lambda: all(info["status"]["stage"] not in {"RUNNING", "SCHEDULING"} for info in hub.infos()))
    hub.wait(lambda: not ledger.entries())
    assert not [name for name, thing in reaper._things.items() if thing["kind"] == "job"]


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ({"status": 400, "message": "bad flavor"}, ["bad flavor", FREE, "--dry-run"]),
        ({"status": 401}, ["HF_TOKEN (401)", FREE, "hf auth login"]),
        ({"status": 402}, ["alice has no credit", FREE, "/settings/billing"]),
        ({"status": 403}, ["whose role is write", "job.write", FREE, "/settings/tokens"]),
        ({"status": 404}, ["is not there", FREE, "--namespace"]),
        ({"status": 409}, ["(409)", FREE]),
        ({"status": 429, "times": 3, "headers": {"Retry-After": "0.05"}}, ["too many requests", FREE]),
        ({"status": 307, "headers": {"Location": "https://elsewhere.example/"}}, ["redirect", FREE]),
    ],
    ids=lambda value: str(value.get("status")) if isinstance(value, dict) else "",
)
def test_refused_by_the_hub(hub: Hub, fault: dict[str, Any], says: list[str]) -> None:
    hub.add(faults.Answer(route="run", **fault))
    text = str(refused())
    for words in ["vllm on l4x1 was not started.", *says]:
        assert words in text
    assert hub.infos() == []
    nothing_left(hub)
    assert start.endpoints()[-1].state == "failed"


@pytest.mark.parametrize("how", ["close", "reset", "silence", "status"])
def test_lost_answer_makes_no_second_job(hub: Hub, how: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper, "_POST_SECONDS", 0.5)
    hub.add(faults.Lost(route="run", how=how))
    endpoint = serve_quick()
    assert endpoint.state == "ready"
    assert len(hub.posts()) == len(hub.infos()) == 1
    endpoint.stop()
    assert len(hub.cancels(endpoint.id, accepted=True)) == 1
    nothing_left(hub)


@pytest.mark.parametrize(
    "fault",
    [faults.Answer(route="run", status=500), faults.Hangup(route="run"), faults.Answer(route="run", status=429)],
    ids=["500", "hangup", "429"],
)
def test_not_done_is_asked_again_after_a_look(hub: Hub, fault: faults.Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper, "_LONGEST_WAIT", 0.05)
    hub.add(fault)
    assert serve_quick().state == "ready"
    assert len(hub.posts()) == 2
    assert len(hub.infos()) == 1


def test_late_job_of_an_unclear_answer_is_cancelled(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper, "_POST_SECONDS", 0.3)
    monkeypatch.setattr(keeper, "_TRIES", 1)
    hub.add(faults.Slow(route="run", seconds=1.2))
    assert "should one turn up, it is cancelled" in str(refused())
    hub.wait(lambda: hub.cancels(accepted=True))
    assert len(hub.infos()) == 1
    nothing_left(hub)


def test_second_job_of_one_start_is_cancelled(hub: Hub) -> None:
    hub.add(faults.Answer(route="run", status=500), faults.Engine(startup=1.5))
    told: list[Any] = []

    def double(event: Any) -> None:
        told.append(event)
        if event.stage == "queued" and len(hub.infos()) == 1:
            body = {**hub.find(hub.infos()[0]["id"]).body}
            hub.create(body, "alice", "user")  # the one that the 500 stood for, late

    endpoint = start.serve("vllm", on_event=double)
    running = [info["id"] for info in hub.infos() if info["status"]["stage"] == "RUNNING"]
    assert len(hub.infos()) == 2
    assert running == [endpoint.id]


def test_silent_hub(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper, "_POST_SECONDS", 0.3)
    monkeypatch.setattr(keeper, "_TRIES", 1)
    monkeypatch.setattr(keeper, "_LATE", 0.3)
    hub.add(faults.Silent(route="run"))
    assert "did not answer in time" in str(refused())
    nothing_left(hub)


def test_refused_connection(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    account.hardware_rows(__import__("uocr_nb.serving.hub.client", fromlist=["x"]).HubClient())
    hub.down()
    error = refused()
    assert "No connection to" in error.why
    assert "whose token" in error.what
    hub.up()


@pytest.mark.parametrize(
    ("fields", "options", "says"),
    [
        ({"can_pay": False}, {}, ["alice has no credit", FREE, "/settings/billing"]),
        ({"orgs": {"acme": False}}, {"namespace": "acme"}, ["acme has no credit", "/organizations/acme/"]),
        ({"role": "read"}, {}, ["may only read", FREE]),
        ({}, {"namespace": "else"}, ["not an account of alice", "alice, acme"]),
    ],
    ids=["no credit", "org without credit", "read token", "strange account"],
)
def test_refused_before_anything_is_asked_for(
    hub: Hub, fields: dict[str, Any], options: dict[str, Any], says: list[str]
) -> None:
    hub.set_account(**fields)
    text = str(refused(**options))
    for words in says:
        assert words in text
    assert hub.posts() == []
    nothing_left(hub)


def test_no_token(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_TOKEN")
    error = refused()
    assert error.what == "There is no Hugging Face token."
    assert "notebook_login" in error.next
    assert asks(hub) == ["hardware"]


def test_the_cap(hub: Hub) -> None:
    text = str(refused("sglang", flavor="h200", timeout="2h"))
    assert "could cost $10.02" in text
    assert "the cap is $5.00" in text
    assert FREE in text
    assert asks(hub) == ["hardware"]
    assert serve_quick("sglang", flavor="h200", timeout="2h", max_cost=None).state == "ready"


def test_unknown_price_counts_as_over_the_cap(hub: Hub) -> None:
    hub.add(faults.Answer(route="hardware", status=503, times=2))
    assert "its price is unknown" in str(refused())
    assert hub.posts() == []
    told: list[Any] = []
    endpoint = serve_quick(max_cost=None, told=told)
    assert endpoint.price is None
    assert "price unknown" in told[0].text


def test_unknown_hardware(hub: Hub) -> None:
    with pytest.raises(OptionError, match="l4x4"):
        serve_quick(flavor="l4x2")
    assert hub.posts() == []


def test_queue_has_a_limit(hub: Hub) -> None:
    hub.add(faults.Queue(message="no capacity"))
    told: list[Any] = []
    text = str(refused(wait=0.6, told=told))
    assert "still in the queue" in text
    assert "The Hub says: no capacity." in text
    assert "it never ran, so nothing is charged" in text
    assert sum(event.stage == "queued" for event in told) >= 2
    assert len(hub.cancels(accepted=True)) == 1
    nothing_left(hub)


@pytest.mark.parametrize(
    ("fault", "options", "says"),
    [
        (faults.Engine(stuck=True), {"start_limit": 0.8}, ["did not start within", "Its log ends:", "is cancelled"]),
        (
            faults.Engine(fatal="RuntimeError: CUDA error 802: system not yet initialized", fatal_at="start"),
            {},
            ["CUDA error 802", "a100-large", "it ran 0:0"],
        ),
        (faults.Engine(fatal="Killed by nobody", exit_code=7), {}, ["did not start.", "exit code: 7", "Killed by"]),
        (faults.Death(line=2), {}, ["did not start.", "The Job has ended"]),
    ],
    ids=["stuck", "802", "exit 7", "death"],
)
def test_engine_that_does_not_come(hub: Hub, fault: faults.Fault, options: dict[str, Any], says: list[str]) -> None:
    hub.add(fault)
    text = str(refused(**options))
    for words in says:
        assert words in text
    nothing_left(hub)
    assert len(hub.cancels(accepted=True)) <= 1


def test_job_that_nobody_saw_run_is_diagnosed_all_the_same(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper, "_EAGER", 1.5)
    hub.add(faults.Engine(fatal="RuntimeError: CUDA error 802: system not yet initialized", fatal_at="start"))
    text = str(refused())
    assert "CUDA error 802" in text
    assert "The Job has ended; it ran 0:00 and cost under $0.01." in text
    nothing_left(hub)


@pytest.mark.parametrize("how", ["drop", "end"])
def test_cut_log_loses_and_doubles_nothing(hub: Hub, how: Any, until: Callable[..., Any]) -> None:
    hub.add(
        faults.Engine(startup=0.8, lines=["same", "same", "other", "same"]),
        *(faults.CutLogs(after=after, how=how) for after in (1, 2, 3, 5)),
    )
    endpoint = serve_quick()
    lines = hub.lines(endpoint.id)
    until(lambda: len(endpoint.logs) >= len(lines))
    assert endpoint.logs.count("same") == 3
    assert [line.endswith("Completed") for line in endpoint.logs].count(True) == 1
    assert len(endpoint.logs) >= len(lines)


def test_ready_without_any_log(hub: Hub) -> None:
    hub.add(faults.QuietLogs(times=None))
    assert serve_quick().state == "ready"


@pytest.mark.parametrize("where", ["running", "looks"])
def test_url_that_comes_late(hub: Hub, where: Any) -> None:
    hub.add(faults.NoUrls(until=where, looks=4))
    endpoint = serve_quick()
    assert endpoint.base_url.startswith("http://127.0.0.1")


@pytest.mark.parametrize(
    ("end", "says"),
    [
        (lambda hub, job: hub.kill(job), ["vllm has gone.", "Its Job failed", "137", "and cost"]),
        (lambda hub, job: hub.cancel(job, "NO_CREDITS", "credits ran out"), ["no credit left", "credits ran out"]),
        (lambda hub, job: hub.cancel(job), ["Somebody cancelled"]),
    ],
    ids=["kill", "credits", "cancel"],
)
def test_dies_later(hub: Hub, end: Any, says: list[str], until: Callable[..., Any]) -> None:
    endpoint = serve_quick()
    end(hub, endpoint.id)
    assert until(lambda: endpoint.state == "failed")
    for words in says:
        assert words in str(endpoint.failure)
    assert hub.cancels() == []
    with pytest.raises(UocrError, match="has gone"):
        start.current()
    nothing_left(hub)
    spent = endpoint.spent
    assert endpoint.spent == spent


def test_reading_ends_with_the_reason(hub: Hub) -> None:
    hub.add(faults.Engine(die_after=2))
    serve_quick()
    pages = [Image.new("RGB", (300, 200), shade) for shade in ("white", "grey", "black")]
    first, *rest = uocr.ocr(pages, blank=True, progress=False).pages
    assert first.status == "truncated", "what had come is kept"
    assert {page.status for page in rest} == {"failed"}
    assert rest[0].reason.startswith("Not asked. vllm has gone.")
    assert "exit code: 1" in rest[0].reason
    nothing_left(hub)


def test_its_time_is_up(hub: Hub, until: Callable[..., Any]) -> None:
    endpoint = serve_quick(timeout=150)
    assert until(lambda: endpoint.state == "failed")
    assert "cannot be given more time" in str(endpoint.failure)
    nothing_left(hub)


@pytest.mark.parametrize(
    ("waiting", "sent"),
    [
        ([faults.Answer(route="cancel", status=503, times=2)], 3),
        ([faults.Lost(route="cancel", how="close")], 1),
        ([faults.Answer(route="cancel", status=409)], 2),
    ],
    ids=["503 twice", "lost", "409"],
)
def test_cancel_until_one_is_accepted(
    hub: Hub, waiting: list[faults.Fault], sent: int, until: Callable[..., Any]
) -> None:
    endpoint = serve_quick()
    hub.add(*waiting)
    endpoint.stop()
    assert until(lambda: endpoint.state == "stopped")
    nothing_left(hub)
    assert len(hub.cancels(endpoint.id)) == sent


def test_not_asked_for_what_cannot_be_noted_down(hub: Hub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "a file").write_text("")
    start._swept = None
    serve_quick().stop()
    monkeypatch.setenv("UOCR_STATE_DIR", str(tmp_path / "a file"))
    text = str(refused())
    assert "could not be noted down" in text
    assert "UOCR_STATE_DIR" in text
    assert len(hub.posts()) == 1


def test_from_acceptance_on_every_fault_of_ours_cancels(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    write, written = ledger.write, []

    def full(entry: ledger.Entry) -> Any:
        written.append(entry)
        if entry.job is not None and entry.job.id:
            raise OSError(28, "No space left on device")
        return write(entry)

    monkeypatch.setattr(ledger, "write", full)
    assert "No space left" in str(refused())
    assert len(written) == 2
    assert len(hub.cancels(accepted=True)) == len(hub.infos()) == 1
    nothing_left(hub)


def test_past_its_time_without_a_hub_it_is_over(
    hub: Hub, monkeypatch: pytest.MonkeyPatch, until: Callable[..., Any]
) -> None:
    monkeypatch.setattr(keeper, "_AFTER_ITS_TIME", -1800.0)
    endpoint = serve_quick()
    hub.down()
    assert until(lambda: endpoint.state == "failed")
    assert "are over" in str(endpoint.failure)
    hub.up()
    hub.cancel(endpoint.id)


def test_the_same_line_three_times_is_one_job(hub: Hub) -> None:
    found = {id(serve_quick()) for _ in range(3)}
    assert len(found) == 1
    assert len(hub.posts()) == 1
    with pytest.raises(UocrError, match="already running"):
        serve_quick("vllm", flavor="a100-large")
