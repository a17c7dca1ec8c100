"""The command line: ``python -m tests.cases DIR ...``."""

from __future__ import annotations

import argparse
import contextlib
import fnmatch
import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uocr_nb as uocr
from tests.cases.answers import answers_in, try_answer
from tests.cases.inputs import try_file
from tests.cases.measure import Memory
from uocr_nb.errors import UocrError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.cases.records import Record
    from uocr_nb.serving.endpoint import Endpoint

_ANSWER = (
    "<|det|>title [100, 50, 900, 90]<|/det|>A page\n<|det|>text [100, 100, 900, 900]<|/det|>Its text, as scripted."
)


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.cases", description=__doc__)
    parser.add_argument("folder", nargs="+", type=Path, help="folders (with their subfolders) or files")
    parser.add_argument(
        "--engine", default="scripted", help="scripted (default), none (render only), cpu (the embedded one), or a URL"
    )
    parser.add_argument("--pages", type=int, default=60, metavar="N", help="most pages of one file (60)")
    parser.add_argument("--only", metavar="GLOB", help="names to go over")
    parser.add_argument("--seconds", type=float, default=20.0, help="limit of one case, without the engine's time (20)")
    parser.add_argument("--memory", type=float, default=1000.0, help="limit of client and worker, MB (1000)")
    parser.add_argument("--verbose", action="store_true", help="show the warnings of each case")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all that was found")
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> int:
    """Go over the folders; the exit status."""
    options = _arguments(given)
    missing = [str(folder) for folder in options.folder if not folder.exists()]
    if missing:
        print(f"Not there: {', '.join(missing)}", file=sys.stderr)
        return 2
    records: list[Record] = []
    with Memory() as memory:
        try:
            with _endpoint(options.engine) as endpoint:
                for record in _go_over(options, endpoint):
                    record.memory = memory.lap()
                    record.keeps(options.seconds, options.memory)
                    records.append(record)
                    print(record.line(), flush=True)
                    for text in record.problems + (record.warnings if options.verbose else []):
                        print(f"        {text}", flush=True)
        except UocrError as error:
            print(error, file=sys.stderr)
            return 2
    if options.json:
        options.json.write_text(json.dumps([record.data() for record in records], ensure_ascii=False, indent=1))
    return _summary(records, memory)


def _go_over(options: argparse.Namespace, endpoint: Endpoint | None) -> Iterator[Record]:
    for root in options.folder:
        for path in _files(root):
            name = str(path.relative_to(root)) if path != root else path.name
            name = name.encode("utf-8", "replace").decode()
            if options.only and not fnmatch.fnmatch(name, options.only):
                continue
            answers = answers_in(path)
            if answers is None:
                yield try_file(name, path, endpoint, options.pages)
                continue
            for n, answer in enumerate(answers, 1):
                yield try_answer(f"{name} #{n}" if len(answers) > 1 else name, answer)


def _files(root: Path) -> list[Path]:
    if root.is_file():
        return [root]
    return sorted(Path(top, name) for top, _, names in os.walk(root) for name in names)


@contextlib.contextmanager
def _endpoint(engine: str) -> Iterator[Endpoint | None]:
    """Start what reads: a scripted engine on loopback, the embedded one, or the one at a URL."""
    if engine == "none":
        yield None
        return
    with contextlib.ExitStack() as stack:
        where = engine
        if engine == "scripted":
            where = stack.enter_context(_scripted()).url
        yield stack.enter_context(uocr.serve(where))


@contextlib.contextmanager
def _scripted() -> Iterator[Any]:
    helpers = str(Path(__file__).parents[1] / "helpers")
    if helpers not in sys.path:
        sys.path.insert(0, helpers)
    from scripted import Reply
    from scripted import engine as run

    with run(lambda _number, _body: Reply(_ANSWER, step=40)) as running:
        yield running


def _summary(records: Sequence[Record], memory: Memory) -> int:
    for kind, many in (("answer", "answers"), ("input", "input files")):
        some = [record for record in records if record.kind == kind]
        if some:
            pages: Counter[str] = sum((record.pages for record in some), Counter())
            statuses = ", ".join(f"{n} {status}" for status, n in pages.most_common()) or "no pages"
            refused = sum(bool(record.message) and not record.pages for record in some)
            print(f"{len(some)} {many}: {statuses}; {refused} refused with a message")
    slowest = max(records, key=lambda record: record.seconds, default=None)
    if slowest is not None:
        print(f"slowest {slowest.seconds:.1f} s ({slowest.name}); engine {sum(r.engine for r in records):.0f} s")
    print(f"client at most {memory.peak:.0f} MB, its worker {memory.worker:.0f} MB of them")
    bad = sum(bool(record.problems) for record in records)
    print(f"{bad} of {len(records)} cases have problems" if bad else f"all {len(records)} cases end well")
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
