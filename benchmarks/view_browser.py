"""The page view in JupyterLab and Chromium: what a person waits for, and what goes over the wire, against the aims.

    python benchmarks/view_browser.py [--pages 300] [--blocks 300] [--rounds 7]

A page of 300 blocks (drawn by `tests/helpers/drawn.py`) and a document of 300 pages (those of `corpus.py` as they are
sent at 165 dpi, 20 of them in turn) are shown by ``doc.view()`` in a notebook with a real kernel.

- hover: script time of one `mouseover` on a box or a row, with the style and layout that it asks for forced at once.
- first paint: from the click that runs the cell to the second frame after the page's picture is there.
- turn: from the key `]` to the second frame after the next page's picture is there; pages not seen before.
- search: from the last letter to the count of hits in all pages.
- sent: what the kernel sends to the browser until 1.5 s after the first paint, by kind of message; and for each page
  that is turned to.
"""

from __future__ import annotations

import argparse
import os
import pickle
import re
import shutil
import statistics
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "helpers")]

import drawn  # noqa: E402 - found where the line above says
from cells import Cells, end_kernels  # noqa: E402
from corpus import make  # noqa: E402
from lab import Lab, browser  # noqa: E402
from views import page_at, pages_of  # noqa: E402

from uocr_nb.document.model import Document  # noqa: E402
from uocr_nb.views.mime import document_bundle, page_bundle  # noqa: E402
from uocr_nb.views.script import inline_script  # noqa: E402

DISTINCT = 20

LOAD = """
import pickle, time
doc, crowded = pickle.load(open("documents.pickle", "rb"))
crowded.view()
"""
VIEW = """
began = time.perf_counter()
_ = doc.view()
print(f"python {1000 * (time.perf_counter() - began):.1f}")
"""

PAINTED = """([cell, before]) => new Promise((done, failed) => {
    const from = performance.now();
    const look = () => {
        const root = [...document.querySelectorAll('.jp-Cell')][cell].querySelector('.uo-root[data-on]');
        const image = root && root.dataset.uid !== before && root.querySelector('.uo-mat .uo-image');
        if (image && image.complete && image.naturalWidth) {
            const frame = requestAnimationFrame;
            frame(() => frame(() => done([performance.now() - from, root.dataset.uid])));
        } else if (performance.now() - from > 60000) failed(new Error('nothing was painted'));
        else requestAnimationFrame(look);
    };
    window.jupyterapp.commands.execute('notebook:run-cell');
    look();
})"""

HOVER = """root => {
    const shown = [...root.querySelectorAll('.uo-chrome [data-b]')].filter(e => e.checkVisibility());
    const times = [];
    for (let round = 0; round < 3; round += 1) {
        for (const one of shown) {
            const from = performance.now();
            one.dispatchEvent(new MouseEvent('mouseover', {bubbles: true}));
            getComputedStyle(one).backgroundColor;
            root.getBoundingClientRect();
            times.push(performance.now() - from);
        }
    }
    return times.slice(shown.length).sort((a, b) => a - b);
}"""

TURNED = """root => new Promise((done, failed) => {
    const from = performance.now();
    const before = root.querySelector('.uo-mat .uo-image');
    const look = () => {
        const image = root.querySelector('.uo-mat .uo-image');
        if (image && image !== before && image.complete && image.naturalWidth) {
            requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - from)));
        } else if (performance.now() - from > 20000) failed(new Error('no other page'));
        else requestAnimationFrame(look);
    };
    root.querySelector('.uo-mat .uo-box').dispatchEvent(new KeyboardEvent('keydown', {key: ']', bubbles: true}));
    look();
})"""

FOUND = """([root, words]) => new Promise((done, failed) => {
    const field = root.querySelector('.uo-find input');
    const said = () => root.querySelector('.uo-found').textContent;
    const type = text => {
        field.value = text;
        field.dispatchEvent(new InputEvent('input', {bubbles: true}));
    };
    let from = performance.now();
    const look = () => {
        if (/of|not found/.test(said())) done(performance.now() - from);
        else if (performance.now() - from > 20000) failed(new Error('nothing was said'));
        else requestAnimationFrame(look);
    };
    const start = () => {
        if (said()) return requestAnimationFrame(start);
        from = performance.now();
        type(words);
        look();
    };
    type('');
    start();
})"""


class Wire:
    """Counts the bytes that come over the web sockets of a browser's page, by kind of message."""

    def __init__(self, page: Any) -> None:
        self.kinds: Counter[str] = Counter()
        page.on("websocket", lambda socket: socket.on("framereceived", self._take))

    def _take(self, payload: Any) -> None:
        data = payload.encode() if isinstance(payload, str) else payload
        found = re.search(rb'"msg_type": ?"(\w+)"', data)
        self.kinds[found[1].decode() if found else ""] += len(data)

    def since(self, before: Counter[str], *kinds: str) -> float:
        """KiB that came since `before`, of these kinds or of all."""
        more = self.kinds - before
        return sum(more[kind] for kind in kinds or more) / 1024


