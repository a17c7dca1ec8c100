"""`uocr_nb.parse`: as many pages out as page images in."""

from __future__ import annotations

from typing import Any

import pytest

import uocr_nb
from uocr_nb.document.model import Status
from uocr_nb.errors import OptionError

TWO = "<PAGE><|det|>text [1, 2, 3, 4]<|/det|>a\n<PAGE><|det|>text [1, 2, 3, 4]<|/det|>b"


def statuses(document: uocr_nb.Document) -> list[Status]:
    return [page.status for page in document.pages]


def test_as_many_pages_as_the_answer_holds() -> None:
    document = uocr_nb.parse(TWO)
    assert statuses(document) == [Status.OK, Status.OK]
    assert document.warnings == []
    assert statuses(uocr_nb.parse("")) == [Status.EMPTY]


def test_missing_pages_are_named() -> None:
    document = uocr_nb.parse(TWO, pages=3)
    assert statuses(document) == [Status.OK, Status.OK, Status.MISSING]
    assert document.page(3).reason
    assert "2 pages for 3 page images" in document.warnings[0]


def test_too_many_pages() -> None:
    assert "beyond page 2 is left out" in uocr_nb.parse(TWO + "\n" + TWO, pages=2).warnings[0]
    document = uocr_nb.parse(TWO, pages=1)
    assert [block.text for block in document.page(1).blocks] == ["a", "b"]
    assert "one page image" in document.warnings[0]


def test_only_the_last_page_is_cut() -> None:
    document = uocr_nb.parse(TWO, pages=2, finish_reason="length", max_tokens=100)
    assert statuses(document) == [Status.OK, Status.TRUNCATED]
    assert "100 tokens" in document.page(2).reason


@pytest.mark.parametrize(("answer", "pages"), [(TWO, 0), (TWO, -1), (TWO, "x"), (TWO, 1.5), (None, None), (b"x", 1)])
def test_what_cannot_be_parsed_is_refused_in_three_parts(answer: Any, pages: Any) -> None:
    with pytest.raises(OptionError) as refused:
        uocr_nb.parse(answer, pages=pages)
    assert refused.value.what
    assert refused.value.why
    assert refused.value.next.startswith("uocr_nb.parse(")


@pytest.mark.parametrize("start", ["", "<PAGE>", "Words before.\n"])
def test_each_page_has_its_own_part_of_the_answer(start: str) -> None:
    answer = f"{start}<|det|>text [1, 2, 3, 4]<|/det|>\ud800\n{TWO}\n"
    document = uocr_nb.parse(answer)
    assert "".join(page.raw for page in document.pages) == answer.replace("\ud800", "\ufffd")
    assert all(page.raw.startswith("<PAGE>") for page in document.pages[1:])
    assert uocr_nb.parse(TWO, pages=1).page(1).raw == TWO


def test_an_answer_of_many_pages_stays_small() -> None:
    def size(pages: int) -> int:
        return len(uocr_nb.parse("<PAGE><|det|>text [1, 1, 900, 200]<|/det|>ok\n" * pages).to_html())

    assert size(200) < 5 * size(50)


def test_an_answer_of_nothing_but_pages_is_cut() -> None:
    document = uocr_nb.parse("<PAGE>" * 50_000)
    assert len(document) == 1_000
    assert "50,000 pages" in document.warnings[0]
    assert sum(len(page.raw) for page in document.pages) == 6_000
    assert len(uocr_nb.parse("<PAGE>" * 1_500, pages=1_200)) == 1_200
