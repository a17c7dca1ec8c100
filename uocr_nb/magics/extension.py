"""What the extension puts into a shell, and takes out again."""

from __future__ import annotations

import functools
import importlib
import re
import sys
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, line_magic, magics_class, no_var_expand

from uocr_nb.errors import UocrError
from uocr_nb.magics.defaults import UOCR
from uocr_nb.magics.options import HelpShown
from uocr_nb.serving import start

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Extension", "UocrMagics"]

_CELL_MAGIC = re.compile(r"%%uocr(?=\s|$)")


def plain_errors(magic: Callable[..., Any]) -> Callable[..., Any]:
    """Show an error raised on purpose as its three parts alone.

    IPython leaves the traceback out for exactly the class UsageError; a subclass of it gets one.
    """

    @functools.wraps(magic)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            return magic(*args, **kwargs)
        except HelpShown:
            return None
        except UocrError as error:
            raise UsageError(str(error)) from None

    return wrapped


@magics_class
class UocrMagics(Magics):
    """The magics; each calls a function of its own module."""

    @no_var_expand
    @line_magic
    @plain_errors
    def uocr_serve(self, line: str) -> None:
        """Start an endpoint and return when it is ready. See ``%uocr_serve --help``."""
        from uocr_nb.magics import serve  # noqa: PLC0415 - brings the clients

        serve.serve(self.shell, line)

    @no_var_expand
    @line_cell_magic
    @plain_errors
    def uocr(self, line: str, cell: str | None = None) -> Any:
        """Read page images and PDFs. See ``%uocr --help``."""
        from uocr_nb.magics import ocr  # noqa: PLC0415 - brings the clients

        return ocr.ocr(self.shell, line, cell)

    @no_var_expand
    @line_magic
    @plain_errors
    def uocr_status(self, line: str) -> None:
        """Show the endpoints of this kernel. See ``%uocr_status --help``."""
        from uocr_nb.magics import serve  # noqa: PLC0415

        serve.status(line)

    @no_var_expand
    @line_magic
    @plain_errors
    def uocr_logs(self, line: str) -> None:
        """Show the last lines of the endpoint's log. See ``%uocr_logs --help``."""
        from uocr_nb.magics import serve  # noqa: PLC0415

        serve.logs(line)

    @no_var_expand
    @line_magic
    @plain_errors
    def uocr_stop(self, line: str) -> None:
        """Stop the endpoint. See ``%uocr_stop --help``."""
        from uocr_nb.magics import serve  # noqa: PLC0415

        serve.stop(line)

    @no_var_expand
    @line_magic
    @plain_errors
    def uocr_jobs(self, line: str) -> None:
        """List what runs on this machine and on the account. See ``%uocr_jobs --help``."""
        from uocr_nb.magics import jobs  # noqa: PLC0415 - brings the Hub's client

        jobs.jobs(line)


NAMES = ("uocr_serve", "uocr", "uocr_status", "uocr_logs", "uocr_stop", "uocr_jobs")


class Extension:
    """The extension in one shell.

    Parameters
    ----------
    shell : InteractiveShell
        Where it is loaded.
    """

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.magics = UocrMagics(shell)
        self.defaults = UOCR.sound(shell)

    def register(self) -> None:
        """Put magics, defaults and the input transformer in place."""
        self.shell.register_magics(self.magics)
        self.shell.configurables.append(self.defaults)
        if "uocr_nb" not in self.shell.user_ns:
            # Lines that messages offer for pasting name the package, and a notebook of magics has not imported it.
            self.shell.push({"uocr_nb": importlib.import_module("uocr_nb")}, interactive=False)
        # Last: IPython's own come first and take prompts off pasted text.
        self.shell.input_transformers_cleanup.append(one_line_form)

    def remove(self) -> None:
        """Take all of it away and stop what was started."""
        # A kept one was asked to outlive the kernel, so it outlives the extension too.
        start.stop_all(kept=False)
        start.forget_ended()
        if (viewer := sys.modules.get("uocr_nb.views.viewer")) is not None:
            viewer.close_all()
        for kind in ("line", "cell"):
            for name in NAMES:
                self.shell.magics_manager.magics[kind].pop(name, None)
        self.shell.configurables.remove(self.defaults)
        if one_line_form in self.shell.input_transformers_cleanup:
            self.shell.input_transformers_cleanup.remove(one_line_form)


def one_line_form(lines: list[str]) -> list[str]:
    """Let ``%%uocr page.png`` stand alone in a cell, and comments stand above ``%%uocr``.

    IPython refuses a cell magic whose body is empty before it is called, and takes ``%%`` below a comment for the
    name of a line magic.
    """
    first = next((n for n, line in enumerate(lines) if line.strip() and not line.lstrip().startswith("#")), None)
    if first is None or not _CELL_MAGIC.match(lines[first]):
        return lines
    if any(line.strip() for line in lines[first + 1 :]):
        return lines[first:]
    return ["%uocr" + lines[first].rstrip("\n").removeprefix("%%uocr") + "\n"]
