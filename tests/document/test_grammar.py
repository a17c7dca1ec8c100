"""Each kind of answer that engines give, one by one."""

from __future__ import annotations

import pytest

from uocr_nb.document.grammar import (
    AnswerParser,
    BlockClosed,
    BlockOpened,
    PageOpened,
    ParsedPage,
    Restarted,
    TextGrown,
    parse_answer,
    strip_special,
    write_answer,
    write_block,
)
from uocr_nb.document.model import Block, Box

TAG = "<|det|>text [1, 2, 3, 4]<|/det|>"


def one(text: str) -> ParsedPage:
    (page,) = parse_answer(text)
    return page


def shown(text: str) -> list[tuple[str, str, Box | None]]:
    return [(block.label, block.text, block.box) for block in one(text).blocks]


def test_two_blocks() -> None:
    page = one("<|det|>title [10, 20, 300, 40]<|/det|>Head\nline two\n<|det|>text [10, 50, 999, 60]<|/det|>Body\n")
    assert page.blocks == (
        Block("title", "Head\nline two", (10, 20, 300, 40)),
        Block("text", "Body", (10, 50, 999, 60)),
    )
    assert page == ParsedPage(page.blocks)


@pytest.mark.parametrize(
    ("written", "box", "warning"),
    [
        ("[117, - 325, 500, 392]", (117, 325, 500, 392), "1 box held stray characters; its four numbers are kept"),
        ("[550, s 331, 652, 345]", (550, 331, 652, 345), "1 box held stray characters"),
        ("[0.1, 0.1, 0.9, 0.2]", (100, 100, 899, 200), "1 box was in fractions of the page"),
        ("[100.4, 99.6, 900, 200]", (100, 100, 900, 200), "1 box had decimals and is rounded"),
        ("[900,200,100,100]", (100, 100, 900, 200), "1 box had its corners swapped"),
        ("[900, 200, 100, 100]", (100, 100, 900, 200), "1 box had its corners swapped"),
        ("[-5,10,1200,40]", (0, 10, 999, 40), "1 box was out of range and is clamped"),
        ("[10,10,10,10]", (10, 10, 10, 10), ""),
        ("[[1, 2, 3, 4]]", (1, 2, 3, 4), ""),
        ("[[1, 2, 3, 4], [1, 2, 3, 4]]", (1, 2, 3, 4), ""),
        ("[[1, 2, 3, 4], [5, 6, 70, 80]]", (1, 2, 70, 80), "1 tag holds several boxes"),
        ("[0, 0, 999]", None, "1 box cannot be read"),
        ('[__import__("os").system("touch pwned")]', None, "1 box cannot be read"),
        ("[9**9**9**9, 1, 2, 3]", None, "1 box cannot be read"),
        ("[" + "9" * 4000 + ", 1, 2, 3]", (2, 1, 999, 3), "1 box was out of range"),
        ("", None, "1 block came without a box"),
    ],
)
def test_boxes(written: str, box: Box | None, warning: str) -> None:
    page = one(f"<|det|>text {written}<|/det|> kept")
    assert page.blocks == (Block("text", "kept", box),)
    assert any(said.startswith(warning) for said in page.warnings) if warning else not page.warnings
    if warning:
        assert page.warnings[0].endswith("(block 1).")


def test_warnings_are_folded() -> None:
    page = one("\n".join(f"<|det|>text [{n}, 2, 1{n:03}, 4]<|/det|>{n}" for n in range(12)))
    assert page.warnings == ("12 boxes were out of range and are clamped (blocks 1, 2, 3, 4, 5, 6, 7, 8, ...).",)


def test_labels_are_an_open_set_but_not_any_text() -> None:
    assert shown("<|det|>stamp_2 [1, 2, 3, 4]<|/det|>a")[0][0] == "stamp_2"
    assert shown("<|det|><img src=x onerror=1> [1, 2, 3, 4]<|/det|>a") == [("text", "a", (1, 2, 3, 4))]
    assert shown("<|det|>[1, 2, 3, 4]<|/det|>a") == [("text", "a", (1, 2, 3, 4))]


