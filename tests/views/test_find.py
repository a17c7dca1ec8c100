"""Search in a whole document."""

from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uocr_nb.document.model import Block, Page
from uocr_nb.views.find import Finder, folded

BOX = (100, 100, 900, 200)


def page(position: int, *blocks: Block) -> Page:
    return Page(position, position, "a.pdf", (700, 990), blocks)


@pytest.mark.parametrize(
    ("text", "query", "count"),
    [
        ("Café au lait, CAFÉ", "cafe", 2),
        ("cafe\u0301 in two code points", "CAFÉ", 1),
        ("Die Größe der Straße", "STRASSE", 1),
        ("Die Größe der Straße", "grosse", 1),
        ("ἈΓΓΕΛΟΣ", "αγγελος", 1),
        ("Ёлка и елка", "ЁЛКА", 2),
        ("the performance\nof it", "performance of", 1),
        ("an o\ufb03ce", "office", 1),
        ("aaaa", "aa", 2),
        ("", "x", 0),
        ("a", "   ", 0),
        ("a", "", 0),
        ("日本語の文章", "の文", 1),
    ],
)
def test_case_and_accents_do_not_matter(text: str, query: str, count: int) -> None:
    found = Finder().find([page(3, Block("text", text, BOX))], query)
    assert found.total == count
    assert found.pages == ({3: count} if count else {})


def test_hits_are_where_a_view_can_mark_them() -> None:
    table = "<table><tr><td>one two</td><td>three</td></tr><tr><td colspan=2>one</td></tr></table>"
    blocks = [
        Block("table", table, BOX),
        Block("text", "the mass \\(m = two\\) of one", BOX),
        Block("equation", "\\[ one = two \\]", BOX),
        Block("code", "one = $two$", BOX),
    ]
    one = Finder().find([page(1, *blocks)], "one")
    assert one.hits == ((1, 1, 1), (1, 1, 2), (1, 2, 1), (1, 4, 1))
    assert Finder().find([page(1, *blocks)], "two").pages == {1: 2}, "formulas are drawn, not written"
    assert Finder().find([page(1, *blocks)], "two three").total == 0, "no hit goes across two cells"


def test_the_answer_is_bounded_and_counts_all() -> None:
    pages = [page(n, Block("text", "word " * 2000, BOX)) for n in range(1, 401)]
    found = Finder().find(pages, "word")
    assert found.total == 800_000
    assert len(found.hits) == 500
    assert len(found.pages) == 400
    assert len(repr(found.told())) < 20_000
    assert found.told()["pages"]["400"] == 2000
    assert Finder().find(pages, "word " * 10_000).total > 0, "a long query is cut"


def test_three_hundred_pages_are_searched_while_somebody_types() -> None:
    blocks = [Block("text", f"Größe and words of a sentence, number {n}. " * 6, BOX) for n in range(15)]
    pages = [page(n, *blocks) for n in range(1, 301)]
    finder = Finder()
    finder.find(pages, "g")
    before = time.process_time()
    for query in ("gr", "gro", "gross", "grosse", "grosse and"):
        assert finder.find(pages, query).total == 300 * 15 * 6
    assert time.process_time() - before < 0.5, "a key"


def test_a_page_that_changed_is_read_anew() -> None:
    finder = Finder()
    assert finder.find([page(1, Block("text", "before", BOX))], "before").total == 1
    assert finder.find([page(1, Block("text", "after", BOX))], "before").total == 0


@given(st.text(max_size=60))
def test_folding_is_stable(text: str) -> None:
    once = folded(text)
    assert folded(once) == once
    assert folded(text.upper()) == folded(unicodedata.normalize("NFD", text.upper()))
