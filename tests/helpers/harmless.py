"""What a stored form may consist of, so that JupyterLab keeps all of it and nothing of a page acts.

Its one script is the program's own, letter by letter; `data-` attributes are for that script alone, and an untrusted
notebook loses both.
"""

from __future__ import annotations

import json
import re
from typing import Any

import lxml.html

from uocr_nb.views.script import inline_script

ELEMENTS = {
    "div",
    "span",
    "img",
    "details",
    "summary",
    "pre",
    "code",
    "table",
    "tbody",
    "tr",
    "td",
    "th",
    "br",
    "sub",
    "sup",
    "a",
}
ATTRIBUTES = {
    "id",
    "href",
    "class",
    "style",
    "title",
    "src",
    "alt",
    "dir",
    "rowspan",
    "colspan",
    "open",
}
DATA = {
    *(["data-uid", "data-view", "data-doc", "data-p", "data-n", "data-status", "data-facts", "data-source"]),
    *(["data-b", "data-l", "data-f", "data-c", "data-k", "data-mml", "data-same", "data-agree"]),
}
FORMULA_ATTRIBUTES = {
    *(["display", "displaystyle", "scriptlevel", "mathvariant", "stretchy", "symmetric", "form", "minsize"]),
    *(["maxsize", "movablelimits", "largeop", "lspace", "rspace", "accent", "accentunder", "linethickness"]),
    *(["notation", "width", "style"]),
}
PROPERTIES = {
    *(
        [
            "position",
            "left",
            "top",
            "right",
            "bottom",
            "width",
            "height",
            "min-width",
            "max-width",
            "min-height",
            "max-height",
            "float",
            "clear",
        ]
    ),
    *(
        [
            "display",
            "overflow",
            "overflow-x",
            "overflow-y",
            "box-sizing",
            "margin",
            "padding",
            "border",
            "border-top",
            "border-bottom",
        ]
    ),
    *(
        [
            "border-left",
            "border-radius",
            "border-collapse",
            "background-color",
            "color",
            "opacity",
            "cursor",
            "vertical-align",
        ]
    ),
    *(
        [
            "table-layout",
            "word-spacing",
            "text-align",
            "text-decoration",
            "white-space",
            "overflow-wrap",
            "font-family",
            "font-size",
            "font-weight",
            "line-height",
        ]
    ),
}
"""What JupyterLab 4.6 keeps of a notebook that it does not trust, as far as it is used here."""

HOSTILE = (
    "</div></td><script>top.tripped=1</script><img src=x onerror=top.tripped=1>",
    '"><svg onload=top.tripped=1>',
    "' onmouseover='top.tripped=1' style='position:fixed",
    "&lt;script&gt; &amp; <a href='javascript:top.tripped=1'>x</a>",
    "<style>body{display:none}</style><iframe srcdoc=x></iframe>",
)


def parsed(html: str) -> Any:
    """The root of a stored form as people see it: without its script, which stands at its end or is not there."""
    root = lxml.html.fromstring(html)
    scripts = root.xpath("//script")
    assert len(scripts) == (html.count("<script") if root.get("data-view") in ("document", "page") else 0)
    for script in scripts:
        assert script.getparent() is root
        assert script.getnext() is None
        assert not script.tail
        assert not script.attrib
        assert script.text == inline_script()
        root.remove(script)
    return root


def without_script(html: str) -> str:
    """A stored form where no script runs, for a look at it in a browser."""
    twin = html.replace(f"<script>{inline_script()}</script>", "")
    assert "<script" not in twin
    return twin


def check_harmless(html: str) -> Any:
    root = parsed(html)
    for element in root.iter():
        assert element.tag in ELEMENTS, element.tag
        for name, value in element.attrib.items():
            assert name in ATTRIBUTES | DATA, (name, value)
            if name == "data-doc":
                check_document(value)
            if name == "data-mml":
                check_formula(value)
            if name == "style":
                check_style(value)
            if name == "href":  # to a page of the same output, and nowhere else
                assert re.fullmatch(r"#uo-[0-9a-zA-Z]*-p[0-9]+", value), value
            if name == "id":
                assert re.fullmatch(r"uo-[0-9a-zA-Z]*-p[0-9]+", value), value
            if name == "src":
                assert value.startswith(
                    ("data:image/jpeg;base64,", "data:image/webp;base64,", "data:image/svg+xml,")
                ), value[:40]
    return root


def check_document(text: str) -> None:
    told = json.loads(text)
    assert list(told)[:7] == ["name", "total", "status", "sources", "mode", "engine", "edits"]
    assert list(told)[7:] in ([], ["names", "agreement", "differ"])
    assert len(told["status"]) == told["total"]
    assert set(told["status"]) <= set("olteumfrw")
    assert all(isinstance(name, str) and 1 <= first <= told["total"] for name, first in told["sources"])


def check_formula(markup: str) -> None:
    for element in lxml.html.fromstring(f"<div>{markup}</div>").iterdescendants():
        assert re.fullmatch(r"math|m[a-z]{1,15}|b|i", element.tag), element.tag
        assert set(element.attrib) <= FORMULA_ATTRIBUTES, element.attrib


def check_style(style: str) -> None:
    # Where an inherited colour is dropped, a link has the one of the theme.
    style = style.replace("color:inherit;", "")
    assert not re.search(r"var\(|calc\(|url\(|currentcolor|inherit|!important|[:\s]\.\d", style, re.IGNORECASE), style
    for declaration in filter(None, style.split(";")):
        name, _, value = declaration.partition(":")
        assert name in PROPERTIES, declaration
        assert value, declaration
