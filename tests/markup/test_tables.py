"""Tables of answers: grids with spans, however broken the HTML is."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from uocr_nb.document.model import Block, Document, Page
from uocr_nb.markup.markdown import page_markdown
from uocr_nb.markup.safe_html import clean_mathml, clean_table, escape, visible
from uocr_nb.markup.tables import page_tables, parse_table, pipe_table, split_tables, table_html

SPANS = (
    '<table><tr><td rowspan="2">Q1</td><td>Jan</td><td>1</td></tr><tr><td>Feb</td><td>2</td></tr>'
    '<tr><td colspan="2">All</td><td>3</td></tr></table>'
)


def page(*texts: str) -> Page:
    return Page(1, 1, "a", (100, 100), tuple(Block("table", text, (1, 2, 3, 4)) for text in texts))


def test_spans_fill_the_matrix() -> None:
    grid = parse_table(SPANS)
    assert grid.matrix() == [["Q1", "Jan", "1"], ["Q1", "Feb", "2"], ["All", "All", "3"]]
    assert [(cell.text, cell.row, cell.col) for cell in grid.rows[1]] == [("Feb", 1, 1), ("2", 1, 2)]
    assert table_html(grid) == SPANS
    assert clean_table(SPANS) == SPANS


@pytest.mark.parametrize(
    ("broken", "matrix"),
    [
        ("<table><tr><td>a<td>b<tr><td>c</table>", [["a", "b"], ["c", ""]]),
        ("<img></td><td>x</td></tr><tr><td>y</td>", [["[image]", "x"], ["y", ""]]),
        ('<table><tr><td colspan="21</td><td>1</td></tr>', [["", "1"]]),
        ("<table><tr><td>&lt;b&gt; &amp; &#x27;</td></tr></table>", [["<b> & '"]]),
        ("<table><tr><td>a<br>b</td><td>H<sub>2</sub>O</td></tr></table>", [["a\nb", "H2O"]]),
        ("<table><tr><td>x < y and <none></td></tr></table>", [["x < y and <none>"]]),
        ("<table><tr><td>a</td></tr></td><td>b</td></tr></table>", [["a"], ["b"]]),
        ("<table></table>", []),
        ("", []),
    ],
)
def test_broken_html(broken: str, matrix: list[list[str]]) -> None:
    got = parse_table(broken).matrix()
    if '"21' in broken:
        assert got[0][-1] == "1"
    else:
        assert got == matrix


@pytest.mark.timeout(60)
def test_huge_spans_are_bounded() -> None:
    grid = parse_table(
        '<table><tr><td rowspan="1000000000" colspan="999999999999">a</td></tr><tr><td>b</td></tr></table>'
    )
    assert (grid.columns, grid.rows[0][0].rowspan) == (1001, 2)
    many = parse_table('<td rowspan="99999" colspan="1000">a</td></tr><tr>' * 3_000)
    assert len(many.matrix()) >= 3_000
    assert 'rowspan="1000"' in clean_table('<table><tr><td rowspan="1000000000">a</td></tr></table>')


@pytest.mark.parametrize(
    "markup",
    [
        "<tr><td colspan='1000'>a</td></tr>" * 12_000,
        "<tr>" + "<td colspan='1000'>a</td>" * 100 + "</tr>" + "<tr><td>b</td></tr>" * 20_000,
        "<tr>" + "<td>a</td>" * 20_000 + "</tr>" + "<tr><td>b</td></tr>" * 20_000,
        ("<tr>" + "<td rowspan='1000000000' colspan='1000000000'>a</td>" * 60 + "</tr>") * 60,
        "<table><tr><td>a" * 20_000 + "</td></tr></table>" * 20_000,
        "<tr><td>a" + "<sub>" * 50_000,
    ],
)
@pytest.mark.timeout(60)
def test_no_table_blows_up(markup: str) -> None:
    grid = parse_table(f"<table>{markup}</table>")
    assert grid.columns * len(grid.rows) <= 4_000_000
    assert "".join(c.text for row in grid.rows for c in row).count("a") == markup.replace("table", "").count(">a")
    assert len(grid.matrix()) == len(grid.rows)


def test_hostile_markup() -> None:
    evil = (
        '<table><tr><td onclick="x()" style="position:fixed"><img src=x onerror="document.title=1">'
        '<a href="javascript:1">k</a>'
        "</td><th>h</th></tr></table><script>document.title=2</script><svg onload=1>"
    )
    (table,) = page_tables(page(evil))
    assert table.html == "<table><tr><td>[image]k</td><th>h</th></tr></table>"
    for shown in (clean_table(evil), page_markdown(page(evil))):
        assert "<script" not in shown
        assert "<img" not in shown
        assert "<svg" not in shown
        assert "<a" not in shown
        assert "onclick" not in shown
    assert escape('<a b="c">&\x00\ud800') == "&lt;a b=&quot;c&quot;&gt;&amp;\ufffd\ufffd"


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.sampled_from(
                ["<table>", "</table>", "<tr>", "</tr>", "<td>", "</td>", "<th", '<td rowspan="3">', "<sub>"]
            ),
            st.sampled_from(
                ["</sub>", "<br>", "<script>", "</script>", '<td colspan="', "<img onerror=1>", "&lt;", "<", "$", "|"]
            ),
            st.text(st.characters(exclude_categories=("Cc", "Cs")), max_size=4),
        ),
        max_size=40,
    ).map("".join)
)
def test_any_markup_becomes_a_safe_table(markup: str) -> None:
    grid = parse_table(markup)
    width = grid.columns
    assert all(len(line) == width for line in grid.matrix())
    cleaned = clean_table(table_html(grid))
    assert "<script" not in cleaned.lower()
    assert "<img" not in cleaned.lower()
    again = parse_table(cleaned)
    assert [[c.text.split() for c in row] for row in again.rows if row] == [
        [visible(c.text).split() for c in row] for row in grid.rows if row
    ]


PIECES = [
    "<table>", "</table>", "<tr>", "<td>", "<th rowspan=3>", '<td colspan="9e9" onclick=x style=x>', "<svg>", "</svg>",
    "<math><mtext>", "<mglyph>", "<style>", "</style>", "<noscript>", "<title>", "<textarea>", "<xmp>", "<template>",
    "<img src=x onerror=a>", "<script>", "</script>", "<a href=javascript:1>", "<iframe srcdoc=x>", "<!--", "-->",
    "<![CDATA[", "]]>", "<p>", "</p>", "<br/>", "<sub>", "</sub>", "<form>", "<input>", "<plaintext>",
    "<annotation-xml encoding=text/html>",
    "&lt;img src=x onerror=a&gt;", "&#0;", "\x00", "'", '"', ">", "<", "=", "`", "<frameset>", "<select>", "<caption>",
]  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=3)), max_size=30).map("".join))
def test_any_html_is_cleaned(markup: str) -> None:
    for clean, allowed in (
        (clean_table, {"table", "tr", "td", "th", "br", "sub", "sup"}),
        (clean_mathml, {"math", "mtext"}),
    ):
        cleaned = clean(markup)
        for shown in (cleaned, clean(cleaned)):
            for element in etree.HTML(f"<body>{shown}<hr></body>").find("body").iter():
                assert element.tag in allowed | {"body", "hr", "tbody", "p"}
                assert set(element.keys()) <= {"rowspan", "colspan"}


def test_text_is_kept_in_its_logical_order() -> None:
    arabic, hebrew = "السعر 25 درهم (تقريبا)", "שלום עולם, 1. 2"
    table = f"<table><tr><td>{arabic}</td><td>{hebrew}</td></tr></table>"
    made = Page(1, 1, "a", (9, 9), (Block("text", f"{arabic}\n{hebrew}"), Block("table", table)))
    assert made.text == f"{arabic}\n{hebrew}\n\n{arabic}\t{hebrew}"
    assert made.markdown == f"{arabic}  \n{hebrew}\n\n{table}"
    shown = etree.HTML(Document([made]).to_html())
    assert {element.get("dir") for element in shown.xpath("//*[contains(@class, 'uo-text')] | //table")} == {"auto"}
    assert arabic in "".join(shown.itertext())


def test_text_around_tables_is_kept() -> None:
    text = f"Before\n{SPANS}\nbetween {SPANS} after"
    assert [kind for kind, _ in split_tables(text)] == ["text", "table", "text", "table", "text"]
    assert len(page_tables(page(text, "no table here"))) == 2
    assert "between" in page_markdown(page(text))


def test_pipe_tables() -> None:
    grid = parse_table(
        "<table><tr><th>Term</th><th>Meaning</th></tr><tr><td>Bayes</td><td>P(A|B)<br>x\\|y</td></tr></table>"
    )
    assert pipe_table(grid, str).splitlines() == [
        "| Term | Meaning |",
        "| --- | --- |",
        "| Bayes | P(A\\|B)<br>x\\\\|y |",
    ]
    assert pipe_table(parse_table(SPANS), str).startswith("<!-- merged cells are filled -->\n|")
    assert "| Q1 | Feb | 2 |" in page_markdown(page(SPANS), tables="pipe")


def test_data_frames() -> None:
    pytest.importorskip("pandas")
    rows = "<tr><td>Name</td><td>Name</td><td></td></tr><tr><td>a</td><td>007</td><td>-</td></tr>"
    frame = page_tables(page(f"<table>{rows}</table>"))[0].df
    assert list(frame.columns) == ["Name", "Name (2)", "column 3"]
    assert frame.to_numpy().tolist() == [["a", "007", "-"]]
    assert page_tables(page("<table><tr><td>1</td></tr><tr><td>2</td></tr></table>"))[0].df.shape == (2, 1)
    rows = "<tr><td>0012</td><td>1.10</td></tr><tr><td>1e5</td></tr><tr><td>-0</td><td>NaN</td><td>x</td></tr>"
    values = [["0012", "1.10", ""], ["1e5", "", ""], ["-0", "NaN", "x"]]
    assert page_tables(page(f"<table>{rows}</table>"))[0].df.to_numpy().tolist() == values
    spans = "<table><tr><td rowspan=3 colspan='2'>a</td><td>b</td></tr><tr><td>c</td></tr><tr></tr></table>"
    assert parse_table(spans).matrix() == [["a", "a", "b"], ["a", "a", "c"], ["a", "a", ""]]
