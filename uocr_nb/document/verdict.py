"""The honest word on one page: its status, the reason in one sentence, and what of it is worth keeping."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from uocr_nb.document.halves import UNSOUND
from uocr_nb.document.model import COORD_MAX, Status
from uocr_nb.document.repeats import (
    COUNT_STEPS,
    FULL_PAGE,
    SQUEEZE_CHARS,
    BlockRun,
    LoopWatch,
    block_run,
    count_run,
    is_babble,
    is_squeezed,
    one_mark,
    shows_text,
    tail_run,
    visible,
)

if TYPE_CHECKING:
    from uocr_nb.document.grammar import ParsedPage
    from uocr_nb.document.model import Block

__all__ = ["LoopWatch", "Verdict", "judge", "why_unreached"]

_WHOLE_PAGE = (0, 0, COORD_MAX, COORD_MAX)
_PICTURES = frozenset({"image", "chart"})
_REMARK = 400
"""Characters up to which a lone block over the whole page may be a remark of the model's."""

_GOOD_ENDS = frozenset({"stop", "eos", "eos_token", "stop_sequence", "end_turn"})
_LIMIT_ENDS = frozenset({"length", "max_tokens"})

_LONG = 2_500
"""Characters of a block below which it is not looked at as a loop of its own, unless the answer ends in it."""

_RUN_TIMES, _RUN_CHARS, _BARE_RUN_CHARS = 10, 1_500, 8_000
"""From when on the end of an unfinished text is a loop; the last limit is for units that show nothing."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a page's answer is worth.

    Attributes
    ----------
    status : Status
        ok, truncated, looping, empty or unboxed.
    reason : str
        Why it is not ok, in one sentence or two; empty when it is.
    warnings : tuple of str
        What is in doubt beside what the grammar mended.
    keep : int or None
        How many blocks are left when a loop is cut off; None when nothing is cut off.
    blocks : tuple of Block
        The blocks that are left; a loop inside the last one is cut off as well.
    """

    status: Status
    reason: str = ""
    warnings: tuple[str, ...] = ()
    keep: int | None = None
    blocks: tuple[Block, ...] = ()


def judge(
    parsed: ParsedPage,
    *,
    raw: str,
    finish_reason: str | None,
    max_tokens: int | None,
    blank: bool = False,
) -> Verdict:
    """The verdict on `parsed`.

    Parameters
    ----------
    parsed : ParsedPage
        The page as the grammar read it.
    raw : str
        The answer as it came.
    finish_reason : str or None
        As the engine gave it: "stop", "length"; "loop" for an answer that `LoopWatch` had cut, "cut" when the
        connection ended too early, any other word for one that did not come to its end; None when it is not known.
    max_tokens : int or None
        The limit that was asked for, for the reason's sake.
    blank : bool
        Whether the page image holds nothing but paper.
    """
    finish = _end_of(finish_reason)
    unfinished = finish not in ("stop", None) or (parsed.open != "formula" and not parsed.complete)
    blocks, doubled = _without_doubles(parsed.blocks)
    warnings = _doubts(parsed, blank=blank)
    loop = _loop(parsed.blocks, unfinished=unfinished)
    if loop is not None:
        return replace(loop, warnings=warnings)
    warnings += doubled
    cut = _cut(parsed, finish, max_tokens)
    if cut:
        status = Status.LOOPING if finish == "loop" else Status.TRUNCATED
        return Verdict(status, cut, warnings, blocks=blocks)
    found = _unlike_text(parsed, raw)
    if found is None:
        return Verdict(Status.OK, "", warnings, blocks=blocks)
    if blank:
        remark = " ".join(" ".join(block.text for block in parsed.blocks).split())
        said = f'; what the engine remarks on it is left out: "{remark[:80]}"' if remark else ""
        return Verdict(Status.OK, "", (*warnings, f"The page is blank{said}."))
    return Verdict(*found, warnings, blocks=blocks)


def _without_doubles(blocks: tuple[Block, ...]) -> tuple[tuple[Block, ...], tuple[str, ...]]:
    """Blocks without those that say once more, in the very same place, what the one before says."""
    kept = tuple(block for n, block in enumerate(blocks) if not n or not _doubles(blocks[n - 1], block))
    count = len(blocks) - len(kept)
    if not count:
        return blocks, ()
    came = "1 block came twice in the same place and counts" if count == 1 else f"{count} blocks came twice and count"
    return kept, (f"{came} once.",)


