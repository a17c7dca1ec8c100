"""The file that ``doc.save("x.html")`` writes, in a real browser."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from harmless import without_script

from uocr_nb.document.model import Block, Document, Page, Status
from uocr_nb.reading.progress import Progress
from uocr_nb.views.live_html import live_html
from uocr_nb.views.page_html import document_html

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.browser

HOSTILE = (
    "</div></span></td></style></title><script>top.tripped=1</script><img src=x onerror='top.tripped=1'>"
    "<svg onload='top.tripped=1'></svg><a href='javascript:top.tripped=1'>x</a>"
    "<div style='position:fixed;inset:0;background:red'>covered</div>"
)


def twin(document: Document, folder: Path) -> Path:
    """The file as it is seen where no script runs."""
    path = folder / "out.html"
    path.write_text(without_script(document.to_html()), encoding="utf-8")
    return path


def opened(browser: Any, path: Path, **options: Any) -> Any:
    tab = browser.new_page(**options)
    tab.requests = []
    tab.on("request", lambda request: tab.requests.append(request.url))
    tab.goto(path.as_uri())
    return tab


@pytest.mark.parametrize(("width", "beside"), [(1400, True), (900, True), (480, False), (390, False)])
def test_panes_stand_side_by_side_or_fold(
    browser: Any, document: Document, tmp_path: Path, width: int, beside: bool
) -> None:
    tab = opened(browser, twin(document, tmp_path), viewport={"width": width, "height": 900})
    paper, pane = (tab.locator(f".uo-p1 .{name}").first.bounding_box() for name in ("uo-paper", "uo-pane"))
    assert paper["width"] >= 300
    assert (pane["x"] >= paper["x"] + paper["width"]) is beside
    assert (pane["y"] >= paper["y"] + paper["height"]) is not beside
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    tab.close()


def test_boxes_lie_on_the_picture_where_the_answer_says(browser: Any, document: Document, tmp_path: Path) -> None:
    tab = opened(browser, twin(document, tmp_path), viewport={"width": 900, "height": 900})
    sheet = tab.locator(".uo-p1 .uo-sheet").bounding_box()
    box = tab.locator(".uo-p1 .uo-box.uo-b4").bounding_box()
    # 150, 220, 850, 400 of 999, drawn 3 px further out at the sides, 2 above and below, with a line of 3 px.
    assert box["x"] - sheet["x"] == pytest.approx(150 / 999 * sheet["width"] - 6, abs=1)
    assert box["width"] == pytest.approx(700 / 999 * sheet["width"] + 12, abs=1)
    assert box["height"] == pytest.approx(180 / 999 * sheet["height"] + 10, abs=1)
    tags = [tag.bounding_box() for tag in tab.locator(".uo-p1 .uo-tag").all()]
    assert all(tag["x"] >= sheet["x"] - 1 for tag in tags)
    assert sheet["height"] / sheet["width"] == pytest.approx(877 / 620, abs=0.01)
    tab.close()


@pytest.mark.parametrize(("scheme", "ink"), [("light", "rgb(0, 0, 0)"), ("dark", "rgb(255, 255, 255)")])
def test_one_file_serves_light_and_dark(
    browser: Any, document: Document, tmp_path: Path, scheme: str, ink: str
) -> None:
    tab = opened(browser, twin(document, tmp_path), color_scheme=scheme)
    assert tab.locator(".uo-p1 .uo-text").first.evaluate("e => getComputedStyle(e).color") == ink
    assert tab.locator(".uo-sheet").first.evaluate("e => getComputedStyle(e).backgroundColor") == "rgb(255, 255, 255)"
    tab.close()


@pytest.mark.parametrize("width", [900, 480])
def test_what_stands_above_the_pages_fits_and_leads_to_them(
    browser: Any, make_page: Callable[..., Page], tmp_path: Path, width: int
) -> None:
    pages = [make_page(n, picture=n < 3) for n in range(1, 61)]
    pages[22] = make_page(23, status=Status.LOOPING, reason="The same row repeats from block 9 on. Cut there.")
    pages[51] = make_page(52, blocks=(), status=Status.FAILED, reason="No answer in 3 tries. " * 8)
    document = Document(pages, meta={"engine": "vllm", "seconds": 48.2, "tokens": 71402, "cost": 0.01})
    path = tmp_path / "out.html"
    path.write_text(f"<meta charset=utf-8><body>{without_script(document_html(document))}", encoding="utf-8")
    tab = opened(browser, path, viewport={"width": width, "height": 700})
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    tiles = [tile.bounding_box() for tile in tab.locator(".uo-tile").all()]
    assert len(tiles) == 60
    assert len({round(tile["y"]) for tile in tiles}) == 1, "the tiles stand in one row"
    row = tab.locator(".uo-summary").bounding_box()
    assert tiles[-1]["x"] + tiles[-1]["width"] == pytest.approx(row["x"] + row["width"] - 14, abs=2)
    for link in (tab.locator(".uo-bad a").nth(1), tab.locator("a.uo-tile[title='Page 23, looping']")):
        link.click()
        target = tab.locator(link.get_attribute("href"))
        assert -1 <= target.bounding_box()["y"] < 700
        assert target.locator("summary").first.is_visible()
    tab.close()


@pytest.mark.parametrize("width", [900, 480])
def test_the_output_keeps_its_height_while_pages_are_read(
    browser: Any, make_page: Callable[..., Page], tmp_path: Path, width: int
) -> None:
    tab = browser.new_page(viewport={"width": width, "height": 700})
    heights = []
    made = [make_page(n) for n in range(1, 15)]
    for done in range(14):
        blocks = made[done].blocks[: 1 + done % 4]
        partial = (replace(made[done], blocks=blocks, raw="", tokens=None, seconds=None),)
        progress = Progress(
            14, done, 0, 4.0 + done, (done + 1,), 900 * done, 0.04, look=lambda partial=partial: partial
        )
        tab.set_content(live_html(progress, made[:done]))
        heights.append(tab.locator(".uo-root").bounding_box()["height"])
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    # The figures of the progress may take one more line, and in a narrow output so may the counts of the page in front.
    assert max(heights) - min(heights) <= (21 if width == 900 else 62)
    tab.close()


def test_a_hostile_page_does_nothing(browser: Any, make_page: Callable[..., Page], tmp_path: Path) -> None:
    blocks = tuple(
        Block(label, HOSTILE, (9, 9, 900, 900)) for label in ("text", "title", "equation", "code", "image", HOSTILE)
    )
    table = Block("table", f"<table><tr><td>{HOSTILE}</td><td>{HOSTILE}</td></tr></table>", (9, 9, 900, 900))
    page = make_page(blocks=(*blocks, table), raw=HOSTILE, status=Status.FAILED, reason=HOSTILE, warnings=(HOSTILE,))
    document = Document([page, make_page(2, source=HOSTILE)], warnings=[HOSTILE], meta={"engine": HOSTILE})
    tab = opened(browser, document.save(tmp_path / "out.html"))
    tab.wait_for_load_state("load")
    assert tab.evaluate("top.tripped === undefined")
    assert tab.locator("script").count() == 1
    unsafe = "svg:not(.uo-chrome svg), iframe, a:not([href^='#uo-']), [onerror], [onload]"
    assert tab.locator(unsafe).count() == 0
    assert tab.evaluate("[...document.querySelectorAll('*')].every(e => getComputedStyle(e).position !== 'fixed')")
    assert [url for url in tab.requests if not url.startswith(("file:", "data:"))] == []
    tab.close()
