from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from uocr_nb.document.model import Block, Page, Status
from uocr_nb.views.boxes import paper_html, place_tags, tag_width, unread
from uocr_nb.views.pictures import Pictures

coordinate = st.integers(0, 999)


@st.composite
def box(draw: st.DrawFn) -> tuple[int, int, int, int]:
    x1, x2 = sorted((draw(coordinate), draw(coordinate)))
    y1, y2 = sorted((draw(coordinate), draw(coordinate)))
    return x1, y1, x2, y2


@given(st.lists(box(), max_size=30), st.floats(0.2, 5))
def test_every_box_has_its_tag_and_no_tag_leaves_the_page(boxes: list[tuple[int, int, int, int]], ratio: float) -> None:
    numbered = dict(enumerate(boxes, 1))
    tags = place_tags(numbered, ratio)
    assert set(tags) == set(numbered)
    for number, tag in tags.items():
        assert 0 <= tag.down <= 11
        assert tag.side != "left" or numbered[number][0] * 333 / 999 >= tag_width(number)


@given(st.lists(box(), max_size=12), st.sampled_from(Status))
def test_geometry_stays_on_the_paper(boxes: list[tuple[int, int, int, int]], status: Status) -> None:
    page = Page(1, 1, "a.png", (600, 800), tuple(Block("text", "x", one) for one in boxes), status)
    html = paper_html(page, Pictures("", 1.33, {}))
    for place in re.findall(r"left:([\d.]+)%;top:([\d.]+)%;width:([\d.]+)%;height:([\d.]+)%", html):
        left, top, width, height = map(float, place)
        assert left + width <= 100.02
        assert top + height <= 100.02
    assert html.count('class="uo-box') == len(boxes)


@given(st.lists(box(), min_size=1, max_size=12))
def test_nothing_that_was_read_below_the_last_line_is_called_unread(boxes: list[tuple[int, int, int, int]]) -> None:
    page = Page(1, 1, "a.png", (600, 800), tuple(Block("text", "x", one) for one in boxes), Status.TRUNCATED)
    lowest = max(one[3] for one in boxes)
    for region in unread(page):
        assert region[1] >= boxes[-1][3]
        assert region[3] in (lowest, 999)


def test_a_tag_that_would_cover_another_column_moves_inside() -> None:
    boxes = {1: (100, 100, 480, 300), 2: (500, 100, 900, 300), 3: (500, 400, 900, 500), 4: (40, 600, 900, 700)}
    tags = place_tags(boxes, 1.4)
    assert [tags[n].side for n in (1, 2, 3, 4)] == ["left", "inside", "left", "inside"]


def test_a_box_around_others_has_its_tag_in_the_other_corner() -> None:
    boxes = {1: (200, 100, 800, 120), 2: (200, 130, 700, 150), 3: (198, 99, 802, 151)}
    assert [tags.side for _n, tags in sorted(place_tags(boxes, 1.4).items())] == ["left", "left", "corner"]


def test_tags_of_lines_close_to_each_other_do_not_cover_each_other() -> None:
    boxes = {n: (200, 100 + 10 * n, 800, 108 + 10 * n) for n in range(3)}
    tags = place_tags(boxes, 1.4)
    tops = [boxes[n][1] * 333 * 1.4 / 999 + tags[n].down for n in range(3)]
    assert tops[1] - tops[0] >= 10.9


def test_the_second_column_that_ends_higher_is_marked_too() -> None:
    blocks = tuple(Block("text", "x", one) for one in ((100, 100, 480, 900), (500, 100, 900, 300)))
    page = Page(1, 1, "a.png", (600, 800), blocks, Status.LOOPING)
    assert unread(page) == [(500, 300, 900, 900), (0, 900, 999, 999)]


def test_pages_that_never_came_are_unread_as_a_whole() -> None:
    for status in (Status.FAILED, Status.MISSING):
        assert unread(Page(1, 1, "a.png", (600, 800), (), status)) == [(0, 0, 999, 999)]
    for status in (Status.OK, Status.EMPTY, Status.UNBOXED):
        assert unread(Page(1, 1, "a.png", (600, 800), (), status)) == []
