"""Two runs side by side in a real browser: a page of its own, with and without script."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from two_runs import BASE, GUNDAM
from view_kit import View

from uocr_nb.document.model import Block, Document, Page, Status
from uocr_nb.views.compare import compare
from uocr_nb.views.compare_html import SECTIONS, comparison_html
from uocr_nb.views.script import inline_script

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    MakePage = Callable[..., Page]

pytestmark = [pytest.mark.browser, pytest.mark.slow]

GROUNDS = {"light": "background:#fff;color:#000", "dark": "background:#111;color:#fff"}


@pytest.fixture
def html(make_page: MakePage) -> str:
    """Three pages; the first and the last differ."""
    a = [make_page(n, blocks=BASE) for n in (1, 2, 3)]
    slip = replace(BASE[5], text="The end of the pages.")
    b = [make_page(1, blocks=GUNDAM), a[1], make_page(3, blocks=(*BASE[:5], slip))]
    return comparison_html(compare(Document(a), Document(b), names=("base", "gundam")), uid="u1")


def opened(browser: Any, tmp_path: Path, html: str, *, width: int = 1080, ground: str = "light") -> View:
    path = tmp_path / "out.html"
    path.write_text(
        "<!doctype html><html lang=en><meta charset=utf-8><title>x</title>"
        f"<body style='{GROUNDS[ground]}'><main>{html}",
        encoding="utf-8",
    )
    tab = browser.new_page(viewport={"width": width, "height": 800})
    tab.set_default_timeout(8_000)
    tab.errors, tab.asked = [], []
    tab.on("pageerror", lambda error: tab.errors.append(str(error)))
    tab.on("request", lambda request: tab.asked.append(request.url))
    tab.goto(path.as_uri())
    view = View(tab)
    if "<script" in html:
        view.until("root => root.querySelector('.uo-mat .uo-sheet') && root.querySelector('.uo-chrome .uo-row')")
    return view


def chosen(view: View) -> list[tuple[str, str]]:
    """What is selected on the page and in the text."""
    found: list[tuple[str, str]] = view.root.evaluate(
        "root => [...root.querySelectorAll('.uo-chrome .uo-sel')]"
        ".map(e => [e.closest('.uo-mat') ? 'page' : 'text', e.dataset.b])"
    )
    return sorted(tuple(one) for one in found)  # type: ignore[misc]


def test_keys_walk_through_the_differences_on_both_sides(browser: Any, tmp_path: Path, html: str) -> None:
    view = opened(browser, tmp_path, html)
    view.box(3).focus()
    for number in ("3", "4", "7"):
        view.key("n")
        assert chosen(view) == [("page", number), ("text", number)]
        assert view.row(int(number)).evaluate("e => e === document.activeElement")
    view.key("n")  # the next one is on page 3: page 2 is the same in both runs
    view.until("root => root.querySelector('.uo-chrome .uo-pager input').value === '3'")
    view.until("root => root.querySelector('.uo-chrome .uo-sel')")
    assert chosen(view) == [("page", "6"), ("text", "6")]
    view.key("n")
    assert view.root.locator("[role=status]").text_content() == "This is the last difference."
    view.key("p")
    view.until("root => root.querySelector('.uo-chrome .uo-pager input').value === '1'")
    view.until("root => root.querySelector('.uo-chrome .uo-sel')")
    assert chosen(view) == [("page", "7"), ("text", "7")]
    view.key("Escape")
    assert chosen(view) == []
    view.key("?")
    assert "next, previous difference" in view.root.get_by_role("dialog", name="Keys").text_content()
    assert not view.page.errors


def test_pointing_links_box_and_row(browser: Any, tmp_path: Path, html: str) -> None:
    view = opened(browser, tmp_path, html)
    view.row(4).hover()
    assert "uo-hot" in view.box(4).get_attribute("class")
    view.box(3).hover()
    assert "uo-hot" in view.row(3).get_attribute("class")
    # A stands beside B, with room for its agreement.
    a, b, share = (view.row(3).locator(f".uo-{name}").bounding_box() for name in ("side-a", "side-b", "share"))
    assert a["x"] + a["width"] <= b["x"]
    assert b["x"] + b["width"] <= share["x"]
    assert a["y"] == b["y"]
    assert view.style(view.row(3).locator(".uo-only-a").first, "border-bottom-style") == "dashed"
    assert view.style(view.row(3).locator(".uo-only-b").first, "border-bottom-style") == "solid"


def test_what_is_the_same_is_folded_until_it_is_asked_for(browser: Any, tmp_path: Path, html: str) -> None:
    view = opened(browser, tmp_path, html)
    assert not view.row(1).count()
    toggle = view.button("Differences only")
    assert toggle.get_attribute("aria-pressed") == "true"
    toggle.click()
    assert view.row(1).is_visible()
    assert toggle.get_attribute("aria-pressed") == "false"
    toggle.click()
    fold = view.root.locator(".uo-chrome .uo-same > summary").first
    fold.focus()
    view.key("Enter")
    assert view.row(1).is_visible()
    assert chosen(view) == []
    rest = view.root.locator(".uo-chrome .uo-rest > summary").first
    rest.click()
    assert chosen(view) == []
    assert view.root.locator(".uo-chrome .uo-rest table").first.is_visible()
    view.button("Next page").click()
    view.until("root => root.querySelector('.uo-chrome .uo-pager input').value === '2'")
    assert "100.0 % the same" in view.root.locator(".uo-agree").text_content()
    view.row(1)  # is folded again


@pytest.mark.parametrize("ground", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 900, 640, 480])
def test_it_fits_and_can_be_read(browser: Any, tmp_path: Path, html: str, width: int, ground: str) -> None:
    view = opened(browser, tmp_path, html, width=width, ground=ground)
    for tab in ("Page", "A and B") if width <= 640 else ("",):
        if tab:
            view.tab(tab).click()
        assert view.sideways() == []
        faint = [(ratio, text) for ratio, text in view.contrasts() if ratio < 4.5]
        assert faint == []
        assert view.axe() == []
    if width == 480:  # A stands above B
        a, b = (view.row(3).locator(f".uo-side-{letter}").bounding_box() for letter in "ab")
        assert a["y"] + a["height"] <= b["y"]
        assert b["y"] - a["y"] - a["height"] < 20
    assert not view.page.errors
    assert [url for url in view.page.asked if not url.startswith(("file:", "data:"))] == []


@pytest.mark.parametrize(("width", "beside"), [(1080, True), (480, False)])
def test_the_twin_alone_is_whole(browser: Any, tmp_path: Path, html: str, width: int, beside: bool) -> None:
    twin = html.replace(f"<script>{inline_script(SECTIONS)}</script>", "")
    view = opened(browser, tmp_path, twin, width=width)
    assert view.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    first = view.root.locator(".uo-p1")
    a, b = (first.locator(f".uo-cmp .uo-side-{letter}").first.bounding_box() for letter in "ab")
    assert (b["x"] >= a["x"] + a["width"] - 1) is beside
    assert (b["y"] >= a["y"] + a["height"] - 1) is not beside
    assert first.locator(".uo-box").count() == 3
    assert not view.row(1).count()
    first.locator(".uo-same > summary").first.click()
    assert view.row(1).is_visible()


def test_a_hostile_pair_does_nothing(browser: Any, tmp_path: Path, make_page: MakePage) -> None:
    bad = (
        "</div></details><script>top.tripped=1</script><img src=x onerror='top.tripped=1'>"
        "<svg onload='top.tripped=1'></svg><div style='position:fixed;inset:0'>covered</div>"
        " $$\\href{javascript:1}{x}$$"
    )
    blocks = tuple(Block(label, bad, (9, 9, 900, 900)) for label in ("text", "equation", "code", "image", bad))
    table = Block("table", f"<table><tr><td>{bad}</td></tr></table>", (9, 9, 900, 900))
    a = make_page(1, blocks=(*blocks, table), source=bad, status=Status.FAILED, reason=bad)
    b = replace(a, blocks=tuple(replace(block, text=f"{bad}{bad} more") for block in a.blocks))
    view = opened(browser, tmp_path, comparison_html(compare(a, b, names=(bad, bad))))
    view.key("n", "n", "d")
    assert view.page.evaluate("top.tripped === undefined")
    assert view.root.locator("iframe, [onerror], [onload], a[href^='javascript']").count() == 0
    assert view.root.evaluate("r => [...r.querySelectorAll('*')].every(e => getComputedStyle(e).position !== 'fixed')")
    assert [url for url in view.page.asked if not url.startswith(("file:", "data:"))] == []
