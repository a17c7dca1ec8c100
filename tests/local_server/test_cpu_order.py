"""Reading order, columns, blocks and frames on made boxes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from uocr_nb.local_server.blocks import page_blocks
from uocr_nb.local_server.frame import Frame, skew_of
from uocr_nb.local_server.furniture import settled
from uocr_nb.local_server.geometry import Rect
from uocr_nb.local_server.gutters import cut_at_gutters
from uocr_nb.local_server.latex import display_formula
from uocr_nb.local_server.layout import Region
from uocr_nb.local_server.order import find_gutter, reading_order
from uocr_nb.local_server.ppocr import Line
from uocr_nb.local_server.rules import Rules, find_rules, without_upright

WHITE = np.full((1000, 1000, 3), 255, dtype=np.uint8)


def order(**boxes: tuple[int, int, int, int]) -> str:
    items = [(name, Rect(*box)) for name, box in sorted(boxes.items(), key=lambda item: item[1][3] % 7)]
    return "".join(name for name, _ in reading_order(items, lambda item: item[1], 20))


def test_title_over_two_columns() -> None:
    assert order(t=(0, 0, 400, 30), a=(0, 50, 190, 300), b=(0, 320, 190, 600), c=(210, 50, 400, 600)) == "tabc"


def test_columns_above_and_below_a_heading() -> None:
    boxes = {
        "a": (0, 0, 190, 200),
        "b": (210, 0, 400, 200),
        "t": (0, 250, 400, 280),
        "c": (0, 300, 190, 500),
        "d": (210, 300, 400, 500),
    }
    assert order(**boxes) == "abtcd"


def test_a_block_may_overhang_its_column() -> None:
    assert order(a=(0, 0, 216, 100), b=(0, 110, 190, 300), c=(210, 0, 400, 150), d=(208, 160, 400, 300)) == "abcd"


@given(st.lists(st.tuples(*[st.integers(0, 500)] * 2, *[st.integers(1, 300)] * 2), max_size=25))
def test_order_keeps_every_block(boxes: list[tuple[int, int, int, int]]) -> None:
    items = [(n, Rect(x, y, x + w, y + h)) for n, (x, y, w, h) in enumerate(boxes)]
    assert sorted(n for n, _ in reading_order(items, lambda item: item[1], 20)) == list(range(len(items)))


def prose(x: float, width: float, count: int = 12) -> list[Rect]:
    return [Rect(x, 30 * n, x + width, 30 * n + 24) for n in range(count)]


def test_gutter_of_running_text_but_not_of_a_bill() -> None:
    cut = find_gutter(prose(0, 300) + prose(312, 300))
    assert cut is not None
    assert 300 < cut < 312
    bill = [Rect(0, 30 * n, 60 + 37 * (n % 5), 30 * n + 24) for n in range(12)]
    assert find_gutter(bill + [Rect(500, 30 * n, 560, 30 * n + 24) for n in range(12)]) is None


def test_lines_over_a_corridor_are_cut() -> None:
    image = WHITE.copy()
    for n in range(12):
        for x in (*range(50, 450, 12), *range(480, 880, 12)):
            image[100 + 30 * n : 118 + 30 * n, x : x + 9] = 0
    quads = [
        np.array([[48, 98 + 30 * n], [882, 98 + 30 * n], [882, 120 + 30 * n], [48, 120 + 30 * n]], dtype=np.float32)
        for n in range(12)
    ]
    parts = cut_at_gutters(image, quads)
    assert len(parts) == 24
    assert all(450 < part[1, 0] < 480 for part in parts[::2])


def test_upright_rules_are_found_and_painted_over() -> None:
    image = WHITE.copy()
    image[100:600, 300:302] = 0
    image[100:102, 100:800] = 0
    rules = find_rules(image)
    assert len(rules.upright) == len(rules.level) == 1
    cleaned = without_upright(image, rules)
    assert cleaned[200:500, 295:310].min() == 255
    assert cleaned[100:102, 100:250].max() == 0


@pytest.mark.parametrize("quarters", range(4))
def test_boxes_come_back_to_the_picture_as_sent(quarters: int) -> None:
    image = np.zeros((400, 800, 3), dtype=np.uint8)
    image[40:80, 80:240] = 255
    frame = Frame.of(image).turned(quarters)
    ys, xs = np.nonzero(frame.image[:, :, 0])
    box = frame.box(Rect(xs.min(), ys.min(), xs.max() + 1, ys.max() + 1))
    assert box == pytest.approx((100, 100, 300, 200), abs=1)


def test_a_straightened_page_keeps_its_boxes() -> None:
    corners = np.array([[490, 490], [510, 490], [510, 510], [490, 510]], dtype=np.float32)
    frame, (moved,) = Frame.of(WHITE).straightened(3.0, [corners])
    assert moved.mean(axis=0) == pytest.approx([500, 500], abs=0.5)
    x1, y1, x2, y2 = frame.box(Rect(490, 490, 510, 510))
    assert (x1 + x2) / 2 == pytest.approx(500, abs=2)
    assert (y1 + y2) / 2 == pytest.approx(500, abs=2)


def test_skew_needs_agreement() -> None:
    def quad(y: float, lean: float) -> np.ndarray:
        return np.array([[0, y], [300, y + lean], [300, y + 20 + lean], [0, y + 20]], dtype=np.float32)

    assert skew_of([quad(40 * n, 10) for n in range(6)]) == pytest.approx(1.9, abs=0.1)
    assert skew_of([quad(40 * n, 0) for n in range(6)]) == 0
    assert skew_of([quad(40 * n, 10 * (n - 3)) for n in range(6)]) == 0


def line(text: str, x: float, y: float, width: float = 300) -> Line:
    return Line(Rect(x, y, x + width, y + 20), text, 0.9)


def region(kind: str, *lines: Line) -> Region:
    boxes = [one.box for one in lines]
    around = Rect(
        min(b.x1 for b in boxes), min(b.y1 for b in boxes), max(b.x2 for b in boxes), max(b.y2 for b in boxes)
    )
    return Region(kind, around, lines)


def labels(*regions: Region, pictures: tuple[Rect, ...] = ()) -> list[tuple[str, str]]:
    return [(block.label, block.text) for block in page_blocks(regions, pictures, WHITE, Rules())]


def test_labels_of_a_page() -> None:
    found = labels(
        region("page-footer", line("- 12 -", 400, 960, 50)),
        region("footnote", line("1 A note", 50, 920)),
        region("page-header", line("Journal", 50, 10)),
        region("section-header", line("Heading", 50, 60)),
        region("text", line("Words that go", 50, 100), line("on and on.", 50, 125, 200)),
        region("list-item", line("• one", 50, 160)),
        region("list-item", line("2. two", 50, 185)),
        region("caption", line("Figure 1: x", 50, 420)),
        region("formula", line("a ≤ β (3)", 50, 460)),
        pictures=(Rect(50, 220, 400, 400),),
    )
    assert found == [
        ("header", "Journal"),
        ("title", "Heading"),
        ("text", "Words that go on and on."),
        ("text", "- one"),
        ("text", "2. two"),
        ("list", ""),
        ("image", ""),
        ("image_caption", "Figure 1: x"),
        ("equation", "\\[\na \\leq \\beta \\tag {3}\n\\]"),
        ("page_footnote", "1 A note"),
        ("page_number", "- 12 -"),
    ]


def test_hard_breaks_hyphens_and_chinese() -> None:
    assert labels(region("text", line("a short", 50, 100, 80), line("next paragraph of it", 50, 125)))[0][1] == (
        "a short\nnext paragraph of it"
    )
    assert (
        labels(region("text", line("some exam-", 50, 100), line("ple of it", 50, 125)))[0][1] == "some exam-ple of it"
    )
    assert labels(region("text", line("中文的一行", 50, 100), line("下一行", 50, 125)))[0][1] == "中文的一行下一行"


def test_formula_names() -> None:
    assert display_formula(["α_1 + 50% → ∞"]) == "\\[\n\\alpha \\_1 + 50\\% \\to \\infty\n\\]"


def kinds(*regions: tuple[str, int, int], height: int = 1000) -> list[str]:
    """What becomes of regions of one line (kind, top, height of the line) on a page."""
    made = [
        Region(kind, Rect(100, y, 400, y + h), (Line(Rect(100, y, 400, y + h), "words", 0.9),))
        for kind, y, h in regions
    ]
    return [region.kind for region in settled(made, Rect(0, 0, 800, height))]


BODY = ("text", 300, 20)


@pytest.mark.parametrize(
    ("kind", "y", "high", "becomes"),
    [
        ("page-header", 40, 20, "page-header"),
        ("page-footer", 40, 20, "page-header"),
        ("page-footer", 950, 20, "page-footer"),
        ("page-header", 950, 20, "page-footer"),
        ("page-footer", 460, 20, "text"),
        ("page-header", 200, 20, "text"),
        ("page-footer", 460, 30, "section-header"),
        ("page-header", 40, 30, "section-header"),
        ("page-header", 10, 60, "section-header"),
        ("title", 40, 20, "title"),
    ],
)
def test_headers_and_footers_stand_at_the_edges(kind: str, y: int, high: int, becomes: str) -> None:
    assert kinds(BODY, (kind, y, high)) == ["text", becomes]


def test_a_page_with_nothing_but_a_header_and_a_footer_is_text() -> None:
    assert kinds(("page-header", 40, 20), ("page-footer", 950, 20)) == ["text", "text"]
    assert kinds(("page-header", 40, 20), ("picture", 300, 20)) == ["text", "picture"]
    assert kinds(("page-header", 40, 20), ("table", 300, 20)) == ["page-header", "table"]


def test_a_cut_out_of_a_few_lines_has_no_header() -> None:
    assert kinds(("page-header", 2, 20), ("text", 30, 20), ("text", 60, 20), height=240) == ["text"] * 3


@pytest.mark.parametrize(("y", "becomes"), [(820, "page-footer"), (700, "text")])
def test_a_page_number_may_stand_a_little_higher(y: int, becomes: str) -> None:
    body = Region("text", Rect(100, 100, 400, 120), (Line(Rect(100, 100, 400, 120), "words", 0.9),))
    number = Region("page-footer", Rect(390, y, 410, y + 20), (Line(Rect(390, y, 410, y + 20), "2", 0.9),))
    below = Region("text", Rect(100, 900, 400, 920), (Line(Rect(100, 900, 400, 920), "words", 0.9),))
    frame = Rect(0, 0, 800, 1000)
    assert settled([body, number], frame)[1].kind == becomes
    assert settled([body, number, below], frame)[1].kind == "text"
