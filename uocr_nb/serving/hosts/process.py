"""Host ``process``: an engine in a process of its own on this machine."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import secrets
import site
import subprocess
import sys
import threading
import time
from dataclasses import replace
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from uocr_nb.errors import EndpointError, MissingExtraError, UocrError
from uocr_nb.serving import ledger, probe
from uocr_nb.serving.reaper import reaper
from uocr_nb.support.durations import show_seconds
from uocr_nb.support.net import Secret, port_is_free
from uocr_nb.support.platform import (
    Identity,
    cpu_budget,
    describe_exit,
    end_group,
    identify,
    memory_limit,
    own_session,
    root_folder,
    signal_group,
    was_killed,
)

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping

    from uocr_nb.serving.endpoint import Endpoint
    from uocr_nb.serving.plan import Say

_SECRET_NAME = re.compile(
    r"TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|^UOCR_KEY$", re.IGNORECASE
)
_ROOT = Path(__file__).resolve().parents[3]
_MAX_LINE = 4000
"""Characters of one log line that are kept."""


def engine_environment(environ: Mapping[str, str], extra: tuple[tuple[str, str], ...] = ()) -> dict[str, str]:
    """Make an engine's environment: no tokens or keys but what the user hands over in `extra`."""
    kept = {name: value for name, value in environ.items() if not _SECRET_NAME.search(name)}
    kept |= {"PYTHONUNBUFFERED": "1", "PYTHONIOENCODING": "utf-8"}
    installed = [*site.getsitepackages(), site.getusersitepackages()]
    if str(_ROOT) not in installed:
        # Found in this process by a path of its own, which the engine's Python must be told.
        kept["PYTHONPATH"] = os.pathsep.join(filter(None, [str(_ROOT), environ.get("PYTHONPATH")]))
    return kept | dict(extra)


