"""The sample document: three pages that ``uocr demo``, the quickstart and the tests read.

``sample.pdf`` is born digital, ``scan.pdf`` is a poor scan of it (pictures only), and ``sample.txt`` says what
stands on the pages. All three are made by ``python -m uocr_nb.samples.make OUT_DIR``.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

__all__ = ["sample_pdf", "sample_scan", "sample_truth"]


def _shipped(name: str) -> Path:
    return Path(str(files(__name__) / name))


def sample_pdf() -> Path:
    """Return the path of the born-digital sample: three A4 pages with a text layer."""
    return _shipped("sample.pdf")


def sample_scan() -> Path:
    """Return the path of the same three pages as a poor scan: grey, tilted, blurred, no text layer."""
    return _shipped("scan.pdf")


def sample_truth() -> list[list[tuple[str, str]]]:
    """Return what stands on the sample's pages.

    Returns
    -------
    list of list of (str, str)
        For each page its (label, text) pairs in reading order; a paragraph that goes on in the next column is two.
        Items of a list, cells of a table (by rows, each once) and labels of a chart are parted by tabs; the text of an
        equation is LaTeX.
    """
    text = _shipped("sample.txt").read_text(encoding="utf-8")
    pages = [page.strip("\n").split("\n") for page in text.split("\f")]
    return [[(label, content) for label, _, content in (line.partition("\t") for line in page)] for page in pages]
