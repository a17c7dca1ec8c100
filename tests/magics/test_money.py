"""Magics and money: what costs nothing asks for nothing, and a Job is started once and stopped, in a real shell."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from jobs_kit import Hub, hub

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["hub"]

SCRIPT = """
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config
config = Config()
config.HistoryManager.enabled = False
shell = InteractiveShell.instance(config=config)
for cell in {cells!r}:
    shell.run_cell(cell, store_history=True)
"""


def run(hub: Hub, folder: Path, *cells: str) -> str:
    """Run cells in a shell of their own that takes `hub` for the Hub."""
    environ = {
        **os.environ,
        "HF_ENDPOINT": hub.endpoint,
        "HF_TOKEN": hub.token,
        "HF_HOME": str(folder / "hf"),
        "UOCR_STATE_DIR": str(folder / "state"),
        "UOCR_CACHE_DIR": str(folder / "cache"),
    }
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(cells=cells)],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert hub.token not in done.stdout + done.stderr
    return done.stdout + done.stderr


def test_a_bare_start_is_free_whatever_token_is_there(hub: Hub, tmp_path: Path) -> None:
    told = run(hub, tmp_path, "%load_ext uocr_nb", "%uocr_serve", "%uocr_stop")
    assert "ready in" in told
    assert "%uocr_serve vllm (l4x1, at most $0.41)" in told
    assert hub.posts() == []
    # The price list is public, so nobody is told who asks (the Hub's client once a day asks a thing of its own).
    assert {record.auth for record in hub.records()} == {"none"}
    assert [record.route for record in hub.records() if record.route != "unknown"] == ["hardware"]


def test_one_line_three_times_is_one_job_with_its_clock_and_its_end(hub: Hub, tmp_path: Path) -> None:
    line = "%uocr_serve vllm --timeout 30m"
    told = run(hub, tmp_path, "%load_ext uocr_nb", line, line, line, "%uocr_status", "%uocr_jobs", "%uocr_stop")
    assert "vllm on l4x1" in told
    assert told.count("already ready") == 2
    assert "left" in told
    assert "this kernel" in told
    assert "Nothing is running." in told
    posts = hub.posts()
    assert len(posts) == 1
    (job,) = hub.jobs()
    assert len(hub.cancels(job.id)) == 1


def test_over_the_cap_is_three_lines_and_nothing_is_asked_for(hub: Hub, tmp_path: Path) -> None:
    told = run(hub, tmp_path, "%load_ext uocr_nb", "%uocr_serve vllm --flavor h200x8")
    error = told[told.index("UsageError:") :].strip().splitlines()
    assert len(error) == 3
    assert "could cost $20.01" in error[0]
    assert "Nothing was started and nothing is charged." in error[1]
    assert hub.posts() == []
