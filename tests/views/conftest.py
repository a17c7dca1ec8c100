"""Pages made by code, with pictures on disk."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import pytest
from PIL import Image, ImageDraw

from uocr_nb.document.model import Block, Document, Page, Status

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TABLE = (
    "<table><tr><td>Model</td><td>Edit</td><td>Score</td></tr>"
    '<tr><td rowspan="2">One</td><td>Text</td><td>0.052</td></tr><tr><td>Order</td><td>0.125</td></tr></table>'
)
BLOCKS = (
    Block("header", "The Journal of Small Things", (130, 40, 500, 60)),
    Block("title", "5.3. Subcategory Study", (130, 80, 500, 110)),
    Block("text", "A price of $5 to $6 a page, and \\(E = mc^2\\).", (130, 120, 870, 200)),
    Block("table", TABLE, (150, 220, 850, 400), 0.93),
    Block("table_caption", "Table 2 | A comparison.", (130, 410, 870, 440)),
    Block("equation", "\\[\na < b\n\\]", (200, 450, 800, 500)),
    Block("image", "", (130, 520, 500, 700)),
    Block("list", "- first\n- second", (130, 720, 870, 780)),
    Block("seal", "SEAL", (20, 800, 120, 850)),
    Block("page_number", "10", (480, 950, 520, 970)),
)


@pytest.fixture
def make_page(tmp_path: Path) -> Callable[..., Page]:
    """Make a page; its picture has `noise` if it shall be hard to compress."""

    def make(position: int = 1, *, noise: bool = False, picture: bool = True, **given: Any) -> Page:
        size = given.pop("size", (620, 877))
        file = None
        if picture:
            file = tmp_path / f"page-{position}.{'jpg' if noise else 'png'}"
            image = Image.effect_noise(size, 90).convert("RGB") if noise else Image.new("RGB", size, "white")
            ImageDraw.Draw(image).ellipse((90, 460, 300, 600), fill="#5b8bd0")
            image.save(file)
        fields: dict[str, Any] = {
            "number": position,
            "source": "report.pdf",
            "blocks": BLOCKS,
            "raw": "<|det|>title [130, 80, 500, 110]<|/det|> 5.3",
            "tokens": 1087,
            "seconds": 3.4,
            "sha256": hashlib.sha256(file.read_bytes()).hexdigest() if file else "",
        }
        return Page(position=position, size=size, image_file=file, **(fields | given))

    return make


@pytest.fixture
def document(make_page: Callable[..., Page]) -> Document:
    """Five pages, three of them not ok."""
    return Document(
        [
            make_page(1),
            make_page(2, warnings=("The label seal is not known; it is shown as text.",)),
            make_page(
                3,
                blocks=BLOCKS[:4],
                status=Status.TRUNCATED,
                finish_reason="length",
                tokens=4096,
                reason="The answer stopped at 4,096 tokens, inside block 4. Nothing below that block is read.",
            ),
            make_page(4, blocks=BLOCKS[:3], status=Status.LOOPING, reason="The same row repeats from block 4 on."),
            make_page(
                5, blocks=(), status=Status.FAILED, raw="", tokens=None, seconds=None, reason="No answer in 3 tries."
            ),
        ],
        meta={"engine": "cpu", "seconds": 21.4, "tokens": 8000, "cost": 0.0},
    )
