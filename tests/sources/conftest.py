from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest
from PIL import Image, ImageDraw

from uocr_nb.sources import Renderer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture(scope="session")
def renderer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Renderer]:
    with Renderer(folder=tmp_path_factory.mktemp("pages")) as shared:
        yield shared


@pytest.fixture
def make_pdf(tmp_path: Path) -> Callable[..., Path]:
    """A PDF with a text on each page, made by PyMuPDF."""

    def make(name: str = "doc.pdf", pages: int = 1, size: tuple[float, float] = (595, 842), **save: object) -> Path:
        import pymupdf

        with pymupdf.open() as document:
            for number in range(1, pages + 1):
                page = document.new_page(width=size[0], height=size[1])
                page.insert_text((72, 100), f"Page {number}", fontsize=40)
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            document.save(path, **save)
        return path

    return make


@pytest.fixture
def raw_pdf(tmp_path: Path) -> Callable[..., Path]:
    """A one-page PDF written by hand: what stands in its page object, and its content."""

    def make(page: str, content: str = "", name: str = "raw.pdf", resources: str = "", more: str = "") -> Path:
        font = "/Font<</F 5 0 R>>"
        path = tmp_path / name
        path.write_bytes(
            (
                "%PDF-1.7\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
                "2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
                f"3 0 obj<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<<{font}{resources}>>{page}>>endobj\n"
                f"4 0 obj<</Length {len(content)}>>stream\n{content}\nendstream endobj\n"
                "5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj\n"
                f"{more}\ntrailer<</Root 1 0 R>>\n%%EOF\n"
            ).encode("latin-1")
        )
        return path

    return make


@pytest.fixture
def mark() -> Image.Image:
    """A white picture, 400 x 300, with a red block at the top left."""
    image = Image.new("RGB", (400, 300), "white")
    ImageDraw.Draw(image).rectangle((0, 0, 99, 99), fill=(200, 0, 0))
    return image


@pytest.fixture
def encode() -> Callable[..., bytes]:
    def to_bytes(image: Image.Image, form: str = "PNG", **options: object) -> bytes:
        buffer = io.BytesIO()
        image.save(buffer, form, **options)
        return buffer.getvalue()

    return to_bytes