def _doubles(one: Block, other: Block) -> bool:
    box = other.box
    if box is None or box == _WHOLE_PAGE or box[0] == box[2] or box[1] == box[3]:
        return False
    return one.box == box and one.label == other.label and one.text == other.text


def _unlike_text(parsed: ParsedPage, raw: str) -> tuple[Status, str] | None:
    """Why a whole answer is not what a page with text gives; None when it is."""
    blocks = parsed.blocks
    if not any(block.text or (block.label in _PICTURES and block.box) for block in blocks):
        return Status.EMPTY, _why_empty(parsed, raw)
    if not any(block.box for block in blocks):
        text = " ".join(" ".join(block.text for block in blocks).split())
        remark = f' It may be a remark of the engine: "{text[:80]}".' if len(text) <= _REMARK else ""
        return Status.UNBOXED, f"The answer holds text but no box.{remark}"
    return None


def _end_of(finish_reason: str | None) -> str | None:
    """The finish reason in one spelling, as servers have several for the same."""
    if not finish_reason:
        return None
    word = str(finish_reason).lower()
    return "stop" if word in _GOOD_ENDS else "length" if word in _LIMIT_ENDS else word


def why_unreached(held: int, count: int, finish_reason: str | None, max_tokens: int | None) -> str:
    """Why an answer of `held` pages about `count` page images does not speak of one of them."""
    finish = _end_of(finish_reason)
    if finish == "length":
        return f"The answer stopped at {_limit(max_tokens)} before it came to this page."
    if finish == "loop":
        return "The answer began to repeat itself before it came to this page."
    if finish == "cut":
        return "The connection ended before the answer came to this page."
    return f"The answer does not speak of this page: it holds {held:,} for {count:,} page images."


def _limit(max_tokens: int | None) -> str:
    return f"{max_tokens:,} tokens" if max_tokens else "its token limit"


def _doubts(parsed: ParsedPage, *, blank: bool) -> tuple[str, ...]:
    doubts = []
    if parsed.dialect == "stripped":
        doubts.append(
            "The server leaves the marks of the tags out, so text of the page that looks like a tag cannot be told "
            "apart, and tables lose their cells. Send skip_special_tokens: false."
        )
    texts = [block for block in parsed.blocks if block.text]
    if blank and any(block.box for block in texts):
        doubts.append("The page is blank, so its text is likely to be made up.")
    elif len(texts) == 1 and texts[0].box == _WHOLE_PAGE and texts[0].label == "text" and len(texts[0].text) <= _REMARK:
        doubts.append("The only text has the whole page as its box: it may be a remark of the model, not page text.")
    return tuple(doubts)


def _why_empty(parsed: ParsedPage, raw: str) -> str:
    if parsed.blocks:
        return "The answer holds boxes but no text."
    words = UNSOUND.sub("\ufffd", " ".join(raw.split()))
    shown = f"{words[:60]}{'...' if len(words) > 60 else ''}"
    return f'The answer holds no block and no text, only "{shown}".' if words else "The answer is empty."


def _cut(parsed: ParsedPage, finish: str | None, max_tokens: int | None) -> str:
    """The reason why the answer is cut, empty when it is whole."""
    inside = {"tag": "in the middle of a tag", "table": "in the middle of a table", "formula": "in a formula"}
    if finish == "loop":
        return f"The answer began to repeat itself and was cut there, {_place(parsed)}."
    if finish == "length":
        said = f"The answer stopped at {_limit(max_tokens)}"
    elif finish == "cut":
        said = "The connection ended before the answer did"
    elif finish not in ("stop", None):
        said = f'The engine broke the answer off ("{finish[:40]}")'
    elif parsed.open in ("tag", "table") or (parsed.open == "formula" and (finish != "stop" or _is_formula(parsed))):
        said = f"The answer ends {inside[parsed.open]}"
    else:
        return ""
    return f"{said}, {_place(parsed)}.{' Nothing below that block is read.' if parsed.blocks else ''}"


def _is_formula(parsed: ParsedPage) -> bool:
    """Whether the last block holds a formula by its label: in text, an opener may be a sign that the page prints."""
    return bool(parsed.blocks) and parsed.blocks[-1].label == "equation"


