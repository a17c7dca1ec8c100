"""What sources are called: after their file or address, and no two alike."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from uocr_nb.sources.iiif_image import service_of_address

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uocr_nb.sources.types import Source

__all__ = ["name_of", "named"]

_GENERIC = re.compile(r"(?:manifest|info|index|iiif|presentation|default|native)(?:\.\w{1,5})?|v?\d", re.IGNORECASE)
"""Last parts of an address that say nothing, so that the part before is shown as well."""


def name_of(url: str) -> str:
    """Name a source after its address: the last part of the path, with the one before where it says nothing."""
    try:
        parts = urlsplit(url)
        host, path = parts.hostname or "", parts.path
    except ValueError:
        host, path = "", ""
    pieces = [_safe(piece) for piece in path.split("/")]
    pieces = [piece for piece in pieces if piece not in ("", ".", "..")]
    # The four last parts of a IIIF image address are how, not what.
    if len(pieces) > 4 and service_of_address(url)[0] is not None:
        pieces = pieces[:-4]
    if not pieces:
        return _safe(host) or "address"
    if len(pieces) > 1 and _GENERIC.fullmatch(pieces[-1]):
        return "/".join(pieces[-2:])
    return pieces[-1]


def _safe(text: str) -> str:
    """Make a name of a part of an address: as people read it, without what would be taken for a path or a control."""
    plain = unicodedata.normalize("NFC", unquote(text, errors="replace"))
    plain = "".join("_" if unicodedata.category(one)[0] == "C" or one in '/\\:*?"<>|' else one for one in plain).strip()
    return plain if len(plain) <= 80 else f"{plain[:77]}..."


def named(sources: Sequence[Source]) -> list[Source]:
    """Give `sources` names of their own: as much of the path as tells two apart, then a number."""
    names = [source.name for source in sources]
    for depth in range(2, 6):
        # The same file twice is not told apart by more of its path.
        where = {(name, source.path or source.url) for name, source in zip(names, sources, strict=True)}
        counts = Counter(name for name, _ in where)
        if max(counts.values(), default=1) == 1:
            break
        names = [
            _longer(source, depth) or name if counts[name] > 1 else name
            for name, source in zip(names, sources, strict=True)
        ]
    taken: set[str] = set()
    numbers: Counter[str] = Counter()
    result = []
    for name, source in zip(names, sources, strict=True):
        unique = name
        while unique in taken:
            numbers[name] += 1
            unique = f"{name} ({numbers[name] + 1})"
        taken.add(unique)
        result.append(source if unique == source.name else replace(source, name=unique))
    return result


def _longer(source: Source, depth: int) -> str:
    """The last parts of a path or address."""
    if source.path is not None:
        return "/".join(source.path.parts[-depth:])
    if source.url is None:
        return ""
    try:
        parts = urlsplit(source.url)
        pieces = [_safe(parts.hostname or ""), *(_safe(piece) for piece in parts.path.split("/") if piece)]
    except ValueError:
        return ""
    return "/".join(pieces[-depth:])
