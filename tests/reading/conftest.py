from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest
from PIL import Image, ImageDraw

from uocr_nb.serving import start

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def pictures(tmp_path: Path) -> list[Path]:
    """Twelve small pages, each with its number as ink."""
    files = []
    for n in range(1, 13):
        image = Image.new("RGB", (200, 280), "white")
        ImageDraw.Draw(image).text((20, 20 + n * 5), f"page {n} of the test", fill="black")
        path = tmp_path / f"page{n}.png"
        image.save(path)
        files.append(path)
    return files


@pytest.fixture
def png() -> bytes:
    image = Image.new("RGB", (200, 280), "white")
    ImageDraw.Draw(image).text((20, 20), "one page", fill="black")
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


@pytest.fixture(autouse=True)
def no_endpoint_left() -> Iterator[None]:
    yield
    start.stop_all()
