"""From what a user hands over to a list of sources: files found, kinds told by content, names made unique."""

from __future__ import annotations

import contextlib
import difflib
import fnmatch
import glob
import os
import re
import unicodedata
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from uocr_nb.errors import SourceError
from uocr_nb.sources.handed import from_memory
from uocr_nb.sources.iiif import looks_like_json
from uocr_nb.sources.names import name_of, named
from uocr_nb.sources.sniff import HEAD, describe, sniff
from uocr_nb.sources.types import Source
from uocr_nb.sources.unpack import unpacked
from uocr_nb.sources.walk import Bounds, Skipped, natural_key, walk
from uocr_nb.support.fetch import shown_url

if TYPE_CHECKING:
    from collections.abc import Iterable

    from uocr_nb.sources.types import Kind
    from uocr_nb.sources.unpack import Item

__all__ = ["natural_key", "resolve"]

_READS = "Read are PDF files and pictures (PNG, JPEG, TIFF, WebP, GIF, BMP and others)."

_SHOWN = 5
"""Names of skipped files that a note lists."""


def resolve(items: Any, *, base: Path | None = None, password: str | None = None) -> list[Source]:
    """Find what `items` name.

    Parameters
    ----------
    items : object
        One thing, or a list, column or mapping of things: path (text or Path), glob, folder, http(s) address, IIIF
        manifest, bytes, file object, PIL image, numpy array, matplotlib figure, upload widget or its value, cell or
        row of a data set. Keys of a mapping become names. No address is opened here.
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
    flat = unpacked(items)
    if not flat:
        raise SourceError(
            "There is nothing to read.",
            "The list of sources is empty, or nothing was uploaded yet.",
            "%uocr report.pdf",
        )
    found: list[Source] = []
    for item in flat:
        try:
            found += _one(item, base)
        except SourceError as error:
            if len(flat) == 1:
                raise
            found.append(Source(item.name or _name_for(item.value), "image", problem=error))
    if password is not None:
        found = [replace(source, password=password) for source in found]
    return named(found)


def _name_for(value: Any) -> str:
    """What to call something that cannot be read."""
    if isinstance(value, str) and _SCHEME.match(value.strip()):
        return name_of(value.strip())
    return (_shown(Path(value)) if isinstance(value, (str, Path)) else "") or _short(value)


def _short(item: Any) -> str:
    text = str(item) if isinstance(item, (str, os.PathLike)) else type(item).__name__
    return text if len(text) <= 80 else f"{text[:77]}..."


def _one(item: Item, base: Path | None) -> list[Source]:
    value = item.value
    if isinstance(value, str):
        found = _from_text(value.strip(), base)
    elif isinstance(value, os.PathLike):
        name = os.fsdecode(os.fspath(value))
        found = _from_path(_absolute(name, base), name)
    else:
        return [from_memory(value, item.name)]
    if not item.name:
        return found
    if len(found) == 1:
        return [replace(found[0], name=item.name)]
    return [replace(source, name=f"{item.name}/{source.name}") for source in found]


_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")


def _from_text(text: str, base: Path | None) -> list[Source]:
    if not text:
        raise SourceError("There is nothing to read.", "The name of the source is empty.", "%uocr report.pdf")
    scheme = _SCHEME.match(text)
    if scheme and scheme[1].lower() in ("http", "https"):
        return [_from_address(text)]
    if scheme and scheme[1].lower() == "file":
        text = url2pathname(urlsplit(text).path)
    elif scheme:
        raise SourceError(
            f"{_short(shown_url(text))} cannot be read.",
            f"Only http and https addresses are opened, not {scheme[1].lower()}.",
            "Download the file and name it: %uocr file.pdf",
        )
    path = _absolute(text, base)
    real = _existing(path)
    if real is None and glob.has_magic(text):
        return _from_glob(text, base)
    return _from_path(path, text)


def _from_address(text: str) -> Source:
    try:
        host = urlsplit(text).hostname
    except ValueError:
        host = None
    if not host or re.search(r"[\x00-\x1f\x7f]", text):
        raise SourceError(
            f"{_short(shown_url(text))} is not an address.",
            "After http:// or https:// comes the name of a host.",
            "%uocr https://example.org/report.pdf",
        )
    return Source(name_of(text), "url", url=text)


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
        if kind is None and looks_like_json(head) and b"iiif.io/api/" in head + file.read(_JSON_HEAD):
            kind = "iiif"
    # A damaged PDF may have lost its header; the name is asked only when the content says nothing.
    if kind is None and head and path.suffix.lower() == ".pdf" and describe(head) in _MAY_BE_PDF:
        kind = "pdf"
    return kind, head


_JSON_HEAD = 1 << 18
"""Bytes of a JSON file in which a IIIF manifest says that it is one."""

_MAY_BE_PDF = ("of a kind that is not known here", "plain text")


def _looked_at(path: Path) -> tuple[Source | None, str]:
    """The source that a file is, or in a few words why it is none."""
    try:
        if path.is_symlink() and not path.exists():
            return None, "a link that leads nowhere"
        if not path.is_file():
            return None, "a pipe, a device or the like"
        kind, head = _kind_of(path)
    except OSError as error:
        return None, (error.strerror or str(error)).lower()
    return (None, describe(head)) if kind is None else (Source(_shown(path), kind, path), "")


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
    elif b'"uocr_nb.document"' in head:
        what, step = "a document that was read and saved", f'doc = uocr_nb.load("{name}")'
    raise SourceError(f"{name} is not a file that can be read.", f"It is {what}. {_READS}", step)


def _shown(path: Path) -> str:
    """Name a file for people: composed letters, and a mark for bytes that are no text."""
    return unicodedata.normalize("NFC", path.name).encode("utf-8", "replace").decode()


def _from_folder(folder: Path, given: str) -> list[Source]:
    bounds, skipped = Bounds(), Skipped()
    return _from_many(walk(folder, bounds, skipped), f"The folder {_short(given)}", bounds, skipped)


def _from_glob(given: str, base: Path | None) -> list[Source]:
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
    files = [file for file in files if not file.is_dir()]
    if files:
        manifests = given.lower().endswith("json")
        return _from_many(files, f"The pattern {_short(given)}", bounds, skipped, manifests=manifests)
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


def _from_many(
    files: Iterable[Path], where: str, bounds: Bounds, skipped: Skipped, *, manifests: bool = False
) -> list[Source]:
    """Make sources of the files that can be read; the first carries a note about those that cannot."""
    found: list[Source] = []
    for file in files:
        if file.name.startswith("."):
            skipped.add("hidden", file.name)
            continue
        source, reason = _looked_at(file)
        if source is not None and source.kind == "iiif" and not manifests:
            # Reading a folder of scans must not fetch the same pages once more from their library.
            source, reason = None, "a IIIF manifest; name it to read it"
        if source is not None:
            found.append(source)
        else:
            skipped.add(reason, _shown(file))
    notes = skipped.notes(where)
    if bounds.reached:
        notes.append(f"{where} is very large: {bounds.reached}. Name a part of it to read the rest.")
    if not found:
        why = "It is empty." if not skipped.count else f"It has {skipped.count:,} files. {_READS}"
        raise SourceError(f"{where} holds nothing that can be read.", why, "%uocr report.pdf")
    found[0] = replace(found[0], notes=tuple(notes))
    return found
