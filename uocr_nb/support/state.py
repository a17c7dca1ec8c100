"""Folders of this user's state and cache, the folder of one run, and files written whole or not at all."""

from __future__ import annotations

import atexit
import contextlib
import os
import secrets
import shutil
import threading
import time
from pathlib import Path

from uocr_nb.support.platform import Identity, identify, is_alive

_FORGOTTEN = 7 * 86400
"""Seconds after which a run folder whose owner cannot be seen from here is taken as left behind."""

_lock = threading.Lock()
_run: tuple[Identity, Path] | None = None


def state_dir() -> Path:
    """Return the folder for what must be remembered, such as running endpoints (``UOCR_STATE_DIR`` overrides)."""
    return private_folder(_place("UOCR_STATE_DIR", "user_state_dir"))


def cache_dir() -> Path:
    """Return the folder for what can be made again (``UOCR_CACHE_DIR`` overrides)."""
    return private_folder(cache_path())


def cache_path() -> Path:
    """Return where `cache_dir` is, without making it."""
    return _place("UOCR_CACHE_DIR", "user_cache_dir")


def _place(variable: str, kind: str) -> Path:
    import platformdirs  # noqa: PLC0415 - not on import uocr_nb

    override = os.environ.get(variable)
    return Path(override).expanduser().absolute() if override else Path(getattr(platformdirs, kind)("uocr_nb"))


def private_folder(path: Path) -> Path:
    """Make `path` (with its parents) and close it to other users."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    with contextlib.suppress(OSError):  # someone else's folder, or a file system without modes
        path.chmod(0o700)
    return path


def run_folder() -> Path:
    """Return the folder of this process for page images; removed at its exit, or by others once it is dead.

    Made when first asked for, which also removes what dead processes left behind.
    """
    global _run  # noqa: PLW0603 - one folder a process is the point
    with _lock:
        me = identify()
        if _run is None or _run[0] != me:
            runs = private_folder(cache_dir() / "runs")
            sweep_runs(runs)
            _run = (me, private_folder(runs / me.name))
            atexit.register(_remove_run, *_run)
        _, path = _run
        return path if path.is_dir() else private_folder(path)


def _remove_run(owner: Identity, path: Path) -> None:
    # A forked child runs its parent's exit hooks too.
    if owner.pid == os.getpid():
        shutil.rmtree(path, ignore_errors=True)


def sweep_runs(runs: Path) -> list[Path]:
    """Remove the run folders of processes that are dead; return what was removed."""
    removed = []
    for path in runs.iterdir():
        owner = Identity.from_name(path.name)
        alive = is_alive(owner) if owner else None
        if alive is False or (alive is None and _age(path) > _FORGOTTEN):
            shutil.rmtree(path, ignore_errors=True)
            removed.append(path)
    return removed


def _age(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except OSError:
        return 0.0


def write_atomic(path: Path, data: bytes) -> Path:
    """Write `data` to `path` so that a reader finds the old file or the new one, never a part.

    The file is closed to other users. Safe on network homes: it relies on rename alone, not on locks.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}.part")
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return path
