"""What runs, on disk: one file an endpoint, so that what a dead kernel left is found by the next one."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING

from uocr_nb.support.platform import Identity, end_group, identify, is_alive
from uocr_nb.support.state import private_folder, state_dir, write_atomic

if TYPE_CHECKING:
    from pathlib import Path

_WRITING = 10.0
"""Seconds within which a claim may be found half written."""

_CLEANUP_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class JobNote:
    """Which Job of the Hub an endpoint runs in.

    Attributes
    ----------
    endpoint : str
        The Hub's address.
    namespace : str
        The account that it is billed to.
    id : str
        The Job's id; empty while it is being asked for.
    mark : str
        The value of the label by which it is found when the answer with its id was lost.
    flavor : str
        Its hardware.
    timeout : float
        Seconds after which it is ended.
    price : float or None
        US dollars an hour.
    """

    endpoint: str
    namespace: str
    id: str
    mark: str
    flavor: str = ""
    timeout: float = 0.0
    price: float | None = None


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
    job : JobNote or None
        The Job, for the host ``hf``.
    cleanup : tuple of str
        The command that ends it, for the host ``docker``.
    keep : bool
        Whether it shall outlive its owner.
    variant, kernel : str
        The engine's variant, and the kernel's name in Jupyter.
    """

    id: str
    name: str
    engine: str
    host: str
    base_url: str
    owner: Identity
    process: Identity | None
    started: str
    job: JobNote | None = None
    cleanup: tuple[str, ...] = ()
    keep: bool = False
    variant: str = ""
    kernel: str = ""

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
    found: list[Entry] = []
    try:
        paths = list(_folder().glob("*.json"))
    except OSError:  # no such folder can be made: then nothing was noted down in it
        return found
    for path in paths:
        with contextlib.suppress(OSError, ValueError, TypeError, LookupError, AttributeError):
            found.append(_read(path))
    return sorted(found, key=lambda entry: entry.started)


def _read(path: Path) -> Entry:
    values = json.loads(path.read_text(encoding="utf-8"))
    values["owner"] = Identity.from_dict(values["owner"])
    if values["process"] is not None:
        values["process"] = Identity.from_dict(values["process"])
    if values.get("job") is not None:
        values["job"] = JobNote(**values["job"])
    values["cleanup"] = tuple(values.get("cleanup") or ())
    # A later version may have written more.
    known = {field.name for field in fields(Entry)}
    return Entry(**{name: value for name, value in values.items() if name in known})


def claim(file: Path) -> bool:
    """Take the ending of an entry on oneself; False when another living process has it.

    The watchdog of a dead kernel and the next kernel may come upon the same entry at the same time.
    """
    mine = file.with_suffix(".claim")
    for _ in range(2):
        try:
            descriptor = os.open(mine, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            if _is_held(mine):
                return False
            mine.unlink(missing_ok=True)
        except OSError:
            return True  # the folder is gone or full, which must keep nobody from ending a Job
        else:
            with os.fdopen(descriptor, "w", encoding="utf-8") as note:
                note.write(identify().name)
            return True
    return False


def release(file: Path) -> None:
    """Give a claim back."""
    with contextlib.suppress(OSError):
        file.with_suffix(".claim").unlink(missing_ok=True)


def _is_held(claimed: Path) -> bool:
    try:
        holder = Identity.from_name(claimed.read_text(encoding="utf-8").strip())
        fresh = time.time() - claimed.stat().st_mtime < _WRITING
    except OSError:
        return False
    return is_alive(holder) is not False if holder else fresh


def end(entry: Entry, *, within: float = 3.0) -> bool:
    """End the process or container that an entry names and take it off the list; tell whether it was running."""
    ended = entry.process is not None and end_group(entry.process, within=within)
    if entry.cleanup:
        ended = run_cleanup(entry.cleanup) or ended
    remove(entry)
    return ended


def run_cleanup(command: tuple[str, ...]) -> bool:
    """Run the command that ends a container; tell whether it found one."""
    try:
        done = subprocess.run(command, capture_output=True, timeout=_CLEANUP_SECONDS, check=False)
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0


def sweep() -> list[Entry]:
    """End what dead kernels of this machine left running on it; return what was found running.

    Jobs of the Hub are ended by `uocr_nb.serving.hub.sweep`.
    """
    return [entry for entry in entries() if entry.job is None and entry.is_orphan() and end(entry)]
