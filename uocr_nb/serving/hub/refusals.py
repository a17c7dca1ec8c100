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
        why = "HF_HUB_OFFLINE is set, so the Hub's client sends nothing."
        return why, "Unset HF_HUB_OFFLINE and restart the kernel."
    if answer.lost == "timeout":
        return f"{asked.endpoint} took the request and did not answer in time.", _AGAIN
    if answer.lost == "unsent":
        said = f" ({answer.said})" if answer.said else ""
        return (
            f"No connection to {asked.endpoint} could be made{said}.",
            "Check the network and HTTPS_PROXY, NO_PROXY, SSL_CERT_FILE, then run the cell again.",
        )
    return f"The connection to {asked.endpoint} broke before an answer came.", _AGAIN


def _status(answer: Answer, asked: Asked) -> tuple[str, str]:
    status = answer.status
    by = f"the token from {asked.source}" if asked.source else "the token"
    payer = asked.namespace or "the account"
    tokens = f"{asked.endpoint}/settings/tokens   make a token of role write, or fine-grained with job.write"
    role = f", whose role is {asked.role}," if asked.role else ""
    known = {
        401: (f"The Hub does not know {by}", "hf auth login, or set another HF_TOKEN."),
        402: (f"{payer} has no credit for it", f"{billing_page(asked)}   add credit, then run the cell again"),
        403: (f"{by}{role} may not start and manage Jobs in {payer}", tokens),
        404: (f"{payer} is not there, or {by} may not see it", "Check --namespace; without it your own account pays."),
        409: ("Something else is in the way", _AGAIN),
        429: ("The Hub has too many requests from you", _AGAIN),
    }
    if status in known:
        what, then = known[status]
    elif status >= 500:
        what, then = "The Hub has a fault of its own", _AGAIN
    elif 300 <= status < 400:
        what = "The Hub answered with a redirect, which is not followed, because it would carry the token along"
        then = "Set HF_ENDPOINT to the address it leads to, before Jupyter starts."
    else:
        what, then = "The Hub refused the request", "%uocr_serve --dry-run   shows what is asked for"
    # An account's name is written as it is.
    what = "T" + what[1:] if what.startswith("the ") else what
    return f"{what} ({status}). {_sentence(answer.said)}".strip(), then


def billing_page(asked: Asked, own_name: str = "") -> str:
    """Address of the page where credit is added."""
    if asked.namespace and own_name and asked.namespace != own_name:
        return f"{asked.endpoint}/organizations/{asked.namespace}/settings/billing"
    return f"{asked.endpoint}/settings/billing"


def _sentence(text: str) -> str:
    text = text.strip()
    return text if not text or text[-1] in ".!?" else text + "."
