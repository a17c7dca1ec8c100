"""``%uocr_serve``, ``%uocr_status``, ``%uocr_logs`` and ``%uocr_stop``."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from IPython.display import display

from uocr_nb.config import settings
from uocr_nb.errors import EndpointError, OptionError, UocrError
from uocr_nb.magics.offer import Offer
from uocr_nb.magics.options import Parser, check_variable, serve_parser
from uocr_nb.magics.words import split, value_of
from uocr_nb.serving import start
from uocr_nb.views import messages, serve_panel

if TYPE_CHECKING:
    from uocr_nb.serving.endpoint import Endpoint
    from uocr_nb.serving.start import StartEvent

__all__ = ["logs", "serve", "status", "stop"]

_PLACES = {"process": "this machine", "docker": "this machine, in Docker", "url": "its own machine"}


@dataclass(frozen=True)
class ServeLine:
    """What one ``%uocr_serve`` line asks for."""

    target: str | None
    options: dict[str, Any]
    detach: bool
    dry_run: bool
    panel: bool
    output: str | None


def serve(shell: Any, line: str) -> None:
    """Start an endpoint, with its stages and its log in the cell."""
    asked = read_line(line, shell.user_ns)
    if asked.dry_run:
        display(messages.info(start.describe_plan(asked.target, **asked.options)))
        return
    if asked.panel:
        serve_panel.panel()
        return
    bare = asked.target is None and settings.engine == "cpu" and not os.environ.get("UOCR_ENDPOINT")
    offer = Offer() if bare and start.current_or_none() is None else None
    if asked.detach:
        begun = start.detach(asked.target, **asked.options)
        if asked.output:
            shell.user_ns[asked.output] = begun
        display(messages.info("The start goes on in the background.", "`%uocr_status` tells when it is ready."))
        return
    view = serve_panel.ServePanel() if hasattr(shell, "kernel") else StartLines()
    try:
        endpoint = start.serve(asked.target, on_event=view.take, **asked.options)
    except KeyboardInterrupt:
        view.failed(None)
        raise EndpointError(
            "You interrupted the start.", "What was started is stopped, and nothing is running.", "%uocr_serve"
        ) from None
    except UocrError as error:
        view.failed(error)
        raise
    view.ready(endpoint)
    if offer is not None:
        display(offer.message())
    if asked.output:
        shell.user_ns[asked.output] = endpoint


def read_line(line: str, namespace: dict[str, Any]) -> ServeLine:
    """The line as one typed request.

    Raises
    ------
    OptionError
        When an option cannot be used.
    """
    arguments = serve_parser().read([str(value_of(word, namespace)) for word in split(line)])
    check_variable(arguments.output, "ep")
    headers = dict(_header(text) for text in arguments.header)
    return ServeLine(
        target=arguments.engine_or_url,
        options={
            "name": arguments.name,
            "another": arguments.another,
            "engine": arguments.engine,
            "api_key_env": arguments.api_key_env,
            "headers": headers or None,
            "low_memory": arguments.low_memory,
            "env": dict(_pair(text) for text in arguments.env) or None,
            "args": tuple(arguments.arg),
            "drop_args": tuple(arguments.drop_arg),
            **{name: getattr(arguments, name) for name in _PASSED_ON},
            **_cap(arguments.max_cost),
        },
        detach=arguments.detach,
        dry_run=arguments.dry_run,
        panel=arguments.panel,
        output=arguments.output,
    )


_PASSED_ON = (
    "on", "flavor", "timeout", "idle", "namespace", "image", "revision", "port", "model", "mmproj", "tp",
    "forward_token", "wait", "start_limit", "keep", "reuse",
)  # fmt: skip
"""Options that `serve` takes under the same names."""


def _cap(text: str | None) -> dict[str, float | None]:
    if text is None:
        return {}
    if text.lower() == "none":
        return {"max_cost": None}
    try:
        cap = float(text.lstrip("$"))
    except ValueError:
        cap = -1.0
    if not 0 <= cap < 1e6:
        raise OptionError(
            f"--max-cost {text} is no amount.", "It is in US dollars, or none for no cap.", "--max-cost 5"
        )
    return {"max_cost": cap}


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise OptionError(f"--env {text} cannot be used.", "It is a name and its value.", "--env NAME=VALUE")
    return name, value


def _header(text: str) -> tuple[str, str]:
    name, equals, variable = text.partition("=")
    if not (name and equals and variable):
        raise OptionError(
            f"--header {text} cannot be used.",
            "It names a header and the variable that holds its value, which so stays out of the notebook.",
            "--header X-Api-Key=MY_KEY",
        )
    return name.strip(), variable.strip()


class StartLines:
    """The output of a start on a terminal: a line a stage, none drawn again."""

    def __init__(self) -> None:
        self._stage: messages.Stage | None = None
        self._began = 0.0
        self._seconds = 0.0
        self._again = False

    def take(self, event: StartEvent) -> None:
        """Take one event; called in the thread of the cell."""
        self._seconds = event.seconds
        if event.stage in ("plan", "note"):
            print(event.text)
        elif event.stage == "already":
            self._again = True
        elif event.stage not in ("log", "ready"):
            if self._stage is not None and self._stage.name == event.stage:
                self._stage = replace(self._stage, note=event.text)
                return
            self._close_stage("done")
            self._stage, self._began = messages.Stage(event.stage, None, "going", event.text), event.seconds

    def ready(self, endpoint: Endpoint) -> None:
        """Print the ready line."""
        self._close_stage("done")
        place = _PLACES.get(endpoint.host) or endpoint.plan.flavor or endpoint.host
        line = messages.ready_line(
            self._seconds, endpoint.engine, place, endpoint.base_url, endpoint.spent, again=self._again
        )
        print(line.plain())

    def failed(self, _error: UocrError | None) -> None:
        """Print how far it came; the error itself follows as the cell's."""
        self._close_stage("failed")

    def _close_stage(self, state: str) -> None:
        if self._stage is not None:
            print(messages.stage_text(replace(self._stage, state=state, seconds=self._seconds - self._began)))
            self._stage = None


