"""Pages that truly repeat, and loops, by the hundred: how many get the wrong verdict."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.helpers.repeating import HONEST, LOOPS, verdicts

# One sentence on every line of a whole page, a table of equal rows, or one syllable for ever, cut at the token limit
# looks like a loop. A loop that the watch lets pass is found at its end, and costs some tokens more.
ALLOWED = {"finished": 0.0, "cut at the limit": 0.1, "watched": 0.01, "loop to the limit": 0.0, "loop unwatched": 0.12}


@pytest.mark.parametrize("seed", [1])
def test_honest_pages_and_loops_are_told_apart(seed: int) -> None:
    wrong: Counter[str] = Counter()
    tried: Counter[str] = Counter()
    for name, what, false in verdicts(3, seed):
        tried[what] += 1
        if false:
            wrong[what] += 1
            print(what, name)
    assert tried["finished"] == 3 * len(HONEST)
    assert tried["loop unwatched"] == 3 * len(LOOPS)
    for what, share in ALLOWED.items():
        assert wrong[what] <= share * tried[what], what
