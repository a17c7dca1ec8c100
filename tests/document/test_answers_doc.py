"""Every row of docs/answers.md is what the program says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from uocr_nb.document import notes
from uocr_nb.document.parts import Part, parts_of

DOC = (Path(__file__).parents[2] / "docs" / "answers.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| \*\*(?P<name>[^*]+)\*\*[^|]* \| (?P<status>\w+) \| (?P<said>.+) \| [^|]+ \|$", re.MULTILINE)
ROWS = {row["name"]: row for row in ROW.finditer(DOC)}

TAG = "<|det|>text [10, 20, 300, 40]<|/det|>"
OTHER = "<|det|>text [10, 60, 300, 80]<|/det|>"
TABLE = "<|det|>table [1, 1, 998, 998]<|/det|><table>"
PAGE = f"{TAG}{'Words that fill a line. ' * 6}\n{OTHER}{'More of the same kind. ' * 6}\n"
CUT = {"finish_reason": "length", "max_tokens": 4096}


def tag(box: str, label: str = "text") -> str:
    return f"<|det|>{label} {box}<|/det|>a"


EXAMPLES: dict[str, tuple[str, dict[str, Any]]] = {
    "token limit": (f"{TAG}a", CUT),
    "connection lost": (f"{TAG}a", {"finish_reason": "cut"}),
    "broken off": (f"{TAG}a", {"finish_reason": "abort"}),
    "open tag": (f"{TAG}a\n<|det|>te", {}),
    "open table": (f"{TABLE}<tr><td>a", {}),
    "open formula": ("<|det|>equation [1, 1, 9, 9]<|/det|>\\[\nx", {}),
    "same block": (f"{OTHER}Example Bank\n" * 60, CUT),
    "same blocks": (f"{TAG}a\n{OTHER}b\n" * 10, {}),
    "boxes that do not move": ("".join(f"{TAG}{n % 7}x{n}\n" for n in range(21)), {}),
    "same row": (TABLE + "<tr><td>a</td><td>b</td></tr>" * 300, CUT),
    "same words": (TAG + "the same words " * 500, CUT),
    "same sign": (TAG + "Begin " + "." * 6_000, CUT),
    "counting": (TAG + "\n".join(map(str, range(2_000))), CUT),
    "counting in blocks": (
        "".join(f"<|det|>text [9, {90 + n % 800}, {90 + n}, 999]<|/det|>{n}\n" for n in range(700)),
        CUT,
    ),
    "marks without words": (TAG + "Begin " + ".)].. ).\n]" * 90 + ")..] .)" * 90, CUT),
    "next to no content": (TAG + "".join("abcdefgh"[n % 8] + "x" * (n % 3) for n in range(9_000)) + "end", CUT),
    "cut while it ran": (f"{TAG}a", {"finish_reason": "loop"}),
    "page given again": (f"<PAGE>{PAGE}<PAGE>{PAGE}", {"count": 2, "alike": [False, False], "page": 2}),
    "nothing at all": ("", {}),
    "marks only": ("<PAGE>", {}),
    "boxes only": (TAG, {}),
    "no box": ("The image is too blurry.", {}),
    "fewer pages": (f"<PAGE>{TAG}a", {"count": 2, "page": 2}),
    "limit before the page": (f"<PAGE>{TAG}a", {"count": 2, "page": 2, **CUT}),
    "pages too few": (f"<PAGE>{TAG}a", {"count": 2}),
    "pages too many": (f"<PAGE>{TAG}a\n" * 3, {"count": 2}),
    "page mark too many": (f"<PAGE>{TAG}a\n<PAGE>{TAG}b\n<PAGE>", {"count": 2}),
    "pages for one image": (f"<PAGE>{TAG}a\n<PAGE>{OTHER}b\n", {}),
    "same page twice": (f"<PAGE>{PAGE}<PAGE>{PAGE}", {"count": 2, "page": 2}),
    "blank page": ("", {"blank": [True]}),
    "blank page with a remark": ("There is no text.", {"blank": [True]}),
    "blank page with text": (f"{TAG}Invented", {"blank": [True]}),
    "one text over the whole page": ("<|det|>text [0, 0, 999, 999]<|/det|>No text here.", {}),
    "stripped answer": ("text [10, 20, 300, 40]Hello", {}),
    "text before the first block": (f"The image is too blurry.\n{TAG}a", {}),
    "out of range": (tag("[-5, 10, 1200, 40]"), {}),
    "swapped corners": (tag("[900, 200, 100, 100]"), {}),
    "stray characters": (tag("[117 - 325, s 500, 392]"), {}),
    "decimals": (tag("[100.4, 99.6, 900, 200]"), {}),
    "fractions": (tag("[0.1, 0.1, 0.9, 0.2]"), {}),
    "other digits": (tag("［１００， ２００， ３００， ４００］"), {}),
    "several boxes": (tag("[[1, 2, 3, 4], [5, 6, 70, 80]]"), {}),
    "unreadable box": (tag("[0, 0, 999]") + f"\n{TAG}b", {}),
    "tag without a box": (f"{tag('')}\n{TAG}b", {}),
    "tag without a label": (tag("[1, 2, 3, 4]", ""), {}),
    "label spelled otherwise": (tag("[1, 2, 3, 4]", "Page Number"), {}),
    "tag not closed": (f"<|det|>title [1, 2, 3, 4] Head\n{TAG}a", {}),
    "tag not opened": (f"{TAG}a\ntitle [5, 6, 7, 8]<|/det|>b", {}),
    "tag mark twice": (f"<|det|>{TAG}a", {}),
    "block twice": (f"{TAG}a\n{TAG}a\n{OTHER}b", {}),
    "marks in the text": (f"{TAG}a <PAGE> in a line", {}),
    "end mark inside": (f"{TAG}a<｜end▁of▁sentence｜>\n{OTHER}b", {}),
    "chat template": (f"{TAG}a<|im_end|>", {}),
    "code fence": (f"```\n{TAG}a\n```", {}),
    "place without text": (f"{TAG}[Non-Text]\n{OTHER}b", {}),
    "place that was not read": (f"{TAG}[Unreadable]\n{OTHER}b", {}),
    "picture link": (f"![](images/0.jpg)\n{TAG}a", {}),
    "table not closed": (f"{TABLE}<tr><td>a\n{TAG}b", {}),
    "byte-level answer": ("<|det|>textĠ[1,Ġ2,Ġ3,Ġ4]<|/det|>TheĠlineĊ", {}),
    "byte-level marks": (f"{TAG}TheĠlineĊ{OTHER}b and c and d", {}),
    "byte-level stretch": (f"{TAG}in two words ä½łåĲįåŃĹ or three", {}),
    "half a character": (f"{TAG}a\ud800b", {}),
    "control character": (f"{TAG}a\x07b", {}),
}


def example(name: str) -> tuple[Part, str]:
    answer, options = EXAMPLES[name]
    options = {"count": 1, "page": 1, "finish_reason": "stop", **options}
    page = options.pop("page")
    parts = parts_of(answer, options.pop("count"), **options)
    return parts.parts[page - 1], parts.warning


def test_every_row_has_its_example() -> None:
    assert list(ROWS) == list(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_words_are_those_of_the_program(name: str) -> None:
    part, about_all = example(name)
    told = "\n".join((part.verdict.reason, *part.warnings, about_all))
    assert ROWS[name]["status"] == part.verdict.status, told
    for sentence in re.findall(r"`([^`]+)`", ROWS[name]["said"]):
        assert sentence in told, told


def test_every_kind_of_repair_is_in_the_table() -> None:
    told = "\n".join(warning for name in EXAMPLES for warning in example(name)[0].warnings)
    for kind in notes.KINDS:
        known = re.escape(notes.sentence(kind, 2)[:-1]).replace("2", r"[\d,]+")
        assert notes.sentence(kind, 1)[:-1] in told or re.search(known, told), kind