def status(line: str) -> None:
    """Show each endpoint of this kernel."""
    Parser("%uocr_status", "Show the endpoints of this kernel: state, engine, address, money.").read(split(line))
    found = [endpoint for endpoint in start.endpoints() if endpoint.state != "stopped"]
    if not found:
        display(messages.info("No endpoint is running.", "Next: `%uocr_serve`"))
        return
    current = start.current_or_none()
    display(messages.Messages(tuple(_line_of(endpoint, current=endpoint is current) for endpoint in found)))


def _line_of(endpoint: Endpoint, *, current: bool) -> messages.Message:
    kind = {"ready": "ok", "failed": "warning", "stopped": "stopped"}.get(endpoint.state, "info")
    more = [endpoint.describe().removeprefix(endpoint.state).strip().replace("   ", "  ")]
    if current:
        more.append("current")
    if endpoint.failure is not None:
        more.append(endpoint.failure.what)
    return messages.Message(kind, f"{endpoint.name}  {endpoint.state}", more=tuple(more))


def logs(line: str) -> None:
    """Print the last lines of an endpoint's log."""
    parser = Parser("%uocr_logs", "Show the last lines of an endpoint's log.", ["%uocr_logs -n 200"])
    parser.add_argument("name", nargs="?", metavar="NAME", help="which endpoint (default: the current one)")
    parser.add_argument("-n", type=int, default=50, metavar="LINES", help="how many lines (default 50)")
    arguments = parser.read(split(line))
    found = start.endpoints()
    if not found:
        raise EndpointError("There is no log to show.", "No endpoint was started in this kernel.", "%uocr_serve")
    endpoint = start.find(arguments.name) if arguments.name else (start.current_or_none() or found[-1])
    lines = endpoint.logs[-max(arguments.n, 1) :]
    print("\n".join(lines) if lines else f"{endpoint.name} has written no line yet.")


def stop(line: str) -> None:
    """Stop the current endpoint, or all of this kernel."""
    parser = Parser("%uocr_stop", "Stop the current endpoint.", ["%uocr_stop", "%uocr_stop --all"])
    parser.add_argument("name", nargs="?", metavar="NAME", help="which endpoint (default: the current one)")
    parser.add_argument("--all", action="store_true", help="stop all endpoints of this kernel")
    arguments = parser.read(split(line))
    running = [endpoint for endpoint in start.endpoints() if endpoint.state in ("queued", "starting", "ready")]
    if arguments.name:
        chosen = [start.find(arguments.name)]
    elif arguments.all:
        chosen = running
    else:
        current = start.current_or_none()
        chosen = [current] if current in running else running[-1:]
    if not chosen:
        display(messages.info("Nothing is running."))
        return
    for endpoint in chosen:
        endpoint.stop()
        serve_panel.settle(endpoint)
    left = sum(endpoint.state in ("ready", "stopping") for endpoint in start.endpoints())
    end = "Nothing is running." if not left else f"{left} still running: %uocr_status"
    display(messages.Messages(tuple(_receipt(endpoint, end) for endpoint in chosen)))


def _receipt(endpoint: Endpoint, end: str) -> messages.Message:
    if endpoint.host == "url":
        return messages.Message("stopped", f"{endpoint.name} is let go; its server runs on.", end)
    if endpoint.state == "stopping":
        return messages.warning(
            f"{endpoint.name} is not stopped yet: the Hub has not accepted the cancel.",
            "It is asked until it does, also after this kernel. Look again: `%uocr_status`",
        )
    return messages.stopped_receipt(endpoint.ran, endpoint.pages_read, endpoint.spent, running=end)
