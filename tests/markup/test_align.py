"""Two readings of one page: which block is which, how far they agree, and where they differ."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uocr_nb.document.model import Block
from uocr_nb.markup.align import Pair, agreement_of, align_blocks, side
from uocr_nb.markup.cells import parse_table
from uocr_nb.markup.distance import agreement, distance, normal, tokens
from uocr_nb.markup.line_boxes import cell_box, count_lines, line_boxes
from uocr_nb.markup.pieces import differences
from uocr_nb.markup.table_pairs import align_tables

PAGE = (
    Block("header", "The Journal of Small Things", (130, 40, 500, 60)),
    Block("title", "## 5.3. Subcategory Study", (130, 80, 500, 110)),
    Block("text", "A first paragraph, which says what was measured and how long it took.", (130, 120, 870, 200)),
    Block("text", "A second paragraph, which says what follows from the numbers above.", (130, 210, 870, 290)),
    Block("equation", "\\[\na < b\n\\]", (200, 300, 800, 350)),
    Block("image", "", (130, 360, 500, 540)),
    Block("text", "The end.", (130, 560, 870, 600)),
    Block("page_number", "10", (480, 950, 520, 970)),
)


def sides(pairs: list[Pair]) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    return [(pair.a, pair.b) for pair in pairs]


def unboxed(blocks: tuple[Block, ...]) -> list[Block]:
    return [replace(block, box=None) for block in blocks]


def test_a_page_agrees_with_itself() -> None:
    pairs = align_blocks(PAGE, PAGE)
    assert sides(pairs) == [((n,), (n,)) for n in range(1, 9)]
    assert all(pair.same and not pair.moved for pair in pairs)
    assert agreement_of(pairs) == 1


def test_what_is_written_another_way_reads_the_same() -> None:
    other = [
        replace(PAGE[1], text="5.3. Subcategory\nStudy"),
        replace(PAGE[4], text="$$a<b$$"),
        Block("text", "Cafe\u0301, so \\( x \\) is small", (0, 700, 999, 750)),
        Block("text", "数 字", (0, 800, 999, 850)),
    ]
    mine = [PAGE[1], PAGE[4], replace(other[2], text="Café, so\\(x\\)is  small"), replace(other[3], text="数字")]
    assert [pair.agreement for pair in align_blocks(mine, other)] == [1, 1, 1, 1]


def test_boxes_missing_on_one_side_do_not_part_what_says_the_same() -> None:
    assert sides(align_blocks(PAGE, unboxed(PAGE))) == [((n,), (n,)) for n in range(1, 9)]


def test_another_order_is_told_and_costs_nothing() -> None:
    turned = [*PAGE[5:], *PAGE[:5]]
    pairs = align_blocks(PAGE, turned)
    assert agreement_of(pairs) == 1
    assert sorted(pair.a for pair in pairs if pair.moved) == [(6,), (7,), (8,)]
    assert [pair.b for pair in pairs] == [(n,) for n in range(1, 9)]


def test_a_block_that_one_run_split_is_laid_beside_its_parts() -> None:
    first, second = PAGE[2], PAGE[3]
    whole = Block("text", f"{first.text}\n{second.text}", (130, 120, 870, 290))
    merged = (*PAGE[:2], whole, *PAGE[4:])
    for boxes in (True, False):
        one, two = (PAGE, merged) if boxes else (unboxed(PAGE), unboxed(merged))
        pairs = align_blocks(one, two)
        assert ((3, 4), (3,)) in sides(pairs)
        assert agreement_of(pairs) == 1
        assert not next(pair for pair in pairs if pair.a == (3, 4)).same
        assert ((3,), (3, 4)) in sides(align_blocks(two, one))


def test_what_one_run_has_alone_stands_in_its_place() -> None:
    pairs = align_blocks(PAGE[:-1], [PAGE[0], *PAGE[2:]])
    assert sides(pairs)[:3] == [((1,), (1,)), ((2,), ()), ((3,), (2,))]
    assert sides(pairs)[-1] == ((), (7,))
    assert pairs[-1].agreement == pairs[1].agreement == 0
    assert pairs[-1].weight == 2


def test_the_same_place_makes_a_pair_whatever_it_says() -> None:
    other = [replace(PAGE[2], text="$#!"), replace(PAGE[5], label="chart"), replace(PAGE[6], label="list")]
    pairs = align_blocks([PAGE[2], PAGE[5], PAGE[6]], other)
    assert ((1,), (1,)) in sides(pairs)
    assert pairs[0].agreement < 0.1
    assert pairs[-1].agreement == 1
    assert not pairs[-1].same


def test_the_agreement_of_a_page_weighs_its_blocks_by_length() -> None:
    mine = [Block("text", "a" * 90, (0, 0, 99, 9)), Block("text", "b" * 10, (0, 20, 99, 29))]
    other = [mine[0], replace(mine[1], text="c" * 10)]
    assert agreement_of(align_blocks(mine, other)) == pytest.approx(0.9)
    assert agreement_of(align_blocks(mine, [])) == 0
    assert agreement_of([]) == 1


def test_300_blocks_a_side_are_quick_and_long_texts_bounded() -> None:
    words = [f"{n * 7919 % 1000:03}word{n}" for n in range(400)]
    mine = [
        Block(
            "text",
            " ".join(words[(n * 13 + k * k) % 400] for k in range(30)),
            (n % 3 * 300, n // 3 * 9, n % 3 * 300 + 280, n // 3 * 9 + 8),
        )
        for n in range(300)
    ]
    other = [replace(block, text=block.text.replace("7", "1")) for block in mine]
    began = time.perf_counter()
    pairs = align_blocks(mine, other)
    assert time.perf_counter() - began < 3, "some 0.2 s on a machine that does nothing else"
    assert all(len(pair.a) == len(pair.b) == 1 for pair in pairs)
    for text, changed in (
        ("a b " * 250_000, "b a " * 250_000),
        ("\\(" * 400_000, "\\[x" * 300_000),
        ("x" * 1_000_000, "y" * 999_999),
    ):
        began = time.perf_counter()
        [pair] = align_blocks([Block("text", text, (0, 0, 9, 9))], [Block("text", changed, (0, 0, 9, 9))])
        differences(text, changed)
        assert 0 <= pair.agreement <= 1
        assert time.perf_counter() - began < 6


# Few letters, so that blocks of both sides often say nearly the same.
TEXTS = st.one_of(
    st.text("ab \n1", max_size=12),
    st.text(max_size=20),
    st.lists(st.sampled_from(["one word", "two\n", "\\(x^2\\)", "数字", "# ", "$$y$$", "\ud800"]), max_size=4).map(
        "".join
    ),
    st.lists(
        st.sampled_from(["<table>", "<tr>", "<td>", "1.5", "a", "</td>", "</table>", "<td colspan=3>"]), max_size=9
    ).map("".join),
)
BOXES = st.none() | st.tuples(*[st.integers(-5, 1005)] * 4)
BLOCKS = st.lists(
    st.builds(Block, st.sampled_from(["text", "title", "equation", "table", "image", "odd"]), TEXTS, BOXES), max_size=7
)


@given(BLOCKS, BLOCKS)
@settings(max_examples=150, deadline=None)
def test_every_block_stands_in_one_pair_and_both_orders_agree(a: list[Block], b: list[Block]) -> None:
    pairs = align_blocks(a, b)
    assert sorted(n for pair in pairs for n in pair.a) == list(range(1, len(a) + 1))
    assert sorted(n for pair in pairs for n in pair.b) == list(range(1, len(b) + 1))
    assert all(0 <= pair.agreement <= 1 and pair.weight >= 1 and (pair.a or pair.b) for pair in pairs)
    turned = align_blocks(b, a)
    assert sorted((pair.b, pair.a, pair.agreement) for pair in turned) == sorted(
        (pair.a, pair.b, pair.agreement) for pair in pairs
    )
    assert agreement_of(turned) == agreement_of(pairs)
    assert agreement_of(align_blocks(a, a)) == 1
    for pair in pairs:
        one, two = side(a, pair.a), side(b, pair.b)
        mine, other = differences(one.text, two.text, formula=one.kind == two.kind == "formula")
        assert "".join(text for _kind, text in mine) == one.text
        assert "".join(text for _kind, text in other) == two.text
        if one.kind == two.kind == "text":
            marked = any(kind == "only" for kind, _text in [*mine, *other])
            assert marked == (one.normal != two.normal)


@given(st.text("abc", max_size=9), st.text("abc", max_size=9))
@settings(max_examples=150, deadline=None)
def test_the_distance_is_levenshteins(a: str, b: str) -> None:
    line = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        above, line = line, [i]
        for j, y in enumerate(b, 1):
            line.append(min(above[j] + 1, line[-1] + 1, above[j - 1] + (x != y)))
    assert distance(a, b) == line[-1]
    assert 0 <= agreement(a, b, most=2) <= 1


def test_differences_are_words_and_the_signs_of_a_formula() -> None:
    a = "Table 2 ! Detailed comparison of the DeepSeek OCR series"
    b = "Table 2 | Detailed comparison of the\nDeepSeek-OCR series"
    mine, other = differences(a, b)
    assert [text for kind, text in mine if kind == "only"] == ["!", "DeepSeek OCR"]
    assert [text for kind, text in other if kind == "only"] == ["|", "DeepSeek-OCR"]
    mine, other = differences("so \\(a^2 + b^2 = c^2\\) holds", "so \\(a^2+b^2=c^3\\) holds")
    assert [text for kind, text in mine if kind == "only"] == ["2"]
    assert [text for kind, text in other if kind == "only"] == ["3"]
    mine, other = differences("\\frac{a}{b} + \\alpha", "\\frac {a}{6} + \\alpha", formula=True)
    assert [text for kind, text in other if kind == "only"] == ["6"]
    mine, other = differences("这是一个很好的例子", "这是一个银好的例子")
    assert [text for kind, text in other if kind == "only"] == ["银"]


def table(*lines: str) -> str:
    rows = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in line.split())}</tr>" for line in lines)
    return f"<table>{rows}</table>"


def test_tables_are_laid_cell_on_cell() -> None:
    a = parse_table(table("Model Text Order", "One 0.031 0.018", "Two 0.025 0.013", "Three R-orcler 0.3"))
    b = parse_table(table("Model Text Order", "One 0.031 0.013", "Two 0.025 0.013", "Three R-order 0.3"))
    pairs = align_tables(a, b)
    assert pairs.rows == (*pairs.columns, (3, 3))
    assert pairs.differ == {(1, 2), (3, 1)}
    assert pairs.agreement == pytest.approx((12 - 1 - 0.25) / 12)


def test_a_row_or_column_that_one_side_lacks_moves_nothing_else() -> None:
    a = parse_table(table("Model Text Order", "One 1 2", "Two 3 4", "Three 5 6"))
    less = parse_table(table("Model Text Order", "One 1 2", "Three 5 6"))
    assert align_tables(a, less).rows == ((0, 0), (1, 1), (2, None), (3, 2))
    narrow = parse_table(table("Model Order", "One 2", "Two 4", "Three 6"))
    pairs = align_tables(a, narrow)
    assert pairs.columns == ((0, 0), (1, None), (2, 1))
    assert pairs.agreement == pytest.approx(8 / 12)


def test_a_stretch_of_text_is_found_on_its_line() -> None:
    # Four lines of some 60 letters: a box of 740 x 80 thousandths of an A4 sheet.
    text = " ".join(f"word{n:02}" for n in range(36))
    box, size = (130, 120, 870, 200), (620, 877)
    assert 3 <= count_lines(box, size, text) <= 6
    [first] = line_boxes(box, size, text, 0, 6)
    assert first[:2] == (130, 120)
    assert first[3] <= 150
    [last] = line_boxes(box, size, text, len(text) - 6, len(text))
    assert last[3] == 200
    assert len(line_boxes(box, size, text, 0, len(text))) == count_lines(box, size, text)
    assert line_boxes((480, 950, 520, 970), size, "10", 0, 2) == [(480, 950, 520, 970)]
    assert line_boxes(box, size, "- one\n- two\n- three", 8, 11)[0][1] > 140


@given(TEXTS, BOXES.filter(bool), st.integers(-3, 20), st.integers(-3, 20))
@settings(max_examples=100, deadline=None)
def test_places_stay_on_the_page(text: str, box: tuple[int, int, int, int], start: int, end: int) -> None:
    for found in [*line_boxes(box, (620, 877), text, start, end), cell_box(box, parse_table(text), start, end)]:
        assert all(0 <= value <= 999 for value in found)
        assert found[0] <= found[2]
        assert found[1] <= found[3]


def test_a_cell_is_found_in_its_row_and_column() -> None:
    grid = parse_table(table("Model Text Order", "One 0.031 0.018", "Two 0.025 0.013"))
    x1, y1, x2, y2 = cell_box((100, 100, 400, 400), grid, 2, 1)
    assert (y1, y2) == (300, 400)
    assert 150 < x1 < x2 < 350


def test_spaces_are_not_compared() -> None:
    assert normal(tokens("a  b\n\\( x \\) c")) == normal(tokens("a b\\(x\\)c"))
    assert normal(tokens("a b")) != normal(tokens("ab"))
