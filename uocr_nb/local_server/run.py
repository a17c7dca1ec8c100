"""Starting the embedded engine: the socket first, then the models, then the word that it is ready."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import secrets
import socket
import sys
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from uocr_nb.errors import EndpointError, MissingExtraError, UocrError
from uocr_nb.support.platform import cpu_budget

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from uocr_nb.local_server.engine import Engine
    from uocr_nb.local_server.real_model import RealModel

__all__ = ["FAILED", "Settings", "serve_child", "serve_foreground"]

FAILED = 3
"""Exit status when the engine could not start."""
log = logging.getLogger("uocr.cpu")


@dataclass(frozen=True)
class Settings:
    """How the engine is to be run.

    Attributes
    ----------
    key : str
        What clients must send; never shown.
    port : int
        0 for any free one.
    low_memory : bool
        Keep the process under 1.2 GB.
    threads : int or None
        None: what this process may use.
    engine : str
        ``cpu``, or ``transformers`` for the model itself.
    model, revision : str or None
        For the model: folder or repository, and its revision (None: the newest).
    """

    key: str
    port: int = 0
    low_memory: bool = False
    threads: int | None = None
    engine: str = "cpu"
    model: str | None = None
    revision: str | None = None

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Settings:
        """Settings from parsed JSON.

        Raises
        ------
        KeyError, ValueError
            When the key is missing or a value cannot be used.
        """
        threads = data.get("threads")
        key = str(data["key"])
        if not key:
            raise ValueError("empty key")
        engine = str(data.get("engine") or "cpu")
        if engine not in ("cpu", "transformers"):
            raise ValueError("unknown engine")
        return cls(
            key,
            int(data.get("port") or 0),
            bool(data.get("low_memory")),
            int(threads) if threads else None,
            engine,
            str(data["model"]) if engine != "cpu" else None,
            data.get("revision"),
        )

    def __repr__(self) -> str:
        return f"Settings(port={self.port}, low_memory={self.low_memory}, threads={self.threads})"


def serve_child(settings: Settings) -> int:
    """Serve until stdin ends; events to stdout as JSON lines.

    Returns
    -------
    int
        Exit status.
    """
    out = sys.stdout
    # Whatever a library prints must not be taken for an event.
    sys.stdout = sys.stderr
    _log_to_stderr()

    def tell(event: str, **more: str) -> None:
        out.write(json.dumps({"event": event, **more}) + "\n")
        out.flush()

    def watch_stdin(stop: Callable[[], None]) -> None:
        with contextlib.suppress(OSError, ValueError):
            while sys.stdin.readline():
                pass
        stop()
        # Work in a thread cannot be interrupted; nobody waits for it now.
        threading.Timer(2.0, os._exit, (0,)).start()

    try:
        _serve(settings, tell, watch_stdin)
    except UocrError as error:
        log.error("%s %s", error.what, error.why)  # noqa: TRY400 - the message is whole without a traceback
        tell("failed", what=error.what, why=error.why, next=error.next)
        return FAILED
    return 0


def serve_foreground(port: int = 0, low_memory: bool = False) -> None:  # noqa: FBT001, FBT002 - named in the contract
    """Serve until interrupted; the first two lines on stdout are the URL and a key made for this run, then "ready".

    Parameters
    ----------
    port : int
        0 for any free one.
    low_memory : bool
        Keep the process under 1.2 GB.

    Raises
    ------
    EndpointError
        When the port is taken.
    MissingExtraError
        When the packages of the extra ``cpu`` are not installed.
    """
    settings = Settings(secrets.token_urlsafe(24), port, low_memory)
    _log_to_stderr()

    def tell(event: str, **more: str) -> None:
        if event == "listening":
            print(f"url: {more['url']}", f"key: {settings.key}", sep="\n", flush=True)
        elif event == "ready":
            print("ready", flush=True)

    with contextlib.suppress(KeyboardInterrupt):
        _serve(settings, tell, None)


def _log_to_stderr() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(levelname)-9s%(message)s"))
    for name in ("uocr.cpu", "uocr.model", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(logging.INFO)
        logger.propagate = False


def _open(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if os.name == "posix":
        # A port in TIME_WAIT is free; on Windows the option would let two servers share one.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        # Other programs get a clear refusal from now on, and early clients wait rather than fail.
        listener.listen(128)
    except (OSError, OverflowError) as error:
        listener.close()
        raise EndpointError(
            f"The endpoint cannot listen on port {port}.",
            "The port is taken by another program." if isinstance(error, OSError) else "It is not a port number.",
            "Choose another with --port N, or leave --port out: a free one is taken.",
        ) from error
    return listener


def _serve(
    settings: Settings,
    tell: Callable[..., None],
    watch: Callable[[Callable[[], None]], None] | None,
) -> None:
    try:
        import uvicorn  # noqa: PLC0415 - comes with the extra

        from uocr_nb.local_server.app import Service, create_app  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError("The endpoint cannot start.", settings.engine, error.name or "uvicorn") from error
    listener = _open(settings.port)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    service = Service(settings.key)
    if settings.engine == "transformers":
        from uocr_nb.local_server.model_answer import OWNER, ModelAnswer  # noqa: PLC0415 - for this engine alone

        service = Service(settings.key, owner=OWNER, answer=ModelAnswer)
    server = uvicorn.Server(
        uvicorn.Config(
            create_app(service), log_config=None, access_log=False, lifespan="off", timeout_graceful_shutdown=1
        )
    )
    trouble: list[UocrError] = []

    def stop() -> None:
        server.should_exit = True

    def load() -> None:
        try:
            service.engine = _load(settings) if settings.engine == "cpu" else _load_model(settings)
        except UocrError as error:
            trouble.append(error)
            stop()
        except Exception as error:
            log.exception("loading failed")
            why = f"{type(error).__name__}: {error}"
            trouble.append(EndpointError("The engine failed while it loaded its models.", why))
            stop()
        else:
            tell("ready")

    tell("listening", url=url)
    log.info("Listening on %s", url)
    if watch is not None:
        threading.Thread(target=watch, args=(stop,), name="stdin", daemon=True).start()
    threading.Thread(target=load, name="load", daemon=True).start()
    asyncio.run(server.serve(sockets=[listener]))
    if trouble:
        raise trouble[0]


def _load_model(settings: Settings) -> RealModel:
    from uocr_nb.local_server.real_model import RealModel  # noqa: PLC0415 - imports torch
    from uocr_nb.local_server.torch_parts import import_torch  # noqa: PLC0415

    import_torch().set_num_threads(settings.threads or cpu_budget())
    model = RealModel(settings.model or "", settings.revision)
    log.info("Application startup complete.")
    return model


def _load(settings: Settings) -> Engine:
    from uocr_nb.local_server.engine import Engine  # noqa: PLC0415 - imports numpy

    threads = settings.threads or cpu_budget()
    if settings.low_memory:
        threads = min(threads, 2)
    mode = ", low memory" if settings.low_memory else ""
    log.info("Loading PP-OCRv6 and the layout model (%d threads%s)", threads, mode)
    began = time.perf_counter()
    engine = Engine(threads, low_memory=settings.low_memory)
    engine.warm_up()
    log.info("Models loaded in %.1f s (%s)", time.perf_counter() - began, engine.backend)
    log.info("Application startup complete.")
    return engine
