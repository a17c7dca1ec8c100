"""One request: a body goes out, an answer comes back as a stream.

The openai package sends it, but the stream is read here: its typed events cost seven times as much time a token
(benchmarks/README.md).
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from uocr_nb.document.verdict import LoopWatch
from uocr_nb.errors import ReadingError
from uocr_nb.reading.stream import AnswerStream, StreamError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from uocr_nb.serving.endpoint import Endpoint

__all__ = ["Answer", "RequestError", "ask"]


class RequestError(ReadingError):
    """One request failed.

    Parameters
    ----------
    what, why, next : str
        The three parts of the message.
    status : int or None
        HTTP status, None when there was no answer.
    again : bool
        Whether asking again can help.
    wait : float or None
        Seconds that the server asked to wait.
    lost : bool
        Whether the connection was lost, so that nobody may be there any more.
    """

    def __init__(
        self,
        what: str,
        why: str = "",
        next: str = "",  # noqa: A002 - as in UocrError
        *,
        status: int | None = None,
        again: bool = False,
        wait: float | None = None,
        lost: bool = False,
    ) -> None:
        super().__init__(what, why, next)
        self.status = status
        self.again = again
        self.wait = wait
        self.lost = lost


@dataclass(frozen=True)
class Answer:
    """The raw text that an engine returned for one request.

    Attributes
    ----------
    text : str
        The answer as the engine wrote it.
    finish_reason : str or None
        "stop", "length", "loop" (cut here, because it repeated itself) or "cut" (the connection ended too early).
    prompt_tokens, tokens : int or None
        Usage as the engine counted it; None when it did not say.
    seconds : float
        From sending to the end of the stream.
    scores : tuple of (str, float)
        Pieces of text with the engine's probability of each (0..1), where it gave them.
    first : float
        Seconds from sending to the first piece of text; not part of what was said.
    """

    text: str
    finish_reason: str | None
    prompt_tokens: int | None
    tokens: int | None
    seconds: float
    scores: tuple[tuple[str, float], ...] = ()
    first: float = field(default=0.0, compare=False)


async def ask(
    endpoint: Endpoint,
    body: dict[str, Any],
    *,
    on_text: Callable[[str, int], None] | None = None,
    watch: bool = True,
) -> Answer:
    """Send one request and read its answer.

    Parameters
    ----------
    endpoint : Endpoint
        Where it goes.
    body : dict
        The whole JSON body of a chat completion, made by the engine's profile. It is used up: once it is sent, its
        pictures are taken out, so that they are not held while the answer comes.
    on_text : callable, optional
        Called with the text of each chunk as it arrives and the number of its tokens, on the background loop.
    watch : bool
        Cut an answer that repeats itself, keeping what came before.

    Raises
    ------
    RequestError
        When the endpoint refused, could not be reached, or sent something that is no answer.
    """
    import httpx2  # noqa: PLC0415 - heavy

    began = time.monotonic()
    first = 0.0
    stream = AnswerStream()
    loops = LoopWatch() if watch else None
    with _told_as_request_errors(endpoint):
        # The client goes through all it is given by name, pictures included; what is in extra_body takes their place.
        async with endpoint.async_openai().chat.completions.with_streaming_response.create(
            model=endpoint.model,
            messages=(),
            stream=True,
            extra_body={**body, "stream_options": {"include_usage": True}},
        ) as response:
            _forget_pictures(body)
            try:
                async for chunk in response.iter_bytes():
                    before = stream.pieces
                    text = stream.feed(chunk)
                    if not text:
                        continue
                    first = first or time.monotonic() - began
                    if on_text:
                        on_text(text, stream.pieces - before)
                    if loops and loops.feed(text):
                        # Leaving the block closes the connection, which ends the work on the engine's side.
                        stream.finish_reason = "loop"
                        break
                else:
                    stream.finish()
            except httpx2.RequestError:
                # What has come is an answer that was cut; where nothing has, there is none.
                if not stream.parts:
                    raise
    if stream.finish_reason is None and not stream.ended:
        stream.finish_reason = "cut"
    return Answer(
        text="".join(stream.parts),
        finish_reason=stream.finish_reason,
        prompt_tokens=stream.usage.get("prompt_tokens"),
        tokens=stream.usage.get("completion_tokens"),
        seconds=time.monotonic() - began,
        scores=tuple(stream.scores),
        first=first,
    )


def _forget_pictures(body: dict[str, Any]) -> None:
    for message in body["messages"]:
        for part in message["content"]:
            part.pop("image_url", None)


@contextlib.contextmanager
def _told_as_request_errors(endpoint: Endpoint) -> Iterator[None]:
    """Turn what the client and the network raise into our own words; none of them ever quotes a header."""
    import httpx2  # noqa: PLC0415 - heavy
    import openai  # noqa: PLC0415 - heavy

    try:
        yield
    except openai.APIStatusError as error:
        raise _refusal(endpoint, error) from None
    except (openai.APITimeoutError, httpx2.TimeoutException):
        raise RequestError(
            f"{endpoint.name} did not answer in time.",
            "The request was sent, and nothing came back before the time limit.",
            "%uocr_status",
            again=True,
        ) from None
    except (openai.APIConnectionError, httpx2.RequestError) as error:
        cause = error.__cause__ or error
        raise RequestError(
            f"{endpoint.name} cannot be reached at {endpoint.base_url}.",
            f"The connection failed ({type(cause).__name__}).",
            "%uocr_status",
            again=True,
            lost=True,
        ) from None
    except StreamError as error:
        raise RequestError(error.what, error.why, error.next, again=True) from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RequestError(
            "The endpoint sent something that is no answer.",
            f"Its stream could not be read ({type(error).__name__}).",
            "Check that the address is that of an OpenAI-compatible server: %uocr_status",
            again=True,
        ) from None


def _refusal(endpoint: Endpoint, error: Any) -> RequestError:
    status = int(error.status_code)
    # A server may repeat what it was sent, the key among it.
    message = endpoint.hide(_message_of(error))
    if status == 401:
        return RequestError(
            f"{endpoint.name} refused the key (401).",
            message or "The key is missing or wrong.",
            "Name the variable that holds it: %uocr_serve URL --api-key-env NAME",
            status=status,
        )
    if status == 404:
        return RequestError(
            f"{endpoint.name} does not know the model or the path (404).", message, "%uocr_status", status=status
        )
    again = status in (408, 409, 429) or status >= 500
    return RequestError(
        f"{endpoint.name} refused the request ({status}).",
        message,
        "Try again later: doc.retry()" if again else "",
        status=status,
        again=again,
        wait=_retry_after(error),
    )


def _message_of(error: Any) -> str:
    body = error.body
    if isinstance(body, dict):
        inner = body.get("error", body)
        if isinstance(inner, dict):
            return str(inner.get("message") or "")[:600]
        return str(inner)[:600]
    return ""


def _retry_after(error: Any) -> float | None:
    value = error.response.headers.get("retry-after", "")
    with contextlib.suppress(ValueError):
        return max(0.0, min(float(value), 120.0))
    return None
