"""What one value holds: lists, uploads, rows of a data set, tables of paths, taken apart into single things to read."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePath
from typing import Any, NamedTuple

from uocr_nb.errors import SourceError
from uocr_nb.sources.iiif import is_iiif
from uocr_nb.sources.sniff import HEAD, sniff

__all__ = ["Item", "is_a", "unpacked"]

MOST_ITEMS = 100_000
"""Things in one call: more is a mistake, or a generator without an end."""

_DEEP = 20

_NAME_KEYS = ("file_name", "filename", "image_path", "path", "name", "__key__", "id")
"""Columns of a row that may say what it is called, in this order."""


class Item(NamedTuple):
    """One thing to read, and what its owner calls it ("" when they do not say)."""

    value: Any
    name: str = ""


def unpacked(value: Any) -> list[Item]:
    """Take `value` apart into single things: paths, addresses, bytes, pictures.

    Raises
    ------
    SourceError
        When it holds too many, or a table from which no column was chosen.
    """
    items: list[Item] = []
    for item in _parts(value, "", 0):
        items.append(item)
        if len(items) > MOST_ITEMS:
            raise SourceError(
                "There is too much to read.",
                f"More than {MOST_ITEMS:,} things were handed over at once, or a generator that has no end.",
                "Hand them over in parts: itertools.islice(things, 1000)",
            )
    return items


def is_a(item: Any, module: str, name: str) -> bool:
    """Whether `item` is an instance of a class whose module has been imported (else it cannot be)."""
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(item, kind)


def _parts(value: Any, name: str, depth: int) -> Iterator[Item]:
    if is_a(value, "ipywidgets", "FileUpload"):
        value = _uploaded(value)
    if is_a(value, "pandas", "DataFrame") or is_a(value, "polars", "DataFrame"):
        raise _table(value)
    if isinstance(value, Mapping) and not value:
        return  # an upload widget of ipywidgets 7 into which nothing was put
    if isinstance(value, Mapping):
        yield from _mapping(value, name, depth)
    elif depth < _DEEP and _is_many(value):
        for number, one in enumerate(sorted(value, key=str) if isinstance(value, (set, frozenset)) else value, 1):
            row = isinstance(one, Mapping) and not _is_upload(one)
            called = f"{name} ({number})" if name else f"row {number}" if row else ""
            yield from _parts(one, called, depth + 1)
    else:
        yield Item(value, name)


def _is_many(value: Any) -> bool:
    """Whether `value` is a series of things, and not one thing that can be looped over."""
    if isinstance(value, (str, bytes, bytearray, memoryview, os.PathLike)) or callable(getattr(value, "read", None)):
        return False
    if is_a(value, "numpy", "ndarray"):
        return bool(value.ndim == 1 and value.dtype.kind in "OUS")
    if is_a(value, "PIL.Image", "Image") or is_a(value, "matplotlib.artist", "Artist"):
        return False
    if is_a(value, "torch", "Tensor"):
        return False
    return isinstance(value, Iterable)


def _uploaded(widget: Any) -> Any:
    if not widget.value:
        raise SourceError(
            "Nothing has been uploaded yet.",
            "The upload widget is empty.",
            "Choose a file there, and run the cell again.",
        )
    return widget.value


def _table(table: Any) -> SourceError:
    columns = [str(column) for column in list(table.columns)[:8]]
    likely = next((name for name in columns if name.lower() in (*_NAME_KEYS, "file", "image", "url")), None)
    return SourceError(
        "A table is not something that can be read.",
        f"One of its columns holds the paths or pictures ({', '.join(columns)}).",
        f'%uocr {{table["{likely or (columns or ["path"])[0]}"]}}',
    )


# -- mappings ----------------------------------------------------------------------------------------------------------


def _mapping(value: Mapping[Any, Any], name: str, depth: int) -> Iterator[Item]:
    if _is_upload(value):
        given = value.get("metadata")
        told = value.get("name") or (given.get("name") if isinstance(given, Mapping) else None)
        yield Item(bytes(value["content"]), _file_name(told) or name)
    elif _is_cell(value):
        yield _cell(value, name)
    elif is_iiif(value):
        yield Item(value, name)
    elif depth < _DEEP and value and not _has_one_picture(value) and all(map(_may_be_read, value.values())):
        for key, one in value.items():
            yield from _parts(one, f"{name}/{key}" if name else str(key), depth + 1)
    else:
        yield from _row(value, name, depth)


def _has_one_picture(value: Mapping[Any, Any]) -> bool:
    """Whether it is a row in which text about a picture stands beside it, such as its file name."""
    texts = [key for key, one in value.items() if isinstance(one, (str, os.PathLike))]
    pictures = sum(map(_is_picture, value.values()))
    return pictures == 1 and len(texts) == len(value) - 1 and any(key in _NAME_KEYS for key in texts)


def _is_upload(value: Mapping[Any, Any]) -> bool:
    """A file of an upload widget: in ipywidgets 8 with its name beside it, in 7 with its ``metadata``."""
    return isinstance(value.get("content"), (bytes, bytearray, memoryview))


def _is_cell(value: Mapping[Any, Any]) -> bool:
    """A cell of an image column of `datasets`, not decoded."""
    keys = set(value)
    return (
        "bytes" in keys
        and keys <= {"bytes", "path"}
        and (
            isinstance(value["bytes"], (bytes, bytearray, memoryview))
            or (value["bytes"] is None and isinstance(value.get("path"), (str, os.PathLike)))
        )
    )


def _cell(value: Mapping[Any, Any], name: str) -> Item:
    path = value.get("path")
    content = value["bytes"]
    # "row 3" says less than a file name, and what a user calls it says more.
    called = _file_name(path) if not name or name.startswith("row ") else name
    return Item(path if content is None else bytes(content), called or name)


def _row(value: Mapping[Any, Any], name: str, depth: int) -> Iterator[Item]:
    """A row of a table: the one picture in it, or else the one path."""
    pictures = [key for key, one in value.items() if _is_picture(one)]
    paths = [key for key, one in value.items() if _names_a_file(one)]
    chosen = pictures or paths
    if not chosen:
        yield Item(value, name)
        return
    if len(chosen) > 1:
        raise SourceError(
            f"A row with {len(chosen)} {'pictures' if pictures else 'paths'} is not something that can be read.",
            f"It has {', '.join(str(key) for key in chosen[:8])}; which of them is meant cannot be told.",
            f"%uocr {{row[{chosen[0]!r}]}}",
        )
    told = next(
        (value[key] for key in _NAME_KEYS if isinstance(value.get(key), (str, int)) and key not in chosen), None
    )
    called = _file_name(told) if told is not None and (not name or name.startswith("row ")) else name
    if not pictures:
        called = "" if name.startswith("row ") else name
    yield from _parts(value[chosen[0]], called, depth + 1)


def _is_picture(value: Any) -> bool:
    if isinstance(value, Mapping):
        return _is_cell(value) or _is_upload(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return sniff(bytes(value[:HEAD])) is not None
    if is_a(value, "numpy", "ndarray"):
        return bool(value.ndim >= 2 and value.dtype.kind in "biuf")
    return is_a(value, "PIL.Image", "Image") or is_a(value, "matplotlib.figure", "Figure")


def _names_a_file(value: Any) -> bool:
    if not isinstance(value, (str, os.PathLike)):
        return False
    text = os.fspath(value)
    if isinstance(text, bytes):
        return True
    if text.startswith(("http://", "https://")):
        return True
    try:
        return bool(text) and os.path.isfile(text)  # noqa: PTH113 - text that may be anything
    except (OSError, ValueError):
        return False


def _may_be_read(value: Any) -> bool:
    """Whether `value` can be meant as a source, so that a mapping of such is names and sources."""
    if isinstance(value, os.PathLike) or _is_picture(value) or callable(getattr(value, "read", None)):
        return True
    if isinstance(value, (bytes, bytearray, memoryview)):
        return True
    if isinstance(value, str):
        return _names_a_file(value) or (bool(PurePath(value).suffix) and "\n" not in value and len(value) < 300)
    return isinstance(value, (list, tuple)) and bool(value) and all(_may_be_read(one) for one in value)


def _file_name(path: Any) -> str:
    if path is None or isinstance(path, bytes):
        return ""
    text = str(path).replace("\\", "/").rstrip("/")
    return text.rpartition("/")[2][:120]
