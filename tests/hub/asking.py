"""What the tests of the Hub ask, and how."""

from __future__ import annotations

import base64
import contextlib
from typing import TYPE_CHECKING, Any

import httpx2
import openai
from huggingface_hub import HfApi

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.hub.remote import RemoteHub
    from tests.hub.server import Hub

PNG = "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n stand-in").decode()
VLLM = ["vllm", "serve", "baidu/Unlimited-OCR", "--served-model-name", "Unlimited-OCR", "--host", "0.0.0.0"]
VLLM += ["--port", "8000", "--logits_processors", "vllm.model_executor.models.unlimited_ocr:NGramPerReqLogitsProcessor"]
SGLANG = ["python", "-m", "sglang.launch_server", "--model-path", "baidu/Unlimited-OCR", "--served-model-name"]
SGLANG += [
    "Unlimited-OCR",
    "--enable-custom-logit-processor",
    "--enable-metrics",
    "--host",
    "0.0.0.0",
    "--port",
    "30000",
]
GUARD = {"ngram_size": 35, "window_size": 128}
EXTRA: dict[str, dict[str, Any]] = {
    "vllm": {"skip_special_tokens": False, "vllm_xargs": GUARD},
    "sglang": {"skip_special_tokens": False, "custom_logit_processor": "00", "custom_params": GUARD},
}
TEXT = {"vllm": "<image>document parsing.", "sglang": "document parsing."}


def client(hub: Hub | RemoteHub, token: str | bool | None = None) -> HfApi:
    return HfApi(endpoint=hub.endpoint, token=hub.token if token is None else token)


def run(hub: Hub | RemoteHub, command: list[str], **options: Any) -> Any:
    options = {
        "image": "vllm/vllm-openai:unlimited-ocr",
        "flavor": "l4x1",
        "timeout": 1200,
        "namespace": "alice",
        **options,
    }
    return client(hub).run_job(command=command, **options)


def stage(hub: Hub | RemoteHub, job_id: str) -> str:
    return str(next(info["status"]["stage"] for info in hub.infos() if info["id"] == job_id))


def messages(engine: str) -> Any:
    image = {"type": "image_url", "image_url": {"url": PNG}}
    return [{"role": "user", "content": [{"type": "text", "text": TEXT[engine]}, image]}]


@contextlib.contextmanager
def openai_client(hub: Hub | RemoteHub, url: str, *, seconds: float = 10) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{url}/v1", api_key=hub.token, max_retries=0, timeout=seconds) as found:
        yield found


def ready(hub: Hub | RemoteHub, job: Any) -> str:
    """Wait until the engine answers through the exposed URL, and tell that URL."""
    urls = client(hub).inspect_job(job_id=job.id, namespace="alice").status.expose_urls
    assert urls
    url = urls[0]
    header = {"Authorization": f"Bearer {hub.token}"}
    hub.wait(lambda: httpx2.get(f"{url}/v1/models", headers=header, timeout=5).status_code == 200, 60, "ready")
    return url