def test_reference_form() -> None:
    text = (
        "<|ref|>title<|/ref|><|det|>[[1, 2, 3, 4]]<|/det|>\n# Head\n\n<|ref|>image<|/ref|><|det|>[[5, 6, 7, 8]]<|/det|>"
    )
    assert shown(text) == [("title", "# Head", (1, 2, 3, 4)), ("image", "", (5, 6, 7, 8))]


def test_missing_closing_tag() -> None:
    assert shown(f"<|det|>title [1, 2, 3, 4] Head\n{TAG}a") == [
        ("title", "Head", (1, 2, 3, 4)),
        ("text", "a", (1, 2, 3, 4)),
    ]
    assert shown(f"<|det|>table_[<img></td></tr>\n{TAG}a")[0] == ("table", "<img></td></tr>", None)


def test_missing_opening_tag() -> None:
    assert shown(f"[0, 0, 999]<|/det|>First\n{TAG}a")[0] == ("text", "First", None)
    assert shown(f"{TAG}a\ntitle [5, 6, 7, 8]<|/det|>b") == [("text", "a", (1, 2, 3, 4)), ("title", "b", (5, 6, 7, 8))]


@pytest.mark.parametrize(
    "text",
    [
        "The token <|det|> opens a box and <|/det|> closes it",
        "a <PAGE> in a line",
        "first\n<PAGE> opens every page",
        "<|ref|> and <|/ref|>",
        "line_type {a: [1,",
        "[31] W. Wang",
        "<image> is not an end",
        "x < y",
        "a [b](c) <b>",
    ],
)
def test_page_text_that_looks_like_marks_stays_text(text: str) -> None:
    assert shown(f"{TAG}{text}\n<|det|>title [5, 6, 7, 8]<|/det|>next")[0][1] == text
    assert write_block(Block("text", text, (1, 2, 3, 4))).startswith("<|det|>text [1, 2, 3, 4]<|/det|>")
    assert one(write_block(Block("text", text, (1, 2, 3, 4)))).warnings == ()


def test_pages() -> None:
    assert [len(page.blocks) for page in parse_answer(f"<PAGE>{TAG}a\n{TAG}b\n<PAGE>\n{TAG}c\n<PAGE>\n")] == [2, 1, 0]
    assert len(parse_answer("<PAGE>\n")) == 1
    assert len(parse_answer(f"Here it is:\n<PAGE>{TAG}a\n<PAGE>{TAG}b")) == 2
    assert [page.dialect for page in parse_answer(f"<PAGE>\n(nothing there)\n<PAGE>{TAG}b")] == ["plain", "tagged"]
    assert len(parse_answer("<PAGE>title [1, 2, 3, 4]Head\n<PAGE>\ntext [1, 2, 3, 4]b")) == 2


@pytest.mark.parametrize("end", ["<｜end▁of▁sentence｜>", "<|end_of_sentence|>", "\n<｜end▁of▁sentence｜>\n"])
def test_end_mark_is_taken_out(end: str) -> None:
    assert one(f"{TAG}3{end}").blocks[0].text == "3"
    assert one(f"{TAG}3{end}").warnings == ()
    assert one(f"text [1, 2, 3, 4]3{end}").blocks[0].text == "3"


def test_preamble() -> None:
    page = one(f"The image is too blurry.\n{TAG}a")
    assert page.preamble == "The image is too blurry."
    assert page.warnings[0].endswith('"The image is too blurry."')


def test_marks_for_no_text() -> None:
    page = one(f"{TAG}[Non-Text]\n{TAG}a\n[Non-Text]\nb")
    assert [block.text for block in page.blocks] == ["", "a\nb"]
    assert page.warnings == ("2 marks for places without text, such as [Non-Text], are taken out.",)


@pytest.mark.parametrize(
    "tail", ["<|det|>text [699, 284, 835,", "<|", "<", "<|det|>te", "<|det|>text [1, 2, 3, 4]<|/de", "<PAG"]
)
def test_cut_tails(tail: str) -> None:
    page = one(f"{TAG}kept\n{tail}")
    assert page.blocks == (Block("text", "kept", (1, 2, 3, 4)),)
    assert page.open == "tag"


