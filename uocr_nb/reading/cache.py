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
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from uocr_nb.config import settings
from uocr_nb.markup.safe_html import escape
from uocr_nb.reading.client import Answer
from uocr_nb.support.net import normalise_base_url
from uocr_nb.support.state import cache_dir, cache_path, private_folder

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
    """A file of the folder."""

    path: str
    whole: bool
    size: int
    used: float


class AnswerCache:
    """The answers kept on this machine: ``uocr_nb.cache``.

    ``uocr_nb.cache`` shows what there is, ``uocr_nb.cache.clear()`` empties it, ``uocr_nb.cache.enabled = False`` (or
    ``%config UOCR.cache = False``) switches it off. It holds the text of the pages that were read; the folder is
    closed to other users of the machine. See docs/cache.md.

    For the room that reads pages: only the answer of a page whose status is ``ok`` is put in. One that is truncated,
    loops or has no boxes is worth asking again, so it never goes in. What is asked again on purpose (a retry,
    ``--no-cache``) is not looked up, and is put in over the old one. Going on after a crash is then no more than
    reading the same sources again.

    All methods may be called from any thread. They block for as long as the disk takes (a network home: tens of
    milliseconds), so the event loop calls them through `asyncio.to_thread`. None of them raises because of what is
    or is not on the disk.

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
        self._closed: Path | None = None
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
        path = self._place(key)
        try:
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
        path = self._place(key)
        data = _pack(key, answer)
        try:
            self._close()
            _write(path, data)
        except OSError as error:
            why = error.strerror or type(error).__name__
            self._trouble = f"Answers cannot be kept for the next time ({why}); see uocr_nb.cache."
            return
        self._unseen += len(data) * _SLACK / max(1, self.limit)
        if self._unseen >= 1:
            self._tidy()

    def forget(self, key: str) -> None:
        """Remove one answer, if it is there."""
        with contextlib.suppress(OSError):
            self._place(key).unlink()

    def clear(self) -> int:
        """Remove all answers, also those of other kernels and of earlier sessions; return how many there were."""
        # A file in the middle of being written is left to its writer, unless that was killed.
        removed = sum(_removed(entry) for entry in self._files() if entry.whole or _abandoned(entry))
        for folder in self._folders():
            with contextlib.suppress(OSError):  # another kernel has just put something in
                Path(folder).rmdir()
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
        return self._folder or cache_path() / "answers"

    @property
    def limit(self) -> int:
        """Most bytes that are kept; the answers that were not used for longest go first."""
        return settings.cache_limit * 1_000_000 if self._limit is None else self._limit

    @property
    def size(self) -> int:
        """Bytes of all answers, counted now."""
        return sum(entry.size for entry in self._files() if entry.whole)

    @property
    def count(self) -> int:
        """How many answers there are, counted now."""
        return sum(entry.whole for entry in self._files())

    def __repr__(self) -> str:
        sizes = [entry.size for entry in self._files() if entry.whole]
        answers = "1 answer" if len(sizes) == 1 else f"{len(sizes):,} answers"
        lines = [
            f"{answers}, {_size(sum(sizes))} of at most {_size(self.limit)}, in {_short(self.path)}",
            "They hold the text of the pages that were read.",
            "Empty it: uocr_nb.cache.clear(); switch it off: uocr_nb.cache.enabled = False"
            if self.enabled
            else "It is switched off; switch it on: uocr_nb.cache.enabled = True",
        ]
        return "\n".join(lines)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:  # noqa: ARG002
        text = repr(self)
        return {"text/plain": text, "text/html": f'<div style="white-space:pre-line">{escape(text)}</div>'}

    # -- files -----------------------------------------------------------------------------------------------------

    def _place(self, key: str) -> Path:
        if not _KEY.fullmatch(key):
            raise ValueError("A key of the cache is what uocr_nb.reading.cache.key made.")
        return self.path / key[:2] / key[2:]

    def _close(self) -> None:
        """Make the folder and close it to other users, once."""
        path = self.path
        if self._closed != path:
            if self._folder is None:
                cache_dir()
            self._closed = private_folder(path)

    def _folders(self) -> list[str]:
        with contextlib.suppress(OSError), os.scandir(self.path) as found:
            return [folder.path for folder in found if len(folder.name) == 2 and folder.is_dir(follow_symlinks=False)]
        return []

    def _files(self) -> Iterator[_Entry]:
        """Our files; what else lies there is nobody's business. Files that go while we look are left out."""
        for folder in self._folders():
            with contextlib.suppress(OSError), os.scandir(folder) as found:
                for file in found:
                    whole = _NAME.fullmatch(file.name) is not None
                    if whole or _PART.fullmatch(file.name):
                        with contextlib.suppress(OSError):
                            about = file.stat(follow_symlinks=False)
                            yield _Entry(file.path, whole, about.st_size, about.st_mtime)

    def _tidy(self) -> None:
        """Remove what was never finished, and the answers not used for longest where there are too many."""
        if not self._looking.acquire(blocking=False):
            return
        try:
            self._unseen = 0.0
            files = sorted(self._files(), key=lambda entry: entry.used)
            size = sum(entry.size for entry in files)
            goal = self.limit * _KEPT if size > self.limit else size
            for entry in files:
                if _abandoned(entry) or (entry.whole and size > goal):
                    _removed(entry)
                    size -= entry.size
        finally:
            self._looking.release()


