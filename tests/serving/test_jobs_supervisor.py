"""The program inside a Job: idle ends it, work does not, and everything else is passed on."""

from __future__ import annotations

import base64
import json
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
import zlib
from typing import TYPE_CHECKING, Any

import pytest

from uocr_nb.serving import supervisor
from uocr_nb.serving.hub.command import job_command, packed_supervisor
from uocr_nb.serving.plan import Options, make_plan
from uocr_nb.support.net import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ENGINE = r"""
import http.server, os, signal, sys, threading, time
port, mode = int(sys.argv[1]), sys.argv[2]
done, running = 0, 0
class Face(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/health":
            self.answer(b"")
        elif self.path == "/metrics" and mode != "log":
            rows = b'# TYPE e:running gauge\ne:running{a="b c"} %d.0\ne:waiting 0.0\n' % running
            self.answer(rows + b'e:done_total{x="1"} %d\n' % done)
        else:
            self.send_error(404)
    def do_POST(self):
        global done, running
        running += 1
        time.sleep(float(self.headers["X-Seconds"]))
        running -= 1
        done += 1
        self.answer(b"ok")
    def answer(self, body):
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, text, *rest):
        print("INFO: " + text % rest, flush=True)
def leave(number, _):
    print("asked to end by", number, flush=True)
    os._exit(int(mode) if mode.isdigit() else 0)
signal.signal(signal.SIGTERM, leave)
sys.stdout.write("no newline yet"); sys.stdout.flush(); time.sleep(0.1); print(" and now", flush=True)
if mode.isdigit():
    time.sleep(0.2); sys.exit(int(mode))
http.server.ThreadingHTTPServer(("127.0.0.1", port), Face).serve_forever()
"""


class Run:
    def __init__(self, script: Path, idle: float, mode: str) -> None:
        self.port = free_port()
        self.began = time.monotonic()
        settings = {
            "idle": idle,
            "at": f"127.0.0.1:{self.port}",
            "metrics": "/metrics",
            "gauges": ["e:running", "e:waiting"],
            "counters": ["e:done_total"],
        }
        words = [json.dumps(settings), "--", sys.executable, str(script), str(self.port), mode]
        self.process = subprocess.Popen(
            [sys.executable, "-S", "-c", packed_supervisor(), *words], stdout=subprocess.PIPE, text=True
        )

    def ask(self, path: str, seconds: float | None = None) -> int:
        headers = {} if seconds is None else {"X-Seconds": str(seconds)}
        data = None if seconds is None else b""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, headers)
        for _ in range(200):
            try:
                with urllib.request.urlopen(request, timeout=20) as answer:
                    return answer.status
            except (ConnectionError, urllib.error.URLError):
                time.sleep(0.02)
        raise AssertionError("the engine did not come")

    def end(self) -> tuple[float, str]:
        text = self.process.stdout.read()
        self.process.wait(20)
        return time.monotonic() - self.began, text


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Any]:
    script, made = tmp_path / "engine.py", []
    script.write_text(ENGINE)

    def start(idle: float, mode: str = "metrics") -> Run:
        made.append(Run(script, idle, mode))
        return made[-1]

    yield start
    for one in made:
        one.process.kill()
        one.process.wait()
        one.process.stdout.close()


@pytest.mark.parametrize("mode", ["metrics", "log"])
def test_ends_when_idle_though_probed(run: Any, mode: str) -> None:
    job = run(1.0, mode)
    job.ask("/health")
    for _ in range(6):
        time.sleep(0.1)
        job.ask("/health")
    seconds, text = job.end()
    assert 1.0 <= seconds < 6
    assert job.process.returncode == 0
    assert "no newline yet and now" in text
    assert "uocr_nb: no page was asked for in 1 s" in text
    assert "asked to end by 15" in text


def test_a_long_request_is_not_cut(run: Any) -> None:
    job = run(0.7)
    assert job.ask("/v1/chat/completions", 2.0) == 200
    answered = time.monotonic() - job.began
    seconds, _ = job.end()
    assert seconds > answered + 0.5


@pytest.mark.parametrize("mode", ["metrics", "log"])
def test_each_request_starts_the_clock_again(run: Any, mode: str) -> None:
    job = run(1.2, mode)
    for _ in range(4):
        job.ask("/v1/chat/completions", 0.0)
        time.sleep(0.6)
    assert job.process.poll() is None
    job.end()


def test_the_status_of_the_engine_is_the_jobs(run: Any) -> None:
    job = run(60, "7")
    _, text = job.end()
    assert job.process.returncode == 7
    assert "and now" in text


def test_signals_are_passed_on(run: Any) -> None:
    job = run(60, "0")
    line = job.process.stdout.readline()
    job.process.send_signal(signal.SIGTERM)
    assert "and now" in line
    assert "asked to end by 15" in job.end()[1]


def test_no_clock_before_it_is_ready(tmp_path: Path) -> None:
    script = tmp_path / "slow.py"
    script.write_text("import time; time.sleep(1.5)")
    job = Run(script, 0.3, "metrics")
    seconds, text = job.end()
    job.process.stdout.close()
    assert seconds >= 1.5
    assert text == ""


def test_samples_are_summed_by_whole_names() -> None:
    text = '# HELP a x\na{b="1"} 2.0\na 3\na_total 9\nb{c="d e"} nonsense\n'
    assert supervisor.totals(text, ["a"]) == 5
    assert supervisor.totals(text, ["c"]) is None


def test_the_command_is_short_and_plain() -> None:
    for target in ("vllm", "sglang"):
        command = job_command(make_plan(target, Options()))
        assert sum(map(len, command)) < 8000
        assert all(command)
        packed = re.search(r"b64decode\('([^']+)'\)", command[2])
        assert packed is not None
        assert b"class Supervisor" in zlib.decompress(base64.b64decode(packed[1]))
    assert job_command(make_plan("vllm", Options(idle="0")))[:2] == ["vllm", "serve"]


def test_it_runs_without_the_house(run: Any) -> None:
    job = run(60, "0")
    threading.Thread(target=job.end, daemon=True).start()
    job.process.wait(20)
    assert job.process.returncode == 0
