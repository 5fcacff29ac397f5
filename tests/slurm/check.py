#!/usr/bin/env python3
"""Does a pipeline end well on a real Slurm, whatever happens to its runner, its nodes and its jobs?

Starts a controller and two nodes on this machine (cluster.py says what that needs), runs small
pipelines there, disturbs them, and compares every result with that of an undisturbed local run.

    python3 tests/slurm/check.py --program target/release/pcae-run [--only NAME ...] [--list] [--long]

Prints a line for each scenario. Ends with code 1 if anything is wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import fnmatch
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pipelines
from cluster import Cluster, ClusterError, missing_packages, until
from project import Project, Run, Task, Wrong, require

ROOT = Path(__file__).resolve().parents[2]

# Seconds of the trainings whose undisturbed runs begin with the first scenario, and then their pipelines.
SECONDS = {"time-limit": 65, "interrupted-runner": 12}
BEFOREHAND: dict[str, str] = {}

SCENARIOS: dict[str, Callable[[Bench], str]] = {}
LONG: set[str] = set()


class LeftOut(Exception):
    """A scenario that this machine does not allow, and why."""


def scenario(function: Callable[[Bench], str]) -> Callable[[Bench], str]:
    SCENARIOS[function.__name__.replace("_", "-")] = function
    return function


def long(function: Callable[[Bench], str]) -> Callable[[Bench], str]:
    LONG.add(function.__name__.replace("_", "-"))
    return scenario(function)


class Bench:
    """The program, a cluster for it, and projects that run there."""

    def __init__(self, program: Path, folder: Path) -> None:
        self.program, self.folder = program, folder
        self.projects: list[Project] = []
        self.references: dict[str, Project] = {}
        self.cluster = Cluster()

    def project(
        self, pipeline: str, site: dict[str, str] | None = None, cluster: Cluster | None = None
    ) -> Project:
        """Makes a project whose stages run on the cluster."""
        folder = self.folder / f"project-{len(self.projects)}"
        project = Project(self.program, folder, pipeline, cluster or self.cluster, site)
        self.projects.append(project)
        return project

    def start_reference(self, pipeline: str) -> Project:
        """Starts an undisturbed run on this machine, unless there was one.

        It may take long, and goes on beside other scenarios.
        """
        if pipeline not in self.references:
            project = Project(self.program, self.folder / f"reference-{len(self.references)}", pipeline)
            self.references[pipeline] = project
            # Stages that only sleep need no processors.
            jobs = "16" if "sleep" in pipeline else "1"
            os.setpriority(os.PRIO_PROCESS, project.run("-j", jobs).process.pid, 19)
        return self.references[pipeline]

    def reference(self, pipeline: str) -> Project:
        """Returns an undisturbed run on this machine, when it has ended."""
        project = self.start_reference(pipeline)
        project.runs[0].succeed(600)
        return project

    def finish(self, project: Project, run: Run, pipeline: str, seconds: float = 120) -> int:
        """Waits for the end of the last run, compares its results, and looks at what it left."""
        run.succeed(seconds)
        count = project.compare(self.reference(pipeline))
        project.check_end()
        return count

    def tidy(self) -> None:
        """Ends what a scenario has left running, so that the next one finds the cluster as it was."""
        for project in self.projects:
            project.close()
        self.cluster.recover()

    def close(self) -> None:
        for project in [*self.projects, *self.references.values()]:
            project.close()


def once_each(project: Project, *, but: int = 0) -> None:
    """Makes sure that no program was started twice, but for so many."""
    twice = {name: count for name, count in project.executed().items() if count > 1}
    require(sum(twice.values()) - len(twice) <= but, f"computed more than once: {twice}")


def begun(project: Project, run: Run, count: int) -> None:
    run.until(f"{count} stages have begun", lambda: sum(project.executed().values()) >= count)


def running(project: Project, run: Run) -> Task:
    """Returns a task that runs, when there is one."""
    run.until("a task runs", lambda: project.tasks("RUNNING"))
    return project.tasks("RUNNING")[0]


def quickly(run: Run, seconds: float) -> float:
    began = time.monotonic()
    run.wait(seconds)
    return time.monotonic() - began


# Undisturbed.


@scenario
def sixty_stages(bench: Bench) -> str:
    pipeline = pipelines.sixty()
    project = bench.project(pipeline)
    run = project.run()
    count = bench.finish(project, run, pipeline)
    require(count == 60, f"{count} results of 60 stages")
    once_each(project)
    return f"{count} results, the bytes of a local run, {len(project.tasks())} tasks"


@scenario
def relative_folders(bench: Bench) -> str:
    """Jobs begin in another folder than the runner."""
    pipeline = pipelines.sleepers(2, 0)
    project = bench.project(pipeline)
    project.is_relative = True
    count = bench.finish(project, project.run(), pipeline)
    return f"--cache cache --reports reports: {count} results"


@scenario
def packed_stages(bench: Bench) -> str:
    """Needs to know how long stages take: a first run of the same kinds tells."""
    pipeline = pipelines.sixty()
    project = bench.project(pipelines.sleepers(4, 0), {"pack": '"2min"'})
    project.run().succeed()
    before = len(project.tasks())
    (project.folder / "pipeline.ron").write_text(pipeline)
    run = project.run()
    run.succeed()
    jobs = len(project.tasks()) - before
    reference = bench.reference(pipeline).results()
    ours = project.results()
    require(all(ours.get(key) == artifact for key, artifact in reference.items()), "other results than a local run")
    once_each(project, but=1)
    # As many jobs as may run side by side are left apart.
    require(jobs < 50, f"{jobs} tasks for 60 short stages")
    project.check_end()
    return f"60 short stages in {jobs} tasks, the bytes of a local run"


@scenario
def experiment(bench: Bench) -> str:
    """Data, distances, a training, measurements and a table; the report too must be the same."""
    pipeline = pipelines.training(60, seeds=2)
    project = bench.project(pipeline)
    run = project.run()
    count = bench.finish(project, run, pipeline)
    ours, theirs = (folder / "reports/training/table.csv" for folder in (project.folder, bench.reference(pipeline).folder))
    require(ours.read_bytes() == theirs.read_bytes(), "the table of the report differs")
    return f"{count} results of a training and its measurements, the bytes of a local run"


@long
def quickstart(bench: Bench) -> str:
    pipeline = (ROOT / "pipelines/quickstart.ron").read_text()
    project = bench.project(pipeline)
    run = project.run()
    count = bench.finish(project, run, pipeline, 900)
    return f"{count} results, the bytes of a local run"


@scenario
def two_runners(bench: Bench) -> str:
    pipeline = pipelines.sixty()
    project = bench.project(pipeline)
    runs = [project.run(), project.run()]
    executed = sum(run.succeed()["executed"] for run in runs)
    once_each(project)
    require(executed == 60, f"both together say that they computed {executed} of 60 stages, each was computed once")
    bench.finish(project, runs[0], pipeline)
    return f"two runs on one cache, each of 60 keys computed once, {len(project.tasks())} tasks"


# The runner ends, its jobs do not.


def left_runner(bench: Bench, end: signal.Signals) -> str:
    """Ends the runner while some jobs run and others wait; the next run must submit none of them again."""
    pipeline = pipelines.sleepers(12, 3)
    project = bench.project(pipeline)
    run = project.run()
    begun(project, run, 6)
    run.until("all stages are submitted", lambda: len(project.tasks()) == 12)
    run.send(end)
    took = quickly(run, 10)
    live = project.tasks("RUNNING", "PENDING", "COMPLETING")
    require(len(live) >= 8, f"only {len(live)} tasks go on without the runner")
    ended = len(project.tasks("COMPLETED"))
    until("one more job ends while nobody waits for it", 10, lambda: len(project.tasks("COMPLETED")) > ended)
    again = project.run()
    count = bench.finish(project, again, pipeline)
    submitted = len(project.tasks())
    require(submitted == 13, f"{submitted} tasks for 13 stages: {submitted - 13} were submitted again")
    once_each(project)
    waited = len(again.notes("already submitted as Slurm job"))
    return f"ended in {took:.1f} s, {len(live)} tasks went on; the next run waited for {waited}, submitted 1, {count} results"


@scenario
def killed_runner(bench: Bench) -> str:
    return left_runner(bench, signal.SIGKILL)


@scenario
def closed_runner(bench: Bench) -> str:
    return left_runner(bench, signal.SIGHUP)


@long
def terminated_runner(bench: Bench) -> str:
    return left_runner(bench, signal.SIGTERM)


@scenario
def runner_killed_while_it_submits(bench: Bench) -> str:
    """Ten times, a little later each time, so that some calls of sbatch are cut off."""
    pipeline = pipelines.sleepers(12, 0.3)
    project = bench.project(pipeline)
    for turn in range(10):
        run = project.run()
        time.sleep(0.02 + 0.03 * turn)
        run.kill()
    count = bench.finish(project, project.run(), pipeline)
    once_each(project)
    return f"ten runners killed, {count} results, {len(project.tasks())} tasks, each stage computed once"


@scenario
def interrupted_runner(bench: Bench) -> str:
    """Ctrl-C cancels the jobs; a training saves its state, and the next run goes on from it."""
    pipeline = BEFOREHAND["interrupted-runner"]
    bench.start_reference(pipeline)
    project = bench.project(pipeline)
    run = project.run()
    run.until("the training gets on", lambda: training_progress(run) > 0, 60)
    run.send(signal.SIGINT)
    took = quickly(run, 20)
    require(run.code == 130, f"code {run.code}: {run.last_words()}")
    live = project.tasks("RUNNING", "PENDING")
    require(not live, f"still in the queue: {live}")
    again = project.run()
    count = bench.finish(project, again, pipeline)
    return f"ended in {took:.1f} s with no job left; the next run {resumed(project)}, {count} results"


def training_progress(run: Run) -> int:
    told = [event["progress"]["done"] for event in run.events("stage-progress") if event["stage"].startswith("train-")]
    return max(told, default=0)


def resumed(project: Project) -> str:
    """Returns what the log of a training says of the state it went on from."""
    logs = [path.read_text(errors="replace") for path in (project.cache / "logs").glob("*.log")]
    lines = [line for log in logs for line in log.splitlines() if line.startswith("resumes at step")]
    require(lines, "the training began anew")
    return lines[0]


@scenario
def interrupted_while_jobs_wait(bench: Bench) -> str:
    """Jobs that never began have nothing to save: nobody should wait for them."""
    pipeline = pipelines.sleepers(12, 3)
    project = bench.project(pipeline, {"grace": '"60s"'})
    run = project.run()
    begun(project, run, 8)
    run.send(signal.SIGINT)
    took = quickly(run, 20)
    require(run.code == 130, f"code {run.code}: {run.last_words()}")
    live = project.tasks("RUNNING", "PENDING")
    require(not live, f"still in the queue: {live}")
    count = bench.finish(project, project.run(), pipeline)
    return f"ended in {took:.1f} s with 8 jobs that ran and 4 that waited; the next run finished, {count} results"


# Nodes and jobs end.


@scenario
def killed_node(bench: Bench) -> str:
    pipeline = pipelines.sleepers(8, 3)
    project = bench.project(pipeline)
    run = project.run()
    begun(project, run, 8)
    hit = [task for task in project.tasks("RUNNING") if task.node == "n2"]
    require(hit, "no task runs on n2")
    bench.cluster.crash_node("n2")
    bench.cluster.mark_down("n2")
    run.until("the failure is noticed", lambda: run.notes("node n2 failed"), 15)
    bench.cluster.start_node("n2")
    count = bench.finish(project, run, pipeline)
    again = [task for task in project.tasks() if task.job > max(task.job for task in hit) and task.node == "n2"]
    # What was not on that node may go there once it is back.
    require(len(again) <= 1, f"submitted to the node that failed: {again}")
    once_each(project, but=len(hit))
    return f"{len(hit)} tasks were on the node; {len(run.notes('node n2 failed'))} submitted again, {count} results"


@scenario
def silent_node(bench: Bench) -> str:
    """The node is taken for dead, but its jobs run on: two copies of each must not both count."""
    pipeline = pipelines.sleepers(8, 4)
    project = bench.project(pipeline)
    run = project.run()
    begun(project, run, 8)
    hit = [task for task in project.tasks("RUNNING") if task.node == "n2"]
    bench.cluster.drop_node("n2")
    bench.cluster.mark_down("n2")
    count = bench.finish(project, run, pipeline)
    executed = run.summary()["executed"]
    return f"{len(hit)} jobs outlived their node; {executed} of {count} results are this run's, {len(run.notes('node n2 failed'))} submitted again"


@scenario
def time_limit(bench: Bench) -> str:
    """The training is warned, saves its state, and goes on in a second job."""
    pipeline = BEFOREHAND["time-limit"]
    project = bench.project(pipeline, {
        "warn_before": '"40s"', "resources": '[(memory: "600MB", time: "5min")]',
    })
    run = project.run()
    run.until("the training gets on", lambda: training_progress(run) > 0, 60)
    job = project.tasks("RUNNING")[0]
    bench.cluster.set_end_time(job.id, 35)
    run.until("it goes on in another job", lambda: run.notes("time limit", "goes on in another job"), 90)
    began = time.monotonic()
    count = bench.finish(project, run, pipeline, 300)
    jobs = len(project.tasks())
    require(jobs == count + 1, f"{jobs} jobs for {count} stages")
    return f"the second job {resumed(project)}, and ends {time.monotonic() - began:.0f} s later with the same bytes"


@long
def time_limit_without_state(bench: Bench) -> str:
    """A stage that has no state begins anew each time: it must not go on for ever."""
    project = bench.project(pipelines.sleepers(1, 300), {
        "warn_before": '"10s"', "resources": '[(memory: "600MB", time: "5min")]',
    })
    run = project.run("-k")
    jobs: set[str] = set()
    while run.code is None and len(jobs) < 6:
        for task in project.tasks("RUNNING"):
            if task.id not in jobs:
                jobs.add(task.id)
                bench.cluster.set_end_time(task.id, 1)
        time.sleep(0.5)
    code = run.wait(60)
    require(code == 1, f"code {code}: {run.last_words()}")
    message = run.failures().get("work-1", "")
    require("no progress" in message, f"unexpected: {message}")
    return f"{len(jobs)} jobs: {message}"


def preempted(bench: Bench, partition: str) -> str:
    pipeline = BEFOREHAND["interrupted-runner"]
    bench.start_reference(pipeline)
    project = bench.project(pipeline, {"partitions": f'[(name: "{partition}")]'})
    run = project.run()
    run.until("the training gets on", lambda: training_progress(run) > 0, 60)
    job = running(project, run)
    bench.cluster.sbatch("-p", "high", "-N2", "--ntasks=8", "--mem=100", "--exclusive", command="sleep 2")
    run.until("it makes room", lambda: run.notes("preempted"), 30)
    count = bench.finish(project, run, pipeline)
    state = next(task.state for task in project.tasks() if task.id == job.id)
    return f"job {job.id} ended as {state}, the next {resumed(project)}, {count} results"


@scenario
def preempted_by_cancel(bench: Bench) -> str:
    return preempted(bench, "scav")


@long
def preempted_by_requeue(bench: Bench) -> str:
    return preempted(bench, "main")


@scenario
def cancelled_job(bench: Bench) -> str:
    pipeline = pipelines.sleepers(4, 2)
    project = bench.project(pipeline)
    run = project.run()
    begun(project, run, 4)
    job = running(project, run)
    bench.cluster.call("scancel", job.id)
    code = run.wait(30)
    require(code == 1, f"code {code}: {run.last_words()}")
    messages = list(run.failures().values())
    require(len(messages) == 1, f"{len(messages)} stages failed: {messages}")
    require("cancelled" in messages[0] and job.id in messages[0], f"not clear: {messages[0]}")
    bench.finish(project, project.run(), pipeline)
    once_each(project, but=1)
    return messages[0]


@scenario
def cancelled_while_it_waits(bench: Bench) -> str:
    """A job that is cancelled before it began never had a chance to leave anything."""
    pipeline = pipelines.sleepers(10, 3)
    project = bench.project(pipeline)
    run = project.run("-k")
    run.until("jobs wait", lambda: project.tasks("PENDING") and project.tasks("RUNNING"))
    job = project.tasks("PENDING")[-1]
    bench.cluster.call("scancel", job.id)
    code = run.wait(30)
    messages = list(run.failures().values())
    require(code == 1 and len(messages) == 1, f"code {code}, {messages}: {run.last_words()}")
    require("cancelled" in messages[0], f"not clear: {messages[0]}")
    bench.finish(project, project.run(), pipeline)
    once_each(project)
    return messages[0]


# Slurm itself is away, or forgets.


@scenario
def stopped_controller(bench: Bench) -> str:
    pipeline = pipelines.sleepers(10, 4)
    project = bench.project(pipeline)
    run = project.run()
    begun(project, run, 8)
    bench.cluster.stop_controller()
    run.until("it is noticed", lambda: run.notes("Slurm does not answer"), 30)
    time.sleep(5)
    require(run.code is None, f"it ended with code {run.code}: {run.last_words()}")
    bench.cluster.start_controller()
    run.until("it answers", lambda: run.notes("answers again"), 30)
    count = bench.finish(project, run, pipeline)
    once_each(project)
    require(not run.failures(), f"{run.failures()}")
    silent = len(run.notes("Slurm does not answer"))
    return f"noted {silent} times that Slurm was away, {count} results, {len(project.tasks())} tasks"


@scenario
def forgetful_controller(bench: Bench) -> str:
    """Jobs leave the queue 2 s after their end, there is no sacct, and the runner is away meanwhile."""
    pipeline = pipelines.sleepers(8, 1)
    with Cluster(min_job_age=2) as cluster:
        project = bench.project(pipeline, cluster=cluster)
        run = project.run()
        run.until("all stages are submitted", lambda: len(project.tasks()) == 8)
        run.kill()
        until("Slurm has forgotten all jobs", 120, lambda: not project.tasks())
        again = project.run()
        again.succeed()
        number = max(task.job for task in project.tasks())
        once_each(project)
        require(number == project.last_job + 9, f"{number - project.last_job} jobs for 9 stages")
        count = bench.finish(project, again, pipeline)
    return f"eight jobs forgotten, their results taken, 1 submitted, {count} results"


@long
def forgotten_cancelled_job(bench: Bench) -> str:
    """A job that left no result, and that Slurm has forgotten when the next run comes: only lost, so again."""
    pipeline = pipelines.sleepers(2, 5)
    with Cluster(min_job_age=2) as cluster:
        project = bench.project(pipeline, cluster=cluster)
        run = project.run()
        begun(project, run, 2)
        run.kill()
        cluster.call("scancel", project.tasks("RUNNING")[0].id)
        until("Slurm has forgotten it", 120, lambda: len(project.tasks()) < 2)
        count = bench.finish(project, project.run(), pipeline)
        once_each(project, but=1)
    return f"one job lost without a trace and submitted again, {count} results"


# Too little space, too little memory, other states.


@scenario
def full_scratch(bench: Bench) -> str:
    pipeline = pipelines.full_scratch()
    disk = bench.folder / "scratch"
    with tmpfs(disk, "64k"):
        project = bench.project(pipeline, {"scratch": f'"{disk}"'})
        run = project.run("-k")
        code = run.wait(60)
        require(code == 1, f"code {code}: {run.last_words()}")
        failures = run.failures()
        require(list(failures) == ["large"], f"failed: {failures}")
        require("No space left on device" in failures["large"], f"not clear: {failures['large']}")
        require("\n" not in failures["large"].strip(), f"more than a line: {failures['large']}")
        require(run.summary()["executed"] == 4, f"the rest did not go on: {run.summary()}")
        left = [path.name for path in disk.iterdir()]
        require(not left, f"left in the scratch folder: {left}")
    project.write_site({"scratch": f'"{bench.folder / "roomy"}"'})
    (bench.folder / "roomy").mkdir()
    bench.finish(project, project.run(), pipeline)
    return failures["large"]


@scenario
def no_scratch(bench: Bench) -> str:
    """The scratch folder can't be made on the nodes: one clear line, not a lost job."""
    project = bench.project(pipelines.sleepers(1, 0), {"scratch": '"/proc/none/scratch"'})
    run = project.run()
    code = run.wait(60)
    require(code == 1, f"code {code}: {run.last_words()}")
    message = run.failures().get("work-1", "")
    require("scratch" in message, f"not clear: {message or run.last_words()}")
    return message


