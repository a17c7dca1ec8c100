"""A saved document in every state in which somebody may meet it again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import drawn
import pytest
from cells import Cells, decline_kernel, end_kernels, trust
from lab import TOKEN, Lab, browser, kernelspec, open_notebook
from view_kit import View

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(300)]

NAME = "stored"

# What a page tells, in the order in which it tells it: numbers and codes of the boxes, and numbers, codes and words of
# the rows. Taken from what is visible, so that the twin and what the script draws can be laid side by side.
STORY = """root => {
    const seen = e => e.checkVisibility();
    const page = root.querySelector(':scope > .uo-chrome') || [...root.querySelectorAll('.uo-page')].find(seen);
    const clean = e => e.textContent.replace(/\\s+/g, ' ').trim();
    const rows = [...page.querySelectorAll('.uo-row')].filter(seen);
    const tags = [...page.querySelectorAll('.uo-box > .uo-tag')].filter(seen).map(clean);
    return {
        // The script may lay small boxes over large ones.
        tags: tags.sort((a, b) => parseInt(a) - parseInt(b)),
        rows: rows.map(e => clean(e.querySelector('.uo-no'))),
        words: rows.filter(e => !e.querySelector('.uo-math, math, mjx-container'))
            .map(e => clean(e.querySelector('.uo-text'))),
        cells: page.querySelectorAll('.uo-row table td, .uo-row table th').length,
        spans: page.querySelectorAll('.uo-row table [rowspan]').length,
    };
}"""


@pytest.fixture(scope="module")
def saved(view_lab: Lab, chromium_path: str) -> Path:
    """A notebook that showed the report, saved by Lab and signed by it."""
    folder = view_lab.folder / "papers"
    folder.mkdir()
    drawn.save(drawn.report(folder), view_lab.folder / "report.json")
    with browser(chromium_path) as context:
        cells = Cells(context, view_lab, NAME, ["import uocr_nb as uocr\nuocr.load('report.json')"])
        cells.run(1)
        cells.ended(1)
        View(cells.page).ready()
        assert not cells.errors
        outputs = cells.stored()
    end_kernels(view_lab)
    whole = [output for output in outputs if "text/html" in output.get("data", {})]
    assert len(whole) == 1
    assert set(whole[0]["data"]) == {"text/html", "text/markdown", "text/plain"}
    assert len("".join(whole[0]["data"]["text/html"]).encode()) <= 2_000_000
    return cells.path


@pytest.fixture(scope="module")
def told(view_lab: Lab, chromium_path: str, saved: Path) -> dict[str, Any]:
    """What the first page tells when nothing may run: the notebook of a stranger."""
    with browser(chromium_path) as context:
        view = View(reopened(context, view_lab, saved, "stranger", trusted=False))
        return dict(view.root.evaluate(STORY))


def reopened(context: Any, lab: Lab, saved: Path, name: str, *, trusted: bool, where: str = "doc/tree") -> Any:
    """Open a copy of the saved notebook that has no kernel, and wait for its pictures."""
    notebook = json.loads(saved.read_text(encoding="utf-8"))
    notebook["metadata"] = kernelspec("no-such-kernel")
    if not trusted:
        # Changed by somebody else: its signature no longer fits.
        notebook["cells"].append({"cell_type": "markdown", "id": "added", "metadata": {}, "source": "added"})
    path = lab.folder / f"{name}.ipynb"
    path.write_text(json.dumps(notebook), encoding="utf-8")
    if trusted:
        trust(lab, path)
    page = context.new_page()
    page.errors = []
    # Notebook 7 has errors of its own in its files; the script of an output has none.
    page.on("pageerror", lambda error: None if "/static/" in (error.stack or "") else page.errors.append(str(error)))
    decline_kernel(page)
    page.goto(f"http://127.0.0.1:{lab.port}/{where}/{path.name}?token={TOKEN}", wait_until="domcontentloaded")
    pictures(page)
    return page


def pictures(page: Any) -> None:
    page.wait_for_selector(".uo-root", timeout=60_000)
    page.wait_for_function(
        "() => [...document.querySelectorAll('.uo-sheet img')].every(image => image.complete)", timeout=30_000
    )


# Middle of the table's box as a share of the paper, and how far any box reaches out of it. At one moment: formulas
# that are typeset below may still move all of it.
ON_PAPER = """root => {
    const sheet = [...root.querySelectorAll('.uo-sheet')].find(e => e.checkVisibility());
    const own = sheet.getBoundingClientRect();
    const places = [...sheet.querySelectorAll('.uo-box')].map(e => e.getBoundingClientRect());
    const table = sheet.querySelector('.uo-box.uo-b6').getBoundingClientRect();
    return {
        x: (table.x + table.width / 2 - own.x) / own.width,
        y: (table.y + table.height / 2 - own.y) / own.height,
        out: Math.max(...places.map(r => Math.max(own.left - r.left, r.right - own.right, r.bottom - own.bottom))),
    };
}"""


def boxes_lie_on_the_paper(view: View) -> None:
    seen = view.root.evaluate(ON_PAPER)
    # The table: 150, 236, 850, 350 of 999.
    assert seen["x"] == pytest.approx(500 / 999, abs=0.006)
    assert seen["y"] == pytest.approx(293 / 999, abs=0.006)
    assert seen["out"] <= 8


def a_driven_view(view: View, told: dict[str, Any]) -> None:
    """The script runs, and what it shows is what the twin tells."""
    view.ready()
    assert view.root.evaluate(STORY) == told
    boxes_lie_on_the_paper(view)
    view.row(4).hover()
    view.until(
        """root => [...root.querySelectorAll('.uo-box.uo-b4')].some(
            e => e.checkVisibility() && getComputedStyle(e, '::after').borderTopWidth === '2px')"""
    )
    view.all_chips()
    view.chip("table").click()
    assert view.box(6).count() == 0
    view.chip("table").click()
    assert view.box(6).count() == 1
    formula = view.row(7).locator("math")
    assert view.place(formula)["height"] > 20, "a fraction is taller than a line"


def test_of_a_stranger_without_a_kernel(view_lab: Lab, chromium_path: str, saved: Path, told: dict[str, Any]) -> None:
    with browser(chromium_path) as context:
        page = reopened(context, view_lab, saved, "stranger-2", trusted=False)
        view = View(page)
        assert view.root.locator("script").count() == 0
        assert len(told["tags"]) == len(drawn.EVERY)
        assert told["tags"] == told["rows"]
        assert told["rows"][:3] == ["1 Hd", "2 Ti", "3 Ti"]
        assert "A price of $5 to $6 a page is no formula." in " ".join(told["words"])
        boxes_lie_on_the_paper(view)
        assert "8 ok" in view.root.inner_text()
        assert view.root.locator(".uo-page").count() == 10
        # What is folded can be unfolded without any script.
        fold = view.root.locator("details.uo-p4 > summary")
        fold.click()
        assert view.root.locator("details.uo-p4 .uo-row").first.is_visible()
        # Formulas are left to Lab.
        view.root.locator(".uo-row.uo-b7 mjx-container").first.wait_for(timeout=20_000)
        assert "Error displaying widget" not in page.locator("body").inner_text()
        assert not page.errors


@pytest.mark.parametrize("where", ["doc/tree", "notebooks"])
def test_one_s_own_without_a_kernel(
    view_lab: Lab, chromium_path: str, saved: Path, told: dict[str, Any], where: str
) -> None:
    with browser(chromium_path) as context:
        page = reopened(context, view_lab, saved, f"own-{where[:3]}", trusted=True, where=where)
        a_driven_view(View(page), told)
        assert "Error displaying widget" not in page.locator("body").inner_text()
        assert not page.errors


def test_in_notebook_7_of_a_stranger(view_lab: Lab, chromium_path: str, saved: Path, told: dict[str, Any]) -> None:
    with browser(chromium_path) as context:
        page = reopened(context, view_lab, saved, "stranger-3", trusted=False, where="notebooks")
        assert View(page).root.evaluate(STORY) == told
        boxes_lie_on_the_paper(View(page))
        assert not page.errors


def test_with_a_kernel_that_died(view_lab: Lab, chromium_path: str, told: dict[str, Any]) -> None:
    """The view was alive; its kernel is gone, then its page too: what was shown is still there, and still linked."""
    with browser(chromium_path) as context:
        sources = ["import uocr_nb as uocr\nuocr.load('report.json').view()", "import os\nos._exit(1)"]
        cells = Cells(context, view_lab, "died", sources)
        cells.run(1)
        cells.ended(1)
        View(cells.page).ready()
        cells.save()
        decline_kernel(cells.page)
        cells.run(2)
        a_driven_view(View(cells.page), told)
        trust(view_lab, cells.path)
        end_kernels(view_lab)
        again = open_notebook(context, view_lab, cells.path.name).page
        decline_kernel(again)
        pictures(again)
        a_driven_view(View(again), told)
        assert "Error displaying widget" not in again.locator("body").inner_text()
        # What Lab itself had under way with the kernel.
        assert not [error for error in cells.errors if "Canceled future" not in error]


@pytest.fixture(scope="module")
def exported(saved: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from nbconvert import HTMLExporter

    body, _ = HTMLExporter().from_filename(str(saved))
    path = tmp_path_factory.mktemp("exported") / "report.html"
    path.write_text(body, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def cut(chromium_path: str) -> Iterator[Any]:
    """A browser without a network."""
    with browser(chromium_path, offline=True, viewport={"width": 1100, "height": 1200}) as context:
        yield context


def test_exported_without_a_network(cut: Any, exported: Path, told: dict[str, Any]) -> None:
    page = cut.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(exported.as_uri(), wait_until="load")
    pictures(page)
    a_driven_view(View(page), told)
    # MathJax, which the export names by its address, is out of reach, and that is all.
    assert not [error for error in errors if "MathJax" not in error and "require" not in error], errors


def test_printed(cut: Any, exported: Path, tmp_path: Path) -> None:
    import pymupdf

    page = cut.new_page()
    page.goto(exported.as_uri(), wait_until="load")
    pictures(page)
    View(page).ready()
    page.pdf(path=tmp_path / "report.pdf", format="A4", print_background=True)
    printed = pymupdf.open(tmp_path / "report.pdf")
    text = " ".join(" ".join(sheet.get_text().split()) for sheet in printed)
    # Every page that is stored is on paper, as the twin has it, once.
    for n in (1, 2, 4, 9):
        assert text.count(f"page {n} of 14") == 1, f"page {n}"
    assert text.count("SEALED") == 1
    assert "Chapter 5" in text
    assert "The answer stopped at 4,096 tokens" in text
    assert sum(len(sheet.get_images()) for sheet in printed) >= 8
    for word in ("Find in", "Copy page", "Fit"):
        assert word not in text, "the controls are not for paper"


def test_without_a_browser(saved: Path) -> None:
    """In a terminal and where only markdown is drawn, the same things are told."""
    notebook = json.loads(saved.read_text(encoding="utf-8"))
    outputs = [output.get("data", {}) for cell in notebook["cells"] for output in cell.get("outputs", [])]
    data = next(data for data in outputs if "text/html" in data)
    plain, markdown = ("".join(data[kind]) for kind in ("text/plain", "text/markdown"))
    for text in (plain, markdown):
        assert "8 ok" in text
        assert "5.3. Subcategory study" in text
        assert "doc.retry()" in text
    assert "6 Tb" in plain
    assert "rowspan" in markdown
