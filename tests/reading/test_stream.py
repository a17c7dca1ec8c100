"""The stream of an answer, cut anywhere, and what is no answer."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uocr_nb.reading.stream import AnswerStream, StreamError

texts = st.text(st.characters(exclude_categories=()), max_size=12) | st.sampled_from(
    ["\u2028", "\ud83d", "\r\n", "data:", "漢字🎈"]
)


def event(text: str, *, escaped: bool, **more: Any) -> bytes:
    told = json.dumps({"choices": [{"delta": {"content": text}, **more}]}, ensure_ascii=escaped)
    return b"data: " + told.encode("utf-8", "surrogatepass") + b"\n\n"


@given(st.lists(texts, max_size=8), st.booleans(), st.lists(st.integers(0, 2000), max_size=12), st.booleans())
def test_however_it_is_cut_the_text_is_the_same(pieces: list[str], escaped: bool, cuts: list[int], ends: bool) -> None:
    # Half of a surrogate pair can only be sent as an escape.
    lone = any(0xD800 <= ord(sign) < 0xE000 for piece in pieces for sign in piece)
    data = b": comment\n\n" + b"".join(event(piece, escaped=escaped or lone) for piece in pieces)
    data += event("", escaped=True, finish_reason="stop")
    data += b'data: {"choices": [], "usage": {"completion_tokens": 7}}\n\n' + b"data: [DONE]" + b"\n\n" * ends
    at = sorted({0, *(cut % len(data) for cut in cuts), len(data)})
    stream = AnswerStream()
    told = "".join(stream.feed(data[start:stop]) for start, stop in itertools.pairwise(at)) + stream.finish()
    assert told == "".join(stream.parts) == "".join(pieces)
    assert stream.pieces == sum(map(bool, pieces))
    assert (stream.finish_reason, stream.usage, stream.ended) == ("stop", {"completion_tokens": 7}, True)


def test_a_server_that_fails_in_the_middle_says_why() -> None:
    with pytest.raises(StreamError, match="out of memory"):
        AnswerStream().feed(b'data: {"error": {"message": "CUDA out of memory"}}\n\n')


def test_a_line_without_end_is_cut_off_and_costs_no_more_than_its_length() -> None:
    stream = AnswerStream()

    def flood() -> None:
        for _ in range(10_000):
            stream.feed(b"data: " + b"x" * 4096)

    with pytest.raises(StreamError, match="no end"):
        flood()


@pytest.mark.parametrize(
    "data", [b"data: {nothing\n", b'data: ["choices"]\n', b'data: {"choices": [3]}\n', b"data: \xff\n"]
)
def test_what_is_no_event_is_refused(data: bytes) -> None:
    with pytest.raises((ValueError, TypeError, AttributeError)):
        AnswerStream().feed(data)
