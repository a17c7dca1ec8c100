"""Which lines of a table are one row, and which columns a cell reaches over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uocr_nb.local_server.geometry import Rect, union
from uocr_nb.local_server.table_grid import Row, reach

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uocr_nb.local_server.pieces import Piece
    from uocr_nb.local_server.rules import Rules

__all__ = ["join_between_rules", "join_headings", "join_rests", "open_edges_of", "places", "settle_loose"]


def places(row: Row, edges: Sequence[float], under: Sequence[Rect] = ()) -> list[tuple[int, int, list[Piece]]]:
    """Find the columns of each cell in a row: first, last, and its pieces."""
    middles = [reach(Rect(piece.box.cx, 0, piece.box.cx, 0), edges)[0] for piece in row.pieces]
    groups: list[tuple[int, int, list[Piece]]] = []
    for n, piece in sorted(enumerate(row.pieces), key=lambda item: middles[item[0]]):
        first, last = reach(piece.box, edges)
        others = set(middles[:n] + middles[n + 1 :])
        # Text wider than its column does not reach into a column that has text of its own.
        while first < middles[n] and first in others:
            first += 1
        while last > middles[n] and last in others:
            last -= 1
        if groups and first <= groups[-1][1]:
            start, end, members = groups[-1]
            groups[-1] = (start, max(end, last), [*members, piece])
        else:
            groups.append((first, last, [piece]))
    return _grown(groups, row, edges, under)


def _grown(
    groups: list[tuple[int, int, list[Piece]]],
    row: Row,
    edges: Sequence[float],
    under: Sequence[Rect],
) -> list[tuple[int, int, list[Piece]]]:
    """Let cells reach over borders that are not drawn here, and as far as a short rule right below them."""
    taken = {column for first, last, _ in groups for column in range(first, last + 1)} | row.held
    grown: list[tuple[int, int, list[Piece]]] = []
    for first, last, members in groups:
        box = union(piece.box for piece in members)
        rule = max((r for r in under if r.overlap_x(box) > 0.8 * box.width), key=lambda r: r.width, default=None)
        left, right = reach(rule, edges) if rule else (first, last)
        beyond = row.open_edges if rule is None else frozenset()
        while first > 0 and first - 1 not in taken and (first - 1 >= left or first - 1 in beyond):
            first -= 1  # noqa: PLW2901 - the cell grows
            taken.add(first)
        while last < len(edges) and last + 1 not in taken and (last + 1 <= right or last in beyond):
            last += 1  # noqa: PLW2901
            taken.add(last)
        grown.append((first, last, members))
    return grown


def open_edges_of(row: Row, edges: Sequence[float], upright: Sequence[float], rules: Rules | None) -> frozenset[int]:
    """Find the borders drawn along most of the table that leave this row out: a cell spans there."""
    drawn = {n for n, edge in enumerate(edges) if edge in upright}
    beside = [rule for rule in (rules.upright if rules else ()) if rule.y1 < row.middle < rule.y2]
    return frozenset(n for n in drawn if not any(abs(rule.cx - edges[n]) < 8 for rule in beside))


def join_headings(rows: Sequence[Row], edges: Sequence[float]) -> list[Row]:
    """Make one row of two where more columns are loose than stacked: those are cells of two lines."""
    joined: list[Row] = []
    for row in rows:
        before = joined[-1] if joined else None
        if before is not None and before.loose:
            upper = {reach(piece.box, edges)[0] for piece in before.pieces}
            stacked = sum(1 for piece in row.pieces if reach(piece.box, edges)[0] in upper)
            if len(before.loose) > stacked:
                before.pieces += [*before.loose, *row.pieces]
                before.loose = row.loose
                continue
        joined.append(row)
    return joined


def join_between_rules(rows: Sequence[Row], edges: Sequence[float], level: Sequence[Rect], area: Rect) -> list[Row]:
    """Join the lines between two rules that go all the way, unless most columns hold several."""
    full = sorted(rule.cy for rule in level if rule.overlap_x(area) > 0.7 * area.width)
    inner = [y for y in full if rows and rows[0].middle < y < rows[-1].middle]
    if len(inner) < 2:
        return list(rows)
    bands: list[list[Row]] = [[] for _ in range(len(inner) + 1)]
    for row in rows:
        bands[sum(1 for y in inner if y < row.middle)].append(row)
    out: list[Row] = []
    for band in (band for band in bands if band):
        counts: dict[int, int] = {}
        for row in band:
            for first, last, _ in places(row, edges) + places(Row(row.loose, []), edges):
                for column in range(first, last + 1):
                    counts[column] = counts.get(column, 0) + 1
        several = sum(1 for count in counts.values() if count > 1)
        parted = any(band[0].middle < rule.cy < band[-1].middle for rule in level)
        if len(band) > 1 and len(counts) > 1 and several <= 0.5 * len(counts) and not parted:
            out.append(Row([piece for row in band for piece in (*row.pieces, *row.loose)], []))
        else:
            out += band
    return out


def join_rests(rows: Sequence[Row], edges: Sequence[float], unit: float, pitch: float) -> list[Row]:
    """Join a line to the row above when all it holds are ends of texts that had filled their columns."""
    rights: dict[int, float] = {}
    for row in rows:
        for piece in row.pieces:
            first, last = reach(piece.box, edges)
            if first == last:
                rights[first] = max(rights.get(first, 0.0), piece.box.x2)
    joined: list[Row] = []
    for row in rows:
        if (
            joined
            and not row.loose
            and not joined[-1].loose
            and _is_rest(joined[-1], row, edges=edges, rights=rights, unit=unit, pitch=pitch)
        ):
            joined[-1].pieces += row.pieces
        else:
            joined.append(row)
    return joined


def _is_rest(
    above: Row, row: Row, *, edges: Sequence[float], rights: dict[int, float], unit: float, pitch: float
) -> bool:
    lowest = max(piece.box.cy for piece in above.pieces)
    if row.middle - lowest > 1.15 * pitch or len(row.pieces) > 0.5 * (len(edges) + 1):
        return False
    for piece in row.pieces:
        column = reach(piece.box, edges)
        over = [p for p in above.pieces if reach(p.box, edges)[0] == column[0]]
        word = piece.box.width / max(1, len(piece.text)) * len(piece.text.split()[0])
        if column[0] == 0 or not over or abs(over[-1].box.x1 - piece.box.x1) > 0.5 * unit:
            return False
        if max(p.box.x2 for p in over) + word < rights.get(column[0], 0.0) or len(over[-1].text) < 8:
            return False
    return True


def settle_loose(rows: Sequence[Row], edges: Sequence[float]) -> None:
    """Put loose pieces into their upper row where the places below are taken, or there is no row below.

    From the bottom up, so that the row below has its final pieces when the one above is looked at. Each row is told
    which columns cells of two rows hold in it.
    """
    following: Row | None = None
    for row in reversed(rows):
        while row.loose:
            taken = _columns_of(row, edges)
            if following is not None:
                taken |= _columns_of(following, edges) | following.held
            groups = places(Row(row.loose, []), edges)
            kept = [group for group in groups if following and not taken.intersection(range(group[0], group[1] + 1))]
            row.pieces += [piece for group in groups if group not in kept for piece in group[2]]
            row.loose = [piece for group in kept for piece in group[2]]
            if len(kept) == len(groups):
                break
        own = _columns_of(Row(row.loose, []), edges)
        row.held = frozenset(own)
        if following is not None:
            following.held |= own
        following = row


def _columns_of(row: Row, edges: Sequence[float]) -> set[int]:
    return {column for first, last, _ in places(row, edges) for column in range(first, last + 1)}
