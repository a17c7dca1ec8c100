"""Pages and documents by themselves."""

from __future__ import annotations

import pytest

from uocr_nb.document.model import Block, Document, Page, Status, Try


@pytest.mark.parametrize("number", [0, -1, 3])
def test_a_crop_of_a_block_that_is_not_there_is_refused(number: int) -> None:
    page = Page(1, 1, "a.pdf", (9, 9), (Block("text", "a", (0, 0, 9, 9)), Block("text", "b")))
    with pytest.raises(IndexError, match=rf"There is no block {number}: the page has 2, numbered from 1\."):
        page.crop(number)
    with pytest.raises(ValueError, match="no box"):
        page.crop(2)


def test_the_documents_of_the_sources_do_not_count_what_the_others_took() -> None:
    tries = (Try(Status.EMPTY, False, tokens=1), Try(Status.OK, True, tokens=4))
    pages = [Page(1, 1, "a", (9, 9), tokens=4, tries=tries), Page(2, 1, "b", (9, 9), tokens=7)]
    whole = Document(pages, meta={"mode": "base", "tokens": 12, "cost": 0.5, "seconds": 3.0})
    told = {name: part.meta for name, part in whole.by_source().items()}
    rest = {"mode": "base", "cost": None, "seconds": None}
    assert told == {"a": {**rest, "tokens": 5}, "b": {**rest, "tokens": 7}}
    assert whole.meta["cost"] == 0.5
