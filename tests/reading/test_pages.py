"""From one answer to as many pages as there are page images."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uocr_nb.document.grammar import parse_answer
from uocr_nb.document.model import Page, Status
from uocr_nb.reading.client import Answer
from uocr_nb.reading.pages import pages_from_answer
from uocr_nb.sources import PageImage, RenderSpec, resolve

SENTENCE = "This sentence is long enough to show that two pages cannot hold it in the same place by chance. "


def body(word: str) -> str:
    return f"<|det|>title [10, 20, 300, 40]<|/det|>{word}\n<|det|>text [10, 50, 900, 400]<|/det|>{SENTENCE * 3}{word}\n"


def images(count: int, *, blank: tuple[int, ...] = (), same: bool = False) -> list[PageImage]:
    (source,) = resolve([b"\x89PNG\r\n\x1a\nnever opened"])
    return [
        PageImage(
            source, n, (600, 800), None, "same" if same else f"{n:x}", Path(f"{n}.png"), "image/png", blank=n in blank
        )
        for n in range(1, count + 1)
    ]


def read(
    text: str,
    count: int,
    finish: str | None = "stop",
    *,
    blank: tuple[int, ...] = (),
    same: bool = False,
    tokens: int | None = 100,
    scores: tuple[tuple[str, float], ...] = (),
) -> list[Page]:
    answer = Answer(text, finish, None, tokens, 1.5, scores)
    shown = images(count, blank=blank, same=same)
    return pages_from_answer(range(4, 4 + count), shown, RenderSpec(), answer, max_tokens=8192)


def test_each_page_of_a_window_has_its_own_part() -> None:
    text = f"<PAGE>{body('one')}<PAGE>\n{body('two')}<PAGE>{body('three')}"
    pages = read(text, 3)
    assert [(page.position, page.number, page.status) for page in pages] == [(n + 3, n, Status.OK) for n in (1, 2, 3)]
    assert [page.blocks[0].text for page in pages] == ["one", "two", "three"]
    assert "".join(page.raw for page in pages) == text
    assert sum(page.tokens or 0 for page in pages) == 100
    assert all(page.seconds == 1.5 and not page.warnings for page in pages)


def test_the_first_page_mark_may_be_missing() -> None:
    assert [page.blocks[0].text for page in read(f"{body('one')}<PAGE>{body('two')}", 2)] == ["one", "two"]


def test_empty_pages_between_keep_their_place() -> None:
    pages = read(f"<PAGE>{body('one')}<PAGE>\n<PAGE>\n<PAGE>{body('four')}", 4, blank=(2,))
    assert [page.status for page in pages] == [Status.OK, Status.OK, Status.EMPTY, Status.OK]
    assert pages[1].warnings == ("The page is blank.",)
    assert pages[3].blocks[0].text == "four"


@pytest.mark.parametrize(
    ("finish", "reason"),
    [
        ("stop", "The answer does not speak of this page: it holds 1 for 3 page images."),
        ("length", "The answer stopped at 8,192 tokens before it came to this page."),
        ("cut", "The connection ended before the answer came to this page."),
        ("loop", "The answer began to repeat itself before it came to this page."),
    ],
)
def test_pages_the_answer_does_not_come_to_are_missing(finish: str, reason: str) -> None:
    pages = read(f"<PAGE>{body('one')}", 3, finish)
    assert [page.status for page in pages[1:]] == [Status.MISSING] * 2
    assert {page.reason for page in pages[1:]} == {reason}
    assert (pages[0].status is Status.OK) == (finish == "stop")
    assert "1 page for 3 page images" in pages[0].warnings[0]
    assert pages[2].raw == ""


def test_more_pages_than_images() -> None:
    pages = read(f"<PAGE>{body('one')}<PAGE>{body('two')}<PAGE>{body('three')}", 2)
    assert [page.blocks[0].text for page in pages] == ["one", "two"]
    assert all("what is beyond page 2 is left out" in page.warnings[0] for page in pages)
    assert "1 page mark too many" in read(f"<PAGE>{body('one')}<PAGE>{body('two')}<PAGE>\n", 2)[0].warnings[0]
    (joined,) = read(f"<PAGE>{body('one')}<PAGE>{body('two')}", 1)
    assert len(joined.blocks) == 4
    assert "put on one page" in joined.warnings[0]


def test_the_number_that_a_page_prints_is_not_its_place() -> None:
    number = "<|det|>page_number [480, 950, 520, 970]<|/det|>"
    pages = read(f"<PAGE>{body('a')}{number}12\n<PAGE>{body('b')}{number}11", 2)
    assert [(page.number, page.blocks[-1].text) for page in pages] == [(1, "12"), (2, "11")]


def test_the_same_page_twice_is_a_loop_unless_the_picture_is_the_same() -> None:
    text = f"<PAGE>{body('same')}<PAGE>{body('same')}"
    assert [page.status for page in read(text, 2)] == [Status.OK, Status.LOOPING]
    assert [page.status for page in read(text, 2, same=True)] == [Status.OK, Status.OK]
    assert "the page before once more" in read(text, 2)[1].reason


def test_only_the_last_page_is_cut() -> None:
    pages = read(f"<PAGE>{body('one')}<PAGE>{body('two')}", 2, "length")
    assert [page.status for page in pages] == [Status.OK, Status.TRUNCATED]
    assert [page.finish_reason for page in pages] == ["stop", "length"]


def test_scores_go_to_their_own_page() -> None:
    text = f"<PAGE>{body('one')}<PAGE>{body('two')}"
    scores = [(text[at : at + 7], 0.9) for at in range(0, len(text), 7)]
    doubtful = text.rindex("two") // 7
    scores[doubtful] = (scores[doubtful][0], 0.2)
    pages = read(text, 2, scores=tuple(scores))
    assert [[block.confidence for block in page.blocks] for page in pages] == [[0.9, 0.9], [0.9, 0.2]]


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sampled_from(["<PAGE>", "<PAGE>\n", "\n", "<|det|>text [1, 2, 3, 4]<|/det|>a\n", "word"]), max_size=9),
    st.integers(1, 6),
    st.sampled_from(["stop", "length", "loop", "cut", None, "abort"]),
)
def test_n_images_in_n_pages_out(pieces: list[str], count: int, finish: str | None) -> None:
    text = "".join(pieces)
    pages = read(text, count, finish)
    assert [page.number for page in pages] == list(range(1, count + 1))
    assert sum(page.tokens or 0 for page in pages) == 100
    assert all(page.reason for page in pages if page.status is not Status.OK)
    assert "".join(page.raw for page in pages) == text[: sum(len(page.raw) for page in pages)]
    if finish not in ("stop", None) and len(parse_answer(text)) <= count:
        assert any(page.status is not Status.OK for page in pages)
    (one,) = pages_from_answer([1], images(1), RenderSpec(), Answer(text, finish, None, 100, 1.5), max_tokens=None)
    assert one.status is not Status.OK or finish in ("stop", None)
