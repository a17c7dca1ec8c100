"""Markdown and text: the page's words stay words."""

from __future__ import annotations

import re

import pytest

from uocr_nb.document.model import Block, Document, Page, Status
from uocr_nb.markup.markdown import block_markdown, block_text, document_markdown, page_markdown, page_text
from uocr_nb.markup.maths import split_maths, tidy


def md(text: str, label: str = "text") -> str:
    return block_markdown(Block(label, text))


def page(*blocks: tuple[str, str], status: Status = Status.OK, reason: str = "") -> Page:
    return Page(1, 1, "a.pdf", (9, 9), tuple(Block(*block) for block in blocks), status=status, reason=reason)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("Cost $5.", "Cost \\$5."),
        ("Cost $5 and $7.", "Cost <span>\\$</span>5 and <span>\\$</span>7."),
        ("a \\( x^2 \\) from $100", "a $x^2$ from <span>\\$</span>100"),
        ("a $x^2$ from $100", "a $x^2$ from <span>\\$</span>100"),
        ("from $100 to $1000", "from <span>\\$</span>100 to <span>\\$</span>1000"),
        ("US$5, A$x", "US<span>\\$</span>5, A<span>\\$</span>x"),
        ("open \\( x", "open <span>\\\\</span>( x"),
        ("<script>alert(1)</script>", "&lt;script>alert(1)&lt;/script>"),
        ("x < y & z &amp; w", "x < y & z &amp;amp; w"),
        ("[k](javascript:1) ![p](http://r/x.png)", "[k\\](javascript:1) ![p\\](http\\://r/x.png)"),
        ("[a]: javascript:1", "[a\\]: javascript:1"),
        ("# 5\n> q\n===", "\\# 5  \n\\> q  \n\\==="),
        ("*a* snake_case _b_ `c` 2 * 3", "\\*a\\* snake_case \\_b\\_ \\`c\\` 2 * 3"),
        ("one\ntwo\n- a\n- b", "one  \ntwo\n- a\n- b"),
        ("[31] W. Wang", "[31] W. Wang"),
        ("https://a.b/c_d www.a.b a@b.c 5:30", "https\\://a.b/c_d www\\.a.b a\\@b.c 5:30"),
        ("1986. A great year\n- - -\n+ x", "1986\\. A great year  \n\\- - -  \n\\+ x"),
        ("|a|\n|-|\n- [ ] x", "|a|  \n\\|-|\n- \\[ ] x"),
        ("\\begin{x} \\\\srv\\x", "<span>\\\\</span>begin{x} <span>\\\\</span>\\srv\\x"),
        ("\u202egnp.exe", "[U+202E]gnp.exe"),
        ("\\( \\href{javascript:1}{x} \\)", "` \\href{javascript:1}{x} `"),
        ("\\( a <b \\)", "$a < b$"),
    ],
)
def test_prose(text: str, written: str) -> None:
    assert md(text) == written


def test_labels() -> None:
    assert md("Two\nlines", "title") == "## Two<br>lines"
    assert md("\\[\nE = m\n\\tag {1}\n\\]", "equation") == "$$\nE = m\n\\tag{1}\n$$"
    assert md("x ^ {2}", "equation") == "$$\nx^{2}\n$$"
    assert md("$$ x $$", "equation") == "$$\nx\n$$"
    assert md("", "image") == "*[image]*"
    assert md("a ``` b", "code") == "````\na ``` b\n````"
    assert md("", "list") == md("", "text") == ""
    assert md("margin", "aside_text") == "margin"
    assert md('<table><tr><td rowspan="2">$5</td><td>\\( x \\)</td></tr><tr><td>b</td></tr></table>', "table") == (
        '<table><tr><td rowspan="2">&#36;5</td><td>$x$</td></tr><tr><td>b</td></tr></table>'
    )


def test_the_marks_of_text_that_is_being_written_are_none_of_the_page() -> None:
    cell = "\ufdd0x\ufdd0 \ufdd2y\ufdd2 \ufdd3("
    assert not re.search(r"\$|span|&#", block_markdown(Block("table", f"<table><tr><td>{cell}</td></tr></table>")))


