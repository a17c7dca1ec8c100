"""A Hub in a process of its own: for tests that kill kernels, and so must not share a process with the Hub."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any, Self

from tests.hub import faults
from tests.hub.records import Queries, Record

ROOT = Path(__file__).resolve().parents[2]


class RemoteHub(Queries):
    """The same words as ``Hub``, over ``POST /_control``. ``start`` makes the process, ``close`` ends it.

    Parameters
    ----------
    endpoint, token : str
        What ``python -m tests.hub`` prints.
    """

    def __init__(self, endpoint: str, token: str, process: subprocess.Popen[str] | None = None) -> None:
        self.endpoint = endpoint
        self.token = token
        self.process = process
        # Proxies of the environment are not for loopback.
        self._open = urllib.request.build_opener(urllib.request.ProxyHandler({})).open

    @classmethod
    def start(cls, *options: str) -> Self:
        """Start ``python -m tests.hub`` with these options; it ends when this process does."""
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.hub", "--json", *options],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            process.wait()
            raise RuntimeError("the Hub did not start")
        facts = json.loads(line)
        return cls(facts["endpoint"], facts["token"], process)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the Hub and every Job of it."""
        if self.process is not None:
            process, self.process = self.process, None
            with process:
                assert process.stdin is not None
                process.stdin.close()
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()

    def call(self, name: str, **arguments: Any) -> Any:
        """Ask the Hub's process to do something."""
        order = json.dumps({"call": name, "arguments": arguments}).encode()
        request = urllib.request.Request(f"{self.endpoint}/_control", order, {"Content-Type": "application/json"})
        with self._open(request, timeout=10) as answer:
            return json.load(answer)["result"]

    def add(self, *waiting: faults.Fault) -> None:
        """Script faults."""
        self.call("add", faults=[faults.to_json(fault) for fault in waiting])

    def clear(self) -> None:
        """Forget the faults that wait."""
        self.call("clear")

    def waiting(self) -> list[faults.Fault]:
        """List the faults that wait."""
        return [faults.from_json(fault) for fault in self.call("waiting")]

    def down_for(self, seconds: float) -> None:
        """Refuse connections for some seconds."""
        self.call("down_for", seconds=seconds)

    def set_account(self, **fields: Any) -> None:
        """Change the account."""
        self.call("set_account", **fields)

    def add_token(self, role: str = "") -> str:
        """Make one more valid token."""
        return str(self.call("add_token", role=role))

    def revoke(self, token: str) -> None:
        """Let a token be valid no more."""
        self.call("revoke", token=token)

    def infos(self) -> list[dict[str, Any]]:
        """Describe every Job, newest first."""
        return list(self.call("infos"))

    def alive(self) -> list[str]:
        """List the ids of Jobs of which a process still runs."""
        return list(self.call("alive"))

    def lines(self, job_id: str) -> list[str]:
        """List the log lines of a Job."""
        return list(self.call("lines", job_id=job_id))

    def kill(self, job_id: str, code: int = 137, message: str | None = None) -> bool:
        """Let a Job die now."""
        return bool(self.call("kill", job_id=job_id, code=code, message=message))

    def cancel(self, job_id: str, reason: str | None = None, message: str | None = None) -> bool:
        """Cancel a Job from the service's side."""
        return bool(self.call("cancel", job_id=job_id, reason=reason, message=message))

    def records(self) -> list[Record]:
        """List every request so far."""
        return [Record(**{**fields, "token_in": tuple(fields["token_in"])}) for fields in self.call("records")]

    def forget(self) -> None:
        """Start again with an empty list of requests."""
        self.call("forget")

    @property
    def errors(self) -> list[str]:
        """Errors of the Hub's own code."""
        return list(self.call("errors"))
