"""A PDF read as a user reads it: `serve(url)`, then `ocr(file)`; what was measured as one line of JSON.

python benchmarks/ours.py FILE.pdf --url http://127.0.0.1:PORT/v1
python benchmarks/ours.py --cpu 48 --url http://127.0.0.1:PORT/v1      (processor time a token)
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uocr_nb as uocr

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uocr_nb.document.model import Page
    from uocr_nb.reading.progress import Progress
    from uocr_nb.serving.endpoint import Endpoint


def read(path: Path, endpoint: Endpoint) -> dict[str, Any]:
    """Read the PDF; return when things happened, in seconds from the call."""
    done: list[float] = []

    def watch(progress: Progress, _pages: list[Page]) -> None:
        done.extend([time.monotonic() - began] * (progress.done - len(done)))

    # Importing what the first call needs is part of that call.
    began, used = time.monotonic(), time.process_time()
    document = uocr.ocr(path, endpoint=endpoint, progress=watch)
    seconds, used = time.monotonic() - began, time.process_time() - used
    return {
        "began": began,
        "seconds": seconds,
        "first_page": done[0],
        "pages": len(document.pages),
        "not_ok": sum(page.status.value != "ok" for page in document.pages),
        "tokens": sum(page.tokens or 0 for page in document.pages),
        "cpu": used,
        "done_at": done,
    }


def pictures(folder: Path, count: int) -> list[Path]:
    """Small page images, no two alike, so that what is measured is the answers."""
    from PIL import Image, ImageDraw  # noqa: PLC0415 - for this measurement only

    files = []
    for number in range(count):
        image = Image.new("L", (200, 100), 255)
        ImageDraw.Draw(image).text((20, 30), f"page {number} of the test", fill=0)
        files.append(folder / f"{number:03}.png")
        image.save(files[-1])
    return files


async def transport(endpoint: Endpoint, images: Sequence[bytes]) -> int:
    """Ask for each picture by the client alone, 16 at once; nothing is done with the answers."""
    import base64  # noqa: PLC0415

    from uocr_nb.reading import client  # noqa: PLC0415

    places = asyncio.Semaphore(16)

    async def one(image: bytes) -> int:
        url = "data:image/png;base64," + base64.b64encode(image).decode()
        async with places:
            body = endpoint.profile.request([url], max_tokens=8192, model=endpoint.model)
            return (await client.ask(endpoint, body, watch=False)).tokens or 0

    return sum(await asyncio.gather(*map(one, images)))


def processor(endpoint: Endpoint, count: int) -> dict[str, Any]:
    """Microseconds of this process for a token: the client alone, and the whole call (drawing has its own process)."""
    from uocr_nb.support import loop  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as name:
        files = pictures(Path(name), count + 1)
        uocr.ocr(files.pop(), endpoint=endpoint, progress=False)  # imports are not counted
        used = time.process_time()
        tokens = loop.wait(transport(endpoint, [file.read_bytes() for file in files]))
        between = time.process_time()
        document = uocr.ocr(files, endpoint=endpoint, progress=False)
        end = time.process_time()
    seen = sum(page.tokens or 0 for page in document.pages)
    return {"transport_us": 1e6 * (between - used) / tokens, "whole_us": 1e6 * (end - between) / seen, "tokens": seen}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pdf", type=Path, nargs="?")
    parser.add_argument("--url", required=True)
    parser.add_argument("--cpu", type=int, metavar="PAGES")
    parser.add_argument("--wait", action="store_true", help="say when ready, and begin when told")
    options = parser.parse_args()
    with uocr.serve(options.url) as endpoint:
        if options.wait:
            print("ready", flush=True)
            sys.stdin.readline()
        print(json.dumps(processor(endpoint, options.cpu) if options.cpu else read(options.pdf, endpoint)), flush=True)


if __name__ == "__main__":
    main()