@contextlib.contextmanager
def tmpfs(folder: Path, size: str) -> Iterator[None]:
    """Mounts a small disk."""
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", folder], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise LeftOut(f"this user may not mount a disk ({done.stderr.strip()})")
    try:
        yield
    finally:
        until("the disk is free again", 20, lambda: subprocess.run(["umount", folder], stderr=subprocess.DEVNULL).returncode == 0)


@scenario
def out_of_memory(bench: Bench) -> str:
    """Slurm ends a job that takes more than it asked for; without cgroups it calls that FAILED."""
    pipeline = pipelines.memory(500)
    bench.start_reference(pipeline)
    project = bench.project(pipeline, {"resources": '[(memory: "200MB", most_memory: "1GB", time: "10min")]'})
    run = project.run()
    count = bench.finish(project, run, pipeline)
    asked = [fields[1] for fields in bench.cluster.squeue(fields="JobID,MinMemory") if int(fields[0]) > project.last_job]
    notes = run.notes("memory")
    require(notes, f"nobody was told: {run.last_words()}")
    return f"{len(asked)} jobs that asked for {sorted(asked)}, {count} result: {notes[0]}"


def told_state(bench: Bench, state: str, site: dict[str, str] | None = None) -> tuple[Project, Run, Task, str]:
    """Kills a job's processes, and has squeue tell a state of it that this cluster never has."""
    pipeline = pipelines.sleepers(2, 3)
    project = bench.project(pipeline, site)
    rewriting(project)
    run = project.run()
    begun(project, run, 2)
    job = running(project, run)
    (project.folder / "rewrite.sed").write_text(f"/^{job.id}|/s/|\\(FAILED\\|CANCELLED\\)|/|{state}|/\n")
    bench.cluster.call("scancel", "--signal=KILL", "--full", job.id)
    return project, run, job, pipeline


