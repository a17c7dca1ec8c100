"""Jobs as real processes: queue, run, log, end."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.hub import faults, ports
from tests.hub.shape import DEFAULT_TIMEOUT, describe, stamp

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.hub.shims import Programs

TERMINAL = frozenset({"COMPLETED", "CANCELED", "ERROR", "DELETED"})
START_MARK = "===== Job started at "


def new_id() -> str:
    """Make an id of 24 hex digits, growing with time as the Hub's do."""
    return f"{int(time.time()):08x}{os.urandom(8).hex()}"


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


@dataclass(frozen=True)
class World:
    """What Jobs share."""

    folder: Path
    programs: Programs
    script: faults.Script
    proxy_url: Callable[[], str]
    scheduling: float
    speed: float
    grace: float
    stage_lag: float
    mapped: bool


@dataclass
class Job:
    """One Job. `changed` guards everything that changes, and tells of it."""

    world: World
    body: dict[str, Any]
    owner: dict[str, Any]
    author: dict[str, Any]
    id: str = field(default_factory=new_id)
    initiator: str = "user"

    def __post_init__(self) -> None:
        self.changed = threading.Condition()
        self.stage = "SCHEDULING"
        self.message: str | None = None
        self.cancel_reason: str | None = None
        self.created = _now()
        self.started: dt.datetime | None = None
        self.finished: dt.datetime | None = None
        self.labels: dict[str, str] = dict(self.body.get("labels") or {})
        self.expose: dict[str, Any] | None = self.body.get("expose")
        self.logs: list[tuple[str, str]] = []
        self.looks = 0
        self.exit_code: int | None = None
        self._lines = 0
        self._why: tuple[str, str | None] | None = None
        self._stop = threading.Event()
        self._keeper: subprocess.Popen[bytes] | None = None
        self._claims: dict[int, ports.Claim] = {}
        script = self.world.script
        self._queue = script.for_job(faults.Queue)
        self._death = script.for_job(faults.Death)
        self._no_urls = script.for_job(faults.NoUrls)
        self.engine = script.for_job(faults.Engine) or self.world.programs.engine
        self._thread = threading.Thread(target=self._live, daemon=True, name=f"job-{self.id}")

    # -- what the API shows ------------------------------------------------------------------------------------------

    @property
    def ended(self) -> bool:
        """Whether the stage is a last one."""
        return self.stage in TERMINAL

    @property
    def timeout(self) -> int:
        """Seconds after which the Job is stopped."""
        return int(self.body.get("timeoutSeconds") or DEFAULT_TIMEOUT)

    def exposed(self) -> list[int]:
        """List the ports that the proxy serves."""
        return list((self.expose or {}).get("ports") or [])

    def urls(self) -> list[str] | None:
        """List the URLs of the exposed ports, where no fault hides them."""
        hidden = self._no_urls
        if hidden is not None:
            self.looks += 1
            in_queue = hidden.until == "running" and self.stage == "SCHEDULING"
            if hidden.until == "never" or in_queue or (hidden.until == "looks" and self.looks <= hidden.looks):
                return None
        return [f"{self.world.proxy_url()}/{self.id}--{port}" for port in self.exposed()] or None

    def info(self) -> dict[str, Any]:
        """Describe the Job in the Hub's shape."""
        with self.changed:
            return describe(self)

    # -- what happens to it ------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Put the Job into the queue."""
        self._thread.start()

    def end(self, stage: str, message: str | None = None, *, reason: str | None = None, at_once: bool = False) -> bool:
        """Stop the Job; False when it had ended. The stage is told at once, the processes get their grace time."""
        with self.changed:
            if self.ended or self._why is not None:
                return False
            self._why = (stage, message)
            self.cancel_reason = reason
            if stage == "CANCELED":
                self._finish(stage, message)
        self._stop.set()
        self._ask(b"" if at_once else b"term\n")
        return True

    def _ask(self, word: bytes) -> None:
        keeper = self._keeper
        if keeper is None or keeper.stdin is None:
            return
        with contextlib.suppress(OSError, ValueError):
            if word:
                os.write(keeper.stdin.fileno(), word)
            else:
                keeper.stdin.close()

    def close(self, seconds: float = 8.0) -> None:
        """Kill whatever runs and wait until it is gone."""
        self.end("CANCELED", at_once=True)
        self._ask(b"")
        self._thread.join(seconds)

    @property
    def alive(self) -> bool:
        """Whether a process of the Job still runs."""
        return self._keeper is not None and self._keeper.poll() is None

    def port(self, declared: int) -> int | None:
        """Tell which port of this machine plays a declared one, while the Job runs."""
        claimed = self._claims.get(declared)
        return claimed.port if claimed is not None and self.stage == "RUNNING" else None

    def _finish(self, stage: str, message: str | None) -> None:
        with self.changed:
            if not self.ended:
                self.stage, self.message, self.finished = stage, message, _now()
            self.changed.notify_all()

    def log(self, text: str) -> None:
        """Add a line to the log."""
        with self.changed:
            self.logs.append((stamp(_now()), text))
            self.changed.notify_all()

    def _mark(self) -> None:
        self.log(f"{START_MARK}{_now():%Y-%m-%d %H:%M:%S} =====")

    def _live(self) -> None:
        try:
            if self._wait_in_queue():
                self._run()
        finally:
            for claimed in self._claims.values():
                claimed.release()
            stage, message = self._why or ("ERROR", "Job failed")
            self._finish(stage, message)

    def _wait_in_queue(self) -> bool:
        queue = self._queue
        if queue is None:
            return not self._stop.wait(self.world.scheduling)
        self.message = queue.message
        for _ in range(queue.marks):
            self._mark()
        going = not self._stop.wait(queue.seconds)
        if going:
            self.message = None
        return going

    def _environment(self, folder: Path, programs: Path) -> dict[str, str]:
        flavor = str(self.body["flavor"])
        temporary = folder / "tmp"
        temporary.mkdir()
        return {
            "PATH": f"{programs}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
            "HOME": str(folder),
            "TMPDIR": str(temporary),
            "LANG": "C.UTF-8",
            "JOB_ID": self.id,
            "ACCELERATOR": "" if flavor.startswith("cpu") else flavor,
            **self.body.get("environment", {}),
            **(self.body.get("secrets") or {}),
        }

    def _run(self) -> None:
        folder = Path(tempfile.mkdtemp(prefix=f"{self.id[-8:]}-", dir=self.world.folder))
        for declared in self.exposed():
            self._claims[declared] = ports.claim(declared, mapped=self.world.mapped)
        played = {declared: claimed.port for declared, claimed in self._claims.items()}
        programs = self.world.programs.install(folder, self.engine, played)
        order = {
            "command": ports.rewrite([*self.body["command"], *self.body.get("arguments", [])], played),
            "folder": str(folder),
            "environment": self._environment(folder, programs),
            "grace": self.world.grace,
        }
        keeper = subprocess.Popen(
            [sys.executable, "-I", "-S", str(Path(__file__).with_name("keeper.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            cwd=self.world.folder,
        )
        with keeper:
            assert keeper.stdin is not None
            with self.changed:
                self.started = _now()
                if not self.ended:
                    self.stage = "RUNNING"
                self.changed.notify_all()
            self._mark()
            with contextlib.suppress(OSError):
                os.write(keeper.stdin.fileno(), json.dumps(order).encode() + b"\n")
            # Known to `end` only now, so that nothing comes before the order.
            self._keeper = keeper
            if self._stop.is_set():
                self._ask(b"")
            clock = threading.Timer(self.timeout / self.world.speed, self.end, ("ERROR", "Job timeout"))
            clock.daemon = True
            clock.start()
            self._read(keeper)
            clock.cancel()
            self.exit_code = keeper.wait()
        if self.world.stage_lag:
            self._stop.wait(self.world.stage_lag)
        with self.changed:
            if self._why is None:
                failed = f"Job failed with exit code: {self.exit_code}"
                self._why = ("ERROR", failed) if self.exit_code else ("COMPLETED", None)

    def _read(self, keeper: subprocess.Popen[bytes]) -> None:
        assert keeper.stdout is not None
        for line in keeper.stdout:
            text = line.decode(errors="replace").removesuffix("\n")
            self.log(text)
            self._lines += 1
            death = self._death
            if death is not None and death.strikes(self._lines, text):
                self.die(death.code, death.message, death.stage)

    def die(self, code: int = 137, message: str | None = None, stage: str = "ERROR") -> bool:
        """Kill the Job without a word, as a crash or a lost machine does."""
        return self.end(stage, message or f"Job failed with exit code: {code}", at_once=True)
