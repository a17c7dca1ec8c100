"""The serve panel as a user meets it: JupyterLab in Chromium, the embedded engine, and Jobs of the loopback Hub."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from cells import OLD, Cells, add_kernel, trust
from lab import Lab, Notebook, browser, kernelspec, open_notebook

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from tests.hub import faults  # noqa: E402
from tests.hub.server import Hub  # noqa: E402
from tests.hub.shims import Programs  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

SHOTS = Path(__file__).parent / "shots"
LOAD = "import sys; sys.path.insert(0, {root!r})\n%load_ext uocr_nb"


@pytest.fixture(scope="module")
def hub() -> Iterator[Hub]:
    engine = faults.Engine(
        startup=6.0,
        lines=[
            "INFO 10-01 10:45:02 [api_server.py:1] vLLM API server starting",
            "WARNING 10-01 10:45:09 [config.py:2] prefix caching is off <script>top.tripped=1</script>",
            "Loading safetensors checkpoint shards:  61% Completed | 3/5",
        ],
    )
    with Hub(keepalive=0.3, scheduling=3.0, grace=0.5, programs=Programs(engine=engine)) as running:
        yield running


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory, hub: Hub) -> Iterator[Lab]:
    own = {"HF_ENDPOINT": hub.endpoint, "HF_TOKEN": hub.token, "PYTHONPATH": str(ROOT)}
    before = {name: os.environ.get(name) for name in own}
    os.environ.update(own)
    try:
        running = Lab(tmp_path_factory.mktemp("lab"))
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
    yield running
    running.close()


@pytest.fixture(scope="module")
def window(lab: Lab, chromium_path: str) -> Iterator[Any]:
    SHOTS.mkdir(exist_ok=True)
    with browser(chromium_path) as context:
        yield context


@pytest.fixture
def tab(window: Any) -> Iterator[Any]:
    yield window
    for page in window.pages:
        page.close()


class Panel(Cells):
    """A notebook with a serve panel."""

    def panel(self, kind: str, seconds: float = 60) -> Any:
        self.page.wait_for_selector(f".uo-serve.uo-{kind}[data-live]", timeout=seconds * 1000)
        return self.page.locator(f".uo-serve.uo-{kind}").first

    def shots(self, name: str) -> None:
        shoot(self, name)


CHIP = "word => document.querySelector('.uo-chip')?.textContent === word"
CHANGED = """([key, was]) => {
    const place = document.querySelector(`[data-f=${key}]`);
    return !place || place.textContent !== was;
}"""


def shoot(opened: Notebook, name: str) -> None:
    for theme in ("JupyterLab Light", "JupyterLab Dark"):
        opened.theme(theme)
        opened.page.locator(".uo-serve").first.scroll_into_view_if_needed()
        opened.page.screenshot(
            path=SHOTS / f"panel-{name}-{theme.split()[-1].lower()}.png",
            clip={"x": 0, "y": 0, "width": 1180, "height": 800},
        )
    opened.theme("JupyterLab Light")


def html_of(outputs: list[dict[str, Any]]) -> str:
    assert not [output for output in outputs if "application/vnd.jupyter.widget-view+json" in output.get("data", {})]
    return "".join("".join(output.get("data", {}).get("text/html", "")) for output in outputs)


def test_the_embedded_engine_from_start_to_receipt(tab: Any, lab: Lab) -> None:
    opened = Panel(tab, lab, "cpu", ["%uocr_serve", "%uocr_stop"])
    opened.run(1)
    starting = opened.panel("starting")
    assert starting.locator("button[data-a=stop]").inner_text() == "Stop"
    ready = opened.panel("ready", 120)
    assert "on this machine" in ready.inner_text()
    assert "http://127.0.0.1:" in ready.inner_text()
    opened.shots("cpu-ready")
    ready.locator("button[data-a=log]").click()
    assert ready.locator(".uo-log .uo-row").count() > 0
    opened.run(2)
    receipt = opened.panel("stopped", 20)
    assert "Nothing is running." in receipt.inner_text()
    assert opened.page.locator(".uo-serve").count() == 1
    stored = html_of(opened.stored())
    assert "uo-stopped" in stored
    assert "<script" not in stored
    assert not opened.errors


@pytest.mark.slow
def test_a_job_from_the_queue_to_ready_to_its_stop(tab: Any, lab: Lab, hub: Hub) -> None:
    opened = Panel(tab, lab, "job", ["%uocr_serve vllm", "import time; time.sleep(3)"])
    opened.run(1)
    queued = opened.panel("starting")
    opened.page.wait_for_function(CHIP, arg="queued", timeout=20_000)
    assert "at most" in queued.inner_text()
    assert "the queue is free" in queued.inner_text()
    opened.shots("queued")
    # Saved in mid-start: no widget, and whole.
    middle = html_of(opened.stored())
    assert "uo-starting" in middle
    opened.page.wait_for_selector(".uo-row.uo-warn", timeout=30_000)
    opened.page.wait_for_function(
        "() => document.querySelector('.uo-stages')?.textContent.includes('weights 61%')", timeout=10_000
    )
    before = opened.page.locator("[data-f=figure3]").inner_text()
    opened.shots("loading")
    opened.page.locator(".uo-serve input[type=search]").fill("prefix")
    assert opened.page.locator(".uo-log mark").inner_text() == "prefix"
    assert opened.page.locator(".uo-found").inner_text() == "1 of 1"
    opened.page.wait_for_function(CHANGED, arg=["figure3", before], timeout=5000)
    ready = opened.panel("ready", 60)
    assert "left" in ready.inner_text()
    assert "spent" in ready.inner_text()
    opened.shots("ready")
    assert not opened.page.evaluate("() => window.tripped === 1")
    # The clock goes on while another cell runs.
    clock = ready.locator("[data-f=left]").inner_text()
    opened.page.wait_for_function(CHANGED, arg=["left", clock], timeout=5000)
    ready.locator("button[data-a=stop]").click()
    receipt = opened.panel("stopped", 20)
    assert "You stopped it. Nothing is running." in receipt.inner_text()
    assert "Start again, at most $0.41" in receipt.inner_text()
    opened.shots("stopped")
    hub.wait(lambda: not hub.alive(), 15, "a Job still runs")
    stored = opened.path.read_text(encoding="utf-8") + html_of(opened.stored())
    assert hub.token not in stored
    assert hub.token not in opened.page.content()
    assert not opened.errors


def test_stop_while_the_cell_waits(tab: Any, lab: Lab, hub: Hub) -> None:
    opened = Panel(tab, lab, "waits", ["%uocr_serve vllm"])
    opened.run(1)
    opened.panel("starting")
    opened.page.wait_for_function(CHIP, arg="queued", timeout=20_000)
    opened.page.locator("button[data-a=stop]").click()
    receipt = opened.panel("stopped", 15)
    assert "Nothing is running." in receipt.inner_text()
    opened.wait_idle(20)
    hub.wait(lambda: not hub.alive(), 15, "a Job still runs")
    outputs = opened.stored()
    assert [
        output for output in outputs if output["output_type"] == "error" or "stopped while it started" in str(output)
    ]
    assert not opened.errors


@pytest.fixture
def old_kernel(lab: Lab, old_ipykernel: Path) -> str:
    return add_kernel(lab, "old", old_ipykernel)


@pytest.mark.slow
def test_stop_where_a_running_cell_holds_messages_back(tab: Any, lab: Lab, hub: Hub, old_kernel: str) -> None:
    sources = ["import ipykernel; print(ipykernel.__version__)", "%uocr_serve vllm"]
    opened = Panel(tab, lab, "held", sources, old_kernel)
    opened.run(1)
    opened.page.get_by_text(OLD, exact=True).wait_for(timeout=20_000)
    opened.run(2)
    opened.panel("starting")
    opened.page.wait_for_function(CHIP, arg="queued", timeout=20_000)
    opened.page.locator("button[data-a=stop]").click()
    receipt = opened.panel("stopped", 15)
    assert "Nothing is running." in receipt.inner_text()
    opened.page.get_by_text("You interrupted the start.").wait_for(timeout=10_000)
    hub.wait(lambda: not hub.alive(), 15, "a Job still runs")
    assert not opened.errors


@pytest.mark.slow
def test_a_start_that_fails_says_so_and_offers_what_comes_next(tab: Any, lab: Lab, hub: Hub) -> None:
    hub.add(
        faults.Engine(
            startup=2, lines=["INFO starting"], fatal="RuntimeError: CUDA error: system not yet initialized 802"
        )
    )
    opened = Panel(tab, lab, "fails", ["%uocr_serve vllm --flavor h200"])
    opened.run(1)
    failed = opened.panel("failed", 60)
    text = failed.inner_text()
    for part in ("Why", "Next", "stopped after", "Start vllm on l4x1, at most $0.41", "Try again, at most $2.51"):
        assert part in text, part
    opened.shots("failed")
    html = html_of(opened.stored())
    assert "%uocr_serve vllm" in html
    hub.wait(lambda: not hub.alive(), 15, "a Job still runs")
    # The other one is started from here, in the same place.
    failed.get_by_role("button", name="Start vllm on l4x1").click()
    opened.panel("starting", 20)
    opened.panel("ready", 60)
    opened.page.locator("button[data-a=stop]").click()
    opened.panel("stopped", 20)
    hub.wait(lambda: not hub.alive(), 15, "a Job still runs")
    assert not opened.errors


@pytest.mark.slow
def test_the_launch_form(tab: Any, lab: Lab, hub: Hub) -> None:
    opened = Panel(tab, lab, "form", ["%uocr_serve --panel"])
    opened.run(1)
    form = opened.panel("launch")
    opened.page.get_by_role("button", name="Start, at most $0.41").wait_for(timeout=20_000)
    opened.shots("form")
    assert "hf jobs run" in html_of(opened.stored())
    opened.page.get_by_role("radio", name="h200").click()
    opened.page.get_by_role("button", name="Start, at most $2.51").wait_for(timeout=10_000)
    opened.page.get_by_role("radio", name="1 h", exact=True).click()
    # $5.01 is over the cap of $5.
    opened.page.wait_for_function("() => !document.querySelector('.uo-serve .uo-start')", timeout=10_000)
    assert "the cap is $5.00" in opened.page.locator(".uo-serve").inner_text()
    opened.page.locator("input[data-a=field-timeout]").fill("20m")
    opened.page.locator("input[data-a=field-timeout]").press("Enter")
    opened.page.get_by_role("button", name="Start, at most $1.67").wait_for(timeout=10_000)
    opened.page.get_by_role("radio", name="cpu").click()
    start = opened.page.get_by_role("button", name="Start, free")
    start.wait_for(timeout=10_000)
    assert opened.page.evaluate("() => document.activeElement.dataset.v") == "cpu", "the focus stays"
    opened.shots("form-cpu")
    start.click()
    opened.panel("ready", 120)
    opened.page.locator("button[data-a=stop]").click()
    receipt = opened.panel("stopped", 20)
    assert "Nothing is running." in receipt.inner_text()
    assert form.count() == 0
    assert not opened.errors


@pytest.mark.slow
def test_after_a_reload_of_the_page_it_goes_on(tab: Any, lab: Lab, hub: Hub) -> None:
    opened = Panel(tab, lab, "reload", ["%uocr_serve vllm"])
    opened.run(1)
    opened.panel("starting")
    opened.page.wait_for_function(CHIP, arg="queued", timeout=20_000)
    opened.save()
    opened.page.reload()
    opened.panel("starting", 60)
    # What is drawn anew no longer reaches an output of the page that was: it comes by the panel's own way.
    ready = opened.panel("ready", 60)
    ready.locator("button[data-a=stop]").click()
    opened.panel("stopped", 20)
    hub.wait(lambda: not hub.alive(), 15, "a Job still runs")


@pytest.mark.slow
def test_narrow(tab: Any, lab: Lab, hub: Hub) -> None:
    opened = Panel(tab, lab, "narrow", ["%uocr_serve --panel", "%uocr_serve vllm --name two --another"])
    opened.page.set_viewport_size({"width": 640, "height": 1900})
    opened.run(1)
    opened.page.get_by_role("button", name="Start, at most $0.41").wait_for(timeout=20_000)
    opened.run(2)
    opened.page.wait_for_selector(".uo-row.uo-warn", timeout=40_000, state="attached")
    opened.page.locator(".uo-serve").last.scroll_into_view_if_needed()
    assert 380 < opened.page.locator(".uo-serve").first.bounding_box()["width"] < 560
    for theme in ("light", "dark"):
        opened.theme(f"JupyterLab {theme.title()}")
        opened.page.screenshot(path=SHOTS / f"panel-narrow-{theme}.png")
    for root in opened.page.locator(".uo-serve").all():
        assert root.evaluate("e => e.scrollWidth <= e.clientWidth + 1")
    opened.page.wait_for_function(
        "() => document.querySelector('.uo-launch').textContent.includes('two is running')", timeout=10_000
    )
    opened.page.locator("button[data-a=stop]").click()
    opened.panel("stopped", 20)


@pytest.mark.slow
@pytest.mark.parametrize("trusted", [True, False])
def test_saved_in_mid_start_it_reopens_whole(tab: Any, lab: Lab, hub: Hub, trusted: bool) -> None:
    name = f"middle-{trusted}"
    opened = Panel(tab, lab, name, ["%uocr_serve vllm"])
    opened.run(1)
    opened.panel("starting")
    opened.page.wait_for_function(CHIP, arg="queued", timeout=20_000)
    outputs = opened.stored()
    assert "uo-starting" in html_of(outputs)
    notebook = json.loads(opened.path.read_text(encoding="utf-8"))
    opened.page.locator("button[data-a=stop]").click()
    opened.panel("stopped", 15)
    opened.page.close()
    notebook["metadata"] = kernelspec("no-such-kernel")
    (lab.folder / f"{name}-again.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    if trusted:
        trust(lab, lab.folder / f"{name}-again.ipynb")
    again = open_notebook(tab, lab, f"{name}-again.ipynb")
    again.page.wait_for_selector(".uo-serve", timeout=60_000)
    text = again.page.locator(".uo-serve").inner_text()
    for part in ("vllm", "on l4x1", "queued", "at most", "Stop: interrupt the cell", "Run the cell again."):
        assert part in text, part
    assert again.page.locator(".uo-serve .uo-btn").first.is_hidden()
    assert again.page.locator(".uo-serve button").count() == 0
    assert "Error displaying widget" not in again.page.locator("body").inner_text()
    shoot(again, f"reopened-{trusted}")
