"""Where exports go: file names made from templates, written whole or not at all."""

from __future__ import annotations

import os
import re
import secrets
import shutil
from typing import TYPE_CHECKING

from uocr_nb.document.model import part_of
from uocr_nb.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from uocr_nb.document.model import Document

__all__ = ["check_template", "file_name", "filled_paths", "write_file"]

_FIELD = re.compile(r"\{(source|page)(?::0(\d))?\}")
_ANY_FIELD = re.compile(r"\{[a-z_]+(?::[^{}]*)?\}")
_UNSAFE = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*{}]+')
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)", re.IGNORECASE)
_MAX_BYTES = 120
"""Of a name made from a source's name; file systems take 255 with the ending."""


def file_name(source: str) -> str:
    """Make a file name of a source's name: no folder, no ending of a known kind, nothing a system refuses."""
    last = re.split(r"[/\\]", source.split("?", maxsplit=1)[0].rstrip("/\\"))[-1]
    bare = re.sub(r"\.(?:pdf|png|jpe?g|tiff?|webp|gif|bmp|jp2|heic|avif)$", "", last, flags=re.IGNORECASE)
    safe = _UNSAFE.sub("_", bare).strip(". ")
    safe = safe.encode("utf-8", "ignore")[:_MAX_BYTES].decode("utf-8", "ignore").rstrip(". ")
    if not safe:
        return "source"
    return f"_{safe}" if _RESERVED.match(safe) else safe


def check_template(path: Path) -> None:
    """Check what can be known of `path` before there is a document: its fields, and the folder it is in.

    Raises
    ------
    OptionError
        When the template has an unknown field, its folder is not there, or it is a folder itself.
    """
    for match in _ANY_FIELD.finditer(str(path)):
        if not _FIELD.fullmatch(match[0]):
            raise OptionError(
                f"{match[0]} in a path is not known.",
                "A path may hold {source} and {page}, or {page:03} for three digits.",
                'doc.save("out/{source}-{page}.md")',
            )
    folder = path.parent
    if _FIELD.search(str(folder)):
        # Which folders the fields make is known with the document only; what is above them is known now.
        folder = next(above for above in folder.parents if not _FIELD.search(str(above)))
    _check_folder(folder, path.name)
    if path.is_dir():
        raise _is_folder(path)


def _check_folder(folder: Path, name: str) -> None:
    if not folder.is_dir():
        raise OptionError(
            f"There is no folder {folder}.",
            f"{name} was to be written there.",
            f'import pathlib; pathlib.Path("{folder}").mkdir(parents=True)',
        )


def _is_folder(path: Path) -> OptionError:
    return OptionError(
        f"{path} is a folder.", "A document is written to a file.", f'doc.save("{path / "document.md"}")'
    )


def filled_paths(document: Document, path: Path) -> list[tuple[Path, Document]]:
    """List the files that `path` stands for, each with the part of the document that goes into it.

    Raises
    ------
    OptionError
        When the template stands for no file, or two pages would go into one file.
    """
    template = str(path)
    fields = {match[1] for match in _FIELD.finditer(template)}
    if not fields:
        return [(path, document)]
    if not len(document):
        raise OptionError(f"{template} stands for no file.", "The document has no pages.", 'doc.save("document.md")')
    by_source = document.by_source()
    names = dict(zip(by_source, _unique([file_name(source) for source in by_source]), strict=True))
    if "page" not in fields:
        return [(_fill(path, names[source], 0), part) for source, part in by_source.items()]
    # Without the source in the name, page 1 of two sources would be one file.
    in_document = len(names) > 1 and "source" not in fields
    parts = [
        (_fill(path, names[page.source], page.position if in_document else page.number), part_of(document, [page]))
        for page in document.pages
    ]
    if len({file for file, _part in parts}) < len(parts):
        raise OptionError(
            f"{template} would write one file twice.",
            "Two pages of a source have the same number.",
            'doc.save("document.md")',
        )
    return parts


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
    _check_folder(path.parent, path.name)
    if path.is_dir():
        raise _is_folder(path)
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
