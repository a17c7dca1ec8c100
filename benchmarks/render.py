"""Pages a second of the renderer, its memory over a thousand pages, and the lag of an event loop meanwhile.

    python benchmarks/render.py [--pages 1000] [--mode gundam] [--dpi 165]

Makes its own PDF: A4 pages of text with a table's rules and a grey picture on each, no two alike.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
import time
from pathlib import Path

from uocr_nb.sources import Renderer, RenderSpec, Source, resolve

WORDS = "the of and to in is that for it as was with be by on not he his but at are this have from or had an they which"


def make_pdf(path: Path, pages: int) -> None:
    """Write the PDF to `path`."""
    import pymupdf  # noqa: PLC0415 - needed here only

    rng = random.Random(0)  # the same pages each time
    grey = bytes(rng.randrange(256) for _ in range(120 * 80))
    picture = pymupdf.Pixmap(pymupdf.csGRAY, 120, 80, grey, 0)
    with pymupdf.open() as document:
        for number in range(1, pages + 1):
            page = document.new_page(width=595, height=842)
            text = " ".join(rng.choices(WORDS.split(), k=520))
            page.insert_text((50, 50), f"Page {number}", fontsize=18)
            page.insert_textbox((50, 70, 545, 600), text, fontsize=10.5)
            page.insert_image((50, 620, 230, 740), pixmap=picture)
            for row in range(8):
                page.draw_line((260, 620 + 15 * row), (545, 620 + 15 * row))
        document.save(path)


def resident(pid: int) -> float:
    """MiB that the process holds (0 where the system does not tell)."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096 / 2**20
    except OSError:
        return 0.0


async def lag(samples: list[float]) -> None:
    """Note how late the loop wakes."""
    while True:
        began = time.perf_counter()
        await asyncio.sleep(0.005)
        samples.append((time.perf_counter() - began - 0.005) * 1000)


async def run(renderer: Renderer, source: Source, pages: int, spec: RenderSpec) -> None:
    """Render every page from a thread while the loop ticks."""
    samples: list[float] = []
    watcher = asyncio.create_task(lag(samples))
    held: dict[int, float] = {}
    size = 0
    began = time.perf_counter()
    for number in range(1, pages + 1):
        page = await asyncio.to_thread(renderer.render, source, number, spec)
        size += page.file.stat().st_size
        page.file.unlink(missing_ok=True)
        if number in {1, 100, 300, 600, pages}:
            held[number] = resident(renderer.worker_pid or 0)
    seconds = time.perf_counter() - began
    watcher.cancel()
    samples.sort()
    print(f"pages/s       {pages / seconds:.1f}  ({1000 * seconds / pages:.1f} ms a page)")
    print(f"page image    {page.size[0]} x {page.size[1]}, {page.dpi} dpi, {size / pages / 1024:.0f} KiB, {page.mime}")
    print("worker MiB    " + ", ".join(f"page {number}: {mib:.0f}" for number, mib in held.items()))
    print(
        f"loop lag      p50 {samples[len(samples) // 2]:.2f} ms, p99 {samples[int(len(samples) * 0.99)]:.2f} ms, "
        f"most {samples[-1]:.2f} ms"
    )


def main() -> None:
    """Make the PDF, render it, print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--mode", default="gundam")
    parser.add_argument("--dpi", type=float)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "benchmark.pdf")
        make_pdf(path, options.pages)
        began = time.perf_counter()
        with Renderer(folder=Path(folder)) as renderer:
            (source,) = resolve(path)
            renderer.open(source)
            print(f"start + open  {time.perf_counter() - began:.2f} s for {path.stat().st_size / 2**20:.1f} MiB")
            asyncio.run(run(renderer, source, options.pages, RenderSpec(dpi=options.dpi, mode=options.mode)))


if __name__ == "__main__":
    main()
