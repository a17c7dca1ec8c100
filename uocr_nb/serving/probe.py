"""The first questions to an endpoint: is it well, what does it serve, and does it read one word."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import io
import json
import re
import socket
import ssl
from functools import cache
from typing import TYPE_CHECKING, Any

from uocr_nb.errors import EndpointError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx2

    from uocr_nb.serving.endpoint import Endpoint

WORD = "Ready"
"""What is written on the test page."""

UNGUARDED = "The repetition guard is left out: the server refuses it (--enable-custom-logit-processor allows it)."

_TINY_TOKENS = 200
_TINY_SECONDS = 120.0
"""A GPU engine compiles on its first request."""

_POLL = 0.1


async def wait_healthy(endpoint: Endpoint) -> None:
    """Return when the engine's health path answers 200; the caller sets the time limit."""
    import httpx2  # noqa: PLC0415 - heavy

    url = endpoint.base_url.removesuffix("/v1") + endpoint.profile.health
    while True:
        try:
            if (await endpoint.http().get(url, timeout=5.0)).status_code == 200:
                return
        except httpx2.TransportError:
            pass  # not yet
        await asyncio.sleep(_POLL)


async def read_models(endpoint: Endpoint) -> dict[str, Any]:
    """Read ``/v1/models``.

    Raises
    ------
    EndpointError
        When nothing answers there, the key is refused, or what answers is no OpenAI-compatible server.
    """
    url = endpoint.base_url + "/models"
    response = await _send(endpoint, "GET", url, timeout=15.0)
    _raise_for_status(endpoint, response)
    try:
        models = response.json()
    except (json.JSONDecodeError, UnicodeDecodeError):
        models = None
    if not isinstance(models, dict) or not isinstance(models.get("data"), list):
        raise _not_an_api(endpoint, "/models answered with something other than a list of models.")
    return models


async def read_one_word(endpoint: Endpoint) -> str:
    """Send the test page and return the answer's text.

    Raises
    ------
    EndpointError
        When the request was refused or got no answer in the form of a chat completion.
    """
    body = endpoint.profile.request([test_page()], max_tokens=_TINY_TOKENS, model=endpoint.model)
    response = await _send(endpoint, "POST", endpoint.base_url + "/chat/completions", json=body, timeout=_TINY_SECONDS)
    if response.status_code == 400 and "custom logit processor" in response.text:
        # An SGLang started without --enable-custom-logit-processor: it works, unguarded.
        endpoint.profile = endpoint.profile.without_guard()
        return await read_one_word(endpoint)
    _raise_for_status(endpoint, response)
    try:
        text = response.json()["choices"][0]["message"]["content"]
    except (json.JSONDecodeError, UnicodeDecodeError, LookupError, TypeError):
        raise _not_an_api(endpoint, "Its answer to a request has not the form of a chat completion.") from None
    return str(text or "")


def says_the_word(answer: str) -> bool:
    """Tell whether an answer holds the word of the test page."""
    return WORD.lower() in re.sub(r"[^a-z]", "", answer.lower())


@cache
def test_page() -> str:
    """Draw a small page with one word on it, as a ``data:`` URL."""
    from PIL import Image, ImageDraw, ImageFont  # noqa: PLC0415 - heavy

    page = Image.new("L", (480, 160), 255)
    ImageDraw.Draw(page).text((60, 40), WORD, fill=0, font=ImageFont.load_default(64))
    file = io.BytesIO()
    page.save(file, "PNG")
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode("ascii")


def doubts(answer: str) -> list[str]:
    """Say what the answer to the test page leaves in doubt."""
    if not answer.strip():
        return ["The test page got an empty answer; pages may come back empty too."]
    notes = []
    if "<|det|>" not in answer:
        notes.append(
            "The answer came without its tags: something on the way drops skip_special_tokens. "
            "Boxes are still read; tables lose their cells."
        )
    if not says_the_word(answer):
        notes.append(f"The test page says {WORD!r} and was read as {answer.strip()[:60]!r}.")
    return notes


