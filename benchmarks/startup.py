"""What importing the package costs beyond Python itself: median of several runs of each, in one go."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

RUNS = 15


def seconds(code: str) -> float:
    """Wall time of a fresh interpreter that runs `code`."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - began


def main() -> None:
    """Print the medians, and what is on top of the bare interpreter."""
    cases = {
        "python": "pass",
        "import uocr_nb": "import uocr_nb",
        "import uocr_nb.magics.extension": "import uocr_nb.magics.extension",
    }
    times: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(RUNS):
        for name, code in cases.items():
            times[name].append(seconds(code))
    bare = statistics.median(times["python"])
    for name, measured in times.items():
        middle = statistics.median(measured)
        print(f"{name:<32} {1000 * middle:6.0f} ms   {1000 * (middle - bare):+6.0f} ms")


if __name__ == "__main__":
    main()
