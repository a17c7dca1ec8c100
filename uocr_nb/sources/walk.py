"""Files of a folder in the order that people count in, within bounds of number and time; links are followed once."""

from __future__ import annotations

import os
import re
import time
import unicodedata
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

__all__ = ["Bounds", "Skipped", "natural_key", "walk"]

MOST_FILES = 100_000
"""Files of one folder or pattern that are looked at."""

MOST_SECONDS = 15.0

_SHOWN = 5
"""Names that a note lists of each kind."""


@dataclass
class Bounds:
    """How much of a folder is looked at; `reached` says what ended it."""

    files: int = MOST_FILES
    seconds: float = MOST_SECONDS
    seen: int = 0
    reached: str = ""
    _began: float = field(default_factory=time.monotonic)

    def spent(self) -> bool:
        """Count one more, and tell whether that was too many."""
        self.seen += 1
        if self.seen > self.files:
            self.reached = f"only the first {self.files:,} files were looked at"
        elif time.monotonic() - self._began > self.seconds:
            self.reached = f"looking was ended after {self.seconds:g} s, at {self.seen:,} files"
        return bool(self.reached)

    def among(self, paths: Iterable[Path]) -> Iterator[Path]:
        """`paths` as far as the bounds go."""
        for path in paths:
            if self.spent():
                return
            yield path


class Skipped:
    """Which files were left out, by reason."""

    def __init__(self) -> None:
        self._names: dict[str, list[str]] = {}
        self.count = 0

    def add(self, reason: str, name: str) -> None:
        """Note that `name` is left out."""
        self._names.setdefault(reason, []).append(name)
        self.count += 1

    def notes(self, where: str) -> list[str]:
        """One sentence about all of them, none when there are none."""
        hidden = len(self._names.get("hidden", ()))
        groups = []
        for reason, names in self._names.items():
            if reason != "hidden":
                more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
                groups.append(f"{', '.join(names[:_SHOWN])}{more} ({reason})")
        found = [f"{where}: skipped {'; '.join(groups)}."] if groups else []
        if hidden:
            found.append(f"{where}: skipped {hidden:,} hidden file{'s' if hidden > 1 else ''}.")
        return found


def natural_key(name: str) -> list[tuple[int, int, str]]:
    """Sort key by which page2 comes before page10, whatever the case."""
    parts = re.split(r"(\d+)", unicodedata.normalize("NFC", name).casefold())
    # Digits of other scripts count too; what int() does not take (such as superscripts) is not matched by \d. Python
    # takes no number of more than 4,300 digits, and no file name has so many.
    return [(0, int(part), "") if part.isdecimal() and len(part) < 1000 else (1, 0, part) for part in parts]


def walk(folder: Path, bounds: Bounds, skipped: Skipped) -> Iterator[Path]:
    """Files in `folder` and its subfolders, each subfolder once, whatever links lead to it."""
    seen: set[tuple[int, int]] = set()
    waiting: list[Iterator[Path]] = [_entries(folder, seen, skipped)]
    while waiting:
        path = next(waiting[-1], None)
        if path is None:
            waiting.pop()
        elif _is_folder(path):
            waiting.append(_entries(path, seen, skipped))
        elif bounds.spent():
            return
        else:
            yield path


def _entries(folder: Path, seen: set[tuple[int, int]], skipped: Skipped) -> Iterator[Path]:
    try:
        state = folder.stat()
        if (state.st_dev, state.st_ino) in seen:
            skipped.add("a link to a folder that is read already", _shown(folder.name))
            return
        seen.add((state.st_dev, state.st_ino))
        with os.scandir(folder) as found:
            entries = [(natural_key(entry.name), entry.name) for entry in found if not _hidden_folder(entry)]
    except OSError as error:
        skipped.add(error.strerror or str(error), _shown(folder.name))
        return
    entries.sort()
    for _, name in entries:
        yield folder / name


def _is_folder(path: Path) -> bool:
    # Not `Path.is_dir`, which raises where one may not look.
    return os.path.isdir(path)  # noqa: PTH112


def _hidden_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.name.startswith(".") and entry.is_dir()
    except OSError:
        return False


def _shown(name: str) -> str:
    return unicodedata.normalize("NFC", name).encode("utf-8", "replace").decode()
