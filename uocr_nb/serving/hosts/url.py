"""Host ``url``: an engine that runs already, somewhere."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from uocr_nb.errors import EndpointError, OptionError
from uocr_nb.serving import engines, probe
from uocr_nb.support.net import Secret, is_loopback, normalise_base_url, same_server

if TYPE_CHECKING:
    from typing import Any

    from uocr_nb.serving.endpoint import Endpoint
    from uocr_nb.serving.plan import Plan, Say

_MODEL = "unlimited-ocr"


class UrlHost:
    """Asks the address what it serves; stopping it only lets go."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    async def start(self, say: Say) -> None:
        """Read which engine and model are there, and have it read the test page."""
        endpoint, plan = self._endpoint, self._endpoint.plan
        key, headers = key_of(plan), headers_of(plan)
        if (key or headers) and not (plan.url.startswith("https:") or is_loopback(plan.url)):
            raise OptionError(
                f"A key is not sent to {plan.url}.",
                "It would cross the network in the open: keys go over https or to this machine alone.",
                "Use the https:// address.",
            )
        endpoint.connect(plan.url, key, headers)
        say("starting", f"asking {plan.url} what it serves")
        endpoint.served = models = await probe.read_models(endpoint)
        self._choose_engine(models, say)
        self._choose_model(models, say)
        say("checking", f"{endpoint.engine}, model {endpoint.model}: reading a test page")
        before = endpoint.profile
        answer = await probe.read_one_word(endpoint)
        for note in probe.doubts(answer):
            say("note", note)
        if endpoint.profile != before:
            say("note", probe.UNGUARDED)

    def _choose_engine(self, models: dict[str, Any], say: Say) -> None:
        endpoint, asked = self._endpoint, self._endpoint.plan.engine
        found = engines.detect(models)
        if asked is None and found is None:
            owners = sorted({str(model.get("owned_by")) for model in engines.served(models)}) or ["nobody"]
            raise EndpointError(
                f"Which engine runs at {endpoint.base_url} is not known.",
                f"Its /v1/models names {', '.join(owners)} as owner, and each engine is asked in its own way.",
                f"%uocr_serve {endpoint.base_url} --engine {'|'.join(engines.names())}",
            )
        if asked and found and asked != found:
            say("note", f"It says that it is {found}; it is asked as {asked}, as you told.")
        endpoint.profile = engines.get(asked or found or "")

    def _choose_model(self, models: dict[str, Any], say: Say) -> None:
        served = [str(model["id"]) for model in engines.served(models) if model.get("id")]
        if not served:
            raise EndpointError(
                f"{self._endpoint.base_url} serves no model.",
                "Its /v1/models is an empty list.",
                "Is it still loading? Try again in a minute.",
            )
        fitting = [name for name in served if _MODEL in name.lower().replace("_", "-")]
        self._endpoint.model = (fitting or served)[0]
        if not fitting:
            say("note", f"It serves {', '.join(served[:5])}, and not Unlimited-OCR; answers may have no boxes.")

    async def still_there(self) -> bool:
        """Ask again for its models; raises what is wrong."""
        await probe.read_models(self._endpoint)
        return True

    def ask_to_stop(self) -> None:
        """Let go; the engine is somebody else's."""

    def finish_stop(self, within: float) -> None:
        """Wait for nothing."""

    def let_go_in_child(self) -> None:
        """Close nothing: the engine lives by itself."""


def key_of(plan: Plan) -> Secret:
    """Take the key from the variable that the plan names, else the class's own key for the class's own endpoint.

    Raises
    ------
    OptionError
        When the named variable is not set.
    """
    if plan.api_key_env:
        return _from_environment(plan.api_key_env)
    meant_for = os.environ.get("UOCR_ENDPOINT")
    if meant_for and not same_server(normalise_base_url(meant_for), plan.url):
        return Secret("")
    return _sendable(Secret(os.environ.get("UOCR_KEY")), "UOCR_KEY")


def headers_of(plan: Plan) -> dict[str, Secret]:
    """Take the headers' values from the variables that the plan names."""
    return {name: _from_environment(variable) for name, variable in plan.headers}


def _from_environment(variable: str) -> Secret:
    secret = Secret(os.environ.get(variable))
    if not secret:
        raise OptionError(
            f"The variable {variable} is not set.",
            "It was named as the place of a key or header.",
            f"%env {variable}=...   (or set it before Jupyter starts, so that it is in no notebook)",
        )
    return _sendable(secret, variable)


def _sendable(secret: Secret, variable: str) -> Secret:
    """Refuse what no header can carry; the client's own message would show it."""
    if secret and not (secret.reveal().isascii() and secret.reveal().isprintable()):
        raise OptionError(
            f"The value of {variable} cannot be a key.",
            "It holds a line break or a sign that no header can carry.",
            "Paste it again, on one line.",
        )
    return secret
