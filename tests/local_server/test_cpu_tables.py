"""Tables from the places of made words."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from uocr_nb.local_server.geometry import Rect
from uocr_nb.local_server.pieces import Piece, cut_at, split_line
from uocr_nb.local_server.ppocr import Line
from uocr_nb.local_server.rules import Rules
from uocr_nb.local_server.tables import build_table, table_html


def word(text: str, x: float, y: float, advance: float = 9.0, height: float = 20.0) -> Piece:
    marks = tuple((x + advance * (n + 0.5), 0.9) for n in range(len(text)))
    return Piece(Rect(x, y, x + advance * len(text), y + height), text, 0.9, marks)


def html(pieces: list[Piece], rules: Rules | None = None) -> str:
    return table_html(build_table(pieces, rules))


def test_plain_grid() -> None:
    pieces = [word(f"r{r}c{c}", 100 * c, 40 * r) for r in range(3) for c in range(3)]
    rows = "".join("<tr>" + "".join(f"<td>r{r}c{c}</td>" for c in range(3)) + "</tr>" for r in range(3))
    assert html(pieces) == f"<table>{rows}</table>"


def test_empty_places_stay_empty() -> None:
    pieces = [word(f"r{r}c{c}", 100 * c, 40 * r) for r in range(4) for c in range(3) if (r, c) != (1, 1)]
    assert "<tr><td>r1c0</td><td></td><td>r1c2</td></tr>" in html(pieces)


def test_text_is_escaped() -> None:
    assert (
        html([word("a<b>", 0, 0), word("x & y", 100, 0)])
        == "<table><tr><td>a&lt;b&gt;</td><td>x &amp; y</td></tr></table>"
    )


def test_a_wide_heading_spans_its_columns() -> None:
    body = [word(f"{r}{c}", 100 * c, 40 * r) for r in range(1, 8) for c in range(4)]
    heading = [word("over both of them", 105, 0), word("x", 300, 0)]
    assert '<td colspan="2">over both of them</td><td>x</td>' in html(heading + body)


def test_a_short_rule_tells_how_far_a_heading_spans() -> None:
    body = [word(f"{r}{c}", 100 * c, 40 * r) for r in range(1, 8) for c in range(4)]
    rule = Rect(95, 30, 225, 31)
    assert '<td colspan="2">up</td>' in html([word("up", 150, 0), word("x", 300, 0), *body], Rules((rule,), ()))


def test_half_way_between_two_rows_spans_both() -> None:
    pieces = [word(f"n{r}", 200, 26 * r) for r in range(4)] + [word(f"m{r}", 300, 26 * r) for r in range(4)]
    pieces += [word("first", 0, 13), word("second", 0, 65)]
    assert html(pieces).count('rowspan="2"') == 2


def test_headings_of_two_lines_are_one_row() -> None:
    upper = [word("long", 100, 0)]
    lower = [word("head", 100, 26)]
    middle = [word("a", 0, 13), word("b", 200, 13), word("c", 300, 13)]
    body = [word(f"{r}{c}", 100 * c, 26 * r + 20) for r in range(2, 6) for c in range(4)]
    assert html(upper + middle + lower + body).startswith(
        "<table><tr><td>a</td><td>long head</td><td>b</td><td>c</td></tr>"
    )


def test_upright_rules_part_what_touches() -> None:
    pieces = [word("12345", 45 * c, 40 * r) for r in range(4) for c in range(3)]
    walls = tuple(Rect(45 * c - 1, 0, 45 * c + 1, 160) for c in (1, 2))
    assert html(pieces, Rules((), walls)).count("<td>12345</td>") == 12


def test_lines_are_split_at_wide_gaps_and_rules() -> None:
    marks = tuple((x, 0.8) for x in (5, 15, 25, 105, 115))
    line = Line(Rect(0, 0, 120, 20), "ab cd", 0.8, marks)
    assert [piece.text for piece in split_line(line)] == ["ab", "cd"]
    near = Line(Rect(0, 0, 60, 20), "ab cd", 0.8, tuple((x, 0.8) for x in (5, 15, 25, 35, 45)))
    assert [piece.text for piece in split_line(near)] == ["ab cd"]
    wall = Rules((), (Rect(24, -5, 26, 30),))
    assert [piece.text for piece in split_line(near, wall)] == ["ab", "cd"]


def test_cut_at_needs_a_space() -> None:
    assert [part.text for part in cut_at(word("ab cd", 0, 0), [22])] == ["ab", "cd"]
    assert [part.text for part in cut_at(word("abcd", 0, 0), [18])] == ["abcd"]


@given(
    st.lists(
        st.tuples(st.text("abc 1<&", min_size=1, max_size=12), st.integers(0, 600), st.integers(0, 600)), max_size=40
    )
)
def test_every_word_is_in_the_table_once(words: list[tuple[str, int, int]]) -> None:
    pieces = [word(text.strip() or "x", x, y) for text, x, y in words]
    cells = build_table(pieces)
    kept = sorted(piece.text for cell in cells for piece in cell.pieces)
    # A piece over several columns may be cut at its spaces; no character is lost.
    assert sorted("".join(kept).replace(" ", "")) == sorted("".join(p.text for p in pieces).replace(" ", ""))
    places = [(cell.row, cell.col) for cell in cells]
    assert len(places) == len(set(places))
    taken = [
        (r, c)
        for cell in cells
        for r in range(cell.row, cell.row + cell.rowspan)
        for c in range(cell.col, cell.col + cell.colspan)
    ]
    assert len(taken) == len(set(taken))
