"""Folders and patterns as sources: all their files that can be read, and what was left out."""

from __future__ import annotations

import fnmatch
import glob
import os
import unicodedata
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from uocr_nb.errors import SourceError
from uocr_nb.sources.files import READS, looked_at, quoted, short, shown
from uocr_nb.sources.walk import Bounds, Skipped, natural_key, walk

if TYPE_CHECKING:
    from collections.abc import Iterable

    from uocr_nb.sources.types import Source

__all__ = ["from_folder", "from_glob"]


def from_folder(folder: Path, given: str) -> list[Source]:
    """Make sources of what lies in `folder` and its subfolders; `given` is how its owner wrote it.

    Raises
    ------
    SourceError
        When none can be read.
    """
    bounds, skipped = Bounds(), Skipped()
    return _from_many(walk(folder, bounds, skipped), f"The folder {short(given)}", bounds, skipped)


def from_glob(given: str, base: Path | None) -> list[Source]:
    """Make sources of what a pattern matches.

    Raises
    ------
    SourceError
        When none can be read.
    """
    start = glob.escape(str((base or Path.cwd()).absolute()))
    pattern = os.path.normpath(Path(start) / os.path.expanduser(given))  # noqa: PTH111 - Path.expanduser may raise
    bounds, skipped = Bounds(), Skipped()
    matches: dict[str, Path] = {}
    for form in ("NFC", "NFD"):
        wanted = unicodedata.normalize(form, pattern)
        for match in bounds.among(map(Path, glob.iglob(wanted, recursive=True))):  # noqa: PTH207 - an absolute pattern
            # Links that lead in a circle would give each file many times.
            matches.setdefault(os.path.realpath(match) if "**" in wanted else str(match), match)
    files = sorted(matches.values(), key=lambda path: natural_key(str(path)))
    files = [file for file in files if not os.path.isdir(file)]  # noqa: PTH112 - Path.is_dir may raise
    if files:
        manifests = given.lower().endswith("json")
        return _from_many(files, f"The pattern {short(given)}", bounds, skipped, manifests=manifests)
    folder = Path(pattern).parent
    while glob.has_magic(str(folder)) and not os.path.isdir(folder):  # noqa: PTH112 - as above
        folder = folder.parent
    there_is = os.path.isdir(folder)  # noqa: PTH112 - as above
    why = f"No file in {folder} has such a name." if there_is else f"There is no folder {folder}."
    endings = _endings(folder)
    there = Path(given).with_name(endings[0]) if endings else None
    raise SourceError(f"{short(given)} matches nothing.", why, f"%uocr {quoted(str(there))}" if there else "%ls")


def _endings(folder: Path) -> list[str]:
    """List patterns such as ``*.tif`` that match something in `folder`."""
    try:
        endings = {entry.suffix.lower() for entry in folder.iterdir() if not entry.name.startswith(".")}
    except OSError:
        return []
    known = ("*.pdf", "*.png", "*.jp*g", "*.tif*", "*.webp", "*.gif", "*.bmp", "*.heic")
    return [pattern for pattern in known if any(fnmatch.fnmatch(f"x{ending}", pattern) for ending in endings)]


def _from_many(
    files: Iterable[Path], where: str, bounds: Bounds, skipped: Skipped, *, manifests: bool = False
) -> list[Source]:
    """Make sources of the files that can be read; the first carries a note about those that cannot."""
    found: list[Source] = []
    for file in files:
        if file.name.startswith("."):
            skipped.add("hidden", file.name)
            continue
        source, reason = looked_at(file)
        if source is not None and source.kind == "iiif" and not manifests:
            # Reading a folder of scans must not fetch the same pages once more from their library.
            source, reason = None, "a IIIF manifest; name it to read it"
        if source is not None:
            found.append(source)
        else:
            skipped.add(reason, shown(file))
    notes = skipped.notes(where)
    if bounds.reached:
        notes.append(f"{where} is very large: {bounds.reached}. Name a part of it to read the rest.")
    if not found:
        why = "It is empty." if not skipped.count else f"It has {skipped.count:,} files. {READS}"
        raise SourceError(f"{where} holds nothing that can be read.", why, "%uocr report.pdf")
    found[0] = replace(found[0], notes=tuple(notes))
    return found
