"""The image of a Job: a folder of programs that stands first on its PATH, with the engine replaced."""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import dataclass, field
from pathlib import Path

from tests.hub import faults

ROOT = Path(__file__).resolve().parents[2]

_ENGINE = "PYTHONPATH={root} UOCR_HUB_ENGINE={settings} exec {python} -S -s -u -m tests.hub.engine {engine} "
_VLLM = _ENGINE + '"$@"\n'
# Only an engine that the interpreter itself is asked for: `python -c ... -- python -m sglang...` is a supervisor.
_PYTHON = """previous=
for argument in "$@"; do
  if [ "$previous" = -m ]; then
    case "$argument" in
      sglang.launch_server) {sglang} "$@" ;;
      vllm.entrypoints.openai.api_server) {vllm} "$@" ;;
    esac
    break
  fi
  case "$argument" in -c|-) break ;; -*) previous="$argument" ;; *) break ;; esac
done
exec {python} "$@"
"""
_PIP = """[ {status} -eq 0 ] || {{ echo "ERROR: Could not install packages due to an OSError" >&2; exit {status}; }}
for last in "$@"; do :; done
echo "Successfully installed ${{last##*/}} (stand-in: nothing was installed)"
"""


@dataclass(frozen=True)
class Programs:
    """How the programs of a Job are played.

    Parameters
    ----------
    python : str
        The interpreter of a Job. The one without the project's packages: what runs in a Job is stdlib only.
    extra : dict[str, str]
        More programs, name to shell text; they replace the ones made here.
    engine : faults.Engine
        How an engine behaves when no fault says otherwise.
    """

    python: str = getattr(sys, "_base_executable", "") or sys.executable
    extra: dict[str, str] = field(default_factory=dict)
    engine: faults.Engine = field(default_factory=faults.Engine)

    def install(self, folder: Path, engine: faults.Engine, ports: dict[int, int]) -> Path:
        """Write the programs of one Job and tell where."""
        settings = folder / "engine.json"
        facts = {**faults.to_json(engine), "ports": {str(port): real for port, real in ports.items()}}
        settings.write_text(json.dumps({**facts, "python": sys.executable, "root": str(ROOT)}))
        names = {"root": ROOT, "settings": settings, "python": self.python}
        quoted = {name: shlex.quote(str(value)) for name, value in names.items()}
        python = _PYTHON.format(
            sglang=_ENGINE.format(engine="sglang", **quoted), vllm=_ENGINE.format(engine="vllm", **quoted), **quoted
        )
        pip = _PIP.format(status=int(engine.pip_exit))
        texts = {
            "vllm": _VLLM.format(engine="vllm", **quoted),
            "python": python,
            "python3": python,
            "pip": pip,
            "pip3": pip,
        }
        programs = folder / "bin"
        programs.mkdir()
        for name, text in {**texts, **self.extra}.items():
            path = programs / name
            path.write_text(f"#!/bin/sh\n{text}")
            path.chmod(0o755)
        for name in (".profile", ".bash_profile"):
            # A login shell (`bash -lc`) sets PATH anew before it reads this file of its HOME.
            (folder / name).write_text(f"export PATH={shlex.quote(str(programs))}:$PATH\n")
        return programs
