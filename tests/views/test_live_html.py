"""A document while it is read."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from harmless import HOSTILE, check_harmless
from hypothesis import given
from hypothesis import strategies as st

from uocr_nb.document.model import Block, Page, Status
from uocr_nb.reading.progress import Progress
from uocr_nb.views import pictures
from uocr_nb.views.live_html import live_html
from uocr_nb.views.progress import progress_bar, progress_line

if TYPE_CHECKING:
    from collections.abc import Callable

BOX = (100, 100, 900, 200)
WAITING = "vllm does not answer; 31 pages wait. Interrupt the cell; pages that are done are kept."


def live(progress: Progress, *partial: Page) -> Progress:
    return replace(progress, reading=tuple(page.position for page in partial), look=lambda: partial)


def texts(root: Any, name: str) -> list[str]:
    return [" ".join(e.text_content().split()) for e in root.xpath(f"//*[contains(@class, '{name}')]")]


def bare(position: int, *blocks: Block, **more: Any) -> Page:
    return Page(position, position, "report.pdf", (620, 877), blocks, **more)


def test_blocks_appear_as_they_are_read(make_page: Callable[..., Page]) -> None:
    page = make_page(10, blocks=(Block("title", "5.3", BOX), Block("text", "so far", (100, 300, 900, 400))), raw="")
    done = [bare(n) for n in range(1, 10)]
    done[3] = replace(done[3], status=Status.LOOPING)
    progress = live(Progress(14, 9, 1, 6.9, tokens=10400, cost=0.04), page, bare(11), bare(12), bare(13))
    root = check_harmless(live_html(progress, done, uid="abc"))
    assert root.get("data-uid") == "abc"
    for words in ("9 of 14 pages", "1.3 pages/s", "1,507 tokens/s", "about 4 s to go", "$0.04 so far"):
        assert words in texts(root, "uo-progress")[0]
    assert texts(root, "uo-summary") == ["8 ok 1 looping 4 being read 1 waiting report.pdf, 14 pages"]
    assert texts(root, "uo-head") == ["1,087 tokens 3.4 s page 10 of 14 reading 2 blocks: 1 title, 1 text"]
    assert len(root.xpath("//*[contains(@class, 'uo-box')]")) == 2
    assert [tag.text for tag in root.xpath("//*[@class='uo-tag']")] == ["1 Ti", "2 Tx"]
    caret = root.xpath("//*[@class='uo-caret']")
    assert [c.getparent().text for c in caret] == ["so far"]
    assert len(root.xpath("//*[@class='uo-tiles']/div/div")) == 14
    assert texts(root, "uo-line")[-2:] == ["page 13 of 14 reading", "page 14 of 14 waiting"]
    assert "doc.retry()" not in root.text_content()


def test_the_caret_stands_in_the_cell_that_is_being_written() -> None:
    table = "<table><tr><td>a</td><td>b</td></tr><tr><td>1</td><td>0.1"
    root = check_harmless(live_html(live(Progress(1), bare(1, Block("table", table, BOX))), []))
    assert root.xpath("//*[@class='uo-caret']")[0].getparent().text == "0.1"
    long = table + "</td></tr>" + "".join(f"<tr><td>{n}</td><td>x</td></tr>" for n in range(100)) + "<tr><td>last"
    root = check_harmless(live_html(live(Progress(1), bare(1, Block("table", long, BOX))), []))
    assert root.xpath("//*[@class='uo-caret']")[0].getparent().text == "last"
    assert len(root.xpath("//tr")) <= 16
    assert "99" in root.text_content()
    assert "more row" not in root.text_content()


def test_before_the_first_block_and_with_other_forms() -> None:
    root = check_harmless(live_html(Progress(14, reading=(1,)), []))
    assert "No page yet. The first one is being read." in root.text_content()
    line = check_harmless(live_html(Progress(14, 2, seconds=1), [], with_pages=False))
    assert not texts(line, "uo-page")
    assert "2 of 14 pages" in line.text_content()


def test_why_it_waits_is_said() -> None:
    progress = Progress(40, 9, 0, 9.0, waiting=WAITING, cached=3, cost=0.0)
    root = check_harmless(live_html(progress, [bare(n) for n in range(1, 10)]))
    assert texts(root, "uo-waiting") == [WAITING]
    assert "to go" not in texts(root, "uo-progress")[0]
    assert "3 from the cache" in texts(root, "uo-progress")[0]
    assert progress_line(progress).endswith(f"3 from the cache\n{WAITING}")


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("label", ["text", "table", "equation", "made <up>"])
def test_what_is_being_read_is_inert(text: str, label: str) -> None:
    page = bare(1, Block(label, text, BOX), name=text)
    check_harmless(live_html(live(Progress(3, waiting=text), page), [replace(bare(2), source=text)], uid=text))


@given(st.integers(1, 60), st.integers(0, 60), st.integers(0, 14))
def test_the_frame_has_the_lines_of_the_final_form(total: int, done: int, slots: int) -> None:
    done = min(done, total)
    partial = [bare(n, Block("text", "x", BOX)) for n in range(done + 1, min(total, done + slots) + 1)]
    root = check_harmless(live_html(live(Progress(total, done), *partial), [bare(n) for n in range(1, done + 1)]))
    shown = [int(e.get("class").split("uo-p")[-1]) for e in root.xpath("//*[contains(@class, 'uo-line')]")]
    assert len(shown) == min(total, 10) - 1
    assert shown == sorted(set(shown))
    assert len(root.xpath("//*[@class='uo-more']")) == (total > 10)
    assert set(shown) >= {page.position for page in partial[1:10]}


def test_what_is_sent_does_not_grow_with_the_page_or_the_document(make_page: Callable[..., Page]) -> None:
    page = make_page(600, noise=True, size=(1364, 1930), raw="")
    small = live_html(live(Progress(1000, 9), replace(page, blocks=(Block("text", "x", BOX),))), [bare(1)])
    blocks = tuple(
        Block("text" if n % 3 else "table", "word " * 3000, (n % 3 * 300, n * 4, n % 3 * 300 + 90, n * 4 + 9))
        for n in range(240)
    )
    done = [bare(n, status=Status.LOOPING if n % 2 else Status.OK) for n in range(1, 600)]
    large = live_html(live(Progress(1000, 599), replace(page, blocks=blocks)), done)
    assert len(large.encode()) <= 160_000
    assert len(large) - len(small) <= 120_000


def test_a_picture_is_made_once(make_page: Callable[..., Page], monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    encoded = pictures._encoded
    monkeypatch.setattr(pictures, "_encoded", lambda *picture, **more: made.append(1) or encoded(*picture, **more))
    page = make_page(1, size=(613, 877), raw="")
    figure = Block("image", "", (100, 500, 500, 700))
    for n in range(1, 30):
        blocks = (Block("text", "x" * n, BOX), figure, Block("text", "y" * n, BOX))[: 1 + n // 5]
        html = live_html(live(Progress(1), replace(page, blocks=blocks)), [])
    assert len(made) == 2
    assert html.count("data:image/jpeg") == 2


def test_the_line_never_wraps_on_a_terminal() -> None:
    progress = Progress(1400, 903, 3, 690.0, tokens=1_040_000, cost=10.04, cached=312, waiting="")
    for columns in range(30, 140):
        assert len(progress_bar(progress, columns)) < columns
    assert progress_bar(progress, 140).endswith("tokens/s  about 9:40 to go  $10.04 so far  312 from the cache")
    assert "tokens/s" not in progress_bar(progress, 80)


def test_failed_sources_and_cached_pages_are_no_speed() -> None:
    assert progress_line(Progress(2, 1, 1, 0.003, unasked=1)) == "1 of 2 pages"
    assert progress_line(Progress(60, 31, 0, 10.0, cached=31)) == "31 of 60 pages   31 from the cache"
