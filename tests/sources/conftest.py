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
    """A PDF of one page written by hand: what stands in its page object, its content, and what else it has."""

    def make(  # noqa: PLR0917 - content comes second so often
        page: str,
        content: str = "",
        name: str = "raw.pdf",
        resources: str = "",
        more: tuple[str | bytes, ...] = (),
        pages: str = "/Kids[3 0 R]/Count 1",
        catalog: str = "",
    ) -> Path:
        font = "/Font<</F 5 0 R>>"
        objects: list[str | bytes] = [
            f"<</Type/Catalog/Pages 2 0 R{catalog}>>",
            f"<</Type/Pages{pages}>>",
            f"<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<<{font}{resources}>>{page}>>",
            f"<</Length {len(content)}>>stream\n{content}\nendstream",
            "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
            *more,
        ]
        body, table = b"%PDF-1.7\n", f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n"
        for number, item in enumerate(objects, 1):
            table += f"{len(body):010d} 00000 n \n"
            data = item if isinstance(item, bytes) else item.encode("latin-1")
            body += f"{number} 0 obj".encode() + data + b"endobj\n"
        end = f"{table}trailer<</Size {len(objects) + 1}/Root 1 0 R>>\nstartxref\n{len(body)}\n%%EOF\n"
        path = tmp_path / name
        path.write_bytes(body + end.encode())
        return path

    return make


@pytest.fixture
def heavy_pdf(raw_pdf: Callable[..., Path]) -> Path:
    """A small file whose three pages take very long: patterns drawn inside patterns."""
    tiles = []
    for number in range(6, 12):
        inner = f"/Pattern cs /P{number + 1} scn 0 0 400 400 re f" if number < 11 else "0 0 1 rg 0 0 1 1 re f"
        tiles.append(
            "<</Type/Pattern/PatternType 1/PaintType 1/TilingType 1/BBox[0 0 400 400]/XStep 3/YStep 3"
            f"/Resources<</Pattern<</P{number + 1} {number + 1} 0 R>>>>/Length {len(inner)}>>stream\n"
            f"{inner}\nendstream"
        )
    return raw_pdf(
        "/MediaBox[0 0 600 800]",
        "/Pattern cs /P6 scn 0 0 600 800 re f",
        name="heavy.pdf",
        pages="/Kids[3 0 R 3 0 R 3 0 R]/Count 3",
        resources="/Pattern<</P6 6 0 R>>",
        more=tuple(tiles),
    )


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
