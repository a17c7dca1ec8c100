"""From what a user hands over to a list of sources: files found, kinds told by content, names made unique."""

from __future__ import annotations

import contextlib
import difflib
import fnmatch
import glob
import os
import re
import unicodedata
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uocr_nb.errors import SourceError
from uocr_nb.sources.handed import from_memory
from uocr_nb.sources.sniff import HEAD, describe, sniff
from uocr_nb.sources.types import Source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from uocr_nb.sources.types import Kind

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
            name = _shown(Path(item)) if isinstance(item, (str, Path)) else ""
            found.append(Source(name or _short(item), "image", problem=error))
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
        return _from_glob(text, base)
    return _from_path(path, text)


def _absolute(text: str, base: Path | None) -> Path:
    path = Path(text)
    # "~name" of no known user is a file name like any other.
    with contextlib.suppress(RuntimeError):
        path = path.expanduser()
    return Path(os.path.normpath((base or Path.cwd()).absolute() / path))


def _from_path(path: Path, given: str) -> list[Source]:
    real = _existing(path)
    if real is None:
        raise _missing(path, given)
    if real.is_dir():
        return _from_folder(real, given)
    return [_from_file(real)]


def _existing(path: Path) -> Path | None:
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


def _missing(path: Path, given: str) -> SourceError:
    folder = path.parent
    what = f"{_short(given)} is not there."
    try:
        names = [entry.name for entry in folder.iterdir() if not entry.name.startswith(".")]
    except (OSError, ValueError):
        return SourceError(what, f"There is no folder {folder}.", "Look at the path: %ls")
    lower = {unicodedata.normalize("NFC", name).casefold(): name for name in names}
    near = difflib.get_close_matches(unicodedata.normalize("NFC", path.name).casefold(), lower, n=3, cutoff=0.6)
    why = f"The folder {folder} has no file of that name."
    if not near:
        return SourceError(what, why, "Look at what is there: %ls")
    close = [str(Path(given).with_name(lower[name])) for name in near if _may_be_read(folder / lower[name])]
    if not close:
        return SourceError(what, why, "Look at what is there: %ls")
    return SourceError(what, why, "\n".join(f"%uocr {_quoted(name)}" for name in close))


def _may_be_read(path: Path) -> bool:
    try:
        return path.is_file() and _kind_of(path)[0] is not None
    except OSError:
        return False


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[\w./~+:@%,=*?-]+", name) else f'"{name}"'


def _kind_of(path: Path) -> tuple[Kind | None, bytes]:
    with path.open("rb") as file:
        head = file.read(HEAD)
    kind = sniff(head)
    # A damaged PDF may have lost its header; the name is asked only when the content says nothing.
    if kind is None and head and path.suffix.lower() == ".pdf" and describe(head) in _MAY_BE_PDF:
        kind = "pdf"
    return kind, head


_MAY_BE_PDF = ("of a kind that is not known here", "plain text")


def _from_file(path: Path) -> Source:
    name = _shown(path)
    if not path.is_file():
        raise SourceError(
            f"{name} is not a file.", "It is a pipe, a device or the like.", "Name a PDF or picture file."
        )
    try:
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
    raise SourceError(f"{name} is not a file that can be read.", f"It is {what}. {_READS}", step)


def _shown(path: Path) -> str:
    """Name a file for people: composed letters, and a mark for bytes that are no text."""
    return unicodedata.normalize("NFC", path.name).encode("utf-8", "replace").decode()


def _from_folder(folder: Path, given: str) -> list[Source]:
    files: list[Path] = []
    for top, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        files += [Path(top, name) for name in names]
    files.sort(key=lambda path: natural_key(str(path.relative_to(folder))))
    return _from_many(files, f"The folder {_short(given)}")


def _from_glob(given: str, base: Path | None) -> list[Source]:
    start = glob.escape(str((base or Path.cwd()).absolute()))
    pattern = os.path.normpath(Path(start) / os.path.expanduser(given))  # noqa: PTH111 - Path.expanduser may raise
    matches: dict[str, None] = {}
    for form in ("NFC", "NFD"):
        wanted = unicodedata.normalize(form, pattern)
        matches.update(dict.fromkeys(glob.glob(wanted, recursive=True)))  # noqa: PTH207 - Path.glob takes no absolute one
    files = sorted((Path(match) for match in matches), key=lambda path: natural_key(str(path)))
    files = [file for file in files if not file.is_dir()]
    if files:
        return _from_many(files, f"The pattern {_short(given)}")
    folder = Path(pattern).parent
    while glob.has_magic(str(folder)) and not folder.is_dir():
        folder = folder.parent
    why = f"No file in {folder} has such a name." if folder.is_dir() else f"There is no folder {folder}."
    endings = _endings(folder)
    there = Path(given).with_name(endings[0]) if endings else None
    raise SourceError(f"{_short(given)} matches nothing.", why, f"%uocr {_quoted(str(there))}" if there else "%ls")


def _endings(folder: Path) -> list[str]:
    """List patterns such as ``*.tif`` that match something in `folder`."""
    try:
        endings = {entry.suffix.lower() for entry in folder.iterdir() if not entry.name.startswith(".")}
    except OSError:
        return []
    known = ("*.pdf", "*.png", "*.jp*g", "*.tif*", "*.webp", "*.gif", "*.bmp", "*.heic")
    return [pattern for pattern in known if any(fnmatch.fnmatch(f"x{ending}", pattern) for ending in endings)]


def _from_many(files: list[Path], where: str) -> list[Source]:
    """Make sources of the files that can be read; the first carries a note about those that cannot."""
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
        notes.append(f"{where}: skipped {', '.join(skipped[:_SHOWN])}{more} (neither PDF nor picture).")
    if hidden:
        notes.append(f"{where}: skipped {hidden} hidden file{'s' if hidden > 1 else ''}.")
    if not found:
        why = "It is empty." if not (skipped or hidden) else f"It has {len(skipped) + hidden} files. {_READS}"
        raise SourceError(f"{where} holds nothing that can be read.", why, "%uocr report.pdf")
    found[0] = replace(found[0], notes=tuple(notes))
    return found


def _named(sources: list[Source]) -> list[Source]:
    """Give `sources` names of their own: as much of the path as tells two files apart, then a number."""
    names = [source.name for source in sources]
    for depth in range(2, 6):
        # The same file twice is not told apart by more of its path.
        counts = Counter(name for name, _ in {(n, source.path) for n, source in zip(names, sources, strict=True)})
        if max(counts.values()) == 1:
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
