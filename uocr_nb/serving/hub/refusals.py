"""What a refusal of the Hub means: what happened, why, and what to do next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from uocr_nb.errors import EndpointError

if TYPE_CHECKING:
    from uocr_nb.serving.hub.ending import Answer

_FREE = "Nothing was started and nothing is charged."
_AGAIN = "Run the cell again in a minute."


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked of the Hub, for the words of a message.

    Attributes
    ----------
    what : str
        The sentence that says what did not come about.
    endpoint, namespace : str
        The Hub's address, and the account that pays.
    source : str
        Where the token was found.
    role : str
        Its role, empty when unknown.
    charged : str
        What was charged.
    """

    what: str
    endpoint: str
    namespace: str = ""
    source: str = ""
    role: str = ""
    charged: str = _FREE


def refusal(answer: Answer, asked: Asked) -> EndpointError:
    """Make the error of an answer that is not what was wanted."""
    why, then = _silence(answer, asked) if not answer.status else _status(answer, asked)
    return EndpointError(asked.what, f"{why} {asked.charged}".strip(), then)


def _silence(answer: Answer, asked: Asked) -> tuple[str, str]:
    if answer.lost == "offline":
        return "HF_HUB_OFFLINE is set, so the Hub's client sends nothing.", "Unset HF_HUB_OFFLINE and restart the kernel."
    if answer.lost == "timeout":
        return f"{asked.endpoint} took the request and did not answer in time.", _AGAIN
    if answer.lost == "unsent":
        said = f" ({answer.said})" if answer.said else ""
        return (
            f"No connection to {asked.endpoint} could be made{said}.",
            "Check the network and the proxy variables (HTTPS_PROXY, NO_PROXY, SSL_CERT_FILE), then run the cell again.",
        )
    return f"The connection to {asked.endpoint} broke before an answer came.", _AGAIN


def _status(answer: Answer, asked: Asked) -> tuple[str, str]:
    status, said = answer.status, _sentence(answer.said)
    by = f"the token from {asked.source}" if asked.source else "the token"
    why = f"The Hub answered {status}. {said}".strip()
    match status:
        case 401:
            return f"The Hub does not know {by} (401). {said}".strip(), "hf auth login, or set another HF_TOKEN."
        case 402:
            return (
                f"{asked.namespace or 'The account'} has no credit for it (402). {said}".strip(),
                f"{billing_page(asked)}   add credit, then run the cell again",
            )
        case 403:
            role = f", whose role is {asked.role}," if asked.role else ""
            return (
                f"{by[0].upper() + by[1:]}{role} may not start and manage Jobs in {asked.namespace or 'this account'} "
                f"(403). {said}".strip(),
                f"{asked.endpoint}/settings/tokens   make a token of role write, or fine-grained with job.write",
            )
        case 404:
            return (
                f"{asked.namespace or 'It'} is not there, or {by} may not see it (404). {said}".strip(),
                "Check --namespace; without it your own account is taken.",
            )
        case 409:
            return f"Something else is in the way (409). {said}".strip(), _AGAIN
        case 429:
            return f"The Hub has too many requests from you (429). {said}".strip(), _AGAIN
        case 400 | 422:
            return why, "%uocr_serve --dry-run   shows what is asked for"
    if status >= 500:
        return f"The Hub has a fault of its own ({status}). {said}".strip(), _AGAIN
    if 300 <= status < 400:
        return (
            f"The Hub answered with a redirect ({status}), which is not followed, because it would carry the token along.",
            "Set HF_ENDPOINT to the address it leads to, before Jupyter starts.",
        )
    return why, _AGAIN


def billing_page(asked: Asked, own_name: str = "") -> str:
    """Address of the page where credit is added."""
    if asked.namespace and own_name and asked.namespace != own_name:
        return f"{asked.endpoint}/organizations/{asked.namespace}/settings/billing"
    return f"{asked.endpoint}/settings/billing"


def _sentence(text: str) -> str:
    text = text.strip()
    return text if not text or text[-1] in ".!?" else text + "."
