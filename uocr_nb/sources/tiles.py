"""Tiles of an image server put together to one picture. Runs in the worker process only."""

from __future__ import annotations

from typing import Any

from uocr_nb.errors import SourceError
from uocr_nb.sources.types import MAX_PIXELS

__all__ = ["join"]


def join(request: dict[str, Any]) -> dict[str, Any]:
    """Paste ``tiles`` (file, left, top) on white, and write the picture of ``size`` to ``target``.

    Raises
    ------
    SourceError
        When the picture would be too large, or a tile cannot be decoded.
    """
    from PIL import Image  # noqa: PLC0415 - heavy

    width, height = request["size"]
    if width * height > 4 * MAX_PIXELS:
        raise SourceError(
            f"{request['name']} is too large.", f"It has {width:,} x {height:,} pixels.", "Try it with a lower --dpi."
        )
    whole = Image.new("RGB", (width, height), "white")
    for name, left, top in request["tiles"]:
        try:
            with Image.open(name) as tile:
                # A tile that is far larger than its place is a bomb or a mistake.
                if tile.width * tile.height <= MAX_PIXELS:
                    whole.paste(tile.convert("RGB"), (left, top))
        except (OSError, ValueError, SyntaxError) as error:
            raise SourceError(
                f"A tile of {request['name']} cannot be decoded.", f"{type(error).__name__}.", "Try again later."
            ) from error
    whole.save(request["target"], "PNG", compress_level=1)
    return {"pages": 1, "notes": []}
