"""Files as sources: found by name, told by content, described when they are none."""

from __future__ import annotations

import difflib
import os
import re
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uocr_nb.errors import SourceError
from uocr_nb.sources.iiif import looks_like_json
from uocr_nb.sources.sniff import HEAD, describe, sniff
from uocr_nb.sources.types import Source

if TYPE_CHECKING:
    from uocr_nb.sources.types import Kind

__all__ = ["READS", "existing", "from_file", "looked_at", "missing", "quoted", "short", "shown"]

READS = "Read are PDF files and pictures (PNG, JPEG, TIFF, WebP, GIF, BMP and others)."


def short(item: Any) -> str:
    """Name something that was handed over, in at most 80 characters."""
    text = str(item) if isinstance(item, (str, os.PathLike)) else type(item).__name__
    return text if len(text) <= 80 else f"{text[:77]}..."


def existing(path: Path) -> Path | None:
    """Find `path` as it is on disk: an "ü" of one code point finds one of two, and the other way round."""
    try:
        if path.exists():
            return path
        real = Path(path.anchor)
        for part in path.parts[1:]:
            if (real / part).exists():
                real /= part
                continue
            wanted = unicodedata.normalize("NFC", part)
            same = (entry for entry in real.iterdir() if unicodedata.normalize("NFC", entry.name) == wanted)
            found = next(same, None)
            if found is None:
                return None
            real = found
    except (OSError, ValueError):  # no right to look, a name too long, a NUL in it
        return None
    return real


def missing(path: Path, given: str) -> SourceError:
    """Make the error for a path that is not there, with near ones that are."""
    folder = path.parent
    what = f"{short(given)} is not there."
    try:
        names = [entry.name for entry in folder.iterdir() if not entry.name.startswith(".")]
    except PermissionError:
        what = f"{short(given)} cannot be looked at."
        return SourceError(what, f"There is no right to look into {folder}.", "Look at the rights of the folder.")
    except (OSError, ValueError):
        step = "Look at the path: %ls"
        if re.fullmatch(r"(?:[\w-]+\.)+[a-z]{2,}/[\w./~%?=&+-]+", given):
            step = f"%uocr https://{given}      (if it is an address)"
        return SourceError(what, f"There is no folder {folder}.", step)
    lower = {unicodedata.normalize("NFC", name).casefold(): name for name in names}
    near = difflib.get_close_matches(unicodedata.normalize("NFC", path.name).casefold(), lower, n=3, cutoff=0.6)
    why = f"The folder {folder} has no file of that name."
    if not near:
        return SourceError(what, why, "Look at what is there: %ls")
    close = [str(Path(given).with_name(lower[name])) for name in near if _may_be_read(folder / lower[name])]
    if not close:
        return SourceError(what, why, "Look at what is there: %ls")
    return SourceError(what, why, "\n".join(f"%uocr {quoted(name)}" for name in close))


def _may_be_read(path: Path) -> bool:
    try:
        return path.is_file() and _kind_of(path)[0] is not None
    except OSError:
        return False


def quoted(name: str) -> str:
    """Write a name as the line of a magic takes it."""
    return name if re.fullmatch(r"[\w./~+:@%,=*?-]+", name) else f'"{name}"'


def _kind_of(path: Path) -> tuple[Kind | None, bytes]:
    with path.open("rb") as file:
        head = file.read(HEAD)
        kind = sniff(head)
        if kind is None and looks_like_json(head) and b"iiif.io/api/" in head + file.read(_JSON_HEAD):
            kind = "iiif"
    # A damaged PDF may have lost its header; the name is asked only when the content says nothing.
    if kind is None and head and path.suffix.lower() == ".pdf" and describe(head) in _MAY_BE_PDF:
        kind = "pdf"
    return kind, head


_JSON_HEAD = 1 << 18
"""Bytes of a JSON file in which a IIIF manifest says that it is one."""

_MAY_BE_PDF = ("of a kind that is not known here", "plain text")


def looked_at(path: Path) -> tuple[Source | None, str]:
    """The source that a file is, or in a few words why it is none."""
    try:
        if path.is_symlink() and not path.exists():
            return None, "a link that leads nowhere"
        if not path.is_file():
            return None, "a pipe, a device or the like"
        kind, head = _kind_of(path)
    except OSError as error:
        return None, (error.strerror or str(error)).lower()
    return (None, describe(head)) if kind is None else (Source(shown(path), kind, path), "")


def from_file(path: Path) -> Source:
    """Make the source that a file is.

    Raises
    ------
    SourceError
        When it is none.
    """
    name = shown(path)
    try:
        if not path.is_file():
            raise SourceError(
                f"{name} is not a file.", "It is a pipe, a device or the like.", "Name a PDF or picture file."
            )
        kind, head = _kind_of(path)
    except OSError as error:
        raise SourceError(
            f"{name} cannot be opened.", f"{error.strerror or error}.", "Look at its rights and try again."
        ) from error
    if kind is not None:
        return Source(name, kind, path)
    what = describe(head)
    step = "Save it as PDF or PNG in the program that made it, and name that file."
    if not head:
        step = "Copy or download it again."
    elif b'"uocr_nb.document"' in head:
        what, step = "a document that was read and saved", f'doc = uocr_nb.load("{name}")'
    raise SourceError(f"{name} is not a file that can be read.", f"It is {what}. {READS}", step)


def shown(path: Path) -> str:
    """Name a file for people: composed letters, and a mark for bytes that are no text."""
    return unicodedata.normalize("NFC", path.name).encode("utf-8", "replace").decode()
