"""Seconds a page and peak memory of the CPU endpoint, beside a bare, warm rapidocr call and Tesseract.

    python benchmarks/cpu_engine.py FOLDER [--rounds 3] [--threads N] [--low-memory]

FOLDER holds page images (`python benchmarks/corpus.py 10 FOLDER` makes some). All take turns, so that whatever else the
machine does hits each; the ratio is what to trust, not the seconds. The endpoint and the bare call use OpenVINO
where it is installed. Tesseract is a program (`apt-get install tesseract-ocr`); without it its column is left out.
"""

from __future__ import annotations

import argparse
import base64
import importlib.util
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
from PIL import Image

from uocr_nb.support.platform import cpu_budget

KINDS = {".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg", ".webp": "webp"}


def bare_engine(threads: int, backend: str) -> Any:
    """Set rapidocr up as it comes, but for the line classifier (off) and the threads."""
    sys.modules["openvino_telemetry"] = None  # no message to its makers from a measurement
    from rapidocr import EngineType, RapidOCR  # noqa: PLC0415 - brings the models

    return RapidOCR(
        params={
            "Global.use_cls": False,
            "Global.log_level": "critical",
            "Det.engine_type": EngineType(backend),
            "Rec.engine_type": EngineType(backend),
            "EngineConfig.onnxruntime.intra_op_num_threads": threads,
            "EngineConfig.openvino.inference_num_threads": threads,
        }
    )


def start(threads: int, *, low_memory: bool) -> tuple[subprocess.Popen[str], str]:
    """Start the endpoint as its host does, and wait until it is ready."""
    child = subprocess.Popen(
        [sys.executable, "-m", "uocr_nb.local_server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    if child.stdin is None or child.stdout is None:
        raise RuntimeError("no pipes")
    child.stdin.write(json.dumps({"key": "bench", "low_memory": low_memory, "threads": threads}) + "\n")
    child.stdin.flush()
    url = ""
    for line in child.stdout:
        event = json.loads(line)
        url = event.get("url", url)
        if event["event"] != "listening":
            break
    return child, url


def peak_mb(pid: int) -> float | None:
    """Peak resident memory of a process (Linux), MB."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return None
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM"))


def ask(client: httpx2.Client, page: Path) -> None:
    """Send one page and wait for the whole answer."""
    url = f"data:image/{KINDS[page.suffix]};base64,{base64.b64encode(page.read_bytes()).decode()}"
    content = [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": "document parsing."}]
    body = {"model": "Unlimited-OCR", "messages": [{"role": "user", "content": content}]}
    client.post("/chat/completions", json=body | {"skip_special_tokens": False}).raise_for_status()


def tesseract(page: Path, threads: int) -> None:
    """Have Tesseract read one page as it comes, with the same threads."""
    subprocess.run(
        ["tesseract", str(page), "-"],
        check=True,
        capture_output=True,
        env=os.environ | {"OMP_THREAD_LIMIT": str(threads)},
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=cpu_budget())
    parser.add_argument("--low-memory", action="store_true")
    options = parser.parse_args()
    pages = sorted(path for path in options.folder.iterdir() if path.suffix in KINDS)
    openvino = not options.low_memory and importlib.util.find_spec("openvino") is not None
    backend = "openvino" if openvino else "onnxruntime"
    bare = bare_engine(options.threads, backend)
    child, url = start(options.threads, low_memory=options.low_memory)
    kinds = ["bare", "served", *(["tesseract"] if shutil.which("tesseract") else [])]
    if len(kinds) == 2:
        print("Tesseract is not installed; its column is left out.")
    seconds: dict[str, dict[str, list[float]]] = {page.name: {kind: [] for kind in kinds} for page in pages}
    client = httpx2.Client(base_url=url, headers={"Authorization": "Bearer bench"}, timeout=600, trust_env=False)
    with client:
        bare(np.asarray(Image.open(pages[0]).convert("RGB"))[:, :, ::-1])
        ask(client, pages[0])
        for _ in range(options.rounds):
            for page in pages:
                began = time.perf_counter()
                bare(np.asarray(Image.open(page).convert("RGB"))[:, :, ::-1])
                between = time.perf_counter()
                ask(client, page)
                seconds[page.name]["bare"].append(between - began)
                after = time.perf_counter()
                seconds[page.name]["served"].append(after - between)
                if "tesseract" in kinds:
                    tesseract(page, options.threads)
                    seconds[page.name]["tesseract"].append(time.perf_counter() - after)
    peak = peak_mb(child.pid)
    child.communicate()
    print(f"{backend}, {options.threads} threads, {os.cpu_count()} cores, low memory: {options.low_memory}")
    middles: dict[str, list[float]] = {kind: [] for kind in kinds}
    for name, both in seconds.items():
        for kind, values in both.items():
            middles[kind].append(statistics.median(values))
        each = "   ".join(f"{kind} {values[-1]:6.2f} s" for kind, values in middles.items())
        print(f"{name:<24} {each}   served / bare {middles['served'][-1] / middles['bare'][-1]:5.2f}")
    ratios = [b / a for a, b in zip(middles["bare"], middles["served"], strict=True)]
    print("median a page: " + ", ".join(f"{kind} {statistics.median(middles[kind]):.2f} s" for kind in kinds))
    print(f"all pages: served / bare = {sum(middles['served']) / sum(middles['bare']):.2f}; "
          f"median ratio {statistics.median(ratios):.2f}; peak {peak and round(peak)} MB")  # fmt: skip


if __name__ == "__main__":
    main()
