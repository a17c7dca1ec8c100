"""``python -m uocr_nb.local_server``: the embedded engine as a child process.

Reads one JSON line on stdin (key, port, low_memory, threads), then keeps stdin open: its end is the order to exit.
Events go to stdout as JSON lines, the log to stderr.
"""

from __future__ import annotations

import json
import sys

from uocr_nb.local_server.run import FAILED, Settings, serve_child, serve_foreground

__all__ = ["main", "serve_foreground"]


def main() -> int:
    """Run until stdin ends; the exit status is 0, or 3 when the engine could not start."""
    try:
        settings = Settings.of(json.loads(sys.stdin.readline()))
    except (ValueError, TypeError, KeyError) as error:
        event = {
            "event": "failed",
            "what": "The engine got no settings.",
            "why": f"The first line on stdin is not the expected JSON ({type(error).__name__}).",
            "next": "Start it with %uocr_serve cpu, or by hand with: uocr serve cpu",
        }
        sys.stdout.write(json.dumps(event) + "\n")
        return FAILED
    return serve_child(settings)


if __name__ == "__main__":
    sys.exit(main())
