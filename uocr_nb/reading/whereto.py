"""Which endpoints a call uses, and what is done when one of them has gone."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from uocr_nb.errors import EndpointError, OptionError, UocrError
from uocr_nb.reading.client import RequestError
from uocr_nb.serving import probe, start

if TYPE_CHECKING:
    from uocr_nb.serving.endpoint import Endpoint

__all__ = ["another", "endpoints_for", "raise_failure", "raise_if_gone", "ready", "wait_until_back"]

_LONGEST_POLL = 5.0


def endpoints_for(endpoint: Any) -> list[Endpoint]:
    """The endpoints a call shall use: those given (objects or names), else the current one.

    Raises
    ------
    EndpointError
        When there is none.
    """
    if endpoint is None:
        running = start.current()
        if running is None:
            raise EndpointError(
                "No endpoint is running.",
                "Pages are read by an engine, and none was started in this kernel.",
                "%uocr_serve        (in Python: uocr_nb.serve())",
            )
        return [running]
    if isinstance(endpoint, str):
        endpoint = [start.find(name.strip()) for name in endpoint.split(",") if name.strip()]
    if isinstance(endpoint, Iterable):
        found = list(dict.fromkeys(point for one in endpoint for point in endpoints_for(one)))
        if not found:
            raise OptionError(
                "No endpoint was named.", "The list is empty.", "Leave endpoint= out for the current one."
            )
        return found
    if not hasattr(endpoint, "profile"):
        raise OptionError(
            f"endpoint={endpoint!r} is no endpoint.",
            "It is what uocr_nb.serve returned, its name, or a list of these.",
            "uocr_nb.endpoints()",
        )
    if endpoint.failure is not None and endpoint.state == "failed":
        raise endpoint.failure
    if endpoint.state in ("stopped", "stopping", "failed"):
        raise EndpointError(f"{endpoint.name} is {endpoint.state}.", "It reads no more pages.", "%uocr_serve")
    return [endpoint]


async def raise_if_gone(endpoint: Endpoint) -> None:
    """Say why an engine that we started has gone, which tells more than the broken request that is its first sign."""
    if endpoint.host != "url" and not await endpoint.still_there():
        raise_failure(endpoint)


def raise_failure(endpoint: Endpoint) -> None:
    """Raise what an endpoint has failed of, or that it was stopped."""
    failure = endpoint.failure
    if endpoint.state == "failed" and failure is not None:
        raise RequestError(failure.what, failure.why, failure.next)
    if endpoint.state in ("stopped", "stopping"):
        raise RequestError(f"{endpoint.name} was stopped.", "It reads no more pages.", "%uocr_serve")


def another(than: Iterable[Endpoint]) -> Endpoint | None:
    """The current endpoint where it is ready and none of those that are known already."""
    running = start.current()
    return running if running is not None and running.state == "ready" and running not in than else None


async def wait_until_back(endpoint: Endpoint, patience: float, meanwhile: Callable[[], bool]) -> None:
    """Return when an endpoint that does not answer is ready again, or `meanwhile`, called at each look, says so.

    Raises
    ------
    RequestError
        When it has gone for good, or is not back after `patience` seconds.
    """
    until = time.monotonic() + patience
    pause = 0.25
    while True:
        if meanwhile():
            return
        await raise_if_gone(endpoint)
        raise_failure(endpoint)
        if await ready(endpoint):
            return
        if time.monotonic() > until:
            raise RequestError(
                f"{endpoint.name} does not answer any more.",
                f"It was waited for, {patience / 60:.2g} minutes long.",
                "%uocr_status",
            )
        await asyncio.sleep(pause)
        pause = min(2 * pause, _LONGEST_POLL)


async def ready(endpoint: Endpoint) -> bool:
    """Tell whether an endpoint says what it serves, and does not say that it is still loading."""
    import httpx2  # noqa: PLC0415 - heavy

    try:
        endpoint.served = await probe.read_models(endpoint)
        url = endpoint.base_url.removesuffix("/v1") + endpoint.profile.health
        # A gateway may show the interface alone and no health page, so only a plain "not yet" counts.
        return (await endpoint.http().get(url, timeout=5.0)).status_code not in (500, 502, 503, 504)
    except (UocrError, httpx2.RequestError):
        return False
