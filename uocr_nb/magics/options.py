"""Arguments of the magics: parsers that refuse with three parts and read well under ``--help``."""

from __future__ import annotations

import argparse
import difflib
import keyword
from typing import TYPE_CHECKING, Any, NoReturn

from uocr_nb.config import MODES, SHOWS
from uocr_nb.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = [
    "HelpShown",
    "Parser",
    "add_reading_arguments",
    "check_variable",
    "jobs_parser",
    "joined",
    "ocr_parser",
    "reading_options",
    "serve_parser",
]


class HelpShown(Exception):  # noqa: N818 - not an error: ``--help`` was asked for and shown
    """``--help`` was printed; there is nothing more to do."""


class Parser(argparse.ArgumentParser):
    """An argument parser for one magic.

    Parameters
    ----------
    prog : str
        The magic with its percent signs.
    about : str
        What it does, in a sentence or two.
    examples : sequence of str
        Lines that can be pasted.
    """

    def __init__(self, prog: str, about: str, examples: Sequence[str] = ()) -> None:
        epilog = "examples:\n" + "\n".join(f"  {line}" for line in examples) if examples else None
        super().__init__(
            prog=prog,
            description=about,
            epilog=epilog,
            add_help=False,
            allow_abbrev=False,
            formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(prog, max_help_position=30, width=96),
        )
        self.add_argument("-h", "--help", action="store_true", help="show this help")

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """Parse `words`.

        Raises
        ------
        OptionError
            For an unknown option (with the nearest known one), a missing or a wrong value.
        HelpShown
            When help was asked for.
        """
        if "-h" in words or "--help" in words:
            print(self.format_help(), end="")
            raise HelpShown
        arguments, unknown = self.parse_known_intermixed_args(list(joined(words)))
        for word in unknown:
            name = word.split("=", 1)[0]
            known = [option for action in self._actions for option in action.option_strings]
            near = difflib.get_close_matches(name, known, 1, 0.65)
            raise OptionError(
                f"{self.prog} has no option {name}." if word.startswith("-") else f"{self.prog} cannot use {word!r}.",
                f"The nearest one is {near[0]}."
                if near
                else f"Its options are listed by {self.prog.replace('%%', '%')} --help.",
                f"{self.prog.replace('%%', '%')} --help",
            )
        return arguments

    def error(self, message: str) -> NoReturn:
        """What argparse found wrong, as one of our errors."""
        text = message[0].upper() + message[1:]
        raise OptionError(
            f"{self.prog} could not read its options.", f"{text}.", f"{self.prog.replace('%%', '%')} --help"
        )


def check_variable(name: str | None, example: str) -> None:
    """Refuse a name after ``-o`` that no variable can have.

    Raises
    ------
    OptionError
        When it is no identifier, or a word of the language.
    """
    if name is not None and (not name.isidentifier() or keyword.iskeyword(name)):
        raise OptionError(f"-o {name} is no variable name.", "Python takes no such name.", f"-o {example}")


def auto_or(kind: Callable[[str], Any]) -> Callable[[str], Any]:
    """A value type that is "auto" or `kind`."""

    def read(text: str) -> Any:
        return "auto" if text == "auto" else kind(text)

    read.__name__ = f"auto or {kind.__name__}"
    return read


def ocr_parser(prog: str) -> Parser:
    """Arguments of ``%uocr`` and ``%%uocr``."""
    parser = Parser(
        prog,
        "Read page images and PDFs and show each page with its boxes beside its markdown.\n"
        "The value of the cell is a Document, so _ has it.",
        [
            "%uocr report.pdf --pages 1-3",
            '%uocr "scans/*.png" -o doc',
            "%uocr {picture}              a variable: PIL image, numpy array, figure, bytes, path, list",
            "%%uocr --save out/{source}.md   with one source a line in the cell below it",
        ],
    )
    parser.add_argument(
        "sources",
        nargs="*",
        metavar="SOURCE",
        help="path, glob, folder, {expression} or $name; several are one document",
    )
    add_reading_arguments(parser)
    parser.add_argument("--endpoint", metavar="NAME[,NAME]", help="where to read; several share the pages")
    parser.add_argument("--show", choices=SHOWS, help="how the document shows itself (default auto)")
    parser.add_argument(
        "--save",
        metavar="PATH",
        help="write as well; the ending decides the format, {source} and {page} make one file each",
    )
    parser.add_argument("-o", dest="output", metavar="NAME", help="keep the document in this variable")
    return parser


