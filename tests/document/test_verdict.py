"""The honest word on a page."""

from __future__ import annotations

import random

import pytest

from uocr_nb.document.grammar import parse_answer
from uocr_nb.document.model import Status
from uocr_nb.document.verdict import LoopWatch, Verdict, judge

TAG = "<|det|>text [10, 20, 300, 40]<|/det|>"
TABLE = "<|det|>table [1, 1, 998, 998]<|/det|><table>"


def verdict(raw: str, finish: str | None = "stop", limit: int | None = None, *, blank: bool = False) -> Verdict:
    return judge(parse_answer(raw)[0], raw=raw, finish_reason=finish, max_tokens=limit, blank=blank)


def test_a_good_page_is_ok() -> None:
    found = verdict(TAG + "Hello")
    assert (found.status, found.reason, found.warnings, found.keep) == (Status.OK, "", (), None)
    assert found.blocks[0].text == "Hello"


@pytest.mark.parametrize(
    ("raw", "finish", "limit", "reason"),
    [
        (TAG + "a\n" + TAG + "b", "length", 4096, "The answer stopped at 4,096 tokens, inside block 2."),
        (TAG + "a", "length", None, "The answer stopped at its token limit, inside block 1."),
        (TAG + "a\n<|det|>text [1, 2", "length", 9, "The answer stopped at 9 tokens, after block 1."),
        ("<|det|>text [1, 2", "length", 9, "The answer stopped at 9 tokens, before the first block."),
        (TAG + "a\n<|det|>te", None, None, "The answer ends in the middle of a tag, after block 1."),
        (TAG + "a\n<|", "stop", None, "The answer ends in the middle of a tag, after block 1."),
        (TABLE + "<tr><td>a</td>", "stop", None, "The answer ends in the middle of a table, inside block 1."),
        ("<|det|>equation [1, 1, 9, 9]<|/det|>\\[\nx", None, None, "The answer ends in a formula, inside block 1."),
    ],
)
def test_truncated(raw: str, finish: str | None, limit: int | None, reason: str) -> None:
    found = verdict(raw, finish, limit)
    assert found.status is Status.TRUNCATED
    rest = "" if "before the first block" in reason else " Nothing below that block is read."
    assert found.reason == reason + rest


def test_a_lone_formula_opener_on_a_finished_page_is_text() -> None:
    assert verdict(TAG + "LaTeX opens a formula with \\[ and text goes on", "stop").status is Status.OK


@pytest.mark.timeout(60)
def test_blocks_that_come_again_in_the_same_place() -> None:
    found = verdict(TAG + "Head\n" + "<|det|>text [10,100,990,130]<|/det|> Same line again\n" * 4000, "length", 8192)
    assert found.status is Status.LOOPING
    assert (
        found.reason
        == 'The same block repeats from block 3 on, 3,999 times ("Same line again"). Cut there; 2 blocks kept.'
    )
    assert found.keep == 2
    assert [block.text for block in found.blocks] == ["Head", "Same line again"]


def test_blocks_that_alternate_in_the_same_places_even_when_the_answer_stopped() -> None:
    found = verdict((TAG + "a\n<|det|>text [10, 50, 300, 90]<|/det|>b\n") * 6, "stop")
    assert found.reason == "The same 2 blocks repeat from block 3 on, 5 times. Cut there; 2 blocks kept."


def test_blocks_that_slide_off_the_page() -> None:
    raw = "".join(f"<|det|>text [10, {min(20 * n, 1100)}, 300, {20 * n + 18}]<|/det|>again\n" for n in range(1, 90))
    assert verdict(raw, "length").status is Status.LOOPING


@pytest.mark.parametrize("finish", ["stop", None])
@pytest.mark.parametrize(
    "raw",
    [
        TAG + "\n".join(map(str, range(1, 366))),
        TAG + " ".join(f"{n}." for n in range(1, 366)),
        TABLE + "<tr><td></td><td></td><td></td><td></td><td></td></tr>" * 200 + "</table>",
        TABLE + "<tr><td>Name</td><td>____</td><td>Date</td><td>____</td></tr>" * 60 + "</table>",
        TABLE
        + "".join(f"<tr><td>{h:02}:{m:02}</td><td>Bus</td><td>A</td></tr>" for h in range(24) for m in (0, 20, 40))
        + "</table>",
        "\n".join(f"<|det|>text [10, {20 * n}, 990, {20 * n + 18}]<|/det|>Name: ____ Date: ____" for n in range(48)),
        "\n".join(f"<|det|>image [{100 * n}, 20, {100 * n + 90}, 90]<|/det|>" for n in range(9)) + "\n" + TAG + "x",
        TABLE + ("<tr>" + "<td>P</td>" * 31 + "</tr>") * 30 + "</table>",
        TAG + "Name and place: " + "." * 2_900,
        "".join(f"<|det|>text [{n}, 20, {n + 90}, 90]<|/det|>Field {n}\n" for n in (*range(20), *range(5), 30, 31)),
    ],
)
def test_true_repeats_are_no_loop(raw: str, finish: str | None) -> None:
    assert verdict(raw, finish).status is Status.OK


