"""The page view while its pages are read: the cell is busy, and the view goes on."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
import page_script
import pytest
from cells import Cells
from lab import wait_until
from pace import Paced
from view_kit import View

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lab import Lab

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(300)]

SETUP = f"import sys; sys.path.insert(0, {str(Path(page_script.__file__).parent)!r})\nfrom page_script import picture"
AFTER = "import json\nprint(json.dumps([str(page.status) for page in doc.pages]), flush=True)"


PROGRESS = 36
"""px of the line that goes at the end; by no more may the output change its height."""


@pytest.fixture
def engine() -> Iterator[Paced]:
    running = Paced()
    yield running
    running.open_all()
    running.close()


@pytest.fixture
def reading(view_lab: Lab, window: Any, kernel: str, engine: Paced, request: pytest.FixtureRequest) -> Iterator[Cells]:
    """A notebook whose last but one cell reads six pages, two at a time, as fast as the test says."""
    sources = [
        SETUP,
        f"%uocr_serve {engine.url}",
        "%uocr {[picture(n) for n in range(1, 7)]} --no-cache --concurrency 2 -o doc",
        AFTER,
    ]
    name = f"live-{request.node.originalname}-{kernel}"
    cells = Cells(window, view_lab, name, sources, kernel)
    for n in (1, 2):
        cells.run(n)
        cells.ended(n)
    yield cells
    engine.open_all()
    assert not cells.errors
    cells.page.close()


def started(cells: Cells) -> View:
    cells.run(3)
    view = View(cells.page, cells.cell(3)).ready(20)
    view.root.scroll_into_view_if_needed()
    return view


def words(view: View, n: int, text: str, seconds: float = 10) -> None:
    """Wait until row `n` says `text`."""
    view.until(
        """(root, [n, text]) => [...root.querySelectorAll(`.uo-row.uo-b${n}`)].some(
            e => e.checkVisibility() && e.textContent.includes(text))""",
        [n, text],
        seconds,
    )


def is_done(view: View, n: int) -> None:
    view.until(
        "(root, n) => root.querySelector(`.uo-reel [data-t='${n}']`)?.getAttribute('aria-label').endsWith(', ok')", n
    )


def height(view: View) -> float:
    """Of the view on the screen; one that was replaced between finding and measuring it has none, and is found anew."""
    script = "root => root.isConnected ? root.getBoundingClientRect().height : null"
    found: list[float | None] = []
    wait_until(lambda: found.append(view.root.evaluate(script)) or found[-1] is not None, 10, "the view to be measured")
    return float(found[-1] or 0)


def valid_without_a_widget(cells: Cells, done: int) -> None:
    """Saved in mid-run, it is a valid notebook, and what is in it reads."""

    def told() -> str:
        cells.save()
        saved = json.loads(cells.path.read_text(encoding="utf-8"))
        nbformat.validate(nbformat.from_dict(saved))
        assert "widgets" not in saved["metadata"]
        data = [output.get("data", {}) for output in saved["cells"][3]["outputs"]]
        assert not any("application/vnd.jupyter.widget-view+json" in one for one in data)
        shown = [one["text/html"] for one in data if "text/html" in one]
        assert len(shown) == 1
        return re.sub(r"<script>.*</script>|<[^>]*>", " ", "".join(shown[0]), flags=re.DOTALL)

    wait_until(lambda: f"{done} of 6 pages" in told(), 20, f"the saved notebook to say that {done} are done")
    assert f"{done} ok" in told()


def test_boxes_and_text_grow_while_the_cell_runs(reading: Cells, engine: Paced) -> None:
    view = started(reading)
    heights = [height(view)]
    view.until("root => root.querySelector('.uo-pill').textContent === 'reading'")
    # The place of a block comes first: its box is whole before there is any text.
    engine.upto(1, "<|/det|>Head")
    view.until("root => [...root.querySelectorAll('.uo-box.uo-b1')].some(e => e.checkVisibility())")
    heights.append(height(view))
    sheet, box = view.place(view.root.locator(".uo-sheet:visible")), view.place(view.box(1))
    assert box["x"] + box["width"] / 2 == pytest.approx(sheet["x"] + sheet["width"] * 500 / 999, abs=3)
    assert box["width"] == pytest.approx(sheet["width"] * 800 / 999, abs=14)
    assert box["y"] + box["height"] / 2 == pytest.approx(sheet["y"] + sheet["height"] * 70 / 999, abs=3)
    engine.upto(1, "a sentence that")
    words(view, 2, "a sentence")
    assert view.place(view.box(2))["height"] == pytest.approx(sheet["height"] * 200 / 999, abs=12), "whole at once"
    assert "seen growing" not in view.row(2).inner_text()
    assert view.place(view.row(2).locator(".uo-caret"))["height"] > 8
    assert reading.runs(3)
    heights.append(height(view))
    engine.upto(1, "<td>0.252</td>")
    words(view, 3, "0.252")
    assert view.row(3).locator("table tr").count() >= 2, "a table that is not finished is a table"
    # Another page is read beside it, and waiting ones are in the film.
    assert view.thumb(2).get_attribute("aria-label") == "Page 2 of 6, reading"
    assert view.thumb(6).get_attribute("aria-label") == "Page 6 of 6, waiting"
    heights += while_others_are_read(reading, view, engine)
    engine.open_all()
    reading.ended(3)
    view.until("root => !root.querySelector('.uo-run')?.checkVisibility()")
    heights.append(height(view))
    assert max(heights) - min(heights) <= PROGRESS, f"the output changed its height: {heights}"
    reading.run(4)
    assert json.loads(reading.ended(4)) == ["ok"] * 6
    outputs = [output for output in reading.stored() if "text/html" in output.get("data", {})]
    assert sum("uo-root" in "".join(output["data"]["text/html"]) for output in outputs) == 1


def good_for_everybody(view: View) -> None:
    """Also in the middle of a run."""
    assert view.axe() == []
    assert view.sideways() == []
    assert [what for ratio, what in view.contrasts() if ratio < 4.5] == []
    view.thumb(3).click()
    moving = "root => root.getAnimations({subtree: true}).length > 0"
    view.until(moving)
    view.page.emulate_media(reduced_motion="reduce")
    view.until("root => root.getAnimations({subtree: true}).length === 0")
    view.page.emulate_media(reduced_motion="no-preference")


def while_others_are_read(reading: Cells, view: View, engine: Paced) -> list[float]:
    """What is done can be turned to, selected and searched, and the notebook saved, although the cell runs."""
    engine.gate(1).open()
    is_done(view, 1)
    heights = [height(view)]
    view.until("root => root.querySelector('.uo-run')?.textContent.includes('1 of 6')")
    assert reading.runs(3)
    view.thumb(1).click()
    words(view, 2, "Body of page 1: a sentence that is long enough to be seen growing.")
    view.row(3).click()
    assert view.button("TSV").is_visible()
    view.search.fill("page 1: a")
    view.until("root => root.querySelector('mark')?.textContent === 'page 1: a'")
    # The mark may be there before the count, which must never deny it.
    assert view.root.locator(".uo-found").inner_text() in ("", "1 of 1")
    view.until("root => root.querySelector('.uo-found').textContent === '1 of 1'")
    view.key("Escape")
    # Having looked elsewhere, the view does not run away when another page begins.
    engine.gate(2).open()
    is_done(view, 2)
    assert view.root.locator(".uo-pager input").input_value() == "1"
    heights.append(height(view))
    valid_without_a_widget(reading, 2)
    good_for_everybody(view)
    assert reading.runs(3)
    return heights


def test_stop_keeps_what_is_done(reading: Cells, engine: Paced) -> None:
    view = started(reading)
    engine.gate(1).open()
    is_done(view, 1)
    stop = view.root.locator(".uo-run").get_by_role("button", name="Stop, keep 1 page")
    stop.wait_for(timeout=10_000)
    stop.click()
    # The kernel looks idle already when it has taken the message.
    reading.ended(3, 10)
    view.until("root => !root.querySelector('.uo-run')?.checkVisibility()")
    view.thumb(1).click()
    words(view, 2, "Body of page 1")
    assert view.thumb(1).get_attribute("aria-label") == "Page 1 of 6, ok" or view.thumb(1).count() == 0
    assert "Traceback" not in reading.cell(3).inner_text()
    assert reading.cell(3).locator(".uo-root").count() == 1


def test_reloaded_in_mid_run_it_says_where_it_was(reading: Cells, engine: Paced) -> None:
    view = started(reading)
    engine.gate(1).open()
    is_done(view, 1)
    valid_without_a_widget(reading, 1)
    reading.page.reload()
    again = View(reading.page)
    again.root.wait_for(timeout=60_000)
    again.until("root => root.textContent.includes('1 of 6 pages')", seconds=20)
    engine.open_all()
    reading.page.wait_for_selector(
        ".jp-Notebook-ExecutionIndicator[data-status=idle]", timeout=60_000, state="attached"
    )
    text = again.root.inner_text()
    assert "Error displaying widget" not in reading.page.locator("body").inner_text()
    # Driven again by the kernel it has all pages; else it says what to do.
    assert re.search(r"6\s+ok", text) or "run the cell again" in text, text
    reading.errors.clear()