async def look_for_models(endpoint: Endpoint) -> tuple[int, dict[str, Any] | None]:
    """Ask once, at an address where nothing may listen yet, for ``/v1/models``; the status, and what it serves."""
    import httpx2  # noqa: PLC0415 - heavy

    try:
        response = await endpoint.http().get(endpoint.base_url + "/models", timeout=5.0)
    except httpx2.TransportError:
        return 0, None
    models = None
    # A login page is answered by 200 as well.
    with contextlib.suppress(json.JSONDecodeError, UnicodeDecodeError):
        models = response.json() if response.status_code == 200 else None
    good = isinstance(models, dict) and isinstance(models.get("data"), list) and bool(models["data"])
    return response.status_code, models if good else None


async def _send(endpoint: Endpoint, method: str, url: str, **options: Any) -> httpx2.Response:
    import httpx2  # noqa: PLC0415 - heavy

    try:
        return await endpoint.http().request(method, url, **options)
    except httpx2.TimeoutException:
        why, then = "It did not answer in time.", "Is it still starting? Try again in a minute."
    except httpx2.ConnectError as error:
        why, then = _why_no_connection(error), "Check the address, and that the engine runs."
    except httpx2.TransportError as error:
        why = f"The connection broke before an answer came ({type(error).__name__})."
        then = "Check that this is the address of an HTTP server, and http or https as it speaks."
    raise EndpointError(f"Nothing answers at {endpoint.base_url}.", why, then)


def _why_no_connection(error: BaseException) -> str:
    causes = list(_causes(error))
    for kind, why in (
        (ConnectionRefusedError, "The connection was refused: no program listens there."),
        (ssl.SSLError, "Its certificate could not be checked, or it does not speak https."),
        (socket.gaierror, "Its name is not known."),
    ):
        if any(isinstance(cause, kind) for cause in causes):
            return why
    return "The connection could not be made."


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and what is behind it; an attempt at several addresses has a group of errors."""
    while error is not None:
        yield error
        if isinstance(error, BaseExceptionGroup):
            for one in error.exceptions:
                yield from _causes(one)
        error = error.__cause__ or error.__context__


def _raise_for_status(endpoint: Endpoint, response: httpx2.Response) -> None:
    status = response.status_code
    if status == 200:
        return
    said = endpoint.hide(message_of(response))
    if status in (401, 403):
        what = (
            f"{endpoint.base_url} refused the key." if endpoint.credential() else f"{endpoint.base_url} asks for a key."
        )
        then = "Put the key into a variable and name it: --api-key-env NAME"
        raise EndpointError(what, f"{status}. {said}".strip(), then)
    if 300 <= status < 400:
        why = "It answers with a redirect, and redirects are not followed, because they would carry the key along."
        raise EndpointError(f"{endpoint.base_url} is not where the endpoint is.", why, "Give the address it leads to.")
    if status in (404, 405):
        raise _not_an_api(endpoint, f"{response.request.url.path} is not there ({status}). {said}".strip())
    why = f"{status}. {said}".strip()
    then = "Is it still starting? Try again in a minute." if status >= 500 else "%uocr_serve --help"
    raise EndpointError(f"{endpoint.base_url} did not answer a first request.", why, then)


def _not_an_api(endpoint: Endpoint, why: str) -> EndpointError:
    then = "Give the base URL of an OpenAI-compatible server, such as http://127.0.0.1:8000/v1"
    return EndpointError(f"{endpoint.base_url} is not an OpenAI-compatible server.", why, then)


def message_of(response: httpx2.Response) -> str:
    """Take what a server said about a refused request, cut to a sentence or two."""
    try:
        body = response.json()
    except (json.JSONDecodeError, UnicodeDecodeError):
        return ""
    inner = body.get("error", body) if isinstance(body, dict) else None
    said = inner.get("message", inner.get("detail", "")) if isinstance(inner, dict) else inner
    return " ".join(str(said or "").split())[:300]
