"""A page of somebody who wishes the reader ill, in every form in which it is shown: nothing of it comes to life."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import drawn
import hostile
import pytest
from cells import Cells, decline_kernel, trust
from harmless import without_script
from lab import TOKEN, Lab, browser, kernelspec
from pace import Paced
from view_kit import View

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from uocr_nb.document.model import Document

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Document:
    return hostile.hostile(tmp_path_factory.mktemp("papers"))


@pytest.fixture(scope="module")
def cut(chromium_path: str) -> Iterator[Any]:
    with browser(chromium_path, offline=True, viewport={"width": 1000, "height": 1000}) as context:
        yield context


def own(lab: Lab) -> tuple[str, str]:
    """Where a page of Lab may ask."""
    return f"http://127.0.0.1:{lab.port}/", f"ws://127.0.0.1:{lab.port}/"


def walk(view: View, wire: hostile.Wire, where: str) -> None:
    """Look at every page in every form, press what asks for it, search and select."""
    wire.check(where)
    total = int(view.root.evaluate("root => JSON.parse(root.dataset.doc).total"))
    for n in range(1, total + 1):
        view.thumb(n).click()
        view.until("(root, n) => root.querySelector('.uo-pager input').value === String(n)", n)
        for tab in ("Markdown", "Text", "Raw"):
            view.tab(tab).click()
            wire.press(view.root)
            wire.check(f"{where}, page {n}, {tab}")
    view.thumb(1).click()
    view.tab("Markdown").click()
    for n in (1, 2, 5):
        view.row(n).scroll_into_view_if_needed()
        view.row(n).locator(".uo-no").click()
        view.key("c", "x", "Escape")
    view.search.fill("onerror")
    view.until("root => root.querySelector('mark')")
    wire.check(f"{where}, searched")
    assert view.root.locator("mark").first.inner_text() == "onerror", "it is there, as text"
    view.key("?")
    wire.check(f"{where}, keys")


def test_stored_and_exported(cut: Any, document: Document, tmp_path: Path) -> None:
    bundle = document._repr_mimebundle_()
    assert set(bundle) == {"text/html", "text/markdown", "text/plain"}
    assert len(bundle["text/html"].encode()) <= 2_000_000
    stored = tmp_path / "stored.html"
    head = f"<!doctype html><meta charset=utf-8><body style='margin:30px'><p id=outside>{'outside ' * 200}</p>"
    stored.write_text(f"{head}{bundle['text/html']}<p>{'outside ' * 200}</p>", encoding="utf-8")
    for path in (stored, document.save(tmp_path / "whole.html")):
        page = cut.new_page()
        errors: list[str] = []
        page.on("pageerror", lambda error, errors=errors: errors.append(str(error)))
        wire = hostile.Wire(page, "file://")
        page.goto(path.as_uri(), wait_until="load")
        view = View(page)
        view.ready()
        walk(view, wire, path.name)
        assert not errors
        page.close()


def test_without_its_script(chromium_path: str, document: Document, tmp_path: Path) -> None:
    """The twin alone, where no script may run."""
    stored = tmp_path / "twin.html"
    html = without_script(document._repr_mimebundle_()["text/html"])
    stored.write_text(f"<meta charset=utf-8><body>{html}", encoding="utf-8")
    with browser(chromium_path, offline=True) as context:
        page = context.new_page()
        wire = hostile.Wire(page, "file://")
        page.goto(stored.as_uri(), wait_until="load")
        root = View(page).root
        assert root.locator(".uo-chrome").count() == 0
        for fold in root.locator("summary").all():
            if fold.is_visible():
                fold.click()
        wire.press(root)
        wire.check("the twin")


def test_two_readings_side_by_side(cut: Any, document: Document, tmp_path: Path) -> None:
    from dataclasses import replace

    import uocr_nb as uocr

    first, *rest = document.pages
    other = uocr.Document([replace(first, blocks=first.blocks[1::2], raw=hostile.COVER), *rest], meta=document.meta)
    stored = tmp_path / "compared.html"
    html = uocr.compare(document, other, names=(hostile.MARKUP, hostile.ENDS))._repr_mimebundle_()["text/html"]
    stored.write_text(f"<meta charset=utf-8><body style='margin:30px'><p>{'outside ' * 99}</p>{html}", encoding="utf-8")
    page = cut.new_page()
    wire = hostile.Wire(page, "file://")
    page.goto(stored.as_uri(), wait_until="load")
    view = View(page).ready()
    wire.press(view.root)
    for _ in range(12):
        view.root.locator(".uo-chrome").press("n")
        wire.check("compared")
    page.close()


def test_the_wire_notices(cut: Any) -> None:
    """Unescaped, the same does come to life: else the tests above would prove nothing."""
    page = cut.new_page()
    for text, seen in ((hostile.MARKUP, "ran"), (hostile.COVER, "tracker"), (hostile.ATTRIBUTES, "onmouse|ran")):
        wire = hostile.Wire(page)
        page.goto("about:blank")
        page.set_content(f'<p>outside</p><div class="uo-root" title="{text}\'">{text}</div>')
        page.wait_for_function("() => document.readyState === 'complete'")
        with pytest.raises(AssertionError, match=seen):
            wire.check("live")
    page.goto("about:blank")
    page.set_content(
        "<div class=uo-root><b style='position:absolute;inset:0 0 -900px -900px'>over</b></div><p>outside</p>"
    )
    with pytest.raises(AssertionError, match="outside the view lies"):
        hostile.Wire(page).check("over")
    page.close()


@pytest.fixture(scope="module")
def notebook(view_lab: Lab, window: Any, document: Document) -> Iterator[Cells]:
    drawn.save(document, view_lab.folder / "hostile.json")
    sources = [
        "import uocr_nb as uocr\ndoc = uocr.load('hostile.json')\ndoc",
        "view = doc.view()",
        "doc.show = 'markdown'\ndoc",
    ]
    cells = Cells(window, view_lab, "hostile", sources)
    cells.wire = hostile.Wire(cells.page, *own(view_lab))
    for n in (1, 2, 3):
        cells.run(n)
        cells.ended(n)
    cells.save()
    yield cells
    cells.page.close()


def test_in_lab_stored_and_in_the_full_view(notebook: Cells) -> None:
    wire = notebook.wire
    for n in (1, 2):
        view = View(notebook.page, notebook.cell(n)).ready()
        view.root.scroll_into_view_if_needed()
        walk(view, wire, ("", "stored", "the full view")[n])
    # As markdown it is Lab that draws it, from what was escaped.
    shown = notebook.cell(3).locator(".jp-RenderedMarkdown")
    shown.scroll_into_view_if_needed()
    wire.press(shown)
    wire.check("markdown")
    assert not notebook.errors


@pytest.mark.parametrize("trusted", [True, False])
def test_reopened(view_lab: Lab, window: Any, notebook: Cells, trusted: bool) -> None:
    whole = json.loads(notebook.path.read_text(encoding="utf-8"))
    whole["metadata"] = kernelspec("no-such-kernel")
    if not trusted:
        whole["cells"].append({"cell_type": "markdown", "id": "added", "metadata": {}, "source": "added"})
    path = view_lab.folder / f"hostile-{trusted}.ipynb"
    path.write_text(json.dumps(whole), encoding="utf-8")
    if trusted:
        trust(view_lab, path)
    page = window.new_page()
    decline_kernel(page)
    wire = hostile.Wire(page, *own(view_lab))
    page.goto(f"http://127.0.0.1:{view_lab.port}/doc/tree/{path.name}?token={TOKEN}", wait_until="domcontentloaded")
    page.wait_for_selector(".uo-root", timeout=60_000)
    view = View(page)
    if trusted:
        walk(view.ready(), wire, "trusted")
    else:
        assert view.root.locator("script").count() == 0
        for fold in view.root.locator("summary").all():
            if fold.is_visible():
                fold.click()
        wire.press(view.root)
        wire.check("a stranger's")
    page.close()


ANSWER = "\n".join(
    f"<|det|>{label} [{100 + 10 * n}, {60 + 60 * n}, {800 + 10 * n}, {110 + 60 * n}]<|/det|>{text}"
    for n, (label, text) in enumerate(
        [
            ("text", hostile.MARKUP),
            ("title", hostile.ENDS),
            ("table", hostile.TABLE),
            ("equation", hostile.FORMULAS[0]),
            ("text", hostile.COVER + hostile.ATTRIBUTES + hostile.DATA),
            ("<img src=x onerror=window.tripped=1>", "label"),
        ]
    )
)


def test_while_it_is_read(view_lab: Lab, window: Any) -> None:
    """The same arriving piece by piece: half a tag is no tag either."""
    running = Paced(lambda n: ANSWER if n else "<|det|>text [0, 0, 9, 9]<|/det|>ready", step=40)
    sources = [
        "import sys; sys.path.insert(0, 'HELPERS')\nfrom page_script import picture\nimport uocr_nb as uocr",
        f"%uocr_serve {running.url}",
        "%uocr {[picture(n) for n in (1, 2)]} --no-cache",
    ]
    sources[0] = sources[0].replace("HELPERS", str(drawn.__file__).rsplit("/", 1)[0])
    try:
        cells = Cells(window, view_lab, "hostile-live", sources)
        wire = hostile.Wire(cells.page, *own(view_lab))
        for n in (1, 2):
            cells.run(n)
            cells.ended(n)
        cells.run(3)
        view = View(cells.page, cells.cell(3)).ready()
        for n, part in enumerate(("onerror", "\u2028", "rowspan=9999999", "press}", "data-doc", "|>label"), 1):
            running.upto(1, part)
            view.until(
                "(root, n) => [...root.querySelectorAll('.uo-box')].filter(e => e.checkVisibility()).length >= n", n, 20
            )
            wire.check(f"read up to {part}")
        running.open_all()
        cells.ended(3)
        walk(view, wire, "read")
        assert not cells.errors
        cells.page.close()
    finally:
        running.close()
