#!/usr/bin/env python3
"""How long does a runner take to find that there is nothing to do?

Writes one chain of trivial stages for each runner: every stage copies the file of the stage before
it and adds a line. Each runner builds the chain once; then every runner is started again and again,
in turn, on the finished chain. A build must leave the right file, and a timed start counts only if
the runner says that it ran nothing.

    python3 tests/bench/noop.py --program PATH [--snakemake PATH] [--dvc PATH]

Prints a table and one line of JSON. Ends with code 1 if a ratio is below the wanted one. Other work
on the machine slows all runners alike: compare ratios, not seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from pathlib import Path


class Runner(ABC):
    """A runner in a folder of its own."""

    name: str
    # How many times slower than pcae-run this runner is expected to be, at least.
    wanted: float | None = None
    # What it says when it ran nothing.
    idle: str

    def __init__(self, program: str, folder: Path) -> None:
        found = shutil.which(program)
        if found is None:
            sys.exit(f"{self.name}: no program at `{program}`")
        self.program = str(Path(found).absolute())
        self.folder = folder / self.name
        self.folder.mkdir()
        self.seconds: list[float] = []
        self.build_seconds = 0.0

    @abstractmethod
    def prepare(self, stages: int) -> None:
        """Writes the chain."""

    @abstractmethod
    def arguments(self) -> list[str]:
        """Returns what a user types to bring the chain up to date."""

    @abstractmethod
    def result(self, stages: int) -> Path:
        """Returns the file of the last stage."""

    def environment(self) -> dict[str, str]:
        """Returns the environment; whatever a runner keeps elsewhere goes below its folder."""
        return {**os.environ, "NO_COLOR": "1", "XDG_CACHE_HOME": str(self.folder / "home-cache")}

    def call(self, arguments: list[str]) -> tuple[float, str]:
        """Runs the program; returns the wall time and all that it printed."""
        start = time.perf_counter()
        done = subprocess.run(
            [self.program, *arguments],
            cwd=self.folder,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        seconds = time.perf_counter() - start
        if done.returncode != 0:
            sys.exit(f"{self.name} {' '.join(arguments)} failed:\n{done.stdout[-4000:]}")
        return seconds, done.stdout

    def build(self, stages: int) -> None:
        """Builds the chain and checks its last file."""
        self.prepare(stages)
        self.build_seconds, _ = self.call(self.arguments())
        lines = self.result(stages).read_text().splitlines()
        if lines != [str(number) for number in range(stages)]:
            sys.exit(f"{self.name} built a wrong file: {len(lines)} lines, not {stages}")

    def measure(self) -> None:
        """Times one start that finds nothing to do."""
        seconds, printed = self.call(self.arguments())
        if self.idle not in printed:
            sys.exit(f"{self.name} did not say `{self.idle}`:\n{printed[-4000:]}")
        self.seconds.append(seconds)


class PcaeRun(Runner):
    name = "pcae-run"
    idle = "nothing to do"

    def prepare(self, stages: int) -> None:
        lines = ['Pipeline(name: "chain", stages: {']
        lines.append(
            '    "step-0": Command(args: ["sh", "-c", "echo 0 > lines"], outputs: ["lines"]),'
        )
        for number in range(1, stages):
            lines.append(
                f'    "step-{number}": Command(\n'
                f'        args: ["sh", "-c", "cp inputs/last/lines . && echo {number} >> lines"],\n'
                f'        inputs: {{"last": "step-{number - 1}"}},\n'
                f'        outputs: ["lines"],\n'
                f"    ),"
            )
        lines.append("})\n")
        (self.folder / "chain.ron").write_text("\n".join(lines))

    def arguments(self) -> list[str]:
        return ["chain.ron"]

    def result(self, stages: int) -> Path:
        self.call(["export", f"step-{stages - 1}", "result", "chain.ron"])
        return self.folder / "result" / "lines"


class Snakemake(Runner):
    name = "snakemake"
    wanted = 50.0
    idle = "Nothing to be done"

    def prepare(self, stages: int) -> None:
        lines = [f'rule all:\n    input: "lines-{stages - 1}"\n']
        lines.append('rule step_0:\n    output: "lines-0"\n    shell: "echo 0 > {output}"\n')
        for number in range(1, stages):
            lines.append(
                f"rule step_{number}:\n"
                f'    input: "lines-{number - 1}"\n'
                f'    output: "lines-{number}"\n'
                f'    shell: "cp {{input}} {{output}} && echo {number} >> {{output}}"\n'
            )
        (self.folder / "Snakefile").write_text("\n".join(lines))

    def arguments(self) -> list[str]:
        # The one option that Snakemake asks for.
        return ["--cores", "1"]

    def result(self, stages: int) -> Path:
        return self.folder / f"lines-{stages - 1}"


class Dvc(Runner):
    name = "dvc"
    wanted = 100.0
    idle = "Data and pipelines are up to date"

    def prepare(self, stages: int) -> None:
        self.call(["init", "--no-scm"])
        self.call(["config", "core.check_update", "false"])
        lines = ["stages:", "  step-0:", "    cmd: echo 0 > lines-0", "    outs: [lines-0]"]
        for number in range(1, stages):
            lines += [
                f"  step-{number}:",
                f"    cmd: cp lines-{number - 1} lines-{number} && echo {number} >> lines-{number}",
                f"    deps: [lines-{number - 1}]",
                f"    outs: [lines-{number}]",
            ]
        (self.folder / "dvc.yaml").write_text("\n".join(lines) + "\n")

    def arguments(self) -> list[str]:
        return ["repro"]

    def result(self, stages: int) -> Path:
        return self.folder / f"lines-{stages - 1}"

    def environment(self) -> dict[str, str]:
        # Nothing is sent anywhere while it is timed, and nothing stays behind afterwards.
        quiet = {"DVC_NO_ANALYTICS": "1", "DVC_SITE_CACHE_DIR": str(self.folder / "site-cache")}
        return {**super().environment(), **quiet}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Times runners that have nothing to do.")
    parser.add_argument("--program", required=True, help="the pcae-run to measure")
    parser.add_argument("--snakemake", help="a snakemake to compare with")
    parser.add_argument("--dvc", help="a dvc to compare with")
    parser.add_argument("--stages", type=int, default=300)
    parser.add_argument("--repeats", type=int, default=15)
    given = parser.parse_args()
    if given.stages < 1 or given.repeats < 1:
        parser.error("--stages and --repeats start from 1")
    return given


def load() -> float:
    """Returns how many processes wanted a core in the last minute."""
    return round(os.getloadavg()[0], 2)


def main() -> int:
    given = arguments()
    with tempfile.TemporaryDirectory(prefix="noop-") as name:
        folder = Path(name)
        runners: list[Runner] = [PcaeRun(given.program, folder)]
        if given.snakemake:
            runners.append(Snakemake(given.snakemake, folder))
        if given.dvc:
            runners.append(Dvc(given.dvc, folder))
        versions = {}
        for runner in runners:
            versions[runner.name] = runner.call(["--version"])[1].split()[-1]
            print(f"{runner.name} {versions[runner.name]}: building {given.stages} stages",
                  file=sys.stderr, flush=True)
            runner.build(given.stages)
        before = load()
        for _ in range(given.repeats):
            for runner in runners:
                runner.measure()
        after = load()

    base = statistics.median(runners[0].seconds)
    missed = False
    rows = []
    print(f"nothing to do in {given.stages} stages, median of {given.repeats}")
    print(f"load average {before} before, {after} after, {os.cpu_count()} cores")
    print(f"{'runner':<20}{'build s':>9}{'median s':>10}{'least s':>10}{'most s':>10}"
          f"{'ratio':>8}{'wanted':>8}")
    for runner in runners:
        median = statistics.median(runner.seconds)
        ratio = median / base
        missed |= runner.wanted is not None and ratio < runner.wanted
        wanted = "" if runner.wanted is None else f">={runner.wanted:.0f}"
        label = f"{runner.name} {versions[runner.name]}"
        print(f"{label:<20}{runner.build_seconds:>9.1f}{median:>10.4f}{min(runner.seconds):>10.4f}"
              f"{max(runner.seconds):>10.4f}{ratio:>8.1f}{wanted:>8}")
        rows.append({
            "runner": runner.name,
            "version": versions[runner.name],
            "build_seconds": round(runner.build_seconds, 3),
            "seconds": [round(second, 5) for second in runner.seconds],
            "median_seconds": round(median, 5),
            "ratio": round(ratio, 2),
            "wanted_ratio": runner.wanted,
        })
    print(json.dumps({
        "benchmark": "noop",
        "stages": given.stages,
        "repeats": given.repeats,
        "load_average": [before, after],
        "runners": rows,
    }))
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
