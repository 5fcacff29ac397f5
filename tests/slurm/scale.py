#!/usr/bin/env python3
"""What does the way through Slurm cost for thousands of stages that do next to nothing?

Starts a controller and two nodes on this machine (cluster.py says what that needs), and runs trivial
stages there: with a job of its own for each stage, and with many stages in each job; beside them the
same stages as local processes. Every result must be that of the local run.

    python3 tests/slurm/scale.py --program target/release/pcae-run [--stages 10000] [--unpacked 1000]

Prints a table and one line of JSON. Ends with code 1 if a result is missing or differs, or if more
tasks are in the queue than the site allows.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))

from cluster import Cluster, ClusterError  # noqa: E402
from plan import by_axes  # noqa: E402
from project import Project, Run, Wrong, require  # noqa: E402

COMMANDS = ["sbatch", "squeue", "sacct", "scancel", "scontrol"]
QUEUE = 200
POLL = "2s"


class Measured(NamedTuple):
    way: str
    stages: int
    seconds: float
    jobs: int
    most_in_queue: int
    calls: dict[str, int]
    megabytes: float

    @property
    def per_stage(self) -> float:
        return 1e3 * self.seconds / self.stages


def counting(project: Project) -> None:
    """Puts programs before those of Slurm that count how often they are called."""
    folder = project.folder / "bin"
    folder.mkdir()
    for name in COMMANDS:
        real = shutil.which(name)
        if real:
            (folder / name).write_text(f'#!/bin/sh\necho {name} >> {project.folder}/calls\nexec {real} "$@"\n')
            (folder / name).chmod(0o755)
    project.path = [folder]


def peak_memory(run: Run) -> float | None:
    """Returns the most memory that a process has had so far, in MB."""
    try:
        text = Path(f"/proc/{run.process.pid}/status").read_text()
    except OSError:
        return None
    found = re.search(r"VmHWM:\s*(\d+) kB", text)
    return int(found[1]) * 1024 / 1e6 if found else None


def watch(project: Project, run: Run, seconds: float) -> tuple[float, int]:
    """Waits for the end of a run; returns its peak memory and the most tasks it had in the queue."""
    end = time.monotonic() + seconds
    memory, most, looked = 0.0, 0, 0.0
    while run.code is None:
        require(time.monotonic() < end, f"not done within {seconds:g} s: {run.last_words()}")
        memory = max(memory, peak_memory(run) or 0.0)
        if project.cluster and time.monotonic() > looked + 2:
            looked = time.monotonic()
            most = max(most, len(project.cluster.call("squeue", "-h", "-r", "-t", "pending,running").split("\n")) - 1)
        time.sleep(0.05)
    return memory, most


def measure(way: str, project: Project, stages: int) -> Measured:
    """Runs the pipeline once, from the moment on when nothing of it is cached."""
    if project.cluster:
        counting(project)
    began = time.monotonic()
    run = project.run()
    try:
        memory, most = watch(project, run, 3600)
    finally:
        run.kill()
    seconds = time.monotonic() - began
    summary = run.succeed()
    require(summary["executed"] == stages, f"{way}: {summary['executed']} of {stages} stages computed")
    require(most <= QUEUE, f"{way}: {most} tasks in the queue, of {QUEUE} at most")
    calls = project.folder / "calls"
    counted = collections.Counter(calls.read_text().split() if calls.exists() else [])
    jobs = len(project.tasks()) if project.cluster else 0
    return Measured(way, stages, seconds, jobs, most, dict(counted), memory)


def learned(project: Project, pipeline: str) -> None:
    """Runs some stages of the kind, so that it is known how long they take, then the pipeline is there."""
    few = '["sh", "-c", "echo few $0 > number", Axis(n)]'
    (project.folder / "pipeline.ron").write_text(
        'Pipeline(name: "few", axes: {"n": ["1", "2", "3", "4", "5"]}, stages: {'
        f'"few-{{n}}": Command(args: {few}, outputs: ["number"])}})\n'
    )
    project.run().succeed()
    project.cluster.clear()
    (project.folder / "pipeline.ron").write_text(pipeline)
    project.last_job = max(task.job for task in project.tasks())


def compare(way: str, project: Project, reference: Project) -> None:
    ours, theirs = project.results(), reference.results()
    wrong = [key for key, artifact in theirs.items() if ours.get(key) != artifact]
    require(not wrong, f"{way}: {len(wrong)} of {len(theirs)} results are missing or differ")


def compare_ways(program: Path, folder: Path, stages: int, is_packed: bool, cpus: int) -> list[Measured]:
    """Measures a pipeline here and on a cluster of its own, which has no jobs of others."""
    pipeline = by_axes(stages)
    local = Project(program, folder / f"local-{stages}", pipeline)
    measured = [measure("local", local, stages)]
    way = "many stages a job" if is_packed else "a job for each stage"
    site = {"poll": f'"{POLL}"', "queue": str(QUEUE), "pack": '"10min"' if is_packed else '"0s"'}
    site["resources"] = '[(memory: "100MB", time: "1h")]'
    with Cluster(cpus=cpus, min_job_age=3600) as cluster:
        project = Project(program, folder / f"cluster-{stages}", pipeline, cluster, site)
        if is_packed:
            learned(project, pipeline)
        measured.append(measure(way, project, stages))
        compare(way, project, local)
    return measured


def print_table(rows: list[Measured]) -> None:
    print(f"{os.cpu_count()} cores, 2 nodes; squeue every {POLL}, at most {QUEUE} tasks in the queue")
    print("| way | stages | seconds | ms per stage | more than local | tasks | most in the queue | sbatch | squeue | peak MB |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    local = 0.0
    for row in rows:
        local = row.per_stage if row.way == "local" else local
        more = f"{row.per_stage - local:.1f}" if row.way != "local" else ""
        print(
            f"| {row.way} | {row.stages:,} | {row.seconds:.0f} | {row.per_stage:.1f} | {more} | {row.jobs or ''} "
            f"| {row.most_in_queue or ''} | {row.calls.get('sbatch', '')} | {row.calls.get('squeue', '')} | {row.megabytes:.0f} |"
        )
    print(json.dumps({"benchmark": "slurm", "cores": os.cpu_count(), "ways": [row._asdict() for row in rows]}))


def main() -> int:
    parser = argparse.ArgumentParser(description="Measures trivial stages on a Slurm of its own.")
    parser.add_argument("--program", type=Path, required=True, help="the pcae-run to measure")
    parser.add_argument("--stages", type=int, default=10_000, help="with many of them in a job; 0 leaves this out")
    parser.add_argument("--unpacked", type=int, default=1_000, help="with a job for each; 0 leaves this out")
    parser.add_argument("--cpus", type=int, default=4, help="of each of the two nodes")
    given = parser.parse_args()
    rows: list[Measured] = []
    try:
        with tempfile.TemporaryDirectory(prefix="slurm-scale-") as name:
            for stages, is_packed in [(given.unpacked, False), (given.stages, True)]:
                if stages:
                    rows += compare_ways(given.program.resolve(), Path(name), stages, is_packed, given.cpus)
    except (Wrong, ClusterError) as error:
        print(f"WRONG: {error}")
        return 1
    finally:
        print_table(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
