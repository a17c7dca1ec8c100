"""How fast answers are read: MB/s of ordinary and of hostile text, whole and as a stream.

python benchmarks/grammar.py
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from uocr_nb.document.grammar import AnswerParser, parse_answer, strip_special, write_answer
from uocr_nb.document.model import Block
from uocr_nb.document.verdict import LoopWatch, judge

if TYPE_CHECKING:
    from collections.abc import Callable

MB = 1_000_000
SENTENCE = "The reader takes a page as a picture and gives it back as text, with the place of each block beside it. "


def page(paragraph: int) -> list[Block]:
    """Blocks as on a page of a report: a title, paragraphs of `paragraph` sentences, a table, a formula, a number."""
    cells = "".join(f"<tr><td>row {n}</td><td>{n * 37 % 101}.5</td><td>ok &amp; done</td></tr>" for n in range(8))
    return [
        Block("title", "2.1 How it is read", (100, 80, 500, 100)),
        *(Block("text", SENTENCE * paragraph, (100, 110 + 40 * n, 890, 145 + 40 * n)) for n in range(12)),
        Block("table", f"<table>{cells}</table>", (100, 600, 890, 800)),
        Block("equation", "\\[\nE = m c ^ {2} \\tag {1}\n\\]", (300, 820, 700, 860)),
        Block("image", "", (100, 870, 890, 930)),
        Block("page_number", "12", (490, 950, 510, 965)),
    ]


def answer(paragraph: int, size: int = 4 * MB) -> str:
    """An answer of about `size` characters."""
    one = write_answer([page(paragraph)], multi=True)
    return "\n".join([one] * (size // len(one)))


def hostile() -> dict[str, str]:
    """Texts of 1 MB made to be slow to read."""
    shapes = ["<", "<|", "<|det|>", "<|/det|>", "<|ref|>", "<PAGE>", "\n<PAGE>\n", "[", " ", "\n", "\u200b", "<\u200b"]
    shapes += [
        "Ġ",
        "\ntext [",
        "<|det|>text [" + "[" * 500,
        "<|det|>" + " " * 4_000,
        "<table",
        "\\[",
        "[1]<|/det|>",
        "(n",
    ]
    texts = {shape[:24]: shape * (MB // len(shape)) for shape in shapes}
    texts["one bracket nest"] = "<|det|>text " + "[" * (MB // 2) + "]" * (MB // 2) + "<|/det|> x"
    texts["one long number"] = "<|det|>text [" + "9" * MB + ", 1, 2, 3]<|/det|> x"
    return texts


def seconds(work: Callable[[], object]) -> float:
    """Processor time of the best of three runs: the machine may have other work."""
    times = []
    for _ in range(3):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return min(times)


def stream(text: str, size: int, *, events: bool) -> None:
    """Feed `text` in chunks of `size` characters."""
    parser = AnswerParser(events=events)
    for at in range(0, len(text), size):
        parser.feed(text[at : at + size])
    parser.finish()


def watch(text: str) -> None:
    """Look for loops in a stream of tokens."""
    loops = LoopWatch()
    for at in range(0, len(text), 5):
        loops.feed(text[at : at + 5])


def main() -> None:
    """Print the table."""
    print(f"{'what':<44}{'MB/s':>8}")
    for name, paragraph in (("lines of 1 sentence", 1), ("paragraphs of 5 sentences", 5)):
        text = answer(paragraph)
        size = len(text.encode()) / MB
        print(f"{'whole, ' + name:<44}{size / seconds(lambda text=text: parse_answer(text)):>8.1f}")
        stripped = strip_special(text)
        print(
            f"{'whole, stripped, ' + name:<44}{len(stripped) / MB / seconds(lambda t=stripped: parse_answer(t)):>8.1f}"
        )
    text = answer(1, MB)
    print(f"{'chunks of 5 characters, with events':<44}{1 / seconds(lambda: stream(text, 5, events=True)):>8.1f}")
    print(
        f"{'chunks of 1,000 characters, with events':<44}{1 / seconds(lambda: stream(text, 1_000, events=True)):>8.1f}"
    )
    print(f"{'watch for loops, chunks of 5 characters':<44}{1 / seconds(lambda: watch(text)):>8.1f}")
    print(f"\n{'hostile text of 1 MB':<28}{'whole, s':>10}{'verdict, s':>12}{'in fives, s':>12}")
    for name, text in hostile().items():
        began = time.process_time()
        pages = parse_answer(text)
        read = time.process_time() - began
        judge(pages[-1], raw=text, finish_reason="length", max_tokens=8192)
        judged = time.process_time() - began - read
        stream(text, 5, events=True)
        streamed = time.process_time() - began - read - judged
        print(f"{name!r:<28}{read:>10.2f}{judged:>12.2f}{streamed:>12.2f}")


if __name__ == "__main__":
    main()
