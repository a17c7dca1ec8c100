"""A file of HTML in a real browser: opened from disk, with the network cut."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from harmless import HOSTILE
from PIL import Image

from uocr_nb.document.model import Block, Document, Page

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.browser

REFUSED = "violates the following Content Security Policy"
COPIED = "() => { window.copied = []; navigator.clipboard.writeText = async (text) => window.copied.push(text); }"


@pytest.fixture
def tab(browser: Any) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1000, "height": 800}, offline=True)
    made = context.new_page()
    made.faults, made.said, made.asked = [], [], []
    made.on("pageerror", lambda error: made.faults.append(str(error)))
    made.on("console", lambda message: made.said.append(message.text))
    made.on("request", lambda request: made.asked.append(request.url))
    yield made
    assert made.faults == []
    assert not [url for url in made.asked if not url.startswith(("file:", "data:", "blob:"))]
    context.close()


def written(folder: Path, pages: int, words: tuple[str, ...] = ()) -> str:
    picture = folder / "page.png"
    Image.new("L", (200, 280), 255).save(picture)
    made = []
    for n in range(1, pages + 1):
        blocks = (
            Block("title", f"Chapter {n}", (100, 50, 900, 90)),
            Block("text", f"The needle of page {n}, where \\(x^{{{n}}} < 9\\) holds.", (100, 100, 900, 200)),
            Block("equation", "\\[E = mc^2\\]", (100, 210, 900, 250)),
            *(Block(text, text, (100, 300 + 60 * k, 900, 350 + 60 * k)) for k, text in enumerate(words)),
        )
        source = words[0] if words else "report.pdf"
        made.append(Page(n, n, source, (200, 280), blocks, image_file=picture, raw="".join(words)))
    file = folder / "out.html"
    Document(made).save(file)
    return file.as_uri()


def test_it_is_the_view(tab: Any, tmp_path: Path) -> None:
    tab.goto(written(tmp_path, 3))
    tab.evaluate(COPIED)
    chrome = tab.locator(".uo-chrome")
    row, box = chrome.locator(".uo-row.uo-b3"), chrome.locator(".uo-box.uo-b3")
    box.hover()
    assert "uo-hot" in row.get_attribute("class")
    assert row.locator("math").count() == 1
    box.click()
    chrome.get_by_role("button", name="LaTeX").click()
    assert tab.evaluate("window.copied") == ["E = mc^2"]
    chrome.locator(".uo-chips [data-kind=title]").click()
    assert chrome.locator(".uo-row:visible").count() == 2
    chrome.locator(".uo-find input").fill("needle of page 3")
    tab.wait_for_function("document.querySelector('.uo-pager input').value === '3'")
    assert chrome.locator(".uo-found").inner_text() == "1 of 1"
    assert chrome.locator(".uo-text mark").inner_text() == "needle of page 3"
    assert tab.locator(".uo-root > .uo-page:visible").count() == 0
    tab.emulate_media(media="print")
    assert tab.locator(".uo-root > .uo-page:visible").count() == 3
    assert chrome.is_hidden()
    assert not [words for words in tab.said if REFUSED in words]


def test_nothing_but_its_own_script_runs(tab: Any, tmp_path: Path) -> None:
    tab.goto(written(tmp_path, 2, HOSTILE))
    assert tab.locator(".uo-chrome .uo-row:visible").count() == 3 + len(HOSTILE)
    for name in ("Text", "Raw", "Markdown"):
        tab.get_by_role("tab", name=name).click()
    # Not even what would get into the page.
    tab.evaluate("""() => {
        const script = document.createElement('script');
        script.textContent = 'top.tripped = 1';
        const image = '<img src="x" onerror="top.tripped=1"><a href="javascript:top.tripped=1">x</a>';
        document.body.append(script);
        document.body.insertAdjacentHTML('beforeend', image);
        document.body.lastChild.click();
    }""")
    tab.wait_for_function("document.querySelector('body > img').complete")
    assert tab.evaluate("top.tripped") is None
    assert len([words for words in tab.said if REFUSED in words]) >= 2


def test_without_script_all_of_it_is_there(browser: Any, tmp_path: Path) -> None:
    context = browser.new_context(java_script_enabled=False, offline=True)
    tab = context.new_page()
    tab.goto(written(tmp_path, 2))
    assert tab.locator(".uo-root > .uo-page:visible").count() == 2
    assert tab.locator(".uo-chrome").count() == 0
    assert tab.locator("math").count() == 4
    context.close()
