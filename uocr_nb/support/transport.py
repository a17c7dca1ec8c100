"""What carries requests to an endpoint: aiohttp below an httpx2 client.

An answer of 2,000 tokens comes as 2,000 little pieces. httpx2's own transport takes about 75 microseconds for each of
them, aiohttp, which reads HTTP in compiled code, a tenth of that (benchmarks/README.md). Where a proxy is to be used,
httpx2's own way is taken.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
import weakref
from typing import TYPE_CHECKING

import httpx2

from uocr_nb.support.net import client_options

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    import aiohttp

__all__ = ["quick_transport"]

_GATHER = 0.1
"""Seconds for which the pieces of a stream are let gather before they are read at once; nobody sees it. All streams are
read at the same tick: one after the other they find the processor's caches warm, which halves what a piece costs."""

_AT_ONCE = 8
"""Reads of a stream before its pieces are let gather, so that a short answer is there at once."""


def quick_transport(url: str) -> httpx2.AsyncBaseTransport | None:
    """Make the transport for a client that talks to `url` alone; None where httpx2's own must be used."""
    return None if client_options(url)["trust_env"] and _proxied(url) else _Transport()


def _proxied(url: str) -> bool:
    """Tell whether the environment names a proxy for `url`; httpx2 is asked, since it knows the exceptions."""
    client = httpx2.Client()
    with client:
        return client._transport_for_url(httpx2.URL(url)) is not client._transport  # noqa: SLF001 - no public way


class _Transport(httpx2.AsyncBaseTransport):
    """Requests by aiohttp. Bound to the loop that sends the first one."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None
        _living.add(self)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send `request`; the body of the response is read as it is asked for.

        Raises
        ------
        httpx2.TransportError
            As httpx2's own transport would.
        """
        import aiohttp  # noqa: PLC0415 - heavy
        from yarl import URL  # noqa: PLC0415

        limits = request.extensions.get("timeout", {})
        with _as_httpx2(request):
            response = await self._opened().request(
                request.method,
                URL(str(request.url), encoded=True),
                headers=[(name.decode("ascii"), value.decode("latin-1")) for name, value in request.headers.raw],
                data=request.stream if "content-length" in request.headers else None,
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(
                    total=None, sock_connect=limits.get("connect"), sock_read=limits.get("read")
                ),
            )
        _end_with_connection(response)
        return httpx2.Response(
            response.status, headers=list(response.raw_headers), stream=_Body(request, response), request=request
        )

    async def aclose(self) -> None:
        """Close the connections that are kept."""
        if self._session is not None:
            await self._session.close()

    def let_go_in_child(self) -> None:
        """In a forked child: leave the connections alone; closing them takes them out of the parent's loop too."""
        session, self._session = self._session, None
        if session is not None and session.connector is not None:
            session.connector._conns.clear()  # noqa: SLF001 - no public way to drop them without closing them
            session.detach()

    def _opened(self) -> aiohttp.ClientSession:
        import aiohttp  # noqa: PLC0415 - heavy

        if self._session is None or self._session.closed:
            # SSL_CERT_FILE holds for a port that is forwarded to this machine as well.
            context = httpx2.create_ssl_context()
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, ssl=context, keepalive_timeout=30.0),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
                trust_env=False,
            )
        return self._session


_living: weakref.WeakSet[_Transport] = weakref.WeakSet()


def _in_child() -> None:
    for transport in list(_living):
        transport.let_go_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


class _Body(httpx2.AsyncByteStream):
    """The body of a response, as it comes."""

    def __init__(self, request: httpx2.Request, response: aiohttp.ClientResponse) -> None:
        self._request = request
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        gathers = self._response.headers.get("Content-Type", "").startswith("text/event-stream")
        with _as_httpx2(self._request):
            reads = 0
            async for chunk in self._response.content.iter_any():
                yield chunk
                reads += 1
                if gathers and reads > _AT_ONCE:
                    await self._gather()

    async def _gather(self) -> None:
        """Leave what comes now to the system's buffer, so that it is read and parsed at once."""
        connection = self._response.connection
        transport = connection.transport if connection is not None else None
        if transport is None or self._response.content.at_eof():
            return
        with contextlib.suppress(RuntimeError):  # it is closing
            transport.pause_reading()
        try:
            await asyncio.sleep(_GATHER - time.monotonic() % _GATHER)
        finally:
            with contextlib.suppress(RuntimeError):
                transport.resume_reading()

    async def aclose(self) -> None:
        """Give the connection back, or close it where the body was not read to its end."""
        if self._response.content.at_eof():
            self._response.release()
        else:
            self._response.close()


def _end_with_connection(response: aiohttp.ClientResponse) -> None:
    """Let the reading of a body end when its connection does: after a broken chunk aiohttp waits for ever."""
    import aiohttp  # noqa: PLC0415 - heavy

    content, connection = response.content, response.connection
    closed = connection.protocol.closed if connection is not None and connection.protocol is not None else None
    if closed is None:
        return

    def end(_closing: asyncio.Future[None]) -> None:
        if not content.is_eof() and content.exception() is None:
            content.set_exception(aiohttp.ClientPayloadError("The connection was lost."))

    def forget() -> None:
        # The connection lives on for other requests.
        closed.remove_done_callback(end)

    closed.add_done_callback(end)
    closed.remove_done_callback(_looked_at)
    closed.add_done_callback(_looked_at)
    content.on_eof(forget)


def _looked_at(closing: asyncio.Future[None]) -> None:
    """Say that nobody needs to be told why a connection has closed; once for each connection, idle ones too."""
    if not closing.cancelled():
        closing.exception()


@contextlib.contextmanager
def _as_httpx2(request: httpx2.Request) -> Iterator[None]:
    """Raise what aiohttp raises as httpx2 would."""
    import aiohttp  # noqa: PLC0415 - heavy

    try:
        yield
    except aiohttp.ConnectionTimeoutError as error:
        raise httpx2.ConnectTimeout(str(error), request=request) from error
    except (aiohttp.ServerTimeoutError, TimeoutError) as error:
        raise httpx2.ReadTimeout(str(error), request=request) from error
    except aiohttp.ClientConnectorError as error:
        raise httpx2.ConnectError(str(error), request=request) from error
    except (aiohttp.ClientPayloadError, aiohttp.ServerDisconnectedError, aiohttp.ClientResponseError) as error:
        raise httpx2.RemoteProtocolError(str(error), request=request) from error
    except (aiohttp.ClientError, OSError, RuntimeError) as error:
        # The last is how it says that a connection was lost between two looks at it.
        raise httpx2.ReadError(str(error), request=request) from error
