"""The host `docker`, proven against a stand-in for the program docker on PATH; docker itself is not run here."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fake_programs
import pytest

from uocr_nb.errors import EndpointError
from uocr_nb.serving import ledger, start
from uocr_nb.serving.hosts import program

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture(autouse=True)
def _other_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the engines' usual ports, which other tests on this machine may want."""
    monkeypatch.setattr(program, "port_is_free", lambda _: False)


class Docker:
    """What the stand-in knows."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def containers(self) -> list[str]:
        return [file.name for file in self.folder.iterdir() if file.name.startswith("uocr-")]

    @property
    def calls(self) -> list[list[str]]:
        return [json.loads(line) for line in (self.folder / "calls").read_text().splitlines()]

    def pids(self) -> list[int]:
        return [int((self.folder / name).read_text()) for name in self.containers]


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Docker:
    folder, state = tmp_path / "bin", tmp_path / "docker"
    state.mkdir()
    # Its bash runs no setup: that would install things here.
    fake_programs.install(folder, "docker", "nvidia-smi", "vllm", "bash")
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin")
    monkeypatch.setenv("FAKE_DOCKER", str(state))
    for name in ("FAKE_PROGRAM", "FAKE_DOCKER_HOW", "DOCKER_HOST", "DOCKER_CONTEXT"):
        monkeypatch.delenv(name, raising=False)
    return Docker(state)


def test_a_container_is_run_asked_and_removed(
    docker: Docker, until: Callable[..., Any], gone: Callable[..., bool]
) -> None:
    events: list[Any] = []
    with start.serve("vllm", on="docker", env={"MY_SECRET": "fake-leak"}, on_event=events.append) as endpoint:
        assert (endpoint.host, endpoint.price, endpoint.state) == ("docker", 0.0, "ready")
        assert "in a container on this machine" in endpoint.describe()
        name = endpoint._runs_on.container
        assert docker.containers == [name]
        run = next(call for call in docker.calls if call[0] == "run")
        assert run[run.index("--name") + 1] == name
        assert "--rm" in run
        assert run[run.index("--gpus") + 1] == "all"
        port = endpoint.base_url.rpartition(":")[2].removesuffix("/v1")
        assert run[run.index("--publish") + 1] == f"127.0.0.1:{port}:8000"
        at = run.index("--entrypoint")
        assert run[at + 1 : at + 5] == ["vllm", "vllm/vllm-openai:unlimited-ocr", "serve", "baidu/Unlimited-OCR"]
        assert run[run.index("--host") + 1] == "0.0.0.0"
        # Values travel in docker's own environment.
        assert [run[n + 1] for n, word in enumerate(run) if word == "--env"] == ["MY_SECRET", "VLLM_API_KEY"]
        command = Path(f"/proc/{endpoint._runs_on._who.pid}/cmdline").read_text()
        for secret in ("fake-leak", endpoint.credential()):
            assert secret not in command + json.dumps([docker.calls, endpoint.logs, repr(events), repr(endpoint)])
        entry = ledger.entries()[0]
        assert entry.cleanup[1:] == ("rm", "--force", name)
        pids = docker.pids()
    assert endpoint.state == "stopped"
    assert until(lambda: not docker.containers)
    assert gone(*pids)
    assert ledger.entries() == []
    assert ["stop", "-t", "2", name] in docker.calls


def test_the_vendors_wheel_is_installed_in_the_container(docker: Docker) -> None:
    endpoint = start.serve("sglang", on="docker")
    run = next(call for call in docker.calls if call[0] == "run")
    assert "lmsysorg/sglang:v0.5.10.post1" in run
    assert run[-2] == "-lc"
    setup = run[-1].split(" && ")
    assert setup[0].startswith("pip install --no-deps https://github.com/baidu/Unlimited-OCR/raw/main/wheel/sglang-")
    assert setup[1] == "pip install -q kernels==0.11.7"
    assert setup[2].startswith("exec python -m sglang.launch_server --model baidu/Unlimited-OCR")
    assert endpoint.credential() == ""


def test_a_model_on_disk_is_mounted(docker: Docker, tmp_path: Path) -> None:
    (tmp_path / "unlimited").mkdir()
    start.serve("vllm", on="docker", model=str(tmp_path / "unlimited"), image="my/vllm:1")
    run = next(call for call in docker.calls if call[0] == "run")
    assert f"{tmp_path / 'unlimited'}:/models/unlimited:ro" in run
    assert run[run.index("serve") + 1] == "/models/unlimited"
    assert "--revision" not in run
    assert "my/vllm:1" in run


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("down", "Docker does not run."),
        ("no-image", "The image was not found."),
        ("no-gpu", "The engine sees no GPU."),
    ],
)
def test_what_docker_refuses_is_put_in_words(
    docker: Docker, monkeypatch: pytest.MonkeyPatch, how: str, said: str
) -> None:
    monkeypatch.setenv("FAKE_DOCKER_HOW", how)
    with pytest.raises(EndpointError) as caught:
        start.serve("vllm", on="docker")
    assert caught.value.what == said
    assert ledger.entries() == []
    assert docker.containers == []


def test_what_is_missing_is_named(docker: Docker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "ssh://me@far.example")
    with pytest.raises(EndpointError, match="Docker runs on another machine"):
        start.serve("vllm", on="docker")
    monkeypatch.delenv("DOCKER_HOST")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(EndpointError, match="docker is not installed") as caught:
        start.serve("vllm", on="docker")
    assert "--on hf" in caught.value.next
    assert docker.containers == []


def test_a_fault_inside_the_container_is_told(docker: Docker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_PROGRAM", "refuse-flag")
    with pytest.raises(EndpointError, match="does not know the flag --new-flag"):
        start.serve("vllm", on="docker")
    assert docker.containers == []


def test_one_that_will_not_go_is_removed_by_force(
    docker: Docker, monkeypatch: pytest.MonkeyPatch, gone: Callable[..., bool]
) -> None:
    monkeypatch.setenv("FAKE_PROGRAM", "moved-on")
    endpoint = start.serve("vllm", on="docker")
    pids = [*docker.pids(), endpoint._runs_on._who.pid]
    endpoint.ask_to_stop()
    endpoint.finish_stop(0.2)
    assert gone(*pids)
    assert docker.containers == []


def test_an_interrupted_download_leaves_nothing(
    docker: Docker, monkeypatch: pytest.MonkeyPatch, gone: Callable[..., bool]
) -> None:
    monkeypatch.setenv("FAKE_DOCKER_HOW", "slow-pull")

    def interrupt(event: Any) -> None:
        if event.stage == "log":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        start.serve("vllm", on="docker", on_event=interrupt)
    # With the client nothing is left that could make the container.
    assert gone(start.find("vllm")._runs_on._who.pid)
    assert docker.containers == []


DRIVER = """
import os, signal, sys
from uocr_nb.serving import start
from uocr_nb.serving.reaper import reaper
from uocr_nb.support.net import free_port
def tell(event):
    if event.stage == sys.argv[1]:
        ep = start.find("vllm")
        print(ep._runs_on._who.pid, reaper.pid, flush=True)
        exec(sys.argv[2])
