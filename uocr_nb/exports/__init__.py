"""Files and tables made from a document: `save` by the ending of a path, and `load`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from uocr_nb.errors import OptionError
from uocr_nb.exports import data, html
from uocr_nb.exports.files import check_template, filled_paths, write_file
from uocr_nb.markup.markdown import document_markdown

if TYPE_CHECKING:
    from collections.abc import Callable

    from uocr_nb.document.model import Document

__all__ = ["FORMATS", "check_target", "load", "save"]


def _text(document: Document) -> str:
    return document.text


FORMATS: dict[str, Callable[[Document], str]] = {
    "md": document_markdown,
    "txt": _text,
    "html": html.to_html,
    "json": data.to_json,
}
"""Format, which is the ending too -> what makes the text of the file."""

_OTHER_NAMES = {"markdown": "md", "text": "txt", "htm": "html"}


def save(document: Document, path: str | Path, format: str | None = None) -> Path:  # noqa: A002 - promised name
    """Write the document.

    Parameters
    ----------
    document : Document
        What to write.
    path : str or Path
        The file. ``{source}`` in it makes one file a source, ``{page}`` one file a page.
    format : str, optional
        md, txt, html or json; without it the ending of `path` decides.

    Returns
    -------
    Path
        The file that was written; their folder when `path` stands for several.

    Raises
    ------
    OptionError
        When the ending is unknown, or the folder is not there.
    """
    wanted, made = _target(path, format)
    make = FORMATS[made]
    parts = filled_paths(document, wanted)
    for file, part in parts:
        write_file(file, _ending(make(part)).encode("utf-8", "replace"))
    first = parts[0][0]
    return first if len(parts) == 1 else first.parent


def check_target(path: str | Path, format: str | None = None) -> None:  # noqa: A002 - as `save` has it
    """Check that `save` would take such a path, before there is anything to write.

    Parameters
    ----------
    path : str or Path
        As it is to be given to `save`.
    format : str, optional
        As it is to be given to `save`.

    Raises
    ------
    OptionError
        As `save` does: the ending or a field of the template is unknown, or the folder is not there.
    """
    _target(path, format)


def _target(path: str | Path, given: str | None) -> tuple[Path, str]:
    """The path and the format, both checked."""
    wanted = Path(path).expanduser()
    name = _format(wanted, given)
    check_template(wanted)
    return wanted, name


def _ending(text: str) -> str:
    return text if text.endswith("\n") else text + "\n"


def _format(path: Path, given: str | None) -> str:
    name = (given if given is not None else path.suffix).lower().lstrip(".")
    name = _OTHER_NAMES.get(name, name)
    if name in FORMATS:
        return name
    known = ", ".join(f".{known}" for known in FORMATS)
    what = (
        f"A document cannot be saved as {name!r}."
        if name
        else f"{path.name or 'The path'} has no ending to tell the format."
    )
    raise OptionError(what, f"Known endings are {known}.", f'doc.save("{path.stem or "document"}.md")')


def load(path: str | Path) -> Document:
    """Read the document that ``doc.save("x.json")`` wrote.

    Raises
    ------
    SourceError
        When there is no such file, or it is no document of this package.
    """
    return data.load(Path(path).expanduser())
