"""The command line, run as a user runs it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest
from scripted import Reply, engine

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "<|det|>text [100, 100, 900, 400]<|/det|>A body."
SECRET = "hf_not_a_real_token_42"


def uocr(*arguments: str, cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "uocr_nb", *arguments],
        cwd=cwd,
        env={**os.environ, "HF_HUB_OFFLINE": "0", **environ},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture
def page(tmp_path: Path) -> Path:
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (200, 280), "white")
    ImageDraw.Draw(image).text((20, 20), "one page", fill="black")
    image.save(tmp_path / "page.png")
    return tmp_path / "page.png"


def test_ocr_writes_a_document_and_tells_by_its_status_whether_all_is_ok(page: Path) -> None:
    with engine(lambda _n, _body: Reply(TEXT)) as running:
        done = uocr("ocr", page.name, "-o", "out.json", "--endpoint", running.url, cwd=page.parent)
    assert done.returncode == 0, done.stderr
    assert "1 ok" in done.stdout
    assert json.loads((page.parent / "out.json").read_text(encoding="utf-8"))["pages"][0]["status"] == "ok"
    with engine(lambda _n, body: Reply(TEXT, finish="length" if body.get("stream") else "stop")) as running:
        done = uocr("ocr", page.name, "-o", "out.md", "--endpoint", running.url, cwd=page.parent)
    assert done.returncode == 1
    assert "1 truncated" in done.stdout


def test_ocr_names_what_is_not_ok_and_what_was_left_out(page: Path) -> None:
    (page.parent / "a.png").write_bytes(page.read_bytes()[:40])
    (page.parent / "notes.txt").write_text("no page")
    with engine(lambda _n, _body: Reply(TEXT)) as running:
        done = uocr("ocr", ".", "-o", "out.md", "--endpoint", running.url, cwd=page.parent)
    assert (done.returncode, done.stdout.strip()[:19]) == (1, "out.md: 1 ok, 1 fai")
    failed, skipped = done.stderr.splitlines()
    assert failed.startswith("uocr: page 1: failed: a.png ")
    assert "skipped notes.txt" in skipped


def test_ocr_writes_to_a_pipe(page: Path) -> None:
    with engine(lambda _n, _body: Reply(TEXT)) as running:
        done = uocr("ocr", page.name, "-o", "-", "--endpoint", running.url, cwd=page.parent)
    assert (done.returncode, done.stdout, done.stderr) == (0, "A body.\n", "uocr: 1 ok\n")


def test_an_interrupt_says_what_is_kept(page: Path) -> None:
    (page.parent / "second.png").write_bytes(page.read_bytes())
    child: list[subprocess.Popen[str]] = []

    def script(_number: int, body: dict[str, Any]) -> Reply:
        if not body.get("stream"):
            return Reply(TEXT)
        while child:  # both pages are asked for at once, and one interrupt is meant
            child.pop().send_signal(signal.SIGINT)
        return Reply(TEXT, hold=threading.Event())

    with engine(script) as running:
        line = [sys.executable, "-m", "uocr_nb", "ocr", ".", "-o", "x.md", "--endpoint", running.url]
        with subprocess.Popen(line, cwd=page.parent, stderr=subprocess.PIPE, text=True) as process:
            child.append(process)
            _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert told == "uocr: interrupted: nothing is written; 0 pages are kept for the next run\n"
    assert not (page.parent / "x.md").exists()


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["ocr", "page.png", "-o", "x.md", "--endpoint", "http://127.0.0.1:9"], 1, "127.0.0.1:9"),
        (["ocr", "page.png", "-o", "x.md", "--password-env", "NO_SUCH_VARIABLE"], 2, "NO_SUCH_VARIABLE"),
        (["ocr", "page.png", "-o", "x.zzz"], 2, "zzz"),
        (["ocr", "paeg.png", "-o", "x.md", "--endpoint", "URL"], 1, "uocr ocr page.png -o OUT.md"),
        (["ocr", "paeg.png", "-o", "x.md"], 1, "uocr ocr page.png -o OUT.md"),
        (["ocr", "page.png", "-o", "x.md", "--engine", "vllm"], 2, "--endpoint"),
        (["demo", "--out", "page.png/inside"], 1, "page.png"),
        (["ocr", "page.png", "-o", "new/x.md"], 2, 'mkdir -p "new"'),
        (["nonsense"], 2, "nonsense"),
        (["stop", "nobody"], 1, ""),
    ],
)
def test_wrong_use_is_told_without_a_traceback(page: Path, arguments: list[str], status: int, words: str) -> None:
    with engine(lambda _n, _body: Reply(TEXT)) as running:
        done = uocr(*(running.url if word == "URL" else word for word in arguments), cwd=page.parent)
    assert done.returncode == status, done.stderr
    assert words in done.stderr
    assert "%" not in done.stderr, "a step for a notebook"
    assert "Traceback" not in done.stderr


def test_nothing_runs_is_said(tmp_path: Path) -> None:
    for command in ("jobs", "stop"):
        done = uocr(command, cwd=tmp_path, UOCR_STATE_DIR=str(tmp_path / "state"))
        assert (done.returncode, done.stdout.strip()) == (0, "Nothing is running.")


def test_doctor_tells_where_a_token_is_and_never_the_token(tmp_path: Path) -> None:
    proxy = "http://user:proxy-password-7@proxy.example:3128"
    done = uocr("doctor", "--offline", cwd=tmp_path, HF_TOKEN=SECRET, HTTPS_PROXY=proxy, UOCR_KEY="key-9-secret")
    assert done.returncode == 0, done.stderr
    assert "found in" in done.stdout
    assert "HTTPS_PROXY (proxy.example:3128)" in done.stdout
    for secret in (SECRET, "proxy-password-7", "key-9-secret"):
        assert secret not in done.stdout + done.stderr
