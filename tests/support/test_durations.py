from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uocr_nb.errors import OptionError
from uocr_nb.support.durations import parse_duration, show_clock, show_seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("30m", 1800),
        ("1.5h", 5400),
        ("1h30m", 5400),
        ("1d", 86400),
        (" 1H 5M ", 3900),
        ("0", 0),
        ("0s", 0),
    ],
)
def test_durations_are_read(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "30", "m", "1x", "1h30", "-5m", "30m1h", "1m1m", "1,5h", "inf s"])
def test_other_words_are_refused_with_an_example(text: str) -> None:
    with pytest.raises(OptionError) as caught:
        parse_duration(text)
    assert "1h30m" in caught.value.next


@given(st.integers(0, 9), st.integers(0, 23), st.integers(0, 59), st.integers(1, 59))
def test_any_sum_of_parts_is_read(days: int, hours: int, minutes: int, seconds: float) -> None:
    text = f"{days}d{hours}h{minutes}m{seconds}s"
    assert parse_duration(text) == ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def test_clocks_and_spans() -> None:
    assert [show_clock(value) for value in (0, 272, 1330, 3723)] == ["0:00", "4:32", "22:10", "1:02:03"]
    spans = [show_seconds(value) for value in (0, 3.1, 3.96, 9.97, 48.2, 119.6, 840, 3590, 3900, 7200)]
    assert spans == ["0 s", "3.1 s", "4 s", "10 s", "48 s", "2 min", "14 min", "1 h", "1 h 5 min", "2 h"]
