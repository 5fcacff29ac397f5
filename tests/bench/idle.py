#!/usr/bin/env python3
"""How long does a run take that has nothing to do, on a pipeline as large as a paper?

Takes `pipelines/cpu.ron` with every training cut to a few steps, so that its 1,411 stages are done
within minutes, runs it once, and then starts it again and again. A timed start counts only if the
program says that there was nothing to do.

    python3 tests/bench/idle.py --program PATH --data DIR [--other PATH ..] [--starts 60]

`DIR` is a data folder as reports/README.md describes it. `--other` names further programs to be started by
turns on the same cache, such as an earlier build. Prints median, quartile and least time of each in
milliseconds.
"""

from __future__ import annotations

import argparse
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PIPELINES = Path(__file__).resolve().parents[2] / "pipelines"
WARM_UP = 3


def shortened(text: str) -> str:
    """Returns a pipeline with trainings of a few steps."""
    for pattern, few in [
        (r"Steps\(\d+\)", "Steps(4)"),
        (r"Epochs\(\d+\)", "Steps(2)"),
        (r"epochs: \d+", "epochs: 1"),
    ]:
        text = re.sub(pattern, few, text)
    return text


def start(program: Path, folder: Path, arguments: list[str]) -> tuple[float, str]:
    """Starts a program on the pipeline; returns the seconds and the last line that it prints."""
    command = [str(program), "cpu.ron", "--cache", "cache", "--reports", "reports", *arguments]
    began = time.perf_counter()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    seconds = time.perf_counter() - began
    return seconds, done.stderr.strip().splitlines()[-1] if done.stderr.strip() else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--other", type=Path, nargs="*", default=[])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--starts", type=int, default=60)
    args = parser.parse_args()
    programs = [path.resolve() for path in [args.program, *args.other]]
    more = ["--yes", "--keep-going", "--data", str(args.data.resolve())]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "cpu.ron").write_text(shortened((PIPELINES / "cpu.ron").read_text()))
        shutil.copytree(PIPELINES / "notes", folder / "notes")
        seconds, line = start(programs[0], folder, more)
        print(f"first run: {seconds:.0f} s: {line}")
        times: dict[Path, list[float]] = {program: [] for program in programs}
        for turn in range(WARM_UP + args.starts):
            for program in programs:
                seconds, line = start(program, folder, more)
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
