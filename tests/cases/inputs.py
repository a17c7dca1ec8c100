"""Input files: opened, rendered, and read by an engine."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any

import uocr_nb as uocr
from tests.cases.measure import listen
from tests.cases.records import Record, look_over
from uocr_nb.errors import UocrError
from uocr_nb.sources import PageError, default_renderer, resolve

if TYPE_CHECKING:
    from pathlib import Path

    from uocr_nb.serving.endpoint import Endpoint
    from uocr_nb.sources import Source

__all__ = ["try_file"]

_SHOWN = 3
"""Pages whose picture is looked at again after the reading."""


def try_file(name: str, path: Path, endpoint: Endpoint | None, most: int) -> Record:
    """Open `path` and render, or read, its pages (at most `most`)."""
    record = Record(name, "input")
    began = time.monotonic()
    with listen() as noise:
        try:
            sources = resolve(path)
            for source in sources:
                _try(record, source, path, endpoint, most)
        except UocrError as error:
            record.refused(error)
            if path.name[:20] not in error.what:
                record.problems.append(f"the message does not name the file: {error.what}")
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what this looks for
            record.broke(error)
    record.heard(noise)
    record.took(began)
    return record


def _try(record: Record, source: Source, path: Path, endpoint: Endpoint | None, most: int) -> None:
    opened = default_renderer().open(source)
    if opened.pages < 1:
        record.problems.append("it opens with no page")
    if opened.pages > most:
        record.note = f"the first {most} of {opened.pages} pages"
    count = min(opened.pages, most)
    if endpoint is None:
        _render(record, source, count)
        record.warnings += opened.notes
    else:
        _read(record, path, endpoint, f"1-{count}" if opened.kind == "pdf" or opened.pages > 1 else None, count)


def _render(record: Record, source: Source, count: int) -> None:
    for number in range(1, count + 1):
        try:
            image = default_renderer().render(source, number)
        except PageError as error:
            record.pages["failed"] += 1
            record.refused(error)
            continue
        record.pages["rendered"] += 1
        record.warnings += image.notes
        if not image.file.stat().st_size or min(image.size) < 1:
            record.problems.append(f"page {number} has no picture")
        image.file.unlink(missing_ok=True)


def _read(record: Record, path: Path, endpoint: Endpoint, pages: str | None, count: int) -> None:
    options: dict[str, Any] = {"pages": pages} if pages else {}
    # One request at a time, so that the seconds of the pages add up to the engine's; nothing from an earlier run.
    document = uocr.ocr(path, endpoint=endpoint, concurrency=1, cache=False, progress=False, **options)
    record.engine += sum(page.seconds or 0.0 for page in document.pages)
    record.saw(document)
    if len(document) != count:
        record.problems.append(f"{count} page images went in, {len(document)} pages came out")
    for page in document.pages[:_SHOWN]:
        if page.image_file is not None and page.image.size != page.size:
            record.problems.append(f"the picture of page {page.position} has another size than the page")
    look_over(document, record, tables=False)
    for page in document.pages:
        if page.image_file is not None:
            with contextlib.suppress(OSError):
                page.image_file.unlink()
