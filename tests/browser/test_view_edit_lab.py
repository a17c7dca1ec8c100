"""Correcting in JupyterLab: what the notebook stores follows, and nobody who types is disturbed by it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import drawn
import page_script
import pytest
from cells import Cells
from lab import wait_until
from scripted import engine
from view_kit import View

if TYPE_CHECKING:
    from lab import Lab

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(180)]

START = """
import uocr_nb as uocr
doc = uocr.load("edited.json")
doc.view()
"""

BUSY = """
import pathlib, time
while not pathlib.Path("go").exists():
    time.sleep(0.05)
print(doc.page(1).blocks[2].text, len(doc.edits))
"""


def stored(cells: Cells, number: int) -> str:
    cells.save()
    outputs = json.loads(cells.path.read_text(encoding="utf-8"))["cells"][number]["outputs"]
    return "".join("".join(out.get("data", {}).get("text/html", "")) for out in outputs)


def test_what_is_corrected_is_in_the_saved_notebook(view_lab: Lab, window: Any, kernel: str) -> None:
    folder = view_lab.folder / "papers-edit"
    folder.mkdir(exist_ok=True)
    drawn.save(drawn.good(folder), view_lab.folder / "edited.json")
    cells = Cells(window, view_lab, f"edit-{kernel}", [START, BUSY], kernel)
    cells.run(1)
    cells.ended(1)
    view = View(cells.page, cells.cell(1)).ready()
    view.row(2).dblclick()
    view.root.get_by_role("textbox", name="Text of block 2").fill("Corrected by hand")
    view.key("Control+Enter")
    view.until("root => root.querySelector('.uo-text .uo-row.uo-b2')?.textContent.includes('Corrected by hand')")
    # The next block is opened at once; the output is drawn anew while somebody types in it.
    view.row(4).dblclick()
    field = view.root.get_by_role("textbox", name="Text of block 4")
    field.fill("")
    first = view.root.element_handle()
    typed = ""
    for n in range(400):
        cells.page.keyboard.type(f"{n} ")
        typed += f"{n} "
        if not first.evaluate("root => root.isConnected"):
            break
        cells.page.wait_for_timeout(20)
    assert not first.evaluate("root => root.isConnected"), "the output was drawn anew"
    cells.page.keyboard.type("end")
    assert field.input_value() == f"{typed}end"
    view.key("Control+Enter")
    view.until("root => root.querySelector('.uo-text .uo-row.uo-b4')?.textContent.includes('end')")

    def saved() -> bool:
        html = stored(cells, 1)
        return "Corrected by hand" in html and f"{typed}end" in html and "uo-edited" in html

    wait_until(saved, 30, "the notebook to have what was corrected")
    # A kernel with subshells keeps it while a cell runs, an old one when the cell has ended, and the view says so.
    go = view_lab.folder / "go"
    go.unlink(missing_ok=True)
    cells.run(2)
    view.row(3).dblclick()
    view.root.get_by_role("textbox", name="Text of block 3").fill("Typed while a cell runs")
    view.key("Control+Enter")
    if kernel == "old":
        told = view.root.get_by_text("The kernel is busy. What you changed is kept when the cell has ended.")
        told.first.wait_for()
        assert view.root.locator("textarea").count() == 0
    else:
        view.until("root => root.querySelector('.uo-text .uo-row.uo-b3')?.textContent.includes('Typed while')")
        assert cells.runs(2)
    go.touch()
    view.until("root => root.querySelector('.uo-text .uo-row.uo-b3')?.textContent.includes('Typed while')", seconds=30)
    view.until("root => ![...root.querySelectorAll('.uo-told')].some(e => e.checkVisibility())", seconds=30)
    assert not cells.errors
    cells.page.close()


def test_the_output_of_a_reading_follows_too(view_lab: Lab, window: Any) -> None:
    here = str(Path(page_script.__file__).parent)
    setup = f"import sys; sys.path.insert(0, {here!r})\nfrom page_script import picture"
    with engine(page_script.Script()) as running:
        read = "%uocr {[picture(1), picture(2)]} --no-cache -o doc"
        cells = Cells(window, view_lab, "edit-reading", [setup, f"%uocr_serve {running.url}", read])
        for n in (1, 2, 3):
            cells.run(n)
            cells.ended(n)
        view = View(cells.page, cells.cell(3)).ready()
        view.root.scroll_into_view_if_needed()
        view.row(2).dblclick()
        view.root.get_by_role("textbox", name="Text of block 2").fill("Corrected by hand")
        view.key("Control+Enter")
        view.until("root => root.querySelector('.uo-text .uo-row.uo-b2')?.textContent.includes('Corrected by hand')")
        wait_until(lambda: "Corrected by hand" in stored(cells, 3), 30, "the notebook to have what was corrected")
        assert stored(cells, 3).count('class="uo-root') == 1
        assert not cells.errors
        cells.page.close()
