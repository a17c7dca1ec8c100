"""Whether low confidence finds the blocks with errors: AUC of `Block.confidence` on pages whose text is known.

    python benchmarks/confidence.py FOLDER [--endpoint URL] [--show]

FOLDER holds page images and ``index.json``: a list of objects with ``name``, ``image`` and ``gt`` (the file of the true
text). A block has errors when its letters and digits are no stretch of the true text, whatever the order of the blocks;
signs and marks do not count, as a text layer often has its own quotation marks and bullets. Blocks without a letter or
digit are left out. AUC is the chance that of two blocks, one with errors and one without, the one with errors has the
lower confidence: 0.5 by dice, 1 at best.
"""

from __future__ import annotations

import argparse
import json
import re
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING

import uocr_nb as uocr

if TYPE_CHECKING:
    from collections.abc import Sequence

TAG = re.compile(r"</?(?:table|tr|td|th|thead|tbody|br|sub|sup)\b[^>]*>", re.IGNORECASE)
THRESHOLDS = (0.5, 0.7, 0.8, 0.9, 0.95)


def letters(text: str) -> str:
    """Letters and digits, case and form unified."""
    unified = unicodedata.normalize("NFKC", TAG.sub(" ", text)).replace("ſ", "s").casefold()
    return "".join(char for char in unified if char.isalnum())


def errors(read: str, truth: str) -> int:
    """Fewest edits that make `read` a stretch of `truth` (Myers' bit vectors: one step a letter of `truth`)."""
    if not read:
        return 0
    places: dict[str, int] = {}
    for n, char in enumerate(read):
        places[char] = places.get(char, 0) | 1 << n
    whole, last = (1 << len(read)) - 1, 1 << len(read) - 1
    up, down = whole, 0
    score = least = len(read)
    for char in truth:
        same = places.get(char, 0)
        across = (((same & up) + up) ^ up) | same
        more = down | ~(across | up) & whole
        fewer = up & across
        score += bool(more & last) - bool(fewer & last)
        least = min(least, score)
        more, fewer = more << 1 & whole, fewer << 1 & whole
        up, down = fewer | ~(same | down | more) & whole, more & (same | down)
    return least


def auc(wrong: Sequence[float], right: Sequence[float]) -> float:
    """Chance that one of `wrong` is below one of `right`; a tie counts half."""
    wins = sum((bad < good) + (bad == good) / 2 for bad in wrong for good in right)
    return wins / (len(wrong) * len(right)) if wrong and right else float("nan")


def measure(folder: Path, endpoint: uocr.Endpoint, *, show: bool) -> list[tuple[float, int]]:
    """Confidence and errors of every block of the pages in `folder`."""
    found: list[tuple[float, int]] = []
    for entry in json.loads((folder / "index.json").read_text(encoding="utf-8")):
        truth = letters((folder / entry["gt"]).read_text(encoding="utf-8"))
        page = uocr.ocr(folder / entry["image"], endpoint=endpoint, progress=False, show="none").page(1)
        blocks = [block for block in page.blocks if block.confidence is not None and letters(block.text)]
        pairs = [(block.confidence or 0.0, errors(letters(block.text), truth)) for block in blocks]
        found += pairs
        print(f"{entry['name']:<20} {len(pairs):3} blocks, {sum(count > 0 for _, count in pairs):3} with errors")
        if show:
            for (confidence, count), block in sorted(zip(pairs, blocks, strict=True), key=lambda one: one[0]):
                print(f"    {confidence:.3f} {count:4} errors  {block.text[:60]!r}")
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--endpoint", default="cpu", help="an engine or a URL (cpu)")
    parser.add_argument("--show", action="store_true", help="every block")
    options = parser.parse_args()
    with uocr.serve(options.endpoint) as endpoint:
        found = measure(options.folder, endpoint, show=options.show)
    wrong = [confidence for confidence, count in found if count]
    right = [confidence for confidence, count in found if not count]
    print(f"AUC {auc(wrong, right):.3f} ({len(wrong)} blocks with errors, {len(right)} without)")
    for limit in THRESHOLDS:
        caught = sum(confidence < limit for confidence in wrong)
        listed = caught + sum(confidence < limit for confidence in right)
        print(f"below {limit:<4} {listed:4} blocks, with {caught} of the {len(wrong)} that have errors")


if __name__ == "__main__":
    main()
