"""The Hub's token: where it was found, and the one place that holds it. It is shown nowhere."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from uocr_nb.errors import EndpointError
from uocr_nb.serving.hub.ending import token_in
from uocr_nb.support.net import Secret

_VARIABLES = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
_lock = threading.Lock()
_found: Token | None = None


@dataclass(frozen=True, slots=True)
class Token:
    """A token and the place where it was found.

    Attributes
    ----------
    secret : Secret
        The token itself.
    source : str
        The place in words: ``HF_TOKEN``, ``the token file``, ``the Colab secret HF_TOKEN``.
    file : str
        Path of the token file when it came from there, else empty; the file may get a newer one.
    """

    secret: Secret
    source: str
    file: str = ""


def find_token(*, may_ask: bool = True) -> Token | None:
    """Find the token as the Hub's client does; None when there is none.

    Parameters
    ----------
    may_ask : bool
        Whether this is the thread of the user's cell: Colab asks the user, once, and can hang in any other thread.

    Raises
    ------
    EndpointError
        When a place that is set up to give one fails.
    """
    global _found  # noqa: PLW0603 - resolved once is the point
    from huggingface_hub import constants, get_token  # noqa: PLC0415 - heavy

    with _lock:
        if _found is not None and _still_true(_found):
            return _found
        if not may_ask and "google.colab" in sys.modules and not _lies_open(constants.HF_TOKEN_PATH):
            return None
        try:
            text = (get_token() or "").strip()
        except Exception as error:  # noqa: BLE001 - an OIDC exchange or a secrets vault may fail in any way
            raise EndpointError(
                "The Hub's token could not be read.", f"{type(error).__name__}: {_first_line(error)}", "hf auth login"
            ) from None
        if not text:
            _found = None
            return None
        if not (text.isascii() and text.isprintable()):
            # The client's own message about such a header would show it.
            raise EndpointError(
                "The Hub's token cannot be used.",
                "It holds a line break or a sign that no header can carry.",
                "hf auth login",
            )
        path = str(Path(constants.HF_TOKEN_PATH).expanduser())
        _found = Token(Secret(text), *_place(text, path))
        return _found


def _lies_open(path: str) -> bool:
    return any(os.environ.get(name) for name in _VARIABLES) or bool(token_in(path))


def _still_true(found: Token) -> bool:
    """Tell whether the place still holds it; a login in between is taken up."""
    if found.file:
        return not any(os.environ.get(name) for name in _VARIABLES) and token_in(found.file) == found.secret.reveal()
    if found.source in _VARIABLES:
        return (os.environ.get(found.source) or "").strip() == found.secret.reveal()
    return True


def _place(text: str, path: str) -> tuple[str, str]:
    for name in _VARIABLES:
        if (os.environ.get(name) or "").strip() == text:
            return name, ""
    if token_in(path) == text:
        return "the token file", path
    if "google.colab" in sys.modules:
        return "the Colab secret HF_TOKEN", ""
    return "an OIDC exchange" if os.environ.get("HF_OIDC_RESOURCE") else "huggingface_hub", ""


def need_token() -> Token:
    """Find the token.

    Raises
    ------
    EndpointError
        When there is none.
    """
    found = find_token()
    if found is None:
        raise EndpointError(
            "There is no Hugging Face token.",
            "A Job is paid by an account. Looked in HF_TOKEN, the token file"
            + (", the Colab secrets." if "google.colab" in sys.modules else "."),
            "from huggingface_hub import notebook_login; notebook_login()\nhf auth login          in a terminal",
        )
    return found


class Told(dict[str, Any]):
    """What the watchdog is told; it holds the token, and shows itself nowhere."""

    def __repr__(self) -> str:
        return "<told to the watchdog>"


def for_watchdog(token: Token, endpoint: str) -> Told:
    """Gather what the watchdog needs to ask the Hub; goes over its pipe alone, never to disk."""
    import urllib.request  # noqa: PLC0415 - beside its only use

    host = endpoint.partition("://")[2].partition("/")[0]
    kind = "http" if endpoint.startswith("http:") else "https"
    proxies = urllib.request.getproxies()
    proxy = proxies.get(kind) or proxies.get("all") or ""
    if proxy and urllib.request.proxy_bypass(host.partition(":")[0]):
        proxy = ""
    if host.partition(":")[0] in ("127.0.0.1", "localhost", "[::1]"):
        proxy = ""
    return Told(
        endpoint=endpoint,
        token=token.secret.reveal(),
        token_file=token.file,
        proxy=proxy,
        ca_files=_certificates(),
    )


def _certificates() -> list[str]:
    files = [os.environ.get(name, "") for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")]
    with contextlib.suppress(ImportError):
        import certifi  # noqa: PLC0415 - comes with the Hub's client

        files.append(certifi.where())
    return [file for file in files if file and Path(file).is_file()]


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0][:200]
