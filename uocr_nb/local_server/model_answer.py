"""The model's answer behind the embedded engine's HTTP face: its own text, sent as it is generated."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from uocr_nb.local_server.answer import Piece
from uocr_nb.local_server.app import Answer, ClientGoneError
from uocr_nb.local_server.faults import Fault
from uocr_nb.local_server.images import decode
from uocr_nb.local_server.real_model import DEFAULT_GUARD, MULTI_GUARD, Generated, RealModel, Wish

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from PIL.Image import Image

    from uocr_nb.local_server.request import Ask

__all__ = ["MODES", "OWNER", "ModelAnswer"]

OWNER = "uocr-transformers"
MODES = ("gundam", "base")
"""Image modes that the model's processor has: cut into tiles, or whole."""
_PROMPTS = ("document parsing.", "Multi page parsing.")

log = logging.getLogger("uocr.model")


class ModelAnswer(Answer):
    """The answer to one request, generated while it is sent."""

    _done: Generated | None = None

    async def _read(self) -> AsyncGenerator[list[Piece], None]:
        """Text as it comes; the request waits for its turn."""
        wish = wish_of(self._ask)
        model = self._service.engine
        if not isinstance(model, RealModel):
            raise Fault(503, "The engine is stopping.")
        loop = asyncio.get_running_loop()
        inbox: asyncio.Queue[str | None] = asyncio.Queue()

        def tell(text: str | None) -> None:
            loop.call_soon_threadsafe(inbox.put_nowait, text)

        async with self._service.queue.turn(self._client):
            began = loop.time()
            work = asyncio.ensure_future(asyncio.to_thread(self._generate, model, wish, tell))
            try:
                while (text := await inbox.get()) is not None:
                    yield [Piece(text, 1.0)]
                self._done = await work
            finally:
                # The place in the queue is given back only when the device is free again.
                self._stop.set()
                await asyncio.wait({work})
                if not work.cancelled():
                    work.exception()
            log.info(
                "%s: %d pages, %d tokens, %.1f s",
                self._id[-6:], len(self._ask.images), self._done.answered, loop.time() - began,
            )  # fmt: skip

    def _generate(self, model: RealModel, wish: Wish, tell: Callable[[str | None], None]) -> Generated:
        try:
            self._check()
            return model.generate([_picture(data) for data in self._ask.images], wish, tell, self._stop)
        except (Fault, ClientGoneError):
            raise
        except Exception as error:
            log.exception("%s: generating failed", self._id[-6:])
            raise Fault(500, f"Reading the page failed: {type(error).__name__}.") from error
        finally:
            tell(None)

    def _reason(self) -> str:
        return "length" if self._done is not None and self._done.cut else "stop"

    def _logprobs(self, pieces: list[Piece]) -> dict[str, Any] | None:  # noqa: ARG002 - none are kept
        return None

    def _usage(self) -> dict[str, int]:
        asked, answered = (self._done.asked, self._done.answered) if self._done else (0, 0)
        return {"prompt_tokens": asked, "completion_tokens": answered, "total_tokens": asked + answered}


def wish_of(ask: Ask) -> Wish:
    """Translate a request.

    Raises
    ------
    Fault
        400 for an image mode that the model's processor does not have.
    """
    several = len(ask.images) > 1
    mode = ask.mode or ("base" if several else "gundam")
    if mode not in MODES:
        raise Fault(
            400,
            f"image_mode='{mode}' is not supported by this engine. Please use one of: {list(MODES)}",
            param="images_config",
        )
    return Wish(
        prompt=ask.prompt or _PROMPTS[several],
        tiles=mode == "gundam" and not several,
        stripped=ask.stripped,
        max_tokens=ask.max_tokens,
        guard=ask.guard or (MULTI_GUARD if several else DEFAULT_GUARD),
    )


def _picture(data: bytes) -> Image:
    from PIL import Image as Pictures  # noqa: PLC0415 - heavy

    return Pictures.fromarray(decode(data)[:, :, ::-1])
