"""What is known of one case when it is done."""

from __future__ import annotations

import re
import time
import traceback
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import lxml.html

from uocr_nb.document.model import Document, Status
from uocr_nb.exports.data import from_json, to_json
from uocr_nb.views.script import inline_script

if TYPE_CHECKING:
    from tests.cases.measure import Noise
    from uocr_nb.errors import UocrError

__all__ = ["Record", "look_over"]

_INSIDES = re.compile(r"Traceback|Errno|\b0x[0-9a-fA-F]{6,}|<_io\.|<class |\b[A-Z]\w+(?:Error|Exception)\b")
"""Words of a program's insides, which no person should have to read."""

_LONGEST = 600
"""Characters of one part of a message: more is a list that nobody reads."""


@dataclass
class Record:
    """One answer or one input file.

    Attributes
    ----------
    name : str
        Path below the folder that was named, and the number of the answer in its file.
    kind : str
        ``"answer"`` or ``"input"``.
    pages : Counter
        Pages by status.
    message : str
        What it was refused with, when it was.
    seconds, engine : float
        Time of the client, and time of the engine apart from it.
    memory : float
        MB that client and worker held at most.
    note : str
        What was left out.
    warnings : list of str
        Of its pages.
    problems : list of str
        What must not be; each makes the run fail.
    """

    name: str
    kind: str
    pages: Counter[str] = field(default_factory=Counter)
    message: str = ""
    seconds: float = 0.0
    engine: float = 0.0
    memory: float = 0.0
    warnings: list[str] = field(default_factory=list)
    note: str = ""
    problems: list[str] = field(default_factory=list)

    def line(self) -> str:
        """One line for the terminal."""
        outcome = ", ".join(f"{n} {status}" for status, n in self.pages.items())
        if self.message:
            outcome = f"{outcome}; {self.message}".lstrip("; ")
        if self.note:
            outcome += f" ({self.note})"
        engine = f" + {self.engine:.1f} engine" if self.engine >= 0.05 else ""
        mark = "PROBLEM" if self.problems else "ok"
        return f"{mark:<8}{self.seconds:6.2f} s{engine}  {self.name}: {outcome}"

    def data(self) -> dict[str, Any]:
        """All of it, for a file."""
        return {**asdict(replace(self, pages=Counter())), "pages": dict(self.pages)}

    def refused(self, error: UocrError) -> None:
        """Note the message, and what it lacks."""
        self.message = error.what
        for part in ("what", "why", "next"):
            text = getattr(error, part)
            if not text.strip():
                self.problems.append(f"the message has no {part}: {error.what}")
        self._plain(f"{error.what} {error.why}", "the message")
        if error.__cause__ is None and error.__context__ is not None and not error.__suppress_context__:
            self.problems.append(f"the message drags {type(error.__context__).__name__} along: {error.what}")

    def broke(self, error: BaseException) -> None:
        """Note an exception that is no message."""
        where = traceback.extract_tb(error.__traceback__)[-1]
        self.problems.append(f"{type(error).__name__}: {error} ({where.filename}:{where.lineno})")

    def heard(self, noise: Noise) -> None:
        """Note what was printed."""
        if noise.text:
            self.problems.append(f"it printed: {noise.text[:300]}")

    def took(self, began: float) -> None:
        """Note the time since `began`, less the engine's own."""
        self.seconds = max(0.0, time.monotonic() - began - self.engine)

    def keeps(self, seconds: float, memory: float) -> None:
        """Note what goes beyond the limits."""
        if self.seconds > seconds:
            self.problems.append(f"it took {self.seconds:.1f} s of the client's time")
        if self.memory > memory:
            self.problems.append(f"client and worker held {self.memory:.0f} MB")

    def _plain(self, text: str, what: str) -> None:
        if found := _INSIDES.search(text):
            self.problems.append(f"{what} speaks of {found[0]!r}: {text[:200]}")
        if "\n" in text.strip() or len(text) > _LONGEST:
            self.problems.append(f"{what} is longer than a sentence or two: {text[:200]!r}")

    def saw(self, document: Document) -> None:
        """Note pages and warnings, and what they must have."""
        self.pages.update(str(page.status) for page in document.pages)
        self.warnings += document.warnings
        for page in document.pages:
            if (page.status is Status.OK) == bool(page.reason):
                self.problems.append(f"page {page.position} is {page.status} and its reason is {page.reason!r}")
            for text in (page.reason, *page.warnings):
                self._plain(text, f"page {page.position}")
        if not len(document):
            self.problems.append("no page came out")


def look_over(document: Document, record: Record, *, tables: bool = True) -> None:
    """Write the document in every form that a person or a program may ask for."""
    assert isinstance(document.markdown, str)
    assert isinstance(document.text, str)
    bundle: dict[str, Any] = document._repr_mimebundle_()
    if not {"text/html", "text/plain"} <= set(bundle):
        record.problems.append(f"the bundle holds {sorted(bundle)}")
    if bundle.get("text/html") and _runs(bundle["text/html"]):
        record.problems.append("its HTML runs something")
    for page in document.pages:
        str(page)
        page._repr_mimebundle_()
    if tables:
        for table in document.tables:
            assert table.df is not None
    assert document.to_dataframe() is not None
    if from_json(to_json(document)).pages != document.pages:
        record.problems.append("JSON gives other pages back")


def _runs(html: str) -> bool:
    """Whether a page's text became something that acts; the one script is the program's own."""
    root = lxml.html.fromstring(html.replace(f"<script>{inline_script()}</script>", ""))
    return any(
        element.tag in ("script", "iframe", "object", "embed", "svg", "style", "form")
        or any(
            name.startswith("on") or value.strip().casefold().startswith("javascript:")
            for name, value in element.attrib.items()
        )
        for element in root.iter()
    )
