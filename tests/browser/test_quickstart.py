"""The quickstart as a new user sees it: in JupyterLab, reopened in every state, and as a page on disk."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from lab import Lab, browser, kernelspec, open_notebook, wait_until
from view_kit import View

from uocr_nb.demo import quickstart

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]

SHOTS = Path(__file__).parent / "shots"
NAME = "quickstart.ipynb"
SHOWN = 3
"""The PDF, the scan, and the PDF once more by `doc.view()`."""

# What must stand in the output of the PDF's cell, whatever state the notebook is in.
WHOLE = """() => {
    const roots = [...document.querySelectorAll('.uo-root')];
    const first = roots[0];
    if (!first) return null;
    // Where the script runs, the twin is there too, but hidden.
    const shown = (e, what) => [...e.querySelectorAll(what)].filter(one => one.checkVisibility());
    const [paper] = shown(first, '.uo-paper img'), [box] = shown(first, '.uo-box');
    const inside = box && paper ? (() => {
        const a = box.getBoundingClientRect(), b = paper.getBoundingClientRect();
        return a.left >= b.left - 6 && a.right <= b.right + 6 && a.top >= b.top - 6 && a.bottom <= b.bottom + 6;
    })() : false;
    return {
        roots: roots.length,
        boxes: shown(first, '.uo-box').length,
        inside,
        picture: paper ? paper.naturalWidth : 0,
        text: first.textContent,
        tables: roots.reduce((n, root) => n + root.querySelectorAll('table').length, 0),
        spans: roots.reduce((n, root) => n + root.querySelectorAll('[rowspan], [colspan]').length, 0),
        scripts: first.querySelectorAll('script').length,
        errors: document.body.textContent.includes('Error displaying widget'),
    };
}"""


def check_whole(seen: dict[str, Any] | None) -> None:
    assert seen is not None, "no document is shown"
    assert seen["roots"] == SHOWN
    assert seen["boxes"] > 10
    assert seen["inside"], "the boxes are not on the page"
    assert seen["picture"] > 300
    assert seen["tables"] >= 2
    assert seen["spans"] >= 2
    assert "Machines That Learned to Read" in seen["text"]
    assert "3 ok" in seen["text"]
    assert not seen["errors"]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    running = Lab(tmp_path_factory.mktemp("lab"))
    yield running
    running.close()


@pytest.fixture(scope="module")
def executed(lab: Lab, chromium_path: str) -> Path:
    """The quickstart, run top to bottom in JupyterLab and saved by it."""
    SHOTS.mkdir(exist_ok=True)
    notebook = json.loads(quickstart().read_text(encoding="utf-8"))
    path = lab.folder / NAME
    path.write_text(json.dumps(notebook), encoding="utf-8")
    with browser(chromium_path) as context:
        opened = open_notebook(context, lab, NAME)
        opened.run_all(seconds=600)
        check_whole(opened.page.evaluate(WHOLE))
        for theme in ("JupyterLab Light", "JupyterLab Dark"):
            opened.theme(theme)
            view = View(opened.page).ready()
            view.root.scroll_into_view_if_needed()
            opened.page.screenshot(path=SHOTS / f"quickstart-{theme.split()[-1].lower()}.png")
            ratio, faintest = view.contrasts()[0]
            assert ratio >= 4.5, f"{theme}: a contrast of {ratio:.1f}: {faintest}"
        opened.theme("JupyterLab Light")
        opened.save()
        wait_until(lambda: "uo-root" in path.read_text(encoding="utf-8"), 30, "the notebook to be saved")
    return path


def test_quickstart_runs_top_to_bottom_in_lab(executed: Path) -> None:
    notebook = json.loads(executed.read_text(encoding="utf-8"))
    outputs = [output for cell in notebook["cells"] if cell["cell_type"] == "code" for output in cell["outputs"]]
    assert not [output for output in outputs if output["output_type"] == "error"]
    assert not [output for output in outputs if "application/vnd.jupyter.widget-view+json" in output.get("data", {})]
    assert "widgets" not in notebook["metadata"]
    shown = [output for output in outputs if "uo-root" in "".join(output.get("data", {}).get("text/html", ""))]
    assert len(shown) == SHOWN, "each is shown once"
    for output in shown:
        assert set(output["data"]) >= {"text/html", "text/plain"}
        assert len("".join(output["data"]["text/html"])) < 2_000_000


@pytest.mark.parametrize("trusted", [True, False])
def test_reopened_without_a_kernel_it_shows_everything(
    lab: Lab, chromium_path: str, executed: Path, trusted: bool
) -> None:
    name = f"reopened-{trusted}.ipynb"
    notebook = json.loads(executed.read_text(encoding="utf-8"))
    notebook["metadata"] = kernelspec("no-such-kernel")
    if not trusted:
        # Changed outside Lab, as by somebody who sent it: its signature no longer fits.
        notebook["cells"].append({"cell_type": "markdown", "id": "added", "metadata": {}, "source": "added"})
    (lab.folder / name).write_text(json.dumps(notebook), encoding="utf-8")
    if trusted:
        import subprocess
        import sys

        subprocess.run(
            [sys.executable, "-m", "jupyter", "trust", str(lab.folder / name)],
            check=True,
            env=lab.environment,
            timeout=60,
        )
    with browser(chromium_path) as context:
        opened = open_notebook(context, lab, name)
        # Lab draws the outputs one after the other; a slow machine can be looked at between two of them.
        opened.page.wait_for_function(
            "n => document.querySelectorAll('.uo-root').length === n", arg=SHOWN, timeout=60_000
        )
        opened.page.wait_for_function(
            "() => [...document.querySelectorAll('.uo-paper img')].every(image => image.complete)", timeout=30_000
        )
        check_whole(opened.page.evaluate(WHOLE))
        opened.page.screenshot(path=SHOTS / f"{name.removesuffix('.ipynb')}.png")


@pytest.mark.parametrize("width", [480, 900, 1400])
def test_as_a_page_on_disk_it_needs_no_network(chromium_path: str, executed: Path, tmp_path: Path, width: int) -> None:
    from nbconvert import HTMLExporter

    body, _ = HTMLExporter().from_filename(str(executed))
    page_file = tmp_path / "quickstart.html"
    page_file.write_text(body, encoding="utf-8")
    with browser(chromium_path, offline=True, viewport={"width": width, "height": 1200}) as context:
        page = context.new_page()
        page.goto(page_file.as_uri(), wait_until="load")
        page.wait_for_selector(".uo-root")
        check_whole(page.evaluate(WHOLE))
        page.screenshot(path=SHOTS / f"nbconvert-{width}.png")
        # Nothing scrolls sideways but tables.
        width_of = "name => document.querySelector('.uo-root')[name]"
        assert page.evaluate(width_of, "scrollWidth") <= page.evaluate(width_of, "clientWidth") + 1


def test_the_saved_page_of_a_document_needs_no_network(chromium_path: str, executed: Path, tmp_path: Path) -> None:
    import uocr_nb

    saved = executed.parent / "scan.json"
    shutil.copy(saved, tmp_path / "scan.json")
    document = uocr_nb.load(tmp_path / "scan.json")
    written = document.save(tmp_path / "scan.html")
    with browser(chromium_path, offline=True) as context:
        page = context.new_page()
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(written.as_uri(), wait_until="load")
        assert page.locator(".uo-page").count() == 3
        assert "Machines That Learned to Read" in page.locator(".uo-root").inner_text()
        assert not errors
