"""`uocr_nb.parse`: as many pages out as page images in."""

from __future__ import annotations

import pytest

import uocr_nb
from uocr_nb.document.model import Status

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


def test_pages_must_be_positive() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        uocr_nb.parse(TWO, pages=0)