def rewriting(project: Project) -> None:
    """Puts a squeue before the real one that edits what it says."""
    folder = project.folder / "bin"
    folder.mkdir()
    (project.folder / "rewrite.sed").write_text("")
    real = shutil.which("squeue")
    script = f"#!/bin/sh\nset -e\nout=$({real} \"$@\")\nprintf '%s\\n' \"$out\" | sed -f {project.folder}/rewrite.sed\n"
    (folder / "squeue").write_text(script)
    (folder / "squeue").chmod(0o755)
    project.path = [folder]


@scenario
def state_out_of_memory(bench: Bench) -> str:
    project, run, job, pipeline = told_state(bench, "OUT_OF_MEMORY")
    run.until("it is submitted again", lambda: run.notes("memory", "submitted again"), 20)
    count = bench.finish(project, run, pipeline)
    asked = {fields[0]: fields[1] for fields in bench.cluster.squeue(fields="JobArrayID,MinMemory")}
    last = max(project.tasks(), key=lambda task: task.job)
    again = [task.id for task in project.tasks() if job.job < task.job and task.id != last.id]
    require(again and asked[again[0]] != asked[job.id], f"asked again for {asked[again[0]]} as before")
    return f"{asked[job.id]}, then {asked[again[0]]}, {count} results: {run.notes('memory')[0]}"


