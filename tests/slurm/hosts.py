#!/usr/bin/env python3
"""Does each key get computed once when two machines share a cache, whatever happens to one of them?

The machines are namespaces of this one, with host names, processes, networks and mounts of their own,
so that neither can ask the system about the other's processes, and the cache is marked as shared, so
that locks of the file system, which would reach across, are not used.

    python3 tests/slurm/hosts.py --program target/release/pcae-run [--rounds N] [--folder DIR]

`--folder` may lie on a network file system that is mounted here. Ends with code 1 if anything is wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pipelines
from project import Project, Run, Wrong, require

# How long a lease lasts here, in seconds.
LEASE = 3

PROJECTS: list[Project] = []


def host(project: Project, name: str, *args: str) -> Run:
    """Runs the pipeline on a machine of its own."""
    inside = 'hostname "$0"; exec "$@"'
    command = ["unshare", "--uts", "--pid", "--net", "--mount", "--mount-proc", "--fork", "--kill-child"]
    command += ["sh", "-c", inside, name, str(project.program), "pipeline.ron", "-j", "2", *args]
    command += ["--cache", str(project.cache), "--reports", str(project.folder / f"reports-{name}"), "--json"]
    run = Run(command, project.folder, project.env, project.folder / f"run-{name}-{len(project.runs)}")
    project.runs.append(run)
    return run


def shared(program: Path, folder: Path, pipeline: str) -> Project:
    """Makes a project whose cache is marked as one that machines share."""
    project = Project(program, folder, pipeline)
    PROJECTS.append(project)
    project.cache.mkdir()
    terms = {"expiry": {"secs": LEASE, "nanos": 0}}
    (project.cache / "shared").write_text(json.dumps(terms))
    return project


def processes_of(run: Run) -> list[int]:
    """Returns the processes of a run and those below it."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(status.parent.name)] = int(status.read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            pass
    found = [run.process.pid]
    for number in found:
        found += [child for child, parent in parents.items() if parent == number]
    return found


def signal_all(run: Run, number: signal.Signals) -> None:
    for process in processes_of(run):
        try:
            os.kill(process, number)
        except ProcessLookupError:
            pass


def side_by_side(program: Path, folder: Path, reference: Project) -> str:
    """Two machines run one pipeline at once."""
    project = shared(program, folder, pipelines.sixty())
    runs = [host(project, name) for name in ("one", "two")]
    executed = [run.succeed()["executed"] for run in runs]
    require(sum(executed) == 60, f"{executed} of 60 stages were executed")
    twice = {stage: count for stage, count in project.executed().items() if count != 1}
    require(not twice, f"not computed once: {twice}")
    project.compare(reference)
    check_end(project)
    return f"{executed[0]} stages by one, {executed[1]} by the other"


def paused(program: Path, folder: Path, _reference: Project) -> str:
    """A machine stands still for longer than its lease, and wakes up when another has taken over."""
    project = shared(program, folder, pipelines.sleepers(1, 2))
    first = host(project, "one")
    first.until("a stage runs", lambda: project.executed())
    signal_all(first, signal.SIGSTOP)
    second = host(project, "two")
    summary = second.succeed()
    require(summary["executed"] == 2, f"the other one executed {summary['executed']} stages")
    notes = second.notes("taken over from", "on one")
    require(notes, "the one that took over did not say so")
    before = {path: path.read_bytes() for path in (project.cache / "entries").glob("*/*.json")}
    signal_all(first, signal.SIGCONT)
    first.wait()
    after = {path: path.read_bytes() for path in (project.cache / "entries").glob("*/*.json")}
    require(before == after, "the one that woke up has published over the other")
    again = host(project, "two")
    require(again.succeed()["executed"] == 0, "something was computed again")
    check_end(project)
    words = next(iter(first.failures().values()), "it took the other's results")
    return f"woke up after {LEASE} s and more, published nothing ({words[:80]})"


def died(program: Path, folder: Path, reference: Project) -> str:
    """A machine dies with everything on it; another takes over what it had claimed."""
    project = shared(program, folder, pipelines.training_for(program, 12))
    first = host(project, "one")
    first.until("a checkpoint", lambda: list(project.cache.glob("claims/*/*/state/*")), 60)
    time.sleep(1)
    signal_all(first, signal.SIGKILL)
    second = host(project, "two")
    second.succeed(240)
    require(second.notes("taken over from", "on one"), "the one that took over did not say so")
    project.compare(reference)
    check_end(project)
    progress = [event["progress"].get("message") for event in second.events("stage-progress")]
    resumed = [message for message in progress if message]
    require(resumed, "the training did not go on from a checkpoint")
    return f"training: {resumed[0]}; the same bytes"


def check_end(project: Project) -> None:
    # One run more sweeps up after machines that died.
    host(project, "one").succeed()
    left = [path.name for path in (project.cache / "claims").glob("*.lease")]
    require(not left, f"leases are left: {left}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    program = options.program.resolve()
    if subprocess.run(["unshare", "--uts", "--pid", "--net", "--mount", "--fork", "true"], check=False).returncode:
        print("this user may not make namespaces")
        return 1
    failed = passed = 0
    with tempfile.TemporaryDirectory(prefix="hosts-", dir=options.folder, ignore_cleanup_errors=True) as folder:
        root = Path(folder)
        references = {}
        for name, pipeline in (("side_by_side", pipelines.sixty()), ("died", pipelines.training_for(program, 12))):
            references[name] = Project(program, root / f"reference-{name}", pipeline)
            references[name].run("-j", "2").succeed(240)
        for number in range(options.rounds):
            for check in (side_by_side, paused, died):
                name = check.__name__.replace("_", "-")
                began = time.monotonic()
                try:
                    seen = check(program, root / f"{name}-{number}", references.get(check.__name__))
                except Wrong as error:
                    failed += 1
                    print(f"FAILED {name}: {error}", flush=True)
                else:
                    passed += 1
                    print(f"ok {name} ({time.monotonic() - began:.1f} s): {seen}", flush=True)
                for project in PROJECTS:
                    project.close()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
