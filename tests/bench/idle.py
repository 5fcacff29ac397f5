#!/usr/bin/env python3
"""How long does a run take that has nothing to do, on a pipeline as large as a paper?

Runs `pipelines/paper.ron` at the scale `smoke` once, which takes minutes, and then starts it again and
again. A timed start counts only if the program says that there was nothing to do.

    python3 tests/bench/idle.py --program PATH [--other PATH ..] [--starts 60]

`--other` names further programs to be started by turns on the same cache, such as an earlier build. Prints
median, quartile and least time of each in milliseconds.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PIPELINE = Path(__file__).resolve().parents[2] / "pipelines" / "paper.ron"
WARM_UP = 3


def start(program: Path, folder: Path) -> tuple[float, str]:
    """Starts a program on the pipeline; returns the seconds and the last line that it prints."""
    command = [str(program), str(PIPELINE), "--scale", "smoke", "--cache", "cache", "--reports", "reports"]
    began = time.perf_counter()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    seconds = time.perf_counter() - began
    return seconds, done.stderr.strip().splitlines()[-1] if done.stderr.strip() else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--other", type=Path, nargs="*", default=[])
    parser.add_argument("--starts", type=int, default=60)
    args = parser.parse_args()
    programs = [path.resolve() for path in [args.program, *args.other]]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        seconds, line = start(programs[0], folder)
        print(f"first run: {seconds:.0f} s: {line}")
        times: dict[Path, list[float]] = {program: [] for program in programs}
        for turn in range(WARM_UP + args.starts):
            for program in programs:
                seconds, line = start(program, folder)
                if not line.startswith("nothing to do"):
                    print(f"{program} had something to do: {line}")
                    return 1
                if turn >= WARM_UP:
                    times[program].append(seconds * 1e3)
    for program, found in times.items():
        quarter, median, _ = statistics.quantiles(found, n=4)
        least = min(found)
        print(f"{program}: median {median:.1f} ms, first quartile {quarter:.1f}, least {least:.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