@pytest.mark.parametrize(
    ("text", "state"),
    [("<table><tr><td>a", "table"), ("\\[\nx", "formula"), ("a \\( x \\) b", ""), ("x <", ""), ("done", "")],
)
def test_open_ends(text: str, state: str) -> None:
    page = one(TAG + text)
    assert (page.open, page.complete, page.blocks[0].text) == (state, not state, text)


def test_stripped_dialect() -> None:
    page = one(
        " result [No text]\ntitle [61, 109, 339, 190]Model input\n"
        "text [1, 2, 3, 4]image [1, 3, 224, 334]\nimage [1, 2, 3"
    )
    assert page.dialect == "stripped"
    assert page.preamble == "result [No text]"
    assert [block.text for block in page.blocks] == ["Model input", "image [1, 3, 224, 334]"]
    assert page.open == "tag"
    assert shown("text [10,20,300,40] Hello") == [("text", "Hello", (10, 20, 300, 40))]
    assert shown(strip_special(f"{TAG}a\n{TAG}b")) == [("text", "a", (1, 2, 3, 4)), ("text", "b", (1, 2, 3, 4))]


def test_no_tags_at_all() -> None:
    assert one("Only words.\nSee [1, 2, 3, 4].") == ParsedPage(
        (Block("text", "Only words.\nSee [1, 2, 3, 4]."),), dialect="plain"
    )
    assert one("") == ParsedPage(dialect="plain")


def surface(text: str) -> str:
    """Byte-level form of `text`, as engines write that do not decode it."""
    hidden = [byte for byte in range(256) if not (0x21 <= byte < 0x7F or 0xA1 <= byte < 0xAD or byte >= 0xAE)]
    return "".join(chr(0x100 + hidden.index(byte)) if byte in hidden else chr(byte) for byte in text.encode())


def test_byte_level_text_is_decoded() -> None:
    text = "A remark.\n<|det|>text [19, 48, 152, 163]<|/det|>你的情况：\n<|det|>title [1, 2, 3, 4]<|/det|>Hé 🙂 ok"
    page = one(surface(text))
    assert page.blocks == one(text).blocks
    assert page.warnings[0] == "The answer came in byte-level form and is decoded."


def test_maltese_is_not_byte_level_text() -> None:
    text = "Ċikku u Ġorġ marru ĠĦAJN Ċ. Ġ Ċ Ġ"
    assert one(TAG + text).blocks[0].text == text
    assert one(text).blocks[0].text == text


def test_half_decoded_text() -> None:
    page = one("Ġ[0,Ġ0,Ġ999]<|/det|>AgreementĊ<|det|>title [10, 20, 300, 50]<|/det|>Deposit formĊ")
    assert [(block.text, block.box) for block in page.blocks] == [
        ("Agreement", None),
        ("Deposit form", (10, 20, 300, 50)),
    ]


def test_events() -> None:
    parser = AnswerParser()
    events = [
        event
        for piece in ("<PA", "GE><|d", "et|>ti", "tle [1, 2, 3, 4]<|/d", "et|>He", "ad \n", "two\n", "<|")
        for event in parser.feed(piece)
    ]
    assert events == [
        PageOpened(0),
        BlockOpened(0, 0, "title", (1, 2, 3, 4)),
        TextGrown(0, 0, "He"),
        TextGrown(0, 0, "ad"),
        TextGrown(0, 0, " \ntwo"),
    ]
    assert parser.pages[0].blocks[0].text == "Head \ntwo"
    assert parser.finish()[0].open == "tag"
    assert parser.rest() == [BlockClosed(0, 0, Block("title", "Head \ntwo", (1, 2, 3, 4)))]


def test_a_tag_after_stripped_lines_starts_again() -> None:
    parser = AnswerParser()
    assert parser.feed("text [1, 2, 3, 4]Hello world\nmore")
    events = parser.feed(f"\n{TAG}a")
    assert isinstance(events[0], Restarted)
    assert parser.finish()[0].preamble.startswith("text [1, 2, 3, 4]Hello")


