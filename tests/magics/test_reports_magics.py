"""Kinds of faults that people reported of tools of this kind: output that lands in another cell, names, empty cells."""

from __future__ import annotations

import queue
import time
from typing import TYPE_CHECKING, Any

import pytest
from kernel_kit import Kernel

import uocr_nb as uocr

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OUTPUTS = ("stream", "display_data", "execute_result", "error")


@pytest.fixture
def kernel() -> Iterator[Kernel]:
    made = Kernel()
    yield made
    made.close()


def outputs(kernel: Kernel, own: str) -> list[dict[str, Any]]:
    """What came out of the kernel until the cell `own` has ended."""
    found: list[dict[str, Any]] = []
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        try:
            message = kernel.client.get_iopub_msg(timeout=1)
        except queue.Empty:
            continue
        if message["msg_type"] in OUTPUTS:
            found.append(message)
        mine = message["parent_header"].get("msg_id") == own
        if mine and message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
            return found
    raise AssertionError("the cell did not end")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_the_log_of_a_start_lands_in_no_other_cell(kernel: Kernel) -> None:
    first = kernel.client.execute("%load_ext uocr_nb\n%uocr_serve cpu --detach")
    begun = outputs(kernel, first)
    assert not [message for message in begun if message["msg_type"] == "error"], begun
    busy = (
        "import time, uocr_nb\n"
        "while not any(one.state == 'ready' for one in uocr_nb.endpoints()):\n"
        "    print('mine')\n"
        "    time.sleep(0.1)\n"
        "print('ready')"
    )
    second = kernel.client.execute(busy)
    shown = outputs(kernel, second)
    assert {message["msg_type"] for message in shown if message["parent_header"]["msg_id"] == second} == {"stream"}
    text = "".join(message["content"]["text"] for message in shown if message["msg_type"] == "stream")
    assert set(text.split()) == {"mine", "ready"}


@pytest.mark.parametrize("name", ["a b (ü #1) 100%.png", "文" * 60 + ".png", "cafe\u0301.png", "it's.png"])
def test_odd_names_are_read_and_saved(shell: Any, page: Path, tmp_path: Path, name: str) -> None:
    from scripted import Reply, engine

    page.rename(tmp_path / name)
    with engine(lambda _number, _body: Reply("<|det|>text [1, 1, 900, 200]<|/det|>Words")) as running:
        served = shell.run_cell(f"%uocr_serve {running.url}")
        assert served.success
        result = shell.run_cell(f'%uocr "{name}" --save "{{source}}.md"').result
    assert isinstance(result, uocr.Document)
    assert [path.read_text(encoding="utf-8").strip() for path in tmp_path.glob("*.md")] == ["Words"]