start.serve("vllm", on="docker", port=free_port(), on_event=tell)
"""


@pytest.mark.parametrize("how", ["", pytest.param("slow-pull", marks=pytest.mark.slow)])
@pytest.mark.parametrize("end", ["os.kill(os.getpid(), signal.SIGKILL)", "os._exit(0)", "sys.exit(0)"])
def test_a_kernel_that_ends_leaves_no_container(  # noqa: PLR0917 - fixtures
    docker: Docker,
    monkeypatch: pytest.MonkeyPatch,
    gone: Callable[..., bool],
    until: Callable[..., Any],
    how: str,
    end: str,
) -> None:
    monkeypatch.setenv("FAKE_DOCKER_HOW", how)
    stage = "log" if how else "ready"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", DRIVER, stage, end],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    assert gone(*map(int, done.stdout.split()))
    assert until(lambda: not docker.containers)
    assert until(lambda: ledger.entries() == [])


def test_a_container_left_by_a_killed_kernel_and_watchdog_is_found_by_the_next(
    docker: Docker, gone: Callable[..., bool], until: Callable[..., Any]
) -> None:
    end = "os.kill(reaper.pid, signal.SIGKILL); os.kill(os.getpid(), signal.SIGKILL)"
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", DRIVER, "ready", end], capture_output=True, check=False, timeout=60
    )
    pids = docker.pids()
    assert len(pids) == 1
    assert [entry.host for entry in ledger.sweep()] == ["docker"]
    assert gone(*pids)
    assert until(lambda: not docker.containers)
    assert ledger.entries() == []


def test_the_plan_is_a_line_to_copy() -> None:
    shown = start.describe_plan("vllm", on="docker", port=9000)
    assert shown.startswith("vllm in a container on this machine, free: docker run --rm ")
    assert "--publish 127.0.0.1:9000:8000" in shown
