"""Whatever the text and however it is split: the same pages, and never an exception."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from uocr_nb.document.grammar import (
    AnswerParser,
    BlockClosed,
    BlockOpened,
    PageOpened,
    Restarted,
    TextGrown,
    parse_answer,
    write_answer,
    write_block,
)
from uocr_nb.document.halves import UNSOUND
from uocr_nb.document.heads import known_label
from uocr_nb.document.model import Block

PIECES = st.sampled_from(
    [
        *(
            "<|det|>",
            "<|/det|>",
            "<|ref|>",
            "<|/ref|>",
            "<PAGE>",
            "<PAGE>\n",
            "<｜end▁of▁sentence｜>",
            "<|end_of_sentence|>",
        ),
        *("text", "title", "table_", "list", "Unknown-9", "[1, 2, 3, 4]", "[[1,2,3,4],[5,6,7,8]]", "[- 325, s 331, 5]"),
        *(
            "[0.1, 0.2, 0.3, 0.4]",
            "[9999999, -5, 3, 4]",
            "[1, 2, 3",
            "[",
            "]",
            "<",
            "<|",
            "<|d",
            "<PA",
            "|>",
            "\n",
            " ",
            "\n\n",
        ),
        *(
            "\ud800",
            "\udfff",
            "Ġ",
            "Ċ",
            "ĠĠĠ",
            "ä½ł",
            "[Non-Text]",
            "(no text)",
            "<table><tr><td>",
            "</table>",
            "\\[",
            "\\]",
            "\u200b",
        ),
        *(
            "text [1, 2, 3, 4]",
            "\ntext [10, 20, 30, 40]Hi",
            "\nimage [1, 2, 3, 4]\n",
            "<|det|>text [1, 2, 3, 4]<|/det|>",
            "price $5",
        ),
        *(
            "<|ref|>title<|/ref|><|det|>[[1, 2, 3, 4]]<|/det|>",
            "<|det|>text [5, 6, 1, 2]<|/det|>word",
            "a" * 140,
            "x" * 5000,
        ),
        *("\r\n", "\r", "\x00", "\x1b[3", "\ufeff", "\u200f", "\u2028", "```", "```json\n", "\n```\n", "[Unreadable]"),
        *("<|im_end|>", "<|User|>:", "</s>", "![](images/0.jpg)\n", "</PAGE>", "<|det|><|det|>", "<|/det|><|/det|>"),
        *(
            "Page Number [1, 2, 3, 4]",
            "text (1, 2, 3, 4)",
            "text ［１，２，３，４］",
            "[1 2 3 4]",
            "[1, 2, 3, 4, 5]",
            "TheĠend",
        ),
        *("<ï½ľendâĸģofâĸģsentenceï½ľ>", "<|ref|>Some words<|/ref|>", "et|>text [1, 2, 3, 4]<|/det|>"),
    ]
)
ANSWERS = st.lists(st.one_of(PIECES, st.text(max_size=8)), max_size=30).map("".join)
CUTS = st.lists(st.integers(1, 40), min_size=1, max_size=40)


def chunks(text: str, sizes: list[int]) -> list[str]:
    out, at, n = [], 0, 0
    while at < len(text):
        size = sizes[n % len(sizes)]
        out.append(text[at : at + size])
        at, n = at + size, n + 1
    return out


def replay(events: list[object]) -> list[list[Block]]:
    """The blocks that a listener holds at the end."""
    pages: list[list[Block]] = []
    grown: dict[tuple[int, int], str] = {}
    for event in events:
        match event:
            case Restarted():
                pages, grown = [], {}
            case PageOpened(page):
                assert page == len(pages)
                pages.append([])
            case BlockOpened(page, block):
                assert page == len(pages) - 1
                assert block == len(pages[-1])
                grown[page, block] = ""
            case TextGrown(page, block, text):
                assert text
                grown[page, block] += text
            case BlockClosed(page, block, value):
                assert block == len(pages[page])
                pages[page].append(value)
                assert len(grown[page, block]) >= len(value.text.replace("\n", "").strip("\u200b")) - 1
    return pages


@settings(max_examples=400, deadline=None)
@given(ANSWERS, CUTS)
def test_every_split_gives_the_same_pages(text: str, sizes: list[int]) -> None:
    whole = parse_answer(text)
    assert whole
    parser = AnswerParser()
    events: list[object] = []
    for chunk in chunks(text, sizes):
        events += parser.feed(chunk)
        parser.pages  # noqa: B018 - a snapshot in the middle must not disturb
    assert parser.finish() == whole
    events += parser.rest()
    assert parser.finish() == whole
    heard = replay(events)
    for number, page in enumerate(whole):
        if page.dialect != "plain" and page.blocks:
            assert tuple(heard[number]) == page.blocks


@settings(max_examples=200, deadline=None)
@given(ANSWERS)
def test_one_character_at_a_time(text: str) -> None:
    parser = AnswerParser(events=False)
    for character in text:
        parser.feed(character)
    assert parser.finish() == parse_answer(text)


@settings(max_examples=150, deadline=None)
@given(ANSWERS)
def test_boxes_are_sound_and_warnings_are_sentences(text: str) -> None:
    for page in parse_answer(text):
        assert page.complete == (not page.open)
        for block in page.blocks:
            assert block.label
            assert block.text == block.text.strip()
            if block.box:
                x1, y1, x2, y2 = block.box
                assert 0 <= x1 <= x2 <= 999
                assert 0 <= y1 <= y2 <= 999
            assert not UNSOUND.search(block.label + block.text)
        assert not UNSOUND.search(page.preamble)
        for warning in page.warnings:
            assert not UNSOUND.search(warning)
            assert warning[-1] in '.)"'
            assert "{" not in warning.split('"')[0]


@settings(max_examples=150, deadline=None)
@given(ANSWERS)
def test_pages_begin_at_their_marks(text: str) -> None:
    first, *others = [page.start for page in parse_answer(text)]
    assert first == 0
    assert others == sorted(set(others))
    assert all(text.startswith("<PAGE>", start) for start in others)


NUMBERS = st.integers(0, 999)
BOXES = st.tuples(NUMBERS, NUMBERS, NUMBERS, NUMBERS).map(
    lambda b: (min(b[0], b[2]), min(b[1], b[3]), max(b[0], b[2]), max(b[1], b[3]))
)
LABELS = st.one_of(
    st.sampled_from(["text", "title", "table", "page_number"]),
    st.from_regex(r"[a-z_][a-z0-9_-]{0,20}", fullmatch=True).filter(lambda label: known_label(label) in (None, label)),
)
MENDED = re.compile(
    r"\[non-text\]|\(no text\)|\[unreadable\]|<\|im_end\|>|<\|User\|>:?|</s>|[\r\u0100-\u0143]", re.IGNORECASE
)
"""What the reader takes out of a text, or takes for byte-level text."""
NO_MARK = ANSWERS.map(lambda text: MENDED.sub("", UNSOUND.sub("", text)).strip())
BLOCKS = st.builds(Block, LABELS, NO_MARK, BOXES)


@settings(max_examples=200, deadline=None)
@given(st.lists(BLOCKS, min_size=1, max_size=6))
def test_what_is_written_is_read_back(blocks: list[Block]) -> None:
    (page,) = parse_answer(write_answer([blocks], multi=False))
    assert page.blocks == tuple(blocks)
    assert page.preamble == ""
    assert page.open != "tag"
    assert parse_answer(write_block(blocks[0]))[0].blocks == (blocks[0],)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.lists(BLOCKS, max_size=3), min_size=1, max_size=5))
def test_pages_that_are_written_are_read_back(pages: list[list[Block]]) -> None:
    parsed = parse_answer(write_answer(pages, multi=True))
    assert [list(page.blocks) for page in parsed] == pages