class Report:
    """Lines of a table: what, seen, the aim, and the one as a share of the other."""

    def __init__(self) -> None:
        print(f"{'':<58}{'seen':>12}{'aim':>10}{'seen / aim':>12}")

    def line(self, what: str, seen: float, unit: str, aim: float | None = None) -> None:
        """Print one."""
        share = f"{seen / aim:>12.2f}" if aim else ""
        print(f"{what:<58}{seen:>8.1f} {unit:<3}{f'{aim:>6.0f} {unit:<3}' if aim else '':>10}{share}", flush=True)


def documents(folder: Path, pages: int, blocks: int) -> tuple[Document, Document]:
    """The long document and the crowded one."""
    few = pages_of(make(folder / "pages.pdf", DISTINCT), DISTINCT, folder)
    return Document([page_at(few, n) for n in range(1, pages + 1)]), drawn.crowded(folder, blocks)


def stored(report: Report, long: Document, crowded: Document) -> None:
    """How large the stored forms are."""
    report.line("stored: one page of the long document", _kib(page_bundle(long.page(1))), "KiB", 200e3 / 1024)
    report.line("stored: the page of many blocks", _kib(page_bundle(crowded.page(1))), "KiB", 200e3 / 1024)
    report.line("stored: ten pages", _kib(document_bundle(Document(long.pages[:10]))), "KiB", 2e6 / 1024)
    report.line("stored: all pages of the long document (ten of them)", _kib(document_bundle(long)), "KiB", 2e6 / 1024)
    report.line("the script in each of them", len(inline_script().encode()) / 1024, "KiB", 48)


def _kib(bundle: dict[str, str]) -> float:
    return len(bundle["text/html"].encode()) / 1024


def in_lab(report: Report, folder: Path, chromium: str, rounds: int) -> None:
    """What a browser shows and receives."""
    os.environ["PYTHONPATH"] = str(ROOT)
    lab = Lab(folder)
    try:
        with browser(chromium) as context:
            cells = Cells(context, lab, "views", [LOAD, VIEW])
            wire = Wire(cells.page)
            cells.page.reload()  # its sockets open anew, and are counted
            cells.page.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status=idle]", state="attached")
            cells.run(0)
            cells.ended(0)
            _crowded(report, cells)
            _long(report, cells, wire, rounds)
            end_kernels(lab)
    finally:
        lab.close()


def _crowded(report: Report, cells: Cells) -> None:
    cells.run(1)
    cells.ended(1)
    root = cells.cell(1).locator(".uo-root[data-on]")
    root.locator(".uo-mat .uo-box").first.wait_for()
    times = root.evaluate(HOVER)
    report.line(f"hover to highlight, p50 of {len(times)}", statistics.median(times), "ms", 16)
    report.line("hover to highlight, p99", times[int(0.99 * len(times))], "ms", 16)


def _long(report: Report, cells: Cells, wire: Wire, rounds: int) -> None:
    painted, output, state, looked, python, uid = [], [], [], [], [], ""
    for _ in range(rounds):
        cells.cell(2).locator(".jp-InputArea-editor").click()
        before = wire.kinds.copy()
        seconds, uid = cells.page.evaluate(PAINTED, [2, uid])
        cells.page.wait_for_timeout(1500)
        painted.append(seconds)
        output.append(wire.since(before, "display_data"))
        state.append(wire.since(before, "comm_open"))
        looked.append(wire.since(before, "comm_msg"))
        text = cells.ended(2)
        python += [float(line.split()[1]) for line in text.splitlines() if line.startswith("python ")]
    report.line("doc.view() of all pages, in Python, first", python[0], "ms")
    report.line("the same, median of the others", statistics.median(python[1:]), "ms")
    report.line("first paint, first", painted[0], "ms", 1000)
    report.line("first paint, median of the others", statistics.median(painted[1:]), "ms", 1000)
    report.line("sent for it: the output", statistics.median(output), "KiB", 200e3 / 1024)
    report.line("sent for it: state of the widget, with its script", statistics.median(state), "KiB", 300e3 / 1024)
    report.line("sent for it: pages and thumbnails looked at", statistics.median(looked), "KiB")
    root = cells.cell(2).locator(".uo-root[data-on]")
    turned, each = [], []
    for _ in range(12):
        before = wire.kinds.copy()
        turned.append(root.evaluate(TURNED))
        cells.page.wait_for_timeout(400)
        each.append(wire.since(before, "comm_msg"))
    report.line("the next page, median of 12", statistics.median(turned), "ms")
    report.line("sent for it, and ahead", statistics.median(each), "KiB")
    found = [
        cells.page.evaluate(FOUND, [root.element_handle(), words]) for words in ("the", "of the", "nowhere at all")
    ]
    report.line("search in all pages, median of 3", statistics.median(found), "ms")


def main() -> None:
    """Make the documents and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=300)
    parser.add_argument("--blocks", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    chromium = os.environ.get("UOCR_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("There is no Chromium here; UOCR_CHROMIUM names one.")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        began = time.perf_counter()
        long, crowded = documents(folder, given.pages, given.blocks)
        (folder / "documents.pickle").write_bytes(pickle.dumps((long, crowded)))
        print(f"{len(long):,} pages, {len(crowded.page(1).blocks)} blocks, made in {time.perf_counter() - began:.0f} s")
        report = Report()
        stored(report, long, crowded)
        in_lab(report, folder, chromium, given.rounds)


if __name__ == "__main__":
    main()
