"""What an endpoint's answers depend on, so that kept answers are used again only where they would come again."""

from __future__ import annotations

import importlib.metadata
from typing import TYPE_CHECKING

from uocr_nb.reading.cache import whereabouts
from uocr_nb.serving import probe

if TYPE_CHECKING:
    from uocr_nb.serving.endpoint import Endpoint

__all__ = ["provenance"]

_EMBEDDED = ("uocr_nb", "rapidocr", "onnxruntime", "openvino", "pymupdf")
"""Packages that decide what the embedded engine reads."""


async def provenance(endpoint: Endpoint) -> tuple[str | None, str]:
    """What the model is known by (None when nobody knows), and what stands in for that.

    Raises
    ------
    EndpointError
        When an endpoint has to be asked what it serves, and does not tell.
    """
    plan = endpoint.plan
    if endpoint.host != "url" and endpoint.engine == "cpu":
        return f"cpu {_versions()}{' low memory' if plan.low_memory else ''}", ""
    if endpoint.revision:
        return f"{endpoint.engine} {plan.variant} {plan.image or ''} {endpoint.revision}", ""
    if endpoint.served is None:
        endpoint.served = await probe.read_models(endpoint)
    return None, whereabouts(endpoint.base_url, endpoint.served)


def _versions() -> str:
    found = []
    for name in _EMBEDDED:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return ", ".join(found)
