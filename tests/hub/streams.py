"""The two event streams of a Job: its log, replayed on every connection, and its metrics."""

from __future__ import annotations

import json
import urllib.parse
from typing import TYPE_CHECKING

from tests.hub import faults
from tests.hub.jobs import START_MARK, Job

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.hub.server import Hub
    from tests.hub.wire import Handler

KEEP_ALIVE = ": keep-alive\n\n"


def send_logs(face: Handler, hub: Hub, job: Job, tail: int | None) -> None:
    """Send the log of a Job until the Job ends, or a fault ends the stream."""
    path = urllib.parse.urlsplit(face.path).path
    quiet = hub.script.for_request((faults.QuietLogs,), "logs", path, job.id)
    if quiet is not None:
        while not face.server.closing.is_set() and not job.ended:
            face.send_chunk(KEEP_ALIVE)
            face.server.closing.wait(quiet.every)
        face.end_stream()
        return
    cut = hub.script.for_request((faults.CutLogs,), "logs", path, job.id)
    given = 0
    for event in _events(face, hub, job, tail):
        face.send_chunk(event)
        given += event.startswith("data:")
        if cut is not None and given >= cut.after:
            if cut.how == "drop":
                face.cut()
                return
            break
    face.end_stream()


def _events(face: Handler, hub: Hub, job: Job, tail: int | None) -> Iterator[str]:
    """Replay the log from its start (or its last lines), then follow it until the Job ends."""
    with job.changed:
        past = list(job.logs)
    shown = past
    if tail is not None:
        lines = [line for line in past if not line[1].startswith(START_MARK)]
        shown = [line for line in past if line[1].startswith(START_MARK)][:1] + lines[max(0, len(lines) - tail) :]
    seen = len(past)
    while True:
        for moment, text in shown:
            data = json.dumps({"data": text, "timestamp": moment}, ensure_ascii=False, separators=(",", ":"))
            yield f"data: {data}\n\n"
        with job.changed:
            if len(job.logs) == seen and not job.ended and not face.server.closing.is_set():
                job.changed.wait(hub.keepalive)
            shown = job.logs[seen:]
            over = (job.ended and not shown) or face.server.closing.is_set()
        seen += len(shown)
        if over:
            return
        if not shown:
            yield KEEP_ALIVE


def send_metrics(face: Handler, job: Job) -> None:
    """Send one sample a second; the stream does not end with the Job."""
    gpu = {"utilization": 37, "memory_used_bytes": 9_000_000_000, "memory_total_bytes": 24_000_000_000}
    sample = {
        "cpu_usage_pct": 12,
        "cpu_millicores": 8000,
        "memory_used_bytes": 1_417_216,
        "memory_total_bytes": 32_000_000_000,
        "rx_bps": 0,
        "tx_bps": 0,
        "gpus": {} if str(job.body["flavor"]).startswith("cpu") else {"d901cd7f": gpu},
        "replica": job.id[-5:],
    }
    while not face.server.closing.is_set():
        if job.stage == "RUNNING":
            face.send_chunk(f"event: metric\ndata: {json.dumps(sample)}\n\n")
        face.server.closing.wait(1)
    face.end_stream()
