"""What a plan for a Job says and asks for."""

from __future__ import annotations

import datetime as dt
import shlex
from typing import TYPE_CHECKING, Any

import pytest
from huggingface_hub import HfApi
from jobs_kit import asks, faults, hub, serve_quick

from uocr_nb.config import settings
from uocr_nb.errors import OptionError
from uocr_nb.serving import start
from uocr_nb.serving.engines.launch import with_setup
from uocr_nb.serving.hub import account
from uocr_nb.serving.hub.command import engine_command, job_command
from uocr_nb.serving.plan import Options, make_plan

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobs_kit import Hub

__all__ = ["hub"]


@pytest.mark.parametrize(
    ("target", "flavor", "port", "image"),
    [
        ("vllm", "l4x1", 8000, "vllm/vllm-openai:unlimited-ocr"),
        ("vllm:dedicated", "l4x1", 8000, "vllm/vllm-openai:unlimited-ocr"),
        ("vllm:cu129", "h200", 8000, "vllm/vllm-openai:unlimited-ocr-cu129"),
        ("vllm:stable", "l4x1", 8000, "vllm/vllm-openai:v0.33.0"),
        ("sglang", "a100-large", 10000, "lmsysorg/sglang:v0.5.10.post1"),
        ("sglang:stable", "a100-large", 30000, "lmsysorg/sglang:v0.5.23"),
    ],
)
def test_defaults(target: str, flavor: str, port: int, image: str) -> None:
    plan = make_plan(target, Options())
    assert (plan.host, plan.flavor, plan.job_port, plan.image) == ("hf", flavor, port, image)
    assert (plan.timeout, plan.idle, plan.wait, plan.start_limit) == (1800, 900, 600, 1200)
    assert plan.max_cost == settings.max_cost == 5.0
    assert not plan.forward_token
    assert "0.0.0.0" in shlex.join(engine_command(plan))


def test_what_makes_another_plan() -> None:
    plan = make_plan("vllm", Options())
    assert plan == make_plan("vllm:dedicated", Options(timeout="30m", wait="2m", name="x", max_cost=None, reuse=True))
    assert plan == make_plan("vllm", Options(variant="dedicated", timeout=1800, idle="15m", flavor="l4x1"))
    for other in ({"timeout": "1h"}, {"flavor": "a100-large"}, {"args": ["--seed 1"]}, {"idle": 0}, {"keep": True}):
        assert plan != make_plan("vllm", Options(**other))


@pytest.mark.parametrize(
    ("target", "options", "says"),
    [
        ("vllm:none", {}, "no variant"),
        ("vllm", {"timeout": "0"}, "no time"),
        ("vllm", {"timeout": "soon"}, "not a duration"),
        ("vllm", {"idle": -1}, "not a duration"),
        ("vllm", {"port": 70000}, "not a port"),
        ("vllm", {"model": "/models/x"}, "not on the Job's machine"),
        ("vllm", {"env": {"A-B": "1"}}, "cannot be a variable"),
        ("vllm", {"low_memory": True}, "--low-memory does not go"),
        ("vllm", {"on": "moon"}, "cannot run on"),
        ("cpu", {"on": "hf"}, "cannot run on"),
        ("cpu", {"flavor": "l4x1"}, "--flavor does not go"),
        ("cpu", {"idle": 0}, "--idle does not go"),
        ("cpu", {"timeout": "1h"}, "--timeout does not go"),
        ("sglang:stable", {"flavor": "rtx-pro-6000"}, "does not start on"),
        ("http://127.0.0.1:1/v1", {"keep": True}, "--keep does not go"),
    ],
)
def test_options_that_do_not_fit(target: str, options: dict[str, Any], says: str) -> None:
    with pytest.raises(OptionError, match=says):
        make_plan(target, Options(**options))


