"""What stands above the pages of a document: how all of them are, which ones need a person, and what to do."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from uocr_nb.document.model import Status
from uocr_nb.markup.safe_html import escape
from uocr_nb.support.durations import show_seconds
from uocr_nb.views.icons import status_icon
from uocr_nb.views.labels import status_hue
from uocr_nb.views.pictures import thumbnail
from uocr_nb.views.styles import HAIR, SECOND, TINT_ERROR, TINT_WARNING, fact, leads, second
from uocr_nb.views.tiles import anchor, tiles_html, tiles_of
from uocr_nb.views.words import (
    BLANK,
    BY_SOURCE,
    DOUBTS,
    RETRY,
    SAVE_ALL,
    alike,
    count,
    doubts,
    is_blank,
    money,
    not_ok,
    pages_by_source,
    places,
    positions,
    reason_of,
    source_place,
    status_counts,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from uocr_nb.document.model import Document, Page

__all__ = ["counts_html", "name_of", "right", "run_facts", "summary_html"]

_MOST_ROWS = 20
_MOST_WITH_PICTURE = 8
"""Bad pages in the list, and up to how many of them there is room for small pictures."""

_MOST_SOURCES = 8
_LONG_NAME = 32
_LONGEST_REASON = 240


def summary_html(doc: Document, pages: Sequence[Page], *, uid: str, carried: Collection[int]) -> str:
    """Draw the head of a document: one line when every page is ok, else the whole list of what is not.

    Parameters
    ----------
    doc : Document
        For the facts of its run.
    pages : sequence of Page
        All of its pages.
    uid : str
        Of the root, for links.
    carried : collection of int
        Positions of the pages that stand below, and so can be linked to.
    """
    bad = not_ok(pages)
    # Floats on both sides, so that in a narrow output the facts stand below and not between the words.
    took = right(run_facts(doc, pages))
    if not bad:
        line = f'<div style="float:left">{fact(counts_html(pages), ink="strong")}{_about(pages)}</div>{took}'
        return f'<div class="uo-summary" style="overflow:hidden;padding:9px 14px;border-bottom:{HAIR}">{line}</div>'
    tiles = tiles_of(len(pages), pages, linked=set(carried))
    head = (
        '<div style="float:left"><span style="font-size:17px;line-height:23px;font-weight:600;margin:0 10px 0 0">'
        f"{counts_html(pages)}</span> {_about(pages)}</div>{took}"
    )
    return (
        f'<div class="uo-summary" style="border-bottom:{HAIR}">'
        f'<div style="padding:10px 14px 8px">{head}'
        f'<div style="clear:both;padding:7px 0 0">{tiles_html(tiles, uid=uid, axis=True)}</div></div>'
        f"{_sources(pages)}{_bad_pages(bad, pages, uid, carried)}{_foot(doc, bad, pages)}</div>"
    )


def counts_html(pages: Sequence[Page]) -> str:
    """``57 ok, 2 looping (p. 23, 41), 1 failed (p. 52)``, an icon before each kind of trouble."""
    said = []
    for status, text in status_counts(pages):
        number, _, where = text.partition(" (")
        icon = "" if status is Status.OK else status_icon(status)
        place = f' <span style="font-size:13px;font-weight:400;{SECOND}">(p. {where}</span>' if where else ""
        # A few places stay on the line of their number; many of them may break.
        inside, after = (place, "") if len(where) < 24 else ("", place)
        said.append(f'<span style="white-space:nowrap">{icon}{number}{inside}</span>{after}')
    return '<span style="font-weight:400">, </span>'.join(said)


def name_of(pages: Sequence[Page]) -> str:
    """Name the source, or say how many there are."""
    sources = list(dict.fromkeys(page.source for page in pages))
    return sources[0] if len(sources) == 1 else f"{len(sources):,} sources"


def run_facts(doc: Document, pages: Sequence[Page]) -> list[str]:
    """Say what the run took: time, speed, tokens, money, as far as they are known."""
    said = []
    seconds, tokens, cost, cached = (doc.meta.get(name) for name in ("seconds", "tokens", "cost", "cached"))
    if isinstance(seconds, (int, float)):
        said.append(show_seconds(seconds))
        # Pages from the cache keep the time that they took once; they are no speed of this run.
        read = sum(page.seconds is not None for page in pages) - (cached if isinstance(cached, int) else 0)
        if read > 0 and seconds >= 1:
            rate = read / seconds
            said.append(f"{rate:.1f} pages/s" if rate >= 0.95 else f"{1 / rate:.1f} s a page")  # 1, rounded
    if isinstance(tokens, int):
        said.append(count(tokens, "token"))
    if isinstance(cost, (int, float)):
        said.append(money(cost))
    if isinstance(cached, int) and cached:
        said.append(f"{cached:,} from the cache")
    return said


def right(said: Sequence[str]) -> str:
    """Set facts at the right end of a line."""
    if not said:
        return ""
    return f'<div style="float:right;margin:0 -8px 0 12px">{"".join(fact(escape(text)) for text in said)}</div>'


def _about(pages: Sequence[Page]) -> str:
    name = name_of(pages)
    parts = [fact(f"{escape(name)}, {count(len(pages), 'page')}", wraps=len(name) > _LONG_NAME, kind="uo-about")]
    if not not_ok(pages):
        parts += _more_lines(pages)
    return "".join(parts)


def _more_lines(pages: Sequence[Page]) -> list[str]:
    parts = []
    if blank := sum(map(is_blank, pages)):
        parts.append(fact(f"{blank:,} {BLANK}"))
    if unsure := doubts(pages):
        parts.append(fact(leads(f"{count(unsure, 'block')} in doubt:", DOUBTS), ink="first"))
    if len({page.source for page in pages}) > 1:
        parts.append(fact(leads("By source:", BY_SOURCE), ink="first"))
    return parts


def _sources(pages: Sequence[Page]) -> str:
    """How the pages of each source are, those with trouble first; nothing where every source is one page."""
    groups = pages_by_source(pages)
    if len(groups) < 2 or len(groups) == len(pages):
        return ""
    ordered = sorted(groups.items(), key=lambda item: not not_ok(item[1]))
    lines = [
        '<div style="overflow:hidden;padding:2px 14px">'
        f'<div style="float:left;width:220px;margin:0 12px 0 0;overflow-wrap:break-word">{escape(name)}</div>'
        f'<div style="overflow:hidden;min-width:180px">{_of_source(group)}</div></div>'
        for name, group in ordered[:_MOST_SOURCES]
    ]
    if left := ordered[_MOST_SOURCES:]:
        well = ", all ok" if not any(not_ok(group) for _name, group in left) else ""
        words = f"{count(len(left), 'more source')}{well}:"
        lines.append(f'<div style="padding:2px 14px">{leads(words, BY_SOURCE)}</div>')
    return f'<div class="uo-sources" style="border-top:{HAIR};padding:6px 0">{"".join(lines)}</div>'


def _of_source(group: Sequence[Page]) -> str:
    if len(group) == 1:
        return f"{status_icon(group[0].status)}{group[0].status}"
    return counts_html([replace(page, position=page.number) for page in group])


def _bad_pages(bad: Sequence[Page], pages: Sequence[Page], uid: str, carried: Collection[int]) -> str:
    groups = alike(bad)
    pictured = len(groups) <= _MOST_WITH_PICTURE
    wide = 148 if any(len(group) > 1 for group in groups) else 84  # px of "pages 101 to 1,000" and of "page 101"
    rows = [_bad_row(group, pages, uid, carried, wide=wide, pictured=pictured) for group in groups[:_MOST_ROWS]]
    if left := [page for group in groups[_MOST_ROWS:] for page in group]:
        words = f"{count(len(left), 'more page')} not ok ({positions(left)}):"
        rows.append(f'<div style="border-top:{HAIR};padding:6px 14px">{leads(words, DOUBTS)}</div>')
    return "".join(rows)


def _bad_row(
    group: Sequence[Page], pages: Sequence[Page], uid: str, carried: Collection[int], *, wide: int, pictured: bool
) -> str:
    page, name = group[0], places(group)
    to = next((one.position for one in group if one.position in carried), None)
    look = "color:inherit;text-decoration:underline"  # a browser's own blue cannot be read on a dark ground
    link = f'<a href="#{anchor(uid, to)}" style="{look}">{name}</a>' if to is not None else name
    place = source_place(group, pages)
    reason = reason_of(page)
    if len(reason) > _LONGEST_REASON:
        reason = reason[:_LONGEST_REASON].rsplit(" ", 1)[0] + " ..."
    # A reason that names the source itself needs no second name before it.
    named = f"{second(place + ':')} " if place and page.source not in reason else ""
    room = "14px 0 0" if pictured else "0"
    return (
        f'<div class="uo-bad" style="overflow:hidden;border-top:{HAIR};padding:{"7px" if pictured else "4px"} 14px">'
        f"{_sheet(page) if pictured else ''}"
        f'<div style="overflow:hidden;padding:{room}"><div style="float:left;min-width:{wide}px">{link}</div>'
        f'<div style="float:left;width:112px">{_chip(page.status)}</div>'
        '<div dir="auto" style="overflow:hidden;min-width:210px;overflow-wrap:break-word">'
        f"{named}{escape(reason)}</div></div></div>"
    )


def _sheet(page: Page) -> str:
    """A page as small as a stamp, or the outline of one that cannot be shown."""
    place = "float:left;box-sizing:border-box;width:37px;margin:0 16px 0 0"
    picture = thumbnail(page)
    if not picture:
        return f'<div style="{place};height:52px;border:1px dashed #80808099"></div>'
    return (
        f'<div style="{place};max-height:60px;overflow:hidden;border:1px solid #80808099;background-color:#ffffff">'
        f'<img alt="" src="{picture}" style="display:block;width:100%;height:auto;margin:0;padding:0;border:0"></div>'
    )


def _chip(status: Status) -> str:
    severe = status in (Status.MISSING, Status.FAILED)
    return (
        f'<span class="uo-chip" style="display:inline-block;border:1px solid {status_hue(status)}99;border-radius:11px;'
        f"padding:0 9px 0 7px;background-color:{TINT_ERROR if severe else TINT_WARNING};line-height:20px;"
        f'white-space:nowrap">{status_icon(status, 12)}{status}</span>'
    )


def _foot(doc: Document, bad: Sequence[Page], pages: Sequence[Page]) -> str:
    words = "Run it again:" if len(bad) == 1 else f"Run the {len(bad):,} again:"
    told = [str(doc.meta[name]) for name in ("engine", "mode") if isinstance(doc.meta.get(name), str)]
    return (
        f'<div class="uo-foot" style="border-top:{HAIR};padding:8px 14px;background-color:#8080800f;overflow:hidden">'
        f"{right(told)}{fact(leads(words, RETRY), ink='first')}"
        f"{''.join(_more_lines(pages))}"
        f"{fact(leads('Save:', SAVE_ALL), ink='first')}</div>"
    )
