"""From what a user hands over to a list of sources: files found, kinds told by content, names made unique."""

from __future__ import annotations

import difflib
import fnmatch
import glob
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from uocr_nb.errors import SourceError
from uocr_nb.sources.handed import from_memory
from uocr_nb.sources.sniff import HEAD, describe, sniff
from uocr_nb.sources.types import Source

__all__ = ["natural_key", "resolve"]

_READS = "Read are PDF files and pictures (PNG, JPEG, TIFF, WebP, GIF, BMP and others)."

_SHOWN = 5
"""Names of skipped files that a note lists."""


def resolve(items: Any, *, base: Path | None = None, password: str | None = None) -> list[Source]:
    """Find what `items` name.

    Parameters
    ----------
    items : object
        One thing or a list of things: path (text or Path), glob, folder, bytes, file object, PIL image, numpy array,
        matplotlib figure.
    base : Path, optional
        Folder that relative paths start from; the working folder by default.
    password : str, optional
        For PDF files that ask for one.

    Returns
    -------
    list of Source
        In the order given; files of a folder or glob sorted as people count (page2 before page10). Among several
        items, one that cannot be read is in the list with its `problem` set.

    Raises
    ------
    SourceError
        When the only item cannot be read, or there is none.
    """
    flat = list(_flatten(items))
    if not flat:
        raise SourceError("There is nothing to read.", "The list of sources is empty.", "%uocr report.pdf")
    found: list[Source] = []
    for item in flat:
        try:
            found += _one(item, base)
        except SourceError as error:
            if len(flat) == 1:
                raise
            found.append(Source(_short(item), "image", problem=error))
    if password is not None:
        found = [replace(source, password=password) for source in found]
    return _named(found)


def natural_key(name: str) -> list[tuple[int, int, str]]:
    """Sort key by which page2 comes before page10, whatever the case."""
    parts = re.split(r"(\d+)", unicodedata.normalize("NFC", name).casefold())
    # Digits of other scripts count too; what int() does not take (such as superscripts) is not matched by \d.
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts]


def _flatten(items: Any) -> Iterator[Any]:
    if isinstance(items, (list, tuple)):
        for item in items:
            yield from _flatten(item)
    else:
        yield items


def _short(item: Any) -> str:
    text = str(item) if isinstance(item, (str, os.PathLike)) else type(item).__name__
    return text if len(text) <= 80 else f"{text[:77]}..."


def _one(item: Any, base: Path | None) -> list[Source]:
    if isinstance(item, str):
        return _from_text(item.strip(), base)
    if isinstance(item, os.PathLike):
        name = os.fspath(item)
        return _from_path(_absolute(os.fsdecode(name), base), os.fsdecode(name))
    return [from_memory(item)]


def _from_text(text: str, base: Path | None) -> list[Source]:
    if not text:
        raise SourceError("There is nothing to read.", "The name of the source is empty.", "%uocr report.pdf")
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]+)://", text)
    if scheme:
        raise SourceError(
            f"{_short(text)} cannot be read.",
            f"Addresses ({scheme[1].lower()}://) are not supported yet.",
            "Download the file and name it: %uocr file.pdf",
        )
    path = _absolute(text, base)
    real = _existing(path)
    if real is None and glob.has_magic(text):
        return _from_glob(path, text)
    return _from_path(path, text)


def _absolute(text: str, base: Path | None) -> Path:
    path = Path(text)
    try:
        path = path.expanduser()
    except RuntimeError:
        pass  # "~name" of no known user is a file name like any other
    return Path(os.path.normpath((base or Path.cwd()).absolute() / path))


def _from_path(path: Path, given: str) -> list[Source]:
    real = _existing(path)
    if real is None:
        raise _missing(path, given)
    if real.is_dir():
        return _from_folder(real, given)
    return [_from_file(real)]


def _existing(path: Path) -> Path | None:
    """`path` as it is on disk: an "ü" of one code point finds one of two, and the other way round."""
    try:
        if path.exists():
            return path
        real = Path(path.anchor)
        for part in path.parts[1:]:
            if (real / part).exists():
                real /= part
                continue
            wanted = unicodedata.normalize("NFC", part)
            same = [name for name in os.listdir(real) if unicodedata.normalize("NFC", name) == wanted]
            if not same:
                return None
            real /= same[0]
    except (OSError, ValueError):  # no right to look, a name too long, a NUL in it
        return None
    return real


def _missing(path: Path, given: str) -> SourceError:
    folder = path.parent
    what = f"{_short(given)} is not there."
    try:
        names = [name for name in os.listdir(folder) if not name.startswith(".")]
    except (OSError, ValueError):
        return SourceError(what, f"There is no folder {folder}.", "Look at the path: %ls")
    lower = {unicodedata.normalize("NFC", name).casefold(): name for name in names}
    near = difflib.get_close_matches(unicodedata.normalize("NFC", path.name).casefold(), lower, n=3, cutoff=0.6)
    why = f"The folder {folder} has no file of that name."
    if not near:
        return SourceError(what, why, "Look at what is there: %ls")
    close = [os.path.join(os.path.dirname(given), lower[name]) for name in near]
    return SourceError(what, why, "Did you mean this?\n" + "\n".join(f"%uocr {_quoted(name)}" for name in close))


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[\w./~+:@%,=-]+", name) else f'"{name}"'


