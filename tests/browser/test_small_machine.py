"""A hosted notebook with 2 GB for everything: the server, the kernel and the engine run the quickstart below 1.6 GB."""

from __future__ import annotations

import contextlib
import shutil
import threading
from typing import TYPE_CHECKING

import psutil
import pytest
from lab import Lab, browser, open_notebook

from uocr_nb.demo import quickstart

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(1200)]


def proportional_bytes(root: int) -> int:
    """Memory of a process and all it started, pages that several share counted once."""
    total = 0
    with contextlib.suppress(psutil.NoSuchProcess):
        top = psutil.Process(root)
        for process in [top, *top.children(recursive=True)]:
            with contextlib.suppress(psutil.Error):
                total += process.memory_full_info().pss
    return total


def test_quickstart_fits_a_machine_of_two_gigabytes(
    tmp_path: Path, chromium_path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEM_LIMIT", str(2 * 1024**3))
    shutil.copy(quickstart(), tmp_path / "quickstart.ipynb")
    lab = Lab(tmp_path)
    peak = [0]
    done = threading.Event()

    def sample() -> None:
        while not done.wait(0.25):
            peak[0] = max(peak[0], proportional_bytes(lab.process.pid))

    sampler = threading.Thread(target=sample)
    sampler.start()
    try:
        with browser(chromium_path) as context:
            notebook = open_notebook(context, lab, "quickstart.ipynb")
            notebook.run_all(seconds=900)
            assert notebook.page.locator(".uo-root").count() == 3
    finally:
        done.set()
        sampler.join()
        lab.close()
    print(f"peak of server, kernel and engine together: {peak[0] / 1e9:.2f} GB")
    assert 0.5e9 < peak[0] < 1.6e9, f"{peak[0] / 1e9:.2f} GB"
