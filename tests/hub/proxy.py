"""The proxy before the exposed ports of Jobs: ``http://127.0.0.1:<port>/<job id>--<declared port>/...``."""

from __future__ import annotations

import contextlib
import re
import select
import socket
import urllib.parse
from typing import TYPE_CHECKING

from tests.hub import faults
from tests.hub.api import scripted
from tests.hub.wire import Handler, Reply, Server, failure

if TYPE_CHECKING:
    from tests.hub.records import Record
    from tests.hub.server import Hub

_PLACE = re.compile(r"/([0-9a-f]+)--(\d+)(/.*)?", re.DOTALL)
_OWN_HEADERS = frozenset({"host", "authorization", "connection", "keep-alive", "transfer-encoding", "content-length"})


class ProxyServer(Server):
    """The server that knows its Hub."""

    def __init__(self, hub: Hub, port: int) -> None:
        self.hub = hub
        super().__init__(Proxy, port)


class Proxy(Handler):
    """One connection to the proxy."""

    server: ProxyServer

    def do_GET(self) -> None:  # noqa: N802 - the base class's name
        """Serve."""
        self._serve()

    do_POST = do_PUT = do_DELETE = do_HEAD = do_OPTIONS = do_PATCH = do_GET  # noqa: N815 - the base class's names

    def _serve(self) -> None:
        hub = self.server.hub
        split = urllib.parse.urlsplit(self.path)
        place = _PLACE.fullmatch(split.path)
        job_id, declared, rest = (place[1], int(place[2]), place[3] or "/") if place else ("", 0, split.path)
        body = self.read_body()
        record = hub.recorder.open(
            where="proxy",
            method=self.command,
            path=rest,
            query=urllib.parse.parse_qs(split.query),
            route="proxy",
            job_id=job_id,
            namespace="",
            auth=hub.account.knows(self.headers.get("Authorization")),
            headers=dict(self.headers.items()),
            body=body,
        )
        kinds = (faults.Answer, faults.Silent, faults.Hangup, faults.Slow)
        fault = hub.script.for_request(kinds, "proxy", rest, job_id)
        if isinstance(fault, faults.Answer):
            self._give(record, scripted(fault))
            return
        if isinstance(fault, (faults.Silent, faults.Hangup)):
            record.status = 0
            if isinstance(fault, faults.Silent):
                self.hold()
            self.cut(reset=isinstance(fault, faults.Hangup) and fault.reset)
            return
        if isinstance(fault, faults.Slow):
            self.hold(fault.seconds)
        self._pass(record, job_id, declared, rest + (f"?{split.query}" if split.query else ""), body)

    def _give(self, record: Record, reply: Reply) -> None:
        record.status = reply.status
        self.send(reply)

    def _pass(self, record: Record, job_id: str, declared: int, target: str, body: bytes) -> None:
        hub = self.server.hub
        job = hub.find(job_id)
        public = job is not None and declared in ((job.expose or {}).get("portsPublic") or [])
        if record.auth != "ok" and not public:
            self._give(record, failure(401, "Unauthorized"))
        elif job is None or job.ended or declared not in job.exposed():
            self._give(record, failure(hub.gone_status, "Not Found"))
        else:
            port = job.port(declared)
            upstream = None
            with contextlib.suppress(OSError):
                upstream = socket.create_connection(("127.0.0.1", port), timeout=5) if port else None
            if upstream is None:
                self._give(record, failure(hub.not_ready_status, "Service Unavailable"))
                return
            with upstream:
                upstream.settimeout(None)
                self._relay(record, upstream, target, body)

    def _relay(self, record: Record, upstream: socket.socket, target: str, body: bytes) -> None:
        """Pass bytes through as they come; the end of either side ends the other."""
        kept = [(name, value) for name, value in self.headers.items() if name.lower() not in _OWN_HEADERS]
        head = [f"{self.command} {target} HTTP/1.1", "Host: job", "Connection: close", f"Content-Length: {len(body)}"]
        head += [f"{name}: {value}" for name, value in kept]
        self.close_connection = True
        start = b""
        with contextlib.suppress(ConnectionError):
            upstream.sendall("\r\n".join(head).encode("latin-1") + b"\r\n\r\n" + body)
            while b"\r\n\r\n" not in start:
                if not self._wait_for(upstream):
                    record.status = 0
                    return
                piece = upstream.recv(65536)
                if not piece:
                    break
                start += piece
        if b"\r\n\r\n" not in start or b"x-stand-in-bound:" in start.partition(b"\r\n\r\n")[0].lower():
            # Died before it answered, or bound to the container's own loopback.
            self._give(record, failure(502, "Bad Gateway"))
            return
        record.status = int(start.split(b" ", 2)[1])
        # Said to the client too: this connection is not used again.
        first, _, rest = start.partition(b"\r\n")
        piece = first + b"\r\nConnection: close\r\n" + rest
        while piece:
            self.connection.sendall(piece)
            if not self._wait_for(upstream):
                return
            piece = upstream.recv(65536)

    def _wait_for(self, upstream: socket.socket) -> bool:
        """Wait for more of the answer; False when the client has gone."""
        while not self.server.closing.is_set():
            ready, _, _ = select.select([upstream, self.connection], [], [], 0.5)
            if self.connection in ready and self.client_gone():
                return False
            if upstream in ready:
                return True
            if ready:
                # A next request on the same connection: it waits its turn.
                select.select([upstream], [], [], 0.05)
        return False
