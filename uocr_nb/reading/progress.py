"""How far a run is: numbers for the line that a person watches."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Progress"]

_ENOUGH_PAGES = 3
"""No guess of the time to go is made before this many pages are done."""


@dataclass(frozen=True)
class Progress:
    """A moment of a run.

    Attributes
    ----------
    total : int
        Pages in all.
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
    """

    total: int
    done: int = 0
    not_ok: int = 0
    seconds: float = 0.0
    reading: tuple[int, ...] = ()
    tokens: int = 0
    cost: float | None = None

    @property
    def finished(self) -> bool:
        """Whether every page has a status."""
        return self.done >= self.total

    @property
    def pages_per_second(self) -> float | None:
        """Pages a second so far; None before the first one."""
        return self.done / self.seconds if self.done and self.seconds > 0 else None

    @property
    def to_go(self) -> float | None:
        """Seconds to go, a guess from the pages done; None before three are done."""
        rate = self.pages_per_second
        if rate is None or self.done < _ENOUGH_PAGES or self.finished:
            return None
        return (self.total - self.done) / rate
