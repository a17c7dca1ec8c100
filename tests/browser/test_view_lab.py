"""The full view in JupyterLab: what Python and the view tell each other, and what the notebook must not notice."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import drawn
import pytest
from cells import OLD, Cells
from view_kit import THEMES, View

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lab import Lab

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(300)]

START = """
import json, ipykernel, uocr_nb as uocr
from pathlib import Path
doc = uocr.load("report.json")
view = doc.view()
seen = []
view.on_select(lambda *what: seen.append(len(what)))
view
"""
AGAIN = "doc.view()"
CHAPTER = """(root, n) => [...root.querySelectorAll('.uo-row.uo-b1')].some(
    e => e.checkVisibility() && e.textContent.includes(`Chapter ${n}`))"""
HEAD = """(root, text) => [...root.querySelectorAll('.uo-row.uo-b2')].some(
    e => e.checkVisibility() && e.textContent.includes(text))"""
CHOSEN = """
one = uocr.selected()
print(json.dumps({"text": one.text, "label": one.block.label, "same": view.selected.text == one.text, "seen": len(seen),
    "rows": None if one.block.label != "table" else one.df.shape[0], "crop": list(one.crop().size)}))
"""
EDITS = """
print(json.dumps({"text": doc.page(1).blocks[1].text, "label": doc.page(1).blocks[1].label,
    "count": len(doc.page(1).blocks), "edits": len(doc.edits), "version": ipykernel.__version__}))
