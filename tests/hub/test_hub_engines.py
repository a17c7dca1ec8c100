"""Stand-in engines behind the proxy, and a Hub in another process."""

from __future__ import annotations

import base64
import io
import os
import socket
import time
from typing import TYPE_CHECKING, Any

import httpx2
import openai
import pytest
from huggingface_hub.errors import HfHubHTTPError
from PIL import Image, ImageDraw, ImageFont

from tests.hub import faults, ports, rules
from tests.hub.remote import RemoteHub

if TYPE_CHECKING:
    from tests.hub.server import Hub

from tests.hub.asking import EXTRA, PNG, SGLANG, TEXT, VLLM, client, messages, openai_client, ready, run, stage

# -- engines and the proxy -------------------------------------------------------------------------------------------


def test_proxy_asks_for_the_token_and_says_not_yet(hub: Hub) -> None:
    hub.add(faults.Engine(startup=0.6))
    job = run(hub, VLLM, expose=[8000])
    models = f"{job.status.expose_urls[0]}/v1/models"
    header = {"Authorization": f"Bearer {hub.token}"}
    assert httpx2.get(models).status_code == 401
    assert httpx2.get(models, headers={"Authorization": "Bearer hf_other"}).status_code == 401
    assert httpx2.get(models, headers=header).status_code == 503
    ready(hub, job)
    hub.add(faults.Answer(route="proxy", path="/v1/models", status=200, body="<html>log in</html>"))
    assert "log in" in httpx2.get(models, headers=header).text
    client(hub).cancel_job(job_id=job.id, namespace="alice")
    assert httpx2.get(models, headers=header).status_code == 404


def test_a_stream_comes_unbuffered_and_dies_with_the_engine(hub: Hub) -> None:
    hub.add(faults.Engine(delay=0.03, piece=40), faults.Engine(die_after=1))
    jobs = [run(hub, VLLM, expose=[8000]) for _ in range(2)]
    ask: dict[str, Any] = {"model": "Unlimited-OCR", "messages": messages("vllm"), "stream": True}
    with openai_client(hub, ready(hub, jobs[0])) as chat:
        moments = [time.monotonic() for _ in chat.chat.completions.create(**ask, extra_body=EXTRA["vllm"])]
    assert moments[-1] - moments[0] > 0.2
    with openai_client(hub, ready(hub, jobs[1])) as chat:
        stream = chat.chat.completions.create(**ask, extra_body=EXTRA["vllm"])
        with pytest.raises((openai.APIConnectionError, httpx2.RemoteProtocolError)):
            list(stream)
    hub.wait(lambda: stage(hub, jobs[1].id) == "ERROR", 5)


def test_counters_of_both_engines(hub: Hub) -> None:
    header = {"Authorization": f"Bearer {hub.token}"}
    for engine, command, port, name in (
        (
            "vllm",
            VLLM,
            8000,
            'vllm:request_success_total{engine="0",model_name="Unlimited-OCR",finished_reason="stop"}',
        ),
        ("sglang", SGLANG, 30000, 'sglang:num_requests_total{model_name="Unlimited-OCR"}'),
    ):
        url = ready(hub, run(hub, command, expose=[port]))
        assert f"{name} 0.0" in httpx2.get(f"{url}/metrics", headers=header).text
        with openai_client(hub, url) as chat:
            chat.chat.completions.create(model="Unlimited-OCR", messages=messages(engine), extra_body=EXTRA[engine])
        page = httpx2.get(f"{url}/metrics", headers=header).text
        assert f"{name} 1.0" in page
        assert f"{engine}:generation_tokens_total" in page
    plain = [flag for flag in SGLANG if flag != "--enable-metrics"]
    url = ready(hub, run(hub, plain, expose=[30000]))
    assert httpx2.get(f"{url}/metrics", headers=header).status_code == 404


