"""Windows: every page is asked for, is kept once, and is asked for no more often than it takes."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, strategies

from uocr_nb.document.grammar import parse_answer
from uocr_nb.document.model import Status
from uocr_nb.reading.windows import AnswerLength, answer_room, pages_opened, plan_windows, split

OK, TRUNCATED, LOOPING, MISSING, EMPTY = (
    Status.OK,
    Status.TRUNCATED,
    Status.LOOPING,
    Status.MISSING,
    Status.EMPTY,
)


@given(
    images=strategies.lists(strategies.integers(1, 40_000), max_size=60),
    most=strategies.integers(1, 40),
    output=strategies.integers(1, 9_000),
    most_output=strategies.integers(1, 32_768),
    data=strategies.data(),
)
def test_every_page_is_in_one_window_and_each_window_fits(
    images: list[int], most: int, output: int, most_output: int, data: strategies.DataObject
) -> None:
    groups = data.draw(strategies.lists(strategies.integers(0, 2), min_size=len(images), max_size=len(images)))
    windows = plan_windows(images, groups=groups, most=most, output_tokens=output, max_tokens=most_output)
    assert [page for window in windows for page in window] == list(range(len(images)))
    for window in windows:
        assert 1 <= len(window) <= most
        assert len({groups[page] for page in window}) == 1
        tokens = [images[page] for page in window]
        if len(window) > 1:
            assert sum(tokens) + len(window) * output <= 32_768
            assert len(window) * output <= most_output
            assert len(window) * output <= answer_room(tokens, max_tokens=most_output)
    for one, other in pairwise(windows):
        both = range(one.start, other.stop)
        fits = len(both) <= most and len(both) * output <= most_output
        if groups[one.start] == groups[other.start] and fits and max(images) == min(images):
            assert 64 + sum(images[page] for page in both) + len(both) * output > 32_768, "one window would have done"


@pytest.mark.parametrize(
    ("pages", "options", "lengths"),
    [
        (0, {}, []),
        (1, {}, [1]),
        (8, {}, [8]),
        (9, {}, [5, 4]),
        (20, {}, [7, 7, 6]),
        (20, {"most": 40}, [10, 10]),
        (4, {"most": 1}, [1, 1, 1, 1]),
        (8, {"output_tokens": 3_000}, [4, 4]),
        (6, {"max_tokens": 1_000}, [1] * 6),
        (6, {"context": 4_096}, [2, 2, 2]),
    ],
)
def test_windows_are_few_and_even(pages: int, options: dict[str, int], lengths: list[int]) -> None:
    assert [len(window) for window in plan_windows(pages, **options)] == lengths


def test_pages_of_two_sources_share_no_window() -> None:
    assert plan_windows(5, groups=["a", "a", "b", "b", "a"]) == [range(2), range(2, 4), range(4, 5)]


def test_the_room_of_an_answer_keeps_to_the_context() -> None:
    assert answer_room([273] * 8) == 16_384
    assert answer_room([2_733] * 8) == 32_768 - 64 - 8 * 2_733
    assert answer_room([40_000]) == 1


def test_the_length_of_answers_is_learnt() -> None:
    length = AnswerLength()
    assert length.per_page == 1_500
    length.saw(8, None)
    assert length.per_page == 1_500
    for _ in range(20):
        length.saw(8, 8 * 3_000)
    assert 3_500 < length.per_page < 3_750
    assert len(plan_windows(8, output_tokens=length.per_page)) == 2


# -- asking again --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statuses", "opened", "stopped", "kept", "again"),
    [
        ([OK] * 4, 4, True, range(10, 14), ()),
        # Cut off by a limit: what was finished is kept, the rest asked for together.
        ([OK, OK, TRUNCATED, MISSING], 3, False, range(10, 12), (range(12, 14),)),
        ([OK, OK, OK, TRUNCATED], 4, False, range(10, 13), (range(13, 14),)),
        # The first page took all the room: it is asked for alone.
        (
            [TRUNCATED, MISSING, MISSING, MISSING],
            1,
            False,
            range(10, 10),
            (range(10, 11), range(11, 13), range(13, 14)),
        ),
        ([OK, LOOPING, MISSING, MISSING], 2, False, range(10, 11), (range(11, 12), range(12, 14))),
        ([OK, EMPTY, OK, OK], 4, True, range(10, 11), (range(11, 12), range(12, 14))),
        # Too few or too many pages: nobody can tell which is which.
        ([OK, OK, OK, MISSING], 3, True, range(10, 10), (range(10, 12), range(12, 14))),
        ([OK] * 4, 5, True, range(10, 10), (range(10, 12), range(12, 14))),
    ],
)
def test_what_is_kept_and_what_is_asked_again(
    statuses: list[Status], opened: int, stopped: bool, kept: range, again: tuple[range, ...]
) -> None:
    assert split(range(10, 14), statuses, opened=opened, stopped=stopped) == (kept, again)


def test_a_page_by_itself_is_kept_as_it_is() -> None:
    for status in Status:
        assert split(range(3, 4), [status], opened=0, stopped=False) == (range(3, 4), ())


@given(count=strategies.integers(1, 24), data=strategies.data())
def test_asking_again_ends_and_keeps_each_page_once(count: int, data: strategies.DataObject) -> None:
    todo, kept, requests, pages_asked = [range(count)], [], 0, 0
    while todo:
        window = todo.pop()
        requests += 1
        pages_asked += len(window)
        statuses = data.draw(
            strategies.lists(strategies.sampled_from(list(Status)), min_size=len(window), max_size=len(window))
        )
        opened = data.draw(strategies.integers(0, len(window) + 2))
        decision = split(window, statuses, opened=opened, stopped=data.draw(strategies.booleans()))
        parts = [*([decision.kept] if decision.kept else []), *decision.again]
        assert [page for part in parts for page in part] == list(window)
        assert all(decision.again) or not decision.again
        assert all(statuses[page - window.start] is OK for page in decision.kept) or len(window) == 1
        kept += decision.kept
        todo += decision.again
    assert sorted(kept) == list(range(count))
    assert requests <= 2 * count - 1


def test_an_engine_that_never_does_several_pages_costs_little_more_than_twice_the_requests() -> None:
    todo, requests, pages_asked = [range(8)], 0, 0
    while todo:
        window = todo.pop()
        requests, pages_asked = requests + 1, pages_asked + len(window)
        todo += split(window, [TRUNCATED] + [MISSING] * (len(window) - 1), opened=1, stopped=False).again
    assert requests <= 15
    assert pages_asked <= 8 * 4


def test_marks_with_nothing_behind_are_no_pages() -> None:
    page = "<PAGE>\n<|det|>text [1, 1, 9, 9]<|/det|>words\n"
    assert pages_opened(parse_answer(page * 2 + "<PAGE>\n<PAGE>\n"), 2) == 2
    assert pages_opened(parse_answer(page * 3), 2) == 3
    assert pages_opened(parse_answer(page + "<PAGE>\n"), 2) == 2, "the second page is empty, and in its place"
    assert pages_opened(parse_answer(page), 2) == 1


def test_of_an_answer_that_goes_on_no_half_mark_is_shown() -> None:
    from pace import ANSWER

    from uocr_nb.reading.asking import _unfinished

    answer = ANSWER.format(n=1)
    for end in range(len(answer) + 1):
        blocks = _unfinished(answer[:end])[0].blocks
        assert not [block for block in blocks if "<|" in block.text or block.text.endswith(("<", "<t", "</t"))], end
    assert blocks[2].text.endswith("</table>")
