"""The collection of nasty files that lies beside the project on some machines; skipped elsewhere."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from uocr_nb.errors import SourceError
from uocr_nb.sources import Renderer, resolve

FOLDER = Path(__file__).parents[3] / "shared" / "cases" / "nasty"


def read_all(renderer: Renderer, path: Path) -> SourceError | None:
    """Render every page of a file; what it was refused with, if it was."""
    try:
        (source,) = resolve(path)
        opened = renderer.open(source)
        assert opened.pages >= 1
        for number in range(1, opened.pages + 1):
            page = renderer.render(source, number)
            assert page.file.stat().st_size > 0
            assert min(page.size) >= 1
    except SourceError as error:
        return error
    return None


@pytest.mark.skipif(not FOLDER.is_dir(), reason="the collection is not here")
def test_every_file_ends_in_pages_or_one_clear_message(renderer: Renderer) -> None:
    for path in sorted(FOLDER.iterdir()):
        began = time.monotonic()
        error = read_all(renderer, path)
        if error is not None:
            assert path.name in error.what
            assert error.why
            assert error.next
            assert "\n" not in error.why
        assert time.monotonic() - began < 20, path.name
