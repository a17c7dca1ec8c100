"""The loopback Hub, what goes wrong."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from huggingface_hub.errors import BadRequestError, HfHubHTTPError, JobNotFoundError

from tests.hub import faults

if TYPE_CHECKING:
    from tests.hub.server import Hub

from tests.hub.asking import client, run, stage

COUNT = ["python", "-uc", "import time\nfor n in range(8): print('line', n); time.sleep(0.02)"]

# -- faults ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 409, 429, 500, 503, 504])
def test_every_status_of_a_post(hub: Hub, status: int) -> None:
    hub.add(faults.Answer(route="run", status=status, message=f"scripted {status}"))
    with pytest.raises(HfHubHTTPError) as raised:
        run(hub, ["true"])
    assert raised.value.response.status_code == status
    assert f"scripted {status}" in str(raised.value) or raised.value.server_message == f"scripted {status}"
    assert isinstance(raised.value, BadRequestError) == (status == 400)
    assert hub.jobs() == []
    assert raised.value.response.headers.get("retry-after") == ("1" if status == 429 else None)
    assert run(hub, ["true"]).id


def test_a_job_that_is_not_there(hub: Hub) -> None:
    with pytest.raises(JobNotFoundError):
        client(hub).inspect_job(job_id="6a2b137a59bbdade52d4a58c", namespace="alice")
    job = run(hub, ["true"])
    with pytest.raises(JobNotFoundError):
        client(hub).inspect_job(job_id=job.id, namespace="acme")


@pytest.mark.parametrize("how", ["close", "reset", "status"])
def test_an_answer_lost_after_the_job_was_created(hub: Hub, how: Any) -> None:
    hub.add(faults.Queue(), faults.Lost(route="run", how=how))
    with pytest.raises(httpx2.HTTPError):
        run(hub, ["true"], labels={"mine": "once"})
    found = list(client(hub).list_jobs(namespace="alice", labels={"mine": "once"}))
    assert [job.id for job in found] == [hub.jobs()[0].id]
    assert hub.posts()[0].status == (500 if how == "status" else 0)


def test_a_silent_hub_and_one_own_timeout(hub: Hub) -> None:
    hub.add(faults.Silent(route="list"), faults.Lost(route="run", how="silence"), faults.Queue())
    header = {"Authorization": f"Bearer {hub.token}"}
    began = time.monotonic()
    with httpx2.Client(headers=header, timeout=0.3) as own:
        with pytest.raises(httpx2.ReadTimeout):
            own.get(f"{hub.endpoint}/api/jobs/alice")
        body = {"command": ["true"], "dockerImage": "a", "flavor": "cpu-basic"}
        with pytest.raises(httpx2.ReadTimeout):
            own.post(f"{hub.endpoint}/api/jobs/alice", json=body)
        assert own.get(f"{hub.endpoint}/api/jobs/alice").json()[0]["id"] == hub.jobs()[0].id
    assert time.monotonic() - began < 3


def test_faults_wait_skip_and_are_used_up(hub: Hub) -> None:
    api = client(hub)
    job = run(hub, ["sleep", "60"])
    hub.add(faults.Answer(route="cancel", status=503, times=2), faults.Hangup(route="inspect", skip=1))
    for _ in range(2):
        with pytest.raises(HfHubHTTPError, match="503"):
            api.cancel_job(job_id=job.id, namespace="alice")
    api.inspect_job(job_id=job.id, namespace="alice")
    with pytest.raises(httpx2.TransportError):
        api.inspect_job(job_id=job.id, namespace="alice")
    api.cancel_job(job_id=job.id, namespace="alice")
    assert [record.status for record in hub.cancels(job.id)] == [503, 503, 200]
    assert hub.script.waiting() == []


def test_a_slow_post_creates_its_job_also_for_a_client_that_left(hub: Hub) -> None:
    hub.add(faults.Slow(route="run", seconds=0.4))
    header = {"Authorization": f"Bearer {hub.token}"}
    body = {"command": ["true"], "dockerImage": "a", "flavor": "cpu-basic"}
    with pytest.raises(httpx2.ReadTimeout):
        httpx2.post(f"{hub.endpoint}/api/jobs/alice", json=body, headers=header, timeout=0.1)
    assert hub.jobs() == []
    hub.wait(hub.jobs, 3)


def test_a_hub_that_refuses_connections(hub: Hub) -> None:
    hub.down()
    with pytest.raises(httpx2.ConnectError):
        client(hub).list_jobs_hardware()
    hub.up()
    assert client(hub).list_jobs_hardware()


def test_death_at_a_line_and_from_outside(hub: Hub) -> None:
    hub.add(faults.Death(match="line 4", message="node lost"))
    first = run(hub, COUNT)
    hub.wait(lambda: stage(hub, first.id) == "ERROR", 5)
    assert hub.lines(first.id)[4] == "line 4"
    assert hub.find(first.id).info()["status"]["message"] == "node lost"  # type: ignore[union-attr]
    second = run(hub, ["sleep", "60"])
    hub.wait(hub.alive, 5)
    assert hub.cancel(second.id, reason="NO_CREDITS")
    assert hub.infos()[0]["status"]["cancelReason"] == "NO_CREDITS"


def test_missing_urls(hub: Hub) -> None:
    hub.add(faults.NoUrls(until="looks", looks=2), faults.Queue())
    job = run(hub, ["true"], expose=[8000])
    assert job.status.expose_urls is None
    api = client(hub)
    assert api.inspect_job(job_id=job.id, namespace="alice").status.expose_urls is None
    assert api.inspect_job(job_id=job.id, namespace="alice").status.expose_urls
