"""Fonts for text in any script: the families that matplotlib falls back through, glyph by glyph, chosen for a text.

What no font can draw is replaced here, so that there is one warning in plain words and none for each glyph.
"""

from __future__ import annotations

import threading
import unicodedata
from functools import cache
from typing import TYPE_CHECKING, Any

from uocr_nb.document.halves import show_bytes
from uocr_nb.support.warn import warn_user

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["MISSING", "MONO", "SANS", "Lettering"]

SANS, MONO = "DejaVu Sans", "DejaVu Sans Mono"
"""Matplotlib brings both, so they are always there."""

MISSING = "\u25a1"
"""Drawn in place of a character that no font has."""

_PREFERRED = (
    *("DejaVu Sans", "Noto Sans", "Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans CJK KR", "Noto Sans CJK TC"),
    *("Source Han Sans SC", "Microsoft YaHei", "PingFang SC", "Hiragino Sans", "Yu Gothic", "Malgun Gothic"),
    *("Apple SD Gothic Neo", "WenQuanYi Micro Hei", "WenQuanYi Zen Hei", "Droid Sans Fallback", "Noto Sans Arabic"),
    *("Noto Naskh Arabic", "Segoe UI", "Arial Unicode MS", "Tahoma", "Nirmala UI"),
)
"""Families that are looked at before all others, in this order."""

_PASSED_OVER = ("Last Resort", "Color Emoji", "Adobe Blank")
"""Fonts that have a glyph for everything but a letter of nothing, or that matplotlib cannot draw."""

_SHOWN = 8
_lock = threading.Lock()
_homes: dict[tuple[str, str], dict[str, str | None]] = {}
"""(first family, weight) -> character -> family that has it, or None."""

_told: set[str] = set()
"""Characters that were named in a warning already."""


class Lettering:
    """Chooses fonts for the texts of one figure, and gathers what cannot be drawn."""

    def __init__(self) -> None:
        self.missing: dict[str, None] = {}

    def __call__(self, text: str, family: str = SANS, weight: str = "normal") -> tuple[str, dict[str, Any]]:
        """`text` as it can be drawn, and the properties with which matplotlib draws it.

        Parameters
        ----------
        text : str
            Anything; it becomes one line without control characters.
        family : str
            The first font, `SANS` or `MONO`.
        weight : str
            ``"normal"`` or ``"bold"``, which is kept where all fonts of the text have it.
        """
        text = _one_line(text)
        if text.isascii():
            return text, _properties([family], weight)
        homes = _homes_of(text, family, weight)
        if weight != "normal" and not all(homes.values()):
            homes, weight = _homes_of(text, family, "normal"), "normal"
        drawn = "".join(char if homes[char] else self._replaced(char) for char in text)
        others = dict.fromkeys(home for char in text if (home := homes[char]))
        # The square may stand in the second font only.
        return drawn, _properties(list(dict.fromkeys([family, *others, SANS])), weight)

    def _replaced(self, char: str) -> str:
        if unicodedata.category(char) in ("Cf", "Mn", "Me"):
            return ""  # invisible, or a mark upon a letter that can be drawn
        self.missing[char] = None
        return MISSING

    def tell(self) -> None:
        """Warn of what no font has, once for each character."""
        new = [char for char in self.missing if char not in _told]
        if not new:
            return
        _told.update(new)
        scripts = ", ".join(dict.fromkeys(_script(char) for char in new[:_SHOWN]))
        more = f" and {len(new) - _SHOWN:,} more" if len(new) > _SHOWN else ""
        warn_user(
            f"No font on this machine has {' '.join(new[:_SHOWN])}{more} ({scripts}); {MISSING} is drawn instead. "
            "Next: install a font for that script, a Noto font for instance, and restart the kernel."
        )


def _properties(families: list[str], weight: str) -> dict[str, Any]:
    """All that a style sheet may have changed is said, so that the file is the one that was looked into."""
    return {
        "family": families,
        "weight": weight,
        "style": "normal",
        "variant": "normal",
        "stretch": "normal",
        "parse_math": False,
        "usetex": False,
    }


def _one_line(text: str) -> str:
    text = " ".join(unicodedata.normalize("NFC", show_bytes(text)).split())
    return "".join(char for char in text if unicodedata.category(char) not in ("Cc", "Cs") and not _turns(char))


def _turns(char: str) -> bool:
    """Whether a character turns the direction of others, by which a name may look like another name."""
    return unicodedata.bidirectional(char) in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")


def _script(char: str) -> str:
    """The first word of a character's name, which is nearly always its script."""
    return unicodedata.name(char, f"U+{ord(char):04X}").split()[0].capitalize()


def _homes_of(text: str, family: str, weight: str) -> dict[str, str | None]:
    with _lock:
        homes = _homes.setdefault((family, weight), {})
        wanted = {char for char in text if char not in homes}
        for name in _families(family, weight) if wanted else ():
            found = _has(name, weight, wanted)
            homes.update(dict.fromkeys(found, name))
            wanted -= found
            if not wanted:
                break
        homes.update(dict.fromkeys(wanted))
        return homes


def _families(first: str, weight: str) -> Iterator[str]:
    """Families of `weight`: the first, the preferred ones, the others, then what came after matplotlib had looked."""
    from matplotlib import font_manager  # noqa: PLC0415 - heavy

    manager = font_manager.fontManager
    # Where a family has no such weight, matplotlib takes another one and says so in the log.
    installed = dict.fromkeys(entry.name for entry in manager.ttflist if _is_of(entry, weight))
    yield first
    yield from (name for name in _PREFERRED if name in installed and name != first)
    rest = [name for name in installed if name not in _PREFERRED and name != first]
    yield from sorted(rest, key=lambda name: not name.startswith("Noto Sans"))
    known = {entry.fname for entry in manager.ttflist}
    for file in sorted(set(font_manager.findSystemFonts()) - known):
        try:
            manager.addfont(file)
        except (OSError, RuntimeError, ValueError):
            continue  # matplotlib cannot read it, and left it out for that
        entry = manager.ttflist[-1]
        if entry.name not in installed and _is_of(entry, weight):
            yield entry.name


def _is_of(entry: Any, weight: str) -> bool:
    from matplotlib.font_manager import weight_dict  # noqa: PLC0415 - heavy

    plain = entry.style == "normal" and entry.variant == "normal" and entry.stretch == "normal"
    heavy = weight_dict.get(entry.weight, entry.weight)
    return plain and heavy == weight_dict[weight] and not entry.name.startswith(_PASSED_OVER)


def _has(family: str, weight: str, wanted: Iterable[str]) -> set[str]:
    """Which of the characters `family` has, in the very file that matplotlib takes for that weight."""
    file = _file_of(family, weight)
    if file is None:
        return set()
    from matplotlib.ft2font import FT2Font  # noqa: PLC0415 - heavy

    # A collection holds several fonts; matplotlib knows of others than the first from 3.11 on.
    index = getattr(file, "face_index", 0)
    which: dict[str, Any] = {"face_index": index} if index else {}
    try:
        font = FT2Font(str(file), **which)
        return {char for char in wanted if font.get_char_index(ord(char))} if font.scalable else set()
    except (OSError, RuntimeError):
        return set()


@cache
def _file_of(family: str, weight: str) -> str | None:
    from matplotlib import font_manager  # noqa: PLC0415 - heavy

    properties = font_manager.FontProperties(
        family=[family], style="normal", variant="normal", weight=weight, stretch="normal"
    )
    try:
        file: str = font_manager.fontManager.findfont(properties, fallback_to_default=False)
    except ValueError:
        return None
    return file
