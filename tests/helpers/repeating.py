"""Answers about pages that truly repeat, and answers of an engine that runs in a loop, by the hundred.

``python -m tests.helpers.repeating 500`` counts how many of them get the wrong verdict.
"""

from __future__ import annotations

import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from uocr_nb.document.grammar import parse_answer
from uocr_nb.document.model import Status
from uocr_nb.document.verdict import LoopWatch, judge

WORDS = re.findall(
    r"\w+",
    "account address amount balance bank bread bridge building card castle chapter church city clock coffee company "
    "copper corner country cousin customer danger daughter delivery district doctor dollar engine evening family "
    "farmer field flower forest garden glass harbour history hospital island journal kitchen ladder letter library "
    "machine market meadow meeting morning mountain museum number office orchard paper period picture police "
    "president price question railway record river school season second silver station street summer table teacher "
    "telephone theatre ticket travel valley village water weather window winter yellow",
)

Maker = Callable[[random.Random], str]
HEAD = "<|det|>title [100, 40, 900, 70]<|/det|>"


def text(body: str) -> str:
    return f"<|det|>text [100, 90, 900, 950]<|/det|>{body}"


def table(rows: Sequence[Sequence[object]]) -> str:
    cells = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<|det|>table [50, 90, 950, 960]<|/det|><table>{cells}</table>"


def lines(bodies: list[str], *, label: str = "text") -> str:
    step = 880 / max(1, len(bodies))
    return "\n".join(
        f"<|det|>{label} [80, {90 + int(n * step)}, 920, {90 + int(n * step + step * 0.8)}]<|/det|>{body}"
        for n, body in enumerate(bodies)
    )


def words(dice: random.Random, count: int) -> str:
    return " ".join(dice.choices(WORDS, k=count))


def blockwise(dice: random.Random, bodies: list[str]) -> str:
    """The same lines in one block, or each in a block of its own."""
    return lines(bodies) if dice.random() < 0.5 else text("\n".join(bodies))


def counted(dice: random.Random) -> str:
    first, count = dice.choice([1, 1, 1, 1900, 100]), dice.randint(50, 365)
    numbers = [f"{n}{dice.choice(['', '.', ')'])}" for n in range(first, first + count)]
    if dice.random() < 0.4:
        return table([numbers[n : n + 7] for n in range(0, count, 7)])
    return text(dice.choice(["\n", " ", ", "]).join(numbers))


def timetable(dice: random.Random) -> str:
    every = dice.choice([5, 10, 12, 15, 20, 30])
    rows: list[list[object]] = [
        [f"{h:02}:{m:02}", dice.choice(["Bus", "S1"]), "A", *(f"{h:02}:{(m + 7 * k) % 60:02}" for k in range(1, 4))]
        for h in range(4, 24)
        for m in range(0, 60, every)
    ]
    return table(rows[:160])


def form(dice: random.Random) -> str:
    row = dice.choice([["Name", "____", "Date", "____"], ["", "", "", ""], ["☐ Yes", "☐ No"], ["...", "..."]])
    count = dice.randint(15, 60)
    return table([list(row)] * count) if dice.random() < 0.6 else lines([" ".join(row).strip() or "____"] * count)


def zeros(dice: random.Random) -> str:
    zero = dice.choice(["0", "0.00", "-", "P", "n/a"])
    return table([[zero] * dice.randint(4, 30) for _ in range(dice.randint(20, 45))])


def contents(dice: random.Random) -> str:
    fill = dice.choice([".", " .", "_", "…"])
    bodies = [
        f"{n}. {words(dice, dice.randint(1, 3))} {fill * dice.randint(40, 90)} {n * 3 + dice.randint(0, 2)}"
        for n in range(1, dice.randint(25, 70))
    ]
    return blockwise(dice, bodies)


def lyrics(dice: random.Random) -> str:
    refrain = [words(dice, 5) for _ in range(dice.randint(2, 4))] * dice.randint(1, 3)
    bodies: list[str] = []
    for _ in range(dice.randint(3, 7)):
        bodies += [words(dice, 6) for _ in range(4)] + refrain
    return blockwise(dice, bodies)


def one_sentence(dice: random.Random) -> str:
    return blockwise(dice, [words(dice, dice.randint(4, 9)).capitalize() + "."] * dice.randint(30, 80))


def syllables(dice: random.Random) -> str:
    return text(dice.choice(["la ", "Hallelujah, ", "na na "]) * dice.randint(40, 200))