def _abandoned(entry: _Entry) -> bool:
    return not entry.whole and time.time() - entry.used > _PART_AGE


def _removed(entry: _Entry) -> bool:
    with contextlib.suppress(OSError):
        Path(entry.path).unlink()
        return entry.whole
    return False


def _write(path: Path, data: bytes) -> None:
    """Write a file whole or not at all.

    Without fsync, which costs a network home much: a file that a power cut has spoilt does not match its checksum.
    """
    for tries_left in (3, 2, 1, 0):
        part = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}.part")
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            part.replace(path)
        except (FileNotFoundError, FileExistsError):
            # Another kernel empties the cache between two of these lines, and the folder goes; mkdir tells either.
            if not tries_left:
                raise
        else:
            return
        finally:
            with contextlib.suppress(OSError):
                part.unlink()


def _pack(key: str, answer: Answer) -> bytes:
    """Magic, key, checksum of all that follows and precedes it, and the answer, compressed."""
    text = json.dumps(
        {
            "text": answer.text,
            "finish_reason": answer.finish_reason,
            "prompt_tokens": answer.prompt_tokens,
            "tokens": answer.tokens,
            "seconds": answer.seconds,
            "scores": answer.scores,
        },
        ensure_ascii=False,
    )
    # An engine may cut a character in two halves, and JSON's own escapes would join them.
    body = zlib.compress(text.encode("utf-8", "surrogatepass"))
    head = _MAGIC + bytes.fromhex(key)
    return head + hashlib.sha256(head + body).digest() + body


def _unpack(key: str, data: bytes) -> Answer | None:
    """Read what `_pack` wrote for the same key; None for anything else."""
    head = _MAGIC + bytes.fromhex(key)
    digest, body = data[len(head) : len(head) + _DIGEST], data[len(head) + _DIGEST :]
    if not data.startswith(head) or digest != hashlib.sha256(head + body).digest():
        return None
    try:
        told = json.loads(zlib.decompress(body).decode("utf-8", "surrogatepass"))
        return Answer(**told | {"scores": tuple((piece, score) for piece, score in told["scores"])})
    except (ValueError, LookupError, TypeError, zlib.error):
        # Written by a version whose answers are made of other parts.
        return None


def _size(count: int) -> str:
    return f"{count / 1e6:,.3g} MB" if count >= 100_000 else f"{count / 1e3:.0f} kB"


def _short(path: Path) -> str:
    with contextlib.suppress(ValueError, RuntimeError):
        return f"~/{path.relative_to(Path.home()).as_posix()}"
    return str(path)


cache = AnswerCache()
"""The cache of this session: ``uocr_nb.cache``."""
