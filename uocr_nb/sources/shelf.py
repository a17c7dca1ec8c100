"""Files in the run folder that can be made again, and make room when there are too many."""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Shelf", "forget_shelves", "shelf_of"]

_ROOM = 512 << 20
"""Bytes that are kept of each kind of file. A page image has 0.4 MB, and a few dozen are on their way at a time, so
what is being sent is far from being removed; what is looked at later is rendered again."""


class Shelf:
    """The files of one kind in a folder, in the order in which they were last used.

    Parameters
    ----------
    room : int
        Bytes that are kept.
    """

    def __init__(self, room: int = _ROOM) -> None:
        self._room = room
        self._held: OrderedDict[Path, int] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def put(self, file: Path) -> None:
        """Note that `file` has just been made or used; what was not used for longest is removed where room is short."""
        with self._lock:
            try:
                size = file.stat().st_size
            except OSError:
                return
            self._size += size - self._held.pop(file, 0)
            self._held[file] = size
            while self._size > self._room and len(self._held) > 1:
                oldest, freed = self._held.popitem(last=False)
                self._size -= freed
                # Open files cannot be removed on Windows; they go with the folder.
                with contextlib.suppress(OSError):
                    oldest.unlink()


_shelves: dict[tuple[Path, str], Shelf] = {}
_lock = threading.Lock()


def shelf_of(folder: Path, kind: str) -> Shelf:
    """Give the one shelf of this process for the files of a kind in `folder`."""
    with _lock:
        return _shelves.setdefault((folder, kind), Shelf())


def forget_shelves() -> None:
    """In a forked child: locks that another thread may have held, and files that are the parent's."""
    global _lock  # noqa: PLW0603 - one for the process
    _lock = threading.Lock()
    _shelves.clear()