def test_a_page() -> None:
    made = page(
        ("header", "Journal"),
        ("title", "Head"),
        ("text", "- one"),
        ("text", "- two"),
        ("list", ""),
        ("image", ""),
        ("page_footnote", "1 note"),
        ("page_number", "7"),
    )
    assert page_markdown(made) == "## Head\n\n- one\n- two\n\n*[image]*\n\n1 note"
    assert page_markdown(made, furniture=True).startswith("Journal\n\n## Head")
    assert page_text(made) == "Head\n\n- one\n\n- two\n\n1 note"
    assert page_text(made, furniture=True).endswith("7")
    assert made.markdown == page_markdown(made)
    assert made.text == page_text(made)


def test_a_document_names_pages_that_are_not_ok() -> None:
    document = Document([page(("text", "a")), page(status=Status.FAILED, reason="The endpoint has gone.")])
    assert document_markdown(document) == "a\n\n---\n\n*[page 2: The endpoint has gone.]*"
    assert document.markdown == document_markdown(document)
    assert document.text == "a\f"


def test_text() -> None:
    assert block_text(Block("table", "<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>")) == "a\tb\nc\t"
    assert block_text(Block("text", "a \\( x \\) b")) == "a x b"


@pytest.mark.parametrize(
    ("formula", "tidied"),
    [
        ("c u r p d f = t r i a n g (l o w, h i g h)", "curpdf = triang (low, high)"),
        ("1. 2 1 0", "1.210"),
        ("\\alpha b + \\frac {x ^ {2}} {3}", "\\alpha b + \\frac{x^{2}}{3}"),
        ("\\text { a b c } x ^ 2", "\\text{ a b c } x^2"),
        ("a b", "a b"),
        ("x \\coloneqq 5", "x := 5"),
        ("cost $5", "cost \\$5"),
    ],
)
def test_tidy_changes_only_what_latex_ignores(formula: str, tidied: str) -> None:
    assert tidy(formula) == tidied


def test_parts() -> None:
    assert split_maths("a \\(x\\) b \\[y\\]") == [("text", "a "), ("inline", "x"), ("text", " b "), ("display", "y")]
    assert split_maths("\\[ a \\\\[2pt] b \\]") == [("display", "a \\\\[2pt] b")]
    assert split_maths("\\( a \\( b \\)") == [("text", "\\( a "), ("inline", "b")]


@pytest.mark.parametrize("shape", ["\\(", "a b c ", " ", " ^", "*a", "\\\\", "[a](", "<a ", "    \n", "---", "`", "1 "])
@pytest.mark.timeout(60)
def test_hostile_text_is_written_to_its_end(shape: str) -> None:
    text = shape * (120_000 // len(shape))
    for written in (text, f"\\[{text}\\]"):
        for said in (
            block_markdown(Block("text", written)),
            block_text(Block("text", written)),
            block_markdown(Block("table", written)),
        ):
            assert len(said) <= 40 * len(written), "what is written grows with the text, not with its square"


@pytest.mark.parametrize("label", ["header", "footer", "page_number"])
@pytest.mark.parametrize("beside", [[], [("image", "")], [("text", " ")], [("table", "<table></table>")]])
def test_furniture_is_kept_where_a_page_has_no_other_text(label: str, beside: list[tuple[str, str]]) -> None:
    made = page(*beside, (label, "Hello"))
    assert page_markdown(made).endswith("Hello")
    assert page_text(made) == "Hello"
    assert document_markdown(Document([made, page((label, "no"), ("text", "yes"))])).endswith("Hello\n\n---\n\nyes")


def test_of_several_sources_each_is_named_once() -> None:
    pages = [
        Page(n, n, name, (9, 9), (Block("text", f"page {n}"),))
        for n, name in enumerate(["a_1.pdf", "a_1.pdf", "*b*.png"], 1)
    ]
    written = document_markdown(Document(pages))
    assert written.split("\n\n---\n\n") == ["*[a_1.pdf]*\n\npage 1", "page 2", "*[\\*b\\*.png]*\n\npage 3"]
    assert "[" not in document_markdown(Document(pages[:2]))
