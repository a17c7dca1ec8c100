"""What runs, on disk: one file an endpoint, so that what a dead kernel left is found by the next one."""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from uocr_nb.support.platform import Identity, end_group, is_alive
from uocr_nb.support.state import private_folder, state_dir, write_atomic

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Entry:
    """One endpoint that was started. It never holds a key.

    Attributes
    ----------
    id, name, engine, host, base_url : str
        As of the endpoint.
    owner : Identity
        The process that started it.
    process : Identity or None
        The engine's process, for the host ``process``.
    started : str
        When, in UTC (ISO 8601).
    """

    id: str
    name: str
    engine: str
    host: str
    base_url: str
    owner: Identity
    process: Identity | None
    started: str

    @property
    def file(self) -> Path:
        """Where it is kept."""
        return _folder() / f"{self.id}.json"

    def is_orphan(self) -> bool:
        """Tell whether its owner is known to be dead; an owner on another machine never is."""
        return is_alive(self.owner) is False


def _folder() -> Path:
    return private_folder(state_dir() / "ledger")


def write(entry: Entry) -> Path:
    """Put an entry on disk, in place of an earlier one of the same endpoint."""
    return write_atomic(entry.file, json.dumps(asdict(entry), indent=1).encode())


def remove(entry: Entry) -> None:
    """Take an entry off; quiet when it is gone."""
    with contextlib.suppress(OSError):
        entry.file.unlink(missing_ok=True)


def entries() -> list[Entry]:
    """Read all entries, of this kernel and of others, oldest first; a file that cannot be read is passed over."""
    found = []
    for path in _folder().glob("*.json"):
        with contextlib.suppress(OSError, ValueError, TypeError, LookupError, AttributeError):
            found.append(_read(path))
    return sorted(found, key=lambda entry: entry.started)


def _read(path: Path) -> Entry:
    values = json.loads(path.read_text(encoding="utf-8"))
    values["owner"] = Identity.from_dict(values["owner"])
    if values["process"] is not None:
        values["process"] = Identity.from_dict(values["process"])
    return Entry(**values)


def end(entry: Entry, *, within: float = 3.0) -> bool:
    """End what an entry names and take it off the list; tell whether it was still running."""
    ended = entry.process is not None and end_group(entry.process, within=within)
    remove(entry)
    return ended


def sweep() -> list[Entry]:
    """End what dead kernels of this machine left running; return what was found running."""
    return [entry for entry in entries() if entry.is_orphan() and end(entry)]
