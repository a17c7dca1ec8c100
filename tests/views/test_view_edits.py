"""Corrections as a view sends them."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from uocr_nb.document.heads import KNOWN_LABELS
from uocr_nb.document.model import Block, Document, Page
from uocr_nb.errors import OptionError
from uocr_nb.views.labels import label_style
from uocr_nb.views.view_edits import EDITS, edit_by


@pytest.fixture
def doc() -> Document:
    pages = [Page(n, n, "a.pdf", (9, 9), (Block("text", "one\r\ntwo", (0, 0, 9, 9)),)) for n in (1, 2)]
    return Document(pages)


def test_each_kind_says_what_stands_and_where_it_was(doc: Document) -> None:
    edit = {"kind": "edit", "p": 2, "n": 1, "before": "one\ntwo", "text": "three", "box": [1, 2, 3, 4]}
    assert edit_by(doc, edit) == {"edits": 2, "p": 2, "n": 1, "what": "box"}
    assert doc.page(2).blocks[0] == Block("text", "three", (1, 2, 3, 4))
    assert edit_by(doc, {"kind": "delete", "p": 1, "n": 1}) == {"edits": 3, "p": 1, "n": 1, "what": "delete"}
    assert edit_by(doc, {"kind": "undo"}) == {"edits": 2, "p": 1, "n": 1, "what": "delete"}
    assert edit_by(doc, {"kind": "redo"}) == {"edits": 3, "p": 1, "n": 1, "what": "delete"}
    assert set(EDITS) == {"edit", "delete", "undo", "redo"}


@pytest.mark.parametrize("kind", ["edit", "delete"])
def test_a_block_that_changed_meanwhile_is_left_alone(doc: Document, kind: str) -> None:
    doc.edit(1, 1, text="by somebody else")
    with pytest.raises(OptionError, match="is not what it was when you opened it"):
        edit_by(doc, {"kind": kind, "p": 1, "n": 1, "before": "one\ntwo", "text": "mine"})
    assert doc.page(1).blocks[0].text == "by somebody else"


@pytest.mark.parametrize(
    "message",
    [
        {"kind": "edit"},
        {"kind": "edit", "p": 1, "n": 1},
        {"kind": "edit", "p": "1", "n": [1], "before": "", "text": "a"},
        {"kind": "edit", "p": 3, "n": 1, "before": "", "text": "a"},
        {"kind": "edit", "p": 1, "n": 2, "before": "", "text": "a"},
        {"kind": "edit", "p": 1, "n": 1, "text": {"a": 1}},
        {"kind": "edit", "p": 1, "n": 1, "label": "<b>"},
        {"kind": "edit", "p": 1, "n": 1, "box": {"x": 1}},
        {"kind": "edit", "p": 1, "n": 1, "box": [0, 0, 1e3, 5]},
        {"kind": "delete", "p": True, "n": -1},
        {"kind": "undo"},
        {"kind": "redo"},
    ],
)
def test_whatever_a_browser_sends_is_refused_in_words(doc: Document, message: dict[str, object]) -> None:
    before = doc.pages
    with pytest.raises(OptionError):
        edit_by(doc, message)
    assert doc.pages == before


def test_the_labels_that_can_be_chosen_are_those_that_are_known() -> None:
    script = files("uocr_nb.views").joinpath("viewer.js").read_text(encoding="utf-8")
    table = script.partition("const LABELS = {")[2].partition("};")[0]
    found = {label: (code, family) for label, code, family in re.findall(r'(\w+): "(\w\w) (\w+)"', table)}
    assert found == {label: (label_style(label).code, label_style(label).family) for label in KNOWN_LABELS}
