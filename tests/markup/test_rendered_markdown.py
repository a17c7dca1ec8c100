"""Page text stays text in any markdown renderer: checked with real parsers, raw HTML on."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from typing import Any

import mistune
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from uocr_nb.document.model import Block, Page, Status
from uocr_nb.markup.markdown import block_markdown, page_markdown
from uocr_nb.markup.maths import split_maths
from uocr_nb.markup.safe_html import visible

TEXT_TAGS = {"p", "br", "span", "ul", "li", "h2"}
ALL_TAGS = TEXT_TAGS | {"table", "tbody", "tr", "td", "th", "sub", "sup", "pre", "code", "em", "hr"}

RENDERERS = {
    "commonmark": MarkdownIt("commonmark", {"html": True}).render,
    "github": MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render,
    "mistune": mistune.create_markdown(escape=False, plugins=["strikethrough", "table", "task_lists", "footnotes"]),
}


class Seen(HTMLParser):
    """The tags and attributes of rendered markdown, and its text with its line ends."""

    def __init__(self, markup: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, tuple[tuple[str, str | None], ...]]] = []
        self.text = ""
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, tuple(attrs)))
        if tag in ("p", "li", "br", "h2", "td", "th", "tr", "pre", "ul"):
            self.text += "\n"

    def handle_comment(self, data: str) -> None:
        self.tags.append((f"<!--{data}-->", ()))

    def handle_decl(self, decl: str) -> None:
        self.tags.append((f"<!{decl}>", ()))

    def handle_pi(self, data: str) -> None:
        self.tags.append((f"<?{data}>", ()))

    def handle_data(self, data: str) -> None:
        self.text += data


def rendered(name: str, text: str) -> Seen:
    return Seen(str(RENDERERS[name](text)))


def words(text: str) -> list[str]:
    """What a reader sees, but for white space and the marks of list items."""
    lines = (
        line if re.fullmatch(r"[-=_*+|:~ \t]+", line) else re.sub(r"^[ \t]*- +(?=\S)", "", line)
        for line in re.split("[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]", text)
    )
    return visible("\n".join(lines)).split()


HOSTILE = [
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<!-- c", "-->", "<style>*{}</style>", "</div>",
    "<?x?>", "<![CDATA[x]]>", "<!DOCTYPE x>", "<a href='javascript:1'>", "<http://x.y>", "<javascript:alert(1)>",
    "<a@b.c>", "[x](javascript:1)", "![x](http://h/p.png)", "[x][y]", "[y]: javascript:1", "[y]:\ndata:x", "[^1]",
    "[^1]: note", "[x", "](data:1)", "&lt;script&gt;", "&#106;", "&colon;", "java\tscript:", "[x](<javascript:1>)",
    "![][y]", "[ ]", "- [x] t", "```", "~~~", "`", "``", "    code", "\tcode", "# 5", "#", "###### x ##", "===",
    "---", "- - -", "* * *", "_ _ _", "***", "+ x", "* x", "- x", "-", "1986. A great year", "1)", "0. x", "> q", ">",
    "|", "| a | b |", "|---|---|", ":-:", "-|-", "*a*", "**", "_a_", "a_b_c", "__", "~~x~~", "~", "\\", "\\\\", "\\*",
    "\\<", "\\\n", "  \n", "\n", "\n\n", " ", "  ", "$", "$5", "$$", "@@0@@", "%", "(x)=", ":::", ": x", "+++", "\r",
    "\r\n", "\x00", "\x0b", "\u2028", "\u202e", "\ufdd0", "\\begin{x}", "\\ref{x}", "é", "中文", "שלום", "x", "5", "A.",
    "://", "www.x.y", "<br>", "<b", "<", "&", "]", "[", ":", "!",
]  # fmt: skip

TEXTS = st.one_of(
    st.lists(st.one_of(st.sampled_from(HOSTILE), st.text(max_size=3)), max_size=14).map("".join),
    st.lists(st.one_of(st.sampled_from(HOSTILE), st.text(max_size=3)), max_size=14).map(" ".join),
    st.text(alphabet="<>[]()!#*_-+=|`~\\&;:$ \n\tab1.", max_size=40),
)


def check_prose(name: str, text: str, label: str = "text") -> None:
    written = block_markdown(Block(label, text))
    seen = rendered(name, written)
    assert {tag for tag, _ in seen.tags} <= TEXT_TAGS, (text, written)
    assert not any(attributes for _, attributes in seen.tags), (text, written)
    assert seen.text.split() == words(text), (text, written)


def is_prose(text: str) -> bool:
    """No table and no formula stands in `text`."""
    return not re.search(r"</?t", text, re.IGNORECASE) and all(kind == "text" for kind, _ in split_maths(text))


@settings(max_examples=150, deadline=None)
@given(text=TEXTS.filter(is_prose))
def test_any_prose_shows_as_itself(text: str) -> None:
    for name in ("commonmark", "github"):
        check_prose(name, text)


@settings(max_examples=150, deadline=None)
@given(
    blocks=st.lists(
        st.tuples(st.sampled_from(["text", "title", "table", "equation", "image", "code", "list", "<b>"]), TEXTS),
        max_size=4,
    ),
    reason=TEXTS,
    tables=st.sampled_from(["html", "pipe"]),
)
def test_no_page_makes_markup(blocks: list[tuple[str, str]], reason: str, tables: Any) -> None:
    """Formulas and tables make no tag but those of tables, no attribute but spans, and swallow nothing after them."""
    page = Page(1, 1, "a", (9, 9), tuple(Block(*block) for block in blocks), status=Status.FAILED, reason=reason)
    written = page_markdown(page, tables=tables)
    for name in RENDERERS:
        seen = rendered(name, written)
        extra = (
            {"thead", "ol", "del", "s", "strong", "<!-- merged cells are filled -->"}
            if tables == "pipe"
            else {"del", "s", "strong"}
        )
        assert {tag for tag, _ in seen.tags} <= ALL_TAGS | extra, (name, written)
        said = {key for _, attributes in seen.tags for key, _ in attributes}
        assert said <= {"rowspan", "colspan", "style"}, (name, written)
        assert not any(attributes and tag not in ("td", "th") for tag, attributes in seen.tags), (name, written)
        assert "[page 1: " in seen.text.split("\n")[-1] or "[page 1: " in seen.text[-900:], (name, written)


@pytest.mark.parametrize("name", RENDERERS)
@pytest.mark.parametrize("text", HOSTILE)
def test_what_markdown_reads_is_text(name: str, text: str) -> None:
    if not is_prose(text):
        return
    if name == "mistune" and text in ("- x", "- [x] t"):
        return
    check_prose(name, f"before {text} after") if "\\\n" not in text else None
    check_prose(name, f"{text}\nafter\n\n{text} a\n{text}")


def test_lists_stay_lists() -> None:
    seen = rendered(
        "commonmark", block_markdown(Block("text", "        - a\n      - b\n          - c\n  - d\n-      e"))
    )
    assert [tag for tag, _ in seen.tags].count("li") == 5
    assert seen.text.split() == list("abcde")


CELLS = st.lists(
    st.one_of(
        st.sampled_from([*HOSTILE, "|", "\\|", "\\( a | b \\)", "\\(\\|x\\|\\)", "\\( ` | \\)"]), st.text(max_size=3)
    )
)


@settings(max_examples=100, deadline=None)
@given(rows=st.lists(st.lists(CELLS.map("".join), min_size=2, max_size=2), min_size=2, max_size=4))
def test_a_pipe_table_has_its_columns(rows: list[list[str]]) -> None:
    cells = "</tr><tr>".join("".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in rows)
    written = block_markdown(Block("table", f"<table><tr>{cells}</tr></table>"), tables="pipe")
    for name in ("github", "mistune"):
        tags = [tag for tag, _ in rendered(name, written).tags]
        drawn = tags.count("tr")
        assert drawn - len(rows) in (0, 1), (name, written)  # with an empty head where the first row is no head
        assert tags.count("td") + tags.count("th") == 2 * drawn, (name, written)