def test_an_answer_of_several_pages_is_written_with_marks() -> None:
    pages = [[Block("text", "a", (1, 2, 3, 4))], [], [Block("title", "b <PAGE>")]]
    text = write_answer(pages, multi=True)
    assert text.startswith("<PAGE><|det|>text [1, 2, 3, 4]<|/det|>a\n<PAGE>\n<PAGE><|det|>title<|/det|>b <\u200bPAGE>")
    assert [list(page.blocks) for page in parse_answer(text)] == pages


@pytest.mark.parametrize(
    "shape",
    [
        "<",
        "<|det|>",
        "<|/det|>",
        "<|ref|>",
        "<PAGE>",
        "[1]<|/det|>",
        "Ġ",
        "\ntext [",
        "<|det|>" + " " * 4000,
        "<|det|>text [[",
    ],
)
# A second each (benchmarks/grammar.py); what grows with the square of the length takes many minutes.
@pytest.mark.timeout(60)
def test_hostile_text_is_read_to_its_end(shape: str) -> None:
    assert parse_answer(shape * (1_000_000 // len(shape)))


def test_a_nest_of_brackets_is_kept_as_text() -> None:
    text = "<|det|>text " + "[" * 2_500_000 + "]" * 2_500_000 + "<|/det|> x"
    page = one(text)
    assert page.blocks[0].box is None
    assert page.blocks[0].text.endswith("x")


def test_a_lone_half_of_a_pair_is_replaced_with_one_warning() -> None:
    first, second = parse_answer(
        "<PAGE><|det|>text [1, 1, 9, 9]<|/det|>a\n<PAGE>\n<|det|>text [1, 1, 9, 9]<|/det|>\ud800b\udcff"
    )
    assert first.warnings == ()
    assert second.blocks[0].text == "\ufffdb\ufffd"
    assert second.warnings == ("2 lone halves of surrogate pairs are no characters and are replaced by U+FFFD.",)


def test_pages_of_a_byte_level_answer_begin_where_their_marks_stand_in_it() -> None:
    answer = "<PAGE><|det|>textĠ[1,Ġ1,Ġ9,Ġ9]<|/det|>ä½łåĦ\ud800Ċ<PAGE>Ċ<|det|>textĠ[1,Ġ1,Ġ9,Ġ9]<|/det|>b"
    first, second = parse_answer(answer)
    assert first.blocks[0].text.startswith("你")
    assert (first.start, second.start) == (0, answer.rindex("<PAGE>"))


def test_a_head_right_behind_a_picture_is_the_next_block_in_the_stripped_dialect() -> None:
    assert shown("image [1, 2, 3, 4]title [5, 6, 7, 8]Head\ntext [1, 2, 3, 4]image [1, 3, 224, 334]") == [
        ("image", "", (1, 2, 3, 4)),
        ("title", "Head", (5, 6, 7, 8)),
        ("text", "image [1, 3, 224, 334]", (1, 2, 3, 4)),
    ]


def test_text_in_a_reference_mark_is_kept() -> None:
    assert shown("<|ref|>Total due<|/ref|><|det|>[[1, 2, 3, 4]]<|/det|>\n") == [("text", "Total due", (1, 2, 3, 4))]


@pytest.mark.parametrize("head", ["<|det|>", "\ufeff", "et|>", "\u200f"])
def test_lines_end_as_windows_ends_them_and_starts_may_be_odd(head: str) -> None:
    assert shown(f"{head}<|det|>text [1, 2, 3, 4]<|/det|>a\r\nb\r\n{TAG}c\r")[0] == ("text", "a\nb", (1, 2, 3, 4))


def test_where_each_text_stood_is_the_same_for_every_split() -> None:
    text = "<|det|>text [1, 2, 3, 4]<|/det|>et|>text [1, 2, 3, 4]<|/det|>end"
    parser = AnswerParser()
    for character in text:
        parser.feed(character)
    assert (
        [page.spans for page in parser.finish()]
        == [page.spans for page in parse_answer(text)]
        == [((32, 32), (61, 64))]
    )
