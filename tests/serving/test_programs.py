"""The host `process` for engines of others, with stand-ins on PATH."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fake_programs
import pytest

from uocr_nb.errors import EndpointError, OptionError
from uocr_nb.serving import ledger, start
from uocr_nb.serving.hosts import program
from uocr_nb.support import loop, net

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture(autouse=True)
def _other_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the engines' usual ports, which other tests on this machine may want."""
    monkeypatch.setattr(program, "port_is_free", lambda _: False)


@pytest.fixture
def on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Put stand-ins of these names on PATH, and nothing else but the system's own."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin")
    monkeypatch.delenv("FAKE_PROGRAM", raising=False)

    def put(*names: str, how: str = "") -> Path:
        fake_programs.install(folder, *names)
        monkeypatch.setenv("FAKE_PROGRAM", how)
        return folder

    return put


@pytest.fixture
def sglang(on_path: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package sglang that this Python finds."""
    on_path("nvidia-smi")
    package = tmp_path / "site" / "sglang"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    helpers = str(Path(fake_programs.__file__).parent)
    (package / "launch_server.py").write_text(
        f"import sys\nsys.path.insert(0, {helpers!r})\nimport fake_programs\nfake_programs.engine('sglang', '')\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(package.parent))


def _asked(endpoint: Any) -> Any:
    """What the engine was started with."""

    async def ask() -> Any:
        return (await endpoint.http().get(endpoint.base_url.removesuffix("/v1") + "/argv")).json()

    return loop.wait(ask())


def _flags(argv: list[str]) -> set[str]:
    return {word for word in argv if word.startswith("--")}


def test_vllm_is_started_asked_and_stopped(
    on_path: Callable[..., Path], until: Callable[..., Any], runs: Callable[[int], bool]
) -> None:
    on_path("vllm", "nvidia-smi")
    events: list[Any] = []
    with start.serve("vllm", on="process", env={"CUDA_VISIBLE_DEVICES": "0"}, on_event=events.append) as endpoint:
        assert (endpoint.engine, endpoint.host, endpoint.price, endpoint.state) == ("vllm", "process", 0.0, "ready")
        assert endpoint.base_url.startswith("http://127.0.0.1:")
        asked = _asked(endpoint)
        assert asked["argv"][1:3] == ["serve", "baidu/Unlimited-OCR"]
        assert asked["argv"][asked["argv"].index("--host") + 1] == "127.0.0.1"
        assert asked["env"]["CUDA_VISIBLE_DEVICES"] == "0"
        assert asked["cwd"] == "/"
        assert endpoint.revision == asked["argv"][asked["argv"].index("--revision") + 1]
        # The key travels in the environment, and stands in no command line.
        assert asked["env"]["VLLM_API_KEY"] == endpoint.credential() != ""
        assert endpoint.credential() not in json.dumps([asked["argv"], endpoint.logs, repr(events), repr(endpoint)])
        pid = endpoint._runs_on._who.pid
        assert ledger.entries()[0].process.pid == pid
        assert "INFO starting" in endpoint.logs  # without its colours
    assert until(lambda: not runs(pid))
    assert ledger.entries() == []
    assert [event.stage for event in events if event.stage != "log"] == ["starting", "loading", "checking", "ready"]


def test_no_token_of_the_kernel_reaches_it(on_path: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    on_path("vllm", "nvidia-smi")
    monkeypatch.setenv("HF_TOKEN", "hf_fake_leak")
    assert "hf_fake_leak" not in json.dumps(_asked(start.serve("vllm", on="process")))


@pytest.mark.usefixtures("sglang")
def test_sglang_takes_its_usual_port_and_gets_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "port_is_free", net.port_is_free)
    with socket.socket() as taken:
        usual_is_free = taken.connect_ex(("127.0.0.1", 30000)) != 0
    events: list[Any] = []
    endpoint = start.serve("sglang", on="process", tp=2, on_event=events.append)
    argv = _asked(endpoint)["argv"]
    assert argv[argv.index("--tp") + 1] == "2"
    assert {"--disable-radix-cache", "--enable-custom-logit-processor"} <= _flags(argv)
    assert argv[argv.index("--attention-backend") + 1] == "fa3"
    assert "--api-key" not in argv
    assert endpoint.credential() == ""
    assert any("gets no key" in event.text for event in events)
    if usual_is_free:
        assert endpoint.base_url == "http://127.0.0.1:30000/v1"
    endpoint.stop()
    assert start.serve("sglang", on="process", drop_args=["--disable-radix-cache"])
    assert "--disable-radix-cache" not in _asked(start.find("sglang"))["argv"]


@pytest.mark.usefixtures("sglang")
def test_the_guard_is_left_out_once_where_the_server_refuses_it() -> None:
    events: list[Any] = []
    endpoint = start.serve(
        "sglang", on="process", drop_args=["--enable-custom-logit-processor"], on_event=events.append
    )
    told = [event.text for event in events if event.stage == "note" and "guard" in event.text]
    assert len(told) == 1
    assert "custom_logit_processor" not in endpoint.profile.request(["data:"])


def test_dropped_tags_are_told(on_path: Callable[..., Path]) -> None:
    on_path("vllm", "nvidia-smi", how="stripped")
    events: list[Any] = []
    start.serve("vllm", on="process", on_event=events.append)
    assert any("without its tags" in event.text for event in events if event.stage == "note")


def test_llama_server_needs_no_gpu_and_both_its_files(on_path: Callable[..., Path], tmp_path: Path) -> None:
    on_path("llama-server")
    model, eyes = tmp_path / "m.gguf", tmp_path / "mmproj.gguf"
    with pytest.raises(OptionError, match="needs the file of a model"):
        start.serve("llamacpp")
    with pytest.raises(EndpointError, match=r"There is no file .*m\.gguf"):
        start.serve("llamacpp", model=str(model), mmproj=str(eyes))
    model.touch()
    with pytest.raises(OptionError, match="cannot see pages"):
        start.serve("llamacpp", model=str(model))
    eyes.touch()
    endpoint = start.serve("llamacpp", model=str(model), mmproj=str(eyes), args=["-ngl 99"])
    asked = _asked(endpoint)
    argv = asked["argv"]
    assert argv[1:3] == ["-m", str(model)]
    assert argv[argv.index("--mmproj") + 1] == str(eyes)
    assert {"--special", "--no-jinja", "--dry-multiplier", "--dry-sequence-breaker"} <= _flags(argv)
    assert argv[-2:] == ["-ngl", "99"]
    assert asked["env"]["LLAMA_API_KEY"] == endpoint.credential() != ""


def test_what_is_missing_is_named_before_anything_starts(on_path: Callable[..., Path]) -> None:
    with pytest.raises(EndpointError) as caught:
        start.serve("vllm", on="process")
    assert caught.value.what == "vllm is not installed here."
    assert 'pip install "vllm' in caught.value.next
    assert "%uocr_serve vllm --on hf" in caught.value.next
    on_path("vllm")
    with pytest.raises(EndpointError, match="needs a GPU") as caught:
        start.serve("vllm", on="process")
    assert "no nvidia-smi" in caught.value.why
    on_path("nvidia-smi", how="no-devices")
    with pytest.raises(EndpointError, match="needs a GPU") as caught:
        start.serve("vllm", on="process")
    assert "No devices were found" in caught.value.why
    on_path("nvidia-smi")
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(EndpointError, match=f"Port {port} is taken"):
            start.serve("vllm", on="process", port=port)
    with pytest.raises(EndpointError, match="There is no file /no/model"):
        start.serve("vllm", on="process", model="/no/model")
    assert ledger.entries() == []


def test_a_package_that_is_not_there_is_named(on_path: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    on_path("nvidia-smi")
    monkeypatch.setattr(program, "find_python", lambda _: None)
    with pytest.raises(EndpointError, match="sglang is not installed") as caught:
        start.serve("sglang", on="process")
    assert "package sglang" in caught.value.why


FAILURES = {
    "refuse-flag": ("The engine does not know the flag --new-flag.", "--drop-arg"),
    "no-gpu": ("The GPU of this machine did not come up (CUDA error 802).", "--flavor a100-large"),
}


@pytest.mark.parametrize("how", FAILURES)
def test_a_log_that_tells_is_put_in_words(on_path: Callable[..., Path], how: str, runs: Callable[[int], bool]) -> None:
    on_path("vllm", "nvidia-smi", how=how)
    with pytest.raises(EndpointError) as caught:
        start.serve("vllm", on="process")
    assert caught.value.what == FAILURES[how][0]
    assert FAILURES[how][1] in caught.value.next
    assert not runs(start.find("vllm")._runs_on._program.pid)
    assert ledger.entries() == []


def test_an_engine_that_dies_later_says_of_what(on_path: Callable[..., Path], until: Callable[..., Any]) -> None:
    on_path("vllm", "nvidia-smi", how="crash-later")
    try:
        endpoint = start.serve("vllm", on="process")
    except EndpointError as error:
        failure: Any = error
    else:
        failure = until(lambda: endpoint.failure)
    assert failure.what == "The GPU has too little memory left."


def test_one_that_takes_too_long_is_given_up(on_path: Callable[..., Path], runs: Callable[[int], bool]) -> None:
    on_path("vllm", "nvidia-smi", how="hang")
    with pytest.raises(EndpointError, match=r"did not start within 1 s") as caught:
        start.serve("vllm", on="process", start_limit="1s")
    assert "Loading weights:  50%" in caught.value.why
    assert not runs(start.find("vllm")._runs_on._program.pid)


def test_one_that_will_not_go_is_forced(
    on_path: Callable[..., Path], until: Callable[..., Any], runs: Callable[[int], bool]
) -> None:
    on_path("vllm", "nvidia-smi", how="moved-on")
    endpoint = start.serve("vllm", on="process")
    pid = endpoint._runs_on._who.pid
    endpoint.ask_to_stop()
    endpoint.finish_stop(0.3)
    assert until(lambda: not runs(pid), 2)


@pytest.mark.parametrize("end", ["os.kill(os.getpid(), signal.SIGKILL)", "os._exit(0)", "sys.exit(0)"])
def test_a_kernel_that_ends_leaves_no_engine(on_path: Callable[..., Path], gone: Callable[..., bool], end: str) -> None:
    on_path("vllm", "nvidia-smi")
    code = (
        "import os, signal, sys\n"
        "from uocr_nb.serving import start\nfrom uocr_nb.serving.reaper import reaper\n"
        "from uocr_nb.support.net import free_port\n"
        "ep = start.serve('vllm', on='process', port=free_port())\n"
        "print(ep._runs_on._who.pid, reaper.pid, flush=True)\n" + end
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    assert gone(*map(int, done.stdout.split()))
    assert ledger.entries() == []


def test_plans_are_shown_as_commands() -> None:
    assert start.describe_plan("cpu") == "cpu on this machine, free: python -P -m uocr_nb.local_server"
    shown = start.describe_plan("vllm", on="process", port=9000)
    assert shown.startswith("vllm on this machine, free: vllm serve baidu/Unlimited-OCR --served-model-name")
    assert "--host 127.0.0.1 --port 9000" in shown
