"""The rows of a comparison: what A says, what B says, how far they agree; what differs is marked on both sides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from uocr_nb.markup.align import side
from uocr_nb.markup.pieces import differences
from uocr_nb.markup.safe_html import escape
from uocr_nb.views.compare_tables import table_sides
from uocr_nb.views.labels import label_name, label_style, tag_of
from uocr_nb.views.marks import block_marks
from uocr_nb.views.rows import formula_html, text_html
from uocr_nb.views.styles import HAIR, MONO, ONLY, SECOND, second
from uocr_nb.views.words import count, percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uocr_nb.document.model import Page
    from uocr_nb.markup.align import Pair
    from uocr_nb.markup.content import Content
    from uocr_nb.markup.pieces import Piece
    from uocr_nb.views.compared import ComparedPage

__all__ = ["difference_row", "only", "share_html"]

_MOST = 6_000
"""Characters of one side of a row."""
_ELIDED, _KEPT = 420, 150
"""Characters of a stretch that is the same on both sides from which on its middle is left out, and of what stays at
each end, in a long block."""
_LONG = 1_400
_SAID = {"A": "only in A", "B": "only in B"}

_LOOKS = {
    "title": "font-weight:600;font-size:14px",
    "caption": "font-size:12px;line-height:18px",
    "furniture": "font-size:12px;line-height:18px",
    "code": f"font-family:{MONO};font-size:11px;line-height:17px",
}


def only(letter: str, html: str) -> str:
    """Mark what stands on one side alone."""
    return (
        f'<span class="uo-only uo-only-{letter.lower()}" title="{_SAID[letter]}" style="{ONLY[letter]}">{html}</span>'
    )


def share_html(agreement: float) -> str:
    """The agreement as a number, and as a bar under it."""
    return (
        f'{percent(agreement)}<div class="uo-meter" style="height:3px;margin:3px 0 0;background-color:#80808040">'
        f'<div style="height:3px;width:{agreement * 100:.1f}%;background-color:#80868d"></div></div>'
    )


def difference_row(compared: ComparedPage, drawn: Page, number: int) -> str:
    """Draw what the two runs have at one place.

    Parameters
    ----------
    compared : ComparedPage
        The page.
    drawn : Page
        The same with one block a pair, whose numbers, labels and boxes are those of the rows.
    number : int
        Of the pair, from 1.
    """
    pair = compared.pairs[number - 1]
    style = label_style(drawn.blocks[number - 1].label)
    sides = _sides(compared, pair, _LOOKS.get(style.family, ""))
    columns = "".join(
        f'<div class="uo-side uo-side-{letter.lower()}" style="{place};min-width:230px;box-sizing:border-box;'
        f'padding:0 14px 2px 0">{_letter(letter)}'
        f'<div class="uo-said" dir="auto" style="margin:0 0 0 18px">{html}</div></div>'
        for letter, html, place in zip("AB", sides, ("float:left;width:50%", "overflow:hidden"), strict=True)
    )
    name = _name(compared, pair, number, drawn)
    return (
        f'<div class="uo-row uo-cmp uo-b{number}"{block_marks(drawn, number, named=True)} title="{escape(name)}" '
        f'style="position:relative;margin:0;padding:9px 66px 7px 54px;border-top:{HAIR}">'
        f'<div class="uo-no" style="position:absolute;left:0;width:42px;text-align:right;font-family:{MONO};'
        f'font-size:11px">{escape(tag_of(number, drawn.blocks[number - 1].label))}</div>'
        f'<div class="uo-text" style="overflow-wrap:break-word">{columns}<div style="clear:both"></div></div>'
        '<div class="uo-share" style="position:absolute;right:0;top:9px;width:54px;text-align:right;font-size:12px;'
        f'line-height:18px">{share_html(pair.agreement)}</div></div>'
    )


def _letter(letter: str) -> str:
    return f'<span class="uo-letter" style="float:left;font-family:{MONO};font-size:11px;{SECOND}">{letter} </span>'


def _name(compared: ComparedPage, pair: Pair, number: int, drawn: Page) -> str:
    """``Row 4 of 9, caption, 98 % the same: block 4 in A, block 5 in B``."""
    label = label_name(drawn.blocks[number - 1].label)
    where = ", ".join(
        f"{_blocks(numbers)} in {letter}" if numbers else f"not in {letter}"
        for letter, numbers in (("A", pair.a), ("B", pair.b))
    )
    return f"Block {number} of {len(compared.pairs)}, {label}, {percent(pair.agreement)} the same: {where}"


def _blocks(numbers: Sequence[int]) -> str:
    if len(numbers) == 1:
        return f"block {numbers[0]}"
    return f"blocks {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"


def _sides(compared: ComparedPage, pair: Pair, look: str) -> tuple[str, str]:
    pages = (compared.a, compared.b)
    mine, other = (
        side(page.blocks, numbers) if page is not None and numbers else None
        for page, numbers in zip(pages, (pair.a, pair.b), strict=True)
    )
    if mine is not None and other is not None and mine.kind == other.kind == "table":
        drawn = table_sides(mine.grid, other.grid, only)
    elif mine is None or other is None:
        drawn = (_alone("A", mine, look), _alone("B", other, look))
    else:
        drawn = _texts(mine, other, look)
    notes = (_note(compared, pair, "A"), _note(compared, pair, "B"))
    return drawn[0] + notes[0], drawn[1] + notes[1]


def _note(compared: ComparedPage, pair: Pair, letter: str) -> str:
    """What differs beside the text: the label, how many blocks it is, its place in the order."""
    page, numbers = (compared.a, pair.a) if letter == "A" else (compared.b, pair.b)
    if page is None or not numbers or not pair.a or not pair.b:
        return ""
    said = []
    if not pair.same_label:
        labels = dict.fromkeys(label_name(page.blocks[n - 1].label) for n in numbers)
        said.append(only(letter, escape(" and ".join(list(labels)[:3]))))
    if len(pair.a) > 1 or len(pair.b) > 1:
        said.append(only(letter, _blocks(numbers)))
    if pair.moved:
        said.append(f"block {numbers[0]} in the order of {letter}")
    return f'<div style="font-size:12px;line-height:18px">{", ".join(said)}</div>' if said else ""


def _alone(letter: str, content: Content | None, look: str) -> str:
    if content is None:
        return second(f"not in {letter}")
    if content.kind == "table":
        empty = type(content.grid)()
        grids = (content.grid, empty) if letter == "A" else (empty, content.grid)
        return table_sides(*grids, only)["AB".index(letter)]
    if not content.text:
        return only(letter, "no text")
    return _said(letter, [("only", content.text)], look, formula=False)


def _texts(mine: Content, other: Content, look: str) -> tuple[str, str]:
    formula = mine.kind == other.kind == "formula"
    if formula and mine.normal == other.normal:
        whole = (formula_html("display", mine.text, mathml=True), formula_html("display", other.text, mathml=True))
        return whole[0] or second("no text"), whole[1] or second("no text")
    one, two = differences(mine.text, other.text, formula=formula)
    look = f"font-family:{MONO};font-size:11px;line-height:17px" if formula else look
    return _said("A", one, look, formula=formula), _said("B", two, look, formula=formula)


@dataclass
class _Room:
    left: int


def _said(letter: str, pieces: Sequence[Piece], look: str, *, formula: bool) -> str:
    """One side of a row: what differs is marked; of long stretches that are the same the middle is left out."""
    whole = sum(len(text) for _kind, text in pieces)
    if not whole:
        return second("no text")
    room = _Room(_MOST)
    parts = [_piece(letter, kind, text, room, long=whole > _LONG, formula=formula) for kind, text in pieces]
    more = f"<div>{second(f'{-room.left:,} more characters')}</div>" if room.left < 0 else ""
    return f'<div style="white-space:pre-line;{look}">{"".join(parts)}</div>{more}'


def _piece(letter: str, kind: str, text: str, room: _Room, *, long: bool, formula: bool) -> str:
    if kind == "same" and long and len(text) > _ELIDED:
        first, last = _edges(text)
        left = count(len(text) - len(first) - len(last), "character")
        return (
            f"{_shown(first, room, formula=formula)} "
            f"{second(f'[{left}, the same]')} {_shown(last, room, formula=formula)}"
        )
    html = _shown(text, room, formula=formula or kind == "only")
    return only(letter, html) if kind == "only" and html else html


def _edges(text: str) -> tuple[str, str]:
    """Both ends of a stretch, cut between words where it has words."""
    first, last = text[:_KEPT], text[-_KEPT:]
    return first.rsplit(None, 1)[0] if " " in first[_KEPT // 2 :] else first, (
        last.split(None, 1)[1] if " " in last[: _KEPT // 2].lstrip() else last
    )


def _shown(text: str, room: _Room, *, formula: bool) -> str:
    shown = text[: max(room.left, 0)]
    room.left -= len(text)
    if formula:
        return escape(shown)
    return text_html(shown, mathml=True)
