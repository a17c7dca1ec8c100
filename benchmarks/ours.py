"""A PDF read as a user reads it: `serve(url)`, then `ocr(file)`; what it measured as one line of JSON.

python benchmarks/ours.py FILE.pdf --url http://127.0.0.1:PORT/v1
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

import uocr_nb as uocr

if TYPE_CHECKING:
    from uocr_nb.document.model import Page
    from uocr_nb.reading.progress import Progress


def read(path: Path, url: str) -> dict[str, float]:
    """Read the PDF; return when things happened, in seconds from the call."""
    first = 0.0

    def watch(progress: Progress, _pages: list[Page]) -> None:
        nonlocal first
        if progress.done and not first:
            first = time.monotonic() - began

    with uocr.serve(url) as endpoint:
        # Importing what the first call needs is part of that call.
        began, used = time.monotonic(), time.process_time()
        document = uocr.ocr(path, endpoint=endpoint, progress=watch)
        seconds, used = time.monotonic() - began, time.process_time() - used
        return {
            "began": began,
            "seconds": seconds,
            "first_page": first,
            "pages": len(document.pages),
            "not_ok": sum(page.status.value != "ok" for page in document.pages),
            "tokens": sum(page.tokens or 0 for page in document.pages),
            "cpu": used,
        }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pdf", type=Path)
    parser.add_argument("--url", required=True)
    options = parser.parse_args()
    print(json.dumps(read(options.pdf, options.url)))


if __name__ == "__main__":
    main()