class ProcessHost:
    """Starts the engine's program, hands it a random key over a pipe, and reads its log."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._program: subprocess.Popen[bytes] | None = None
        self._who: Identity | None = None
        self._entry: ledger.Entry | None = None
        self._ended = threading.Event()
        self._told: UocrError | None = None
        self._say: Say | None = None
        self._words: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._loop: asyncio.AbstractEventLoop | None = None

    # ------------------------------------------------------------------ starting
    async def start(self, say: Say) -> None:
        """Start the program; return when it has read the test page."""
        endpoint = self._endpoint
        self._loop, self._say = asyncio.get_running_loop(), say
        self._check()
        key = Secret(secrets.token_urlsafe(32))
        endpoint.connect("", key)  # before the first line of its log, which might repeat the key
        say("starting", f"{endpoint.engine} on this machine, free")
        spawning = asyncio.ensure_future(asyncio.to_thread(self._spawn, key))
        try:
            await asyncio.shield(spawning)
        except asyncio.CancelledError:
            await spawning  # a thread cannot be called back, and what it starts must be known to be stopped
            raise
        limit = endpoint.profile.start_limit
        try:
            async with asyncio.timeout(limit):
                await self._until_ready(key, say)
        except TimeoutError:
            raise EndpointError(
                f"{endpoint.name} did not start within {show_seconds(limit)}.",
                self._last_words() or "It wrote nothing to its log.",
                "%uocr_logs",
            ) from None
        finally:
            self._say = None

    def _check(self) -> None:
        profile, port = self._endpoint.profile, self._endpoint.plan.port
        for module in profile.needs:
            if find_spec(module) is None:
                raise MissingExtraError(f"The engine {profile.name} is not installed.", profile.extra, module)
        if port is not None and not port_is_free(port):
            raise EndpointError(
                f"Port {port} is taken.",
                "Another program listens on it on this machine.",
                "Leave --port out (a free one is found), or name another.",
            )

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
            env=engine_environment(os.environ, plan.env),
            **own_session(),
        )
        self._program = program
        with contextlib.suppress(ProcessLookupError):  # it has ended already
            self._register(identify(program.pid))
        hello = {
            "key": key.reveal(),
            "port": plan.port or 0,
            "low_memory": plan.low_memory,
            "threads": cpu_budget(),
        }
        with contextlib.suppress(OSError):
            _pipe(program.stdin).write(json.dumps(hello).encode() + b"\n")
        readers = [
            threading.Thread(target=work, args=(_pipe(pipe),), name=f"{self._endpoint.name} {what}", daemon=True)
            for what, work, pipe in (
                ("log", self._read_log, program.stderr),
                ("events", self._read_events, program.stdout),
            )
        ]
        for reader in readers:
            reader.start()
        threading.Thread(target=self._await_end, args=(program, readers), daemon=True).start()

    def _register(self, who: Identity) -> None:
        """Make the process known to those who end it when this kernel cannot."""
        endpoint = self._endpoint
        self._who = who
        self._entry = ledger.Entry(
            id=endpoint.id,
            name=endpoint.name,
            engine=endpoint.engine,
            host=endpoint.host,
            base_url=endpoint.base_url,
            owner=identify(),
            process=who,
            started=datetime.now(UTC).isoformat(timespec="seconds"),
        )
        reaper.watch_process(endpoint.id, who, self._entry.file)
        ledger.write(self._entry)

    def _note_address(self) -> None:
        if self._entry is not None and not self._ended.is_set():
            self._entry = replace(self._entry, base_url=self._endpoint.base_url)
            ledger.write(self._entry)

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
        if not probe.says_the_word(answer):
            raise EndpointError(
                f"{endpoint.name} started, and does not read.",
                f"Its test page says {probe.WORD!r}; it answered {answer[:80]!r}.",
                "%uocr_logs",
            )

    async def _or_its_end(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Await `work`, or raise as soon as the program ends."""
        asking = asyncio.ensure_future(work)
        ending = asyncio.ensure_future(self._next_end())
        try:
            await asyncio.wait({asking, ending}, return_when=asyncio.FIRST_COMPLETED)
            if asking.done() and asking.exception():
                # A broken connection is often the first sign of a program's end, which tells more.
                await asyncio.wait({ending}, timeout=1.0)
            if ending.done():
                raise self._why_it_ended(ending.result())
            return asking.result()
        finally:
            asking.cancel()
            ending.cancel()

    async def _next_end(self) -> int:
        while True:
            word = await self._words.get()
            if word.get("event") == "ended":
                return int(word["code"])

    # ------------------------------------------------------------------ while it runs (threads)
    def _read_log(self, pipe: IO[bytes]) -> None:
        for line in _lines(pipe):
            self._take_line(line)

    def _read_events(self, pipe: IO[bytes]) -> None:
        for line in _lines(pipe):
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

    def _take_line(self, line: str) -> None:
        shown = self._endpoint.add_line(line[:_MAX_LINE])
        say = self._say
        if say is not None:
            say("log", shown)

    def _tell(self, word: dict[str, Any]) -> None:
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._words.put_nowait, word)

    def _await_end(self, program: subprocess.Popen[bytes], readers: list[threading.Thread]) -> None:
        code = program.wait()
        with contextlib.suppress(OSError):
            _pipe(program.stdin).close()
        if self._who is not None:
            end_group(self._who, within=0)  # what it started and left behind
        for reader in readers:
            reader.join(1.0)  # its last words; a process that got out of its group may still hold the pipe
        self._strike_off()
        self._ended.set()
        self._endpoint.fail(self._why_it_ended(code))
        self._tell({"event": "ended", "code": code})

    def _strike_off(self) -> None:
        reaper.forget(self._endpoint.id)
        if self._entry is not None:
            ledger.remove(self._entry)

    # ------------------------------------------------------------------ how it ended
    def _why_it_ended(self, code: int) -> UocrError:
        """Say why the program ended, in its own words where it gave any."""
        if self._told is not None:
            return self._told
        endpoint = self._endpoint
        what = f"{endpoint.name} has gone." if endpoint.state == "ready" else f"{endpoint.name} did not start."
        if was_killed(code):
            limit = memory_limit()
            room = f" ({limit / 1e9:.1f} GB are allowed here)" if limit else ""
            why = f"The system killed its process (SIGKILL); the likely cause is that the memory ran out{room}."
            spare = "%uocr_serve cpu --low-memory"
            return EndpointError(
                what, why, "Close what else uses memory, then start it again." if endpoint.plan.low_memory else spare
            )
        return EndpointError(
            what, " ".join([f"Its process {describe_exit(code)}.", self._last_words()]).strip(), "%uocr_logs"
        )

    def _last_words(self) -> str:
        lines = [line.strip() for line in self._endpoint.logs if line.strip()]
        return f"Its log ends: {lines[-1][:300]}" if lines else ""

    # ------------------------------------------------------------------ stopping
    async def still_there(self) -> bool:
        """Tell whether the process runs."""
        return self._program is not None and not self._ended.is_set()

    def ask_to_stop(self) -> None:
        """Close its standard input, by which it ends itself, and ask its group to end."""
        if self._program is None or self._ended.is_set():
            return
        with contextlib.suppress(OSError):
            _pipe(self._program.stdin).close()
        if self._who is not None:
            signal_group(self._who.pid, force=False)

    def finish_stop(self, within: float) -> None:
        """Wait for its end, then force it."""
        if self._program is None:
            return
        deadline = time.monotonic() + within
        if not self._ended.wait(within) and self._who is not None:
            signal_group(self._who.pid, force=True)
            self._ended.wait(max(0.5, deadline - time.monotonic()))

    def let_go_in_child(self) -> None:
        """Close the pipe's end that a forked child got, so that the engine sees the end of the parent."""
        if self._program is not None:
            with contextlib.suppress(OSError):
                _pipe(self._program.stdin).close()


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise RuntimeError("The program was started without this pipe.")
    return pipe


def _lines(pipe: IO[bytes]) -> Any:
    """Yield the lines of a pipe as text; an end of line may be any of the three kinds, a progress bar's included."""
    import io  # noqa: PLC0415 - beside its only use

    with pipe, io.TextIOWrapper(io.BufferedReader(pipe), encoding="utf-8", errors="replace") as text:  # type: ignore[type-var]
        for line in text:
            yield line.rstrip("\n")