def test_a_page_of_the_days_of_a_year_that_was_cut_is_truncated() -> None:
    assert verdict(TAG + "\n".join(map(str, range(1, 366))), "length").status is Status.TRUNCATED


def test_equal_lines_in_places_of_their_own_are_no_loop_until_they_are_a_hundred() -> None:
    lines = [f"<|det|>text [10, {9 * n}, 90, {9 * n + 4}]<|/det|>Yes\n" for n in range(105)]
    assert verdict("".join(lines[:90]), "length").status is Status.TRUNCATED
    assert verdict("".join(lines), "length").status is Status.LOOPING
    assert verdict("".join(lines), "stop").status is Status.OK


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<tr><td>a</td><td>b</td></tr>" * 200, "The same row repeats in block 1, "),
        ("<tr><td>B</td>" + "<td>B</td>" * 802, "The same text repeats in block 1, "),
        (
            "".join(f"<tr><td>{n}</td><td>{n + 1}</td></tr>" for n in range(900)),
            "Block 1 does nothing but count at its end.",
        ),
        ("".join(random.Random(4).choices(")). \n", k=2000)), "Block 1 ends in a run of marks"),
    ],
)
def test_loops_inside_an_unfinished_table(text: str, reason: str) -> None:
    found = verdict(TABLE + "<tr><td>Kept</td></tr>" + text, "length")
    assert found.status is Status.LOOPING
    assert found.reason.startswith(reason)
    assert "Kept" in found.blocks[0].text or "count" in reason
    assert found.keep == 1


def test_a_loop_inside_a_block_is_cut_even_when_the_answer_stopped() -> None:
    found = verdict(TAG + "Begin. " + "the same words " * 1000 + "\n" + TAG + "after", "stop")
    assert found.status is Status.LOOPING
    assert found.blocks[-1].text == "Begin. the same words"


def test_empty_pages() -> None:
    assert verdict("").reason == "The answer is empty."
    assert verdict("<PAGE>\n").reason == 'The answer holds no block and no text, only "<PAGE>".'
    assert verdict(TAG + "[Non-Text]").reason == "The answer holds boxes but no text."
    blank = verdict("", blank=True)
    assert (blank.status, blank.warnings) == (Status.OK, ("The page is blank.",))
    assert "made up" in verdict(TAG + "Invented", blank=True).warnings[0]
    assert verdict("<|det|>image [1, 1, 9, 9]<|/det|>").status is Status.OK


def test_text_without_any_box_is_unboxed() -> None:
    assert verdict("Just words").status is Status.UNBOXED


def test_a_stripped_answer_is_ok_and_names_the_flag() -> None:
    found = verdict("text [10,20,300,40] Hello\ntitle [1, 2, 3, 4]Head")
    assert found.status is Status.OK
    assert "skip_special_tokens: false" in found.warnings[0]
    assert len(found.blocks) == 2


def test_a_remark_over_the_whole_page_is_doubted() -> None:
    found = verdict("<|det|>text [0, 0, 999, 999]<|/det|>The image contains no text.")
    assert found.status is Status.OK
    assert "remark" in found.warnings[0]
    assert verdict("<|det|>text [0, 0, 999, 999]<|/det|>" + "The whole page as one text. " * 20).warnings == ()


def first_alarm(text: str, size: int = 7) -> int | None:
    loops = LoopWatch()
    return next((at for at in range(0, len(text), size) if loops.feed(text[at : at + size])), None)


def test_the_watch_cuts_loops_early() -> None:
    assert (first_alarm(TAG + "the same words " * 1000) or 10**9) < 11_000
    assert (first_alarm((TAG + "Example Bank\n") * 100) or 10**9) < 3_000
    assert (first_alarm(TABLE + "<tr><td></td><td></td></tr>" * 1000) or 10**9) < 20_000
    assert (first_alarm("\n".join(map(str, range(9000)))) or 10**9) < 20_000


def test_the_watch_lets_honest_pages_pass() -> None:
    dice = random.Random(1)
    page = "".join(
        f"<|det|>text [{dice.randrange(99)}, {n}, 220, {n + 3}]<|/det|>Bank {dice.random()}\n" for n in range(999)
    )
    assert first_alarm(page) is None
    assert first_alarm("\n".join(map(str, range(1, 366)))) is None
    assert first_alarm(TABLE + "<tr><td></td><td></td><td></td><td></td><td></td></tr>" * 200 + "</table>") is None
    assert (
        first_alarm("\n".join(f"<|det|>text [10, {20 * n}, 990, {20 * n + 18}]<|/det|>Name: __" for n in range(48)))
        is None
    )
