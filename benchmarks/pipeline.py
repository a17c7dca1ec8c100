"""Ours and the peer's way of reading a PDF through the same simulated engine; prints the ratios.

    python benchmarks/pipeline.py                        all of it, about 12 minutes on 2 cores
    python benchmarks/pipeline.py --only 60,uplink       parts: 60, 240, uplink, memory, cpu
    python benchmarks/pipeline.py --quick                24 pages with short answers, half a minute

Time counts from the call. Both clients have a fresh process, and the engine gives both the same answers. A line says
what was aimed at; the last column says whether it was reached.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from corpus import make
from measure import Engine, client
from simulated_engine import Timing, ideal

UPLINK = 20.0
"""Mbit/s of the slow line."""

QUICK = ("--median", "150", "--prefill-ms", "20")
BRISK = ("--median", "120", "--step-ms", "1", "--slot-ms", "0.02", "--prefill-ms", "5")
"""An engine that a thousand pages pass through in a minute, where memory is what is looked at."""

GPU = Timing()

Result = dict[str, Any]


class Table:
    """Lines of what was aimed at and seen."""

    def __init__(self) -> None:
        self.lines: list[Result] = []

    def add(self, what: str, seen: float, aim: float, *, least: bool, unit: str = "") -> None:
        """Print a line; `least` says that the aim is the least that is wanted, else the most."""
        good = seen >= aim if least else seen <= aim
        self.lines.append({"what": what, "seen": round(seen, 3), "aim": aim, "good": good})
        sign = ">=" if least else "<="
        print(f"  {what:<58}{seen:>9.2f}{unit:<4} {sign} {aim:<6g} {'yes' if good else 'NO'}", flush=True)


def run(engine: Engine, pdf: Path, *, at_once: int | None = None, uplink: float = 0.0) -> Result:
    """Have the PDF read by us, or (`at_once`) by the peer."""
    engine.call("/reset", {"uplink": uplink})
    arguments = [str(pdf), "--url", engine.url]
    found = (
        client("ours.py", *arguments) if at_once is None else client("peer.py", *arguments, "--at-once", str(at_once))
    )
    stats = engine.stats()
    found["first_request"] = stats["first_request"] - found["began"]
    found["full"] = stats["last_admitted"] - found["began"]
    found |= {
        name: stats[name] for name in ("requests", "bytes_received", "connections", "most_waiting", "most_late_ms")
    }
    who = "ours" if at_once is None else f"peer, {at_once} at once"
    print(
        f"  {who:<18}{found['seconds']:>7.1f} s  {found['pages'] / found['seconds']:>5.2f} pages/s  "
        f"first request {found['first_request']:>5.2f} s  first page {found['first_page']:>5.2f} s  "
        f"{found['bytes_received'] / 1e6:>6.1f} MB sent  {found['memory_peak']:>4.0f} MiB  "
        f"{found['left']} files left  {found['not_ok']} not ok",
        flush=True,
    )
    return found


def compare(
    table: Table,
    pdf: Path,
    pages: int,
    aims: dict[str, float],
    *,
    timing: Timing = GPU,
    flags: tuple[str, ...] = (),
) -> None:
    """Ours, the peer's default, and the peer with all slots."""
    print(f"\n{pages} pages")
    with Engine(*flags) as engine:
        ours = run(engine, pdf)
        default = run(engine, pdf, at_once=8)
        full = run(engine, pdf, at_once=timing.slots)
    slots_full, whole = ideal(timing, pages)
    print(f"  the engine's own  {whole:>7.1f} s  (its slots are full for {slots_full:.1f} s)")
    table.add("pages/s, ours / peer's default", default["seconds"] / ours["seconds"], aims["default"], least=True)
    table.add("pages/s, ours / peer with all slots", full["seconds"] / ours["seconds"], aims["full"], least=True)
    table.add("first page, peer / ours", default["first_page"] / ours["first_page"], aims["first"], least=True)
    table.add("first request", ours["first_request"], 1.0, least=False, unit=" s")
    table.add("share of the engine's limit while slots can be filled", slots_full / ours["full"], 0.95, least=True)
    table.add("bytes sent, ours / peer", ours["bytes_received"] / default["bytes_received"], 0.6, least=False)
    table.add("peak memory, ours / peer", ours["memory_peak"] / default["memory_peak"], 0.5, least=False)
    table.add("files left behind", ours["left"], 0, least=False)
    table.add("pages not ok", ours["not_ok"], 0, least=False)


def slow_line(table: Table, pdf: Path, pages: int) -> None:
    """The same through a narrow uplink."""
    print(f"\n{pages} pages, {UPLINK:g} Mbit/s uplink")
    with Engine() as engine:
        ours = run(engine, pdf, uplink=UPLINK)
        default = run(engine, pdf, at_once=8, uplink=UPLINK)
    table.add("pages/s, ours / peer's default", default["seconds"] / ours["seconds"], 1.4, least=True)


def memory(table: Table, pdf: Path, pages: int) -> None:
    """A long document: memory must not grow with it."""
    print(f"\n{pages} pages, a quick engine")
    with Engine(*BRISK) as engine:
        ours = run(engine, pdf)
    early, *_, late = ours["memory_at"].values()
    print(f"  MiB at the call {ours['memory_start']:.0f}, then {ours['memory_at']}, peak {ours['memory_peak']:.0f}")
    table.add(
        "most memory above that at the call", ours["memory_peak"] - ours["memory_start"], 300, least=False, unit=" MiB"
    )
    table.add("memory at the last page / at page 100", late / early, 1.15, least=False)
    table.add("files left behind", ours["left"], 0, least=False)


def processor(table: Table) -> None:
    """Processor time a token."""
    print("\nprocessor time of the client, tokens one by one as the engine makes them, small pictures")
    with Engine() as engine:
        found = client("ours.py", "--cpu", "48", "--url", engine.url)
    table.add("transport, microseconds a token", found["transport_us"], 12, least=False)
    table.add("with grammar, verdict and answer cache", found["whole_us"], 16, least=False)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="60,240,uplink,memory,cpu")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path, help="write the lines there as well")
    options = parser.parse_args()
    parts = ["quick"] if options.quick else options.only.split(",")
    table = Table()
    print(f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as name:

        def pdf(pages: int) -> Path:
            file = Path(name, f"{pages}.pdf")
            return file if file.exists() else make(file, pages)

        if "quick" in parts:
            aims = {"default": 1.0, "full": 1.0, "first": 1.0}
            compare(table, pdf(24), 24, aims, timing=Timing(median=150, prefill_ms=20), flags=QUICK)
        if "60" in parts:
            compare(table, pdf(60), 60, {"default": 1.9, "full": 1.3, "first": 2.5})
        if "240" in parts:
            compare(table, pdf(240), 240, {"default": 2.0, "full": 1.4, "first": 8})
        if "uplink" in parts:
            slow_line(table, pdf(60), 60)
        if "memory" in parts:
            memory(table, pdf(1000), 1000)
        if "cpu" in parts:
            processor(table)
    print(f"\nload at the end {os.getloadavg()[0]:.1f}; {sum(line['good'] for line in table.lines)} of "
          f"{len(table.lines)} aims reached")  # fmt: skip
    if options.json:
        options.json.write_text(json.dumps(table.lines, indent=1))


if __name__ == "__main__":
    main()