@scenario
def state_boot_fail(bench: Bench) -> str:
    project, run, job, pipeline = told_state(bench, "BOOT_FAIL")
    run.until("it is submitted again", lambda: run.notes("failed", "submitted again"), 20)
    count = bench.finish(project, run, pipeline)
    require(f"ExcNodeList={job.node}\n" in bench.cluster.call("scontrol", "show", "job"), f"{job.node} is not excluded")
    return f"{count} results: {run.notes('submitted again')[0]}"


@scenario
def state_deadline(bench: Bench) -> str:
    project, run, job, pipeline = told_state(bench, "DEADLINE")
    code = run.wait(30)
    messages = list(run.failures().values())
    require(code == 1 and len(messages) == 1, f"code {code}, {messages}: {run.last_words()}")
    require("deadline" in messages[0] and job.id in messages[0], f"not clear: {messages[0]}")
    bench.finish(project, project.run(), pipeline)
    return messages[0]


@long
def state_of_a_later_version(bench: Bench) -> str:
    """A word that nobody knows is taken for a job that is still there."""
    pipeline = pipelines.sleepers(2, 3)
    project = bench.project(pipeline)
    rewriting(project)
    (project.folder / "rewrite.sed").write_text("s/|RUNNING|/|HALF_GONE|/\n")
    run = project.run()
    run.until("it is told", lambda: run.notes("HALF_GONE"), 20)
    count = bench.finish(project, run, pipeline)
    once_each(project)
    return f"{count} results: {run.notes('HALF_GONE')[0]}"


