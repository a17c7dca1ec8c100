"""Two runs side by side: how pages are matched, what is shown, and that none of it acts or grows too large."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import lxml.html
import pytest
from harmless import HOSTILE, check_harmless
from hypothesis import given, settings
from hypothesis import strategies as st
from two_runs import BASE, GUNDAM

import uocr_nb as uocr
from uocr_nb.document.model import Block, Document, Page, Status
from uocr_nb.errors import OptionError
from uocr_nb.views.compare import Comparison, compare
from uocr_nb.views.compare_html import SECTIONS, comparison_html, shown_pages
from uocr_nb.views.plain import COLUMNS, cells
from uocr_nb.views.script import inline_script
from uocr_nb.views.words import percent

if TYPE_CHECKING:
    from collections.abc import Callable

    MakePage = Callable[..., Page]


@pytest.fixture
def runs(make_page: MakePage) -> tuple[Document, Document]:
    a = [make_page(1, blocks=BASE, tokens=640, seconds=1.2), make_page(2, blocks=BASE)]
    b = [make_page(1, blocks=GUNDAM), make_page(2, blocks=BASE)]
    return Document(a, meta={"mode": "base"}), Document(b, meta={"mode": "gundam"})


def twin(comparison: Comparison) -> Any:
    """What is there without script."""
    html = comparison_html(comparison, uid="u1")
    script = f"<script>{inline_script(SECTIONS)}</script>"
    assert html.count("<script") == 1
    assert html.endswith(f"{script}</div>")
    return check_harmless(html.replace(script, ""))


def said(element: Any) -> str:
    return " ".join(element.text_content().split())


def test_a_view_beside_another_run_is_shown_once(
    runs: tuple[Document, Document], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = runs
    printed = one.view(compare=two, names=("small", "large"))
    assert isinstance(printed, Comparison)
    assert "A (small) and B (large)" in capsys.readouterr().out

    shell = SimpleNamespace(kernel=True, execution_count=4)
    shown: list[dict[str, str]] = []
    monkeypatch.setattr("uocr_nb.views.compare.in_kernel", lambda: shell)
    monkeypatch.setattr("IPython.display.display", lambda bundle, **_options: shown.append(bundle))
    beside = one.view(compare=two)
    assert [set(bundle) for bundle in shown] == [{"text/html", "text/markdown", "text/plain"}]
    beside._ipython_display_()  # as the value of its cell it shows nothing again
    shell.execution_count += 1
    with pytest.raises(NotImplementedError):
        beside._ipython_display_()


def test_a_comparison_tells_what_differs_and_how_far(runs: tuple[Document, Document]) -> None:
    found = uocr.compare(*runs)
    assert found.names == ("base", "gundam")
    assert [page.differences for page in found.pages] == [[3, 4, 7], []]
    page = found.page(1)
    assert 0.9 < page.agreement < found.agreement < 1
    caption, grid, number = (page.blocks[n - 1] for n in page.differences)
    assert (caption.a, caption.b, caption.label_a) == ((3,), (3,), "table_caption")
    assert 0.9 < caption.agreement < 1
    assert grid.agreement == pytest.approx(55 / 56)
    assert (number.a, number.b, number.agreement, number.text_b) == ((), (7,), 0, "10")
    assert found.differing == [page]
    assert repr(found).startswith("<Comparison of base and gundam: 9")
    assert "3 differences" in repr(page)


def test_the_same_run_agrees_wholly(runs: tuple[Document, Document]) -> None:
    found = compare(runs[0], runs[0])
    assert found.agreement == 1
    assert not found.differing
    root = twin(found)
    assert "100.0 % the same" in said(root)
    assert "6 blocks are the same" in said(root)
    assert not root.find_class("uo-only")[2:], "but for the two words that explain the marks"


def test_the_twin_shows_the_differences_and_folds_the_rest(runs: tuple[Document, Document]) -> None:
    root = twin(compare(*runs))
    assert root.get("data-view") == "compare"
    told = json.loads(root.get("data-doc"))
    assert (told["names"], told["differ"], told["total"]) == (["base", "gundam"], [3, 0], 2)
    first = root.find_class("uo-p1")[0]
    assert [box.get("data-b") for box in first.find_class("uo-box")] == ["3", "4", "7"]
    rows = first.find_class("uo-cmp")
    assert [row.get("data-b") for row in rows] == ["3", "4", "7"]
    assert [said(fold.find("summary")) for fold in first.find_class("uo-same")] == [
        "2 blocks are the same",
        "2 blocks are the same",
    ]
    assert [said(mark) for mark in rows[0].find_class("uo-only-a")] == ["!", "DeepSeek OCR"]
    assert [said(mark) for mark in rows[0].find_class("uo-only-b")] == ["|", "DeepSeek-OCR"]
    assert [said(column) for column in rows[2].find_class("uo-said")] == ["not in A", "10"]
    assert re.search(r"9\d %", said(rows[0].find_class("uo-share")[0]))
    heads = said(first.find_class("uo-heads")[0])
    assert "A base 640 tokens, 1.2 s" in heads
    assert "B gundam 1,087 tokens, 3.4 s" in heads
    assert "A and B agree on 4 of 7 blocks" in said(first)
    assert rows[0].get("title") == "Block 3 of 7, caption, 96 % the same: block 3 in A, block 3 in B"


def test_rows_and_columns_of_a_table_that_are_the_same_fold(runs: tuple[Document, Document]) -> None:
    row = twin(compare(*runs)).find_class("uo-p1")[0].find_class("uo-cmp")[1]
    mine = row.find_class("uo-side-a")[0]
    folded = mine.find_class("uo-rest")[0]
    assert said(folded.find("summary")) == "6 more rows and 2 columns are the same"
    shown = mine.find_class("uo-scroll")[0]
    assert [[said(cell) for cell in line] for line in shown.iter("tr")] == [
        ["Model", "Edit", "Paper", "Book", "Colour"],
        ["M3", "Text", "0.32", "0.33", "0.34"],
    ]
    assert [said(mark) for mark in shown.find_class("uo-only")] == ["0.33"]
    assert len(list(folded.iter("tr"))) == 8


def test_the_page_shows_about_where_they_differ(runs: tuple[Document, Document]) -> None:
    first = twin(compare(*runs)).find_class("uo-p1")[0]
    places = [
        re.findall(r"(left|top|width|height):([\d.]+)%", mark.get("style")) for mark in first.find_class("uo-where")
    ]
    found = [{name: float(value) for name, value in place} for place in places]
    # Two words of the caption, and the cell in row 4 of 8, column 4 of 7 of the table.
    assert len(found) == 3
    assert all(21 <= place["top"] <= 24.1 for place in found[:2])
    cell = found[2]
    assert cell["top"] == pytest.approx((250 + 150 * 3 / 8) / 9.99, abs=0.2)
    assert 45 < cell["left"] < 60
    marks = first.find_class("uo-where")
    assert not marks[0].getprevious().find_class("uo-box"), "they lie under the boxes"


def test_sides_are_told_apart_without_colour(runs: tuple[Document, Document]) -> None:
    root = twin(compare(*runs))
    lines = {
        letter: {
            re.search(r"border-bottom:[^;]*", mark.get("style"))[0].split("#")[0]
            for mark in root.find_class(f"uo-only-{letter}")
        }
        for letter in "ab"
    }
    assert lines == {"a": {"border-bottom:2px dashed "}, "b": {"border-bottom:2px solid "}}
    assert {mark.get("title") for mark in root.find_class("uo-only-a")} == {"only in A"}


def test_labels_splits_and_order_are_said(make_page: MakePage) -> None:
    whole = Block("text", f"{BASE[1].text}\n{BASE[5].text}", (130, 120, 870, 620))
    a = make_page(1, blocks=(BASE[0], BASE[1], BASE[5]))
    b = make_page(1, blocks=(replace(BASE[0], label="text"), whole))
    found = compare(a, b)
    assert found.agreement == 1
    text = said(twin(found))
    assert "title" in text
    assert "blocks 2 and 3" in text
    assert "100.0 % the same" in text
    turned = compare(a, make_page(1, blocks=(BASE[5], BASE[0], BASE[1])))
    assert turned.pages[0].moved == 1
    assert "1 block in another order" in said(twin(turned))


def test_pages_are_matched_by_source_and_number(make_page: MakePage) -> None:
    a = [make_page(n, source="a.pdf", number=n) for n in (1, 2)] + [make_page(3, source="b.pdf", number=1)]
    b = [
        make_page(1, source="b.pdf", number=1),
        make_page(2, source="a.pdf", number=2),
        make_page(3, source="c.pdf", number=1),
    ]
    found = compare(Document(a), Document(b))
    assert [(page.a and page.a.position, page.b and page.b.position) for page in found.pages] == [
        (1, None),
        (2, 2),
        (None, 3),
        (3, 1),
    ]
    assert [page.agreement for page in found.pages] == [0, 1, 0, 1]
    assert found.pages[0].status is Status.MISSING
    assert found.notes == ["Only A has 1 page of 4 (1).", "Only B has 1 page of 4 (3)."]
    text = said(twin(found))
    assert "B has no such page." in text
    assert "Only A has 1 page of 4 (1)." in text


def test_runs_of_other_sources_are_matched_by_order(make_page: MakePage) -> None:
    a = Document([make_page(1, source="a.pdf"), make_page(2, source="a.pdf")])
    found = compare(a, Document([make_page(1, source="scan.pdf")]))
    assert [page.agreement for page in found.pages] == [1, 0]
    assert found.notes[0].startswith("The two runs have no source in common")
    assert str(found).count("Only A has") == 1


@pytest.mark.parametrize("other", [[], [Page(1, 1, "x", (0, 0), status=Status.FAILED, reason="No answer in 3 tries.")]])
def test_empty_and_failed_runs_are_shown(make_page: MakePage, other: list[Page]) -> None:
    for one, two in ((Document([make_page()]), Document(other)), (Document(other), Document(other))):
        found = compare(one, two)
        bundle = found._repr_mimebundle_()
        assert set(bundle) == {"text/html", "text/markdown", "text/plain"}
        twin(found)
        assert 0 <= found.agreement <= 1
    if other:
        assert "B is failed: No answer in 3 tries." in str(compare(Document([make_page()]), Document(other)))


def test_pages_that_failed_alike_are_the_same(make_page: MakePage) -> None:
    a = make_page(1, status=Status.TRUNCATED, reason="The answer stopped at 4,096 tokens.")
    found = compare(a, a)
    assert found.pages[0].same
    assert "Both are truncated: The answer stopped at 4,096 tokens." in said(twin(found))
    found = compare(a, replace(a, status=Status.OK, reason=""))
    assert found.differing == found.pages
    assert "A is truncated: The answer stopped at 4,096 tokens." in str(found)


def test_names(runs: tuple[Document, Document]) -> None:
    a, b = runs
    assert compare(a, b, ("A", "B")).names == ("", "")
    assert compare(a, b, names=("one\nrun", "x" * 99)).names == ("one run", "x" * 40)
    assert compare(a, a).names == ("", "")
    for names in ("AB", ("A",), ("A", "B", "C")):
        with pytest.raises(OptionError, match="must be two"):
            compare(a, b, names=names)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="Only documents and pages"):
        compare(a, "b.json")  # type: ignore[arg-type]
    with pytest.raises(IndexError, match="There is no page 3"):
        compare(a, b).page(3)


def test_the_plain_text_fits_a_terminal(runs: tuple[Document, Document]) -> None:
    text = str(compare(*runs))
    assert text.splitlines()[0].startswith("A (base) and B (gundam): 9")
    assert all(len(line) <= 80 for line in text.splitlines())
    assert "[DeepSeek OCR]" in text
    assert "[DeepSeek-OCR]" in text
    assert "[0.38]" in text
    assert "A not in A" in text


def test_markdown_is_escaped(make_page: MakePage) -> None:
    a = make_page(blocks=(Block("text", "*one* <b>two</b> [x](y) three", (1, 1, 900, 90)),))
    b = make_page(blocks=(Block("text", "*one* <b>2</b> [x](y) three", (1, 1, 900, 90)),))
    text = compare(a, b)._repr_mimebundle_()["text/markdown"]
    assert "<b>" not in text
    assert "\\*one\\*" in text
    assert "[x](y)" not in text


def test_a_data_frame_has_a_row_a_block(runs: tuple[Document, Document]) -> None:
    pytest.importorskip("pandas")
    frame = compare(*runs).to_dataframe()
    assert list(frame.columns)[:4] == ["page", "number", "label_a", "label_b"]
    assert len(frame) == 13
    assert frame["same"].sum() == 10


def test_percent_never_rounds_a_difference_away() -> None:
    assert [percent(value) for value in (1, 0.9999, 0.5, 0.001, 0)] == ["100 %", "99 %", "50 %", "1 %", "0 %"]
    assert [percent(value, 1) for value in (1, 0.99999, 0.00001)] == ["100.0 %", "99.9 %", "0.1 %"]


def test_ten_pages_and_two_megabytes(make_page: MakePage) -> None:
    words = " ".join(f"word{n}" for n in range(900))
    long = tuple(Block("text", f"{n} {words}", (10, n * 20, 900, n * 20 + 18)) for n in range(30))
    a = [make_page(n, blocks=BASE if n != 7 else long, noise=n == 7) for n in range(1, 13)]
    b = [replace(page, blocks=GUNDAM if n % 2 else BASE) for n, page in enumerate(a)]
    b[6] = replace(a[6], blocks=tuple(replace(block, text=block.text.replace("5", "6")) for block in long))
    found = compare(Document(a), Document(b))
    shown = shown_pages(found)
    assert len(shown) == 10
    assert [page.agreement for page in shown] == sorted(page.agreement for page in shown)
    html = comparison_html(found)
    assert len(html.encode()) <= 2_000_000
    pages = [len(lxml.html.tostring(page)) for page in lxml.html.fromstring(html).find_class("uo-page")]
    assert max(pages) <= 200_000
    assert "more difference" in html
    assert "more pages" in html
    assert len(found._repr_mimebundle_()["text/plain"]) < 40_000


def test_a_hostile_page_does_nothing(make_page: MakePage) -> None:
    blocks = tuple(
        Block(label, text, (9, 9 + 20 * n, 900, 25 + 20 * n))
        for n, text in enumerate(HOSTILE)
        for label in ("text", "title", "equation", "code", "image", text)
    )
    cells = "".join(f"<td>{text}</td>" for text in HOSTILE)
    a = make_page(
        1, blocks=(*blocks, Block("table", f"<table><tr>{cells}</tr></table>", (9, 9, 900, 900))), source=HOSTILE[0]
    )
    changed = tuple(replace(block, text=f"{block.text} {HOSTILE[1]} x") for block in reversed(a.blocks))
    b = replace(a, blocks=changed, status=Status.FAILED, reason=HOSTILE[1])
    found = compare(Document([a, a]), Document([b, a]), names=(HOSTILE[0], HOSTILE[1]))
    root = twin(found)
    assert not root.xpath("//script|//iframe|//svg|//style")
    for text in (str(found), found._repr_mimebundle_()["text/markdown"]):
        assert "\x1b" not in text


FRAGMENTS = (
    "word ",
    "w0rd ",
    "two\n",
    "\\(x^2\\)",
    "\\[",
    "$$y$$",
    "数字",
    "אבג ",
    "- ",
    "• ",
    "e\u0301",
    "\ud800",
    "\u202e",
    "\x1b[31m",
)
TEXTS = st.lists(
    st.sampled_from((*FRAGMENTS, "<table>", "<tr>", "<td rowspan=9>", "1.5", "</table>", *HOSTILE)), max_size=12
).map("".join)
LABELS = st.sampled_from(["text", "title", "equation", "table", "image", "list", "code", "odd<x>", "page_number"])
BLOCKS = st.lists(st.builds(Block, LABELS, TEXTS, st.none() | st.tuples(*[st.integers(-3, 1003)] * 4)), max_size=5)
PAGES = st.lists(
    st.builds(
        lambda blocks, status: Page(1, 1, "a.pdf", (620, 877), tuple(blocks), status=status),
        BLOCKS,
        st.sampled_from(list(Status)),
    ),
    max_size=2,
)


@given(PAGES, PAGES)
@settings(max_examples=40, deadline=None)
def test_any_two_runs_can_be_compared(a: list[Page], b: list[Page]) -> None:
    found = compare(Document(a), Document(b))
    twin(found)
    bundle = found._repr_mimebundle_()
    for text in bundle.values():
        text.encode("utf-8")
    assert all(cells(line) <= COLUMNS for line in bundle["text/plain"].split("\n"))
    assert not set(bundle["text/plain"]) & {"\x1b", "\u202e"}
    assert compare(Document(b), Document(a)).agreement == found.agreement
