"""Kinds of faults that people reported of tools of this kind: files that cost too much or never end."""

from __future__ import annotations

import struct
import time
import zlib
from typing import TYPE_CHECKING, Any

import pytest
from PIL import Image

from uocr_nb.sources import Renderer, resolve, worker

if TYPE_CHECKING:
    from pathlib import Path


def test_a_small_file_that_holds_a_giant_picture_costs_its_page_at_most(tmp_path: Path) -> None:
    side = 20_000
    data = zlib.compress(b"\xff" * (side * side // 10) + bytes(side * side // 40), 9)
    parts = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R 6 0 R]/Count 2>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 600]/Contents 4 0 R/Resources<</XObject<</I 5 0 R>>>>>>",
        b"<</Length 23>>stream\n600 0 0 600 0 0 cm /I Do\nendstream",
        b"<</Type/XObject/Subtype/Image/Width %d/Height %d/ColorSpace/DeviceGray/BitsPerComponent 1" % (side, side)
        + b"/Filter/FlateDecode/Length %d>>stream\n%s\nendstream" % (len(data), data),
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 600]>>",
    ]
    body = b"".join(b"%d 0 obj%s endobj\n" % (n, part) for n, part in enumerate(parts, 1))
    path = tmp_path / "giant.pdf"
    path.write_bytes(b"%PDF-1.7\n" + body + b"trailer<</Root 1 0 R>>\n%%EOF\n")
    assert path.stat().st_size < 100_000
    (source,) = resolve(path)
    began = time.monotonic()
    with Renderer(folder=tmp_path) as renderer:
        page = renderer.render(source, 1)
        assert page.ink == pytest.approx(0.2, abs=0.02)
        assert max(page.size) < 10_001
        assert renderer.render(source, 2).ink == 0
    assert time.monotonic() - began < 20


def test_a_tiff_that_names_itself_as_its_next_page_has_one(renderer: Renderer, tmp_path: Path) -> None:
    path = tmp_path / "loop.tif"
    picture = Image.new("RGB", (60, 40), "white")
    picture.paste("red", (10, 10, 30, 30))
    picture.save(path)
    data = bytearray(path.read_bytes())
    (first,) = struct.unpack_from("<I", data, 4)
    (count,) = struct.unpack_from("<H", data, first)
    struct.pack_into("<I", data, first + 2 + 12 * count, first)
    path.write_bytes(data)
    (source,) = resolve(path)
    assert renderer.open(source).pages == 1
    assert renderer.render(source, 1).ink > 0


@pytest.mark.parametrize("fault", [NotImplementedError("Unknown pixel flags 8"), RuntimeError("\n"), KeyError("a")])
@pytest.mark.parametrize("number", [None, 3])
def test_a_fault_that_nobody_foresaw_is_three_parts_too(fault: Exception, number: int | None) -> None:
    class Files:
        def get(self, _request: dict[str, Any]) -> None:
            raise fault

    request = {"do": "open", "name": "odd.dds", **({} if number is None else {"do": "render", "number": number})}
    answer = worker._answer(request, Files())  # type: ignore[arg-type]
    what, why, step = answer["error"]
    assert "odd.dds" in what
    assert why.endswith(".")
    assert "\n" not in why
    assert "Error" not in why
    assert step
    assert answer["page"] is (number is not None)
