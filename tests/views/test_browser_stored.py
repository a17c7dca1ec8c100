"""The stored form in a real browser: its script in each way in which a host runs it, and on paper."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from harmless import without_script
from lab import wait_until

from uocr_nb.document.model import Block
from uocr_nb.views.page_html import document_html, page_html
from uocr_nb.views.script import inline_script, section, squeezed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from uocr_nb.document.model import Document, Page

pytestmark = pytest.mark.browser

# What a host does with the HTML of an output: it parses it as a part of the page, it puts copies of the scripts where
# they stood (JupyterLab), it appends copies of them to the output (VS Code), or it runs their text with nothing around
# it, as a module does.
HOSTS = {
    "parsed": "(place, html) => place.append(document.createRange().createContextualFragment(html))",
    "copied": """(place, html) => {
        place.innerHTML = html;
        for (const old of place.querySelectorAll('script')) {
            const made = document.createElement('script');
            made.textContent = old.textContent;
            old.replaceWith(made);
        }
    }""",
    "appended": """(place, html) => {
        place.innerHTML = html;
        for (const old of place.querySelectorAll('script')) {
            const made = document.createElement('script');
            made.text = old.innerText;
            place.appendChild(made).remove();
        }
    }""",
    "alone": """(place, html) => {
        place.innerHTML = html;
        for (const old of place.querySelectorAll('script')) new Function(old.textContent)();
    }""",
}
SNIPPETS = r"""
    const words = []; // a comment with a ' in it
    let n = 3 / 2 / 1, text = `a  ${ n > 1 ? `b ${ [1, 2].map((x) => x + 1).join(" , ") }` : '}' }
      // no comment`;
    words.push(text, "a b".replace(/[ "'`/]+/g, "  "), n - -1, n + +1);
    if (n) {
      words.push({ a : 1, "b c" : { d : `}` } })
    }
    const f = ({ a = 1, ...rest }, [b, , c] = [1, 2, 3]) => ({ a, b, c, rest })
    words.push(f({ z : 2 }), n < 2 ? .5 : 1)
    label: for (const x of [1, 2]) { if (x > 1) break label; words.push(x) }
    /* the
       end */
    return words
"""


@pytest.fixture
def tab(browser: Any) -> Iterator[Any]:
    made = browser.new_page(viewport={"width": 900, "height": 900})
    made.faults = []
    made.on("pageerror", lambda error: made.faults.append(str(error)))
    made.set_content("<!DOCTYPE html><body><div id=a></div><div id=b></div>")
    yield made
    assert made.faults == []
    made.close()


@pytest.mark.parametrize("host", HOSTS)
def test_the_script_finds_its_own_root_however_it_is_run(tab: Any, document: Document, host: str) -> None:
    for place, html in (("a", document_html(document)), ("b", page_html(document.page(2)))):
        tab.evaluate(f"([place, html]) => ({HOSTS[host]})(document.getElementById(place), html)", [place, html])
        assert tab.locator(f"#{place} > .uo-root > .uo-chrome").count() == 1
    assert tab.locator(".uo-chrome").count() == 2
    assert tab.locator("#a > .uo-root > .uo-page").first.is_hidden()
    assert tab.locator("#a .uo-chrome .uo-row").first.is_visible()


def test_what_is_cleared_is_let_go(tab: Any, document: Document) -> None:
    """A cell that is run again and again must not pile up pictures in the browser."""
    tab.evaluate(f"html => ({HOSTS['copied']})(document.getElementById('a'), html)", document_html(document))
    tab.locator(".uo-chrome .uo-row").first.hover()
    tab.evaluate("() => { window.kept = new WeakRef(document.querySelector('.uo-root')) }")
    session = tab.context.new_cdp_session(tab)

    def let_go() -> bool:
        session.send("HeapProfiler.collectGarbage")
        return bool(tab.evaluate("() => window.kept.deref() === undefined"))

    assert not let_go()
    tab.evaluate("() => document.getElementById('a').replaceChildren()")
    wait_until(let_go, 10, "the root to be let go of")


def test_formulas_are_set_without_a_typesetter(tab: Any, document: Document) -> None:
    tab.evaluate(f"html => ({HOSTS['parsed']})(document.getElementById('a'), html)", page_html(document.page(1)))
    shown = tab.locator(".uo-chrome .uo-math math")
    assert shown.count() == 2
    assert all(box["height"] > 8 for box in (shown.nth(n).bounding_box() for n in range(2)))
    assert "$E" not in tab.locator(".uo-chrome").inner_text()


def test_a_crowded_page_is_linked_as_any_other(tab: Any, make_page: Callable[..., Page]) -> None:
    kinds = ("text", "title", "table_caption", "Fancy thing")
    blocks = tuple(
        Block(kinds[n % 4], f"Entry {n}", (n % 5 * 200, 12 * n, n % 5 * 200 + 150, 12 * n + 10)) for n in range(80)
    )
    page = make_page(blocks=blocks, raw="")
    tab.evaluate(f"html => ({HOSTS['parsed']})(document.getElementById('a'), html)", page_html(page))
    row, box = tab.locator(".uo-chrome .uo-row.uo-b3"), tab.locator(".uo-chrome .uo-box.uo-b3")
    assert row.get_attribute("aria-label") == box.get_attribute("aria-label") == "Block 3 of 80, caption"
    assert row.locator(".uo-no").inner_text() == "3 Ca"
    box.hover()
    assert "uo-hot" in row.get_attribute("class")
    row.click()
    assert box.get_attribute("aria-pressed") == "true"
    chips = tab.locator(".uo-chips [data-kind]")
    assert chips.evaluate_all("all => all.map(e => [e.dataset.kind, e.dataset.f])") == [
        *(["text", "text"], ["title", "title"], ["caption", "caption"], ["Fancy thing", "text"]),
    ]
    chips.nth(1).click()
    assert tab.locator(".uo-text>.uo-row:visible").count() == 60
    tab.locator(".uo-find input").fill("entry 7")
    tab.locator(".uo-text mark").first.wait_for(state="attached")
    assert tab.locator(".uo-found").inner_text() == "1 of 11"


def test_what_is_squeezed_does_the_same(tab: Any) -> None:
    results = [tab.evaluate("code => new Function(code)()", code) for code in (SNIPPETS, squeezed(SNIPPETS))]
    assert results[0] == results[1]
    assert len(results[0]) == 8
    for code in (section("core"), section("core") + section("compare"), inline_script()):
        tab.evaluate("code => { new Function(code) }", code)  # it can be read
    style = "code => new Function(code + '\\nreturn STYLE')()"
    assert tab.evaluate(style, section("core")) == tab.evaluate(style, squeezed(section("core")))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_links_take_the_ink_where_no_theme_has_a_colour_for_them(browser: Any, document: Document, scheme: str) -> None:
    tab = browser.new_page(color_scheme=scheme)
    page = f"<style>:root{{color-scheme:light dark}}</style><body>{without_script(document_html(document))}"
    tab.set_content(page)
    ink = tab.evaluate("getComputedStyle(document.body).color")
    assert tab.locator(".uo-bad a").first.evaluate("e => getComputedStyle(e).color") == ink
    tab.close()


def printed(browser: Any, path: Path, url: str) -> str:
    import pypdfium2

    tab = browser.new_page()
    tab.route("**/*", lambda route: route.continue_() if route.request.url.startswith("file:") else route.abort())
    tab.goto(url)
    tab.pdf(path=path)
    tab.close()
    pdf = pypdfium2.PdfDocument(path)
    try:
        sheets = [page.get_textpage().get_text_range() for page in pdf]

    finally:
        pdf.close()
    assert all(sheet.strip() for sheet in sheets)
    starts = [sheet for sheet in sheets if re.match(r"\s*page \d+ of 5", sheet)]
    assert len(starts) >= 4, "every page begins a sheet of its own, after the first one"
    return "\n".join(sheets)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["notebook", "file"])
def test_on_paper_every_page_is_unfolded(browser: Any, document: Document, tmp_path: Path, form: str) -> None:
    path = tmp_path / "out.html"
    if form == "file":
        document.save(path)
    else:
        import nbformat.v4 as nb
        from nbconvert import HTMLExporter

        cell = nb.new_code_cell("doc", outputs=[nb.new_output("display_data", document._repr_mimebundle_())])
        notebook = json.loads(json.dumps(nb.new_notebook(cells=[cell])))
        import nbformat

        path.write_text(HTMLExporter().from_notebook_node(nbformat.from_dict(notebook))[0], encoding="utf-8")
    text = printed(browser, tmp_path / "out.pdf", path.as_uri())
    for n, status in enumerate(("ok", "ok", "truncated", "looping", "failed"), 1):
        assert f"page {n} of 5 {status}" in text
    assert text.count("5.3. Subcategory Study") == 4
    assert text.count("A price of $5 to $6 a page, and") == 4
    assert text.count("0.125") == 3
    for words in ("Cut here, at 4,096 tokens", "The same row repeats from block 4 on.", "No answer in 3 tries."):
        assert words in text
    assert text.count("\U0001d44e < \U0001d44f") == 2, "formulas are drawn, not written as TeX"
    assert "$E" not in text
    assert "Find in" not in text, "what only a screen needs is not printed"
