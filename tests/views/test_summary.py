"""What stands above the pages, and the quiet notes on them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from harmless import HOSTILE, check_harmless, parsed
from hypothesis import given
from hypothesis import strategies as st

from uocr_nb.document.model import Block, Document, Page, Status, Try
from uocr_nb.views.mime import document_bundle
from uocr_nb.views.page_html import document_html, page_html
from uocr_nb.views.plain import document_plain, page_plain
from uocr_nb.views.tiles import MOST, tiles_html, tiles_of
from uocr_nb.views.words import IN_DOUBT, positions, summary_line

if TYPE_CHECKING:
    from collections.abc import Callable

LOOP = "The same row repeats from block 9 on. Cut there; 8 blocks kept."


def bare(position: int, status: Status = Status.OK, reason: str = "", source: str = "annual.pdf", **more: Any) -> Page:
    return Page(position, position, source, (0, 0), status=status, reason=reason, **more)


def sixty() -> list[Page]:
    bad = {23: (Status.LOOPING, LOOP), 41: (Status.LOOPING, "Numbers count up."), 52: (Status.FAILED, "No answer.")}
    some = (Block("text", "x"),)
    return [bare(n, *bad.get(n, (Status.OK, "")), blocks=some) for n in range(1, 61)]


def said(root: Any, name: str) -> list[str]:
    return [" ".join(e.text_content().split()) for e in root.xpath(f"//*[contains(@class, '{name}')]")]


def test_all_well_is_one_line() -> None:
    pages = [bare(n, seconds=0.8) for n in range(1, 61)]
    meta = {"seconds": 48.2, "tokens": 71402, "cost": 0.0108}
    root = check_harmless(document_html(Document(pages, meta=meta)))
    assert said(root, "uo-summary") == ["60 ok annual.pdf, 60 pages 48 s 1.2 pages/s 71,402 tokens $0.01"]
    assert not root.xpath("//*[contains(@class, 'uo-tile')]")
    cached = check_harmless(document_html(Document(pages, meta=meta | {"cached": 60})))
    assert "pages/s" not in said(cached, "uo-summary")[0]
    assert "60 from the cache" in said(cached, "uo-summary")[0]


def test_trouble_is_listed_with_its_reason_and_leads_to_its_page() -> None:
    document = Document(sixty(), meta={"engine": "vllm", "mode": "gundam"})
    root = check_harmless(document_html(document, uid="a<b>1"))
    assert said(root, "uo-summary")[0].startswith("57 ok, 2 looping (p. 23, 41), 1 failed (p. 52) annual.pdf, 60 pages")
    assert said(root, "uo-bad") == [
        f"page 23looping{LOOP}",
        "page 41loopingNumbers count up.",
        "page 52failedNo answer.",
    ]
    assert "Run the 3 again: doc.retry()" in said(root, "uo-foot")[0]
    assert len(root.xpath("//*[@class='uo-tile']")) == 60
    titles = {tile.get("title"): tile for tile in root.xpath("//*[@class='uo-tile']")}
    for position in (1, 23, 41, 52):  # pages that are carried
        state = {1: "ok", 52: "failed"}.get(position, "looping")
        link = titles[f"Page {position}, {state}"].get("href")
        assert link == f"#uo-ab1-p{position}"
        target = root.xpath(f"//*[@id='{link[1:]}']")
        assert len(target) == 1
        assert "doc.retry()" in target[0].text_content() or position == 1
    assert titles["Page 60, ok"].get("href") is None
    assert said(root, "uo-axis") == ["1102030405060"]


def test_pages_that_fail_alike_are_one_line() -> None:
    why = "The reading was interrupted before this page."
    pages = [bare(n) for n in range(1, 41)] + [bare(n, Status.MISSING, why) for n in range(41, 1001)]
    document = Document(pages)
    root = check_harmless(document_html(document))
    assert said(root, "uo-summary")[0].startswith("40 ok, 960 missing (p. 41-1000)")
    assert said(root, "uo-bad") == [f"pages 41 to 1,000missing{why}"]
    assert f"pages 41 to 1,000  missing  {why}" in document_plain(document).splitlines()
    assert "- pages 41 to 1,000, missing: The reading" in document_bundle(document)["text/markdown"]


@given(st.sets(st.integers(1, 60)))
def test_positions_lose_no_page(numbers: set[int]) -> None:
    text = positions([bare(n) for n in sorted(numbers)], most=60)
    spans = [[int(n) for n in part.split("-")] for part in text.split(", ") if part]
    assert {n for span in spans for n in range(span[0], span[-1] + 1)} == numbers
    assert sum(span[-1] - span[0] + 1 for span in spans) == len(numbers)


def test_summary_line() -> None:
    assert summary_line(sixty()) == "57 ok, 2 looping (p. 23, 41), 1 failed (p. 52: No answer)"


@given(st.integers(1, 2500), st.dictionaries(st.integers(1, 2500), st.sampled_from(list(Status)), max_size=12))
def test_every_page_is_in_one_tile_and_the_worst_is_seen(total: int, given_states: dict[int, Status]) -> None:
    pages = [bare(n, status) for n, status in given_states.items() if n <= total]
    tiles = tiles_of(total, pages, reading={total})
    assert len(tiles) <= MOST
    assert [n for tile in tiles for n in range(tile.first, tile.last + 1)] == list(range(1, total + 1))
    assert len({tile.last - tile.first for tile in tiles[:-1]}) <= 1
    for page in pages:
        tile = next(tile for tile in tiles if tile.first <= page.position <= tile.last)
        if page.status in (Status.FAILED, Status.MISSING):
            assert tile.state in ("failed", "missing")
        elif page.status is not Status.OK:
            assert tile.state not in ("ok", "reading", "waiting")
    for axis in (True, False):
        check_harmless(f"<div>{tiles_html(tiles, uid='u', axis=axis)}</div>")


def test_a_thousand_pages_take_few_bytes(make_page: Callable[..., Page]) -> None:
    page = make_page(noise=True, size=(900, 1273))
    pages = [
        replace(page, position=n, status=Status.LOOPING if n % 2 else Status.OK, reason=LOOP) for n in range(1, 1001)
    ]
    html = document_html(Document(pages))
    assert len(html.encode()) <= 2_000_000
    head = check_harmless(html).xpath("//*[@class='uo-summary']")[0].text_content()
    assert "500 looping (p. 1, 3, 5, 7, 9, 11 and 494 more)" in head
    assert "480 more pages not ok" in head
    assert html.index("uo-foot") < 70_000


def test_several_sources_are_counted_each() -> None:
    pages = [bare(n, source="a.pdf") for n in (1, 2, 3)]
    pages += [bare(n, source="b.pdf") for n in (1, 2)]
    pages += [bare(1, Status.FAILED, "locked.pdf is locked. It asks for a password.", "locked.pdf")]
    pages[4] = replace(pages[4], status=Status.EMPTY)
    document = Document(pages)
    root = check_harmless(document_html(document))
    assert "4 ok, 1 empty (p. 5), 1 failed (p. 6) 3 sources, 6 pages" in said(root, "uo-summary")[0]
    assert said(root, "uo-sources") == ["b.pdf1 ok, 1 empty (p. 2)locked.pdffaileda.pdf3 ok"]
    assert said(root, "uo-bad") == [
        "page 5emptyb.pdf, page 2: The model found nothing here.",
        "page 6failedlocked.pdf is locked. It asks for a password.",
    ]
    assert "By source: doc.by_source()" in said(root, "uo-foot")[0]
    plain = document_plain(document).splitlines()
    assert plain[:4] == [
        "3 sources   6 pages: 4 ok, 1 empty (5), 1 failed (6)",
        "  b.pdf: 1 ok, 1 empty (2)",
        "  locked.pdf: failed",
        "  a.pdf: 3 ok",
    ]
    assert "page 5  empty  b.pdf, page 2: The model found nothing here." in plain
    assert "page 6  failed  locked.pdf is locked. It asks for a password." in plain


@pytest.mark.parametrize("text", HOSTILE)
def test_names_and_reasons_are_inert(text: str) -> None:
    pages = [bare(1, source=text), bare(2, Status.FAILED, text, text, name=text), bare(3, source=text[::-1])]
    root = check_harmless(document_html(Document(pages, meta={"engine": text, "mode": text}), uid=text))
    assert text in root.xpath("//*[@class='uo-bad']")[0].text_content()


def test_a_blank_page_is_no_trouble(make_page: Callable[..., Page]) -> None:
    blank = make_page(1, blocks=(), raw="", tokens=None, seconds=None, warnings=("blank, not asked",))
    html = page_html(blank)
    assert "blank, not asked" in said(parsed(html), "uo-counts")
    assert "A blank page; it was not asked." in html
    assert parsed(html).text_content().count("not asked") == 2
    assert page_plain(blank).splitlines()[1] == "page 1  ok  blank, not asked"
    assert "!" not in page_plain(blank)
    assert "1 blank, not asked" in said(parsed(document_html(Document([blank, bare(2)]))), "uo-summary")[0]
    bad = replace(blank, status=Status.FAILED)
    assert "! blank, not asked" in page_plain(bad)


def test_a_second_try_is_told_quietly(make_page: Callable[..., Page]) -> None:
    tries = (Try(Status.LOOPING, kept=False), Try(Status.OK, kept=True))
    page = make_page(tries=tries)
    assert "Asked twice; the better answer is kept." in parsed(page_html(page)).text_content()
    assert "  asked twice; the better answer is kept" in page_plain(page).splitlines()
    assert "Asked 3 times; the best" in page_html(replace(page, tries=(tries[0], *tries)))
    assert "sked" not in parsed(page_html(replace(page, tries=tries[1:]))).text_content()


def test_blocks_in_doubt_are_marked(make_page: Callable[..., Page]) -> None:
    table = "<table><tr><td>1</td></tr></table>"
    texts = [("text", "sure", 0.97), ("text", "not sure", 0.61), ("table", table, 0.5), ("text", "no score", None)]
    page = make_page(blocks=tuple(Block(label, text, (9, 9, 90, 90), score) for label, text, score in texts))
    document = Document([page, bare(2)])
    root = check_harmless(document_html(document))
    assert [e.text_content() for e in root.xpath("//*[@class='uo-doubt']")] == ["not sure"]
    assert "dotted" in root.xpath("//table/../..")[0].get("style")
    assert root.xpath("//*[contains(@class, 'uo-box uo-b2')]")[0].get("title").endswith("in doubt (61% sure)")
    assert "2 blocks in doubt: doc.doubtful()" in said(root, "uo-summary")[0]
    assert "; 2 in doubt" in said(root, "uo-counts")[0]
    assert document_plain(document).endswith("1 more page: doc.page(2).  2 blocks in doubt: doc.doubtful()")


@given(st.lists(st.floats(0, 1), max_size=8))
def test_doubt_is_what_the_document_calls_so(scores: list[float]) -> None:
    page = bare(1, blocks=tuple(Block("text", "x", None, score) for score in (*scores, IN_DOUBT)))
    listed = len(Document([page]).doubtful())
    assert sum(score < IN_DOUBT for score in scores) == listed
