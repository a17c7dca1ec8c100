from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.hub.fixtures import hub, remote_hub

__all__ = ["hub", "remote_hub"]
