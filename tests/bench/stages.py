#!/usr/bin/env python3
"""How long does `pcae-run` take per stage when the stages themselves do next to nothing?

Runs independent stages, each of which starts a shell that writes one line, from an empty cache:
what is left is the runner's own time, the start of processes and the durable writes. With
`--beside`, another build runs the same pipeline by turns.

    python3 tests/bench/stages.py --program PATH [--beside PATH] [--stages 1000] [--rounds 3]

Prints a table and one line of JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from plan import Measured, by_axes


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measures a run of trivial stages.")
    parser.add_argument("--program", required=True, help="the pcae-run to measure")
    parser.add_argument("--beside", help="another one, run by turns with the first")
    parser.add_argument("--stages", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    if given.stages < 1 or given.rounds < 1:
        parser.error("--stages and --rounds start from 1")
    return given


def main() -> None:
    given = arguments()
    programs = []
    for name in filter(None, [given.program, given.beside]):
        found = shutil.which(name)
        if found is None:
            sys.exit(f"no program at `{name}`")
        programs.append(str(Path(found).absolute()))

    measured = [Measured() for _ in programs]
    with tempfile.TemporaryDirectory(prefix="stages-") as name:
        for turn in range(given.rounds):
            for number, program in enumerate(programs):
                folder = Path(name) / f"{turn}-{number}"
                folder.mkdir()
                (folder / "pipeline.ron").write_text(by_axes(given.stages))
                measured[number].start([program, "pipeline.ron"], folder)
                shutil.rmtree(folder)

    print(f"{given.stages} trivial stages, median of {given.rounds}, {os.cpu_count()} cores")
    print(f"{'ms per stage':>12}{'least':>8}{'peak MB':>9}  program")
    for program, result in zip(programs, measured):
        per_stage = [1e3 * second / given.stages for second in result.seconds]
        print(f"{statistics.median(per_stage):>12.1f}{min(per_stage):>8.1f}"
              f"{max(result.megabytes):>9.0f}  {program}")
    print(json.dumps({
        "benchmark": "stages",
        "stages": given.stages,
        "seconds": {
            program: [round(second, 3) for second in result.seconds]
            for program, result in zip(programs, measured)
        },
    }))


if __name__ == "__main__":
    main()
