from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uocr_nb.errors import OptionError
from uocr_nb.sources import parse_pages


@pytest.mark.parametrize(
    ("spec", "pages"),
    [
        (None, [1, 2, 3, 4, 5, 6, 7, 8]),
        ("", [1, 2, 3, 4, 5, 6, 7, 8]),
        ("1-3,7,-1", [1, 2, 3, 7, 8]),
        ("7,1-3", [7, 1, 2, 3]),
        ("2,2,1-3", [2, 1, 3]),
        ("6-", [6, 7, 8]),
        ("-2--1", [7, 8]),
        ("-3-", [6, 7, 8]),
        ("3-1", [3, 2, 1]),
        (" 1 - 2 , 4 ,", [1, 2, 4]),
        ("1–2", [1, 2]),
    ],
)
def test_numbers_and_ranges(spec: str | None, pages: list[int]) -> None:
    assert parse_pages(spec, 8) == pages


@pytest.mark.parametrize("spec", ["9", "1-9", "-9", "0", "2-99", "999999999"])
def test_a_page_outside_names_the_count(spec: str) -> None:
    with pytest.raises(OptionError) as caught:
        parse_pages(spec, 8)
    assert "8 pages" in caught.value.why
    assert caught.value.next == "--pages 1-8"


def test_one_page_is_not_plural() -> None:
    with pytest.raises(OptionError, match=r"There is no page 2\.") as caught:
        parse_pages("2", 1)
    assert caught.value.why == "There is 1 page."


@pytest.mark.parametrize("spec", ["a", "1-b", "1..3", "1;2", "1-2-3", ",", "--", "1 2"])
def test_what_is_no_range_is_refused(spec: str) -> None:
    with pytest.raises(OptionError):
        parse_pages(spec, 8)


@given(st.text(alphabet="0123456789-, –x", max_size=20), st.integers(1, 50))
def test_any_text_gives_pages_inside_or_an_option_error(spec: str, count: int) -> None:
    try:
        pages = parse_pages(spec, count)
    except OptionError:
        return
    assert pages
    assert len(set(pages)) == len(pages)
    assert all(1 <= page <= count for page in pages)
