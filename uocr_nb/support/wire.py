"""One request for what a user named: to a public address that is checked twice, without keys or cookies."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from uocr_nb.config import settings
from uocr_nb.errors import SourceError
from uocr_nb.support.addresses import LookupFailedError, is_public, literal, lookup, private_name
from uocr_nb.support.net import is_loopback

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterator

    import httpx2

    from uocr_nb.support.lines import Line

__all__ = [
    "FetchError",
    "Hop",
    "Limits",
    "ask",
    "broken",
    "host_of",
    "next_hop",
    "parsed",
    "refused",
    "shown_url",
    "with_user",
]

_AGENT = "uocr_nb (OCR in a notebook)"


@dataclass(frozen=True)
class Limits:
    """What one download may take.

    Attributes
    ----------
    size : int
        Bytes, after unpacking.
    seconds : float
        From the first connection to the last byte.
    stall : float
        Without a single byte.
    connect : float
        To make the connection.
    slow : float
        Bytes a second, on average after the first 20 seconds; below it is not a download but a trick or a dead line.
    redirects : int
        Addresses that one leads on to.
    tries : int
        For what may go well the next time.
    patience : float
        Longest wait that a server may ask for.
    gap : float
        Seconds between two requests to the same host.
    """

    size: int = 500 << 20
    seconds: float = 900.0
    stall: float = 20.0
    connect: float = 10.0
    slow: float = 512.0
    redirects: int = 5
    tries: int = 3
    patience: float = 60.0
    gap: float = 0.05


class FetchError(SourceError):
    """A download that failed.

    Attributes
    ----------
    status : int or None
        The answer of the server, where there was one.
    """

    status: int | None = None
    again: bool = False
    wait: float | None = None

    @classmethod
    def made(
        cls,
        what: str,
        why: str,
        step: str,
        *,
        status: int | None = None,
        again: bool = False,
        wait: float | None = None,
    ) -> FetchError:
        """Make one that knows whether asking again may help."""
        error = cls(what, why, step)
        error.status, error.again, error.wait = status, again, wait
        return error


def host_of(url: str) -> str:
    """Name the host of `url` for people."""
    import httpx2  # noqa: PLC0415 - heavy

    try:
        return httpx2.URL(url).host or "?"
    except (httpx2.InvalidURL, ValueError):
        return "?"


def shown_url(url: str, most: int = 100) -> str:
    """Show `url` without user, password and query, which may be keys."""
    import httpx2  # noqa: PLC0415 - heavy

    try:
        parts = httpx2.URL(url)
        clean = str(parts.copy_with(username=None, password=None, query=None, fragment=None))
        text = clean if parts.host else url.rpartition("@")[2][:12]
    except (httpx2.InvalidURL, ValueError, TypeError):
        # A password with "/", "?" or "#" in it looks like the end of the host's name: all up to the last "@" goes.
        text = re.split(r"[?#]", url.rpartition("@")[2], maxsplit=1)[0]
    return text if len(text) <= most else f"{text[: most - 3]}..."


@dataclass
class Hop:
    """One request: where to, and what may be sent along."""

    url: httpx2.URL
    auth: tuple[str, str] | None


def parsed(url: str, base: httpx2.URL | None = None) -> Hop:
    """Take an address apart; everything after this works on the result, so that no two readings of it can differ."""
    import httpx2  # noqa: PLC0415 - heavy

    try:
        parts = base.join(url) if base is not None else httpx2.URL(url)
        host, port = parts.host, parts.port
        auth = (parts.username, parts.password) if parts.userinfo else None
        clean = parts.copy_with(username=None, password=None, fragment=None)
    except (httpx2.InvalidURL, ValueError, TypeError, UnicodeError):
        raise refused(url, "It is not an address that can be opened.") from None
    if clean.scheme not in ("http", "https"):
        raise refused(url, f"Only http and https addresses are opened, not {clean.scheme or 'others'}.")
    if not host or (port is not None and not 0 < port < 65536):
        raise refused(url, "It names no host, or a port that there cannot be.")
    return Hop(clean, auth)


def with_user(url: str, given: str | None) -> str:
    """Add the user and password of the address `given`, when `url` leads to the same server."""
    import httpx2  # noqa: PLC0415 - heavy

    with contextlib.suppress(httpx2.InvalidURL, ValueError, TypeError):  # what is no address has no user either
        known, asked = httpx2.URL(given or ""), httpx2.URL(url)
        if known.userinfo and _origin(known) == _origin(asked):
            return str(asked.copy_with(username=known.username, password=known.password))
    return url


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host.lower(), url.port or {"http": 80, "https": 443}.get(url.scheme)


def next_hop(hop: Hop, answer: httpx2.Response) -> Hop:
    """Give the request that a redirect leads to."""
    target = answer.headers.get("location", "")
    if not target:
        raise refused(str(hop.url), "It is redirected, but not told where to.")
    following = parsed(target, hop.url)
    # A user and password are for the server that they were given for; what a redirect brings along is not ours.
    same = _origin(hop.url) == _origin(following.url)
    return Hop(following.url, hop.auth if same else None)


def refused(url: str, why: str) -> FetchError:
    """Make the error for an address that is of no use, whoever asks."""
    return FetchError.made(f"{shown_url(url)} cannot be fetched.", why, "Look at the address in a browser.")


@contextlib.contextmanager
def ask(hop: Hop, accept: str, limits: Limits, line: Line) -> Iterator[httpx2.Response]:
    """Ask for `hop`; the answer's head is there, its body is not yet.

    The connection goes to the very address that was checked, and its other end is checked again before a word is
    sent: a name service that changes its answer in between gains nothing.
    """
    import http.cookiejar  # noqa: PLC0415 - rarely needed

    import httpx2  # noqa: PLC0415 - heavy

    private = settings.allow_private_urls
    proxy = _proxy_for(hop.url)
    addresses = _checked(hop.url, private=private, proxied=proxy is not None)

    def watch(event: str, info: dict[str, Any]) -> None:
        stream = info.get("return_value")
        if stream is None or not event.endswith(("connect_tcp.complete", "start_tls.complete")):
            return
        peer = (stream.get_extra_info("server_addr") or ("",))[0]
        if proxy is None and not private and not is_public(str(peer)):
            stream.close()
            raise _is_private(hop.url)
        line.attach(stream.get_extra_info("socket"))

    no_cookies = http.cookiejar.CookieJar(http.cookiejar.DefaultCookiePolicy(allowed_domains=[]))
    timeout = httpx2.Timeout(limits.stall, connect=limits.connect, pool=limits.connect)
    headers = {"Accept": accept, "Accept-Encoding": "gzip, identity", "User-Agent": _AGENT, "Host": _host_header(hop)}
    with httpx2.Client(
        trust_env=False, proxy=proxy, verify=_tls(), follow_redirects=False, cookies=no_cookies, timeout=timeout
    ) as client:
        for last, address in _marked(addresses):
            url = hop.url.copy_with(host=address) if address else hop.url
            extensions = {"trace": watch, "sni_hostname": hop.url.raw_host.decode("ascii")}
            request = client.build_request("GET", url, headers=headers, extensions=extensions)
            auth = httpx2.BasicAuth(*hop.auth) if hop.auth else None
            line.expect(limits.connect + 1.5 * limits.stall)
            try:
                answer = client.send(request, stream=True, auth=auth)
            except httpx2.HTTPError as error:
                if not last and not line.over and isinstance(error, (httpx2.ConnectError, httpx2.ConnectTimeout)):
                    continue
                raise broken(hop, error, line, limits) from None
            except (httpx2.InvalidURL, ValueError, OSError, UnicodeError) as error:
                raise refused(str(hop.url), f"{type(error).__name__}.") from None
            line.expect(None)
            with contextlib.closing(answer):
                yield answer
            return


def _marked(addresses: list[str | None]) -> Iterator[tuple[bool, str | None]]:
    for index, address in enumerate(addresses):
        yield index == len(addresses) - 1, address


def _host_header(hop: Hop) -> str:
    return hop.url.netloc.decode("ascii")


def _checked(url: httpx2.URL, *, private: bool, proxied: bool) -> list[str | None]:
    """The addresses that may be connected to; [None] leaves the name to a proxy.

    Raises
    ------
    FetchError
        When one of them is private and that is not allowed: a name with both kinds is a trick or a mistake.
    """
    host = url.raw_host.decode("ascii")
    if not private and (private_name(host) or (literal(host) and not is_public(literal(host) or ""))):
        raise _is_private(url)
    try:
        found = lookup(host, url.port or 0)
    except LookupFailedError as error:
        if proxied:  # behind a proxy there may be no name service; then the proxy is the one to know
            return [None]
        raise FetchError.made(
            f"{shown_url(str(url))} cannot be fetched.",
            f"The host {url.host} is not found: {str(error)[0].lower()}{str(error)[1:]}",
            "Look at the address, and at the network of this machine.",
        ) from None
    if not private and not all(is_public(address) for address in found):
        raise _is_private(url)
    return [None] if proxied else [*found[:4]]


def _is_private(url: httpx2.URL) -> FetchError:
    return FetchError.made(
        f"{shown_url(str(url))} is not fetched.",
        f"{url.host} is an address of this machine or a local network, which a document from outside could misuse.",
        "%config UOCR.allow_private_urls = True",
    )


def _proxy_for(url: httpx2.URL) -> str | None:
    """The proxy that the environment or the system names for `url`."""
    from urllib.request import getproxies, proxy_bypass  # noqa: PLC0415 - rarely needed

    if is_loopback(str(url)):
        return None
    proxies = getproxies()
    found = proxies.get(url.scheme) or proxies.get("all")
    if not found or proxy_bypass(url.host):
        return None
    return found if "://" in found else f"http://{found}"


_context: ssl.SSLContext | None = None


def _tls() -> ssl.SSLContext:
    """One context for all, since reading the certificates takes long; the usual variables for others are followed."""
    global _context  # noqa: PLW0603 - one for the process is the point
    if _context is None:
        import httpx2  # noqa: PLC0415 - heavy

        _context = httpx2.create_ssl_context()
    return _context


def broken(hop: Hop, error: Exception, line: Line, limits: Limits) -> FetchError:
    """Say in plain words what went wrong on the way."""
    import httpx2  # noqa: PLC0415 - heavy

    host, again = hop.url.host, True
    if line.cut is not None:
        why, again = line.cut.why, False
    elif isinstance(error, httpx2.ConnectTimeout):
        why, again = f"{host} does not answer within {limits.connect:g} s.", False
    elif isinstance(error, httpx2.TimeoutException):
        why, again = f"{host} sent nothing for {limits.stall:g} s.", False
    elif isinstance(error, httpx2.ProxyError):
        why, again = "The proxy does not let it through.", False
    elif isinstance(error, httpx2.ConnectError):
        certificate = "CERTIFICATE" in str(error).upper()
        why = f"The certificate of {host} is not good." if certificate else f"{host} cannot be reached."
        again = not certificate
    elif isinstance(error, httpx2.RemoteProtocolError) and "complete" in str(error):
        why = "The download ended early: the connection was lost before the whole file was there."
    elif isinstance(error, (httpx2.RemoteProtocolError, httpx2.DecodingError)):
        why = f"{host} does not speak HTTP properly, or ended the connection."
    else:
        why = f"The connection to {host} was lost."
    step = "Try again later, or look at the address in a browser."
    return FetchError.made(f"{shown_url(str(hop.url))} cannot be fetched.", why, step, again=again)
