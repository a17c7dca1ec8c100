"""Addresses, and how a client for one is made: no redirects, no proxy for loopback, no key over open networks."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from uocr_nb.errors import OptionError

LOOPBACK = "127.0.0.1"


class Secret:
    """A key that shows itself nowhere: not in a repr, a traceback with its locals, or a message.

    Spaces and line ends round a key are never meant (a pasted one ends in a newline); they are taken off, since
    the client would refuse such a header with a message that shows it.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str | None) -> None:
        self._text = (text or "").strip()

    def reveal(self) -> str:
        """Return the key itself."""
        return self._text

    def hide(self, text: str) -> str:
        """Return `text` without the key, should something have repeated it."""
        return text.replace(self._text, "***") if self._text else text

    def __bool__(self) -> bool:
        return bool(self._text)

    def __repr__(self) -> str:
        return "<secret>" if self._text else "<no secret>"


def free_port() -> int:
    """Find a port of the loopback address that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def port_is_free(port: int) -> bool:
    """Tell whether a server could listen on this port of the loopback address."""
    with socket.socket() as probe:
        # As servers do it: a port whose last owner has just gone counts as free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with contextlib.suppress(OSError):
            probe.bind((LOOPBACK, port))
            return True
    return False


def is_loopback(url: str) -> bool:
    """Tell whether a URL names this machine by its loopback address; no name is looked up."""
    host = (urlsplit(url).hostname or "").rstrip(".").lower()
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def same_server(one: str, other: str) -> bool:
    """Tell whether two URLs lead to the same scheme, host and port."""
    return _server(one) == _server(other)


def _server(url: str) -> tuple[str, str, int | None]:
    parts = urlsplit(url)
    return parts.scheme, (parts.hostname or "").lower(), parts.port or {"http": 80, "https": 443}.get(parts.scheme)


def normalise_base_url(text: str) -> str:
    """Return the base URL of an OpenAI-compatible server: with ``/v1`` at its end and nothing after it.

    Given with or without ``/v1``, a slash at the end, or the whole path of a request.

    Raises
    ------
    OptionError
        When it is no http(s) URL, or carries a password or a query.
    """
    next_step = "%uocr_serve https://HOST/v1 --api-key-env NAME"
    parts = urlsplit(text.strip())
    try:
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, or too large
        good = False
    if not good:
        raise OptionError("That is not the URL of an endpoint.", "It must start with http:// or https://.", next_step)
    if "@" in parts.netloc or parts.query:
        # Neither is repeated in the message: it may be the key.
        raise OptionError(
            f"The URL of {parts.hostname} carries a user, a password or a query.",
            "Keys in a URL end up in logs and notebooks.",
            next_step + "\n(NAME is the environment variable that holds the key.)",
        )
    path = parts.path.rstrip("/")
    for ending in ("/chat/completions", "/completions", "/models", "/health"):
        path = path.removesuffix(ending)
    path = path.rstrip("/")
    if not path.endswith("/v1"):
        path += "/v1"
    return urlunsplit((parts.scheme, parts.netloc.lower(), path, "", ""))


def client_options(url: str) -> dict[str, Any]:
    """Make the arguments for an httpx2 client that talks to `url` alone.

    A proxy in the environment is for the world outside: sent there, a request for loopback cannot come back.
    Redirects are not followed, because they would carry the key along.
    """
    return {"trust_env": not is_loopback(url), "follow_redirects": False}
