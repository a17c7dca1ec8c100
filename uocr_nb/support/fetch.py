"""The one place that downloads what a user named, within limits of size and time.

What arrives goes to a file piece by piece and is never whole in memory.
"""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from uocr_nb.support.inflate import Inflater
from uocr_nb.support.lines import CutError, Line, hold, turn
from uocr_nb.support.wire import (
    FetchError,
    Limits,
    ask,
    broken,
    host_of,
    next_hop,
    parsed,
    refused,
    shown_url,
    with_user,
)

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import httpx2

    from uocr_nb.support.wire import Hop

__all__ = ["FetchError", "Fetched", "Limits", "fetch", "host_of", "shown_url", "with_user"]

HEAD = 2048
"""Bytes after which `fetch` asks whether the rest is wanted."""

_BUSY = (429, 503)
_AGAIN = (408, 425, 429, 500, 502, 503, 504)

_STATUS = {
    400: "does not understand the request",
    401: "asks for a login",
    402: "asks for payment",
    403: "does not let everybody have it",
    404: "does not have it (any more)",
    407: "is behind a proxy that asks for a login",
    410: "does not have it any more",
    429: "is asked too often",
    451: "may not show it, for legal reasons",
    501: "cannot do this",
    502: "is out of order for now",
    503: "is out of order or overloaded for now",
    504: "is out of order for now",
}


LIMITS = Limits()


@dataclass(frozen=True)
class Fetched:
    """A download that is complete.

    Attributes
    ----------
    file : Path
        Where it is.
    url : str
        Where it came from in the end, without user and password.
    size : int
        Bytes.
    content_type : str
        What the server says it is (not to be believed).
    """

    file: Path
    url: str = field(repr=False)
    size: int
    content_type: str = ""


@dataclass(frozen=True)
class _Task:
    """What `fetch` was asked for."""

    url: str
    folder: Path
    accept: str
    wanted: Callable[[bytes], int | None] | None
    limits: Limits
    line: Line


def fetch(
    url: str,
    folder: Path,
    *,
    accept: str = "*/*",
    wanted: Callable[[bytes], int | None] | None = None,
    limits: Limits = LIMITS,
    stop: threading.Event | None = None,
) -> Fetched:
    """Download `url` to a new file in `folder`.

    Parameters
    ----------
    url : str
        http or https. A user and password in it are sent to that server alone.
    folder : Path
        Where the file is made; its name says nothing.
    accept : str
        Kinds that are wanted, as the header of that name.
    wanted : callable, optional
        Gets the first bytes (2,048, or all) and may raise; a number that it returns is a lower limit of size.
    limits : Limits
        What it may take.
    stop : Event, optional
        Set from another thread, it ends the download.

    Raises
    ------
    FetchError
        When it cannot be had.
    """
    line = Line(limits.seconds, stop)
    task = _Task(url, folder, accept, wanted, limits, line)
    try:
        with hold(line):
            for left in range(limits.tries - 1, 0, -1):
                try:
                    return _follow(task)
                except FetchError as error:
                    if not error.again or line.over:
                        raise
                    line.sleep(error.wait if error.wait is not None else 1.0 * (limits.tries - left))
            return _follow(task)
    except CutError as cut:
        raise refused(url, cut.why) from None


def _follow(task: _Task) -> Fetched:
    url, limits, line = task.url, task.limits, task.line
    hop = parsed(url)
    seen = set()
    for _ in range(limits.redirects + 1):
        seen.add(str(hop.url))
        server = hop.url.netloc.decode()
        with turn(server, limits.gap, limits.patience, line) as busy, ask(hop, task.accept, limits, line) as answer:
            if answer.status_code in (301, 302, 303, 307, 308):
                hop = next_hop(hop, answer)
                if str(hop.url) in seen:
                    raise refused(url, "It is led round in a circle by redirects.")
                continue
            if answer.status_code != 200:
                wait = _retry_after(answer) if answer.status_code in _BUSY else None
                if wait is not None:
                    busy(wait)
                raise _bad_status(task, hop, answer.status_code, wait)
            return _written(task, hop, answer)
    raise refused(url, f"It is led on by more than {limits.redirects} redirects.")


def _bad_status(task: _Task, hop: Hop, status: int, wait: float | None) -> FetchError:
    patience = task.limits.patience
    words = _STATUS.get(status) or ("is out of order" if status >= 500 else "refuses it")
    why = f"{hop.url.host} {words} (status {status})."
    again = status in _AGAIN and (wait is None or wait <= patience)
    step = "Look at the address in a browser."
    if status in (401, 403):
        step = "Download it in a browser that is logged in, and name the file: %uocr file.pdf"
    elif status in _AGAIN:
        step = "Try again later."
        if wait is not None and wait > patience:
            why = f"{why[:-1]} and asks to be left alone for {wait:,.0f} s."
    return FetchError.made(
        f"{shown_url(task.url)} cannot be fetched.", why, step, status=status, again=again, wait=wait
    )


def _retry_after(answer: httpx2.Response) -> float | None:
    """Read how long a server asks to be left alone: in seconds, or until a date."""
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 - rarely needed

    text = answer.headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None


def _written(task: _Task, hop: Hop, answer: httpx2.Response) -> Fetched:
    import httpx2  # noqa: PLC0415 - heavy

    file = task.folder / f"fetched-{secrets.token_hex(12)}"
    try:
        size = _copied(task, hop, answer, file)
    except BaseException as error:
        file.unlink(missing_ok=True)
        if isinstance(error, httpx2.HTTPError):
            raise broken(hop, error, task.line, task.limits) from None
        if isinstance(error, OSError):
            raise FetchError.made(
                f"{shown_url(str(hop.url))} cannot be kept.", f"{error.strerror or error}.", "Make room on the disk."
            ) from error
        raise
    return Fetched(file, str(hop.url), size, answer.headers.get("content-type", ""))


def _copied(task: _Task, hop: Hop, answer: httpx2.Response, file: Path) -> int:
    most, wanted = task.limits.size, task.wanted
    told = answer.headers.get("content-length", "")
    if told.isdigit() and int(told[:15]) > most:
        raise _too_large(hop, most)
    inflater = Inflater(answer.headers.get("content-encoding", ""))
    head: bytes | None = b"" if wanted else None
    size = 0
    with file.open("xb") as out:
        for piece in inflater.pieces(_patiently(task, answer)):
            size += len(piece)
            if size > most:
                raise _too_large(hop, most)
            out.write(piece)
            if wanted is not None and head is not None:
                head = (head + piece)[:HEAD]
                if len(head) >= HEAD:
                    most = min(most, wanted(head) or most)
                    head = None
    task.line.check()  # a connection that was ended from here looks like an answer that is complete
    if inflater.problem:
        raise FetchError.made(f"{shown_url(str(hop.url))} cannot be read.", inflater.problem, "Try again later.")
    if wanted is not None and head is not None:
        wanted(head)
    return size


def _patiently(task: _Task, answer: httpx2.Response) -> Iterator[bytes]:
    """The bytes as they come; too few of them over a long time is an end, too."""
    got = 0
    for piece in answer.iter_raw():
        got += len(piece)
        task.line.check_pace(got, task.limits.slow)
        yield piece


def _too_large(hop: Hop, most: int) -> FetchError:
    return FetchError.made(
        f"{shown_url(str(hop.url))} is too large.",
        f"It is larger than {most >> 20} MB, the most that is fetched.",
        "Download it in a browser, and name the file: %uocr file.pdf",
    )
