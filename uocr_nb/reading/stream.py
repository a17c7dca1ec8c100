"""The stream of an answer: bytes as they come, split into events, and what the events say.

It is read thousands of times a second for a full engine, so what one token costs here counts: a few microseconds.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import jiter

from uocr_nb.errors import ReadingError
from uocr_nb.reading.scores import scored

if TYPE_CHECKING:
    from uocr_nb.reading.scores import Score

__all__ = ["AnswerStream", "StreamError"]

_MAX_EVENT = 16 * 1024 * 1024
"""Bytes of one line of the stream; a server that sends more without an end of line is cut off."""


class StreamError(ReadingError):
    """The server says in the stream that it failed, or the stream is none."""


class AnswerStream:
    """What has arrived of an answer.

    Attributes
    ----------
    parts : list of str
        The text, a part for each chunk that brought some.
    pieces : int
        Events that brought text: tokens, as engines send one an event.
    scores : list of (str, float)
        Pieces of text with the engine's probability of each, where it gave them.
    finish_reason : str or None
        As the engine gave it.
    usage : dict
        As the engine counted it.
    ended : bool
        Whether the stream came to its own end.
    """

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.pieces = 0
        self.scores: list[Score] = []
        self.finish_reason: str | None = None
        self.usage: dict[str, Any] = {}
        self.ended = False
        self._rest: list[bytes] = []
        self._held = 0

    def feed(self, chunk: bytes) -> str:
        """Read on; return the text that the chunk brought.

        Lines end at a line feed alone: other readers also end them at U+2028 and its like, which page text may hold.
        Bytes are split before they are decoded, so a character cut by the network is whole again.

        Raises
        ------
        StreamError
            When the server says that it failed, or a line has no end.
        ValueError, KeyError, TypeError, AttributeError
            When an event is not what it should be.
        """
        end = chunk.rfind(b"\n")
        if end < 0:
            self._hold(chunk)
            return ""
        lines = chunk[:end].split(b"\n")
        if self._rest:
            lines[0] = b"".join([*self._rest, lines[0]])
            self._rest, self._held = [], 0
        self._hold(chunk[end + 1 :])
        return self._read(lines)

    def finish(self) -> str:
        """Read what came after the last line end."""
        rest, self._rest = b"".join(self._rest), []
        return self._read([rest])

    def _hold(self, rest: bytes) -> None:
        if rest:
            self._rest.append(rest)
            self._held += len(rest)
            if self._held > _MAX_EVENT:
                raise StreamError("The endpoint sent something that is no answer.", "A line of its stream has no end.")

    def _read(self, lines: list[bytes]) -> str:
        texts: list[str] = []
        for line in lines:
            if not line.startswith(b"data:"):
                continue
            data = line[5:].strip()
            if data == b"[DONE]":
                self.ended = True
            elif text := self._take(_parsed(data)):
                texts.append(text)
        self.pieces += len(texts)
        text = "".join(texts)
        if text:
            self.parts.append(text)
        return text

    def _take(self, event: Any) -> str:
        if error := event.get("error"):
            message = error.get("message") if isinstance(error, dict) else error
            raise StreamError("The endpoint stopped in the middle of an answer.", str(message)[:400])
        if usage := event.get("usage"):
            self.usage = usage
        text = ""
        for choice in event.get("choices") or ():
            piece = (choice.get("delta") or {}).get("content") or ""
            text += piece
            if reason := choice.get("finish_reason"):
                self.finish_reason = reason
            if (logprobs := choice.get("logprobs")) and (entries := logprobs.get("content")):
                self.scores += scored(piece, entries)
        return text


def _parsed(data: bytes) -> Any:
    try:
        return jiter.from_json(data, cache_mode="keys")
    except ValueError:
        # It refuses half of a surrogate pair, which is mended later; what is no JSON at all is refused here too.
        return json.loads(data)