def _place(parsed: ParsedPage) -> str:
    count = len(parsed.blocks)
    if not count:
        return "before the first block"
    return f"{'after' if parsed.open == 'tag' else 'inside'} block {count}"


def _loop(blocks: tuple[Block, ...], *, unfinished: bool) -> Verdict | None:
    run = block_run(blocks, unfinished=unfinished)
    limit = SQUEEZE_CHARS if unfinished else FULL_PAGE
    inner = next((n for n, block in enumerate(blocks) if len(block.text) > _LONG and _is_loop(block.text, limit)), None)
    if run is not None and (inner is None or run.start <= inner):
        return _cut_off(blocks[: run.start], _about_blocks(blocks, run))
    if inner is None and unfinished and blocks:
        inner = len(blocks) - 1
    if inner is None:
        return None
    found = _inner_loop(blocks[inner].text, unfinished=unfinished)
    if found is None:
        return _counting_blocks(blocks) if unfinished else None
    what, text = found
    return _cut_off((*blocks[:inner], replace(blocks[inner], text=text)), what.format(n=inner + 1))


def _is_loop(text: str, limit: int) -> bool:
    return is_squeezed(visible(text), limit) or one_mark(text) is not None


def _about_blocks(blocks: tuple[Block, ...], run: BlockRun) -> str:
    first = run.start + 1
    if run.unit == 0:
        return f"{run.stop - run.start + 1:,} blocks or more stand in the same place, from block {run.start} on."
    times = (run.stop - run.start) // run.unit
    again = f"from block {first} on, {times:,} time{'' if times == 1 else 's'}"
    if run.unit > 1:
        return f"The same {run.unit} blocks repeat {again}."
    return f"The same block repeats {again}{_quoted(blocks[run.start].text)}."


def _quoted(text: str) -> str:
    words = " ".join(visible(text).split())
    return f' ("{words[:40]}{"..." if len(words) > 40 else ""}")' if words else ""


def _counting_blocks(blocks: tuple[Block, ...]) -> Verdict | None:
    """An answer that counts on in a block for each number."""
    lines = [" ".join(block.text.split()) for block in blocks]
    at = count_run("\n".join(lines), COUNT_STEPS) if len(blocks) > COUNT_STEPS else None
    if at is None:
        return None
    first = "\n".join(lines)[:at].count("\n") + 1
    return _cut_off(blocks[:first], f"The blocks do nothing but count from block {first} on.")


def _cut_off(kept: tuple[Block, ...], reason: str) -> Verdict:
    count = f"{len(kept):,} block{'' if len(kept) == 1 else 's'} kept"
    return Verdict(Status.LOOPING, f"{reason} Cut there; {count}.", keep=len(kept), blocks=kept)


def _inner_loop(text: str, *, unfinished: bool) -> tuple[str, str] | None:
    """How the text of a block loops (a sentence with a place for its number), and the text before the loop."""
    at = one_mark(text)
    if at is not None:
        return f'Block {{n}} ends in {len(text) - at:,} times "{_shown(text[-1])}".', text[:at].rstrip()
    run = tail_run(text)
    squeezed = is_squeezed(visible(text), SQUEEZE_CHARS if unfinished else FULL_PAGE)
    if run is not None and (squeezed or unfinished) and run.times >= _RUN_TIMES:
        unit = text[len(text) - run.unit :]
        if len(text) - run.start >= (_RUN_CHARS if shows_text(text, run) else _BARE_RUN_CHARS):
            what = "row" if "<tr>" in unit + unit else "text"
            kept = text[: run.start + run.unit]
            kept = kept[: kept.rfind(">") + 1] if "<t" in unit + unit else kept.rstrip()
            return f"The same {what} repeats in block {{n}}, {int(run.times):,} times.", kept
    counting = count_run(text) if unfinished else None
    if counting is not None:
        return "Block {n} does nothing but count at its end.", text[: counting + 100].rstrip()
    if unfinished and is_babble(text):
        return "Block {n} ends in a run of marks without words.", text.rstrip()
    if not squeezed:
        return None
    return f"Most of block {{n}} says the same again and again ({len(text):,} characters).", text[:1_000].rstrip()


def _shown(character: str) -> str:
    return {"{": "{{", "}": "}}", "\n": "a line end", "\t": "a tab"}.get(character, character)