# Commands.


@scenario
def detached(bench: Bench) -> str:
    """The runner is a job too; `status` shows the queue, `--wait` joins."""
    pipeline = pipelines.sleepers(8, 3)
    project = bench.project(pipeline)
    began = time.monotonic()
    code = project.run("--detach").wait(20)
    took = time.monotonic() - began
    require(code == 0, f"--detach: code {code}: {project.runs[-1].last_words()}")
    until("stages run", 30, lambda: sum(project.executed().values()) >= 6)
    status = project.start("status", "pipeline.ron")
    require(status.wait(20) == 0, f"status: code {status.code}: {status.last_words()}")
    waiting = project.tasks("PENDING")
    require(not waiting or waiting[0].id in status.text(), f"status does not show job {waiting[0].id}: {status.last_words(12)}")
    joined = project.run("--wait")
    count = bench.finish(project, joined, pipeline)
    once_each(project)
    return f"submitted in {took:.1f} s, joined, {count} results, {len(project.tasks())} jobs"


@scenario
def cancelled_from_another_shell(bench: Bench) -> str:
    pipeline = pipelines.sleepers(12, 3)
    project = bench.project(pipeline)
    require(project.run("--detach").wait(20) == 0, f"--detach: {project.runs[-1].last_words()}")
    until("stages run", 30, lambda: sum(project.executed().values()) >= 4)
    cancel = project.start("cancel", "pipeline.ron")
    require(cancel.wait(20) == 0, f"cancel: code {cancel.code}: {cancel.last_words()}")
    until("no job is left", 20, lambda: not project.tasks("RUNNING", "PENDING", "COMPLETING"))
    time.sleep(2)
    live = project.tasks("RUNNING", "PENDING")
    require(not live, f"submitted after the cancellation: {live}")
    count = bench.finish(project, project.run(), pipeline)
    return f"{cancel.last_words(1)}; the next run finished, {count} results"


