"""``%uocr`` and ``%%uocr``."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from IPython.display import display

from uocr_nb.errors import OptionError, UocrError
from uocr_nb.exports import check_target
from uocr_nb.magics.live import LiveDocument
from uocr_nb.magics.options import check_variable, ocr_parser, reading_options
from uocr_nb.magics.words import split, value_of
from uocr_nb.reading import pipeline
from uocr_nb.reading.plan import INTERRUPTED
from uocr_nb.reading.progress import StopReading
from uocr_nb.support.loop import held_interrupts
from uocr_nb.views import messages

if TYPE_CHECKING:
    from uocr_nb.document.model import Document

__all__ = ["OcrLine", "ocr", "read_line"]


@dataclass(frozen=True)
class OcrLine:
    """What one ``%uocr`` line asks for."""

    sources: tuple[Any, ...]
    options: dict[str, Any]
    save: str | None
    output: str | None
    show: str | None


def ocr(shell: Any, line: str, cell: str | None) -> Document:
    """Read the sources and show the document; it is the value of the cell."""
    asked = read_line(line, cell, shell.user_ns)
    if asked.save:
        # Before anything is read: on a paid endpoint a wrong ending would cost money.
        check_target(asked.save)
    live = LiveDocument(shell, asked.show)
    try:
        document = pipeline.ocr(list(asked.sources), progress=live.update, show=asked.show, **asked.options)
    except KeyboardInterrupt as end:
        with held_interrupts():
            return _interrupted(shell, live, asked, "stopped" if isinstance(end, StopReading) else "interrupted")
    except UocrError:
        live.clear()
        raise
    except BaseException:
        live.leave()
        raise
    if asked.output:
        shell.user_ns[asked.output] = document
    live.finish(document)
    if asked.save:
        document.save(asked.save)
    return document


def read_line(line: str, cell: str | None, namespace: dict[str, Any]) -> OcrLine:
    """The line and the body of a magic as one typed request.

    Raises
    ------
    OptionError
        When an option, a variable or every source is missing.
    """
    prog = "%uocr" if cell is None else "%%uocr"
    arguments = ocr_parser(prog).read(split(line))
    words = [*arguments.sources, *_body(cell)]
    if not words:
        raise OptionError(
            f"{prog} was given nothing to read.",
            "A source is a path, a glob, a folder, {expression} or $name.",
            "%uocr report.pdf\nor, in a cell of its own:\n%%uocr\nreport.pdf\nscans/*.png",
        )
    check_variable(arguments.output, "doc")
    sources: list[Any] = []
    for word in words:
        value = value_of(word, namespace)
        sources.extend(value) if isinstance(value, (list, tuple)) else sources.append(value)
    return OcrLine(
        sources=tuple(sources),
        options={
            "endpoint": arguments.endpoint,
            **reading_options(arguments),
            "password": _password(arguments.password_env),
        },
        save=_save_path(arguments.save, namespace),
        output=arguments.output,
        show=arguments.show,
    )


def _body(cell: str | None) -> list[str]:
    """One source a line; quotes around a whole line are taken off, ``#`` starts a comment line."""
    words: list[str] = []
    for raw in (cell or "").splitlines():
        text = raw.strip()
        if not text or text.startswith("#"):
            continue
        quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"
        words.append(text[1:-1] if quoted else text)
    return words


def _password(name: str | None) -> str | None:
    if name is None:
        return None
    value = os.environ.get(name)
    if value is None:
        raise OptionError(
            f"There is no environment variable {name}.",
            "--password-env names the variable that holds the password, so that it stays out of the notebook.",
            f'import os, getpass; os.environ["{name}"] = getpass.getpass()',
        )
    return value


def _save_path(path: str | None, namespace: dict[str, Any]) -> str | None:
    """The path with the notebook's variables filled in; {source} and {page} are left for `Document.save`."""
    if path is None:
        return None
    kept = re.sub(r"\{(source|page)\}", lambda match: f"\0{match[1]}\0", path)
    filled = str(value_of(kept, namespace))
    return re.sub("\0(source|page)\0", lambda match: "{" + match[1] + "}", filled)


def _interrupted(shell: Any, live: LiveDocument, asked: OcrLine, how: str) -> Document:
    """What an interrupt or Stop leaves: the pages that are done, shown and kept, as the value of the cell.

    Raises
    ------
    OptionError
        When no page was done yet.
    """
    document = pipeline.last()
    done = sum(page.reason != INTERRUPTED for page in document.pages) if document is not None else 0
    if document is None or not done:
        live.clear()
        raise OptionError(f"You {how} the reading.", "No page was done yet.", "Run the cell again.") from None
    name = asked.output or "doc"
    if asked.output:
        shell.user_ns[asked.output] = document
    live.finish(document)
    first = "" if asked.output else "doc = uocr_nb.last(); "
    unsaved = f" {asked.save} is not written." if asked.save else ""
    display(
        messages.warning(
            f"You {how} the reading: {done:,} of {len(document):,} pages are done and kept.{unsaved}",
            f"Read the rest: `{first}{name}.retry()`",
        )
    )
    return document
