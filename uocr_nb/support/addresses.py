"""Which addresses of the network a source may come from: the public ones, unless the user allows others."""

from __future__ import annotations

import contextlib
import ipaddress
import queue
import socket
import threading

__all__ = ["LookupFailedError", "is_public", "literal", "lookup", "private_name"]

_SECONDS = 10.0
"""Most time for looking up a name."""

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_EMBEDDED_LAST = (_NAT64, ipaddress.IPv6Network("::/96"), ipaddress.IPv6Network("::ffff:0:0:0/96"))
"""Networks whose addresses end in an IPv4 address that is reached through them."""

_REFUSED = (
    ipaddress.ip_network("168.63.129.16/32"),  # Azure's host, which hands out credentials, though it looks public
    ipaddress.ip_network("192.88.99.0/24"),  # relays to 6to4
    ipaddress.ip_network("64:ff9b:1::/48"),  # NAT64 of a local network
    ipaddress.ip_network("2001::/32"),  # Teredo: what lies behind cannot be told
    ipaddress.ip_network("fec0::/10"),  # site-local, of old
)

_LOCAL_ENDINGS = (".localhost", ".local", ".internal", ".lan", ".home.arpa", ".intranet")


class LookupFailedError(OSError):
    """A name that has no address, or whose address was not told in time."""


def is_public(address: str) -> bool:
    """Tell whether an IP address is one of the open network.

    Private, loopback, link-local, shared (CGNAT), reserved, multicast and documentation addresses are not; an IPv6
    address that wraps an IPv4 address is as public as that one.
    """
    try:
        number = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if any(number in network for network in _REFUSED if network.version == number.version):
        return False
    if isinstance(number, ipaddress.IPv6Address):
        inner = number.ipv4_mapped or number.sixtofour
        if inner is None and any(number in network for network in _EMBEDDED_LAST):
            inner = ipaddress.IPv4Address(int(number) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    return number.is_global and not number.is_multicast and not number.is_reserved


def literal(host: str) -> str | None:
    """Give the address that `host` writes in figures, in any of the ways that are understood (``0x7f.1``), or None."""
    host = host.strip("[]")
    with contextlib.suppress(ValueError):  # in another way, or a name
        return str(ipaddress.ip_address(host.partition("%")[0]))
    if not host or not host[0].isdigit() or not host.isascii():
        return None
    try:
        return socket.inet_ntoa(socket.inet_aton(host))
    except OSError:
        return None


def private_name(host: str) -> bool:
    """Tell whether a name is one that only a local network knows, such as one without a dot."""
    name = host.rstrip(".").lower()
    return name.endswith(_LOCAL_ENDINGS) or ("." not in name and literal(name) is None)


def lookup(host: str, port: int, seconds: float = _SECONDS) -> list[str]:
    """Look up the addresses of `host`, in a thread of its own because the system's way cannot be stopped.

    Raises
    ------
    LookupFailedError
        When it has none, or the answer does not come in time.
    """
    written = literal(host)
    if written is not None:
        return [written]
    answers: queue.SimpleQueue[list[str] | OSError] = queue.SimpleQueue()

    def ask() -> None:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            answers.put(list(dict.fromkeys(str(entry[4][0]) for entry in found)))
        except (OSError, UnicodeError) as error:
            answers.put(OSError(str(error)))

    threading.Thread(target=ask, name="uocr-lookup", daemon=True).start()
    try:
        answer = answers.get(timeout=seconds)
    except queue.Empty:
        raise LookupFailedError(f"The name service gave no answer within {seconds:g} s.") from None
    if isinstance(answer, OSError) or not answer:
        raise LookupFailedError("No such name is known to the name service.")
    return answer
