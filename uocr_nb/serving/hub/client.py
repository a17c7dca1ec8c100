"""Calls to the Hub, by its own client's headers and way of connecting, each with a time limit of its own.

The client's functions have none (a silent server holds them for ever), drop what tells why a Job was cancelled, and
ask who the user is before every call that names no namespace. So the requests are made here.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from functools import cache
from typing import TYPE_CHECKING, Any

from uocr_nb.errors import EndpointError
from uocr_nb.serving.hub.ending import Answer
from uocr_nb.support.net import Secret, is_loopback

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx2

_CONNECT = 10.0
_LIST_PAGES = 20


def hub_endpoint() -> str:
    """Address of the Hub, as its client has read it from ``HF_ENDPOINT``."""
    from huggingface_hub import constants  # noqa: PLC0415 - heavy

    return str(constants.ENDPOINT).rstrip("/")


class HubClient:
    """Asks the Hub.

    Parameters
    ----------
    token : Secret
        May be empty: then nothing is sent with a request.
    endpoint : str
        The Hub's address; by default that of the client.

    Raises
    ------
    EndpointError
        When the token would cross the network in the open.
    """

    def __init__(self, token: Secret | None = None, endpoint: str = "") -> None:
        self.endpoint = endpoint.rstrip("/") or hub_endpoint()
        self._token = token or Secret("")
        if self._token and not (self.endpoint.startswith("https:") or is_loopback(self.endpoint)):
            raise EndpointError(
                f"The token is not sent to {self.endpoint}.",
                "It would cross the network in the open: tokens go over https or to this machine alone.",
                "Set HF_ENDPOINT to an https:// address before Jupyter starts.",
            )

    def __repr__(self) -> str:
        return f"<HubClient {self.endpoint}>"

    def renew(self, token: Secret) -> None:
        """Take a newer token."""
        self._token = token

    def _headers(self) -> dict[str, str]:
        return _unsigned() | ({"authorization": f"Bearer {self._token.reveal()}"} if self._token else {})

    def ask(self, method: str, path: str, body: Any = None, *, timeout: float = 10.0) -> Answer:
        """Send a request; never raises for what the Hub or the network does.

        Parameters
        ----------
        method, path : str
            The path starts with ``/api``.
        body : Any
            Sent as JSON.
        timeout : float
            Seconds of silence after which there is no answer.
        """
        import httpx2  # noqa: PLC0415 - heavy

        url = path if path.startswith(self.endpoint) else self.endpoint + path
        try:
            response = session().request(
                method,
                url,
                headers=self._headers(),
                json=body,
                timeout=httpx2.Timeout(timeout, connect=min(timeout, _CONNECT)),
                follow_redirects=False,
            )
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError) as error:
            return Answer(0, lost="unsent", said=self._hide(error))
        except httpx2.TimeoutException:
            return Answer(0, lost="timeout")
        except ConnectionError as error:  # the client's own, when it is told to stay offline
            return Answer(0, lost="offline", said=self._hide(error))
        except (httpx2.HTTPError, httpx2.StreamError, RuntimeError, OSError) as error:
            return Answer(0, lost="broken", said=self._hide(error))
        return self._read(response)

    def _read(self, response: Any) -> Answer:
        data = None
        with contextlib.suppress(ValueError):
            data = response.json()
        said = ""
        if response.status_code >= 300:
            inner = data.get("error", data.get("message", "")) if isinstance(data, dict) else ""
            said = str(inner or response.headers.get("x-error-message") or "")
        return Answer(
            response.status_code,
            data,
            said=self._token.hide(" ".join(said.split()))[:300],
            retry_after=_seconds(response.headers.get("retry-after")),
            link=str((response.links.get("next") or {}).get("url") or ""),
        )

    def _hide(self, error: Exception) -> str:
        return self._token.hide(" ".join(str(error).split()))[:200]

    def list(self, path: str, *, timeout: float = 10.0) -> Answer:
        """Read a list, page after page, as one answer."""
        rows: list[Any] = []
        answer = self.ask("GET", path, timeout=timeout)
        for _ in range(_LIST_PAGES):
            if not answer.ok or not isinstance(answer.data, list):
                return answer
            rows += answer.data
            # The next page's address comes from the answer: the token goes to the Hub alone.
            if not answer.link.startswith(self.endpoint + "/"):
                break
            answer = self.ask("GET", answer.link, timeout=timeout)
        return Answer(200, rows)

    def events(self, path: str, *, silence: float) -> Iterator[dict[str, Any] | None]:
        """Follow a stream of events; yields None for a sign of life without one.

        Raises
        ------
        ConnectionError
            When the stream could not be opened or broke; says why.
        """
        import httpx2  # noqa: PLC0415 - heavy

        limits = httpx2.Timeout(silence, connect=_CONNECT)
        try:
            with session().stream(
                "GET", self.endpoint + path, headers=self._headers(), timeout=limits, follow_redirects=False
            ) as response:
                if response.status_code != 200:
                    raise ConnectionError(str(response.status_code))
                for line in response.iter_lines():
                    yield _event(line)
        except (httpx2.HTTPError, httpx2.StreamError, RuntimeError, OSError) as error:
            raise ConnectionError(self._hide(error)) from None


_sessions: dict[int, httpx2.Client] = {}
_lock = threading.Lock()


def session() -> httpx2.Client:
    """Return a client made as the Hub's own client makes its shared one (``set_client_factory`` included).

    Not the shared one itself: `huggingface_hub` closes that in every forked child, and the child hangs there for ever
    when a thread of ours was using it at the moment of the fork.
    """
    from huggingface_hub import get_session  # noqa: PLC0415 - heavy
    from huggingface_hub.utils import _http  # noqa: PLC0415 - heavy

    with _lock:
        made = _sessions.get(os.getpid())
        if made is None:
            made = _sessions[os.getpid()] = getattr(_http, "_GLOBAL_CLIENT_FACTORY", get_session)()
        return made


def close_session() -> None:
    """Close the client of this process; the next call makes another."""
    made = _sessions.pop(os.getpid(), None)
    if made is not None:
        made.close()


def _in_child() -> None:
    global _lock  # noqa: PLW0603 - another thread of the parent may have held it
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


@cache
def _unsigned() -> dict[str, str]:
    """The headers of the Hub's client; made once, because it asks the Hub on the way what it is run by."""
    from huggingface_hub.utils._headers import build_hf_headers  # noqa: PLC0415 - heavy

    # False: not the token that the client would find by itself.
    return dict(build_hf_headers(token=False, library_name="uocr_nb"))


def _event(line: str) -> dict[str, Any] | None:
    if not line.startswith("data: {"):
        return None
    with contextlib.suppress(ValueError):
        event = json.loads(line.removeprefix("data: "))
        return event if isinstance(event, dict) else None
    return None


def _seconds(text: str | None) -> float:
    try:
        return max(0.0, min(float(text or 0), 120.0))
    except ValueError:
        return 0.0


class Cached:
    """A value kept for some time."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._kept: dict[Any, tuple[float, Any]] = {}

    def get(self, key: Any) -> Any:
        """Return what is kept under `key`; None when there is nothing, or it is too old."""
        at, value = self._kept.get(key, (0.0, None))
        return value if time.monotonic() - at < self._seconds else None

    def put(self, key: Any, value: Any) -> Any:
        """Keep a value, and return it."""
        self._kept[key] = (time.monotonic(), value)
        return value

    def clear(self) -> None:
        """Forget everything."""
        self._kept.clear()
