"""The pages of a call: sources opened one after the other while others are read already, and their images made."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from typing import TYPE_CHECKING

from uocr_nb.errors import SourceError
from uocr_nb.reading.plan import Item, Options, open_source
from uocr_nb.sources import PageImage, RenderSpec, default_renderer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from uocr_nb.sources import Source

__all__ = ["Supply"]


class Supply:
    """What is to be read.

    Attributes
    ----------
    items : list of Item
        The pages of the sources that are open, in page order.
    unreadable : list of SourceError
        Why sources and pages could not be drawn.
    """

    def __init__(self, sources: Sequence[Source], items: list[Item], options: Options) -> None:
        self.items = list(items)
        self.unreadable: list[SourceError] = []
        self._sources = sources
        self._options = options
        self._opened: list[list[Item]] = [[item] for item in items]
        self._failed = 0
        self._drawn = False
        self._stop = threading.Event()
        self._done = 0

    @property
    def total(self) -> int:
        """Pages in all; a source that is not open yet counts as one."""
        return len(self.items) + len(self._sources) - self._done

    async def groups(self) -> AsyncIterator[list[Item]]:
        """The pages of each source in turn. The next one is opened while this one is read.

        Raises
        ------
        SourceError
            When the only source cannot be opened.
        OptionError
            When ``pages`` names a page that a source does not have; before any page is given where it was asked for.
        """
        for group in self._opened:
            yield group
        opening: asyncio.Task[list[Item]] | None = None
        early: list[list[Item]] = []
        if self._options.pages is not None:
            # Numbers that do not fit are told before anything is paid for.
            early = [await self._open(source) for source in self._sources]
        try:
            for n, source in enumerate(self._sources):
                if early:
                    yield early[n]
                    continue
                group = await (opening or self._open(source))
                following = self._sources[n + 1 : n + 2]
                opening = asyncio.create_task(self._open(following[0])) if following else None
                yield group
        finally:
            if opening is not None:
                opening.cancel()

    async def _open(self, source: Source) -> list[Item]:
        try:
            opened = await asyncio.to_thread(default_renderer().open, source, stop=self._stop)
        except SourceError as error:
            self.unreadable.append(error)
            if len(self._sources) == 1:
                raise
            opened = None
            self._failed += 1
        group = open_source(
            source, opened, self.unreadable[-1] if opened is None else None, len(self.items) + 1, self._options
        )
        self.items += group
        self._done += 1
        return group

    async def image(self, item: Item, spec: RenderSpec) -> PageImage:
        """Make the page image of `item`.

        Raises
        ------
        SourceError
            When it cannot be drawn.
        """
        try:
            image = await asyncio.to_thread(default_renderer().render, item.source, item.number, spec, stop=self._stop)
        except SourceError as error:
            self.unreadable.append(error)
            raise
        self._drawn = True
        return replace(image, notes=(*item.notes, *image.notes)) if item.notes else image

    def stop(self) -> None:
        """End downloads that are under way: nobody waits for them any more."""
        self._stop.set()

    def rest(self) -> list[Item]:
        """A page for each source that was not opened any more."""
        start = len(self.items) + 1
        return [Item(start + n, source, 1, notes=source.notes) for n, source in enumerate(self._sources[self._done :])]

    def raise_if_unreadable(self) -> None:
        """Raise when there was no page that could be drawn; pages that are read again have their document to say so."""
        if self._drawn or not self._sources or not self.unreadable or len(self.unreadable) < len(self.items):
            return
        first = self.unreadable[0]
        if len(self.unreadable) == 1 or not self._failed:
            raise first
        raise SourceError(
            f"None of the {len(self._sources)} sources could be read.",
            f"The first: {first.what} {first.why}".strip(),
            first.next,
        )
