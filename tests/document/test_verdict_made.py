"""Pages that truly repeat, and loops, by the hundred: how many get the wrong verdict."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.helpers.repeating import HONEST, LOOPS, verdicts

# One sentence on every line of a whole page, or one syllable for ever, cut at the token limit looks like a loop.
ALLOWED = {"finished": 0.0, "cut at the limit": 0.06, "watched": 0.01, "loop to the limit": 0.0, "loop unwatched": 0.03}

# An honest table of equal rows, cut at the limit, cannot be told from a loop; so the watch lets the first 16,000
# characters of such rows pass, and a loop of them is found at its end.
EXCEPT = {("cut at the limit", "same_rows"), ("loop unwatched", "rows")}


@pytest.mark.parametrize("seed", [1])
def test_honest_pages_and_loops_are_told_apart(seed: int) -> None:
    wrong: Counter[str] = Counter()
    tried: Counter[str] = Counter()
    for name, what, false in verdicts(3, seed):
        tried[what] += 1
        if false and (what, name) not in EXCEPT:
            wrong[what] += 1
            print(what, name)
    assert tried["finished"] == 3 * len(HONEST)
    assert tried["loop unwatched"] == 3 * len(LOOPS)
    for what, share in ALLOWED.items():
        assert wrong[what] <= share * tried[what], what
