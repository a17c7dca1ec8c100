from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from harmless import HOSTILE, check_harmless, parsed

from uocr_nb.document.model import Block, Document, Page, Status
from uocr_nb.views.labels import tag_of
from uocr_nb.views.page_html import chosen_pages, document_html, page_html
from uocr_nb.views.plain import document_plain, page_plain

if TYPE_CHECKING:
    from collections.abc import Callable


def test_only_what_an_untrusted_notebook_keeps(document: Document) -> None:
    check_harmless(document_html(document))
    check_harmless(document_html(document, whole=True))
    check_harmless(page_html(document.page(1)))


def test_one_root_that_a_script_can_find(document: Document) -> None:
    html = document_html(document, uid="abc")
    root = parsed(html)
    assert root.get("data-uid") == "abc"
    assert root.get("class").split() == ["uo-root", "tex2jax_ignore", "mathjax_ignore"]
    assert 'data-uid="abc"' not in document_html(document)
    assert len(root.xpath("//*[contains(@class, 'uo-page ')]")) == 5
    for number in range(1, 11):
        assert len(root.xpath(f"//*[contains(@class, 'uo-p1 ')]//*[@data-b='{number}']")) == 2


def test_numbers_and_codes_are_the_same_everywhere(document: Document) -> None:
    root = parsed(document_html(document))
    plain = page_plain(document.page(1))
    first = root.xpath("//*[contains(@class, 'uo-p1 ')]")[0]
    expected = [tag_of(n, block.label) for n, block in enumerate(document.page(1).blocks, 1)]
    assert expected == ["1 Hd", "2 Ti", "3 Tx", "4 Tb", "5 Ca", "6 Eq", "7 Im", "8 Li", "9 Se", "10 Pn"]
    assert [tag.text for tag in first.xpath(".//*[@class='uo-tag']")] == expected
    assert [tag.text for tag in first.xpath(".//*[@class='uo-no']")] == expected
    assert re.findall(r"^ +(\d+ \w\w)  ", plain, re.MULTILINE) == expected


def test_statuses_and_words_are_the_same_in_html_and_plain(document: Document) -> None:
    text = parsed(document_html(document)).text_content()
    plain = document_plain(document)
    for words in (
        "2 ok",
        "5 pages",
        "1 truncated (p. 3)",
        "1 looping (p. 4)",
        "1 failed (p. 5)",
        "Run the 3 again: doc.retry()",
    ):
        assert words in text
        assert words.replace("p. ", "") in plain
    for words in ("1,087 tokens", "3.4 s", "4,096 tokens", "No answer in 3 tries.", "Cut here, at 4,096 tokens"):
        assert words in text
    assert "10 blocks: 1 title, 1 text, 1 table" in text
    assert document.page(2).warnings[0] in text


def test_boxes_stand_where_the_answer_says(document: Document) -> None:
    box = parsed(document_html(document)).xpath("//*[contains(@class, 'uo-box uo-b4')]")[0]
    style = box.get("style")
    assert "left:15.02%;top:22.02%;width:70.07%;height:18.02%" in style
    assert "border:3px double #8a2c0c" in style
    assert box.get("title") == "Block 4 of 10, table, 3 rows, 3 columns"


def test_text_is_never_typeset_and_formulas_are(document: Document) -> None:
    root = parsed(document_html(document))
    formulas = root.xpath("//*[contains(@class, 'mathjax_process')]")
    assert {f.text for f in formulas} == {"$E = mc^2$", "$$a < b$$"}
    assert all("tex2jax_process" in f.get("class") for f in formulas)
    assert "A price of $5 to $6 a page" in root.text_content()


@pytest.mark.parametrize(
    "formula", [r"\href{javascript:alert(1)}{x}", r"\def\x{\x\x}\x", r"\style{color:red}{x}", "x" * 4000]
)
def test_a_formula_that_reaches_past_itself_stays_text(make_page: Callable[..., Page], formula: str) -> None:
    page = make_page(blocks=(Block("equation", f"\\[{formula}\\]", (1, 1, 9, 9)),))
    root = check_harmless(page_html(page))
    assert not root.xpath("//*[contains(@class, 'mathjax_process')]")
    assert formula in root.text_content()