def products(dice: random.Random) -> str:
    most = dice.randint(9, 20)
    if dice.random() < 0.5:
        return table([[a * b for b in range(1, most + 1)] for a in range(1, most + 1)])
    return blockwise(dice, [f"{a} x {b} = {a * b}" for a in range(1, 11) for b in range(1, most + 1)])


def prices(dice: random.Random) -> str:
    price = dice.choice(["9.99", "1.50", "$5"])
    return table([[words(dice, 2), "1 pc", price, price] for _ in range(dice.randint(30, 70))])


def barcodes(dice: random.Random) -> str:
    first = dice.randrange(10**12, 9 * 10**12)
    return blockwise(dice, [str(first + dice.choice([1, 7]) * n) for n in range(dice.randint(40, 150))])


def calendar(dice: random.Random) -> str:
    rows: list[list[object]] = []
    for _ in range(12):
        rows.append(["Mo", "Tu", "We", "Th", "Fr", "Sa", "Su"])
        days: list[object] = ["", *range(1, dice.choice([29, 31, 32]))]
        rows += [days[n : n + 7] for n in range(0, len(days), 7)]
    return table(rows)


def logarithms(dice: random.Random) -> str:
    step = dice.choice([1, 2, 5])
    return table([[n, *(n * 100 + step * k for k in range(10))] for n in range(dice.randint(30, 60))])


def labels(dice: random.Random) -> str:
    address = f"{words(dice, 2).title()}\n{words(dice, 1).title()} Street 5\n12345 Town"
    return "\n".join(
        f"<|det|>text [{60 + 300 * column}, {40 + 80 * row}, {330 + 300 * column}, {110 + 80 * row}]<|/det|>{address}"
        for row in range(11)
        for column in range(3)
    )


def hex_dump(dice: random.Random) -> str:
    rows = [f"{n * 16:08x}  " + "00 " * 16 for n in range(dice.randint(30, 64))]
    return text("\n".join(rows))


def matrix(dice: random.Random) -> str:
    size = dice.randint(10, 32)
    return table([[int(a == b) for b in range(size)] for a in range(size)])


def same_rows(dice: random.Random) -> str:
    """A table of measured zeros, without names: eighty rows of ten fill a page."""
    columns, cell = dice.randint(3, 10), dice.choice(["0.00", "-", "n/a", "0"])
    return table([[cell] * columns for _ in range(dice.randint(20, 80))])


def prose(dice: random.Random) -> str:
    return HEAD + "A page\n" + lines([words(dice, dice.randint(20, 80)) for _ in range(dice.randint(4, 20))])


HONEST: dict[str, Maker] = {
    maker.__name__: maker
    for maker in (
        *(counted, timetable, form, zeros, contents, lyrics, one_sentence, syllables, products, prices, barcodes),
        *(calendar, logarithms, labels, hex_dump, matrix, same_rows, prose),
    )
}


def same_block(dice: random.Random) -> str:
    return f"<|det|>text [100, 500, 900, 530]<|/det|>{words(dice, dice.randint(2, 30))}\n" * dice.randint(60, 400)


def few_blocks(dice: random.Random) -> str:
    unit = "".join(
        f"<|det|>text [100, {100 + 40 * n}, 900, {130 + 40 * n}]<|/det|>{words(dice, dice.randint(1, 12))}\n"
        for n in range(dice.randint(2, 12))
    )
    return unit * dice.randint(10, 40)


def page_again(dice: random.Random) -> str:
    unit = lines([words(dice, dice.randint(3, 20)) for _ in range(dice.randint(14, 40))]) + "\n"
    return unit * dice.randint(2, 6)


def growing_box(dice: random.Random) -> str:
    body, step = words(dice, 6), dice.randint(1, 12)
    return "".join(f"<|det|>text [100, 200, 900, {min(999, 260 + step * n)}]<|/det|>{body}\n" for n in range(150))


def sliding_box(dice: random.Random) -> str:
    body, step = words(dice, 3), dice.randint(5, 18)
    return "".join(
        f"<|det|>text [100, {min(980, 80 + step * n)}, 900, {min(999, 80 + step * n + 12)}]<|/det|>{body}\n"
        for n in range(300)
    )


