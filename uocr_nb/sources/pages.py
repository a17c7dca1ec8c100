"""Which pages of a source are wanted: the ``--pages`` option."""

from __future__ import annotations

import re

from uocr_nb.errors import OptionError

__all__ = ["parse_pages"]

_PART = re.compile(r"(-?\d{1,9})(?:(\s*[-–—]\s*)(-?\d{1,9})?)?")


def parse_pages(spec: str | None, count: int) -> list[int]:
    """Page numbers (from 1) that `spec` names in a source of `count` pages.

    Parameters
    ----------
    spec : str or None
        Numbers and ranges with commas between: ``"1-3,7,-1"``. Negative numbers count from the end, ``"5-"`` runs to
        the end, ``"3-1"`` runs backwards. None, an empty text and ``"all"`` name every page.
    count : int
        Pages of the source.

    Returns
    -------
    list of int
        In the order asked for, each page once.

    Raises
    ------
    OptionError
        When `spec` cannot be understood or names a page that is not there.
    """
    if spec is None or spec.strip() in ("", "all"):
        return list(range(1, count + 1))
    wanted: dict[int, None] = {}
    for part in spec.split(","):
        text = part.strip()
        if not text:
            continue
        found = _PART.fullmatch(text)
        if found is None:
            raise OptionError(
                f"Pages {spec!r} cannot be understood.", f"{text!r} is neither a page nor a range.", "--pages 1-3,7,-1"
            )
        first = _number(found[1], text, count)
        last = first if found[2] is None else count if found[3] is None else _number(found[3], text, count)
        step = 1 if last >= first else -1
        wanted.update(dict.fromkeys(range(first, last + step, step)))
    if not wanted:
        raise OptionError(f"Pages {spec!r} name no page.", "There is nothing between the commas.", "--pages 1-3,7,-1")
    return list(wanted)


def _number(digits: str, part: str, count: int) -> int:
    number = int(digits)
    if number < 0:
        number += count + 1
    if 1 <= number <= count:
        return number
    pages = "1 page" if count == 1 else f"{count:,} pages"
    if int(digits) == 0:
        why = f"Pages are counted from 1, and there {'is' if count == 1 else 'are'} {pages}."
    else:
        why = f"There {'is' if count == 1 else 'are'} {pages}."
    named = digits if part == digits else f"{digits} (in {part})"
    raise OptionError(f"There is no page {named}.", why, f"--pages {'1' if count == 1 else f'1-{count}'}")
