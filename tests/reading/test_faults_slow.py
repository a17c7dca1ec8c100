"""Sixty pages through the simulated engine while it, or the kernel, dies or is too busy: how often each is asked."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import uocr_nb as uocr
from uocr_nb.document.model import Status
from uocr_nb.sources import RenderSpec, default_renderer, resolve
from uocr_nb.support.net import free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PAGES = 60
AT_ONCE = 8

KERNEL = f"""
import json, sys
import uocr_nb as uocr
with uocr.serve(sys.argv[1]) as endpoint:
    document = uocr.ocr(sys.argv[2], endpoint=endpoint, concurrency={AT_ONCE}, progress=False)
print(json.dumps([document.status[status] for status in document.status]), len(document.pages))
"""


def until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.02)


class Engine:
    """The simulated engine at one address, which it comes back to; its notes outlive it."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "asked.jsonl"
        self.log.touch()
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self._child: subprocess.Popen[str] | None = None

    def start(self, *faults: str) -> Engine:
        words = [sys.executable, str(ROOT / "benchmarks" / "simulated_engine.py"), "--port", str(self.port)]
        words += ["--log", str(self.log), "--median", "80", "--prefill-ms", "20", *faults]
        self._child = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        assert self._child.stdout is not None
        assert self._child.stdout.readline()
        return self

    def kill(self) -> None:
        if self._child is not None:
            self._child.kill()
            self._child.wait()
            assert self._child.stdout is not None
            self._child.stdout.close()
            self._child = None

    def notes(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines() if line.endswith("}")]

    def finished(self) -> int:
        return sum(note["what"] == "finished" for note in self.notes())

    def asked(self) -> Counter[str]:
        """How often each page image was asked for, refusals among them."""
        return Counter(note["image"] for note in self.notes() if note["image"])

    def refused(self) -> Counter[str]:
        return Counter(note["image"] for note in self.notes() if note["what"].startswith("refused"))


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    engine = Engine(tmp_path)
    yield engine
    engine.kill()


@pytest.fixture(scope="module")
def pdf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import pymupdf

    path = tmp_path_factory.mktemp("pages") / "sixty.pdf"
    with pymupdf.open() as document:
        for number in range(1, PAGES + 1):
            page = document.new_page(width=300, height=400)
            page.insert_textbox((30, 30, 270, 370), f"Page {number}. " + "Some words of it. " * 30, fontsize=11)
        document.save(path)
    return path


def test_the_engine_dies_at_page_30_and_is_started_again(engine: Engine, pdf: Path) -> None:
    engine.start()

    def fate() -> None:
        until(lambda: engine.finished() >= 30)
        engine.kill()
        time.sleep(1.0)
        engine.start()

    trouble = threading.Thread(target=fate)
    trouble.start()
    with uocr.serve(engine.url) as endpoint:
        document = uocr.ocr(pdf, endpoint=endpoint, concurrency=AT_ONCE, cache=False, progress=False)
    trouble.join()
    assert document.status == {Status.OK: PAGES}
    asked = engine.asked()
    assert len(asked) == PAGES
    # Only what was under way when it died is asked for again.
    assert asked.most_common(1)[0][1] <= 2
    assert asked.total() <= PAGES + AT_ONCE


def test_a_tenth_of_the_requests_is_refused_as_too_many(engine: Engine, pdf: Path) -> None:
    engine.start("--busy", "0.1")
    with uocr.serve(engine.url) as endpoint:
        document = uocr.ocr(pdf, endpoint=endpoint, cache=False, progress=False)
    assert document.status == {Status.OK: PAGES}
    asked, refused = engine.asked(), engine.refused()
    assert refused.total() >= 3
    assert len(asked) == PAGES
    assert {image: count - refused[image] for image, count in asked.items()} == dict.fromkeys(asked, 1)


def test_one_page_that_always_fails_is_given_up_alone(engine: Engine, pdf: Path) -> None:
    bad = default_renderer().render(resolve(pdf)[0], 17, RenderSpec()).sha256
    engine.start("--fail", bad)
    with uocr.serve(engine.url) as endpoint:
        document = uocr.ocr(pdf, endpoint=endpoint, cache=False, progress=False)
    assert document.status == {Status.OK: PAGES - 1, Status.FAILED: 1}
    assert document.page(17).status is Status.FAILED
    asked = engine.asked()
    assert asked.pop(bad) == 3
    assert asked == dict.fromkeys(asked, 1)
    assert len(asked) == PAGES - 1


def test_the_kernel_dies_at_page_40_and_the_cell_is_run_again(engine: Engine, pdf: Path, tmp_path: Path) -> None:
    engine.start()
    words = [sys.executable, "-c", KERNEL, engine.url, str(pdf)]
    place = os.environ | {"PYTHONPATH": str(ROOT), "UOCR_CACHE_DIR": str(tmp_path / "cache")}
    with subprocess.Popen(words, env=place, stdout=subprocess.PIPE) as first:
        until(lambda: engine.finished() >= 40)
        first.send_signal(signal.SIGKILL)
    before = engine.finished()
    again = subprocess.run(words, env=place, check=True, capture_output=True, text=True, timeout=120)
    assert again.stdout.split() == [f"[{PAGES}]", str(PAGES)]
    asked = engine.asked()
    assert len(asked) == PAGES
    assert asked.most_common(1)[0][1] <= 2
    # What was under way, and what had just come and was not yet put away, is asked for again; nothing else.
    assert asked.total() <= PAGES + 2 * AT_ONCE
    assert before >= 40
    third = subprocess.run(words, env=place, check=True, capture_output=True, text=True, timeout=120)
    assert third.stdout == again.stdout
    assert engine.asked() == asked
