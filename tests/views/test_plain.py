from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from uocr_nb.document.model import Block, Document, Page, Status
from uocr_nb.reading.progress import Progress
from uocr_nb.views.mime import document_bundle
from uocr_nb.views.plain import cells, clip, document_plain, page_plain, printable, wrap
from uocr_nb.views.progress import progress_bar, progress_line

if TYPE_CHECKING:
    from collections.abc import Callable

SCREEN = """\
report.pdf   5 pages: 2 ok, 1 looping (4), 1 truncated (3), 1 failed (5)
page 1  ok  10 blocks  1,087 tokens  3.4 s
   1 Hd  The Journal of Small Things
   2 Ti  5.3. Subcategory Study
"""

texts = st.text(st.characters(codec="utf-8") | st.sampled_from("字漢 かなé\u0301\x1b\u202e한글 "), max_size=300)


def test_the_screen(document: Document) -> None:
    plain = str(document)
    assert plain == document_plain(document)
    assert plain.startswith(SCREEN)
    assert plain.splitlines()[-1] == "4 more pages: doc.page(2) ... doc.page(5).  Run the 3 again: doc.retry()"
    assert "   7 Im  (image)\n" in plain


def test_a_table_has_its_columns_under_each_other(document: Document) -> None:
    lines = document_plain(document).splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith("   4 Tb"))
    assert [line.rstrip() for line in lines[start : start + 3]] == [
        "   4 Tb  Model  Edit   Score",
        "         One    Text   0.052",
        "                Order  0.125",
    ]


def test_a_large_table_says_what_it_leaves_out(make_page: Callable[..., Page]) -> None:
    row = "<tr>" + "".join(f"<td>value {n}</td>" for n in range(20)) + "</tr>"
    page = make_page(blocks=(Block("table", f"<table>{row * 9}</table>", (1, 1, 9, 9)),), picture=False)
    plain = document_plain(Document([page]))
    assert "+13" in plain
    assert "5 more rows: doc.page(1).tables[0].df" in plain
    assert max(map(cells, plain.splitlines())) <= 80


def test_the_page_alone_has_all_of_its_text(make_page: Callable[..., Page]) -> None:
    text = "word " * 200 + "end"
    page = make_page(blocks=(Block("text", text, (1, 1, 9, 9)),), picture=False)
    assert page_plain(page).count("word") == 200
    assert document_plain(Document([page])).count("word") < 40
    assert " ...\n" in document_plain(Document([page])) + "\n"


@given(texts, texts, st.sampled_from(["text", "title", "table", "code", "x"]))
def test_no_line_is_wider_than_a_terminal(text: str, source: str, label: str) -> None:
    page = Page(1, 1, source, (600, 800), (Block(label, text, (1, 1, 9, 9)),), warnings=(text,), reason=text)
    for plain in (page_plain(page).split("\n", 1)[1], document_plain(Document([page]))):
        assert max(map(cells, plain.splitlines())) <= 80
        assert "\x1b" not in plain
        assert "\u202e" not in plain


@given(texts, st.integers(2, 60))
def test_wrapping_loses_nothing(text: str, width: int) -> None:
    clean = printable(text)
    lines = wrap(clean, width)
    assert all(cells(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(clean.split())
    assert cells(clip(clean, width)) <= width


def test_wide_characters_take_two_columns() -> None:
    assert cells("字") == 2
    assert cells("e\u0301") == 1
    assert wrap("这是一个中文段落", 6) == ["这是一", "个中文", "段落"]


def test_progress_in_words() -> None:
    assert (
        progress_line(Progress(14, 9, 1, 6.9, cost=0.04))
        == "9 of 14 pages   1.3 pages/s   about 4 s to go   $0.04 so far"
    )
    assert progress_line(Progress(14, 2, 0, 6.0)) == "2 of 14 pages   3.0 s a page"
    assert progress_line(Progress(1)) == "0 of 1 page"
    assert progress_line(Progress(900, 3, 0, 9.0)) == "3 of 900 pages   3.0 s a page   about 44:51 to go"
    assert progress_bar(Progress(14, 14, 0, 10.8)) == "14 of 14 pages  [########################]  1.3 pages/s"
    assert progress_bar(Progress(4, 1, 0, 1.0)) == "1 of 4 pages  [######------------------]  1.0 pages/s"


def test_a_name_with_bytes_of_no_encoding_is_shown() -> None:
    name = b"caf\xe9.pdf".decode("utf-8", "surrogateescape")
    bad = Page(1, 1, name, (9, 9), status=Status.FAILED, reason=f"{name} cannot be read.", warnings=(name,))
    document = Document([bad], warnings=[name])
    for shown in (
        document_plain(document),
        page_plain(bad),
        repr(bad),
        document.markdown,
        *document_bundle(document).values(),
    ):
        shown.encode()
    assert "caf\\xe9.pdf" in document_plain(document)
