"""Page images in JSON: where they came from, or the images themselves."""

from __future__ import annotations

import base64
import hashlib
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from uocr_nb.document.model import Page

__all__ = ["embedded_file", "image_data", "origin_data", "origin_of"]

_MAGIC = {b"\xff\xd8\xff": ("image/jpeg", ".jpg"), b"\x89PNG": ("image/png", ".png")}


def origin_data(page: Page) -> dict[str, Any] | None:
    """Describe the file a page image was made from, and how; never a password, nothing for what was not a file.

    An address is left out too: looking at a document that somebody sent must not open connections.
    """
    if page.origin is None:
        return None
    source, spec = page.origin
    if source.path is None or source.kind not in ("pdf", "image"):
        return None
    path = Path(source.path)
    here = Path.cwd()
    return {
        "path": path.relative_to(here).as_posix() if path.is_relative_to(here) else str(path),
        "kind": source.kind,
        "dpi": spec.dpi,
        "mode": spec.mode,
        "max_pixels": spec.max_pixels,
    }


def image_data(page: Page) -> str:
    """Make a data URI of the page image, as it was sent where that file is still there."""
    content = None
    if page.image_file is not None and page.image_file.is_file():
        content = page.image_file.read_bytes()
    mime = next((kind for magic, (kind, _ending) in _MAGIC.items() if content and content.startswith(magic)), None)
    if content is None or mime is None:
        out = io.BytesIO()
        page.image.save(out, "JPEG", quality=90)
        content, mime = out.getvalue(), "image/jpeg"
    return f"data:{mime};base64,{base64.b64encode(content).decode('ascii')}"


def embedded_file(uri: Any) -> Path | None:
    """Put an embedded page image into the run folder, where page images live."""
    if uri is None:
        return None
    from uocr_nb.support.state import run_folder, write_atomic  # noqa: PLC0415 - only when it is asked for

    content = base64.b64decode(str(uri).partition(",")[2], validate=True)
    ending = next((ending for magic, (_kind, ending) in _MAGIC.items() if content.startswith(magic)), None)
    if ending is None:
        raise ValueError("an embedded image is neither JPEG nor PNG")
    path = run_folder() / f"{hashlib.sha256(content).hexdigest()}{ending}"
    return path if path.is_file() else write_atomic(path, content)


def origin_of(data: Mapping[str, Any], base: Path | None) -> Any:
    """Find source and render spec, from which `Page.image` renders again when the file is still there."""
    told = data.get("origin")
    if told is None:
        return None
    from uocr_nb.sources.types import MAX_PIXELS, RenderSpec, Source  # noqa: PLC0415 - only when it is asked for

    kind = told["kind"]
    if kind not in ("pdf", "image"):
        raise ValueError(f"{kind!r} is no kind of source")
    spec = RenderSpec(
        dpi=None if told.get("dpi") is None else float(told["dpi"]),
        mode=str(told.get("mode", "gundam")),
        # What a file says never lifts the bound on how large a picture may become.
        max_pixels=min(int(told.get("max_pixels", MAX_PIXELS)), MAX_PIXELS),
    )
    path = Path(told["path"])
    tried = [folder / path for folder in (base, Path.cwd()) if folder is not None]
    if base is not None:
        tried.append(base / path.name)
    found = next((candidate for candidate in tried if candidate.is_file()), tried[0])
    return Source(name=str(data["source"]), kind=kind, path=found.resolve()), spec