def add_reading_arguments(parser: argparse.ArgumentParser) -> None:
    """Add how pages are read; the command line has the same options."""
    add = parser.add_argument
    add("--pages", metavar="1-3,7,-1", help="pages of each multi-page source, from 1; negative from the end")
    add("--mode", choices=MODES, help="image mode where the engine has one (default gundam)")
    add("--prompt", metavar="TEXT", help="another prompt; the model knows few")
    add("--multi", metavar="N", nargs="?", type=int, const=0, help="several pages a request (at most N, default 8)")
    add("--dpi", type=auto_or(float), metavar="auto|N", help="resolution of PDF pages (default auto)")
    add("--max-tokens", type=int, metavar="N", help="most tokens of an answer (default 8192; with --multi 16384)")
    add("--concurrency", type=auto_or(int), metavar="auto|N", help="requests at once (default from the endpoint)")
    add("--second-tries", type=int, metavar="N", help="ask once more for a page whose answer is not good (default 1)")
    add("--confidence", action="store_true", help="ask a GPU engine for scores too: half as many bytes again")
    add("--blank", action="store_true", help="ask for blank pages too")
    add("--no-cache", action="store_true", help="ask again for what was kept from earlier runs")
    add("--password-env", metavar="NAME", help="variable that holds the password of a locked PDF")


def reading_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """What `add_reading_arguments` brought, as `uocr_nb.ocr` takes it, but for the password."""
    names = ("pages", "mode", "prompt", "dpi", "max_tokens", "concurrency", "second_tries", "confidence", "blank")
    multi = True if arguments.multi == 0 else arguments.multi
    cache = False if arguments.no_cache else None
    return {**{name: getattr(arguments, name) for name in names}, "multi": multi, "cache": cache}


def joined(words: Sequence[str]) -> Iterator[str]:
    """Join options and values that argparse would take apart.

    ``-2--1`` looks like an option of its own, and a source behind a bare ``--multi`` like its number.
    """
    waiting = list(words)
    while waiting:
        word = waiting.pop(0)
        if word == "--pages" and waiting:
            word = f"{word}={waiting.pop(0)}"
        elif word == "--multi" and not (waiting and waiting[0].isdecimal()):
            word = "--multi=0"
        yield word


def serve_parser() -> Parser:
    """Arguments of ``%uocr_serve``."""
    parser = Parser(
        "%uocr_serve",
        "Start an endpoint, or use one that is running already; return when it has answered a real request.\n"
        "With no ENGINE it is cpu on this machine: free, no GPU, no account. A GPU Job is paid, capped,\n"
        "has a timeout, and is cancelled however the kernel ends.",
        [
            "%uocr_serve",
            "%uocr_serve vllm --dry-run",
            "%uocr_serve vllm --flavor l4x1 --timeout 30m",
            "%uocr_serve sglang --on docker",
            "%uocr_serve https://host.example/v1 --api-key-env MY_KEY",
        ],
    )
    parser.add_argument(
        "engine_or_url",
        nargs="?",
        metavar="ENGINE[:VARIANT] | URL",
        help="cpu, vllm, sglang, llamacpp, transformers, or the address of a server",
    )
    parser.add_argument("--name", metavar="NAME", help="a name of your own for the endpoint")
    parser.add_argument("--another", action="store_true", help="start a second endpoint beside the first")
    parser.add_argument("--detach", action="store_true", help="return at once; %%uocr_status tells when it is ready")
    parser.add_argument("--dry-run", action="store_true", help="show what would be started, and start nothing")
    parser.add_argument("--panel", action="store_true", help="show a form to choose and start from")
    parser.add_argument("-o", dest="output", metavar="NAME", help="keep the endpoint in this variable")
    _add_job_arguments(parser.add_argument_group("a Job of the Hugging Face Hub"))
    _add_engine_arguments(parser.add_argument_group("the engine"))
    _add_url_arguments(parser.add_argument_group("a URL"))
    return parser


