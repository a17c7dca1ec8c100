"""Milliseconds from an answer to what is seen: grammar, verdict, markdown, the page as HTML, the live view, figures.

    python benchmarks/views.py [--pages 20]

The pages are those of `corpus.py` as they are sent at 165 dpi, the answers those of `simulated_engine.py` (700 tokens).
Each line is the median over the pages.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpus import make
from simulated_engine import answer

from uocr_nb.document.grammar import AnswerParser, parse_answer
from uocr_nb.document.model import Document, Page
from uocr_nb.document.verdict import judge
from uocr_nb.exports.html import to_html
from uocr_nb.markup.markdown import page_markdown, page_text
from uocr_nb.reading.progress import Progress
from uocr_nb.sources import Renderer, RenderSpec, resolve
from uocr_nb.views.live_html import live_html
from uocr_nb.views.mime import page_bundle
from uocr_nb.views.overlay import page_figure, shown_png
from uocr_nb.views.page_html import document_html

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

TOKENS = 700


def pages_of(pdf: Path, count: int, folder: Path) -> list[Page]:
    """The pages with their images and blocks."""
    pages = []
    spec = RenderSpec()
    with Renderer(folder=folder) as renderer:
        (source,) = resolve(pdf)
        for number in range(1, count + 1):
            image = renderer.render(source, number, spec)
            raw = "".join(answer(number, TOKENS))
            (parsed,) = parse_answer(raw)
            pages.append(
                Page(
                    number,
                    number,
                    source.name,
                    image.size,
                    blocks=parsed.blocks,
                    raw=raw,
                    tokens=TOKENS,
                    seconds=3.0,
                    sha256=image.sha256,
                    image_file=image.file,
                )
            )
    return pages


def show(
    what: str, work: Callable[[Any], Any], things: Iterable[Any], size: Callable[[Any], int] | None = None
) -> None:
    """Print the median time of `work` over `things`, and how large what it made is."""
    seconds, sizes = [], []
    for thing in things:
        began = time.perf_counter()
        made = work(thing)
        seconds.append(time.perf_counter() - began)
        if size is not None:
            sizes.append(size(made))
    kib = f"{statistics.median(sizes) / 1024:>9.0f} KiB" if sizes else ""
    print(f"{what:<52}{1000 * statistics.median(seconds):>9.2f} ms{kib}", flush=True)


def stream(raw: str) -> None:
    """Feed an answer token by token, and look at the blocks so far every 40 tokens (0.2 s at 5 ms a token)."""
    parser = AnswerParser(events=False)
    for at in range(0, len(raw), 5):
        parser.feed(raw[at : at + 5])
        if at % 200 == 0:
            _ = parser.pages
    parser.finish()


def png(page: Page) -> bytes:
    """The figure with its boxes, as a notebook keeps it."""
    return shown_png(page_figure(page))


def main() -> None:
    """Make the pages and print the times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=20)
    count = parser.parse_args().pages
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pages = pages_of(make(folder / "pages.pdf", count), count, folder)
        raws = [page.raw for page in pages]
        parsed = [parse_answer(raw)[0] for raw in raws]
        documents = [Document(pages[:10]) for _ in range(3)]
        long = [page_at(pages, position) for position in range(1, 1001)]
        show(f"grammar, a page of {TOKENS} tokens, whole", parse_answer, raws)
        show("the same token by token, looked at 5 times a second", stream, raws)
        show("verdict", lambda n: judge(parsed[n], raw=raws[n], finish_reason="stop", max_tokens=8192), range(count))
        show("markdown and text", lambda page: (page_markdown(page), page_text(page)), pages)
        show("a page in a notebook (HTML, markdown, plain)", page_bundle, pages, lambda made: len(made["text/html"]))
        show("10 pages in a notebook, the first time", lambda pages: document_html(Document(pages)), [pages[-10:]], len)
        show("10 pages in a notebook, again", document_html, documents, len)
        show("1,000 pages in a notebook", document_html, [Document(long)] * 3, len)
        show("10 pages as a file of HTML", to_html, documents[:1], len)
        moments = [Progress(total=1000, done=done, seconds=done / 3) for done in (1, 10, 100, 500, 999)]
        show("the live view of 1,000 pages, a redraw", lambda now: live_html(now, long[: now.done]), moments, len)
        png(pages[0])
        show("a figure with its boxes (matplotlib, PNG)", png, pages[:5], len)


def page_at(pages: list[Page], position: int) -> Page:
    """One of `pages` at another position of a long document."""
    from dataclasses import replace  # noqa: PLC0415

    return replace(pages[position % len(pages)], position=position, number=position)


if __name__ == "__main__":
    main()
