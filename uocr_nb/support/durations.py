"""Durations as people write them (``90s``, ``1h30m``) and as the screens show them (``22:10``, ``4 s``)."""

from __future__ import annotations

import re

from uocr_nb.errors import OptionError

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_PART = re.compile(r"(\d+(?:\.\d+)?)([smhd])")


def parse_duration(text: str) -> float:
    """Read the seconds of a duration such as ``90s``, ``30m``, ``1.5h``, ``1h30m`` or ``1d``; a bare ``0`` is nothing.

    Raises
    ------
    OptionError
        When the text is not a duration.
    """
    wanted = text.strip().lower().replace(" ", "")
    if wanted == "0":
        return 0.0
    parts = _PART.findall(wanted)
    units = [unit for _, unit in parts]
    in_order = sorted(set(units), key=lambda unit: -_SECONDS[unit]) == units
    if not parts or "".join(number + unit for number, unit in parts) != wanted or not in_order:
        raise OptionError(
            f"{text!r} is not a duration.",
            "A duration is a number with its unit: s, m, h or d, the larger unit first.",
            "Write 90s, 30m, 1.5h, 1h30m or 1d.",
        )
    return float(sum(float(number) * _SECONDS[unit] for number, unit in parts))


def show_clock(seconds: float) -> str:
    """Write a clock: ``4:32``, ``22:10``, ``1:02:03``."""
    whole = max(0, int(seconds))
    hours, rest = divmod(whole, 3600)
    minutes, secs = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{secs:02}" if hours else f"{minutes}:{secs:02}"


def show_seconds(seconds: float) -> str:
    """Write a span in words: ``3.1 s``, ``4 s``, ``48 s``, ``14 min``, ``1 h 5 min``."""
    value = max(0.0, seconds)
    if value < 9.95:  # two digits from here on when rounded
        return f"{value:.1f}".removesuffix(".0") + " s"
    if value < 119.5:
        return f"{value:.0f} s"
    minutes = round(value / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"
