"""The command line: ``uocr``, also ``python -m uocr_nb``."""

from __future__ import annotations

import argparse
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from uocr_nb import __version__
from uocr_nb.errors import OptionError, UocrError
from uocr_nb.magics.options import add_reading_arguments, joined, reading_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uocr_nb.document.model import Document, Page


__all__ = ["main"]

_FAILED, _INTERRUPTED, _WRONG_USE = 1, 130, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status is 0, 1 (failed, or a page is not ok), 2 (wrong use) or 130 (interrupted)."""
    asked = _parser().parse_args(list(joined(sys.argv[1:] if arguments is None else arguments)))
    try:
        return int(asked.run(asked))
    except OptionError as error:
        print(f"uocr: {_in_shell(str(error))}", file=sys.stderr)
        return _WRONG_USE
    except UocrError as error:
        print(f"uocr: {_in_shell(str(error))}", file=sys.stderr)
        return _FAILED
    except BrokenPipeError:
        # Whoever read the output has gone; Python would complain once more when it flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _FAILED
    except OSError as error:
        print(f"uocr: {error.strerror or error}: {error.filename or ''}".rstrip(": "), file=sys.stderr)
        return _FAILED
    except KeyboardInterrupt:
        print("uocr: interrupted", file=sys.stderr)
        return _INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="uocr", description="OCR whose engine belongs to the notebook that started it."
    )
    parser.add_argument("--version", action="version", version=f"uocr_nb {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    demo = commands.add_parser("demo", help="run the quickstart notebook on the embedded engine")
    demo.add_argument("--lab", action="store_true", help="open JupyterLab on the executed notebook")
    demo.add_argument(
        "--out", type=Path, default=Path("uocr-demo"), metavar="DIR", help="where it goes (default uocr-demo)"
    )
    demo.set_defaults(run=_demo)

    serve = commands.add_parser("serve", help="run the CPU endpoint in the foreground")
    serve.add_argument("engine", choices=["cpu"])
    serve.add_argument("--port", type=int, default=0, metavar="N", help="default: a free one")
    serve.add_argument("--low-memory", action="store_true", help="stay under 1.2 GB, a little slower")
    serve.set_defaults(run=_serve)

    ocr = commands.add_parser("ocr", help="read files and write a document")
    ocr.add_argument("sources", nargs="+", metavar="SOURCE", help="path, glob, folder, URL or IIIF manifest")
    ocr.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="OUT",
        help="the ending decides the format; - is markdown on standard output",
    )
    ocr.add_argument("--endpoint", metavar="URL", help="default: the cpu engine, started and stopped here")
    ocr.add_argument("--engine", metavar="NAME", help="which engine the URL is, when it does not tell")
    ocr.add_argument("--api-key-env", metavar="NAME", help="variable that holds the URL's key")
    add_reading_arguments(ocr)
    ocr.set_defaults(run=_ocr)

    jobs = commands.add_parser("jobs", help="list what runs on this machine and on the account")
    jobs.add_argument("--cancel", nargs="*", metavar="ID", help="cancel what a dead kernel left, or the Job of that ID")
    jobs.add_argument("--namespace", default="", metavar="ORG", help="another account than your own")
    jobs.set_defaults(run=_jobs)

    stop = commands.add_parser("stop", help="stop what this machine's ledger holds")
    stop.add_argument("name", nargs="?", metavar="NAME", help="the endpoint of that name (default: the only one)")
    stop.add_argument("--all", action="store_true", help="all of them, those of living kernels too")
    stop.set_defaults(run=_stop)

    doctor = commands.add_parser("doctor", help="one report to paste; it never holds a token")
    doctor.add_argument("--offline", action="store_true", help="do not ask whether the Hub can be reached")
    doctor.set_defaults(run=_doctor)
    return parser


_SHELL_WORDS = (
    (r"%uocr_serve cpu --low-memory", "uocr serve cpu --low-memory"),
    (r"%uocr_serve(?= |$)", "uocr serve cpu"),
    (r"%uocr_jobs", "uocr jobs"),
    (r"%uocr_stop", "uocr stop"),
    (r"%uocr_(status|logs)", "uocr jobs"),
    (r"%uocr (.+?)(?=$)", r"uocr ocr \1 -o OUT.md"),
    (r"%ls", "ls"),
    (r'import pathlib; pathlib\.Path\((".*")\)\.mkdir\(parents=True\)', r"mkdir -p \1"),
    (r"%env (\w+)=", r"export \1="),
    (r"doc\.save\(.([^'\"]+).\)", r"-o \1"),
    (r"\b(dpi|mode|pages)=(?=\d|\w)", r"--\1 "),
)
"""Steps as a notebook writes them, and as a shell does."""


def _in_shell(text: str) -> str:
    for notebook, shell in _SHELL_WORDS:
        text = re.sub(notebook, shell, text, flags=re.MULTILINE)
    return text


def _demo(asked: argparse.Namespace) -> int:
    from uocr_nb.demo import run_demo  # noqa: PLC0415 - brings nbclient

    return run_demo(asked.out, lab=asked.lab)


def _serve(asked: argparse.Namespace) -> int:
    from uocr_nb.local_server.__main__ import serve_foreground  # noqa: PLC0415 - brings the engine

    serve_foreground(port=asked.port, low_memory=asked.low_memory)
    return 0


def _ocr(asked: argparse.Namespace) -> int:
    from uocr_nb.exports import check_target  # noqa: PLC0415
    from uocr_nb.reading.pipeline import last, ocr  # noqa: PLC0415 - brings the clients
    from uocr_nb.serving.start import serve  # noqa: PLC0415
    from uocr_nb.sources import resolve  # noqa: PLC0415

    password = None
    if asked.password_env:
        password = os.environ.get(asked.password_env)
        if password is None:
            raise OptionError(f"There is no environment variable {asked.password_env}.", "", "")
    if asked.output != "-":
        check_target(asked.output)
    if asked.endpoint is None and (asked.engine or asked.api_key_env):
        raise OptionError("--engine and --api-key-env need --endpoint.", "They are for a URL.", "--endpoint URL")
    # What is not there is told before an engine is started for it.
    resolve(list(asked.sources))
    given = (
        serve(asked.endpoint, engine=asked.engine, api_key_env=asked.api_key_env) if asked.endpoint else serve("cpu")
    )
    try:
        with given as endpoint:
            document = ocr(list(asked.sources), endpoint=endpoint, password=password, **reading_options(asked))
    except KeyboardInterrupt:
        done = sum(page.status == "ok" for page in so_far.pages) if (so_far := last()) else 0
        print(f"uocr: interrupted: nothing is written; {done:,} pages are kept for the next run", file=sys.stderr)
        return _INTERRUPTED
    return _written(document, asked.output)


def _written(document: Document, output: str) -> int:
    """Write the document, say what came of it, and give the exit status."""
    from uocr_nb.views.words import summary_line  # noqa: PLC0415

    if output == "-":
        # What the program says of it goes to the other stream, so that the text can go on through a pipe.
        print(document.markdown)
    summary = f"{'uocr' if output == '-' else document.save(output)}: {summary_line(document.pages)}"
    print(summary, file=sys.stderr if output == "-" else sys.stdout)
    told = _told(document)
    more = [f"uocr: and {len(told) - _MOST_TOLD:,} more"] if len(told) > _MOST_TOLD else []
    print(*told[:_MOST_TOLD], *more, sep="\n", end="\n" if told else "", file=sys.stderr)
    return 0 if set(document.status) <= {"ok"} else _FAILED


_MOST_TOLD = 20


def _told(document: Document) -> list[str]:
    """A line for each page that is not ok and for each warning; those of pages that are not ok first."""
    from uocr_nb.views.words import reason_of, warnings_of  # noqa: PLC0415

    def line(page: Page, text: str) -> str:
        names = ", ".join(name for name in (page.source, page.name) if name and name not in text)
        return f"uocr: page {page.position}" + (f" ({names})" if names else "") + f": {text}"

    bad = [page for page in document.pages if page.status != "ok"]
    return [
        *(line(page, f"{page.status}: {reason_of(page)}") for page in bad),
        *(f"uocr: {warning}" for warning in document.own_warnings),
        *(line(page, warning) for page in document.pages for warning in warnings_of(page)),
    ]


def _jobs(asked: argparse.Namespace) -> int:
    from uocr_nb.serving.hub import listing  # noqa: PLC0415 - brings the Hub's client

    if asked.cancel is not None:
        told = [listing.cancel_job(job_id) for job_id in asked.cancel] if asked.cancel else listing.cancel_dead()
        print("\n".join(told) if told else "Nothing was left behind by a dead kernel.")
        return 0
    rows = listing.jobs(namespace=asked.namespace)
    print("\n".join(row.line for row in rows) if rows else "Nothing is running.")
    return 0


def _stop(asked: argparse.Namespace) -> int:
    from uocr_nb.serving import ledger  # noqa: PLC0415 - brings processes and files
    from uocr_nb.serving.hub import listing  # noqa: PLC0415 - brings the Hub's client

    entries = [entry for entry in ledger.entries() if asked.name in (None, entry.name)]
    if not entries:
        print("Nothing is running." if asked.name is None else f"There is no endpoint {asked.name} in the ledger.")
        return 0 if asked.name is None else _FAILED
    if len(entries) > 1 and not asked.all:
        raise OptionError(
            f"{len(entries)} endpoints are running.",
            f"Which one is to stop was not said: {', '.join(entry.name for entry in entries)}.",
            "uocr stop NAME        or all of them: uocr stop --all",
        )
    for entry in entries:
        if entry.job is not None and entry.job.id:
            print(listing.cancel_job(f"{entry.job.namespace}/{entry.job.id}"))
        else:
            ledger.end(entry)
            print(f"Stopped {entry.name}.")
    return 0


def _doctor(asked: argparse.Namespace) -> int:
    from uocr_nb.doctor import report  # noqa: PLC0415 - looks at everything

    print(report(ask_hub=not asked.offline))
    return 0
