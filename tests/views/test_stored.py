"""What a stored form tells a script, how large it is, and what is left of it where a host takes most of it away."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import lxml.html
import nh3
import pytest
from harmless import HOSTILE, check_harmless, parsed

from uocr_nb.document.model import Block, Document, Page, Status
from uocr_nb.markup.safe_html import quoted
from uocr_nb.reading.progress import Progress
from uocr_nb.views.live_html import live_html
from uocr_nb.views.marks import document_marks, states_of
from uocr_nb.views.page_html import FRAGMENT_BYTES, document_html, page_fragment, page_html
from uocr_nb.views.script import inline_script

if TYPE_CHECKING:
    from collections.abc import Callable

GITHUB = {
    *(["h1", "h2", "h3", "h4", "h5", "h6", "br", "b", "i", "strong", "em", "a", "pre", "code", "img", "tt", "div"]),
    *(["ins", "del", "sup", "sub", "p", "ol", "ul", "li", "table", "thead", "tbody", "tfoot", "blockquote", "dl"]),
    *(["dt", "dd", "kbd", "q", "samp", "var", "hr", "ruby", "rt", "rp", "tr", "td", "th", "s", "strike", "summary"]),
    *(["details", "caption", "span"]),
}
GITHUB_ATTRIBUTES = {
    "*": {"alt", "align", "colspan", "rowspan", "dir", "title", "open", "width", "height"},
    "a": {"href"},
    "img": {"src"},
}


def told(html: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(lxml.html.fromstring(html).get("data-doc"))
    return found


def test_the_document_is_told_in_short(document: Document) -> None:
    document.meta["mode"] = "gundam"
    assert told(document_html(document)) == {
        "name": "report.pdf",
        "total": 5,
        "status": "ootlf",
        "sources": [["report.pdf", 1]],
        "mode": "gundam",
        "engine": "cpu",
        "edits": 0,
    }


def test_a_page_alone_is_page_1_of_1(document: Document) -> None:
    html = page_html(document.page(3))
    assert (told(html)["total"], told(html)["status"]) == (1, "t")
    assert parsed(html).xpath("//*[contains(@class, 'uo-p3 ')]")[0].get("data-p") == "1"


def test_names_are_cut_and_sources_bounded(make_page: Callable[..., Page]) -> None:
    pages = [Page(n, 1, f"{n} " + "x" * 400, (60, 80)) for n in range(1, 1001)]
    found = told(f"<div{document_marks(pages)}></div>")
    assert found["name"] == "1,000 sources"
    assert len(found["sources"]) == 401
    assert found["sources"][-1] == ["", 401]
    assert max(len(name) for name, _first in found["sources"]) == 200
    turned = [replace(pages[0], source=name) for name in ("a.pdf", "b.pdf", "a.pdf")]
    again = [replace(page, position=n) for n, page in enumerate(turned, 1)]
    assert told(f"<div{document_marks(again)}></div>")["sources"] == [["a.pdf", 1], ["b.pdf", 2], ["a.pdf", 3]]


def test_a_run_tells_what_is_read_and_what_waits(make_page: Callable[..., Page]) -> None:
    done = [make_page(1), make_page(4, status=Status.LOOPING)]
    reading = make_page(2, raw="")
    assert states_of(done, total=6, reading=(2,)) == "orwlww"
    html = live_html(Progress(6, 2, reading=(2,), look=lambda: (reading,)), done)
    assert told(html)["status"] == "orwlww"
    front = check_harmless(html).xpath("//*[contains(@class, 'uo-page ')]")
    assert [(one.get("data-p"), one.get("data-status")) for one in front] == [("2", "reading")]
    assert "data-mml" not in html


def test_pages_and_blocks_carry_what_the_script_needs(document: Document) -> None:
    root = parsed(document_html(document))
    pages = root.xpath("./*[contains(@class, 'uo-page ')]")
    assert [page.get("data-p") for page in pages] == ["1", "2", "3", "4", "5"]
    assert [page.get("data-status") for page in pages] == ["ok", "ok", "truncated", "looping", "failed"]
    assert pages[0].get("data-facts") == "1,087 tokens · 3.4 s"
    assert (pages[1].get("data-n"), pages[1].get("data-source")) == ("2", "report.pdf")
    assert pages[0].tag == "div"
    assert {page.tag for page in pages[1:]} == {"details"}
    for page in pages:
        assert len(page.xpath("./*[contains(@class, 'uo-head')]")) == 1
        assert len(page.xpath("./*[@class='uo-panes']/*[@class='uo-paper']/*[@class='uo-sheet']")) == 1
        assert len(page.xpath("./*[@class='uo-panes']/*[@class='uo-pane']")) == 1
    box, row = pages[0].xpath(".//*[@data-b='5']")
    assert {name: box.get(f"data-{name}") for name in "lfck"} == {"l": None, "f": "caption", "c": None, "k": None}
    caption = {"l": "table_caption", "f": "caption", "c": "Ca", "k": "caption"}
    assert {name: row.get(f"data-{name}") for name in "lfck"} == caption
    assert (box.get("title"), row.get("title")) == ("Block 5 of 10, caption", None)
    box, row = pages[0].xpath(".//*[@data-b='2']")
    assert {name: row.get(f"data-{name}") for name in "lfck"} == {"l": "title", "f": None, "c": "Ti", "k": None}
    assert box.get("data-f") == "title"
    assert [fold.get("class") for fold in pages[0].xpath("./details")] == ["uo-fold uo-raw", "uo-fold uo-source"]
    assert len(pages[1].xpath("./*[@class='uo-notes']")) == 1
    assert pages[3].xpath(".//*[@class='uo-reason']")[0].text == "The same row repeats from block 4 on."


def test_formulas_carry_their_mathml(document: Document) -> None:
    root = check_harmless(page_html(document.page(1)))
    inline, display = root.xpath("//*[@data-mml]")
    assert inline.text == "$E = mc^2$"
    assert re.fullmatch(r"<math><mi>E</mi>.*<msup>.*</math>", inline.get("data-mml"))
    assert display.get("data-mml").startswith('<math display="block">')


@pytest.mark.parametrize("formula", ["a' < b & \\text{\"<i>x</i>'}", "\\text{</script><!-- ]]>}", "x" * 1900])
def test_mathml_stays_in_its_attribute(make_page: Callable[..., Page], formula: str) -> None:
    page = make_page(blocks=(Block("text", f"so \\({formula}\\) <b>", (1, 1, 9, 9)),), raw="")
    html = page_html(page)
    for found in check_harmless(html).xpath("//*[@data-mml]"):
        inner = lxml.html.fromstring(found.get("data-mml"))
        assert inner.tag == "math"
        assert not inner.xpath("//i|//script")
        assert len(found.get("data-mml")) <= 4_000


def test_many_formulas_do_not_push_the_text_out(make_page: Callable[..., Page]) -> None:
    formula = r"\(" + r"\frac{a_{1}^{2}}{\sqrt{b}} + " * 12 + r"c\)"
    blocks = tuple(Block("text", f"{n}: {formula}", (9, n * 9, 900, n * 9 + 8)) for n in range(60))
    html = page_html(make_page(blocks=blocks, raw=""))
    assert len(re.findall(r'class="uo-row', html)) == 60
    assert 0 < html.count("data-mml=") < 60
    assert html.count("tex2jax_process") >= 60


@pytest.mark.parametrize("text", [*HOSTILE, "'\"&<>", "a\0b", "\u202ex"])
def test_what_is_quoted_stays_between_its_quotes(text: str) -> None:
    (element,) = lxml.html.fragments_fromstring(f"<div title='{quoted(text)}'>x</div>")
    assert element.attrib.keys() == ["title"]
    assert element.text == "x"
    if "\0" not in text and "\u202e" not in text:
        assert element.get("title") == text


def test_corrected_blocks_are_marked_on_both_sides(document: Document) -> None:
    document.edit(1, 3, text="Corrected.")
    document.delete(1, 1)
    document.edit(2, 5, label="text")
    html = document_html(document)
    assert told(html)["edits"] == 3
    root = check_harmless(html)
    marked = [
        (page.get("data-p"), [one.get("data-b") for one in page.xpath(".//*[contains(@class, ' uo-edited')]")])
        for page in root.xpath("//*[contains(@class, 'uo-page ')]")
    ]
    assert marked[:3] == [("1", ["2", "2"]), ("2", ["5", "5"]), ("3", [])]
    box, row = root.xpath("//*[contains(@class, 'uo-p1 ')]//*[contains(@class, 'uo-edited')]")
    assert (box.get("title"), row.get("title")) == ("Block 2 of 9, text, edited", None)
    assert row.xpath("./*[@class='uo-no']")[0].text == "2 Tx•"
    fragment = page_fragment(document.page(1), 5, edited=document.edits.blocks(1))
    assert fragment.count(" uo-edited") == 2


def entries(count: int) -> tuple[Block, ...]:
    return tuple(
        Block("text" if n % 7 else "title", f"Entry {n}: a line of some forty characters", (n % 3 * 300, n, 300, n + 9))
        for n in range(count)
    )


@pytest.mark.parametrize("count", [5, 60, 300, 900])
def test_a_page_of_any_number_of_blocks_keeps_its_size(make_page: Callable[..., Page], count: int) -> None:
    page = make_page(blocks=entries(count), noise=True, size=(900, 1273), raw="x" * 60 * count)
    html = page_html(page)
    assert len(html.encode()) <= 200_000
    rows = html.count('class="uo-row')
    assert rows == count if count <= 300 else rows > 300
    assert check_harmless(html).xpath("//*[@class='uo-image']")
    for name in ("raw", "source"):
        assert f"uo-fold uo-{name}" in html
    whole = page_fragment(page, 1)
    assert whole.count('class="uo-row') == count if count <= 300 else len(whole) > 400_000
    assert len(whole.encode()) <= FRAGMENT_BYTES


def test_a_crowded_page_is_drawn_plainly_where_it_is_stored(make_page: Callable[..., Page]) -> None:
    special = {
        3: Block("text", "שלום", (1, 1, 90, 9)),
        4: Block("equation", "\\[a\\]", (1, 1, 90, 9)),
        5: Block("code", "if x:\n    y", (1, 1, 90, 9)),
        6: Block("text", "<b>two\nlines</b>", None),
        7: Block("text", "unsure", (1, 1, 90, 9), 0.2),
    }
    blocks = tuple(special.get(n, block) for n, block in enumerate(entries(61), 1))
    root = check_harmless(page_html(make_page(blocks=blocks, raw="")))
    rows = {row.get("data-b"): row for row in root.xpath("//*[contains(@class, 'uo-row')]")}
    assert [n for n, row in rows.items() if row.get("style")] == ["3", "4", "5"]
    assert {box.get("style").count(";") for box in root.xpath("//*[contains(@class, 'uo-box')]")} == {5}
    assert rows["8"].text_content() == "\xa08 Ti\xa0 Entry 7: a line of some forty characters"
    assert (rows["6"].get("title"), rows["6"].xpath("./span")[0].text) == ("Block 6 of 61, text", "<b>two\nlines</b>")
    assert rows["7"].xpath("./span/span[@class='uo-doubt']")
    for other in (page_html(make_page(blocks=blocks[:60], raw="")), page_fragment(make_page(blocks=blocks, raw=""), 1)):
        assert all(row.get("style") for row in check_harmless(other).xpath("//*[contains(@class, 'uo-row')]"))


def test_the_script_has_its_share_of_every_size(make_page: Callable[..., Page]) -> None:
    pages = [
        make_page(n, blocks=entries(300), noise=True, size=(900, 1273), raw="x" * 90_000, name="n")
        for n in range(1, 13)
    ]
    for count in (1, 2, 12):
        html = document_html(Document(pages[:count]))
        shown = min(count, 10)
        assert len(html.encode()) <= min(2_000_000, 200_000 * shown + 12_000 * (shown > 1))
        assert inline_script() in html


def test_a_fragment_is_a_page_unfolded(document: Document) -> None:
    page = document.page(4)
    (root,) = lxml.html.fragments_fromstring(page_fragment(page, 5, named=False))
    assert root.tag == "div"
    assert root.get("class") == "uo-page uo-p4 uo-s-looping"
    assert (root.get("data-p"), root.get("data-status")) == ("4", "looping")
    assert root.xpath("./*[@class='uo-banner']")
    assert not root.xpath(".//script|.//*[@id]")
    assert "page 4 of 5" in root.text_content()


def test_what_github_leaves_reads_in_order(document: Document) -> None:
    html = document_html(document)
    kept = nh3.clean(
        html,
        tags=GITHUB,
        attributes=GITHUB_ATTRIBUTES,
        url_schemes={"http", "https", "data"},
        clean_content_tags={"script", "style"},
        link_rel=None,
    )
    assert "style=" not in kept
    root = lxml.html.fromstring(kept)
    for element in root.xpath("//div|//tr|//summary|//pre|//br"):
        element.tail = f"\n{element.tail or ''}"
    text = re.sub(r"[ \n]*\n[ \n]*", "\n", root.text_content())
    story = [
        *("2 ok, 1 looping (p. 4), 1 truncated (p. 3), 1 failed (p. 5)", "report.pdf, 5 pages", "page 3"),
        *("truncated", "The answer stopped at 4,096 tokens", "Run the 3 again: doc.retry()", "page 1 of 5 ok"),
        *("1 Hd\nThe Journal of Small Things", "2 Ti\n5.3. Subcategory Study", "3 Tx\nA price of $5 to $6 a page"),
        *("One", "0.052", "Table 2 | A comparison.", "Answer as the model wrote it", "page 2 of 5 ok"),
        *("page 3 of 5 truncated", "Cut here, at 4,096 tokens", "page 4 of 5 looping", "page 5 of 5 failed"),
        "No answer in 3 tries.",
    ]
    at = 0
    for words in story:
        found = text.find(words, at)
        assert found >= 0, (words, text[at : at + 300])
        at = found + len(words)
    assert len(root.xpath("//table")) == 3
    assert root.xpath("//td[@rowspan='2']")
    assert root.xpath("//img[@alt='Page 1']")
    assert "boot" not in text


def test_without_script_and_data_nothing_that_people_see_is_gone(document: Document) -> None:
    html = document_html(document)
    left = lxml.html.fromstring(html)
    for element in left.iter():
        for name in [name for name in element.attrib if name.startswith("data-")]:
            del element.attrib[name]
    for script in left.xpath("//script"):
        script.getparent().remove(script)
    assert left.text_content() == parsed(html).text_content()
    assert not left.xpath("//math|//svg|//style|//*[@aria-label]|//*[@role]|//*[@tabindex]")
