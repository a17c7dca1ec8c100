"""The host `process`, with a fast engine in the real one's place."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import stat
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from uocr_nb.errors import EndpointError, MissingExtraError, OptionError
from uocr_nb.serving import ledger, start
from uocr_nb.support import loop

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("fake")


def _asked(endpoint: Any) -> Any:
    """What the engine was started with."""

    async def ask() -> Any:
        return (await endpoint.http().get(endpoint.base_url + "/env")).json()

    return loop.wait(ask())


def test_an_engine_starts_answers_and_stops(until: Callable[..., Any], runs: Callable[[int], bool]) -> None:
    events = []
    with start.serve("cpu", on_event=lambda event: events.append((event, threading.current_thread()))) as endpoint:
        assert endpoint.state == "ready"
        assert (endpoint.engine, endpoint.host, endpoint.name, endpoint.price) == ("cpu", "process", "cpu", 0.0)
        assert [model.id for model in endpoint.openai().models.list()] == ["Unlimited-OCR"]
        assert start.current() is endpoint
        pid = endpoint._runs_on._who.pid
        entry = ledger.entries()[0]
        assert entry.process.pid == pid
    assert endpoint.state == "stopped"
    assert until(lambda: not runs(pid))
    assert ledger.entries() == []
    assert start.current() is None
    endpoint.stop()
    stages = [event.stage for event, _ in events if event.stage != "log"]
    assert stages == ["starting", "loading", "checking", "ready"]
    assert {thread for _, thread in events} == {threading.current_thread()}
    assert "fake engine starts" in endpoint.logs


def test_the_key_is_nowhere_but_on_the_pipe() -> None:
    events = []
    endpoint = start.serve("cpu", on_event=events.append)
    key = endpoint.credential()
    assert len(key) > 30
    asked = _asked(endpoint)
    assert asked["hello"]["key"] == key
    endpoint_file = ledger.entries()[0].file
    assert stat.S_IMODE(endpoint_file.stat().st_mode) == 0o600
    shown = json.dumps(
        [
            repr(endpoint),
            endpoint.describe(),
            repr(events),
            endpoint.logs,
            asked["env"],
            asked["argv"],
            endpoint_file.read_text(),
            repr(vars(endpoint)),
            repr(endpoint.openai().__dict__),
        ]
    )
    assert key not in shown
    assert any("prints its key: ***" in line for line in endpoint.logs)


def test_the_engine_gets_no_token_and_what_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_fake_leak_123")
    monkeypatch.setenv("UOCR_KEY", "hf_fake_leak_124")
    monkeypatch.setenv("SOME_API_KEY", "hf_fake_leak_125")
    monkeypatch.setenv("PGPASSWORD", "hf_fake_leak_126")
    monkeypatch.setenv("CPU_LIMIT", "1")
    asked = _asked(start.serve("cpu", low_memory=True, env={"MY_TOKEN": "given"}))
    assert "hf_fake_leak" not in json.dumps(asked)
    assert asked["env"]["MY_TOKEN"] == "given"
    assert asked["hello"] | {"key": ""} == {"key": "", "port": 0, "low_memory": True, "threads": 1}
    assert asked["cwd"] == "/"


def test_a_port_is_kept_or_its_taker_named(until: Callable[..., Any]) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(EndpointError, match=f"Port {port} is taken"):
            start.serve("cpu", port=port)
    assert until(lambda: start.serve("cpu", port=port).base_url == f"http://127.0.0.1:{port}/v1")


def test_no_proxy_of_the_environment_is_used_for_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    endpoint = start.serve("cpu")
    assert list(endpoint.openai().models.list())


def test_what_the_environment_holds_for_openai_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-fake-leak")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-fake-leak")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Gate: fake-leak")
    endpoint = start.serve("cpu")
    client = endpoint.openai()
    with client.models.with_streaming_response.list() as response:
        sent = response.http_request.headers
    assert "leak" not in repr(sent.raw)
    assert sent["authorization"] == f"Bearer {endpoint.credential()}"


def test_it_waits_for_health_before_it_asks(fake: Callable[..., None]) -> None:
    fake("slow-health")
    began = time.monotonic()
    endpoint = start.serve("cpu")
    assert time.monotonic() - began > 0.9
    assert any('"GET /health HTTP/1.1" 503' in line for line in endpoint.logs)


def test_the_log_is_bounded(fake: Callable[..., None], until: Callable[..., Any]) -> None:
    fake("noisy")
    endpoint = start.serve("cpu")
    assert until(lambda: "line 2999" in endpoint.logs)
    assert len(endpoint.logs) == 2000


FAILURES = {
    "failed": EndpointError("The weights are broken.", "Their sum is wrong.", "pip install --force x"),
    "crash": EndpointError(
        "cpu did not start.", "status 1. Its log ends: RuntimeError: no such operator", "%uocr_logs"
    ),
    "killed": EndpointError("cpu did not start.", "memory ran out", "%uocr_serve cpu --low-memory"),
    "wrong": EndpointError("cpu started, and does not read.", "Nonsense", "%uocr_logs"),
    "crash-on-request": EndpointError("cpu did not start.", "the model broke", "%uocr_logs"),
}


@pytest.mark.parametrize("how", FAILURES)
def test_a_start_that_fails_says_why_and_leaves_nothing(
    fake: Callable[..., None], runs: Callable[[int], bool], how: str
) -> None:
    fake(how)
    with pytest.raises(EndpointError) as caught:
        start.serve("cpu")
    assert caught.value.what == FAILURES[how].what
    assert FAILURES[how].why in caught.value.why
    assert caught.value.next == FAILURES[how].next
    endpoint = start.find("cpu")
    assert endpoint.state == "failed"
    assert endpoint.logs[0] == "fake engine starts"
    assert not runs(endpoint._runs_on._program.pid)
    assert ledger.entries() == []
    fake("")
    assert start.serve("cpu").state == "ready"


def test_an_engine_that_says_nothing_is_given_up(fake: Callable[..., None], runs: Callable[[int], bool]) -> None:
    fake("hang", start_limit=0.5)
    with pytest.raises(EndpointError, match=r"did not start within 0\.5 s"):
        start.serve("cpu")
    assert not runs(start.find("cpu")._runs_on._program.pid)


def test_a_missing_extra_is_named_with_its_line(fake: Callable[..., None]) -> None:
    fake("", needs=("json", "rapidocr_not_there"))
    with pytest.raises(MissingExtraError) as caught:
        start.serve("cpu")
    assert caught.value.next == 'pip install "uocr_nb[cpu]"'
    assert "rapidocr_not_there" in caught.value.why


def test_an_engine_that_dies_later_is_noticed_and_replaced(until: Callable[..., Any]) -> None:
    first = start.serve("cpu")
    os.kill(first._runs_on._who.pid, 9)
    assert until(lambda: first.state == "failed")
    with pytest.raises(EndpointError) as caught:
        start.current()
    assert caught.value.what == "cpu has gone."
    assert "memory" in caught.value.why
    assert ledger.entries() == []
    second = start.serve("cpu")
    assert second is not first
    assert second.name == "cpu"
    assert start.current() is second


def test_an_engine_that_will_not_go_is_forced(
    fake: Callable[..., None], until: Callable[..., Any], runs: Callable[[int], bool]
) -> None:
    fake("deaf")
    endpoint = start.serve("cpu")
    pid = endpoint._runs_on._who.pid
    endpoint.ask_to_stop()
    assert endpoint.state == "stopping"
    endpoint.finish_stop(0.3)
    assert until(lambda: not runs(pid), 2)
    assert endpoint.state == "stopped"


def test_what_the_engine_started_goes_with_it(
    fake: Callable[..., None], until: Callable[..., Any], runs: Callable[[int], bool]
) -> None:
    fake("child")
    endpoint = start.serve("cpu")
    child = int(next(line for line in endpoint.logs if line.startswith("child")).split()[1])
    assert runs(child)
    endpoint.stop()
    assert until(lambda: not runs(child))


def test_the_same_call_again_is_the_same_endpoint_and_another_is_asked_for() -> None:
    first = start.serve("cpu")
    events = []
    assert start.serve("cpu", on_event=events.append) is first
    assert [event.stage for event in events] == ["already"]
    with pytest.raises(EndpointError) as caught:
        start.serve("cpu", low_memory=True)
    assert "%uocr_stop" in caught.value.next
    assert "--another" in caught.value.next
    second = start.serve("cpu", low_memory=True, another=True)
    assert (second.name, first.name) == ("cpu-2", "cpu")
    assert start.serve("cpu", low_memory=True, another=True) is second
    assert start.current() is second
    assert start.use("cpu") is first
    assert start.current() is first
    with pytest.raises(EndpointError, match="cpu-2 is already running, with other options"):
        start.serve("cpu", name="cpu-2", another=True)
    assert start.serve("cpu", name="mine", another=True).name == "mine"
    assert sorted(endpoint.name for endpoint in start.stop_all()) == ["cpu", "cpu-2", "mine"]
    assert {endpoint.state for endpoint in start.endpoints()} == {"stopped"}


def test_calls_at_the_same_time_share_one_start() -> None:
    found = []
    threads = [threading.Thread(target=lambda: found.append(start.serve("cpu"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert len(set(map(id, found))) == 1


def test_start_and_stop_in_a_running_loop() -> None:
    async def notebook() -> Any:
        events = []
        async with await start.aserve("cpu", on_event=events.append) as endpoint:
            assert endpoint.state == "ready"
            assert events[-1].stage == "ready"
            # A plain call works there too: it waits for another thread, not for this loop.
            assert start.serve("cpu") is endpoint
        return endpoint

    assert asyncio.run(notebook()).state == "stopped"
    with pytest.raises(TypeError, match="colour"):
        asyncio.run(start.aserve("cpu", colour="red"))


def test_an_interrupted_start_leaves_nothing(
    fake: Callable[..., None], until: Callable[..., Any], runs: Callable[[int], bool]
) -> None:
    fake("hang")

    def interrupt(event: Any) -> None:
        if event.stage == "log":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        start.serve("cpu", on_event=interrupt)
    endpoint = start.find("cpu")
    assert endpoint.state == "failed"
    assert until(lambda: not runs(endpoint._runs_on._program.pid), 2)
    assert ledger.entries() == []


def test_a_cancelled_start_leaves_nothing(
    fake: Callable[..., None], until: Callable[..., Any], runs: Callable[[int], bool]
) -> None:
    fake("hang")

    async def notebook() -> None:
        begun = asyncio.Event()
        work = asyncio.ensure_future(start.aserve("cpu", on_event=lambda event: event.stage == "log" and begun.set()))
        await begun.wait()
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work

    asyncio.run(notebook())
    endpoint = start.find("cpu")
    assert until(lambda: endpoint.state == "failed")
    assert until(lambda: not runs(endpoint._runs_on._program.pid), 4)


@pytest.mark.parametrize(
    ("target", "options", "said"),
    [
        ("cpuu", {}, "There is no engine"),
        ("cpu:big", {}, "has no variant"),
        ("localhost:8000", {}, "not a URL"),
        ("cpu", {"engine": "vllm"}, "--engine does not go with cpu"),
        ("cpu", {"headers": {"A": "B"}}, "--header does not go with cpu"),
        ("cpu", {"port": 70000}, "is not a port"),
        ("cpu", {"name": "a,b"}, "cannot be a name"),
        ("http://127.0.0.1:1", {"low_memory": True}, "--low-memory does not go with a URL"),
    ],
)
def test_options_that_do_not_fit_are_refused(target: str, options: Any, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        start.serve(target, **options)
    assert start.endpoints() == []


def test_an_unknown_name_names_the_known() -> None:
    with pytest.raises(EndpointError, match="None was started"):
        start.find("cpu")
    start.serve("cpu")
    with pytest.raises(EndpointError, match="This kernel has cpu"):
        start.find("gpu")


def test_an_endpoint_shows_itself_in_a_line() -> None:
    pytest.importorskip("uocr_nb.markup.safe_html")
    endpoint = start.serve("cpu")
    bundle = endpoint._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/markdown", "text/html"}
    assert endpoint.base_url in bundle["text/html"]
    assert endpoint.credential() not in str(bundle)
    shown = "".join(traceback.TracebackException.from_exception(_error_with(endpoint), capture_locals=True).format())
    assert endpoint.credential() not in shown


def _error_with(endpoint: Any) -> Any:
    try:
        with endpoint:
            int("in a cell")
    except ValueError as error:
        return error


def test_a_forked_child_uses_the_endpoint_and_never_stops_it() -> None:
    code = """
import dataclasses, os, sys, urllib.request
from uocr_nb.serving import engines, start
engines.register(dataclasses.replace(engines.get("cpu"), program=(sys.argv[1],), needs=()))
ep = start.serve("cpu")
pid = os.fork()
if pid == 0:
    ep.stop()
    start.stop_all()
    assert start.current() is ep
    list(ep.openai().models.list())
    sys.exit(7)
code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
print(code, ep.state, len(list(ep.openai().models.list())))
"""
    fake = Path(__file__).with_name("fake_engine.py")

    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, str(fake)], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stdout.split() == ["7", "ready", "1"], done.stderr


def test_starting_loads_nothing_heavy_before_it_is_needed() -> None:
    code = (
        "import sys; from uocr_nb.serving import start; "
        "print(*({'openai', 'httpx2', 'PIL', 'IPython', 'platformdirs', 'huggingface_hub'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
