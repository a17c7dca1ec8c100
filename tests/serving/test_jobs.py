"""A Job of the Hub from its start to its end, with the Hub's own client against a loopback Hub."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from jobs_kit import asks, hub, serve_quick

from uocr_nb.serving import ledger, probe

if TYPE_CHECKING:
    from jobs_kit import Hub

__all__ = ["hub"]


@pytest.mark.parametrize("target", ["vllm", "vllm:cu129", "vllm:stable", "sglang", "sglang:wheel-fa3", "sglang:stable"])
def test_start_log_ready_read_stop(hub: Hub, target: str) -> None:
    told: list[Any] = []
    endpoint = serve_quick(target, told=told)
    stages = list(dict.fromkeys(event.stage for event in told if event.stage != "log"))
    assert [stage for stage in stages if stage != "note"] == [
        "plan",
        "queued",
        "pulling",
        "loading",
        "checking",
        "ready",
    ]
    assert endpoint.state == "ready"
    assert asks(hub) == ["hardware", "whoami", "run"], [(r.method, r.path) for r in hub.records()][:3]
    job = hub.infos()[0]
    assert endpoint.id == job["id"]
    assert job["labels"]["app"] == "uocr_nb"
    assert job["labels"]["name"] == endpoint.name
    assert job["environment"]["PYTHONUNBUFFERED"] == "1"
    assert hub.posts()[0].body["timeoutSeconds"] == 1800
    assert endpoint.price is not None
    assert endpoint.deadline is not None
    assert endpoint.spent > 0
    assert [line for line in endpoint.logs if line] == [
        line.split("\r")[-1].replace("\x1b[1;36m", "").replace("\x1b[0;0m", "")
        for line in hub.lines(endpoint.id)[: len(endpoint.logs)]
    ]
    body = endpoint.profile.request([probe.test_page()])
    answer = endpoint.openai().chat.completions.create(
        model=body["model"], messages=body["messages"], extra_body={"skip_special_tokens": False}
    )
    assert "<|det|>" in answer.choices[0].message.content
    assert [entry.job.id for entry in ledger.entries() if entry.job] == [endpoint.id]
    endpoint.stop()
    assert endpoint.state == "stopped"
    assert len(hub.cancels(endpoint.id)) == 1
    assert ledger.entries() == []
    assert hub.alive() == [] or hub.wait(lambda: not hub.alive())
