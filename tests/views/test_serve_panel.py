from __future__ import annotations

import re
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lxml.html
import pytest

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from tests.hub.hardware import HARDWARE  # noqa: E402
from uocr_nb.errors import EndpointError  # noqa: E402
from uocr_nb.serving import engines, start  # noqa: E402
from uocr_nb.serving.endpoint import Endpoint  # noqa: E402
from uocr_nb.serving.plan import Options, StartEvent, make_plan  # noqa: E402
from uocr_nb.support.net import Secret  # noqa: E402
from uocr_nb.views import launch, serve_facts, serve_panel  # noqa: E402
from uocr_nb.views.launch_html import draw_form  # noqa: E402
from uocr_nb.views.serve_html import draw  # noqa: E402
from uocr_nb.views.serve_panel import ServePanel, panel_html  # noqa: E402
from uocr_nb.views.serve_plain import state_plain  # noqa: E402
from uocr_nb.views.serve_state import (  # noqa: E402
    Figure,
    PanelState,
    Stage,
    Step,
    figures_of,
    log_line,
    share_in,
    stages_after,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

ELEMENTS = {
    *("div", "span", "img", "a", "b", "code", "pre", "details", "summary"),
    *("table", "tbody", "tr", "td", "th"),
}
ATTRIBUTES = {
    *("class", "style", "title", "src", "alt", "href", "target", "rel", "data-rev"),
    *("data-uid", "data-view", "data-f", "data-w", "data-a", "data-tone", "data-ask", "data-k", "data-v"),
    *("data-kind", "data-hint", "data-value", "data-group"),
}
PROPERTIES = {
    *("position", "left", "top", "right", "bottom", "width", "height", "min-width", "max-width", "min-height"),
    *("max-height", "float", "clear", "display", "overflow", "overflow-x", "overflow-y", "box-sizing", "margin"),
    *("padding", "border", "border-top", "border-bottom", "border-left", "border-radius", "border-collapse"),
    *("background-color", "color", "opacity", "cursor", "vertical-align", "table-layout", "text-align"),
    *("white-space", "overflow-wrap", "font-family", "font-size", "font-weight", "line-height"),
}
"""What JupyterLab 4.6 keeps of a notebook that it does not trust, as far as it is used here; data attributes go."""

HOSTILE = "</pre></span><script>top.tripped=1</script><img src=x onerror=1>' onclick='x\" onclick=\"x \x1b[31mred\x00"


def check_harmless(html: str) -> Any:
    root = lxml.html.fromstring(html)
    for element in root.iter():
        assert element.tag in ELEMENTS, element.tag
        for name, value in element.attrib.items():
            assert name in ATTRIBUTES, (name, value)
            if name == "src":
                assert value.startswith("data:image/svg+xml,")
            if name == "style":
                for part in value.split(";"):
                    assert not part or part.partition(":")[0] in PROPERTIES, part
                assert not re.search(r"var\(|calc\(|url\(|:\s*\.\d", value)
    assert "mathjax_ignore" in root.get("class")
    assert "\x1b" not in html
    return root


def words(html: str) -> str:
    return " ".join(" ".join(lxml.html.fromstring(html).itertext()).split())


def starting(**given: Any) -> PanelState:
    fields: dict[str, Any] = {
        "uid": "u1",
        "name": "vllm",
        "place": "on l4x1",
        "stages": (
            Stage("queued", "done", 0, 42),
            Stage("loading", "going", 42, 56, "the engine starts", 61.0, "weights 61%"),
            Stage("ready", note="then one test page"),
        ),
        "figures": (Figure("27:46", "to auto-stop"), Figure("$0.41", "at most")),
        "log": (log_line("WARNING prefix caching is off"), log_line("Traceback (most recent call last):")),
        "log_count": 118,
        "in_cell": True,
    }
    return PanelState(**(fields | given))


@pytest.fixture
def job() -> Iterator[Endpoint]:
    """An endpoint of a Job that was never asked for."""
    plan = make_plan("vllm", Options(max_cost=5.0))
    made = Endpoint(plan, engines.get("vllm"), "vllm")
    made.price = 0.81
    return made


# ------------------------------------------------------------------ what it shows
def test_starting_has_stages_figures_and_log() -> None:
    drawn = draw(starting())
    root = check_harmless(drawn.html)
    text = words(drawn.html)
    stop = "Stop: interrupt the cell"
    for part in ("vllm on l4x1", "queued 0:42", "0:56, weights 61%", "27:46", "118 lines", stop):
        assert part in text, part
    assert drawn.share["share1"] == 61
    assert [row.text_content()[9:] for row in root.find_class("uo-warn")] == ["WARN  prefix caching is off"]
    assert root.find_class("uo-error")[0].text_content().endswith("Traceback (most recent call last):")
    assert all(button.get("style") == "display:none" for button in root.find_class("uo-btn"))


def test_what_ticks_leaves_the_shape_alone() -> None:
    first = draw(starting())
    later = draw(starting(figures=(Figure("27:45", "to auto-stop"), Figure("$0.41", "at most"))))
    assert first.shape == later.shape
    assert first.text != later.text
    warned = draw(starting(figures=(Figure("4:59", "to auto-stop", warns=True), Figure("$0.41", "at most"))))
    assert warned.shape != first.shape


def test_ready_soon_failed_and_stopped() -> None:
    ready = PanelState(
        "u", "ready", "vllm", "on l4x1", url="https://x--8000.hf.jobs/v1", left="24:10", left_share=80, spent="$0.08"
    )
    text = words(panel_html(ready))
    assert "ready vllm on l4x1 https://x--8000.hf.jobs/v1" in text
    assert "24:10 left $0.08 spent" in text
    assert "width:80.0%" in panel_html(ready)
    soon = replace(ready, soon=True, left="4:32", end="Pages that are done stay.", left_share=15)
    assert "stops in 4:32" in words(panel_html(soon))
    steps = (Step("step-again", "Try again, at most $0.41", "%uocr_serve vllm", main=True),)
    failed = starting(phase="failed", error=("It did.", "Because.", "%uocr_serve"), cost="$0.13", steps=steps)
    text = words(panel_html(failed))
    again = "Try again, at most $0.41 %uocr_serve vllm"
    for part in ("failed", "cost $0.13", "It did.", "Why Because.", "Next %uocr_serve", again):
        assert part in text, part
    end = "You stopped it. Nothing is running."
    stopped = PanelState("u", "stopped", "vllm", "on l4x1", receipt="Ran 22:10.", end=end)
    assert words(panel_html(stopped)).endswith("Nothing is running.")
    for state in (ready, soon, failed, stopped, replace(ready, phase="moved"), replace(ready, phase="stopping")):
        check_harmless(panel_html(state))
        assert state_plain(state)
    assert state_plain(ready).startswith("ready   vllm on l4x1   https://")


@pytest.mark.parametrize("phase", ["starting", "ready", "stopping", "failed", "stopped", "moved"])
def test_whatever_a_log_or_a_name_says_is_inert(phase: str) -> None:
    state = PanelState(
        "u", phase, HOSTILE, HOSTILE, (Stage(HOSTILE, "going", note=HOSTILE, told=HOSTILE, share=5), Stage(HOSTILE)),
        (Figure(HOSTILE, HOSTILE),), (log_line(HOSTILE), log_line("ERROR " + HOSTILE, own=True)), 2, (HOSTILE,),
        HOSTILE, HOSTILE, HOSTILE, HOSTILE, 5.0, False, HOSTILE, HOSTILE, (HOSTILE, HOSTILE, HOSTILE),
        (Step("k", HOSTILE, HOSTILE),), HOSTILE, HOSTILE, HOSTILE, HOSTILE, f"javascript:{HOSTILE}",
    )  # fmt: skip
    root = check_harmless(panel_html(state))
    assert not list(root.iter("a"))
    assert "\x1b" not in state_plain(state)


def test_log_lines_keep_their_level_and_lose_their_colours() -> None:
    line = log_line("\x1b[32m(APIServer pid=1)\x1b[0m INFO 10-01 starting", at=0)
    assert (line.level, line.tone, line.text) == ("INFO", "", "(APIServer pid=1) 10-01 starting")
    assert log_line("CRITICAL: no").tone == "error"
    assert log_line("[2026-01-01] WARNING: hm").tone == "warn"
    assert log_line("torch.OutOfMemoryError: CUDA").tone == "error"
    assert log_line("no error here").tone == ""
    assert share_in("Loading safetensors checkpoint shards:  61% Completed") == (61.0, "weights 61%")
    assert share_in("GPU memory 90%") is None


def test_stages_that_are_to_come_are_named() -> None:
    stages = stages_after((), "queued", "waiting", 1.0, "hf")
    assert [(one.name, one.state) for one in stages] == [
        ("queued", "going"), ("pulling", "waiting"), ("loading", "waiting"), ("ready", "waiting"),
    ]  # fmt: skip
    stages = stages_after(stages, "loading", "it starts", 11.0, "hf")
    assert [one.state for one in stages] == ["done", "done", "going", "waiting"]
    assert stages[0].seconds == 10
    stages = stages_after(stages, "checking", "a test page", 12.0, "hf")
    assert (stages[-1].state, stages[-1].note) == ("going", "a test page")
    assert [one.name for one in stages_after((), "starting", "", 0.0, "url")] == ["asking", "ready"]
    odd = stages_after(stages_after((), "starting", "", 0.0, "docker"), "mounting", "", 1.0, "docker")
    assert [one.name for one in odd] == ["starting", "mounting", "loading", "ready"]


def test_figures_say_what_is_paid(job: Endpoint) -> None:
    figures = figures_of(job, 15, "since", serve_facts.most(job))
    assert [one.value for one in figures] == ["30:00", "$0.00", "$0.41", "0:15"]
    assert figures[1].label == "the queue is free"
    job.price = None
    assert [one.value for one in figures_of(job, 15, "since", serve_facts.most(job))][1:3] == ["?", "unknown"]


# ------------------------------------------------------------------ the end
def test_the_next_step_comes_with_its_price(job: Endpoint) -> None:
    error = EndpointError("No.", "Because.", "Next.")
    refused = serve_facts.when_failed(starting(), job, 60, error)
    assert [step.label for step in refused.steps] == ["Use cpu instead, free", "Try again, at most $0.41"]
    assert refused.stages[1].state == "failed"
    job.job_id = "1"
    ran = serve_facts.when_failed(starting(), job, 60, error)
    assert [step.label for step in ran.steps] == ["Try again, at most $0.41"]


def test_a_receipt_ends_with_nothing_is_running(job: Endpoint) -> None:
    job.pages_read = 143
    job._meter = (0.0, 1333.0)
    receipt = serve_facts.when_stopped(starting(phase="ready"), job)
    assert receipt.receipt == "Ran 22:13, read 143 pages, cost $0.30 ($0.0021 a page)."
    assert receipt.end == "You stopped it. Nothing is running."
    assert receipt.steps[0].label == "Start again, at most $0.41"


def test_the_last_minutes_warn(job: Endpoint) -> None:
    from datetime import UTC, datetime, timedelta

    job._state, job.base_url = "ready", "https://x/v1"
    job.deadline = datetime.now(UTC) + timedelta(seconds=272.5)
    job.in_flight = 3
    state = serve_facts.while_ready(starting(phase="ready"), job)
    assert state.soon
    assert state.stop_ask == "Stop, 3 pages are being read"
    assert state.end == "3 pages are being read. Pages that are done stay."
    assert state.steps[0].label == "Start another, at most $0.41"
    assert "stops in 4:32" in words(panel_html(state))


# ------------------------------------------------------------------ the form
def offer_of(*changes: tuple[str, str], rows: Any = HARDWARE, token: str = "HF_TOKEN") -> launch.Offer:
    choice = launch.first_choice(can_pay=bool(token))
    for key, value in changes:
        choice = launch.choose(choice, key, value)
    return launch.make_offer(choice, token=token, rows=rows)


def test_the_form_says_the_price_first() -> None:
    offer = offer_of()
    html = draw_form(offer, "u").html
    check_harmless(html)
    text = words(html)
    assert text.index("Costs at most $0.41") < text.index("Image")
    for part in (
        "$0.81 an hour, open port included, for 30 min.", "checked with sglang", "CUDA 802 reported",
        "hf jobs run --detach", "%uocr_serve vllm", "Start, at most $0.41", "from HF_TOKEN", "All 22 kinds",
    ):  # fmt: skip
        assert part in text, part
    assert launch.most_of(offer.plan, None) == "price unknown"
    unknown = offer_of(rows=[])
    assert "Start, price unknown" in words(draw_form(unknown, "u").html)
    assert "unknown" in words(draw_form(unknown, "u").html)


def test_choices_depend_on_each_other() -> None:
    sglang = offer_of(("engine", "sglang"))
    assert sglang.choice.flavor == "a100-large"
    assert sglang.most == "at most $1.26"
    refused = offer_of(("engine", "sglang"), ("variant", "stable"), ("flavor", "t4-small"))
    assert refused.error is not None
    assert "does not start here" in words(draw_form(refused, "u").html)
    over = offer_of(("flavor", "h200"), ("timeout", "2h"))
    assert "the cap is $5.00" in words(draw_form(over, "u").html)
    assert "uo-start" not in draw_form(over, "u").html
    cpu = offer_of(token="")
    assert (cpu.choice.engine, cpu.most) == ("cpu", "free")
    assert cpu.command.endswith("uocr_nb.local_server")
    url = offer_of(("host", "url"), ("url", "https://host.example/v1"), ("key_env", "MY_KEY"))
    assert "Connect" in words(draw_form(url, "u").html)
    assert "%uocr_serve https://host.example/v1 --api-key-env MY_KEY" in words(draw_form(url, "u").html)
    assert offer_of(("timeout", "nonsense")).error is not None
    for offer in (sglang, refused, over, cpu, url, offer_of(("engine", "llamacpp")), offer_of(("all_kinds", "yes"))):
        check_harmless(draw_form(offer, "u").html)
        assert state_plain(PanelState("", phase="form"), offer)


@pytest.mark.parametrize(
    "key", ["engine", "variant", "host", "flavor", "timeout", "idle", "url", "key_env", "model", "x"]
)
def test_a_hostile_choice_is_inert(key: str) -> None:
    offer = offer_of((key, HOSTILE))
    check_harmless(draw_form(offer, "u").html)


def test_lines_to_paste_start_the_same_plan() -> None:
    from uocr_nb.magics.serve import read_line

    job = (("flavor", "h200"), ("timeout", "90m"), ("idle", "0"))
    for changes in (job, (("engine", "sglang"), ("variant", "stable"))):
        plan = offer_of(*changes).plan
        assert plan is not None
        asked = read_line(launch.magic_line(plan).removeprefix("%uocr_serve"), {})
        assert make_plan(asked.target, Options(**asked.options)) == plan


# ------------------------------------------------------------------ the panel, without a browser
class Handle:
    def __init__(self) -> None:
        self.bundles: list[dict[str, str]] = []

    def show(self, bundle: dict[str, str], _uid: str) -> Handle:
        self.bundles.append(bundle)
        return self

    def update(self, bundle: dict[str, str], *, raw: bool) -> None:
        assert raw
        self.bundles.append(bundle)

    @property
    def html(self) -> str:
        return self.bundles[-1]["text/html"]


class Pushes:
    """Stands where the browser's widget would."""

    heard = True

    def __init__(self) -> None:
        self.state: dict[str, Any] = {}
        self.closed = False

    def push(self, **state: Any) -> None:
        self.state |= state

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def pushes(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pushes]:
    made = Pushes()
    monkeypatch.setattr(serve_panel, "bridge", lambda _uid, _press: made)
    yield made
    for one in list(serve_panel._panels):
        one.close()
    assert made.closed


def until(condition: Any, seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_it_draws_anew_only_when_its_shape_changes(
    job: Endpoint, pushes: Pushes, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle = Handle()
    panel = ServePanel(show=handle.show)
    monkeypatch.setitem(start._endpoints, "vllm", job)
    secret = "hf_" + "s" * 30
    job.connect("", Secret(secret))
    panel.take(StartEvent("plan", "vllm on l4x1", 0.0))
    panel.take(StartEvent("queued", "Job maria/1a2b, waiting for l4x1", 0.1))
    drawn = len(handle.bundles)
    panel.take(StartEvent("queued", "waiting for l4x1, 0:05 so far", 5.0))
    assert len(handle.bundles) == drawn
    assert pushes.state["text"]["now"] == "waiting for l4x1, 0:05 so far"
    assert "/jobs/maria/1a2b" in handle.html
    for n in range(300):
        panel.take(StartEvent("log", f"line {n} {secret}", 6.0))
    assert len(handle.bundles) == drawn
    panel.take(StartEvent("loading", "the engine starts", 7.0))
    assert len(handle.bundles) == drawn + 1
    assert f'data-rev="{pushes.state["revision"]}"' in handle.html
    assert len(pushes.state["log"]) == 200
    assert pushes.state["log_count"] == 302
    job.fail(EndpointError("It did not start.", "No.", "%uocr_serve"))
    panel.failed(job.failure)
    assert "Use cpu instead, free" in handle.html
    everything = repr(handle.bundles) + repr(pushes.state)
    assert secret not in everything
    assert {"text/html", "text/plain"} == set(handle.bundles[0])


def test_an_endpoint_that_goes_is_told_of(job: Endpoint, pushes: Pushes) -> None:
    handle = Handle()
    panel = ServePanel(show=handle.show)
    job._state, job.base_url, job.job_id = "ready", "https://x--8000.hf.jobs/v1", "1"
    panel.ready(job)
    assert "uo-ready" in handle.html
    job.add_line("INFO one more line")
    until(lambda: any("one more line" in row[3] for row in pushes.state["log"]))
    job.fail(EndpointError("vllm has gone.", "The time is over.", "%uocr_serve vllm"))
    until(lambda: "uo-failed" in handle.html)
    assert "vllm has gone." in handle.html
    assert not pushes.closed


def test_a_second_panel_takes_over(job: Endpoint, pushes: Pushes) -> None:
    job._state, job.base_url = "ready", "https://x/v1"
    first, second = Handle(), Handle()
    ServePanel(show=first.show).ready(job)
    ServePanel(show=second.show).ready(job)
    assert "shown again in a newer output" in first.html
    assert "uo-ready" in second.html


def test_a_start_is_stopped_from_another_thread(pushes: Pushes) -> None:
    """Stop, pressed while the cell waits for an engine that never comes."""
    import socket

    handle = Handle()
    panel = ServePanel(show=handle.show)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        threading.Timer(0.5, panel.press, ("stop",)).start()
        began = time.monotonic()
        with pytest.raises(EndpointError, match="was stopped while it started") as told:
            start.serve(url, engine="vllm", on_event=panel.take)
        assert time.monotonic() - began < 8
        panel.failed(told.value)
    assert "let go" in handle.html
    start.stop_all()


def test_without_a_notebook_the_form_is_text(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serve_facts, "token_source", lambda: "")
    serve_panel.panel()
    assert "%uocr_serve cpu" in capsys.readouterr().out
