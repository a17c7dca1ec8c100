from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import pytest

from uocr_nb.document.model import Document, Page
from uocr_nb.views.mime import document_bundle

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize(
    ("show", "kinds"),
    [
        ("auto", {"text/html", "text/markdown", "text/plain"}),
        ("view", {"text/html", "text/markdown", "text/plain"}),
        ("markdown", {"text/markdown", "text/plain"}),
        ("text", {"text/plain"}),
        ("figure", {"image/png", "text/plain"}),
        ("none", {"text/plain"}),
    ],
)
def test_a_document_shows_itself_as_asked(document: Document, show: str, kinds: set[str]) -> None:
    document.show = show
    bundle = document._repr_mimebundle_()
    assert set(bundle) == kinds
    assert bundle["text/plain"] == {"text": document.text, "none": repr(document)}.get(show, str(document))
    if show == "figure":
        assert base64.b64decode(bundle["image/png"]).startswith(b"\x89PNG")


def test_a_figure_without_pictures_is_still_a_document(make_page: Callable[..., Page]) -> None:
    bundle = document_bundle(Document([make_page(picture=False)], show="figure"))
    assert "text/html" in bundle


def test_a_page_shows_itself(document: Document) -> None:
    assert set(document.page(1)._repr_mimebundle_()) == {"text/html", "text/markdown", "text/plain"}


def test_stored_markdown_has_ten_pages(make_page: Callable[..., Page]) -> None:
    document = Document([make_page(n, picture=False) for n in range(1, 13)])
    markdown = document_bundle(document)["text/markdown"]
    assert markdown.count("Subcategory Study") == 10
    assert "2 more pages: `doc.markdown`" in markdown


def test_markdown_tells_what_is_not_ok(document: Document) -> None:
    markdown = document_bundle(document)["text/markdown"]
    assert markdown.startswith("**5 pages: 2 ok, 1 looping (p. 4: The same row repeats from block 4 on), 1 truncated")
    assert "- page 5, failed: No answer in 3 tries." in markdown
    assert "Run the 3 again: `doc.retry()`" in markdown
    fine = Document([page for page in document.pages if page.status == "ok"])
    assert "doc.retry" not in document_bundle(fine)["text/markdown"]