def test_an_engine_bound_to_the_containers_loopback_is_not_reached(hub: Hub) -> None:
    command = [part for part in SGLANG if part not in {"--host", "0.0.0.0"}]
    job = run(hub, command, expose=[30000])
    hub.wait(lambda: any("fired up" in text for text in hub.lines(job.id)), 10)
    header = {"Authorization": f"Bearer {hub.token}"}
    assert httpx2.get(f"{job.status.expose_urls[0]}/health", headers=header).status_code == 502


def test_fatal_lines_and_flags_of_the_other_engine(hub: Hub) -> None:
    hub.add(faults.Engine(fatal="RuntimeError: CUDA error 802: system not yet initialized", exit_code=1))
    first = run(hub, VLLM)
    second = run(hub, [*VLLM, "--context-length", "32768"])
    hub.wait(lambda: {stage(hub, job.id) for job in (first, second)} == {"ERROR"}, 10)
    assert "CUDA error 802" in hub.lines(first.id)[-1]
    assert "unrecognized arguments: --context-length" in hub.lines(second.id)[-1]


def test_a_taken_port_is_played_by_another(hub: Hub) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        command = [str(port) if part == "8000" else part for part in VLLM]
        jobs = [run(hub, command, expose=[port]) for _ in range(2)]
        for job in jobs:
            ready(hub, job)
            assert not any(f":{port}" in text for text in hub.lines(job.id))
            assert job.command == command


def test_ports_in_a_command() -> None:
    told = [
        "x",
        "--port",
        "8000",
        "--port=8000",
        "y --port 8000 z",
        "http://127.0.0.1:8000/a",
        "8000",
        "--port",
        "80001",
    ]
    wanted = ["x", "--port", "9", "--port=9", "y --port 9 z", "http://127.0.0.1:9/a", "8000", "--port", "80001"]
    assert ports.rewrite(told, {8000: 9}) == wanted
    first, second = ports.claim(8000, mapped=True), ports.claim(8000, mapped=True)
    assert first.port != second.port
    assert not ports.Claim(first.port).take()
    first.release()
    again = ports.Claim(first.port)
    assert again.take()
    again.release()
    second.release()


def body(engine: str, images: int = 1, **changes: Any) -> dict[str, Any]:
    parts: list[dict[str, Any]] = [{"type": "text", "text": changes.pop("text", TEXT[engine])}]
    parts += [{"type": "image_url", "image_url": {"url": PNG}}] * images
    return {"model": "Unlimited-OCR", "messages": [{"role": "user", "content": parts}], **EXTRA[engine], **changes}


@pytest.mark.parametrize(
    ("engine", "request_body", "status", "text"),
    [
        ("vllm", body("vllm"), 200, rules.page_text()),
        ("vllm", body("vllm", 2, text="<image><image>Multi page parsing."), 200, f"<PAGE>{rules.page_text()}\n<PAGE>"),
        ("vllm", body("vllm", text="document parsing."), 200, ""),
        ("vllm", body("vllm", text="<image><image>document parsing."), 400, "Found more '<image>' placeholders"),
        ("vllm", body("vllm", vllm_xargs={"ngram_size": "35"}), 400, "strictly positive integer"),
        ("vllm", body("vllm", max_tokens=40000), 400, "cannot be greater than"),
        ("vllm", body("vllm", model="other"), 404, "does not exist"),
        ("sglang", body("sglang"), 200, rules.page_text()),
        ("sglang", body("sglang", text="<image>document parsing."), 400, "Prompt has 2 image placeholders but 1 image"),
        (
            "sglang",
            body("sglang", 2, text="Multi page parsing."),
            400,
            "is not supported with multiple images (got 2 images)",
        ),
        ("sglang", body("sglang", images_config={"image_mode": "x"}), 400, "Unknown image_mode 'x'. Supported: tiny"),
        ("sglang", body("sglang", max_tokens=32768), 400, "maximum context length of 32768"),
    ],
)
def test_rules_of_the_engines(engine: str, request_body: dict[str, Any], status: int, text: str) -> None:
    verdict = rules.judge(rules.Served(engine), request_body)
    assert verdict.status == status
    assert (verdict.message if status != 200 else verdict.text).startswith(text) or text in verdict.message


