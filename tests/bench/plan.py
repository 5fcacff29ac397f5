#!/usr/bin/env python3
"""How long does `pcae-run plan` take on a large pipeline, and how much memory?

Writes the same number of stages three ways: by two axes in one line of the pipeline, by two axes as
pairs of which one reads the other, and one by one. Stages without inputs are the costly ones when
the cache is empty: the key of each is computed and looked up. Measured with an empty cache, and
then, on fewer stages (every one of them has to be executed first), with a full one.

    python3 tests/bench/plan.py --program PATH [--stages 10000] [--cached-stages 2000]

Prints a table and one line of JSON. Ends with code 1 if a plan with an empty cache takes longer or
more memory than wanted.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WANTED_SECONDS = 0.2
WANTED_MEGABYTES = 200.0

MAKE = 'Command(args: ["sh", "-c", "echo $0 $* > number", {values}], outputs: ["number"])'
READ = (
    'Command(args: ["sh", "-c", "cat inputs/last/number > number"], '
    'inputs: {{"last": "{name}"}}, outputs: ["number"])'
)


def by_axes(stages: int) -> str:
    """Returns a pipeline of one stage for each pair of labels."""
    return axes(stages, {"make-{row}-{column}": MAKE.format(values="Axis(row), Axis(column)")})


def by_axes_in_pairs(stages: int) -> str:
    """Returns a pipeline of two stages for each pair of labels, one of which reads the other."""
    made = "make-{row}-{column}"
    return axes(stages // 2, {
        made: MAKE.format(values="Axis(row), Axis(column)"),
        "read-{row}-{column}": READ.format(name=made),
    })


def axes(cells: int, stages: dict[str, str]) -> str:
    """Returns a pipeline with two axes, as near to a square as `cells` can be laid out."""
    rows = math.isqrt(cells)
    while cells % rows:
        rows -= 1

    def axis(count: int) -> str:
        return "{" + ", ".join(f'"{label}": "{label}"' for label in range(count)) + "}"

    declared = f'"row": {axis(rows)}, "column": {axis(cells // rows)}'
    return f'Pipeline(name: "axes", axes: {{{declared}}}, stages: {{\n{lines(stages)}}})\n'


def one_by_one(stages: int) -> str:
    """Returns a pipeline with every stage written out."""
    written = {f"make-{number}": MAKE.format(values=f'"{number}"') for number in range(stages)}
    return f'Pipeline(name: "written", stages: {{\n{lines(written)}}})\n'


def lines(stages: dict[str, str]) -> str:
    """Returns one line per stage."""
    return "".join(f'    "{name}": {stage},\n' for name, stage in stages.items())


class Measured:
    """The wall time and peak memory of several starts of one command."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.megabytes: list[float] = []
        self.first_line = ""

    def start(self, command: list[str], folder: Path) -> None:
        """Runs the command once; its first line tells what it found."""
        output = folder / "output"
        with output.open("w") as stream:
            start = time.perf_counter()
            child = subprocess.Popen(
                command, cwd=folder, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream
            )
            # The peak that the kernel reports starts from this process's own, about 15 MB.
            _, status, usage = os.wait4(child.pid, 0)
            self.seconds.append(time.perf_counter() - start)
            child.returncode = os.waitstatus_to_exitcode(status)
        with output.open() as stream:
            self.first_line = stream.readline().strip()
        if child.returncode != 0:
            sys.exit(f"{' '.join(command)} failed:\n{output.read_text()[-2000:]}")
        self.megabytes.append(usage.ru_maxrss * 1024 / 1e6)


def measure(program: str, folder: Path, text: str, cached: bool, repeats: int) -> Measured:
    """Times `plan`; with `cached`, after the pipeline has been run."""
    folder.mkdir()
    (folder / "pipeline.ron").write_text(text)
    if cached:
        Measured().start([program, "pipeline.ron"], folder)
    measured = Measured()
    for _ in range(repeats):
        if not cached:
            shutil.rmtree(folder / "cache", ignore_errors=True)
        measured.start([program, "plan", "pipeline.ron"], folder)
    return measured


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measures `pcae-run plan`.")
    parser.add_argument("--program", required=True, help="the pcae-run to measure")
    parser.add_argument("--stages", type=int, default=10_000, help="an even number")
    parser.add_argument(
        "--cached-stages", type=int, default=2_000, help="an even number; 0 leaves this part out"
    )
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    if given.stages < 2 or given.stages % 2 or given.cached_stages % 2 or given.repeats < 1:
        parser.error("--stages and --cached-stages are even, --repeats starts from 1")
    return given


def main() -> int:
    given = arguments()
    found = shutil.which(given.program)
    if found is None:
        sys.exit(f"no program at `{given.program}`")
    program = str(Path(found).absolute())
    ways = {"axes": by_axes, "axes, pairs": by_axes_in_pairs, "one by one": one_by_one}
    cases = [(way, given.stages, False) for way in ways]
    if given.cached_stages:
        cases += [("axes, pairs", given.cached_stages, cached) for cached in (False, True)]

    before = round(os.getloadavg()[0], 2)
    missed = False
    rows = []
    print(f"pcae-run plan, median of {given.repeats}")
    print(f"load average {before}, {os.cpu_count()} cores")
    print(f"{'written':<13}{'stages':>8}{'cache':>8}{'median s':>10}{'least s':>10}{'peak MB':>9}")
    with tempfile.TemporaryDirectory(prefix="plan-") as name:
        for number, (way, stages, cached) in enumerate(cases):
            text = ways[way](stages)
            result = measure(program, Path(name) / str(number), text, cached, given.repeats)
            expected = f"{stages} stages: {stages if cached else 0} cached"
            if not result.first_line.startswith(expected):
                sys.exit(f"expected `{expected}`, found `{result.first_line}`")
            median = statistics.median(result.seconds)
            peak = max(result.megabytes)
            if not cached:
                missed |= median > WANTED_SECONDS or peak > WANTED_MEGABYTES
            state = "full" if cached else "empty"
            print(f"{way:<13}{stages:>8}{state:>8}{median:>10.3f}{min(result.seconds):>10.3f}"
                  f"{peak:>9.0f}", flush=True)
            rows.append({
                "written": way,
                "stages": stages,
                "cache": state,
                "seconds": [round(second, 4) for second in result.seconds],
                "median_seconds": round(median, 4),
                "peak_megabytes": round(peak, 1),
            })
    print(f"wanted with an empty cache: {WANTED_SECONDS:g} s, {WANTED_MEGABYTES:.0f} MB")
    print(json.dumps({
        "benchmark": "plan",
        "load_average": [before, round(os.getloadavg()[0], 2)],
        "cases": rows,
    }))
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
