"""How many requests go out at once, and turns among the calls that share an endpoint."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from page_script import PAGE, Script, numbers, picture
from scripted import Reply, engine

import uocr_nb as uocr
from uocr_nb.document.model import Status
from uocr_nb.reading.desk import MOST, Gate


def fill(gate: Gate) -> None:
    """Let as many requests be under way as the gate has room for."""
    while gate.room(None, gate.active):
        gate.active += 1


def test_an_engine_that_answers_at_once_gets_more_and_one_that_queues_does_not() -> None:
    quick, queued = Gate(16), Gate(16)
    start = int(quick.limit)
    for _ in range(200):
        for gate, first in ((quick, 0.1), (queued, 4.0)):
            fill(gate)
            gate.answered(time.monotonic(), first, 6.0)
    assert int(quick.limit) == MOST
    assert 16 <= queued.limit <= start


def test_requests_that_were_sent_before_a_step_say_nothing_about_it() -> None:
    gate = Gate(16)
    fill(gate)
    sent = time.monotonic()
    for _ in range(20):
        gate.answered(sent, 0.1, 6.0)
    assert gate.limit == 25.0, "one step for a wave of answers"


def test_refusals_lower_the_number_once_for_each_wave_and_it_comes_back() -> None:
    gate = Gate(16)
    fill(gate)
    before = gate.active
    for _ in range(before):
        gate.refused(began=0.1, wait=0.0)
    assert before / 2 < gate.limit < before, "twenty refusals at one moment are one sign"
    lowered = gate.limit
    for _ in range(400):
        gate.active = int(gate.limit)
        gate.answered(time.monotonic(), 0.1, 6.0)
    assert gate.limit > lowered
    assert int(gate.limit) == MOST


def test_a_number_that_was_asked_for_is_kept_until_the_engine_refuses() -> None:
    gate = Gate(2)
    assert gate.room(5, 4)
    assert not gate.room(5, 5)
    gate.active = 5
    gate.refused(began=0.1, wait=0.0)
    assert not gate.room(5, 4)


@given(
    st.lists(st.tuples(st.sampled_from(["good", "slow", "busy"]), st.floats(0.01, 60)), max_size=80), st.integers(1, 64)
)
def test_the_number_is_never_less_than_one_and_never_wild(events: list[tuple[str, float]], slots: int) -> None:
    gate = Gate(slots)
    for kind, seconds in events:
        gate.active = int(gate.limit)
        if kind == "busy":
            gate.refused(began=float("inf"), wait=0.0)
        else:
            gate.answered(time.monotonic(), seconds * (0.01 if kind == "good" else 0.9), seconds)
        assert 1 <= gate.limit <= max(MOST, 1.25 * slots)


def test_two_calls_that_share_an_endpoint_take_turns() -> None:
    both = threading.Event()
    order: list[int] = []

    def special(n: int, _times: int) -> Reply | None:
        order.append(n)
        if len({n > 100 for n in order}) == 2:
            both.set()
        return Reply(PAGE.format(n=n), hold=both if n <= 2 else None)

    async def cells(endpoint: Any) -> list[uocr.Document]:
        first = asyncio.create_task(uocr.aocr([picture(n) for n in range(1, 21)], endpoint=endpoint, progress=False))
        while not order:
            await asyncio.sleep(0.01)
        second = asyncio.create_task(
            uocr.aocr([picture(n) for n in range(101, 106)], endpoint=endpoint, concurrency=2, progress=False)
        )
        return [await first, await second]

    script = Script(special)
    with engine(script) as running, uocr.serve(running.url) as endpoint:
        documents = asyncio.run(cells(endpoint))
    assert [document.status for document in documents] == [{Status.OK: 20}, {Status.OK: 5}]
    asked = [numbers(body)[0] for body in script.bodies]
    last_of_second = max(n for n, page in enumerate(asked) if page > 100)
    assert last_of_second < len(asked) - 5, "the short call does not wait for the end of the long one"
