"""How a Job is surely ended, by the kernel or by the watchdog after it.

Standard library alone, because the watchdog loads this file as well. Who asks is handed in: the kernel asks by the
Hub's own client (`uocr_nb.serving.hub.client`), the watchdog by `PlainCaller`.
"""

from __future__ import annotations

import contextlib
import json
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

TERMINAL = frozenset({"COMPLETED", "CANCELED", "ERROR", "DELETED"})
"""Stages after which nothing runs and nothing is charged."""

MARK = "start"
"""Label that tells one start from every other; a Job whose id was lost is found by it."""

_LONGEST_PAUSE = 30.0
_LATE = 60.0
"""Seconds for which a Job that was asked for may still turn up."""
_CALL_SECONDS = 4.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back from the Hub.

    Attributes
    ----------
    status : int
        Of HTTP; 0 when no answer came.
    data : Any
        The JSON of the answer, None when it is none.
    said : str
        What the Hub said about a refusal.
    lost : str
        Without an answer: ``timeout``, ``unsent`` (the request never left), ``broken`` or ``offline``.
    retry_after : float
        Seconds that the Hub asks to wait, 0 when it does not say.
    link : str
        Address of the next page of a list.
    """

    status: int
    data: Any = None
    said: str = ""
    lost: str = ""
    retry_after: float = 0.0
    link: str = ""

    @property
    def ok(self) -> bool:
        """Whether it was done."""
        return 200 <= self.status < 300

    @property
    def unclear(self) -> bool:
        """Whether it may have been done all the same."""
        return self.status >= 500 or self.status == 408 or self.lost in ("timeout", "broken")


def stage_of(job: Any) -> str:
    """Read the stage out of a Job's JSON; empty when it has none."""
    status = job.get("status") if isinstance(job, dict) else None
    return str(status.get("stage") or "") if isinstance(status, dict) else ""


def job_path(namespace: str, job_id: str = "") -> str:
    """Write the path of a namespace's Jobs, or of one of them."""
    path = "/api/jobs/" + urllib.parse.quote(namespace, safe="")
    return f"{path}/{urllib.parse.quote(job_id, safe='')}" if job_id else path


def end_job(
    ask: Callable[[str, str], Answer],
    path: str,
    *,
    asked: bool,
    until: float,
    pause: float = 0.5,
    sleep: Callable[[float], Any] = time.sleep,
) -> bool:
    """Ask for a Job's end until that is accepted or the Job has ended; then nothing more is sent.

    Parameters
    ----------
    ask : callable
        Sends a request.
    path : str
        The Job's, from `job_path`.
    asked : bool
        Whether its end may have been asked for before: then it is looked at first.
    until : float
        When to give up, on the monotonic clock.
    pause : float
        Seconds before the second try; grows from there.
    sleep : callable
        How to wait.
    """
    missing = 0
    while True:
        if asked:
            seen = ask("GET", path)
            if seen.ok and stage_of(seen.data) in TERMINAL:
                return True
            # Not there, said three times over: deleted, or never of this account.
            missing = missing + 1 if seen.status == 404 else 0
            if missing >= 3:
                return True
        if ask("POST", path + "/cancel").ok:
            return True
        asked = True
        if time.monotonic() + pause > until:
            return False
        sleep(pause)
        pause = min(pause * 1.6, _LONGEST_PAUSE)


def find_marked(ask: Callable[[str, str], Answer], namespace: str, mark: str) -> list[dict[str, Any]] | None:
    """Find the Jobs of one start by its mark; None when the Hub did not tell."""
    found = ask("GET", f"{job_path(namespace)}?label={MARK}%3D{mark}")
    if not found.ok or not isinstance(found.data, list):
        return None
    # The filter is the Hub's; whether it heeded it is looked at.
    return [job for job in found.data if isinstance(job, dict) and (job.get("labels") or {}).get(MARK) == mark]


def end_marked(
    ask: Callable[[str, str], Answer],
    namespace: str,
    mark: str,
    *,
    late: float = _LATE,
    sleep: Callable[[float], Any] = time.sleep,
) -> bool:
    """End a Job that was asked for, and of which nobody heard whether it was made; wait for it to turn up."""
    until = time.monotonic() + late
    pause = 0.25
    while True:
        for job in find_marked(ask, namespace, mark) or ():
            if stage_of(job) in TERMINAL:
                return True
            return end_job(ask, job_path(namespace, str(job["id"])), asked=False, until=until + late, sleep=sleep)
        if time.monotonic() + pause > until:
            return False
        sleep(pause)
        pause = min(pause * 1.3, 3.0)


# ------------------------------------------------------------------ asking without the Hub's client
class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Follow nothing: a redirect would carry the token along."""


@dataclass
class PlainCaller:
    """Asks the Hub by the standard library.

    Parameters
    ----------
    endpoint : str
        The Hub's address.
    tokens : list of str
        Tried in this order; the next one when the Hub refuses one.
    proxy : str
        Address of a proxy; empty for none.
    ca_files : iterable of str
        More certificates to trust.
    """

    endpoint: str
    tokens: list[str] = field(repr=False)
    proxy: str = field(default="", repr=False)
    ca_files: Iterable[str] = ()

    def __post_init__(self) -> None:
        handlers: list[Any] = [_NoRedirect()]
        handlers.append(urllib.request.ProxyHandler({"http": self.proxy, "https": self.proxy} if self.proxy else {}))
        if self.endpoint.startswith("https:"):
            context = ssl.create_default_context()
            for file in self.ca_files:
                with contextlib.suppress(OSError):
                    context.load_verify_locations(cafile=file)
            handlers.append(urllib.request.HTTPSHandler(context=context))
        self._open = urllib.request.build_opener(*handlers).open

    def ask(self, method: str, path: str) -> Answer:
        """Send a request with the first token that is taken."""
        answer = Answer(401)
        for token in list(self.tokens):
            answer = self._once(method, path, token)
            if answer.status not in (401, 403, 404):
                self.tokens.sort(key=lambda one: one != token)
                break
        return answer

    def _once(self, method: str, path: str, token: str) -> Answer:
        request = urllib.request.Request(  # noqa: S310 - the Hub's own address
            self.endpoint + path,
            data=b"" if method == "POST" else None,
            method=method,
            headers={"Authorization": f"Bearer {token}", "User-Agent": "uocr_nb-watchdog"},
        )
        try:
            with self._open(request, timeout=_CALL_SECONDS) as response:
                return Answer(response.status, _json(response.read()))
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code)
        except TimeoutError:
            return Answer(0, lost="timeout")
        except (OSError, ValueError):
            return Answer(0, lost="broken")
        except Exception:  # noqa: BLE001 - http.client has its own; a watchdog must go on
            return Answer(0, lost="broken")


def _json(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except ValueError:
        return None


def token_in(path: str) -> str:
    """Read the token file that ``hf auth login`` writes; empty when there is none."""
    try:
        return Path(path).read_text(encoding="utf-8").replace("\r", "").replace("\n", "").strip()
    except (OSError, ValueError):
        return ""


def caller_of(told: dict[str, Any]) -> PlainCaller:
    """Make the caller of what a kernel told over the pipe: a token read afresh first, the told one after it."""
    fresh = token_in(told["token_file"]) if told.get("token_file") else ""
    tokens = [token for token in dict.fromkeys([fresh, str(told.get("token") or "")]) if token]
    return PlainCaller(told["endpoint"], tokens, told.get("proxy") or "", tuple(told.get("ca_files") or ()))
