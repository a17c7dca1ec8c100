from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from uocr_nb.document.model import Page
from uocr_nb.sources import Renderer, RenderSpec, page_image, resolve
from uocr_nb.sources.shelf import Shelf

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest


def test_what_was_not_used_for_longest_makes_room(tmp_path: Path) -> None:
    shelf = Shelf(room=100)
    files = [tmp_path / str(number) for number in range(5)]
    for file in files[:3]:
        file.write_bytes(bytes(30))
        shelf.put(file)
    shelf.put(files[0])
    files[3].write_bytes(bytes(60))
    shelf.put(files[3])
    assert [file.exists() for file in files] == [True, False, False, True, False]
    files[4].write_bytes(bytes(500))
    shelf.put(files[4])
    assert [file.exists() for file in files] == [False, False, False, False, True], "the newest stays, however large"
    shelf.put(tmp_path / "never made")


def test_pages_that_made_room_are_rendered_again(
    tmp_path: Path, make_pdf: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Shelf.__init__, "__defaults__", (30_000,))
    (source,) = resolve(make_pdf(pages=12).read_bytes())
    spec = RenderSpec(dpi=60)
    folder = tmp_path / "pages"
    folder.mkdir()
    with Renderer(folder=folder) as renderer:
        images = [renderer.render(source, number, spec) for number in range(1, 13)]
        there = [image.file.exists() for image in images]
        assert there[-1]
        assert not there[0]
        assert sum(file.stat().st_size for file in folder.glob("*.jpg")) <= 30_000
        first = images[0]
        page = Page(
            1, 1, source.name, first.size, sha256=first.sha256, image_file=first.file, origin=(source, spec), dpi=60
        )
        assert page_image(page).size == first.size
        assert page_image(replace(page, image_file=images[-1].file)).size == first.size
