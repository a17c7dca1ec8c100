"""What the bytes of a PDF tell and PDFium does not: whether it is sound, and what it has besides its pages.

Runs in the worker process only.
"""

from __future__ import annotations

import mmap
import re
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["Facts", "facts"]

_TAIL = 4096
"""Bytes at the end among which readers look for the place of the list of objects."""

_UNPACKED = 64 << 20
"""Bytes of packed objects that are unpacked to look into them."""

_SECTIONS = 200
"""Lists of objects that are followed back; one is added each time the file is saved on top of itself."""

_PACKED = re.compile(rb"/ObjStm\b")
_STREAM = re.compile(rb"stream\r?\n")
_START = re.compile(rb"startxref\s{1,10}(\d{1,12})")
_TABLE = re.compile(rb"[\s\x00]{0,8}xref\b\s*(\d+)\s+(\d+)\s*")
_OBJECT = re.compile(rb"[\s\x00]{0,8}(\d{1,10})\s{1,3}\d{1,5}\s{1,3}obj\b")
_ENTRY = re.compile(rb"(\d{10}) (\d{5}) ([nf])")
_BEFORE = re.compile(rb"/Prev\s{0,3}(\d{1,12})")
_FILE_NOTES = re.compile(rb"/Subtype\s{0,3}/FileAttachment\b")
_FILES = re.compile(rb"/Type\s{0,3}/EmbeddedFile\b")
_COUNT = re.compile(rb"/Count\s{0,3}(\d{1,9})\b")
_PAGES = re.compile(rb"/Type\s{0,3}/Pages\b")


@dataclass
class Facts:
    """What was found.

    `sound` is False where the list of objects cannot be followed, so that readers must search for the objects;
    `claimed` is the largest number of pages that the file says it has (0: it does not say).
    """

    sound: bool = True
    xfa: bool = False
    portfolio: bool = False
    units: bool = False
    file_notes: int = 0
    files: int = 0
    claimed: int = 0

    @property
    def attached(self) -> int:
        """Files that are in it: each is named in a list, by a mark on a page, or by both."""
        return max(self.file_notes, self.files)


def facts(path: Path) -> Facts:
    """Look through the file at `path`."""
    found = Facts()
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            found.sound = _is_sound(data)
            locked = data.find(b"/Encrypt") >= 0
            _look(data, found)
            found.claimed = _claimed(data)
            for content in () if locked else _unpacked(data):
                _look(content, found)
            if locked and _PACKED.search(data):
                found.units = True  # it cannot be seen from here, so whoever can must look
    except (OSError, ValueError):  # too large for the address space
        return found
    return found


def _look(data: bytes | mmap.mmap, found: Facts) -> None:
    found.xfa |= data.find(b"/XFA") >= 0 or data.find(b"/NeedsRendering true") >= 0
    found.portfolio |= data.find(b"/Collection") >= 0
    found.units |= data.find(b"/UserUnit") >= 0
    found.file_notes += sum(1 for _ in _FILE_NOTES.finditer(data))
    found.files += sum(1 for _ in _FILES.finditer(data))


def _claimed(data: mmap.mmap) -> int:
    """Largest number of pages that a list of pages says it has."""
    most = 0
    for pages in _PAGES.finditer(data):
        # The count stands in the same dictionary, before or behind.
        first = max(0, pages.start() - 300)
        before, behind = data[first : pages.start()], data[pages.start() : pages.end() + 300]
        near = before[before.rfind(b"obj") + 1 :] + behind.partition(b"endobj")[0]
        most = max(most, *(int(count[1]) for count in _COUNT.finditer(near)), 0)
    return most


def _unpacked(data: mmap.mmap) -> Iterator[bytes]:
    """Unpack the streams that hold objects, as far as they are packed in the usual way."""
    left = _UNPACKED
    for mark in _PACKED.finditer(data):
        begin = _STREAM.search(data, mark.end(), mark.end() + 1000)
        if begin is None or left <= 0:
            continue
        unpacker = zlib.decompressobj()
        try:
            content = unpacker.decompress(data[begin.end() : begin.end() + (4 << 20)], left)
        except zlib.error:
            continue
        left -= len(content)
        yield content


def _is_sound(data: mmap.mmap) -> bool:
    """Tell whether the lists of objects, from the last one back, stand where the file says."""
    starts = list(_START.finditer(data, max(0, len(data) - _TAIL)))
    if not starts:
        return False
    shift = max(0, data.find(b"%PDF-", 0, 1029))
    at = int(starts[-1][1])
    seen: set[int] = set()
    while len(seen) < _SECTIONS:
        if at in seen:
            return False
        seen.add(at)
        before = _section(data, at, shift)
        if before is None:
            return False
        if before == 0:
            return True
        at = before
    return True


def _section(data: mmap.mmap, at: int, shift: int) -> int | None:
    """Check the list of objects at `at`; the place of the one before it (0: none), or None when it is broken."""
    for moved in {0, shift}:
        place = at + moved
        table = _TABLE.match(data, place)
        if table is not None:
            if not _entries_hold(data, table, shift):
                return None
            begin = data.find(b"trailer", table.end())
            end = data.find(b"startxref", begin) if begin >= 0 else -1
            return None if begin < 0 else _before(data[begin : end if end >= 0 else begin + 2000])
        if _OBJECT.match(data, place):
            end = data.find(b"stream", place)
            return _before(data[place : end if 0 <= end < place + 5000 else place + 5000])
    return None


def _before(trailer: bytes) -> int:
    found = _BEFORE.search(trailer)
    return int(found[1]) if found else 0


def _entries_hold(data: mmap.mmap, table: re.Match[bytes], shift: int) -> bool:
    """Tell whether the first objects of a list stand where it says."""
    number, count = int(table[1]), int(table[2])
    for index in range(min(count, 50)):
        entry = _ENTRY.match(data, table.end() + 20 * index)
        if entry is None:
            return index > 0 or count == 0  # entries of another length are read by some and mended by others
        place = int(entry[1])
        if entry[3] == b"f" or place == 0:
            continue
        heads = (_OBJECT.match(data, place + moved) for moved in (0, shift))
        # A first number that is off by one is a fault of old writers that every reader forgives.
        if not any(head and abs(int(head[1]) - number - index) <= 1 for head in heads):
            return False
    return True
