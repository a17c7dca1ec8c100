"""A hostile page in a real browser, trusted: as exported HTML, as the output of a cell, and as markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from markdown_it import MarkdownIt

from uocr_nb.document.model import Block, Document, Page, Status

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.browser

EVIL = (
    "</td></table></div></style></pre><script>document.title=1</script>"
    "<img src=http://tripwire.test/x onerror=alert(1)>"
    "<style>*{background:url(http://tripwire.test/y)}</style><link rel=stylesheet href=http://tripwire.test/z>"
    "<div style='position:fixed;inset:0;z-index:9999;background:red'>over</div><iframe src=http://tripwire.test/f></iframe>"
    "<a href='javascript:document.title=2'>k</a><svg onload=document.title=3></svg>"
    "<meta http-equiv=refresh content=0>"
    "\n![p](http://tripwire.test/m.png)\n[x](javascript:document.title=4)\n[y]: http://tripwire.test/r\n![y]\n```\n<!--"
)
MATHS = (
    "\\( \\frac{a}{b} \\) \\[ x^2 \\] \\( \\href{javascript:1}{x} \\) "
    "\\[ \\rule{99em}{99em} \\] \\( \\text{<img src=x>} \\)"
)


def hostile() -> Document:
    table = f"<table><tr><td rowspan=1000000000 colspan=1000000000>{EVIL}</td><td>\\( x^2 \\)</td></tr></table>"
    blocks = [Block(label, EVIL, (9, 9, 900, 900)) for label in ("text", "title", "code", "image", "equation", EVIL)]
    blocks += [Block("table", table, (9, 9, 99, 99)), Block("text", MATHS + EVIL)]
    return Document([Page(1, 1, EVIL, (99, 99), tuple(blocks), Status.FAILED, (EVIL,), EVIL, EVIL)], warnings=[EVIL])


def test_a_hostile_page_does_nothing_in_a_browser(chromium_path: str, tmp_path: Path) -> None:
    from playwright.sync_api import sync_playwright

    document = hostile()
    bundle = document._repr_mimebundle_()
    frame = "<!DOCTYPE html><meta charset=utf-8><title>safe</title><body><button id=b>b</button><main>{}</main>"
    shown = {
        "export": document.to_html(),
        "output": frame.format(bundle["text/html"]),
        "markdown": frame.format(MarkdownIt("commonmark", {"html": True}).enable("table").render(document.markdown)),
    }
    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=chromium_path, args=["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
        )
        tab = browser.new_page(viewport={"width": 900, "height": 700})
        said: list[str] = []
        tab.on("dialog", lambda dialog: (said.append(f"dialog {dialog.message}"), dialog.dismiss()))
        tab.on("request", lambda request: said.append(request.url) if request.url.startswith("http") else None)
        for name, html in shown.items():
            file = tmp_path / f"{name}.html"
            file.write_text(html, encoding="utf-8")
            tab.goto(file.as_uri())
            look(tab, name)
        browser.close()
    assert said == []


def look(tab: Any, name: str) -> None:
    if name != "export":
        assert tab.title() == "safe"
        assert tab.evaluate("document.elementFromPoint(12, 18).id") == "b", name
    assert tab.title() not in ("1", "2", "3", "4")
    unsafe = "iframe, svg:not(.uo-chrome svg), link, img:not([src^='data:']), a:not([href^='#'])"
    unsafe += ", [onerror], [onload], [onclick]"
    assert tab.locator(unsafe).count() == 0, name
    over = "[...document.querySelectorAll('body *')].filter(e => getComputedStyle(e).position === 'fixed').length"
    assert tab.evaluate(over) == 0, name
    if name == "export":
        heights = tab.evaluate(
            "[...document.querySelectorAll('.uo-chrome :is(mfrac, msup)')].map(e => e.getBoundingClientRect().height)"
        )
        assert len(heights) >= 3
        assert all(5 < height < 100 for height in heights)
        assert tab.locator("math a, math [href], math img").count() == 0