"""


@pytest.fixture(scope="module")
def opened(view_lab: Lab, window: Any, kernel: str) -> Iterator[Cells]:
    """A notebook with the report in two views, and cells that say what Python has."""
    folder = view_lab.folder / "papers-lab"
    folder.mkdir(exist_ok=True)
    drawn.save(drawn.report(folder), view_lab.folder / "report.json")
    cells = Cells(window, view_lab, f"view-{kernel}", [START, AGAIN, CHOSEN, EDITS], kernel)
    for n in (1, 2):
        cells.run(n)
        cells.ended(n)
    yield cells
    assert not cells.errors
    cells.page.close()


@pytest.fixture
def view(opened: Cells) -> Iterator[View]:
    """The first view, at its first page, with nothing selected."""
    shown = View(opened.page, opened.cell(1)).ready()
    shown.root.scroll_into_view_if_needed()
    yield shown
    shown.page.keyboard.press("Escape")
    shown.page.keyboard.press("Escape")
    if shown.button("Show all labels").count():
        shown.button("Show all labels").click()
    shown.thumb(1).click()


def told(cells: Cells, number: int) -> dict[str, Any]:
    """Run a cell that prints JSON; return it."""
    before = cells.page.locator(".jp-InputPrompt").nth(number).inner_text()
    cells.run(number)
    cells.page.wait_for_function(
        """([n, was]) => { const now = document.querySelectorAll('.jp-InputPrompt')[n].textContent;
            return now !== was && /\\[\\d+\\]/.test(now); }""",
        arg=[number, before],
        timeout=30_000,
    )
    return dict(json.loads(cells.cell(number).locator(".jp-OutputArea-output").first.inner_text()))


def test_it_runs_on_the_kernel_that_is_meant(opened: Cells, kernel: str) -> None:
    version = str(told(opened, 4)["version"])
    assert version == OLD if kernel == "old" else version.startswith("7.")


NOTEBOOK = """() => {
    const notebook = document.querySelector('.jp-Notebook');
    return [notebook.classList.contains('jp-mod-editMode'), document.querySelectorAll('.jp-Cell').length,
        [...document.querySelectorAll('.jp-Cell')].map(c => [c.className.includes('jp-MarkdownCell'),
            c.querySelector('.jp-InputArea-editor')?.textContent]), document.querySelectorAll('.jp-Dialog').length,
        document.querySelectorAll('.jp-mod-searchActive, .jp-DocumentSearch-overlay').length].map(String);
}"""


def test_no_key_of_the_view_reaches_the_notebook(opened: Cells, view: View) -> None:
    before = opened.page.evaluate(NOTEBOOK)
    keys = [*"[]{}mtrmcxz+-0oonpabddjkyfhilsvw1", "ArrowDown", "ArrowUp", "ArrowRight", "ArrowLeft", "Home", "End"]
    keys += ["Enter", "Space", "Enter", "Shift+Z", "Shift+M", "Shift+Enter", "Delete", "?", "Escape", "/", "Escape"]
    for key in keys:
        if not view.focused():
            view.boxes.first.focus()
        view.key(key)
        assert opened.page.evaluate(NOTEBOOK) == before, key
    # `e` opens a field in the view, and Esc gives up.
    view.thumb(1).click()
    view.box(2).focus()
    view.key("e")
    opened.page.keyboard.type("xcddabZ ")
    assert opened.page.evaluate(NOTEBOOK) == before, "typing in the field"
    view.key("Escape")
    assert opened.page.evaluate(NOTEBOOK) == before
    # A click on a row leaves the keys with the view.
    view.row(4).click()
    view.key("x", "d", "d")
    assert opened.page.evaluate(NOTEBOOK) == before


def test_escape_gives_the_keys_back_to_the_notebook(opened: Cells, view: View) -> None:
    view.box(2).focus()
    view.key("Enter", "Escape", "Escape")
    assert view.focused() == ""
    cells = opened.page.locator(".jp-Cell").count()
    opened.page.locator(".jp-Cell").nth(4).locator(".jp-InputPrompt").click()
    view.key("b")
    opened.page.wait_for_function("n => document.querySelectorAll('.jp-Cell').length === n + 1", arg=cells)
    opened.page.evaluate("() => { window.jupyterapp.commands.execute('notebook:delete-cell') }")
    opened.page.wait_for_function("n => document.querySelectorAll('.jp-Cell').length === n", arg=cells)


def test_what_is_selected_is_in_python(opened: Cells, view: View) -> None:
    view.row(6).click()
    assert "uocr.selected()" in view.root.locator(".uo-chrome .uo-foot").inner_text()
    one = told(opened, 3)
    assert one["label"] == "table"
    assert one["same"]
    assert one["rows"] == 4
    assert one["crop"][0] == pytest.approx(700 / 999 * 780, abs=2)
    assert one["seen"] >= 1, "on_select"
    view.box(2).click()
    two = told(opened, 3)
    assert two["text"] == "5.3. Subcategory study"
    assert two["seen"] > one["seen"]


def test_every_page_is_there_when_it_is_looked_at(opened: Cells, view: View) -> None:
    for n in (11, 14):
        view.thumb(n).click()
        view.until(CHAPTER, n)
        assert view.boxes.count() == 8
    view.search.fill("page 11, part 3")
    view.until("root => root.querySelector('mark')?.textContent === 'Page 11, part 3'")
    assert view.root.locator(".uo-found").inner_text() == "1 of 1"


def test_an_edit_is_kept_undone_and_done_again_in_both_views(opened: Cells, view: View) -> None:
    other = View(opened.page, opened.cell(2)).ready()
    before = told(opened, 4)
    view.box(2).focus()
    view.key("e")
    field = view.root.locator("textarea:visible").first
    assert field.input_value() == "5.3. Subcategory study"
    assert view.axe() == []
    assert [what for ratio, what in view.contrasts() if ratio < 4.5] == []
    field.fill("5.3. Corrected study")
    view.key("Control+Enter")
    for one in (view, other):
        one.until(HEAD, "5.3. Corrected study")
    assert view.root.locator(".uo-row.uo-b2.uo-edited:visible").count() == 1
    now = told(opened, 4)
    assert (now["text"], now["edits"]) == ("5.3. Corrected study", before["edits"] + 1)
    view.box(2).focus()
    view.key("z")
    other.until(HEAD, "5.3. Subcategory study")
    assert told(opened, 4)["text"] == before["text"]
    view.box(2).focus()
    view.key("Shift+Z")
    view.until(HEAD, "5.3. Corrected study")
    assert told(opened, 4)["text"] == "5.3. Corrected study"
    view.box(2).focus()
    view.key("z")
    view.until(HEAD, "5.3. Subcategory study")
    # Given up, nothing changes.
    view.box(2).focus()
    view.key("e")
    view.root.locator("textarea:visible").first.fill("never")
    view.key("Escape")
    assert view.root.locator("textarea:visible").count() == 0
    assert told(opened, 4)["text"] == before["text"]


def test_light_dark_and_everybody(opened: Cells, view: View) -> None:
    wrong = []
    for theme in (*THEMES, "JupyterLab Dark High Contrast"):
        opened.theme(theme)
        view.root.scroll_into_view_if_needed()
        wrong += [f"{theme}: {what}" for what in view.sideways()]
        wrong += [f"{theme}: contrast {ratio:.2f}: {what}" for ratio, what in view.contrasts() if ratio < 4.5]
        wrong += [f"{theme}: {what}" for what in view.axe()]
    opened.theme(THEMES[0])
    assert not wrong, "\n".join(wrong)


def test_of_a_page_that_is_reloaded_the_view_lives_on(opened: Cells, view: View) -> None:
    """The kernel goes on: every page is there again, also those that are not stored, and so is what is selected."""
    opened.save()
    opened.page.reload()
    opened.page.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status=idle]", timeout=60_000, state="attached")
    again = View(opened.page, opened.cell(1)).ready(60)
    again.root.scroll_into_view_if_needed()
    again.thumb(11).click()
    again.until(CHAPTER, 11, 20)
    again.row(1).click()
    assert told(opened, 3)["text"] == "Chapter 11"


def test_in_notebook_7(view_lab: Lab, window: Any) -> None:
    """The same, driven by its kernel: pages on demand, what is selected, keys that stay in the view."""
    folder = view_lab.folder / "papers-lab"
    folder.mkdir(exist_ok=True)
    drawn.save(drawn.report(folder), view_lab.folder / "report.json")
    cells = Cells(window, view_lab, "view-notebook-7", [START, "x = 1", CHOSEN], where="notebooks")
    assert "/notebooks/" in cells.page.url
    cells.run(1)
    cells.ended(1)
    view = View(cells.page, cells.cell(1)).ready()
    view.root.scroll_into_view_if_needed()
    view.thumb(11).click()
    view.until(CHAPTER, 11)
    before = cells.page.evaluate(NOTEBOOK)
    view.row(1).click()
    for key in "xcbadd[]":
        view.key(key)
    assert cells.page.evaluate(NOTEBOOK) == before
    assert told(cells, 3)["text"] == "Chapter 11"
    cells.page.close()


LONG = """
import json, uocr_nb as uocr
doc = uocr.load("long.json")
print(len(doc))
"""
LONG_VIEW = "view = doc.view()"
LONG_STATE = """
state = view._desk.line._widget.get_state()
script = len(state.pop("_esm"))
print(json.dumps({"script": script, "state": sum(len(json.dumps(value, default=str)) for value in state.values())}))
"""
# From the start of the cell to the frame in which the first page is on the screen.
FIRST_PAINT = """() => new Promise(done => {
    const at = {};
    const look = () => {
        const cell = document.querySelectorAll('.jp-Cell')[2], root = cell.querySelector('.uo-root');
        if (/[*\\d]/.test(cell.querySelector('.jp-InputPrompt').textContent)) at.start ??= performance.now();
        const image = root && [...root.querySelectorAll('.uo-chrome .uo-image')].find(e => e.naturalWidth);
        if (image) requestAnimationFrame(() => done(performance.now() - at.start));
        else requestAnimationFrame(look);
    };
    look();
})"""


@pytest.fixture(scope="module")
def long_view(view_lab: Lab, window: Any) -> Iterator[tuple[Cells, float]]:
    """A notebook that shows 300 pages, and how long it took to the first one, in ms."""
    folder = view_lab.folder / "papers-long"
    folder.mkdir(exist_ok=True)
    drawn.save(drawn.long(folder), view_lab.folder / "long.json")
    cells = Cells(window, view_lab, "view-long", [LONG, LONG_VIEW, LONG_STATE])
    cells.run(1)
    assert "300" in cells.ended(1, 120)
    cells.page.evaluate(f"() => {{ window.painted = ({FIRST_PAINT})(); }}")
    cells.run(2)
    painted = float(cells.page.evaluate("() => window.painted"))
    cells.ended(2)
    yield cells, painted
    assert not cells.errors
    cells.page.close()


def test_three_hundred_pages(long_view: tuple[Cells, float]) -> None:
    cells, painted = long_view
    view = View(cells.page, cells.cell(2)).ready()
    cells.run(3)
    cells.ended(3)
    size = json.loads(cells.cell(3).locator(".jp-OutputArea-output").first.inner_text())
    print(f"300 pages: first paint {painted:.0f} ms, state {size['state']:,} bytes beside {size['script']:,} of script")
    # Under 1 s is wanted, and measured where nothing else runs; a busy machine may take longer.
    assert painted < 3000
    assert size["state"] + size["script"] < 300_000
    # The film holds what is in sight, and a little more.
    assert view.root.locator(".uo-film [data-t]").count() < 60
    view.root.get_by_role("textbox", name="Page", exact=True).fill("250")
    view.key("Enter")
    view.until(CHAPTER, 250)
    film = view.place(view.root.locator(".uo-film"))
    thumb = view.place(view.thumb(250))
    assert film["x"] <= thumb["x"] <= film["x"] + film["width"]
    view.until("root => root.querySelector('.uo-film [data-t=\"250\"] img')?.naturalWidth > 20")
    view.box(1).focus()
    for n in range(251, 261):
        view.key("]")
        view.until("(root, n) => root.querySelector('.uo-pager input').value === String(n)", n)
        view.until(CHAPTER, n)
    view.key("}")
    view.until(CHAPTER, 300)
    view.search.fill("needle")
    view.until("root => root.querySelector('mark')?.textContent === 'needle'")
    assert view.root.locator(".uo-pager input").input_value() == "250"
    assert view.root.locator(".uo-found").inner_text() == "1 of 1"
    # Fast keys: it ends at the page that was asked for last.
    view.key("Escape")
    view.box(1).focus()
    for _ in range(20):
        view.key("[")
    view.until(CHAPTER, 230)
    view.until("root => root.querySelector('.uo-pager input').value === '230'")
