"""Host ``process`` for the engines of this package: a Python of its own that is told everything over a pipe."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from uocr_nb.errors import EndpointError, MissingExtraError, UocrError
from uocr_nb.serving import engines, probe
from uocr_nb.serving.engines.launch import is_path
from uocr_nb.serving.hosts.child import ChildHost, engine_environment, lines_of, open_pipe, with_this_package
from uocr_nb.support.platform import cpu_budget, memory_limit, own_session, root_folder

if TYPE_CHECKING:
    from uocr_nb.serving.endpoint import Endpoint
    from uocr_nb.serving.plan import Say
    from uocr_nb.support.net import Secret

_PLENTY = 3 * 10**9
"""Bytes below which the embedded engine spares memory unasked: else engine, kernel and Lab take over 2 GB."""


class ProcessHost(ChildHost):
    """Starts the engine's program, hands it a random key over a pipe, and reads its log."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self._spare = False

    @property
    def where(self) -> str:  # type: ignore[override]
        """In words."""
        return " on this machine" + (", sparing memory" if self._endpoint.plan.low_memory else "")

    def line(self) -> list[str]:
        """Write the command that would be run, as it can be shown."""
        return ["python", "-P", *self._endpoint.profile.program]

    def _check(self) -> None:
        profile, plan = self._endpoint.profile, self._endpoint.plan
        for module in profile.needs:
            if find_spec(module) is None:
                raise MissingExtraError(f"The engine {profile.name} is not installed.", profile.extra, module)
        if plan.model and is_path(plan.model) and not Path(plan.model).expanduser().exists():
            raise EndpointError(
                f"There is no model at {plan.model}.",
                "The folder does not exist on this machine.",
                f"%uocr_serve {profile.name} --model FOLDER   or OWNER/NAME from the Hub",
            )
        super()._check()

    def _announce(self, say: Say) -> None:
        plan, engine = self._endpoint.plan, self._endpoint.engine
        allowed = memory_limit()
        self._spare = plan.low_memory or (engine == "cpu" and allowed is not None and allowed < _PLENTY)
        say("starting", f"{engine} on this machine, free{', sparing memory' if self._spare else ''}")
        if self._spare and not plan.low_memory:
            say("note", f"Only {(allowed or 0) / 1e9:.1f} GB of memory are allowed here, so the engine spares it.")

    def _spawn(self, key: Secret) -> None:
        plan = self._endpoint.plan
        program = subprocess.Popen(
            # -P: a user's own queue.py beside the notebook must not take the place of Python's.
            [sys.executable, "-P", *self._endpoint.profile.program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            cwd=root_folder(),
            env=with_this_package(engine_environment(os.environ, plan.env)),
            **own_session(),
        )
        with contextlib.suppress(OSError):
            open_pipe(program.stdin).write(json.dumps(self._hello(key)).encode() + b"\n")
        self._follow(program, {"stderr": self._read_log, "stdout": self._read_events})

    def _hello(self, key: Secret) -> dict[str, Any]:
        plan = self._endpoint.plan
        hello = {"key": key.reveal(), "port": plan.port or 0, "low_memory": self._spare, "threads": cpu_budget()}
        if self._endpoint.engine == "cpu":
            return hello
        model = plan.model or self._endpoint.profile.model
        # The program stands in another folder.
        folder = Path(model).expanduser()
        return hello | {
            "engine": self._endpoint.engine,
            "model": str(folder.resolve()) if folder.exists() else model,
            "revision": plan.revision,
        }

    async def _until_ready(self, key: Secret, say: Say) -> None:
        endpoint = self._endpoint
        while True:
            word = await self._words.get()
            match word.get("event"):
                case "listening":
                    endpoint.connect(str(word["url"]), key)
                    await asyncio.to_thread(self._note_address)
                    say("loading", f"listening at {endpoint.base_url}, loading")
                case "ready":
                    break
                case "ended":
                    raise self._why_it_ended(word["code"])
        say("checking", "reading a test page")
        await self._or_its_end(probe.wait_healthy(endpoint))
        answer = await self._or_its_end(probe.read_one_word(endpoint))
        if endpoint.engine != "cpu":
            models = engines.served(await probe.read_models(endpoint))
            endpoint.revision = models[0].get("revision") if models else None
            for note in probe.doubts(answer):
                say("note", note)
        elif not probe.says_the_word(answer):
            raise EndpointError(
                f"{endpoint.name} started, and does not read.",
                f"Its test page says {probe.WORD!r}; it answered {answer[:80]!r}.",
                "%uocr_logs",
            )

    # ------------------------------------------------------------------ while it runs (threads)
    def _read_events(self, pipe: IO[bytes]) -> None:
        for line in lines_of(pipe):
            try:
                word = json.loads(line)
            except ValueError:
                word = None
            if not isinstance(word, dict):
                self._take_line(line)
                continue
            if word.get("event") == "failed":
                self._told = EndpointError(*(str(word.get(part) or "") for part in ("what", "why", "next")))
            self._tell(word)

    # ------------------------------------------------------------------ how it ended
    def _memory_ran_out(self, what: str) -> UocrError:
        limit = memory_limit()
        room = f" ({limit / 1e9:.1f} GB are allowed here)" if limit else ""
        why = f"The system killed its process (SIGKILL); the likely cause is that the memory ran out{room}."
        again = "Close what else uses memory, then start it again."
        spare = "%uocr_serve cpu --low-memory"
        return EndpointError(what, why, spare if self._endpoint.engine == "cpu" and not self._spare else again)
