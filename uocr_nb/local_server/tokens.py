"""Tokens to text while they come: no half signs, no end mark, special tokens shown or not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

__all__ = ["TextStream"]

_HALF = "�"
"""What a decoder writes for the first bytes of a sign whose last ones are still to come."""
_LONGEST_SIGN = 4
"""Tokens after which a half sign is taken as meant: no sign has more bytes."""


class TextStream:
    """Takes tokens as ``generate`` puts them, and tells the text; has the form of transformers' streamers.

    Parameters
    ----------
    tokenizer : tokenizer
        Decodes.
    tell : callable
        Called with each new piece of text.
    drop : collection of int
        Tokens that are never shown (the end of the answer, padding).
    stripped : bool
        Whether special tokens are left out.
    """

    def __init__(self, tokenizer: Any, tell: Callable[[str], None], *, drop: Collection[int], stripped: bool) -> None:
        self._tokenizer = tokenizer
        self._tell = tell
        self._drop = drop
        self._stripped = stripped
        self._held: list[int] = []
        self._question = True

    def put(self, value: Any) -> None:
        """Take the tokens of the question (once), then those of the answer."""
        if self._question:
            self._question = False
            return
        self._held += [token for token in value.flatten().tolist() if token not in self._drop]
        text = self._text()
        if text and (not text.endswith(_HALF) or len(self._held) > _LONGEST_SIGN):
            self._release(text)

    def end(self) -> None:
        """Tell what is still held back."""
        if text := self._text():
            self._release(text)

    def _text(self) -> str:
        return str(
            self._tokenizer.decode(self._held, skip_special_tokens=self._stripped, clean_up_tokenization_spaces=False)
        )

    def _release(self, text: str) -> None:
        self._held = []
        self._tell(text)
