"""JSON of a document and back, and its blocks as a table."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from uocr_nb.document.halves import without_halves
from uocr_nb.document.model import Document, Page, Status, Try
from uocr_nb.errors import MissingExtraError, OptionError, SourceError
from uocr_nb.exports.blocks import block_data, block_of, edit_data, edit_of, number_of
from uocr_nb.exports.images import embedded_file, image_data, origin_data, origin_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["COLUMNS", "SCHEMA", "VERSION", "from_json", "load", "to_dataframe", "to_json"]

SCHEMA = "uocr_nb.document"
VERSION = 1

COLUMNS = (
    "source",
    "page",
    "number",
    "label",
    "text",
    "x1",
    "y1",
    "x2",
    "y2",
    "confidence",
    "status",
)
"""Of the table of blocks; `page` is the position in the document and `number` the block's, both from 1."""


def to_json(document: Document, *, images: str = "refer") -> str:
    """JSON text of the document.

    Parameters
    ----------
    document : Document
        What to write.
    images : str
        ``"refer"`` names the source of each page image and its sha256, so that it is rendered again when they match;
        ``"embed"`` puts the page images themselves into the text.

    Raises
    ------
    OptionError
        When `images` is neither.
    SourceError
        When an image to be embedded cannot be read.
    """
    if images not in ("refer", "embed"):
        raise OptionError(
            f"images={images!r} is not known.", "Page images are referred to or embedded.", 'images="embed"'
        )
    pages, edits = document.pages_and_edits()
    whole = {
        "schema": SCHEMA,
        "version": VERSION,
        "meta": document.meta,
        "show": document.show,
        "warnings": document.own_warnings,
        "edits": [edit_data(edit) for edit in edits],
        "pages": [_page_data(page, embed=images == "embed") for page in pages],
    }
    return json.dumps(_plain(whole), ensure_ascii=False, indent=1, allow_nan=False)


def _page_data(page: Page, *, embed: bool) -> dict[str, Any]:
    data: dict[str, Any] = {
        "position": page.position,
        "number": page.number,
        "name": page.name,
        "source": page.source,
        "size": list(page.size),
        "dpi": page.dpi,
        "sha256": page.sha256,
        "status": str(page.status),
        "reason": page.reason,
        "warnings": list(page.warnings),
        "tokens": page.tokens,
        "seconds": page.seconds,
        "finish_reason": page.finish_reason,
        "tries": [{**asdict(one), "status": str(one.status)} for one in page.tries],
        "origin": origin_data(page),
        "blocks": [block_data(block) for block in page.blocks],
        "raw": page.raw,
    }
    if embed:
        data["image"] = image_data(page)
    return data


def _plain(value: Any) -> Any:
    """Keep what JSON can hold: no lone half of a surrogate pair, no number that is none, no stranger's object."""
    if isinstance(value, str):
        return without_halves(str(value))
    if isinstance(value, dict):
        return {str(_plain(str(key))): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int)):
        return value
    return _plain(str(value))


def load(path: Path) -> Document:
    """Read a document from the file at `path`.

    Raises
    ------
    SourceError
        When there is no such file, or it is no document of this package.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise SourceError(
            f"{path} cannot be read.", f"{error.strerror or error}.", 'uocr_nb.load("document.json")'
        ) from error
    except UnicodeDecodeError as error:
        raise SourceError(
            f"{path} is no document of uocr_nb.", "It is not JSON in UTF-8.", f'uocr_nb.ocr("{path.name}")'
        ) from error
    return from_json(text, base=path.parent)


def from_json(text: str, *, base: Path | None = None) -> Document:
    """Read the document that `to_json` wrote.

    Parameters
    ----------
    text : str
        The JSON.
    base : Path, optional
        The folder that relative paths of sources are looked for in first, before the current one.

    Raises
    ------
    SourceError
        When the text is no document of this package, or of a newer version of it.
    """
    try:
        whole = _plain(json.loads(text))
    except ValueError as error:
        raise SourceError("The text is no JSON.", f"{error}.", 'doc.save("document.json") writes it.') from error
    if not isinstance(whole, dict) or whole.get("schema") != SCHEMA:
        raise SourceError(
            "The JSON is no document of uocr_nb.",
            f'It does not say "schema": "{SCHEMA}".',
            'doc.save("document.json") writes it.',
        )
    if not isinstance(whole.get("version"), int) or whole["version"] > VERSION:
        raise SourceError(
            f"The document has version {whole.get('version')!r} of its format.",
            f"This uocr_nb knows version {VERSION}.",
            "pip install -U uocr_nb",
        )
    try:
        pages = [_page(data, base) for data in whole["pages"]]
        return Document(
            pages,
            meta=dict(whole.get("meta") or {}),
            show=str(whole.get("show", "auto")),
            warnings=[str(warning) for warning in whole.get("warnings", ())],
            edits=[edit_of(edit) for edit in whole.get("edits", ())],
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SourceError(
            "The document cannot be read.", f"Something in its JSON is missing or of another kind: {error}.", ""
        ) from error


def _page(data: Mapping[str, Any], base: Path | None) -> Page:
    width, height = data["size"]
    return Page(
        position=int(data["position"]),
        number=int(data["number"]),
        source=str(data["source"]),
        size=(int(width), int(height)),
        blocks=tuple(block_of(block) for block in data.get("blocks", ())),
        status=Status(data["status"]),
        warnings=tuple(str(warning) for warning in data.get("warnings", ())),
        reason=str(data.get("reason", "")),
        raw=str(data.get("raw", "")),
        dpi=number_of(data.get("dpi")),
        sha256=str(data.get("sha256", "")),
        tokens=None if data.get("tokens") is None else int(data["tokens"]),
        seconds=number_of(data.get("seconds")),
        finish_reason=_text(data.get("finish_reason")),
        tries=tuple(_try(one) for one in data.get("tries", ())),
        name=str(data.get("name", "")),
        image_file=embedded_file(data.get("image")),
        origin=origin_of(data, base),
    )


def _try(data: Mapping[str, Any]) -> Try:
    return Try(
        status=Status(data["status"]),
        kept=bool(data["kept"]),
        reason=str(data.get("reason", "")),
        mode=_text(data.get("mode")),
        prompt=_text(data.get("prompt")),
        raw=str(data.get("raw", "")),
        tokens=None if data.get("tokens") is None else int(data["tokens"]),
        seconds=number_of(data.get("seconds")),
    )


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def to_dataframe(document: Document) -> Any:
    """One row a block: source, page, number, label, text, x1, y1, x2, y2, confidence, status.

    Returns
    -------
    pandas.DataFrame
        `page` is the position in the document, `number` the block's on its page, both from 1.

    Raises
    ------
    MissingExtraError
        When pandas is not installed.
    """
    try:
        import pandas as pd  # noqa: PLC0415 - only when it is asked for
    except ImportError as error:
        raise MissingExtraError("A table of blocks needs pandas.", "data", "pandas") from error
    rows = [row for page in document.pages for row in _rows(page)]
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    whole = dict.fromkeys(("number", "x1", "y1", "x2", "y2"), "Int64")
    return frame.astype(whole | {"confidence": "Float64"})


def _rows(page: Page) -> list[tuple[Any, ...]]:
    status = str(page.status)
    nothing = (None,) * 4
    return [
        (page.source, page.position, number, b.label, b.text, *(b.box or nothing), b.confidence, status)
        for number, b in enumerate(page.blocks, 1)
    ]
