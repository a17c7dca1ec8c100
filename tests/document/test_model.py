"""Pages and documents by themselves."""

from __future__ import annotations

import pytest

from uocr_nb.document.model import Block, Page


@pytest.mark.parametrize("number", [0, -1, 3])
def test_a_crop_of_a_block_that_is_not_there_is_refused(number: int) -> None:
    page = Page(1, 1, "a.pdf", (9, 9), (Block("text", "a", (0, 0, 9, 9)), Block("text", "b")))
    with pytest.raises(IndexError, match=rf"There is no block {number}: the page has 2, numbered from 1\."):
        page.crop(number)
    with pytest.raises(ValueError, match="no box"):
        page.crop(2)
