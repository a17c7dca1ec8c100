"""How the model's authors' own script reads a PDF, in our words from what it was seen to do.

    python benchmarks/peer.py FILE.pdf --url http://127.0.0.1:PORT/v1 [--at-once 8] [--folder DIR]

1. Every page is rendered to a 300 dpi PNG file by PyMuPDF, one after another, before anything is asked.
2. One thread a request, 8 at once: the file is read, put into a JSON body as base64, and sent over a connection of its
   own; the thread reads the stream to its end.
3. A request that fails is made again, from its start, up to five times; then the page's text is empty.

The files stay where they are. It prints what it measured as one line of JSON. The plain HTTP client of the standard
library is used, which takes less time a token than any other.
"""

from __future__ import annotations

import argparse
import base64
import http.client
import json
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from urllib.parse import urlsplit

import pymupdf

TRIES = 5


def render(path: Path, folder: Path) -> list[Path]:
    """Write each page as a PNG file."""
    files = []
    with pymupdf.open(path) as document:
        for number, page in enumerate(document, 1):
            file = folder / f"page_{number:04}.png"
            page.get_pixmap(matrix=pymupdf.Matrix(300 / 72, 300 / 72)).save(file)
            files.append(file)
    return files


def ask(url: str, file: Path) -> tuple[str, int]:
    """Send one page; return its text and how many pieces it came in."""
    image = base64.b64encode(file.read_bytes()).decode()
    content = [
        {"type": "text", "text": "<image>document parsing."},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{image}"}},
    ]
    body = json.dumps(
        {
            "model": "Unlimited-OCR",
            "messages": [{"role": "user", "content": content}],
            "temperature": 0,
            "max_tokens": 8192,
            "skip_special_tokens": False,
            "vllm_xargs": {"ngram_size": 35, "window_size": 128},
            "stream": True,
        }
    ).encode()
    at = urlsplit(url)
    connection = http.client.HTTPConnection(at.hostname or "", at.port, timeout=1200)
    pieces = []
    try:
        connection.request("POST", f"{at.path}/chat/completions", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        if response.status != 200:
            raise OSError(response.status)
        for line in response:
            if line.startswith(b"data: {"):
                pieces += [choice["delta"].get("content") or "" for choice in json.loads(line[6:])["choices"]]
    finally:
        connection.close()
    return "".join(pieces), len(pieces)


def patient(url: str, file: Path) -> tuple[str, int]:
    """Ask up to five times."""
    for attempt in range(TRIES):
        try:
            return ask(url, file)
        except (OSError, http.client.HTTPException):
            time.sleep(min(2**attempt, 10))
    return "", 0


def read(path: Path, url: str, at_once: int, folder: Path) -> dict[str, float]:
    """Read the PDF; return when things happened, in seconds from the call."""
    began = time.monotonic()
    files = render(path, folder)
    rendered = time.monotonic() - began
    first = 0.0
    texts: dict[Path, str] = {}
    tokens = 0
    with ThreadPoolExecutor(at_once) as pool:
        asked = {pool.submit(patient, url, file): file for file in files}
        for done in as_completed(asked):
            first = first or time.monotonic() - began
            texts[asked[done]], count = done.result()
            tokens += count
    return {
        "began": began,
        "seconds": time.monotonic() - began,
        "rendered": rendered,
        "first_page": first,
        "pages": len(texts),
        "not_ok": sum(not text for text in texts.values()),
        "tokens": tokens,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pdf", type=Path)
    parser.add_argument("--url", required=True)
    parser.add_argument("--at-once", type=int, default=8)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--wait", action="store_true", help="say when ready, and begin when told")
    options = parser.parse_args()
    if options.wait:
        print("ready", flush=True)
        sys.stdin.readline()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="peer-"))
    print(json.dumps(read(options.pdf, options.url, options.at_once, folder)), flush=True)


if __name__ == "__main__":
    main()
