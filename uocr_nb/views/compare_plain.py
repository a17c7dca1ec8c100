"""Two runs side by side as plain text of 80 columns, and as markdown; what differs stands in brackets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uocr_nb.document.model import Block
from uocr_nb.markup.align import side
from uocr_nb.markup.markdown import block_markdown
from uocr_nb.markup.pieces import differences
from uocr_nb.markup.table_pairs import align_tables
from uocr_nb.views.compared import reasons
from uocr_nb.views.labels import label_name, tag_of
from uocr_nb.views.plain import COLUMNS, clip, printable, wrap
from uocr_nb.views.words import count, facts, percent, positions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uocr_nb.document.model import Page
    from uocr_nb.markup.align import Pair
    from uocr_nb.markup.content import Content
    from uocr_nb.markup.pieces import Piece
    from uocr_nb.views.compare import Comparison
    from uocr_nb.views.compared import ComparedPage

__all__ = ["comparison_markdown", "comparison_plain"]

_MOST_PAGES, _MOST_ROWS = 10, 12
_AROUND, _MOST_SAID = 24, 150
"""Characters shown of what is the same around a difference, and of one side in all."""
_INDENT = 17


def comparison_plain(comparison: Comparison) -> str:
    """Write the comparison for a terminal: how far the runs agree, and the pages that differ most, in excerpts."""
    lines = wrap(_title(comparison), COLUMNS)
    for note in comparison.notes:
        lines += [f"  {text}" for text in wrap(f"! {printable(note)}", COLUMNS - 2)]
    differing = comparison.differing
    for page in differing[:_MOST_PAGES]:
        lines += _page_lines(page)
    if left := differing[_MOST_PAGES:]:
        lines.append(f"{count(len(left), 'more page')} not the same: comparison.page({left[0].position})")
    return "\n".join(lines)


def _title(comparison: Comparison) -> str:
    names = " and ".join(
        f"{letter} ({printable(name)})" if name else letter for letter, name in zip("AB", comparison.names, strict=True)
    )
    pages = comparison.pages
    if not pages:
        return f"{names}: there are no pages to compare."
    same = sum(page.same for page in pages)
    wholly = "wholly the same" if same == len(pages) else f"{same:,} of them wholly"
    return f"{names}: {percent(comparison.agreement, 1)} the same, {count(len(pages), 'page')}, {wholly}"


def _page_lines(page: ComparedPage) -> list[str]:
    agree = sum(pair.same for pair in page.pairs)
    took = [f"{letter} {', '.join(facts(one))}" for letter, one in (("A", page.a), ("B", page.b)) if one and facts(one)]
    head = (
        f"page {page.position}  {percent(page.agreement, 1)} the same, {agree:,} of {count(len(page.pairs), 'block')}"
    )
    first, *rest = wrap("  ".join([head, *took]), COLUMNS - 2)
    lines = [first, *(f"  {line}" for line in rest)]
    for reason in reasons(page):
        lines += [f"  {text}" for text in wrap(printable(reason), COLUMNS - 2)]
    numbers = page.differences
    for number in numbers[:_MOST_ROWS]:
        lines += _row_lines(page, number)
    if (left := len(numbers) - _MOST_ROWS) > 0:
        lines.append(f"{' ' * _INDENT}{count(left, 'more difference')}: comparison.page({page.position}).blocks")
    return lines


def _row_lines(page: ComparedPage, number: int) -> list[str]:
    pair = page.pairs[number - 1]
    tag = tag_of(number, _label(page, pair))
    lines = []
    for letter, text in zip("AB", _said(page, pair), strict=True):
        head = f"{tag:>7}  {percent(pair.agreement):>5}" if letter == "A" else ""
        first, *rest = wrap(printable(text), COLUMNS - _INDENT) or [""]
        lines += [f"{head:<15}{letter} {first}", *(f"{' ' * _INDENT}{line}" for line in rest)]
    return lines


def _label(page: ComparedPage, pair: Pair) -> str:
    blocks, numbers = (page.b.blocks, pair.b) if page.b and pair.b else (page.a.blocks if page.a else (), pair.a)
    return blocks[numbers[0] - 1].label


def _said(page: ComparedPage, pair: Pair) -> tuple[str, str]:
    """What each side says, in short, what differs in brackets."""
    mine, other = (
        side(one.blocks, numbers) if one is not None and numbers else None
        for one, numbers in ((page.a, pair.a), (page.b, pair.b))
    )
    if mine is None or other is None:
        return _alone("A", mine), _alone("B", other)
    if mine.kind == other.kind == "table":
        texts = _tables(mine, other)
    else:
        formula = mine.kind == other.kind == "formula"
        one, two = differences(mine.text, other.text, formula=formula)
        texts = _excerpt(one), _excerpt(two)
    notes = _notes(page.a, pair.a, pair), _notes(page.b, pair.b, pair)
    return texts[0] + notes[0], texts[1] + notes[1]


def _notes(page: Page | None, numbers: Sequence[int], pair: Pair) -> str:
    said = []
    if page is not None and not pair.same_label:
        said.append(f"[{label_name(page.blocks[numbers[0] - 1].label)}]")
    if len(pair.a) > 1 or len(pair.b) > 1:
        said.append(f"[{count(len(numbers), 'block')}]")
    return f"  {' '.join(said)}" if said else ""


def _alone(letter: str, content: Content | None) -> str:
    if content is None:
        return f"not in {letter}"
    text = " ".join(content.text.split()) or "no text"
    return f"[{clip(text, _MOST_SAID)}]"


def _tables(mine: Content, other: Content) -> tuple[str, str]:
    """The cells that differ, with the first cell of their row."""
    pairs = align_tables(mine.grid, other.grid)
    sides = []
    for which, content in enumerate((mine, other)):
        matrix = content.grid.matrix()
        rows: dict[int, list[str]] = {}
        for r, c in sorted(pairs.differ):
            row, column = pairs.rows[r][which], pairs.columns[c][which]
            text = matrix[row][column] if row is not None and column is not None else ""
            flat = " ".join(text.split())
            rows.setdefault(r, []).append(f"[{flat}]" if flat else "-")
        said = []
        for r, cells in rows.items():
            row = pairs.rows[r][which]
            name = " ".join(matrix[row][0].split()) if row is not None and matrix[row] else "no such row"
            said.append(f"{clip(name, 20)}: {' '.join(cells)}")
        sides.append(clip("; ".join(said), _MOST_SAID))
    return sides[0], sides[1]


def _excerpt(pieces: Sequence[Piece]) -> str:
    """What differs, with a few words around it."""
    parts = []
    for n, (kind, text) in enumerate(pieces):
        flat = " ".join(text.split())
        if kind == "only":
            parts.append(f"[{clip(flat, 60)}]")
            continue
        gap = " " if text[:1].isspace() else "", " " if text[-1:].isspace() else ""
        first, last = n == 0, n == len(pieces) - 1
        room = _AROUND if first != last else 2 * _AROUND
        if len(flat) > room + 5:
            head = "" if first and not last else flat[:_AROUND].rsplit(" ", 1)[0]
            tail = "" if last and not first else flat[-_AROUND:].split(" ", 1)[-1]
            flat = f"{head} ... {tail}".strip()
        parts.append(f"{gap[0]}{flat}{gap[1]}")
    return clip("".join(parts).strip(), _MOST_SAID) or "no text"


def comparison_markdown(comparison: Comparison) -> str:
    """Markdown of the comparison: a list of what differs a page, the pages that differ most first."""
    parts = [f"**{_escaped(_title(comparison))}**"]
    parts += [f"*{_escaped(note)}*" for note in comparison.notes]
    differing = comparison.differing
    for page in differing[:_MOST_PAGES]:
        agree = sum(pair.same for pair in page.pairs)
        agree_of = f"{agree:,} of {count(len(page.pairs), 'block')}"
        lines = [f"**page {page.position}, {percent(page.agreement, 1)} the same, {agree_of}**", ""]
        lines += [f"- {_escaped(reason)}" for reason in reasons(page)]
        for number in page.differences[:_MOST_ROWS]:
            pair = page.pairs[number - 1]
            one, two = _said(page, pair)
            name = f"block {number}, {label_name(_label(page, pair))}, {percent(pair.agreement)}"
            lines.append(f"- {_escaped(name)}\n  - A: {_escaped(one)}\n  - B: {_escaped(two)}")
        if (left := len(page.differences) - _MOST_ROWS) > 0:
            lines.append(f"- {count(left, 'more difference')}: `comparison.page({page.position}).blocks`")
        parts.append("\n".join(lines))
    if left_pages := differing[_MOST_PAGES:]:
        where = positions([page.page for page in left_pages], 4)
        parts.append(f"*{count(len(left_pages), 'more page')} not the same ({where})*")
    return "\n\n".join(parts)


def _escaped(text: str) -> str:
    return " ".join(block_markdown(Block("text", text)).split())