def test_a_dollar_sign_cannot_end_a_formula_early(make_page: Callable[..., Page]) -> None:
    page = make_page(blocks=(Block("text", r"so \(a $ b\) then", (1, 1, 9, 9)),))
    formula = parsed(page_html(page)).xpath("//*[contains(@class, 'mathjax_process')]")[0]
    assert formula.text == r"$a \$ b$"


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("label", ["text", "title", "equation", "code", "image", "list", "footer", "made_up"])
def test_text_of_a_page_is_inert(make_page: Callable[..., Page], text: str, label: str) -> None:
    page = make_page(blocks=(Block(label, text, (1, 1, 90, 90)),), raw=text, reason=text, warnings=(text,), source=text)
    root = check_harmless(page_html(page))
    shown = root.xpath("//*[@class='uo-text']")[0].text_content()
    assert "".join(text.split()) in "".join(shown.split()).replace("\\$", "$")
    assert root.xpath("//*[@class='uo-name']")[0].text == text


@pytest.mark.parametrize("text", HOSTILE)
def test_labels_tables_and_names_are_inert(make_page: Callable[..., Page], text: str) -> None:
    page = make_page(
        blocks=(
            Block(text, "x", (1, 1, 9, 9)),
            Block("table", f"<table><tr><td>{text}</td><td>1</td></tr></table>", (1, 1, 9, 9)),
        ),
        status=Status.FAILED,
        reason=text,
    )
    document = Document([page], warnings=[text], meta={"engine": text})
    check_harmless(document_html(document, uid=text))
    check_harmless(document_html(Document([page, page]), whole=True))


def test_a_table_keeps_spans_and_stands_numbers_right(document: Document) -> None:
    table = parsed(document_html(document)).xpath("//table")[0]
    rows = [[cell.text for cell in row.xpath("./td|./th")] for row in table.iter("tr")]
    assert rows == [["Model", "Edit", "Score"], ["One", "Text", "0.052"], ["Order", "0.125"]]
    cells = {cell.text: cell for cell in table.iter("td", "th")}
    assert cells["One"].get("rowspan") == "2"
    assert "text-align:right" in cells["0.052"].get("style")
    assert "text-align:right" in cells["Score"].get("style")
    assert "font-weight:600" in cells["Score"].get("style")
    assert "text-align:left" in cells["Text"].get("style")
    assert "table-layout:auto" in table.get("style")


def test_what_was_not_read_is_marked(document: Document) -> None:
    root = parsed(document_html(document))
    counts = {n: len(root.xpath(f"//*[contains(@class, 'uo-p{n} ')]//*[@class='uo-unread']")) for n in range(1, 6)}
    assert counts == {1: 0, 2: 0, 3: 1, 4: 1, 5: 1}
    assert "top:40.04%" in root.xpath("//*[contains(@class, 'uo-p3 ')]//*[@class='uo-unread']")[0].get("style")
    banners = [banner.text_content() for banner in root.xpath("//*[@class='uo-banner']")]
    assert [banner.split(".")[0] for banner in banners] == [
        "The answer stopped at 4,096 tokens, inside block 4",
        "The same row repeats from block 4 on",
        "No answer in 3 tries",
    ]
    assert all("doc.retry()" in banner for banner in banners)


def test_a_page_without_its_picture_shows_blank_paper(make_page: Callable[..., Page]) -> None:
    gone = make_page(picture=False)
    root = check_harmless(page_html(gone))
    assert len(root.xpath("//*[contains(@class, 'uo-box')]")) == 10
    assert root.xpath("//*[@class='uo-blank']")[0].get("style") == "padding:141.45% 0 0"
    assert "image, not shown" in root.text_content()
    never = Page(1, 1, "a.pdf", (0, 0), status=Status.FAILED, reason="Locked.")
    assert check_harmless(page_html(never)).xpath("//*[@class='uo-blank']")[0].get("style") == "padding:30.00% 0 0"


def test_a_picture_that_is_broken_is_named(make_page: Callable[..., Page]) -> None:
    page = make_page(size=(611, 877))  # a picture that no other test has shown
    assert page.image_file is not None
    page.image_file.write_bytes(page.image_file.read_bytes()[:60])
    assert check_harmless(page_html(page)).xpath("//*[@class='uo-blank']")[0].get("title")


