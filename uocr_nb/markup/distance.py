r"""How far two readings of the same text are apart, in characters, whatever their spaces and line ends.

A text is taken as tokens: words, single letters of scripts without spaces, whole formulas. Spaces between tokens are
not compared (each engine breaks its lines as it likes), nor are the marks before the items of a list, nor the form in
which a letter with an accent is stored.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Token", "agreement", "distance", "fine_tokens", "normal", "tokens"]

_WIDE = "⺀-〿぀-ヿ㄀-鿿豈-﫿︰-﹏＀-￯"
"""Scripts that are written without spaces: each letter is a token."""
_TOKEN = re.compile(rf"(?P<wide>[{_WIDE}])|(?P<word>[^\s{_WIDE}]+)")
_ITEM = re.compile(r"(?m)^[ \t]*(?:[-–*•·▪◦‣●○■][ \t]+)+")
"""The mark before an item of a list; each engine writes another one."""
_MARK = re.compile(r"\\[()\[\]]")
_CLOSING = {"\\(": "\\)", "\\[": "\\]"}
_LONGEST_FORMULA = 3_000
_FINE = re.compile(r"\\[A-Za-z]+|\\.|\d+(?:[.,]\d+)*|\S", re.DOTALL)

_MOST_SPLIT = 100_000
"""Characters of a text that are split into tokens; what comes after them is one."""
MOST_CHARACTERS = 12_000
"""Of two texts whose differing middle is longer, words are counted instead, in any order."""


class Token(NamedTuple):
    """One thing that is read the same or not.

    Attributes
    ----------
    key : str
        What is compared.
    start, end : int
        Where it stands in the text.
    kind : str
        ``word``, ``wide`` or ``formula``; ``fine`` for a part of a formula.
    """

    key: str
    start: int
    end: int
    kind: str


def tokens(text: str) -> list[Token]:
    """Split a text into what is compared."""
    found: list[Token] = []
    most = min(len(text), _MOST_SPLIT)
    at = 0
    for start, end in _formulas(text[:most]):
        found += _words(text, at, start)
        found.append(Token("".join(text[start:end].split()), start, end, "formula"))
        at = end
    return [*found, *_words(text, at, most), *_rest(text)]


def _rest(text: str) -> Iterator[Token]:
    rest = text[_MOST_SPLIT:].rstrip()
    if rest:
        yield Token(rest, _MOST_SPLIT, _MOST_SPLIT + len(rest), "word")


def _words(text: str, first: int, after: int) -> Iterator[Token]:
    plain = text.isascii()
    marks = {at for item in _ITEM.finditer(text, first, after) for at in range(item.start(), item.end())}
    for match in _TOKEN.finditer(text, first, after):
        if match.start() in marks:
            continue
        key = match[0] if plain else unicodedata.normalize("NFC", match[0])
        yield Token(key, match.start(), match.end(), match.lastgroup or "word")


def _formulas(text: str) -> list[tuple[int, int]]:
    """Where formulas stand, with their marks; an opening mark that nothing closes is passed by."""
    found = []
    opener, start = "", 0
    for match in _MARK.finditer(text):
        if match[0] in _CLOSING:
            opener, start = match[0], match.start()
        elif opener and match[0] == _CLOSING[opener]:
            if match.end() - start <= _LONGEST_FORMULA:
                found.append((start, match.end()))
            opener = ""
    return found


def fine_tokens(text: str) -> list[Token]:
    r"""Split a formula into its commands, numbers and signs."""
    found = [Token(match[0], match.start(), match.end(), "fine") for match in _FINE.finditer(text[:_MOST_SPLIT])]
    return [*found, *_rest(text)]


def normal(found: Sequence[Token]) -> str:
    """The text that its tokens make: one space between two words, none where no reader needs one.

    Two texts with the same tokens have the same form, and the reverse.
    """
    parts: list[str] = []
    before = ""
    for token in found:
        command = token.kind == "fine" and token.key[:1] == "\\"
        if parts and (before == "word" == token.kind or before == "command"):
            parts.append(" ")
        parts.append(token.key)
        before = "command" if command else token.kind
    return "".join(parts)


def agreement(a: str, b: str, most: int = MOST_CHARACTERS) -> float:
    """1 - edit distance / characters of the longer one: 1 for equal texts, 0 for texts with nothing in common."""
    longer = max(len(a), len(b))
    return 1 - distance(a, b, most) / longer if longer else 1.0


def distance(a: str, b: str, most: int = MOST_CHARACTERS) -> int:
    """How many characters must be put in, taken out or replaced to make one text of the other (Levenshtein).

    Exact up to `most` characters that are left without what both begin and end with; beyond that, the characters of the
    words that only one side has.
    """
    a, b = _middles(a, b)
    if not a or not b:
        return len(a) + len(b)
    if max(len(a), len(b)) <= most:
        return _levenshtein(a, b)
    words_a, words_b = (Counter(match[0] for match in _TOKEN.finditer(text)) for text in (a, b))
    return max(
        sum(len(word) * number for word, number in (one - other).items())
        for one, other in ((words_a, words_b), (words_b, words_a))
    )


def _middles(a: str, b: str) -> tuple[str, str]:
    """What is left of two texts without their common beginning and end."""
    start = _common(a, b)
    a, b = a[start:], b[start:]
    end = _common(a[::-1], b[::-1])
    return a[: len(a) - end], b[: len(b) - end]


def _common(a: str, b: str) -> int:
    """Length of the common beginning; by halves, as comparing slices is far quicker than single characters."""
    low, high = 0, min(len(a), len(b))
    if a[:high] == b[:high]:
        return high
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _levenshtein(a: str, b: str) -> int:
    """Myers' bit-parallel algorithm as Hyyrö wrote it: a column of the table of distances is two whole numbers."""
    size = len(a)
    full, last = (1 << size) - 1, 1 << (size - 1)
    places: dict[str, int] = {}
    for n, char in enumerate(a):
        places[char] = places.get(char, 0) | (1 << n)
    more, less, score = full, 0, size
    for char in b:
        same = places.get(char, 0)
        across = (((same & more) + more) ^ more) | same
        up = less | (full ^ ((across | more) & full))
        down = more & across
        if up & last:
            score += 1
        elif down & last:
            score -= 1
        up = (up << 1) | 1
        sideways = same | less
        more = ((down << 1) | ~(sideways | up)) & full
        less = up & sideways & full
    return score
