"""Where exports go: file names made from templates, written whole or not at all."""

from __future__ import annotations

import os
import re
import secrets
import shutil
from typing import TYPE_CHECKING

from uocr_nb.document.model import Document
from uocr_nb.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from uocr_nb.document.model import Page

__all__ = ["file_name", "filled_paths", "write_file"]

_FIELD = re.compile(r"\{(source|page)(?::0(\d))?\}")
_UNKNOWN_FIELD = re.compile(r"\{([a-z_]+)(?::[^{}]*)?\}")
_UNSAFE = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*{}]+')
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)", re.IGNORECASE)
_MAX_BYTES = 120
"""Of a name made from a source's name; file systems take 255 with the ending."""


def file_name(source: str) -> str:
    """A name for a file about `source`: without folders, endings of known kinds, and characters some system refuses."""
    last = re.split(r"[/\\]", source.split("?")[0].rstrip("/\\"))[-1]
    bare = re.sub(r"\.(?:pdf|png|jpe?g|tiff?|webp|gif|bmp|jp2|heic|avif)$", "", last, flags=re.IGNORECASE)
    safe = _UNSAFE.sub("_", bare).strip(". ")
    safe = safe.encode("utf-8", "ignore")[:_MAX_BYTES].decode("utf-8", "ignore").rstrip(". ")
    if not safe:
        return "source"
    return f"_{safe}" if _RESERVED.match(safe) else safe


def filled_paths(document: Document, path: Path) -> list[tuple[Path, Document]]:
    """The files that `path` stands for, each with the part of the document that goes into it.

    Raises
    ------
    OptionError
        When the template has an unknown field, or the document has no page to fill it with.
    """
    template = str(path)
    fields = {match[1] for match in _FIELD.finditer(template)}
    if unknown := [match[0] for match in _UNKNOWN_FIELD.finditer(template) if match[1] not in ("source", "page")]:
        raise OptionError(
            f"{unknown[0]} in a path is not known.",
            "A path may hold {source} and {page}.",
            'doc.save("out/{source}.md")',
        )
    if not fields:
        return [(path, document)]
    if not len(document):
        raise OptionError(f"{template} stands for no file.", "The document has no pages.", 'doc.save("document.md")')
    by_source = document.by_source()
    names = _unique([file_name(source) for source in by_source])
    parts: list[tuple[Path, Document]] = []
    many = len(by_source) > 1
    for (source, part), name in zip(by_source.items(), names, strict=True):
        if "page" not in fields:
            parts.append((_fill(path, name, 0), part))
            continue
        for page in [page for page in document.pages if page.source == source]:
            # Without the source in the name, page 1 of two sources would be one file.
            number = page.position if many and "source" not in fields else page.number
            parts.append((_fill(path, name, number), _alone(document, page)))
    if len({file for file, _part in parts}) < len(parts):
        raise OptionError(
            f"{template} would write one file twice.",
            "Two pages of a source have the same number.",
            'doc.save("document.md")',
        )
    return parts if "source" in fields or "page" in fields and (many or "page" in fields) else [(path, document)]


def _alone(document: Document, page: Page) -> Document:
    return Document([page], meta=document.meta, show=document.show)


def _fill(path: Path, source: str, page: int) -> Path:
    def text(match: re.Match[str]) -> str:
        return source if match[1] == "source" else str(page).zfill(int(match[2] or 0))

    # Part by part, so that a source's name cannot bring a folder of its own.
    parts = [_FIELD.sub(text, part) for part in path.parts]
    return type(path)(*parts)


def _unique(names: Sequence[str]) -> list[str]:
    taken: set[str] = set()
    unique = []
    for name in names:
        candidate, n = name, 2
        while candidate.casefold() in taken:
            candidate, n = f"{name}-{n}", n + 1
        taken.add(candidate.casefold())
        unique.append(candidate)
    return unique


def write_file(path: Path, content: bytes) -> None:
    """Write `content` to `path` so that a reader finds the old file or the new one, never a part.

    A new file gets the user's usual rights, a replaced one keeps its own.

    Raises
    ------
    OptionError
        When the folder is not there or cannot be written.
    """
    if not path.parent.is_dir():
        raise OptionError(
            f"There is no folder {path.parent}.",
            f"{path.name} was to be written there.",
            f'import pathlib; pathlib.Path("{path.parent}").mkdir(parents=True)',
        )
    if path.is_dir():
        raise OptionError(
            f"{path} is a folder.", "A document is written to a file.", f'doc.save("{path / "document.md"}")'
        )
    goal = path.resolve()  # a link stays a link
    part = goal.with_name(f".uocr-{os.getpid()}-{secrets.token_hex(4)}.part")
    try:
        with part.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if goal.exists():
            shutil.copymode(goal, part)
        part.replace(goal)
    except OSError as error:
        raise OptionError(
            f"{path} could not be written.", f"{error.strerror or error}.", "Choose another folder, or make room."
        ) from error
    finally:
        part.unlink(missing_ok=True)
