"""Answers kept from earlier runs: looked up before a window is asked for, put away when its pages are ok."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from uocr_nb.errors import UocrError
from uocr_nb.reading.asking import Window, body_of
from uocr_nb.reading.cache import cache, key
from uocr_nb.reading.provenance import provenance

if TYPE_CHECKING:
    from uocr_nb.reading.client import Answer
    from uocr_nb.reading.plan import Options
    from uocr_nb.serving.endpoint import Endpoint

__all__ = ["Kept"]


class Kept:
    """The kept answers as one call uses them.

    They are found by the first request for a window: what a second try or a smaller picture brought stands for it, so
    that the same call finds it again.
    """

    def __init__(self, options: Options) -> None:
        self._options = options
        self._known: dict[Endpoint, tuple[str | None, str] | None] = {}

    async def get(self, window: Window, endpoint: Endpoint) -> Answer | None:
        """Find the answer to `window`; None where there is none, or the call shall not look."""
        if not self._options.cache:
            return None
        found = await self._key(window, endpoint)
        return await asyncio.to_thread(cache.get, found) if found else None

    async def put(self, window: Window, endpoint: Endpoint, answer: Answer) -> None:
        """Keep an answer whose pages are all ok."""
        if found := await self._key(window, endpoint):
            await asyncio.to_thread(cache.put, found, answer)

    async def _key(self, window: Window, endpoint: Endpoint) -> str | None:
        """The key of the answer to the first request; None when the endpoint does not say what it is."""
        if not cache.enabled:
            return None
        if endpoint not in self._known:
            try:
                self._known[endpoint] = await provenance(endpoint)
            except UocrError:
                self._known[endpoint] = None
        known = self._known[endpoint]
        if known is None:
            return None
        first = replace(window, change=None, max_tokens=self._options.max_tokens)
        body = body_of(first, endpoint, self._options, images=False)
        return key(window.shas, body, endpoint.model, *known)
