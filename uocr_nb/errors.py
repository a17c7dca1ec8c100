"""The errors raised on purpose: what happened, why, and what to do next."""

from __future__ import annotations

import os
import traceback
from pathlib import Path

__all__ = [
    "EndpointError",
    "MissingExtraError",
    "OptionError",
    "ReadingError",
    "SourceError",
    "UocrError",
]


_SHORT = 120
"""Characters of a step that fits behind a reason."""


class UocrError(Exception):
    """Base of every error raised on purpose.

    Parameters
    ----------
    what : str
        What happened; names the thing. One sentence.
    why : str
        The cause, as far as it is known.
    next : str
        A step that helps, where possible a line that can be pasted. May have several lines.
    """

    def __init__(self, what: str, why: str = "", next: str = "") -> None:  # noqa: A002 - the third part's name
        super().__init__(what, why, next)
        self.what = what
        self.why = why
        self.next = next

    def __str__(self) -> str:
        lines = [self.what]
        for name, text in (("Why", self.why), ("Next", self.next)):
            if text:
                first, *rest = text.splitlines()
                lines.append(f"  {name:<5}{first}")
                lines += [f"       {line}" for line in rest]
        return "\n".join(lines)

    @property
    def reason(self) -> str:
        """What happened and why, on one line, as the reason of a page."""
        return " ".join(f"{self.what} {self.why}".split())

    @property
    def advice(self) -> str:
        """`reason`, and the step that helps where it is a short one in words."""
        step = "" if len(self.next) > _SHORT or "\n" in self.next or self.next.startswith(("%", "pip ")) else self.next
        return " ".join(f"{self.reason} {step}".split())

    def _render_traceback_(self, *_: object) -> list[str]:
        """What IPython shows of it: the lines of the user's own code that led to it, then the three parts."""
        own = str(Path(__file__).parent)
        frames = [frame for frame in traceback.extract_tb(self.__traceback__) if not _is_ours(frame.filename, own)]
        return [*traceback.format_list(frames), f"{type(self).__name__}: {self}"]


def _is_ours(file: str, own: str) -> bool:
    return file.startswith(own) or f"{os.sep}IPython{os.sep}" in file or f"{os.sep}ipykernel{os.sep}" in file


class OptionError(UocrError):
    """An option or argument that cannot be used."""


class SourceError(UocrError):
    """A source that cannot be found, opened or read."""


class EndpointError(UocrError):
    """An endpoint that is not there, did not start, or has gone."""


class ReadingError(UocrError):
    """A request that an endpoint refused or could not answer."""


class MissingExtraError(UocrError):
    """A package is missing that one of the extras brings.

    Parameters
    ----------
    what : str
        What needs the package.
    extra : str
        Name of the extra, such as ``"cpu"``.
    package : str
        The package that could not be imported.
    """

    def __init__(self, what: str, extra: str, package: str) -> None:
        super().__init__(
            what,
            f"The package {package} is not installed.",
            f'pip install "uocr_nb[{extra}]"',
        )
        self.extra = extra
        self.package = package