@long
def cancelled_beside_its_runner(bench: Bench) -> str:
    """The runner still waits for the jobs that another shell cancels."""
    pipeline = pipelines.sleepers(4, 5)
    project = bench.project(pipeline)
    run = project.run()
    begun(project, run, 4)
    cancel = project.start("cancel", "pipeline.ron")
    require(cancel.wait(20) == 0, f"cancel: code {cancel.code}: {cancel.last_words()}")
    code = run.wait(30)
    require(code in (1, 130), f"code {code}: {run.last_words()}")
    until("no job is left", 10, lambda: not project.tasks("RUNNING", "PENDING", "COMPLETING"))
    bench.finish(project, project.run(), pipeline)
    return f"the runner ended with code {code}: {next(iter(run.failures().values()), 'no failure')}"


@scenario
def site(bench: Bench) -> str:
    project = bench.project(pipelines.sleepers(1, 0))
    shown = project.start("site")
    require(shown.wait(20) == 0, f"code {shown.code}: {shown.last_words()}")
    polls = [event for event in shown.events() if event.get("setting") == "poll"]
    require(polls and polls[0]["line"] and polls[0]["file"], f"poll without its place: {polls}")
    (project.folder / "sites.ron").write_text('(sites: {"test": (poll: "3 moments")})\n')
    wrong = project.start("site")
    code = wrong.wait(20)
    require(code == 2 and "moments" in wrong.text(), f"a mistake in the file: code {code}: {wrong.last_words()}")
    return f"poll is from line {polls[0]['line']}; a mistake is shown with its place"


