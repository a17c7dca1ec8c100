"""``uocr doctor``: one report to paste into an issue. It never holds a token, a key or a password."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import sys
from importlib import metadata
from urllib.parse import urlsplit

from uocr_nb import __version__
from uocr_nb.errors import UocrError
from uocr_nb.support.platform import cpu_budget, memory_limit
from uocr_nb.support.state import cache_dir, state_dir

__all__ = ["report"]

_PACKAGES = (
    "ipython", "ipykernel", "jupyterlab", "notebook", "ipywidgets", "anywidget", "openai", "huggingface_hub", "httpx2",
    "pymupdf", "pypdfium2", "pillow", "numpy", "matplotlib", "rapidocr", "onnxruntime", "openvino", "starlette",
    "uvicorn", "pandas", "torch", "transformers",
)  # fmt: skip
_EXTRAS = {
    "cpu": "rapidocr",
    "openvino": "openvino",
    "lab": "jupyterlab",
    "data": "pandas",
    "transformers": "transformers",
}
_PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "all_proxy", "no_proxy")
_AUTHORITIES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
_WHAT_LEAVES = (
    "page images go to the endpoint that reads them and nowhere else; to the Hub go only the calls that start, watch "
    "and stop a Job, and its public price list"
)
_PROGRAMS = ("docker", "nvidia-smi", "vllm", "llama-server", "chromium")


def report(*, ask_hub: bool = True) -> str:
    """The report as text.

    Parameters
    ----------
    ask_hub : bool
        Whether the Hub's public price list is asked for, to tell whether it can be reached.
    """
    proxies = [f"{name} ({_host(os.environ[name])})" for name in _PROXIES if os.environ.get(name)]
    given = os.environ.get("UOCR_ENDPOINT")
    parts = [
        ("uocr_nb", __version__),
        ("python", f"{platform.python_version()} ({sys.executable})"),
        ("system", platform.platform()),
        ("front end", _front_end()),
        ("threads", str(cpu_budget())),
        ("memory", _memory()),
        ("packages", ", ".join(_versions())),
        ("extras", ", ".join(name for name, module in _EXTRAS.items() if importlib.util.find_spec(module)) or "none"),
        ("programs", ", ".join(name for name in _PROGRAMS if shutil.which(name)) or "none"),
        ("state", str(state_dir())),
        ("cache", str(cache_dir())),
        ("proxy", ", ".join(proxies) or "none"),
        ("certificates", ", ".join(name for name in _AUTHORITIES if os.environ.get(name)) or "the system's"),
        ("endpoint", _host(given) if given else "none in UOCR_ENDPOINT"),
        ("token", _token()),
        ("hub", _hub() if ask_hub else "not asked"),
        ("what leaves", _WHAT_LEAVES),
    ]
    return "\n".join(f"{name:<13}{text}" for name, text in parts)


def _versions() -> list[str]:
    found = []
    for name in _PACKAGES:
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    return found


def _front_end() -> str:
    for name, variable in (
        ("Colab", "COLAB_RELEASE_TAG"),
        ("VS Code", "VSCODE_PID"),
        ("JupyterHub", "JUPYTERHUB_USER"),
    ):
        if os.environ.get(variable):
            return name
    return "a kernel" if os.environ.get("JPY_PARENT_PID") else "a terminal"


def _memory() -> str:
    limit = memory_limit()
    return f"{limit / 1e9:.1f} GB allowed" if limit else "no limit set"


def _host(address: str) -> str:
    """The host of an address alone: a proxy's address may hold a password."""
    parts = urlsplit(address if "://" in address else f"//{address}")
    try:
        return f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)
    except ValueError:
        return "not an address"


def _token() -> str:
    from uocr_nb.serving.hub.token import find_token  # noqa: PLC0415 - brings the Hub's client

    try:
        found = find_token()
    except UocrError as error:
        return error.what
    return f"found in {found.source}" if found else "none"


def _hub() -> str:
    from uocr_nb.serving.hub import account  # noqa: PLC0415 - brings the Hub's client
    from uocr_nb.serving.hub.client import HubClient, hub_endpoint  # noqa: PLC0415

    rows = account.hardware_rows(HubClient())
    return f"{_host(hub_endpoint())} {'answers' if rows else 'cannot be reached'}"