def counting_blocks(dice: random.Random) -> str:
    return "".join(
        f"<|det|>text [100, {min(960, 90 + 9 * n)}, 200, {min(970, 97 + 9 * n)}]<|/det|>{n}\n"
        for n in range(1, dice.randint(700, 1500))
    )


def spans(dice: random.Random) -> str:
    unit = words(dice, dice.randint(1, 40)) + " "
    return text(f"{words(dice, 30)}\n" + unit * (dice.randint(1_800, 9_000) // len(unit) + 10))


def cells(dice: random.Random) -> str:
    cell = dice.choice(["<td>B</td>", "<td>0</td>", "<td>J</td><td>B</td>", "<td></td>", '<td colspan="2"></td>'])
    return table([["A", "B"]]).replace("</table>", "<tr>") + cell * dice.randint(1_700, 3_000)


def rows(dice: random.Random) -> str:
    row = "<tr>" + "".join(f"<td>{words(dice, 1)}</td>" for _ in range(dice.randint(1, 6))) + "</tr>"
    return table([["A", "B"]]).replace("</table>", "") + row * dice.randint(150, 700)


def counting(dice: random.Random) -> str:
    step, between = dice.choice([1, 2, 5, 10]), dice.choice(["\n", " ", ", ", ". item\n", "</td><td>"])
    return text(between.join(str(n * step) for n in range(1, dice.randint(1_200, 3_000))))


def formula(dice: random.Random) -> str:
    unit = dice.choice(["\\frac{1}{", "x ^ {2} + ", "\\quad ", "\\mathrm{~ d ~} ", "\\left(", "a _ {1} , "])
    return "<|det|>equation [100, 400, 900, 440]<|/det|>\\[\ny = " + unit * dice.randint(300, 900)


def dots(dice: random.Random) -> str:
    return text(words(dice, 9) + " " + dice.choice([".", "_", "-", " .", "…", "0"]) * dice.randint(5_000, 9_000))


def babble(dice: random.Random) -> str:
    return text("Begin " + "".join(dice.choices(").]\n", k=dice.randint(2_000, 4_000))))


def standing_numbers(dice: random.Random) -> str:
    return "".join(f"<|det|>text [100, 950, 200, 970]<|/det|>{n}\n" for n in range(1, dice.randint(200, 600)))


LOOPS: dict[str, Maker] = {
    maker.__name__: maker
    for maker in (
        *(same_block, few_blocks, page_again, growing_box, sliding_box, counting_blocks, spans, cells, rows, counting),
        *(formula, dots, babble, standing_numbers),
    )
}


def watched(answer: str) -> int | None:
    """Characters after which the watch would cut the stream; None when it lets it pass."""
    loops = LoopWatch()
    return next((at for at in range(0, len(answer), 20) if loops.feed(answer[at : at + 20])), None)


def status(answer: str, finish: str | None) -> Status:
    return judge(parse_answer(answer)[-1], raw=answer, finish_reason=finish, max_tokens=8192).status


def verdicts(each: int, seed: int = 0) -> Iterator[tuple[str, str, bool]]:
    """For `each` answers of each kind: its name, what was tried, and whether it went wrong."""
    for name, maker in HONEST.items():
        for n in range(each):
            dice = random.Random(f"{seed} {name} {n}")
            answer = maker(dice)
            yield name, "finished", status(answer, dice.choice(["stop", None])) is not Status.OK
            cut = answer[: dice.randint(len(answer) // 2, len(answer))]
            yield name, "cut at the limit", status(cut, "length") is not Status.TRUNCATED
            yield name, "watched", watched(answer) is not None
    for name, maker in LOOPS.items():
        for n in range(each):
            dice = random.Random(f"{seed} {name} {n}")
            answer = HEAD + "Head\n" + maker(dice)
            yield name, "loop to the limit", status(answer, "length") is not Status.LOOPING
            yield name, "loop unwatched", watched(answer * (1 + 40_000 // len(answer))) is None


def main() -> None:
    """Print how many went wrong, by kind."""
    tried: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    for name, what, false in verdicts(int(sys.argv[1]) if len(sys.argv) > 1 else 100):
        tried[what] += 1
        wrong[what] += false
        wrong[f"{what}: {name}"] += false
    for what, count in tried.items():
        print(
            f"{what:<20}{count:>7}{wrong[what]:>6} wrong",
            *(f"{k.split(': ')[1]} {v}" for k, v in wrong.items() if v and k.startswith(f"{what}: ")),
        )


if __name__ == "__main__":
    main()
