"""What a stored form may consist of, so that JupyterLab keeps all of it and nothing in it acts."""

from __future__ import annotations

import re
from typing import Any

import lxml.html

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
    "data-uid",
    "data-view",
    "open",
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
    return lxml.html.fromstring(html)


def check_harmless(html: str) -> Any:
    root = parsed(html)
    for element in root.iter():
        assert element.tag in ELEMENTS, element.tag
        for name, value in element.attrib.items():
            assert name in ATTRIBUTES, (name, value)
            if name == "style":
                check_style(value)
            if name == "href":  # to a page of the same output, and nowhere else
                assert re.fullmatch(r"#uo-[0-9a-zA-Z]*-p[0-9]+", value), value
            if name == "id":
                assert re.fullmatch(r"uo-[0-9a-zA-Z]*-p[0-9]+", value), value
            if name == "src":
                assert value.startswith(("data:image/jpeg;base64,", "data:image/svg+xml,")), value[:40]
    return root


def check_style(style: str) -> None:
    assert not re.search(r"var\(|calc\(|url\(|currentcolor|inherit|!important|[:\s]\.\d", style, re.IGNORECASE), style
    for declaration in filter(None, style.split(";")):
        name, _, value = declaration.partition(":")
        assert name in PROPERTIES, declaration
        assert value, declaration