@scenario
def doctor(bench: Bench) -> str:
    project = bench.project(pipelines.sleepers(1, 0))
    run = project.start("doctor")
    code = run.wait(60)
    require(code == 0, f"code {code}: {run.last_words(20)}")
    jobs = [task for task in bench.cluster.squeue() if int(task[0].split("_")[0]) > project.last_job]
    require(jobs, f"no job was submitted: {run.last_words(20)}")
    return f"{len(jobs)} job, {len(run.text().splitlines())} lines"


def outcome(bench: Bench, name: str, keeps: bool) -> bool:
    """Runs one scenario and prints a line; returns whether it went well."""
    began = time.monotonic()
    took = lambda: f"{time.monotonic() - began:.1f} s"  # noqa: E731
    try:
        said = SCENARIOS[name](bench)
        print(f"ok {name} ({took()}): {said}", flush=True)
        return True
    except LeftOut as reason:
        print(f"left out {name}: {reason}", flush=True)
        return True
    except (Wrong, ClusterError, subprocess.TimeoutExpired) as wrong:
        where = f" [{bench.projects[-1].folder}]" if keeps and bench.projects else ""
        print(f"FAILED {name} ({took()}): {wrong}{where}", flush=True)
        return False
    finally:
        bench.tidy()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Runs pipelines on a Slurm of its own, and disturbs them.")
    parser.add_argument("--program", type=Path, help="the pcae-run to check")
    parser.add_argument("--only", nargs="+", metavar="NAME", default=[], help="these scenarios (name or glob)")
    parser.add_argument("--long", action="store_true", help="also those that take minutes")
    parser.add_argument("--list", action="store_true", help="list the scenarios")
    parser.add_argument("--keep", action="store_true", help="keep the folders, and tell where they are")
    given = parser.parse_args()
    if given.program is None and not given.list:
        parser.error("--program is needed")
    return given


