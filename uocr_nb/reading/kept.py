"""Answers kept from earlier runs: looked up page by page before anything is asked, put away when a page is ok."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from uocr_nb.errors import UocrError
from uocr_nb.reading.cache import cache, key
from uocr_nb.reading.client import Answer
from uocr_nb.reading.provenance import provenance

if TYPE_CHECKING:
    from uocr_nb.document.model import Page
    from uocr_nb.reading.plan import Options
    from uocr_nb.serving.endpoint import Endpoint

__all__ = ["Kept"]


class Kept:
    """The kept answers as one call uses them.

    Each page is kept by itself, under the first request that the call makes for such a page: what a second try, a
    smaller picture or a split window brought stands for it, so that the same call finds it again.
    """

    def __init__(self, options: Options) -> None:
        self._options = options
        self._requests: dict[Endpoint, tuple[dict[str, object], tuple[str | None, str]] | None] = {}

    async def get(self, sha256: str, endpoint: Endpoint) -> Answer | None:
        """Find the answer about the page image of this hash; None where there is none, or the call shall not look."""
        found = await self._key(sha256, endpoint) if self._options.cache else None
        return await asyncio.to_thread(cache.get, found) if found else None

    async def put(self, sha256: str, endpoint: Endpoint, page: Page, answer: Answer) -> None:
        """Keep what `answer` says about `page`, which is ok."""
        if found := await self._key(sha256, endpoint):
            whole = page.raw == answer.text
            own = Answer(page.raw, "stop", None, page.tokens, answer.seconds)
            await asyncio.to_thread(cache.put, found, answer if whole else own)

    def forget(self, endpoint: Endpoint) -> None:
        """Forget what `endpoint` serves: it was away, and may serve something else now."""
        self._requests.pop(endpoint, None)

    async def _key(self, sha256: str, endpoint: Endpoint) -> str | None:
        if not cache.enabled:
            return None
        if endpoint not in self._requests:
            self._requests[endpoint] = await self._request(endpoint)
        found = self._requests[endpoint]
        return key([sha256], found[0], endpoint.model, *found[1]) if found else None

    async def _request(self, endpoint: Endpoint) -> tuple[dict[str, object], tuple[str | None, str]] | None:
        """The request without its pictures, and whom it goes to; None when the endpoint does not say what it is."""
        try:
            known = await provenance(endpoint)
        except UocrError:
            return None
        options = self._options
        pictures = 1 if options.multi is None else 2
        body = endpoint.profile.request(
            [""] * pictures,
            mode=options.mode,
            prompt=options.prompt,
            max_tokens=options.max_tokens,
            model=endpoint.model,
            scores=True if options.confidence else None,
        )
        return body, known
