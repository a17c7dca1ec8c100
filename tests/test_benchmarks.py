"""The benchmarks run; what they measure is looked at by people."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
def test_the_pipeline_is_measured_against_the_peer() -> None:
    words = [sys.executable, str(ROOT / "benchmarks" / "pipeline.py"), "--quick"]
    seen = subprocess.run(words, check=True, capture_output=True, text=True, timeout=280).stdout
    lines = [line for line in seen.splitlines() if ">=" in line or "<=" in line]
    assert len(lines) == 9
    # The two that no load changes.
    assert all(line.endswith("yes") for line in lines if line.strip().startswith(("files", "pages not ok")))
