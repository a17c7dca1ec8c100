"""The door: only programs of this machine, with the key, and no page of a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.datastructures import Headers

from uocr_nb.local_server.faults import Fault

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["Guard"]


class Guard:
    """ASGI middleware that refuses a foreign Host, any foreign Origin, and a wrong key.

    A web page can send requests to loopback, and by a rebound name also read the answers: the Host tells the name it
    used, the Origin the page.

    Parameters
    ----------
    app : ASGI app
        What is guarded.
    check : callable
        Tells whether the given key (bytes) is the right one.
    """

    def __init__(self, app: ASGIApp, check: Callable[[bytes], bool]) -> None:
        self._app = app
        self._check = check

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on or answer with the refusal."""
        if scope["type"] == "http":
            fault = self._fault(scope)
            if fault is not None:
                await fault.response()(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _fault(self, scope: Scope) -> Fault | None:
        headers = Headers(scope=scope)
        server = scope.get("server")
        port = server[1] if server else None
        own = {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}
        if headers.get("host", "").lower() not in own:
            return Fault(403, "This Host is not served here: use 127.0.0.1 with the port of the endpoint.")
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in {f"http://{name}" for name in own}:
            return Fault(403, "Requests from web pages are not served.")
        if scope["path"] == "/health":
            return None
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or not self._check(given.strip().encode()):
            return Fault(401, "Unauthorized: the key of this endpoint is missing or wrong.")
        return None
