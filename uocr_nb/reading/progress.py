"""How far a run is: numbers for the line that a person watches."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from uocr_nb.document.model import Page

__all__ = ["Progress", "StopReading"]

_ENOUGH_PAGES = 3
"""No guess of the time to go is made before this many pages are read."""


class StopReading(KeyboardInterrupt):
    """Raised by who watches a reading, to end it as an interrupt does: the pages that are done are kept."""


def _nothing() -> tuple[Page, ...]:
    return ()


@dataclass(frozen=True)
class Progress:
    """A moment of a run.

    Attributes
    ----------
    total : int
        Pages in all, as far as the sources are open.
    done : int
        Pages that have a status, whatever it is.
    not_ok : int
        Of these, the ones that are not ok.
    seconds : float
        Since the run began.
    reading : tuple of int
        Positions of the pages that are being read, from 1.
    tokens : int
        Pieces of text that have arrived so far.
    cost : float or None
        US dollars so far; None when the endpoint is free or its price is unknown.
    cached : int
        Pages whose answer was kept from an earlier run.
    unasked : int
        Pages that have a status without being asked for: blank ones, and those of sources that cannot be read.
    waiting : str
        Why nothing goes on at the moment, in a sentence; empty when it goes on.
    """

    total: int
    done: int = 0
    not_ok: int = 0
    seconds: float = 0.0
    reading: tuple[int, ...] = ()
    tokens: int = 0
    cost: float | None = None
    cached: int = 0
    unasked: int = 0
    waiting: str = ""
    look: Callable[[], tuple[Page, ...]] = field(default=_nothing, repr=False, compare=False)

    @property
    def partial(self) -> tuple[Page, ...]:
        """The pages that are being read, each with the blocks so far; worked out when it is looked at."""
        return self.look()

    @property
    def read(self) -> int:
        """Pages that an endpoint answered in this run."""
        return self.done - self.cached - self.unasked

    @property
    def finished(self) -> bool:
        """Whether every page has a status."""
        return self.done >= self.total

    @property
    def pages_per_second(self) -> float | None:
        """Pages read a second so far; None before the first one."""
        return self.read / self.seconds if self.read and self.seconds > 0 else None

    @property
    def tokens_per_second(self) -> float | None:
        """Tokens a second so far; None before the first one."""
        return self.tokens / self.seconds if self.tokens and self.seconds > 0 else None

    @property
    def to_go(self) -> float | None:
        """Seconds to go, a guess from the pages read; None before three are read."""
        rate = self.pages_per_second
        if rate is None or self.read < _ENOUGH_PAGES or self.finished:
            return None
        return (self.total - self.done) / rate
