"""Host ``docker``: an engine in a container on this machine, reachable from this machine alone."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from uocr_nb.errors import EndpointError, UocrError
from uocr_nb.serving.engines import with_setup
from uocr_nb.serving.engines.diagnosis import DOCKER, diagnose
from uocr_nb.serving.hosts.child import engine_environment
from uocr_nb.serving.hosts.program import ProgramHost, find_program, look
from uocr_nb.support.net import LOOPBACK, Secret, is_loopback

if TYPE_CHECKING:
    import subprocess

    from uocr_nb.serving.endpoint import Endpoint
    from uocr_nb.serving.engines import Variant
    from uocr_nb.serving.plan import Say

_STOP_SECONDS = 2
"""Seconds that an engine gets before docker ends it by force."""

_CACHE = "uocr-models"
"""Name of the volume that keeps the model from one container to the next."""

_MOUNT = "/models"


class DockerHost(ProgramHost):
    """Runs the variant's image by ``docker run --rm``, its port published on the loopback address only."""

    where = " in a container on this machine"

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self._program_path = ""

    def line(self) -> list[str]:
        """Write the command that would be run, as it can be shown."""
        return self.run_command("docker", self._endpoint.plan.port or self._variant.port)

    @property
    def _variant(self) -> Variant:
        return self._endpoint.profile.variant(self._endpoint.plan.variant)

    # ------------------------------------------------------------------ before the start
    def _check(self) -> None:
        self._program_path = self._find_program()
        address = os.environ.get("DOCKER_HOST", "")
        if address.startswith(("tcp:", "ssh:")) and not is_loopback(address):
            raise EndpointError(
                "Docker runs on another machine.",
                "DOCKER_HOST leads there, and the container's port would be open on that machine only.",
                "Start Jupyter on that machine, or unset DOCKER_HOST.",
            )
        done = self._docker("version", "--format", "{{.Server.Version}}")
        if done is None or done.returncode:
            said = "" if done is None else done.stderr + done.stdout
            raise self._told_by(said) or EndpointError(
                "Docker does not answer.", " ".join(said.split())[:300] or "It took too long.", "docker version"
            )
        self._check_model()
        self._check_gpu()
        self._choose_port()

    def _find_program(self) -> str:
        found = find_program("docker")
        if found is None:
            name = self._endpoint.profile.name
            raise EndpointError(
                "docker is not installed here.",
                "There is no program docker on this kernel's PATH.",
                f"Install Docker and NVIDIA's container toolkit.\n%uocr_serve {name} --on hf   needs neither",
            )
        return found

    def _docker(self, *words: str) -> subprocess.CompletedProcess[str] | None:
        """Ask docker something; None when it does not answer in time."""
        return look([self._program_path, *words])

    # ------------------------------------------------------------------ starting
    def _announce(self, say: Say) -> None:
        image = self._endpoint.plan.image
        say("starting", f"{self._endpoint.engine} in a container on this machine, free   {image}")
        self._say_keyless(say)

    @property
    def container(self) -> str:
        """Name of the container."""
        return f"uocr-{self._endpoint.engine}-{self._endpoint.id}"

    def run_command(self, docker: str, port: int) -> list[str]:
        """Write the ``docker run`` command, the engine's inside it, without the values of variables."""
        endpoint, plan, variant = self._endpoint, self._endpoint.plan, self._variant
        inside = with_setup(variant, self._command(variant.port, "0.0.0.0"))  # noqa: S104 - in the container
        variables = [name for name, _ in plan.env]
        variables += [endpoint.profile.own_key] if endpoint.profile.own_key else []
        folders = [f"{_CACHE}:/root/.cache/huggingface"]
        folders += [f"{Path(path).expanduser().resolve()}:{self._path(path)}:ro" for path in self._mounted()]
        return [
            *(docker, "run", "--rm", "--init", "--name", self.container, "--label", "uocr_nb=1"),
            *("--gpus", "all", "--shm-size", "8g", "--publish", f"{LOOPBACK}:{port}:{variant.port}"),
            *(word for folder in folders for word in ("--volume", folder)),
            # The name alone: docker takes the value from its own environment, so it is in no command line.
            *(word for name in variables for word in ("--env", name)),
            *("--entrypoint", inside[0], plan.image or variant.image or "", *inside[1:]),
        ]

    def _mounted(self) -> list[str]:
        plan = self._endpoint.plan
        return [path for path in (plan.model, plan.mmproj) if path and Path(path).expanduser().exists()]

    def _path(self, model: str | None) -> str | None:
        """Where a model's file or folder stands in the container."""
        if model is None or model not in self._mounted():
            return model
        return f"{_MOUNT}/{Path(model).expanduser().resolve().name}"

    def _spawn(self, key: Secret) -> None:
        plan, profile = self._endpoint.plan, self._endpoint.profile
        environment = engine_environment(os.environ, plan.env)
        if profile.own_key:
            environment[profile.own_key] = key.reveal()
        self._run(self.run_command(self._program_path, self._port), environment, key)

    # ------------------------------------------------------------------ how it ended
    def _diagnose(self) -> UocrError | None:
        return self._told_by("\n".join(self._endpoint.logs[-20:])) or super()._diagnose()

    def _told_by(self, text: str) -> EndpointError | None:
        """Find what docker itself tells of."""
        for line in text.splitlines():
            advice = diagnose(line, self._endpoint.engine, DOCKER)
            if advice is not None:
                return EndpointError(advice.what, advice.why, advice.next)
        return None

    def _login_advice(self) -> str:
        name = self._endpoint.profile.name
        return f'uocr_nb.serve("{name}", on="docker", env={{"HF_TOKEN": os.environ["HF_TOKEN"]}})'

    # ------------------------------------------------------------------ stopping
    def _cleanup(self) -> tuple[str, ...]:
        # The watchdog has not this kernel's environment.
        where = [f"--host={os.environ['DOCKER_HOST']}"] if os.environ.get("DOCKER_HOST") else []
        where += [f"--context={os.environ['DOCKER_CONTEXT']}"] if os.environ.get("DOCKER_CONTEXT") else []
        return (self._program_path, *where, "rm", "--force", self.container)

    def _clean_up(self) -> bool:
        done = self._docker(*self._cleanup()[1:])
        return done is not None and self._told_by(done.stderr) is None

    def ask_to_stop(self) -> None:
        """Have docker stop the container, and end a download that has not come to a container yet."""
        if self._program is None or self._ended.is_set():
            return
        stop = [*self._cleanup()[1:-3], "stop", "-t", str(_STOP_SECONDS), self.container]
        threading.Thread(target=self._docker, args=stop, daemon=True).start()
        super().ask_to_stop()

    def finish_stop(self, within: float) -> None:
        """Wait for the container's end, then remove it by force."""
        if self._program is not None and not self._ended.wait(within):
            self._clean_up()
            super().finish_stop(0.5)
