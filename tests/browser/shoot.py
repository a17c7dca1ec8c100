"""Take pictures of the page view in every state, to be laid beside the drawings and looked at.

    python tests/browser/shoot.py [NAME ...]

writes tests/browser/shots/view-NAME-THEME.png (git ignores the folder). Without names: all of them.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "helpers")]
os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "tests" / "helpers")])

import drawn  # noqa: E402
from cells import Cells, trust  # noqa: E402
from lab import TOKEN, Lab, browser  # noqa: E402
from pace import Paced  # noqa: E402
from view_kit import THEMES, View  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

SHOTS = HERE / "shots"
VIEW = "import uocr_nb as uocr\ndoc = uocr.load('report.json')\nview = doc.view()"
COMPARE = (
    "import uocr_nb as uocr\nfrom uocr_nb.views.compare import compare\n"
    "compare(uocr.load('report.json'), uocr.load('other.json'))"
)


class Studio:
    """JupyterLab with a notebook for each state."""

    def __init__(self, lab: Lab, context: Any) -> None:
        self.lab = lab
        self.context = context

    def notebook(self, name: str, *sources: str) -> tuple[Cells, View]:
        """Run the cells; the last one shows a view."""
        cells = Cells(self.context, self.lab, name, list(sources))
        for n in range(1, len(sources) + 1):
            cells.run(n)
            cells.ended(n)
        return cells, View(cells.page, cells.cell(len(sources))).ready()

    def shoot(self, cells: Any, view: View, name: str, *, both: bool = True) -> None:
        """Take it in both themes."""
        for theme in THEMES if both else THEMES[:1]:
            cells.theme(theme)
            view.root.scroll_into_view_if_needed()
            view.root.screenshot(path=SHOTS / f"view-{name}-{theme.split()[-1].lower()}.png")
        cells.theme(THEMES[0])


def page(studio: Studio) -> None:
    """a1, a2, a4, keys, long."""
    cells, view = studio.notebook("page", VIEW)
    view.row(6).click()
    studio.shoot(cells, view, "selected")
    view.row(6).click()
    view.chip("text").click()
    view.search.fill("attention")
    view.until("root => root.querySelector('mark')")
    view.chip("caption").focus()
    studio.shoot(cells, view, "filter-search")
    view.button("Show all labels").click()
    view.search.fill("")
    for n, name in ((9, "truncated"), (4, "looping"), (7, "empty"), (8, "unboxed"), (12, "failed"), (13, "missing")):
        view.thumb(n).click()
        view.until("(root, n) => root.querySelector('.uo-pager input').value === String(n)", n)
        studio.shoot(cells, view, name, both=name == "truncated")
    view.thumb(1).click()
    view.tab("Raw").click()
    studio.shoot(cells, view, "raw", both=False)
    view.tab("Markdown").click()
    view.box(2).focus()
    view.key("?")
    studio.shoot(cells, view, "keys", both=False)
    cells.page.close()


def edit(studio: Studio) -> None:
    """a5."""
    cells, view = studio.notebook("edit", VIEW)
    view.box(4).focus()
    view.key("e")
    view.root.locator("textarea:visible").first.fill(f"{drawn.WORDS} And a word more.")
    studio.shoot(cells, view, "edit")
    cells.page.close()


def widths(studio: Studio) -> None:
    """The outputs of 480, 640, 900 and 1400 px."""
    cells, view = studio.notebook("widths", VIEW)
    for width in (480, 640, 900, 1400):
        for _ in range(4):
            wide = cells.page.evaluate("() => innerWidth - document.querySelector('.uo-root').clientWidth") + width
            cells.page.set_viewport_size({"width": wide, "height": 1400})
            view.page.wait_for_timeout(300)
        view.box(13).click()
        studio.shoot(cells, view, f"{width}")
        view.box(13).click()
    cells.page.close()


def streaming(studio: Studio) -> None:
    """b: in the middle of a run."""
    engine = Paced()
    try:
        cells = Cells(
            studio.context, studio.lab, "streaming",
            [
                "from page_script import picture", f"%uocr_serve {engine.url}",
                "%uocr {[picture(n) for n in range(1, 15)]} --no-cache --concurrency 4 -o doc",
            ],
        )  # fmt: skip
        for n in (1, 2):
            cells.run(n)
            cells.ended(n)
        for n in range(1, 6):
            engine.gate(n).open()
        cells.run(3)
        view = View(cells.page, cells.cell(3)).ready()
        engine.upto(6, "<td>0.252</td>")
        view.until("root => root.querySelector('.uo-run')?.textContent.includes('5 of 14')", seconds=30)
        view.until("root => root.textContent.includes('0.252')", seconds=30)
        studio.shoot(cells, view, "streaming")
        engine.open_all()
        cells.ended(3)
        studio.shoot(cells, view, "read", both=False)
        cells.page.close()
    finally:
        engine.open_all()
        engine.close()


def compare(studio: Studio) -> None:
    """e: two runs of the same page."""
    cells, view = studio.notebook("compare", COMPARE)
    studio.shoot(cells, view, "compare")
    cells.page.close()


def stored(studio: Studio) -> None:
    """f and what comes after: trusted, a stranger's, Notebook 7, exported, printed."""
    import json

    from nbconvert import HTMLExporter

    cells, _ = studio.notebook("stored", "import uocr_nb as uocr\nuocr.load('report.json')")
    cells.save()
    cells.page.close()
    whole = json.loads(cells.path.read_text(encoding="utf-8"))
    whole["metadata"]["kernelspec"]["name"] = "no-such-kernel"
    for name, where in (("trusted", "doc/tree"), ("stranger", "doc/tree"), ("notebook7", "notebooks")):
        if name == "stranger":
            whole["cells"].append({"cell_type": "markdown", "id": "added", "metadata": {}, "source": "added"})
        path = studio.lab.folder / f"{name}.ipynb"
        path.write_text(json.dumps(whole), encoding="utf-8")
        if name != "stranger":
            trust(studio.lab, path)
        opened = studio.context.new_page()
        asked = opened.locator(".jp-Dialog")
        opened.add_locator_handler(asked, asked.locator("button.jp-mod-reject").first.click)
        opened.goto(f"http://127.0.0.1:{studio.lab.port}/{where}/{path.name}?token={TOKEN}")
        opened.wait_for_selector(".uo-root", timeout=60_000)
        opened.locator(".uo-root").hover()
        opened.screenshot(path=SHOTS / f"view-stored-{name}.png")
        opened.close()
    exported = studio.lab.folder / "exported.html"
    exported.write_text(HTMLExporter().from_filename(str(cells.path))[0], encoding="utf-8")
    opened = studio.context.new_page()
    opened.context.set_offline(True)
    opened.goto(exported.as_uri())
    View(opened).ready()
    opened.screenshot(path=SHOTS / "view-stored-exported.png")
    opened.pdf(path=SHOTS / "view-printed.pdf", format="A4", print_background=True)
    opened.close()
    studio.context.set_offline(False)
    import pymupdf

    for n, sheet in enumerate(pymupdf.open(SHOTS / "view-printed.pdf").pages(0, 3), 1):
        sheet.get_pixmap(dpi=72).save(SHOTS / f"view-printed-{n}.png")


STATES: dict[str, Callable[[Studio], None]] = {
    made.__name__: made for made in (page, edit, widths, streaming, compare, stored)
}


def main(names: list[str]) -> None:
    SHOTS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "papers").mkdir()
        whole = drawn.report(place / "papers")
        drawn.save(whole, place / "report.json")
        drawn.save(drawn.changed(whole), place / "other.json")
        lab = Lab(place)
        try:
            with browser(os.environ.get("UOCR_CHROMIUM", "/usr/bin/chromium")) as context:
                for name in names or STATES:
                    try:
                        STATES[name](Studio(lab, context))
                        print(f"{name}: done", flush=True)
                    except Exception as error:  # noqa: BLE001 - the other pictures are wanted all the same
                        print(f"{name}: {str(error)[:600]}", flush=True)
        finally:
            lab.close()


if __name__ == "__main__":
    main(sys.argv[1:])
