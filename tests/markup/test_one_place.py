"""Page text becomes HTML in one place: the source is walked, and hostile pages go through all that is shown."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from lxml import etree

import uocr_nb
from uocr_nb.document.model import Block, Document, Page, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(uocr_nb.__file__).parent
SOURCES = {path.relative_to(ROOT).as_posix(): path for path in sorted(ROOT.rglob("*.py"))}

PAGE_TEXT = {"text", "raw", "source", "reason", "label", "name", "warnings", "prompt", "message", "what", "why", "html"}
"""Attributes that hold what a page, a model, a server or a file name says."""
CLEAN = {("markup/cells.py", "html"), ("views/rows.py", "html")}
"""`Cell.html` is made of escaped text."""

MARKUP = re.compile(r"<[a-z/]")
HOSTILE = (
    "</div></td></title></style></pre><script>top.tripped=1</script><img src=x onerror=top.tripped=1><svg/onload=x>"
    "<style>*{display:none}</style><a href=javascript:1>k</a> \" onmouseover=x '"
    "[x](javascript:1) ```\n~~~\n<!-- $5 $6 \\["
)


def trees() -> Iterator[tuple[str, ast.Module]]:
    for name, path in SOURCES.items():
        yield name, ast.parse(path.read_text(encoding="utf-8"))


def bare(node: ast.AST) -> Iterator[str]:
    """Attributes of page text in an expression that no function has had in its hands."""
    if isinstance(node, ast.Call) and (isinstance(node.func, ast.Name) or node.func.attr in PAGE_TEXT):
        return
    if isinstance(node, (ast.IfExp, ast.GeneratorExp, ast.ListComp)):
        parts = [node.body, node.orelse] if isinstance(node, ast.IfExp) else [node.elt]
        for part in parts:
            yield from bare(part)
        return
    if isinstance(node, ast.Attribute) and node.attr in PAGE_TEXT:
        yield node.attr
    for child in ast.iter_child_nodes(node):
        yield from bare(child)


def test_one_module_escapes_and_sanitises() -> None:
    for name, tree in trees():
        imported = {
            f"{node.module}.{alias.name}" if isinstance(node, ast.ImportFrom) else alias.name
            for node in ast.walk(tree)
            if isinstance(node, (ast.Import, ast.ImportFrom))
            for alias in node.names
        }
        called = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        if name == "markup/safe_html.py":
            continue
        assert not imported & {"nh3", "bleach", "markupsafe", "html.escape", "xml.sax.saxutils.escape"}, name
        # What the embedded engine writes is an answer, read like any other.
        assert "html.escape" not in called or name == "local_server/tables.py", name


def test_no_module_writes_page_text_into_markup_as_it_is() -> None:
    written = set()
    for name, tree in trees():
        for node in ast.walk(tree):
            if not isinstance(node, ast.JoinedStr):
                continue
            fixed = "".join(part.value for part in node.values if isinstance(part, ast.Constant))
            if MARKUP.search(fixed) and not name.startswith(("local_server/", "document/")):
                values = [part.value for part in node.values if isinstance(part, ast.FormattedValue)]
                written |= {(name, attribute, node.lineno) for value in values for attribute in bare(value)}
    assert [found for found in written if found[:2] not in CLEAN] == []


def hostile_document() -> Document:
    labels = ("text", "title", "equation", "code", "image", "list", HOSTILE)
    table = f"<table><tr><td rowspan=2 onclick=x>{HOSTILE}</td><td>\\( {HOSTILE} \\)</td></tr></table>"
    blocks = (*(Block(label, HOSTILE, (9, 9, 900, 900)) for label in labels), Block("table", table, (9, 9, 99, 99)))
    blocks += (Block("equation", f"\\[ {HOSTILE} \\text{{{HOSTILE}}} \\]"), Block("text", f"\\( x \\) {HOSTILE}"))
    page = Page(
        1, 1, HOSTILE, (100, 100), blocks, status=Status.FAILED, reason=HOSTILE, raw=HOSTILE, warnings=(HOSTILE,),
        name=HOSTILE, finish_reason=HOSTILE,
    )  # fmt: skip
    return Document([page, page], warnings=[HOSTILE], meta={"engine": HOSTILE, "model": HOSTILE})


@pytest.mark.parametrize("show", ["auto", "view", "figure", "markdown", "text", "none"])
def test_no_text_changes_the_bundle(show: str) -> None:
    document = hostile_document()
    document.show = show
    bundle: dict[str, Any] = document._repr_mimebundle_()
    assert set(bundle) <= {"text/html", "text/markdown", "text/plain", "image/png"}
    assert "text/plain" in bundle
    assert all(type(value) is str for value in bundle.values())


def test_hostile_pages_make_no_markup() -> None:
    document = hostile_document()
    page = document.page(1)
    for shown in (document._repr_mimebundle_()["text/html"], page._repr_mimebundle_()["text/html"], document.to_html()):
        root = etree.HTML(shown)
        for element in root.find("body").iter():
            assert element.tag not in {
                "script",
                "style",
                "svg",
                "iframe",
                "a",
                "object",
                "embed",
                "link",
                "meta",
                "form",
            } or (
                # The script of the view itself, and links inside the page.
                (element.tag == "script" and "tripped" not in "".join(element.itertext()))
                or (element.tag == "a" and element.get("href", "").startswith("#"))
            )
            assert not [key for key in dict(element.attrib) if key.startswith("on")]
            if element.tag == "img":
                assert element.get("src", "").startswith("data:image/")
