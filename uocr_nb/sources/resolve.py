"""From what a user hands over to a list of sources: files found, kinds told by content, names made unique."""

from __future__ import annotations

import contextlib
import glob
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from uocr_nb.errors import SourceError
from uocr_nb.sources.files import existing, from_file, missing, short, shown
from uocr_nb.sources.folders import from_folder, from_glob
from uocr_nb.sources.handed import from_memory
from uocr_nb.sources.names import name_of, named
from uocr_nb.sources.types import Source
from uocr_nb.sources.unpack import unpacked
from uocr_nb.sources.walk import natural_key
from uocr_nb.support.fetch import shown_url

if TYPE_CHECKING:
    from uocr_nb.sources.unpack import Item

__all__ = ["natural_key", "resolve"]


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
    if isinstance(value, str) and _WEB.match(value.strip()):
        return short(shown_url(value.strip()))
    return (shown(Path(value)) if isinstance(value, (str, Path)) else "") or short(value)


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
_WEB = re.compile(r"https?:", re.IGNORECASE)
"""What begins so and names no file is an address that was mistyped; it may hold a password, as an address may."""


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
            f"{short(shown_url(text))} cannot be read.",
            f"Only http and https addresses are opened, not {scheme[1].lower()}.",
            "Download the file and name it: %uocr file.pdf",
        )
    path = _absolute(text, base)
    real = existing(path)
    if real is None and _WEB.match(text):
        raise _no_address(text)
    if real is None and glob.has_magic(text):
        return from_glob(text, base)
    return _from_path(path, text)


def _from_address(text: str) -> Source:
    try:
        host = urlsplit(text).hostname
    except ValueError:
        host = None
    if not host or re.search(r"[\x00-\x1f\x7f]", text):
        raise _no_address(text)
    return Source(name_of(text), "url", url=text)


def _no_address(text: str) -> SourceError:
    return SourceError(
        f"{short(shown_url(text))} is not an address.",
        "After http:// or https:// comes the name of a host.",
        "%uocr https://example.org/report.pdf",
    )


def _absolute(text: str, base: Path | None) -> Path:
    path = Path(text)
    # "~name" of no known user is a file name like any other.
    with contextlib.suppress(RuntimeError):
        path = path.expanduser()
    return Path(os.path.normpath((base or Path.cwd()).absolute() / path))


def _from_path(path: Path, given: str) -> list[Source]:
    real = existing(path)
    if real is None:
        raise missing(path, given)
    if real.is_dir():
        return from_folder(real, given)
    return [from_file(real)]