def test_crops_of_figures_are_small(make_page: Callable[..., Page]) -> None:
    blocks = tuple(Block("image", f"Figure {n}", (n * 40, 10, n * 40 + 200, 400)) for n in range(12))
    page = make_page(blocks=blocks, noise=True, size=(900, 1273))
    html = page_html(page)
    assert len(parsed(html).xpath("//*[contains(@class, 'uo-row')]//img")) == 12
    assert len(html.encode()) <= 200_000


def crowded(make_page: Callable[..., Page], position: int, status: Status = Status.OK) -> Page:
    blocks = tuple(
        Block(
            "text" if n % 7 else "table",
            "字 <&>" * 400 if n % 50 else "x" * (900_000 if position == 1 else 9000),
            (n % 3 * 300, n * 3, n % 3 * 300 + 280, n * 3 + 30),
        )
        for n in range(300)
    )
    return make_page(
        position,
        noise=True,
        size=(900, 1273),
        blocks=blocks,
        raw="<&>" * (300_000 if position == 1 else 9000),
        status=status,
    )


def test_a_crowded_page_keeps_its_limit_and_names_the_rest(make_page: Callable[..., Page]) -> None:
    html = page_html(crowded(make_page, 1))
    assert 100_000 < len(html.encode()) <= 200_000
    text = check_harmless(html).text_content()
    assert re.search(r"\d+ more blocks: doc\.page\(1\)\.blocks", text)
    assert "more characters: print(doc.page(1).raw)" in text


def test_ten_pages_and_two_megabytes(make_page: Callable[..., Page]) -> None:
    pages = [crowded(make_page, n, Status.TRUNCATED if n in (13, 14) else Status.OK) for n in range(1, 15)]
    document = Document(pages)
    html = document_html(document)
    assert len(html.encode()) <= 2_000_000
    root = parsed(html)
    shown = [int(re.search(r"uo-p(\d+)", e.get("class"))[1]) for e in root.xpath("//*[contains(@class, 'uo-page ')]")]  # type: ignore[index]
    assert shown == [1, 2, 3, 4, 5, 6, 7, 8, 13, 14]
    assert "4 more pages (9-12)" in root.text_content()
    assert 'doc.save("document.html")' in root.text_content()


def test_trouble_comes_before_order(make_page: Callable[..., Page]) -> None:
    pages = [make_page(n, picture=False, status=Status.FAILED if n > 30 else Status.OK) for n in range(1, 51)]
    chosen = [page.position for page in chosen_pages(pages)]
    assert chosen == [1, *range(31, 40)]
    assert all(a < b for a, b in pairwise(chosen))
    for n in range(40, 50):
        pages[n] = Page(n + 1, n + 1, "report.pdf", (0, 0), status=Status.MISSING)
    pages[44] = make_page(45, status=Status.LOOPING)
    for n in range(30, 40):
        pages[n] = make_page(n + 1, picture=False)
    assert [page.position for page in chosen_pages(pages)] == [1, 2, 3, 4, 5, 6, 7, 8, 9, 45]


def test_pages_of_several_sources_carry_their_names(make_page: Callable[..., Page]) -> None:
    pages = [("a.png", 1), ("b.pdf", 7), ("c.png", 1)]
    document = Document([make_page(n, source=name, number=number) for n, (name, number) in enumerate(pages, 1)])
    text = parsed(document_html(document)).text_content()
    assert "3 sources" in text
    assert "b.pdf page 2 of 3 (page 7 of its source)" in text
    assert "c.png page 3 of 3 ok" in text


def test_right_to_left_text_stands_right(make_page: Callable[..., Page]) -> None:
    page = make_page(blocks=(Block("text", "12 هذا نص", (1, 1, 9, 9)), Block("text", "plain", (1, 1, 9, 9))))
    rows = parsed(page_html(page)).xpath("//*[@class='uo-text']")
    assert ["text-align:right" in row.get("style") for row in rows] == [True, False]
    assert all(row.get("dir") == "auto" for row in rows)
