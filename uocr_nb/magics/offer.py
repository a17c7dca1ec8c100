"""The one line that offers the model itself after a bare ``%uocr_serve``, with its price."""

from __future__ import annotations

import os
import threading

from uocr_nb.serving import engines
from uocr_nb.serving.hub import account
from uocr_nb.serving.hub.client import HubClient
from uocr_nb.views import messages

__all__ = ["Offer"]

_ENGINE = "vllm"
_SECONDS = 1800.0
"""The timeout that a Job gets when nobody says."""


class Offer:
    """Asks for the price while the free engine starts; never waited for.

    The Hub's price list is public: nothing is sent with the question. With HF_HUB_OFFLINE set it is not asked.
    """

    def __init__(self) -> None:
        self._flavor = engines.get(_ENGINE).variant(None).flavor or ""
        self._price = account.Price(None)
        if os.environ.get("HF_HUB_OFFLINE", "0").upper() not in ("1", "ON", "YES", "TRUE"):
            threading.Thread(target=self._ask, name="uocr_nb price", daemon=True).start()

    def _ask(self) -> None:
        self._price = account.price_of(self._flavor, account.hardware_rows(HubClient()))

    def message(self) -> messages.Message:
        """The line, with the price if it came in time."""
        most = self._price.most(_SECONDS)
        price = "price unknown" if most is None else f"at most ${account.dollars_up(most):.2f}"
        return messages.info(
            "cpu on this machine is free, and not the model.",
            f"The model itself: `%uocr_serve {_ENGINE}` ({self._flavor}, {price})",
        )
