"""Two readings side by side in JupyterLab: as it is shown, keys, and the saved notebook where nothing may run."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import drawn
import pytest
from cells import Cells, end_kernels
from lab import TOKEN, Lab, browser, kernelspec
from view_kit import THEMES, View

from uocr_nb.document.model import Document

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(300)]

SHOTS = "tests/browser/shots"


def two_runs(folder: Path) -> None:
    """The report, and the same with slips, a lost line and a text that is split."""
    one = drawn.report(folder)
    first = one.page(1)
    blocks = list(first.blocks)
    blocks[3] = replace(blocks[3], text=blocks[3].text.replace("attention", "attentlon"))
    blocks[5] = replace(blocks[5], text=blocks[5].text.replace("0.013</td><td>0.033", "0.018</td><td>0.033"))
    del blocks[-1]
    drawn.save(Document([replace(first, blocks=tuple(blocks), tokens=640), *one.pages[1:]]), folder / "one.json")
    drawn.save(one, folder / "two.json")


def stranger(context: Any, lab: Lab, cells: Cells) -> Any:
    """The saved notebook, changed by somebody else and without a kernel."""
    notebook = json.loads(cells.path.read_text(encoding="utf-8"))
    notebook["metadata"] = kernelspec("no-such-kernel")
    notebook["cells"].append({"cell_type": "markdown", "id": "added", "metadata": {}, "source": "added"})
    path = lab.folder / "compare-stranger.ipynb"
    path.write_text(json.dumps(notebook), encoding="utf-8")
    page = context.new_page()
    page.goto(f"http://127.0.0.1:{lab.port}/doc/tree/{path.name}?token={TOKEN}", wait_until="domcontentloaded")
    page.wait_for_selector(".uo-root .uo-cmp", timeout=60_000)
    return page


def test_two_readings_in_lab(view_lab: Lab, chromium_path: str) -> None:
    two_runs(view_lab.folder)
    source = (
        "import uocr_nb as uocr\nuocr.compare(uocr.load('one.json'), uocr.load('two.json'), names=('base', 'gundam'))"
    )
    with browser(chromium_path) as context:
        cells = Cells(context, view_lab, "compare", [source, "x = 1"])
        cells.run(1)
        cells.ended(1)
        view = View(cells.page)
        view.until("root => root.querySelector('.uo-mat .uo-sheet') && root.querySelector('.uo-chrome .uo-cmp')")
        before = cells.page.locator(".jp-Cell").count()
        view.row(4).click()
        for number in ("6", "21"):
            view.key("n")
            assert view.root.locator(".uo-chrome .uo-row.uo-sel").get_attribute("data-b") == number
        view.key("x", "c", "d", "d", "m", "Escape")
        assert cells.page.locator(".jp-Cell").count() == before
        assert cells.page.locator(".jp-Dialog").count() == 0
        for theme in THEMES:
            cells.page.evaluate(
                "name => window.jupyterapp.commands.execute('apputils:change-theme', {theme: name})", theme
            )
            view.until(
                "(root, dark) => root.querySelector('.uo-chrome').hasAttribute('data-dark') === dark", "Dark" in theme
            )
            assert view.axe() == []
            assert [(ratio, text) for ratio, text in view.contrasts() if ratio < 4.5] == []
            view.root.screenshot(path=f"{SHOTS}/compare_{theme.split()[-1].lower()}.png")
        assert view.sideways() == []
        assert not cells.errors
        outputs = cells.stored()
        whole = [output for output in outputs if "text/html" in output.get("data", {})]
        assert len(whole) == 1
        assert set(whole[0]["data"]) == {"text/html", "text/markdown", "text/plain"}

        page = stranger(context, view_lab, cells)
        twin = View(page)
        assert twin.root.locator("script").count() == 0
        assert twin.root.locator(".uo-chrome").count() == 0
        assert twin.root.locator(".uo-cmp:visible .uo-no").all_inner_texts() == ["4 Tx", "6 Tb", "21 Pn"]
        a, b = (twin.place(twin.row(4).locator(f".uo-side-{letter}")) for letter in "ab")
        assert a["x"] + a["width"] <= b["x"] + 1
        assert a["y"] == pytest.approx(b["y"], abs=1)
        marks = [twin.row(4).locator(f".uo-only-{letter}").first for letter in "ab"]
        assert [twin.style(mark, "border-bottom-style") for mark in marks] == ["dashed", "solid"]
        twin.root.screenshot(path=f"{SHOTS}/compare_stranger.png")
    end_kernels(view_lab)
