"""Answers kept on disk, so that the same page is never paid for twice.

An answer is found by what was asked: the hash of the page image, the request, the model and its revision. One file
holds one answer; there is no index and no lock, so several kernels can share the folder, on a network home too.
A file that is damaged in any way is taken as not there: the page is asked for again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import re
import secrets
import stat
import threading
import time
import zlib
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from uocr_nb.config import settings
from uocr_nb.markup.safe_html import escape
from uocr_nb.reading.client import Answer
from uocr_nb.support.net import normalise_base_url
from uocr_nb.support.state import cache_dir, private_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["AnswerCache", "cache", "key", "whereabouts"]

_MAGIC = b"uocr answer 1\n"
"""First bytes of a file. The number changes with the format; files of another format are asked for again."""

_DIGEST = hashlib.sha256().digest_size

_MOST = 64 * 1024 * 1024
"""Bytes of one answer; the longest that an engine can write (32,768 tokens, with scores) is far below."""

_KEY = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(r"[0-9a-f]{62}")
_PART = re.compile(r"\.[0-9a-f]{62}\.[0-9]+\.[0-9a-f]+\.part")

_PART_AGE = 3600.0
"""Seconds after which a file that was never finished is swept: its writer was killed."""

_TOUCH = 3600.0
"""Seconds between two notes on a file that it is still in use."""

_SLACK = 20
"""The folder is looked through once for each of so many parts of the limit that are written."""

_KEPT = 0.9
"""Share of the limit that is left when old answers have been removed."""

_STREAMING = frozenset({"stream", "stream_options"})
_VOLATILE = frozenset({"created", "modified_at", "permission"})
"""What `/v1/models` says anew at each request (vLLM: the time, and a permission with a random id)."""


def key(image_sha256s: Sequence[str], request: Mapping[str, Any], model: str, revision: str | None, where: str) -> str:
    """Make the key under which the answer to a request is kept.

    Parameters
    ----------
    image_sha256s : sequence of str
        Hash of each page image as it is sent, in page order.
    request : mapping
        The body as the engine's profile makes it. Its images are left out whatever stands there (their hashes say
        it all; ``profile.request([""])`` is enough), and so are the fields of streaming.
    model : str
        Name of the model at the endpoint.
    revision : str or None
        What the model is known by: a revision of its repository, or the version of an embedded engine. None when
        nobody knows.
    where : str
        What stands in for the revision where that is None, see `whereabouts`. Not looked at otherwise: the same
        revision gives the same key at every endpoint.

    Returns
    -------
    str
        64 hexadecimal digits.
    """
    told = {
        "images": [sha256.lower() for sha256 in image_sha256s],
        "request": _without_images({name: value for name, value in request.items() if name not in _STREAMING}),
        "model": model,
        "revision": revision,
        "where": where if revision is None else None,
    }
    text = json.dumps(told, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(_MAGIC + text.encode("ascii")).hexdigest()


def _without_images(value: Any) -> Any:
    if isinstance(value, dict):
        if value.get("type") == "image_url":
            return "image"
        return {name: _without_images(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_without_images(inner) for inner in value]
    return value


def whereabouts(base_url: str, models: Any) -> str:
    """Say which endpoint it is, for a model whose revision nobody knows.

    Parameters
    ----------
    base_url : str
        Its address; never holds a key.
    models : Any
        What its ``/v1/models`` answered, as read from JSON. Times and random ids in it are left out.

    Raises
    ------
    OptionError
        When `base_url` is no address, or carries a password.
    """
    return f"{normalise_base_url(base_url)} {json.dumps(_lasting(models), sort_keys=True)}"


def _lasting(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _lasting(inner) for name, inner in value.items() if name not in _VOLATILE}
    if isinstance(value, list):
        return [_lasting(inner) for inner in value]
    return value


class _Entry(NamedTuple):
    used: float
    size: int
    path: str


class AnswerCache:
    """The answers kept on this machine: ``uocr.cache``.

    ``uocr.cache`` shows what there is, ``uocr.cache.clear()`` empties it, ``uocr.cache.enabled = False`` (or
    ``%config UOCR.cache = False``) switches it off. It holds the text of the pages that were read; the folder is
    closed to other users of the machine. See docs/cache.md.

    For the room that reads pages: only the answer of a page whose status is ``ok`` is put in. An answer that is
    truncated, loops, or has no boxes is worth asking again, so it never goes in. What is asked again on purpose (a retry,
    ``--no-cache``) is not looked up, and put in over the old one. With that, going on after a crash is reading the
    same sources again.

    All methods may be called from any thread, and block for as long as the disk takes (a network home: tens of
    milliseconds), so the event loop calls them through `asyncio.to_thread`. None of them raises because of what is or is
    not on the disk.

    Parameters
    ----------
    folder : Path, optional
        Where the answers are; by default ``answers`` in the cache folder (``UOCR_CACHE_DIR``).
    limit : int, optional
        Most bytes; by default ``UOCR.cache_limit``.
    """

    def __init__(self, folder: Path | None = None, *, limit: int | None = None) -> None:
        self._folder = folder
        self._limit = limit
        self._found: tuple[str | None, Path] | None = None
        # Counting begins at a random place, so that many short kernels look through the folder as often as a long one.
        self._unseen = random.random()  # noqa: S311 - no secret
        self._looking = threading.Lock()
        self._trouble: str | None = None
        self._told = False

    # -- answers ---------------------------------------------------------------------------------------------------

    def get(self, key: str) -> Answer | None:
        """Find an answer; None when there is none, when its file is damaged (it is removed), or when switched off."""
        if not self.enabled:
            return None
        try:
            path = self._place(key)
            about = path.lstat()
            data = path.read_bytes() if stat.S_ISREG(about.st_mode) and about.st_size <= _MOST else b""
        except OSError:
            # Not there, or gone in this moment (another kernel, a stale handle of a network home).
            return None
        answer = _unpack(key, data)
        if answer is None:
            self.forget(key)
        elif time.time() - about.st_mtime > _TOUCH:
            with contextlib.suppress(OSError):
                os.utime(path)
        return answer

    def put(self, key: str, answer: Answer) -> None:
        """Keep an answer, in place of one that is there; only that of a page with the status ``ok``.

        A disk that is full or cannot be written is no error: the reading goes on, see `take_warning`.
        """
        if not self.enabled:
            return
        data = _pack(key, answer)
        try:
            _write(self._place(key), data)
        except OSError as error:
            self._trouble = (
                f"Answers are not kept for the next time: {error.strerror or 'the cache cannot be written'}."
            )
            return
        self._unseen += len(data) * _SLACK / self.limit
        if self._unseen >= 1:
            self._tidy()

    def forget(self, key: str) -> None:
        """Remove one answer, if it is there."""
        with contextlib.suppress(OSError):
            self._place(key).unlink()

    def clear(self) -> int:
        """Remove all answers; return how many there were."""
        removed = 0
        for entry in self._entries(time.time()):
            removed += _removed(entry.path)
        for folder in self._folders():
            with contextlib.suppress(OSError):  # another kernel has just put something in
                os.rmdir(folder)
        return removed

    def take_warning(self) -> str | None:
        """The sentence about answers that could not be kept, once a session; None when there is nothing to say."""
        if self._trouble is None or self._told:
            return None
        self._told = True
        return self._trouble

    # -- what it is ------------------------------------------------------------------------------------------------

    @property
    def enabled(self) -> bool:
        """Whether answers are kept and looked up (``UOCR.cache``); may be set."""
        return settings.cache

    @enabled.setter
    def enabled(self, on: bool) -> None:
        settings.cache = bool(on)

    @property
    def path(self) -> Path:
        """The folder; it need not be there."""
        return self._home()

    @property
    def limit(self) -> int:
        """Most bytes that are kept, in files; the answers that were not used for longest go first."""
        return self._limit if self._limit is not None else settings.cache_limit * 1_000_000

    @property
    def size(self) -> int:
        """Bytes of all answers, counted now."""
        return sum(entry.size for entry in self._entries(time.time()))

    @property
    def count(self) -> int:
        """How many answers there are, counted now."""
        return sum(1 for _ in self._entries(time.time()))

    def __len__(self) -> int:
        return self.count

    def __bool__(self) -> bool:
        return True