def test_what_a_wrong_request_costs() -> None:
    served = rules.Served("vllm")
    stripped = rules.judge(served, body("vllm", skip_special_tokens=True))
    assert stripped.text == rules.page_text(stripped=True)
    assert "<|det|>" not in stripped.text
    unguarded = rules.judge(served, body("vllm", vllm_xargs={}))
    assert unguarded.finish == "length"
    assert unguarded.text.count("again and again") == 200
    short = rules.judge(served, body("vllm", max_tokens=10))
    assert (short.finish, len(short.text)) == ("length", 40)
    refused = rules.judge(rules.Served("sglang", guard=False), body("sglang"))
    assert "not configured to enable custom logit processor" in refused.message


@pytest.mark.slow
def test_the_real_cpu_engine_behind_the_face_of_a_gpu_engine(hub: Hub) -> None:
    """The rules, counters and log are the stand-in's, the reading is real."""
    pytest.importorskip("rapidocr")
    hub.add(faults.Engine(backend="cpu"))
    image = Image.new("RGB", (700, 260), "white")
    ImageDraw.Draw(image).text((40, 80), "Loopback works", fill="black", font=ImageFont.load_default(64))
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    asked = messages("vllm")
    asked[0]["content"][1]["image_url"]["url"] = "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()
    job = run(hub, VLLM, expose=[8000])
    ask: dict[str, Any] = {"model": "Unlimited-OCR", "messages": asked, "extra_body": EXTRA["vllm"]}
    with openai_client(hub, ready(hub, job), seconds=60) as chat:
        assert [model.owned_by for model in chat.models.list()] == ["vllm"]
        whole = chat.chat.completions.create(**ask).choices[0].message.content or ""
        stream = chat.chat.completions.create(**ask, stream=True)
        streamed = "".join(event.choices[0].delta.content or "" for event in stream if event.choices)
    assert "<|det|>" in whole
    assert "Loopback" in whole
    assert streamed == whole


# -- another process -------------------------------------------------------------------------------------------------


def test_a_hub_in_another_process(remote_hub: RemoteHub) -> None:
    hub = remote_hub
    hub.add(faults.Answer(route="run", status=500), faults.Engine(answer="<|det|>text [1, 2, 3, 4]<|/det|>mine"))
    assert [type(fault).__name__ for fault in hub.waiting()] == ["Answer", "Engine"]
    with pytest.raises(HfHubHTTPError, match="500"):
        run(hub, VLLM, expose=[8000])
    job = run(hub, VLLM, expose=[8000])
    with openai_client(hub, ready(hub, job)) as chat:
        answer = chat.chat.completions.create(
            model="Unlimited-OCR", messages=messages("vllm"), extra_body=EXTRA["vllm"]
        )
    assert answer.choices[0].message.content == "<|det|>text [1, 2, 3, 4]<|/det|>mine"
    assert [record.status for record in hub.posts()] == [500, 200]
    assert hub.count("proxy") >= 2
    assert hub.alive() == [job.id]
    hub.set_account(can_pay=False)
    assert client(hub).whoami()["canPay"] is False
    assert hub.kill(job.id, message="gone")
    hub.wait(lambda: stage(hub, job.id) == "ERROR", 5)
    hub.down_for(0.4)

    def refused() -> bool:
        try:
            httpx2.get(f"{hub.endpoint}/api/jobs/hardware", timeout=2)
        except httpx2.TransportError:
            return True
        return False

    hub.wait(refused, 3, "refused")
    hub.wait(lambda: not refused(), 3, "back")


def test_jobs_die_with_the_process_of_the_hub() -> None:
    hub = RemoteHub.start()
    process = hub.process
    assert process is not None
    code = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
    job = run(hub, ["python", "-c", code])
    pid = int(hub.wait(lambda: hub.lines(job.id), 5)[0])
    process.kill()
    hub.close()

    def gone() -> bool:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        return False

    hub.wait(gone, 5, "the Job's process is gone")
