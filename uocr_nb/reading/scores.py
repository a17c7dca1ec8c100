"""How sure an engine was of each piece of its answer, as its stream tells."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Score", "scored"]

Score = tuple[str, float]
"""A piece of an answer with the engine's probability of it, 0..1."""


def scored(text: str, entries: Iterable[dict[str, Any]]) -> list[Score]:
    """The scores of one event of a stream.

    Parameters
    ----------
    text : str
        What the event adds to the answer.
    entries : iterable of dict
        Its ``logprobs.content``.

    Returns
    -------
    list of Score
        One a token where the tokens make up `text`. A token that ends in the middle of a character has no text of its
        own: then one piece for all of them, as sure as the least sure.
    """
    pieces = [(str(entry["token"]), math.exp(min(0.0, entry["logprob"]))) for entry in entries]
    if not pieces or "".join(piece for piece, _ in pieces) == text:
        return pieces
    return [(text, min(score for _, score in pieces))]