def test_the_request_is_the_clients_own(hub: Hub) -> None:
    """The same Job, asked for by `HfApi.run_job`, is the same request."""
    endpoint = serve_quick("sglang", env={"MY_OWN": "1"}, forward_token=True)
    ours = hub.posts()[0]
    job = HfApi(endpoint=hub.endpoint, token=hub.token).run_job(
        image="lmsysorg/sglang:v0.5.10.post1",
        command=job_command(endpoint.plan),
        env={"PYTHONUNBUFFERED": "1", "MY_OWN": "1"},
        secrets={"HF_TOKEN": hub.token},
        flavor="a100-large",
        timeout="30m",
        labels=ours.body["labels"],
        expose=[10000],
        namespace="alice",
    )
    hub.cancel(job.id)
    theirs = hub.posts()[1]
    assert ours.body == theirs.body
    assert (ours.method, ours.path, ours.auth) == (theirs.method, theirs.path, theirs.auth)


def test_an_organisation_pays(hub: Hub) -> None:
    endpoint = serve_quick(namespace="acme")
    endpoint.stop()
    assert {record.namespace for record in hub.records() if record.namespace} == {"acme"}
    assert asks(hub).count("whoami") == 1


def test_whoami_is_asked_once_a_session(hub: Hub) -> None:
    for _ in range(2):
        serve_quick().stop()
    assert asks(hub) == ["hardware", "whoami", "run", "cancel", "run", "cancel"]


def test_price_line() -> None:
    rows = [{"name": "l4x1", "unitCostUSD": 0.013333, "unitLabel": "minute", "prettyName": "1x Nvidia L4"}]
    price = account.price_of("l4x1", rows)
    assert price.line(1800) == "$0.80/h, at most $0.41"
    assert account.price_of("l4x1", [rows[0] | {"unitLabel": "fortnight"}]).line(1800) == "price unknown"
    assert account.price_of("l4x1", []).line(1800) == "price unknown"
    assert account.dollars_up(0.41) == 0.41
    assert account.dollars_up(0.4101) == 0.42


@pytest.mark.parametrize("target", ["vllm", "sglang"])
def test_dry_run(hub: Hub, target: str) -> None:
    text = start.describe_plan(target, env={"SECRET_ONE": "hush"})
    plan = make_plan(target, Options(env={"SECRET_ONE": "hush"}))
    assert "at most $0.41" in text or "at most $1.26" in text
    engine = shlex.join(engine_command(plan))
    assert text.count(engine) == 3
    for words in (
        f"--expose {plan.job_port}",
        f"--flavor {plan.flavor}",
        "--timeout 30m",
        plan.image,
        "15 min",
        "known:",
    ):
        assert words in text
    assert "hush" not in text
    assert asks(hub) == ["hardware"]
    if target == "sglang":
        assert engine.startswith("bash -lc 'pip install")
        assert with_setup(plan_variant(plan), ["x"])[:2] == ["bash", "-lc"]
    assert "would be refused" in start.describe_plan(target, flavor="h200x8")


def plan_variant(plan: Any) -> Any:
    from uocr_nb.serving import engines

    return engines.get(plan.engine).variant(plan.variant)


def test_last_minutes(hub: Hub) -> None:
    endpoint = serve_quick()
    assert "29:" in endpoint.describe()
    assert "spent" in endpoint.describe()
    assert not endpoint.ends_soon
    endpoint.deadline = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=272.5)
    assert endpoint.describe().startswith("stops in 4:32   vllm on l4x1")
    assert endpoint.ends_soon


def test_idle_end_is_told(hub: Hub, until: Callable[..., Any]) -> None:
    endpoint = serve_quick(idle=1)
    assert until(lambda: endpoint.state == "failed")
    assert endpoint.failure is not None
    assert "No page was asked for in 1 s, so its Job ended itself." in endpoint.failure.why
    assert hub.cancels() == []


def test_detached(hub: Hub, until: Callable[..., Any]) -> None:
    hub.add(faults.Queue(seconds=0.3))
    endpoint = start.detach("vllm")
    assert endpoint is not None
    assert endpoint.state == "queued"
    assert start.detach("vllm") is endpoint, "the same line again is the same endpoint"
    assert until(lambda: endpoint.state == "ready")
    assert "ready" in repr(endpoint)
