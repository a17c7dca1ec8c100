"""A live demonstration: ``python -m tests.hub`` prints what to export, and tells what is asked until Ctrl-C."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import threading
from typing import NoReturn

from tests.hub import faults
from tests.hub.server import Hub
from tests.hub.shims import Programs


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.hub", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="port of the API on 127.0.0.1 (0: a free one)")
    parser.add_argument(
        "--engine", choices=("fixed", "cpu"), default="fixed", help="who answers: a fixed page, the CPU engine"
    )
    parser.add_argument("--startup", type=float, default=None, help="seconds until an engine is ready")
    parser.add_argument("--scheduling", type=float, default=None, help="seconds a Job waits in the queue")
    parser.add_argument("--speed", type=float, default=1.0, help="how much faster a Job's timeout passes")
    parser.add_argument("--grace", type=float, default=1.0, help="seconds between SIGTERM and SIGKILL")
    parser.add_argument("--keepalive", type=float, default=30.0, help="seconds between keep-alives in a log stream")
    parser.add_argument("--mapped", action="store_true", help="never use a Job's declared port itself")
    parser.add_argument("--json", action="store_true", help="for programs: one JSON line, ends at end-of-file on stdin")
    return parser.parse_args()


def _stop(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def _show(hub: Hub) -> None:
    print(f"export HF_ENDPOINT={hub.endpoint}\nexport HF_TOKEN={hub.token}", flush=True)
    print("# fake token, loopback Hub: nothing leaves this machine; Ctrl-C ends it and every Job", flush=True)
    seen = 0
    while True:
        records = hub.records()
        for record in records[seen:]:
            print(f"{record.where:5} {record.method} {record.path} token {record.auth}", file=sys.stderr, flush=True)
        seen = len(records)
        threading.Event().wait(0.5)


def main() -> None:
    """Run a Hub until it is told to end."""
    options = _arguments()
    live = not options.json
    startup = options.startup if options.startup is not None else (4.0 if live else 0.1)
    scheduling = options.scheduling if options.scheduling is not None else (2.0 if live else 0.05)
    signal.signal(signal.SIGTERM, _stop)
    with Hub(
        port=options.port,
        scheduling=scheduling,
        speed=options.speed,
        grace=options.grace,
        keepalive=options.keepalive,
        mapped=options.mapped,
        programs=Programs(engine=faults.Engine(startup=startup, backend=options.engine)),
    ) as hub:
        try:
            if live:
                _show(hub)
            print(json.dumps({"endpoint": hub.endpoint, "token": hub.token}), flush=True)
            sys.stdin.read()
        except KeyboardInterrupt:
            pass


if __name__ == "__main__":
    main()
