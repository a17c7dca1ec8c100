"""The table of reports names tests that are there."""

from __future__ import annotations

import re
from pathlib import Path

FOLDER = Path(__file__).parent


def rows() -> list[list[str]]:
    lines = (FOLDER / "reports.md").read_text(encoding="utf-8").splitlines()
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if line.startswith("| B")]


def test_every_report_has_its_proof_or_its_reason() -> None:
    numbers = [row[0].strip("| ") for row in rows()]
    assert len(numbers) == len(set(numbers)) == 61
    assert numbers == sorted(numbers)
    assert all(len(row) == 4 and all(row) for row in rows())


def test_every_test_of_the_table_is_there() -> None:
    named = [re.findall(r"`([\w/]+\.py)::(\w+)`", row[3]) for row in rows()]
    assert all(tests or not row[3].startswith("`") for tests, row in zip(named, rows(), strict=True))
    pairs = sorted({pair for tests in named for pair in tests})
    missing = [f"{file}::{test}" for file, test in pairs if not there(file, test)]
    assert missing == [], "renamed or taken away: name the test that proves it now"


def there(file: str, test: str) -> bool:
    path = FOLDER / file
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    return re.search(rf"^(?:async )?def {test}\(", text, re.MULTILINE) is not None
