"""What every engine in a child process has in common: its log, its end, and that it never outlives its kernel."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import re
import secrets
import site
import threading
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from uocr_nb.errors import EndpointError, UocrError
from uocr_nb.serving import ledger
from uocr_nb.serving.reaper import reaper
from uocr_nb.support.durations import show_seconds
from uocr_nb.support.net import Secret, port_is_free
from uocr_nb.support.platform import Identity, describe_exit, end_group, identify, signal_group, was_killed

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Coroutine, Iterator, Mapping

    from uocr_nb.serving.endpoint import Endpoint
    from uocr_nb.serving.plan import Say

_SECRET_NAME = re.compile(
    r"TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|^UOCR_KEY$", re.IGNORECASE
)
_ROOT = Path(__file__).resolve().parents[3]
_MAX_LINE = 4000
"""Characters of one log line that are kept."""

_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")


def engine_environment(environ: Mapping[str, str], extra: tuple[tuple[str, str], ...] = ()) -> dict[str, str]:
    """Make an engine's environment: no tokens or keys but what the user hands over in `extra`."""
    kept = {name: value for name, value in environ.items() if not _SECRET_NAME.search(name)}
    return kept | {"PYTHONUNBUFFERED": "1", "PYTHONIOENCODING": "utf-8"} | dict(extra)


def with_this_package(environ: Mapping[str, str]) -> dict[str, str]:
    """Add to an environment what another Python needs to find this package."""
    installed = [*site.getsitepackages(), site.getusersitepackages()]
    if str(_ROOT) in installed:
        return dict(environ)
    # Found in this process by a path of its own.
    return {**environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(_ROOT), environ.get("PYTHONPATH")]))}


