"""IIIF image services: what a server says that it can do (``info.json`` of Image API 1.1, 2 and 3)."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Info", "Service", "as_info", "service_of", "service_of_address"]


@dataclass(frozen=True)
class Service:
    """An image service as a manifest names it: its address, major version, and all that the manifest says of it."""

    base: str
    version: int = 2
    data: dict[str, Any] = field(default_factory=dict, repr=False, compare=False, hash=False)


@dataclass(frozen=True)
class Info:
    """What a server says of one picture.

    Attributes
    ----------
    service : Service
        Where it is.
    width, height : int
        Of the whole picture.
    level : int
        What the server can do: 0 (sizes on offer only), 1 (any width), 2 (any size).
    features : frozenset of str
        What it can do beyond that.
    most : tuple of float
        Largest width, height and area that it gives.
    sizes : tuple of (int, int)
        Sizes on offer.
    tiles : tuple of (int, int, tuple of int)
        Width, height and scale factors of its tiles.
    """

    service: Service
    width: int
    height: int
    level: int = 1
    features: frozenset[str] = frozenset()
    most: tuple[float, float, float] = (math.inf, math.inf, math.inf)
    sizes: tuple[tuple[int, int], ...] = ()
    tiles: tuple[tuple[int, int, tuple[int, ...]], ...] = ()


def service_of(resource: dict[str, Any]) -> Service | None:
    """Find the image service of a picture among its services."""
    for key in ("service", "services"):
        value = resource.get(key)
        for one in value if isinstance(value, list) else [value]:
            found = _service(one)
            if found is not None:
                return found
    return None


def _service(data: Any) -> Service | None:
    if isinstance(data, str):
        return Service(_base(data)) if data.startswith(("http://", "https://")) else None
    if not isinstance(data, dict):
        return None
    base = data.get("id") or data.get("@id")
    if not isinstance(base, str) or not base.startswith(("http://", "https://")):
        return None
    told = " ".join(_strings([data.get(key) for key in ("@context", "type", "@type", "profile", "protocol")]))
    # Services for logins, searches and physical sizes stand beside the one that gives pictures.
    if re.search(r"/api/(?:auth|search|annex)|AuthCookie|AuthAccess|AuthProbe|SearchService|physdim", told):
        return None
    if told and not re.search(r"api/image|image-api|ImageService|level[0-2]|iiif:Image", told):
        return None
    return Service(_base(base), _version(told), data)


def _version(told: str) -> int:
    found = re.search(r"api/image/(\d)|ImageService(\d)|image-api/(\d)|image-api", told)
    if found is None:
        return 2
    return int(next((group for group in found.groups() if group), "1"))


def _base(address: str) -> str:
    return address.partition("#")[0].removesuffix("/info.json").rstrip("/")


_ADDRESS = re.compile(
    r"^(?P<base>https?://[^?#]+)/(?P<region>full|square|\d+,\d+,\d+,\d+|pct:[\d.,]+)/(?:full|max)/0"
    r"/(?P<quality>default|native|color|gray|grey)\.(?:jpe?g|png|webp|tif|jp2)$"
)


def service_of_address(address: str) -> tuple[Service | None, str]:
    """Find the service behind an address that asks it for a picture in full size, and the part that is asked for."""
    found = _ADDRESS.match(address)
    if found is None or found["base"].count("/") < 3:
        return None, "full"
    return Service(found["base"], 1 if found["quality"] == "native" else 2), found["region"]


def as_info(data: Any, base: str | None = None) -> Info | None:
    """Read an ``info.json``, or what a manifest repeats of one; None when it is neither.

    Parameters
    ----------
    data : object
        As read from JSON.
    base : str, optional
        Where it was fetched from; what it says of its own address is at times out of date.
    """
    if not isinstance(data, dict):
        return None
    width, height = _number(data.get("width")), _number(data.get("height"))
    address = data.get("id") or data.get("@id") or ""
    told = " ".join(_strings([data.get(key) for key in ("@context", "type", "@type", "profile", "protocol")]))
    named = re.search(r"api/image|image-api|ImageService", told) is not None
    if not named or not width or not height or not (base or isinstance(address, str)):
        return None
    profile = data.get("profile")
    parts = [one for one in (profile if isinstance(profile, list) else [profile]) if isinstance(one, dict)]
    parts.append(data)
    level = re.search(r"level([0-2])", " ".join(_strings(profile)))
    features = {one for part in parts for key in ("supports", "extraFeatures") for one in _strings(part.get(key))}
    most = [min((_number(part.get(key)) or math.inf for part in parts), default=math.inf) for key in _MOST]
    if most[1] == math.inf:
        most[1] = most[0]
    version = _version(told)
    if "@id" not in data and "id" in data and version < 3 and "api/image" not in told:
        version = 3
    service = Service(_base(base or str(address)), version)
    return Info(
        service,
        width,
        height,
        int(level[1]) if level else 1,
        frozenset(features),
        (most[0], most[1], most[2]),
        tuple(_sizes(data)),
        tuple(_tiles(data)),
    )


_MOST = ("maxWidth", "maxHeight", "maxArea")


def _sizes(data: dict[str, Any]) -> Iterator[tuple[int, int]]:
    found = data.get("sizes")
    for one in found if isinstance(found, list) else ():
        width, height = (_number(one.get(key)) for key in ("width", "height")) if isinstance(one, dict) else (0, 0)
        if width and height:
            yield width, height


def _tiles(data: dict[str, Any]) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    found = data.get("tiles")
    if found is None and data.get("tile_width"):  # version 1.1
        found = [
            {
                "width": data["tile_width"],
                "height": data.get("tile_height"),
                "scaleFactors": data.get("scale_factors"),
            }
        ]
    for one in found if isinstance(found, list) else ():
        if not isinstance(one, dict):
            continue
        width = _number(one.get("width"))
        factors = one.get("scaleFactors")
        known = sorted({_number(factor) for factor in factors if _number(factor)} if isinstance(factors, list) else {1})
        if width and known:
            yield width, _number(one.get("height")) or width, tuple(known)


def _number(value: Any) -> int:
    """A whole number above 0, or 0."""
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        return 0
    return number if 0 < number < 10**9 and not isinstance(value, bool) else 0


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [text for one in value for text in _strings(one)] if isinstance(value, list) else []
