"""What was asked: every request of the Hub and of its proxy, and the questions tests put to the list."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_LONGEST = 2000
HIDDEN = "***"


@dataclass
class Record:
    """One request. No token value is kept: `auth` says which kind came, `token_in` where one stood besides."""

    number: int
    at: float
    where: str
    """``hub`` or ``proxy``."""
    method: str
    path: str
    query: dict[str, list[str]]
    route: str
    job_id: str
    namespace: str
    auth: str
    """``ok``, ``wrong`` or ``none``."""
    headers: dict[str, str]
    body: Any
    token_in: tuple[str, ...] = ()
    status: int | None = None
    """What was answered; None = nothing yet, 0 = the answer was lost or none was given."""


class Queries:
    """Questions to the list of requests; the same for a Hub in this process and in another."""

    def records(self) -> list[Record]:
        """List every request so far."""
        raise NotImplementedError

    def posts(self) -> list[Record]:
        """List the requests that asked for a Job."""
        return [record for record in self.records() if record.route == "run"]

    def cancels(self, job_id: str = "", *, accepted: bool = False) -> list[Record]:
        """List the requests to cancel (this Job); with `accepted` only those answered by 200."""
        found = [record for record in self.records() if record.route == "cancel" and job_id in {"", record.job_id}]
        return [record for record in found if record.status == 200 or not accepted]

    def count(self, route: str = "*", *, where: str = "") -> int:
        """Count the requests of a route."""
        return sum(route in {"*", record.route} and where in {"", record.where} for record in self.records())

    @staticmethod
    def wait(ready: Callable[[], Any], seconds: float = 10.0, what: str = "") -> Any:
        """Ask until the answer is true, and return it.

        Raises
        ------
        TimeoutError
            When it is not true in time.
        """
        deadline = time.monotonic() + seconds
        while True:
            answer = ready()
            if answer:
                return answer
            if time.monotonic() > deadline:
                raise TimeoutError(f"not within {seconds} s: {what or ready}")
            time.sleep(0.02)


def shorten(value: Any) -> Any:
    """Cut long strings of a JSON value (page images), so that the list stays small."""
    if isinstance(value, str) and len(value) > _LONGEST:
        return f"{value[:64]}...({len(value)})"
    if isinstance(value, dict):
        return {key: shorten(item) for key, item in value.items()}
    if isinstance(value, list):
        return [shorten(item) for item in value]
    return value


@dataclass
class Recorder:
    """The list, safe for threads. `tokens` are the values that must not be kept."""

    tokens: Callable[[], list[str]]
    _records: list[Record] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def open(self, *, body: bytes, headers: dict[str, str], **facts: Any) -> Record:
        """Note a request that has arrived."""
        found: list[str] = []
        kept = {key: value for key, value in headers.items() if key.lower() not in {"authorization", "cookie"}}
        places = {"path": f"{facts['path']} {facts['query']}", "headers": str(kept)}
        parsed: Any = body.decode(errors="replace")
        with contextlib.suppress(ValueError):
            parsed = json.loads(body) if body else None
        secrets = parsed.get("secrets") if isinstance(parsed, dict) else None
        if isinstance(secrets, dict):
            places["secrets"] = str(secrets)
            parsed["secrets"] = dict.fromkeys(secrets, HIDDEN)
        places["body"] = json.dumps(parsed, ensure_ascii=False)
        for token in self.tokens():
            found += [place for place, text in places.items() if token in text]
        if found:
            parsed = self._hide(parsed)
            kept = self._hide(kept)
            facts["path"] = self._hide(facts["path"])
            facts["query"] = self._hide(facts["query"])
        with self._lock:
            record = Record(
                number=len(self._records),
                at=time.time(),
                headers=kept,
                body=shorten(parsed),
                token_in=tuple(sorted(set(found))),
                **facts,
            )
            self._records.append(record)
        return record

    def _hide(self, value: Any) -> Any:
        text = json.dumps(value)
        for token in self.tokens():
            text = text.replace(token, HIDDEN)
        return json.loads(text)

    def list(self) -> list[Record]:
        """Copy the list."""
        with self._lock:
            return [dataclasses.replace(record) for record in self._records]

    def clear(self) -> None:
        """Start again with an empty list."""
        with self._lock:
            self._records.clear()
