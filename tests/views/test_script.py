"""The inline script of a stored form."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import TYPE_CHECKING

import pytest
from harmless import HOSTILE, parsed

from uocr_nb.document.model import Block, Document, Status
from uocr_nb.views import script
from uocr_nb.views.labels import label_style
from uocr_nb.views.live_html import live_html
from uocr_nb.views.page_html import document_html, page_html, root_html
from uocr_nb.views.script import inline_script, section, squeezed

if TYPE_CHECKING:
    from collections.abc import Callable

    from uocr_nb.document.model import Page


@pytest.mark.parametrize(
    ("code", "left"),
    [
        ("  a ( b ,  c ) ; // gone", "a(b,c);"),
        ("x = 1 /* gone\n too */\ny = 2", "x=1\ny=2"),
        ("if (a) {\n  b()\n}\nc()", "if(a){b()}\nc()"),
        ("'//kept' + \"/* kept */\"", "'//kept'+\"/* kept */\""),
        ("`//kept  ${ a + `in  ${ b }` } /* kept */\n  kept`", "`//kept  ${a+`in  ${b}`} /* kept */\n  kept`"),
        ("`${ { a : 1 }.a }  }`", "`${{a:1}.a}  }`"),
        ("`a \\` ${'}'} $ {b}`", "`a \\` ${'}'} $ {b}`"),
        ("a.match( /[\"'`/]\\/ \\s*/g )", "a.match(/[\"'`/]\\/ \\s*/g)"),
        ("return  /'/.test(a)", "return /'/.test(a)"),
        ("a = b / c / d // gone '", "a=b / c / d"),
        ("a + +b - -c + --d", "a+ +b- -c+ --d"),
        ("a ? .5 : b", "a ? .5:b"),
        ("a => ({ b : c ?? d })", "a=>({b:c??d})"),
        ("a < !b && c > --d", "a < !b&&c > --d"),
        ("a\n  .b()\n\n\n  .c()", "a\n.b()\n.c()"),
    ],
)
def test_only_what_means_nothing_goes(code: str, left: str) -> None:
    assert squeezed(code) == left
    assert squeezed(left) == left


def test_the_core_is_cut_out_and_started() -> None:
    made = inline_script()
    assert made == inline_script(("core",))
    assert len(made.encode()) <= 64_000
    assert len(made) < 0.92 * len(section("core"))
    assert re.match(r'\(function\(\)\{"use strict";\n', made)
    assert made.count("document.currentScript") == 1
    for name in ("boot", "mount"):
        assert f"function {name}(" in made
    assert not re.search(r"^\s*(?:import|export)\b", made, re.MULTILINE)
    assert "//#" not in made


def test_sections_of_a_widget_are_no_part_of_it() -> None:
    whole = files("uocr_nb.views").joinpath("viewer.js").read_text(encoding="utf-8")
    names = re.findall(r"^//#section (\w+)$", whole, re.MULTILINE)
    assert names[0] == "core"
    assert {"core", "compare", "edit", "live"} == set(names)
    assert whole.count("//#end") == len(names)
    with pytest.raises(ValueError, match="no section 'more'"):
        section("more")


@pytest.mark.parametrize("text", ['"</script>"', "'<!-- '", "if(a --> 0){}", "`<SCRIPT>`"])
def test_nothing_in_it_ends_its_element(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(script, "section", lambda name: f"const {name} = {text.replace('if(', '(').replace('{}', '')};")
    inline_script.cache_clear()
    with pytest.raises(ValueError, match="ends a script element"):
        inline_script()
    monkeypatch.undo()
    inline_script.cache_clear()
    assert not re.search(r"</script|<script|<!--|-->", inline_script(), re.IGNORECASE)


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_gets_into_it_or_ends_it(make_page: Callable[..., Page], text: str) -> None:
    page = make_page(
        blocks=(Block(text, text, (1, 1, 90, 90)),), source=text, name=text, raw=text, reason=text, status=Status.FAILED
    )
    for html in (document_html(Document([page, page], meta={"engine": text, "mode": text}), uid=text), page_html(page)):
        assert html.endswith(f"<script>{inline_script()}</script></div>")
        assert html.count("<script") == html.count("</script") == 1
        root = parsed(html)
        told = json.loads(root.get("data-doc"))
        assert told["name"] == text
        assert root.xpath("//*[@class='uo-row uo-b1']")[0].get("data-l") == text


def test_a_run_has_none(document: Document) -> None:
    from uocr_nb.reading.progress import Progress

    assert "<script" not in live_html(Progress(3, 1), document.pages[:1])
    assert "<script" not in root_html("", "a", "document")


def test_colours_and_lines_are_those_of_python() -> None:
    table = re.search(r"const FAMILIES = \{(.*?)\n\};", section("core"), re.DOTALL)
    assert table is not None
    drawn = {
        name: (paper, dark, line)
        for name, paper, dark, line in re.findall(r'(\w+): \["(#\w{6})", "(#\w{6})", "([^"]+)"\]', table[1])
    }
    labels = ["title", "text", "list", "table", "equation", "image", "table_caption", "code", "header"]
    styles = {style.family: style for style in map(label_style, labels)}
    assert drawn == {name: (s.paper, s.dark, f"{s.width:g}px {s.line}") for name, s in styles.items()}
