"""Host ``process`` for engines that the user has installed: ``vllm serve``, SGLang's server, ``llama-server``."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from uocr_nb.errors import EndpointError, OptionError, UocrError
from uocr_nb.serving import engines, probe
from uocr_nb.serving.engines.launch import is_path
from uocr_nb.serving.hosts.child import ChildHost, engine_environment
from uocr_nb.support.net import LOOPBACK, Secret, free_port, port_is_free
from uocr_nb.support.platform import own_session, root_folder

if TYPE_CHECKING:
    from uocr_nb.serving.endpoint import Endpoint
    from uocr_nb.serving.plan import Say

_LOOK_SECONDS = 20.0
"""Seconds for a program that only tells what is there."""

_INSTALL = {
    "vllm": 'pip install "vllm>=0.25"',
    "sglang": 'pip install "sglang>=0.5.15"',
    "llamacpp": "Install llama.cpp (b8525 or newer) so that llama-server is on PATH.",
}


class ProgramHost(ChildHost):
    """Starts the engine's own program on a loopback port and reads its log.

    Where the engine takes a key from its environment it gets one of its own; a key in a command line could be read
    by every user of the machine, so an engine that knows no other way (SGLang) gets none.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self._port = 0

    def line(self) -> list[str]:
        """Write the command that would be run, as it can be shown."""
        profile, plan = self._endpoint.profile, self._endpoint.plan
        return self._command(plan.port or profile.variant(plan.variant).port)

    # ------------------------------------------------------------------ before the start
    def _check(self) -> None:
        self._check_model()
        self._find_program()
        if self._endpoint.profile.needs_gpu:
            self._check_gpu()
        self._choose_port()

    def _choose_port(self) -> None:
        """Take the port asked for, else the engine's usual one where it is free, else any."""
        plan = self._endpoint.plan
        self._check_port(plan.port)
        usual = self._endpoint.profile.variant(plan.variant).port
        self._port = plan.port or (usual if port_is_free(usual) else free_port())

    def _check_model(self) -> None:
        profile, plan = self._endpoint.profile, self._endpoint.plan
        for option, path in (("--model", plan.model), ("--mmproj", plan.mmproj)):
            if path and is_path(path) and not Path(path).expanduser().exists():
                raise EndpointError(
                    f"There is no file {path}.",
                    f"{option} names a path that does not exist on this machine.",
                    "Check the path; a repository on the Hub is named OWNER/NAME.",
                )
        if profile.name == "llamacpp" and plan.model and is_path(plan.model) and not plan.mmproj:
            raise OptionError(
                "llama-server cannot see pages without the projector.",
                "A GGUF file holds the language half of the model; the projector's file holds the eyes.",
                f"%uocr_serve llamacpp --model {plan.model} --mmproj mmproj-FILE.gguf",
            )

    def _find_program(self) -> str:
        """Find the engine's program beside this Python or on PATH."""
        profile = self._endpoint.profile
        found = find_python("sglang") if profile.name == "sglang" else find_program(self._command(0)[0])
        if found is None:
            program = f"The program {self._command(0)[0]}" if profile.name != "sglang" else "The package sglang"
            raise EndpointError(
                f"{profile.name} is not installed here.",
                f"{program} is not to be found by this kernel's Python or on its PATH.",
                f"{_INSTALL.get(profile.name, 'Install it')}\n{self._elsewhere()}",
            )
        return found

    def _check_gpu(self) -> None:
        """Refuse to start without a GPU; the engines take minutes to find out."""
        name = self._endpoint.profile.name
        looker = shutil.which("nvidia-smi") or shutil.which("rocm-smi") or shutil.which("amd-smi")
        if looker is None:
            why = "There is no nvidia-smi, so there is no driver for an NVIDIA GPU."
        elif not looker.endswith("nvidia-smi"):
            return  # an AMD GPU: the engine knows best
        else:
            done = look([looker, "-L"])
            if done is not None and done.returncode == 0 and "GPU" in done.stdout:
                return
            said = " ".join((done.stdout + done.stderr).split())[:200] if done else "it did not answer in time"
            why = f"nvidia-smi sees none: {said or 'it says nothing'}."
        raise EndpointError(f"{name} needs a GPU, and this machine has none.", why, self._elsewhere())

    def _elsewhere(self) -> str:
        profile = self._endpoint.profile
        if "hf" in profile.hosts:
            return f"%uocr_serve {profile.name} --on hf   runs it on Hugging Face Jobs"
        return "%uocr_serve cpu   is the embedded engine, free"

    # ------------------------------------------------------------------ starting
    def _command(self, port: int, host: str = LOOPBACK) -> list[str]:
        profile, plan = self._endpoint.profile, self._endpoint.plan
        return profile.command(
            profile.variant(plan.variant),
            port=port,
            host=host,
            model=self._path(plan.model),
            revision=plan.revision,
            tp=plan.tp,
            args=plan.args,
            drop_args=plan.drop_args,
            mmproj=self._path(plan.mmproj),
        )

    def _path(self, model: str | None) -> str | None:
        """Write a path as the engine needs it, which stands in another folder."""
        if model is None or not Path(model).expanduser().exists():
            return model
        return str(Path(model).expanduser().resolve())

    def _key(self, key: Secret) -> Secret:
        return key if self._endpoint.profile.own_key else Secret("")

    def _announce(self, say: Say) -> None:
        super()._announce(say)
        self._say_keyless(say)

    def _say_keyless(self, say: Say) -> None:
        if not self._endpoint.profile.own_key:
            say("note", f"{self._endpoint.engine} gets no key: other users of this machine could ask it too.")

    def _spawn(self, key: Secret) -> None:
        plan, profile = self._endpoint.plan, self._endpoint.profile
        environment = engine_environment(os.environ, plan.env)
        if profile.own_key:
            environment[profile.own_key] = key.reveal()
        self._run([self._find_program(), *self._command(self._port)[1:]], environment, key)

    def _run(self, command: list[str], environment: dict[str, str], key: Secret) -> None:
        self._endpoint.connect(f"http://{LOOPBACK}:{self._port}/v1", self._key(key))
        program = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            bufsize=0,
            cwd=root_folder(),
            env=environment,
            **own_session(),
        )
        self._follow(program, {"stdout": self._read_log})

    async def _until_ready(self, key: Secret, say: Say) -> None:  # noqa: ARG002 - it has been connected
        endpoint = self._endpoint
        say("loading", f"it will listen at {endpoint.base_url}; the model is loaded first")
        await self._or_its_end(probe.wait_healthy(endpoint))
        models = engines.served(await self._or_its_end(probe.read_models(endpoint)))
        endpoint.model = str(models[0]["id"]) if models and models[0].get("id") else endpoint.model
        say("checking", "reading a test page")
        before = endpoint.profile
        for note in probe.doubts(await self._or_its_end(probe.read_one_word(endpoint))):
            say("note", note)
        if endpoint.profile != before:
            say("note", probe.UNGUARDED)

    # ------------------------------------------------------------------ how it ended
    def _diagnose(self) -> UocrError | None:
        advice = self._endpoint.profile.explain(self._endpoint.logs)
        if advice is None:
            return None
        # That option is for Jobs.
        then = self._login_advice() if "--forward-token" in advice.next else advice.next
        return EndpointError(advice.what, advice.why, then)

    def _login_advice(self) -> str:
        return "hf auth login   on this machine, then start it again"


def find_program(name: str) -> str | None:
    """Find a program beside this Python (its environment may not be on PATH in a kernel) or on PATH."""
    return shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)


def find_python(module: str) -> str | None:
    """Find a Python that has a module: this one, else the one on PATH."""
    code = "import sys, importlib.util as u; sys.exit(u.find_spec(sys.argv[1]) is None)"
    for python in dict.fromkeys([sys.executable, shutil.which("python"), shutil.which("python3")]):
        done = look([python, "-c", code, module]) if python else None
        if done is not None and done.returncode == 0:
            return python
    return None


def look(command: list[str]) -> subprocess.CompletedProcess[str] | None:
    """Run a program that only tells what is there; None when it cannot be run or does not answer in time."""
    try:
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_LOOK_SECONDS,
            check=False,
            cwd=root_folder(),
            stdin=subprocess.DEVNULL,
            **own_session(),
        )
    except (OSError, subprocess.SubprocessError):
        return None