def main() -> int:
    given = arguments()
    chosen = [name for name in SCENARIOS if given.only or given.long or name not in LONG]
    if given.only:
        chosen = [name for name in chosen if any(fnmatch.fnmatch(name, pattern) for pattern in given.only)]
    if given.list:
        for name in SCENARIOS:
            print(f"{name} (with --long)" if name in LONG else name)
        return 0
    missing = missing_packages()
    if missing:
        sys.exit(f"Slurm is not installed: apt-get install --no-install-recommends {' '.join(missing)}")
    if not chosen:
        sys.exit("no such scenario; --list names them")
    # So that everything started here is ended, too.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit("stopped"))
    folder = Path(tempfile.mkdtemp(prefix="slurm-check-"))
    bench = Bench(given.program.resolve(), folder)
    try:
        for name, seconds in SECONDS.items():
            BEFOREHAND[name] = pipelines.training_for(bench.program, seconds)
        for name in BEFOREHAND.keys() & chosen:
            bench.start_reference(BEFOREHAND[name])
        with bench.cluster:
            results = [outcome(bench, name, given.keep) for name in chosen]
    except KeyboardInterrupt:
        sys.exit("stopped")
    finally:
        bench.close()
        if not given.keep:
            shutil.rmtree(folder, ignore_errors=True)
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    return int(not all(results))


if __name__ == "__main__":
    sys.exit(main())