def _kind_of(path: Path) -> tuple[str | None, bytes]:
    with path.open("rb") as file:
        head = file.read(HEAD)
    kind = sniff(head)
    # A damaged PDF may have lost its header; the name is asked only when the content says nothing.
    if kind is None and head and path.suffix.lower() == ".pdf" and describe(head) in _MAY_BE_PDF:
        kind = "pdf"
    return kind, head


_MAY_BE_PDF = ("of a kind that is not known here", "plain text")


def _from_file(path: Path) -> Source:
    try:
        kind, head = _kind_of(path)
    except OSError as error:
        raise SourceError(
            f"{path.name} cannot be opened.", f"{error.strerror or error}.", "Look at its rights and try again."
        ) from error
    if kind == "pdf":
        return Source(path.name, "pdf", path)
    if kind == "image":
        return Source(path.name, "image", path)
    raise SourceError(f"{path.name} is not a file that can be read.", f"It is {describe(head)}. {_READS}", _help(head))


def _help(head: bytes) -> str:
    if describe(head) == "empty (0 bytes)":
        return "Copy or download it again."
    return "Save it as PDF or PNG in the program that made it, and name that file."


def _from_folder(folder: Path, given: str) -> list[Source]:
    files: list[Path] = []
    for top, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        files += [Path(top, name) for name in names]
    files.sort(key=lambda path: natural_key(str(path.relative_to(folder))))
    return _from_many(files, f"The folder {_short(given)}")


def _from_glob(pattern: Path, given: str) -> list[Source]:
    matches: dict[str, None] = {}
    for form in ("NFC", "NFD"):
        wanted = unicodedata.normalize(form, str(pattern))
        matches.update(dict.fromkeys(glob.glob(wanted, recursive=True)))
    files = sorted((Path(match) for match in matches if not os.path.isdir(match)), key=lambda p: natural_key(str(p)))
    if files:
        return _from_many(files, f"The pattern {_short(given)}")
    folder = pattern.parent
    while glob.has_magic(str(folder)):
        folder = folder.parent
    why = f"No file in {folder} has such a name." if folder.is_dir() else f"There is no folder {folder}."
    endings = _endings(folder)
    hint = f"There are: {', '.join(endings)}" if endings else "Look at what is there: %ls"
    raise SourceError(f"{_short(given)} matches nothing.", why, hint)


def _endings(folder: Path) -> list[str]:
    """Patterns such as ``*.tif`` that would match something in `folder`."""
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    endings = {os.path.splitext(name)[1] for name in names if not name.startswith(".")}
    known = ("*.pdf", "*.png", "*.jp*g", "*.tif*", "*.webp", "*.gif", "*.bmp", "*.heic")
    patterns = {pattern for ending in endings for pattern in known if fnmatch.fnmatch(f"x{ending.lower()}", pattern)}
    return [pattern for pattern in known if pattern in patterns]


def _from_many(files: list[Path], where: str) -> list[Source]:
    """Sources of the files that can be read; the first carries a note about those that cannot."""
    found: list[Source] = []
    skipped: list[str] = []
    hidden = 0
    for file in files:
        if file.name.startswith("."):
            hidden += 1
            continue
        try:
            found.append(_from_file(file))
        except SourceError:
            skipped.append(file.name)
    notes = []
    if skipped:
        more = f" and {len(skipped) - _SHOWN} more" if len(skipped) > _SHOWN else ""
        notes.append(f"{where}: skipped {', '.join(skipped[:_SHOWN])}{more} (not PDF or picture).")
    if hidden:
        notes.append(f"{where}: skipped {hidden} hidden file{'s' if hidden > 1 else ''}.")
    if not found:
        why = "It is empty." if not (skipped or hidden) else f"It has {len(skipped) + hidden} files. {_READS}"
        raise SourceError(f"{where} holds nothing that can be read.", why, "%uocr report.pdf")
    found[0] = replace(found[0], notes=tuple(notes))
    return found


def _named(sources: list[Source]) -> list[Source]:
    """`sources` with names of their own: as much of the path as tells two files apart, then a number."""
    names = [source.name for source in sources]
    for depth in range(2, 6):
        counts = Counter(names)
        if len(counts) == len(names):
            break
        names = [
            "/".join(source.path.parts[-depth:]) if counts[name] > 1 and source.path else name
            for name, source in zip(names, sources, strict=True)
        ]
    taken: set[str] = set()
    result = []
    for name, source in zip(names, sources, strict=True):
        unique, number = name, 2
        while unique in taken:
            unique, number = f"{name} ({number})", number + 1
        taken.add(unique)
        result.append(replace(source, name=unique))
    return result
