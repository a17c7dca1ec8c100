"""Scores of pieces become the confidence of blocks: the least sure word, and no mark."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from uocr_nb.document.confidence import with_confidence
from uocr_nb.document.grammar import parse_answer
from uocr_nb.reading.scores import scored
from uocr_nb.reading.stream import AnswerStream

TAG = "<|det|>text [1, 1, 500, 100]<|/det|>"
TABLE = "<|det|>table [1, 200, 500, 300]<|/det|>"


def entry(token: str, probability: float) -> dict[str, Any]:
    return {"token": token, "logprob": math.log(probability), "bytes": None}


def confidences(*pieces: tuple[str, float]) -> list[float | None]:
    text = "".join(piece for piece, _ in pieces)
    (page,) = with_confidence(parse_answer(text), text, pieces)
    return [block.confidence for block in page.blocks]


@pytest.mark.parametrize(
    ("pieces", "found"),
    [
        ([(TAG, 0.1), ("Hello", 0.9), (" wor", 0.7), ("ld", 0.8)], [0.7]),
        ([(TAG, 1.0), ("“", 0.2), ("Hello", 0.9), ("”", 0.3), ("\n", 0.1)], [0.9]),
        ([(TAG, 1.0), ("***", 0.4)], [0.4]),
        (
            [(TAG, 1.0), ("a", 0.9), ("\n" + TABLE, 0.1), ("<table><tr><td>", 0.2), ("7", 0.6), ("</td>", 0.3)],
            [0.9, 0.6],
        ),
        ([(TAG + "Two words", 0.5), (" more", 0.9)], [0.5]),
        ([(TAG, 1.0), ("", 0.1), ("a", 0.9)], [0.9]),
        ([(TAG, 1.0)], [None]),
    ],
)
def test_the_least_sure_word_counts(pieces: list[tuple[str, float]], found: list[float]) -> None:
    assert confidences(*pieces) == found


def test_without_scores_there_is_no_confidence() -> None:
    pages = parse_answer(TAG + "Hello")
    assert with_confidence(pages, TAG + "Hello", ()) == pages
    assert with_confidence(pages, TAG + "Hello", [("other", 0.5)]) == pages


def test_tokens_that_end_inside_a_character_still_score_it() -> None:
    assert scored("漢", [entry("\ufffd", 0.9), entry("\ufffd", 0.5)]) == [("漢", pytest.approx(0.5))]
    assert scored("ab", [entry("a", 1.0), entry("b", 0.5)]) == [("a", 1.0), ("b", pytest.approx(0.5))]
    assert scored("", [entry("\ufffd", 0.5)]) == [("", pytest.approx(0.5))]
    assert scored("a", []) == []


def test_a_page_of_characters_of_several_tokens_has_confidence() -> None:
    told = [(TAG, TAG, 1.0), ("\ufffd", "", 0.9), ("\ufffd", "漢", 0.6), ("字", "字", 0.8), ("\ufffd", "\ufffd", 0.7)]
    stream = AnswerStream()
    for token, text, probability in told:
        choice = {"delta": {"content": text}, "logprobs": {"content": [entry(token, probability)]}}
        stream.feed(b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n")
    answer = "".join(stream.parts)
    (page,) = with_confidence(parse_answer(answer), answer, stream.scores)
    assert [block.confidence for block in page.blocks] == [0.6]
