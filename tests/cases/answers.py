"""Answers in files of any of their shapes, and what is tried on each."""

from __future__ import annotations

import json
import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import uocr_nb as uocr
from tests.cases.measure import listen
from tests.cases.records import Record, look_over
from uocr_nb.document.grammar import AnswerParser, parse_answer
from uocr_nb.document.halves import without_halves
from uocr_nb.document.model import Status
from uocr_nb.errors import UocrError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

__all__ = ["Found", "answers_in", "try_answer"]

_ENDINGS = {".txt", ".jsonl", ".ndjson", ".sse", ".log"}
_MAYBE = {".json", ".md"}
_FIELDS = ("raw", "answer", "content", "text", "output", "response", "head", "result")
_MOST = 64_000_000
_LONG = 300_000
"""Characters from which on an answer is not fed one by one as well."""


@dataclass(frozen=True)
class Found:
    """One answer: its text, the pieces it arrived in where they are known, and how it ended."""

    text: str
    pieces: tuple[str, ...] = ()
    finish: str | None = None


def answers_in(path: Path) -> list[Found] | None:
    """The answers that a file holds; None when it is no file of answers."""
    ending = path.suffix.lower()
    if ending not in _ENDINGS | _MAYBE or not path.is_file() or path.stat().st_size > _MOST:
        return None
    data = path.read_bytes()
    if b"\0" in data[:4096]:
        return None
    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    if ending in _MAYBE and "<|det|>" not in text and '"choices"' not in text:
        return None
    return list(_from_lines(text)) or [Found(text)]


def _from_lines(text: str) -> Iterator[Found]:
    """Answers out of JSON, one value a line or one in all, and of server-sent events."""
    try:
        values = [json.loads(text)]
        values = values[0] if isinstance(values[0], list) else values
    except ValueError:
        lines = (line.removeprefix("data:").strip() for line in text.split("\n"))
        kept = [line for line in lines if line and line != "[DONE]" and not line.startswith((":", "event:", "id:"))]
        try:
            values = [json.loads(line) for line in kept]
        except ValueError:
            return
    pieces: list[str] = []
    finish: str | None = None
    for value in values:
        if isinstance(value, str):
            pieces.append(value)
        elif isinstance(value, dict):
            choice: dict[str, Any] = next(iter(value.get("choices") or ()), {})
            finish = choice.get("finish_reason") or finish
            if "delta" in choice:
                pieces.append(choice["delta"].get("content") or "")
            elif (whole := _text_of(choice.get("message") or choice or value)) is not None:
                yield Found(whole, finish=choice.get("finish_reason") or value.get("finish_reason"))
    if pieces:
        yield Found("".join(pieces), tuple(pieces), finish)


def _text_of(value: dict[str, Any]) -> str | None:
    texts = {name: text for name, text in value.items() if isinstance(text, str)}
    return next((texts[name] for name in _FIELDS if name in texts), max(texts.values(), key=len, default=None))


def try_answer(name: str, found: Found) -> Record:
    """Put one answer through grammar, verdict and every form."""
    record = Record(name, "answer")
    began = time.monotonic()
    with listen() as noise:
        try:
            _try(record, found)
        except UocrError as error:
            record.refused(error)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what this looks for
            record.broke(error)
    record.heard(noise)
    record.took(began)
    return record


def _try(record: Record, found: Found) -> None:
    text = found.text
    whole = parse_answer(text)
    for how, pieces in _splits(found):
        if _fed(pieces) != whole:
            record.problems.append(f"fed {how} it gives other pages")
    document = uocr.parse(text, finish_reason=found.finish)
    record.saw(document)
    if "".join(page.raw for page in document.pages) != without_halves(text) and len(document) < 1000:
        record.problems.append("the pages' own parts do not make up the answer")
    look_over(document, record)
    count = min(len(whole), 200)
    more = uocr.parse(text, pages=count + 1)
    if [page.status for page in more.pages[count:]] != [Status.MISSING]:
        record.problems.append(f"for {count + 1} page images the last page is not missing")
    if len(uocr.parse(text, pages=1)) != 1:
        record.problems.append("for one page image there are several pages")
    if uocr.parse(text, pages=count, finish_reason="length", max_tokens=8192).pages[-1].status is Status.OK:
        record.problems.append("an answer that stopped at its limit is ok")


def _splits(found: Found) -> Iterator[tuple[str, Iterable[str]]]:
    text = found.text
    if found.pieces:
        yield "as it arrived", found.pieces
    if len(text) <= _LONG:
        yield "one by one", text
    yield "in sevens", (text[at : at + 7] for at in range(0, len(text), 7))
    yield "in odd pieces", _odd(text)


def _odd(text: str) -> Iterator[str]:
    dice = random.Random(len(text))  # the same pieces each time
    at = 0
    while at < len(text):
        size = dice.choice((1, 2, 3, 5, 17, 100, 4000))
        yield text[at : at + size]
        at += size


def _fed(pieces: Iterable[str]) -> list[Any]:
    parser = AnswerParser()
    for n, piece in enumerate(pieces):
        parser.feed(piece)
        if n in {3, 300}:
            assert parser.pages
    return parser.finish()
