"""What a person selected in a view, as Python has it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from uocr_nb.errors import OptionError
from uocr_nb.markup.markdown import block_text
from uocr_nb.views.cells import about, pieces, table_index

if TYPE_CHECKING:
    from PIL.Image import Image

    from uocr_nb.document.model import Block, Document, Page

__all__ = ["Selection"]


@dataclass(frozen=True)
class Selection:
    """One block that is selected in a view.

    Attributes
    ----------
    page : int
        Position of its page in the document, from 1.
    number : int
        Of the block on the page, from 1.
    block : Block
        The block: label, text as the engine wrote it, box.
    document : Document or None
        Where it is from; None while its pages are being read.
    """

    page: int
    number: int
    block: Block = field(repr=False)
    document: Document | None = field(repr=False, compare=False)
    _page: Page = field(repr=False, compare=False)

    @property
    def label(self) -> str:
        """Label of the block."""
        return self.block.label

    @property
    def text(self) -> str:
        """Plain text of the block: cells parted by tabs, formulas without their marks."""
        return block_text(self.block)

    @property
    def df(self) -> Any:
        """The table of the block as a pandas DataFrame, spans filled.

        Raises
        ------
        OptionError
            When the block holds no table.
        MissingExtraError
            When pandas is not installed.
        """
        if all(isinstance(piece, str) for piece in pieces(self.block)):
            raise OptionError(
                f"Block {self.number} of page {self.page} has no table.",
                f"Its label is {self.label}.",
                "uocr_nb.selected().text",
            )
        return self._page.tables[table_index(self._page, self.number)].df

    def crop(self) -> Image:
        """The part of the page image under the block.

        Raises
        ------
        ValueError
            When the block has no box.
        """
        return self._page.crop(self.number)

    @property
    def image(self) -> Image:
        """The same as `crop()`."""
        return self.crop()

    def __repr__(self) -> str:
        more = about(self.block)
        return f"<Selection: page {self.page}, block {self.number}, {self.label}{f', {more}' if more else ''}>"