class ChildHost:
    """An engine in a child process; what it is, and how it tells that it is ready, is said by the hosts made of it."""

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

    # ------------------------------------------------------------------ what differs
    where = " on this machine"

    def line(self) -> list[str]:
        """Write the command that would be run, as it can be shown."""
        raise NotImplementedError

    def _check(self) -> None:
        """Refuse a start that cannot succeed, before anything is started (in a thread)."""
        self._check_port(self._endpoint.plan.port)

    def _announce(self, say: Say) -> None:
        """Say what is started."""
        say("starting", f"{self._endpoint.engine} on this machine, free")

    def _spawn(self, key: Secret) -> None:
        """Start the program and what reads its output (in a thread)."""
        raise NotImplementedError

    async def _until_ready(self, key: Secret, say: Say) -> None:
        """Return when it has answered a real request."""
        raise NotImplementedError

    def _cleanup(self) -> tuple[str, ...]:
        """Name the command that takes away what the end of the process leaves; none by default."""
        return ()

    def _clean_up(self) -> bool:
        """Take away what the end of the process has left; tell whether it is gone."""
        return True

    def _diagnose(self) -> UocrError | None:
        """Say by its log why it ended, where that can be told."""
        return None

    # ------------------------------------------------------------------ starting
    async def start(self, say: Say) -> None:
        """Start the program; return when it has read the test page."""
        endpoint = self._endpoint
        self._loop, self._say = asyncio.get_running_loop(), say
        await asyncio.to_thread(self._check)
        key = Secret(secrets.token_urlsafe(32))
        endpoint.connect("", key)  # before the first line of its log, which might repeat the key
        self._announce(say)
        spawning = asyncio.ensure_future(asyncio.to_thread(self._spawn, key))
        try:
            await asyncio.shield(spawning)
        except asyncio.CancelledError:
            await spawning  # a thread cannot be called back, and what it starts must be known to be stopped
            raise
        limit = endpoint.plan.start_limit or endpoint.profile.start_limit
        try:
            async with asyncio.timeout(limit):
                await self._until_ready(key, say)
        except TimeoutError:
            what = f"{endpoint.name} did not start within {show_seconds(limit)}."
            told = self._diagnose()
            why = f"{told.what} {told.why}" if told else self._last_words() or "It wrote nothing to its log."
            raise EndpointError(what, why, told.next if told else "%uocr_logs") from None
        finally:
            self._say = None

    def _check_port(self, port: int | None) -> None:
        if port is not None and not port_is_free(port):
            raise EndpointError(
                f"Port {port} is taken.",
                "Another program listens on it on this machine.",
                "Leave --port out (a free one is found), or name another.",
            )

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
            cleanup=self._cleanup(),
            variant=endpoint.plan.variant,
        )
        reaper.watch_process(endpoint.id, who, self._entry.file)
        if self._entry.cleanup:
            reaper.watch_command(f"{endpoint.id} rest", self._entry.cleanup, self._entry.file)
        ledger.write(self._entry)

    def _note_address(self) -> None:
        if self._entry is not None and not self._ended.is_set():
            self._entry = replace(self._entry, base_url=self._endpoint.base_url)
            ledger.write(self._entry)

    def _follow(self, program: subprocess.Popen[bytes], pipes: dict[str, Any]) -> None:
        """Read the pipes of a program, each in a thread of its own, and wait for its end in another."""
        self._program = program
        with contextlib.suppress(ProcessLookupError):  # it has ended already
            self._register(identify(program.pid))
        readers = [
            threading.Thread(
                target=work, args=(open_pipe(pipe),), name=f"{self._endpoint.name} {work.__name__}", daemon=True
            )
            for pipe, work in ((getattr(program, name), work) for name, work in pipes.items())
        ]
        for reader in readers:
            reader.start()
        threading.Thread(target=self._await_end, args=(program, readers), daemon=True).start()

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
        for line in lines_of(pipe):
            self._take_line(line)

    def _take_line(self, line: str) -> None:
        shown = self._endpoint.add_line(_COLOURS.sub("", line)[:_MAX_LINE])
        say = self._say
        if say is not None:
            say("log", shown)

    def _tell(self, word: dict[str, Any]) -> None:
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._words.put_nowait, word)

    def _await_end(self, program: subprocess.Popen[bytes], readers: list[threading.Thread]) -> None:
        code = program.wait()
        if program.stdin is not None:
            with contextlib.suppress(OSError):
                program.stdin.close()
        if self._who is not None:
            end_group(self._who, within=0)  # what it started and left behind
        for reader in readers:
            reader.join(1.0)  # its last words; a process that got out of its group may still hold the pipe
        if self._clean_up():
            self._strike_off()
        self._ended.set()
        self._endpoint.fail(self._why_it_ended(code))
        self._tell({"event": "ended", "code": code})

    def _strike_off(self) -> None:
        reaper.forget(self._endpoint.id)
        reaper.forget(f"{self._endpoint.id} rest")
        if self._entry is not None:
            ledger.remove(self._entry)

    # ------------------------------------------------------------------ how it ended
    def _why_it_ended(self, code: int) -> UocrError:
        """Say why the program ended, in its own words where it gave any."""
        told = self._told or self._diagnose()
        if told is not None:
            return told
        endpoint = self._endpoint
        what = f"{endpoint.name} has gone." if endpoint.state == "ready" else f"{endpoint.name} did not start."
        if was_killed(code):
            return self._memory_ran_out(what)
        return EndpointError(
            what, " ".join([f"Its process {describe_exit(code)}.", self._last_words()]).strip(), "%uocr_logs"
        )

    def _memory_ran_out(self, what: str) -> UocrError:
        why = "The system killed its process (SIGKILL); the likely cause is that the memory ran out."
        return EndpointError(what, why, "Close what else uses memory, then start it again.")

    def _last_words(self) -> str:
        lines = [line.strip() for line in self._endpoint.logs if line.strip()]
        return f"Its log ends: {lines[-1][:300]}" if lines else ""

    # ------------------------------------------------------------------ stopping
    async def still_there(self) -> bool:
        """Tell whether the process runs."""
        return self._program is not None and not self._ended.is_set()

    def ask_to_stop(self) -> None:
        """Close its standard input, by which a program of this package ends itself, and ask its group to end."""
        if self._program is None or self._ended.is_set():
            return
        self.let_go_in_child()
        if self._who is not None:
            signal_group(self._who.pid, force=False)

    def finish_stop(self, within: float) -> None:
        """Wait so many seconds for its end, then force it."""
        if self._program is None:
            return
        deadline = time.monotonic() + within
        if not self._ended.wait(within) and self._who is not None:
            signal_group(self._who.pid, force=True)
            self._ended.wait(max(0.5, deadline - time.monotonic()))

    def let_go_in_child(self) -> None:
        """Close the pipe's end that a forked child got, so that the engine sees the end of the parent."""
        if self._program is not None and self._program.stdin is not None:
            with contextlib.suppress(OSError):
                self._program.stdin.close()


def open_pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    """Return a pipe that is known to be there."""
    if pipe is None:
        raise RuntimeError("The program was started without this pipe.")
    return pipe


def lines_of(pipe: IO[bytes]) -> Iterator[str]:
    """Yield the lines of a pipe as text; an end of line may be any of the three kinds, a progress bar's included."""
    with pipe, io.TextIOWrapper(io.BufferedReader(pipe), encoding="utf-8", errors="replace") as text:  # type: ignore[type-var]
        for line in text:
            yield line.rstrip("\n")