def _add_job_arguments(group: Any) -> None:
    group.add_argument("--on", choices=("hf", "docker", "process"), help="host; hf for vllm and sglang, else process")
    group.add_argument("--flavor", metavar="NAME", help="hardware, such as l4x1 (default from the engine)")
    group.add_argument("--timeout", metavar="30m", help="it ends by then in any case: 90s 30m 1.5h 1h30m 1d")
    group.add_argument("--idle", metavar="15m", help="it ends when no page was asked for that long; 0 = never")
    group.add_argument("--max-cost", metavar="USD", help="refuse a start that could cost more; none lifts the cap")
    group.add_argument("--wait", metavar="10m", help="give up when still queued after this long")
    group.add_argument("--start-limit", metavar="20m", help="give up when still starting after this long")
    group.add_argument("--namespace", metavar="ORG", help="the account that is billed (default: your own)")
    group.add_argument("--forward-token", action="store_true", help="put the Hub token into the Job as a secret")
    group.add_argument("--keep", action="store_true", help="outlive this kernel, until idle or timeout")
    group.add_argument("--reuse", action="store_true", help="take over one that was kept or lost")


def _add_engine_arguments(group: Any) -> None:
    group.add_argument("--image", metavar="TAG", help="container image (default from the variant)")
    group.add_argument("--model", metavar="ID_OR_PATH", help="model repository or path")
    group.add_argument("--revision", metavar="SHA", help="revision of the model (default pinned by the variant)")
    group.add_argument("--mmproj", metavar="PATH", help="llamacpp: the projector's file")
    group.add_argument("--tp", type=int, metavar="N", help="GPUs that share the model")
    group.add_argument("--port", type=int, metavar="N", help="port to listen on (default: a free one)")
    group.add_argument("--env", action="append", default=[], metavar="K=V", help="variable for the engine; repeats")
    group.add_argument("--arg", action="append", default=[], metavar="TEXT", help="added to its command; repeats")
    group.add_argument("--drop-arg", action="append", default=[], metavar="FLAG", help="left out of it; repeats")
    group.add_argument("--low-memory", action="store_true", help="cpu: stay under 1.2 GB, a little slower")


def _add_url_arguments(group: Any) -> None:
    group.add_argument("--engine", metavar="NAME", help="which engine it is, when it does not tell")
    group.add_argument("--api-key-env", metavar="NAME", help="the variable that holds its key")
    group.add_argument(
        "--header",
        action="append",
        default=[],
        metavar="NAME=ENVVAR",
        help="a header and its value's variable; repeats",
    )


def jobs_parser() -> Parser:
    """Arguments of ``%uocr_jobs``."""
    parser = Parser(
        "%uocr_jobs",
        "List what runs: this machine's ledger and the account's Jobs of ours; whose, alive or not, cost.",
        ["%uocr_jobs", "%uocr_jobs --cancel", "%uocr_jobs --cancel 6a2b137a59bbdade52d4a58c"],
    )
    parser.add_argument(
        "--cancel",
        nargs="*",
        metavar="ID",
        help="cancel what a dead kernel left; with an ID that Job, whoever started it",
    )
    parser.add_argument("--namespace", default="", metavar="ORG", help="another account than your own")
    return parser
