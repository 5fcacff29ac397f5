"""A folder with a pipeline and a site file, runs of the program in it, and what they have left."""

from __future__ import annotations

import collections
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from cluster import Cluster, ClusterError, until

SITE = {
    "executor": "Slurm",
    "poll": '"300ms"',
    "grace": '"1s"',
    "pack": '"0s"',
    "warn_before": '"10s"',
    "submissions_per_minute": "6000",
    "partitions": '[(name: "main")]',
    "resources": '[(cpus: 1, memory: "600MB", time: "10min")]',
}


TASK = "JobArrayID,Name,State,Reason,NodeList,Partition"


class Wrong(Exception):
    """Something that must not happen, with what was seen."""


def require(holds: object, what: str) -> None:
    if not holds:
        raise Wrong(what)


class Task(NamedTuple):
    """A job or a task of an array, as squeue tells of it."""

    id: str
    name: str
    state: str
    reason: str
    node: str
    partition: str

    @property
    def job(self) -> int:
        return int(self.id.split("_")[0])


def tasks(cluster: Cluster) -> list[Task]:
    """Returns what is in the queue, and what has just left it, in the order of submission."""
    return sorted((Task(*fields) for fields in cluster.squeue(fields=TASK)), key=lambda task: (task.job, task.id))


class Run:
    """A run of the program. It prints into files, so that it never waits for who reads them."""

    def __init__(self, command: list[str], folder: Path, env: dict[str, str], log: Path) -> None:
        self.out, self.err = log.with_suffix(".out"), log.with_suffix(".err")
        self.began = time.monotonic()
        with self.out.open("wb") as out, self.err.open("wb") as err:
            self.process = subprocess.Popen(
                command, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
            )

    @property
    def code(self) -> int | None:
        return self.process.poll()

    def events(self, kind: str | None = None) -> list[dict[str, Any]]:
        """Returns what it has printed so far as JSON, all or those of one kind."""
        found = []
        for line in self.out.read_text().splitlines():
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if kind is None or event.get("event") == kind:
                found.append(event)
        return found

    def text(self) -> str:
        return self.out.read_text() + self.err.read_text()

    def notes(self, *words: str) -> list[str]:
        """Returns its notes that have all of these words."""
        notes = [event["message"] for event in self.events("note")] + self.err.read_text().splitlines()
        return [note for note in notes if all(word in note for word in words)]

    def failures(self) -> dict[str, str]:
        """Returns the messages of failed stages."""
        ended = self.events("stage-ended")
        return {event["stage"]: event["message"] or "" for event in ended if event["outcome"] == "failed"}

    def summary(self) -> dict[str, Any]:
        found = self.events("summary")
        require(found, f"no summary, code {self.code}: {self.last_words()}")
        return found[-1]

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def until(self, what: str, holds: Callable[[], object], seconds: float = 30) -> None:
        """Waits for something that happens while it runs."""
        def check() -> bool:
            found = bool(holds())
            require(found or self.code is None, f"{what}: it ended before that with code {self.code}: {self.last_words()}")
            return found

        try:
            until(what, seconds, check, 0.05)
        except ClusterError as error:
            raise Wrong(f"{error}: {self.last_words()}") from error

    def wait(self, seconds: float = 120) -> int:
        try:
            return self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Wrong(f"it did not end within {seconds:g} s: {self.last_words()}") from None

    def succeed(self, seconds: float = 120) -> dict[str, Any]:
        """Waits for its end, which must be a good one; returns the summary."""
        code = self.wait(seconds)
        require(code == 0, f"it ended with code {code}: {self.last_words()}")
        return self.summary()

    def kill(self) -> None:
        if self.code is None:
            self.process.kill()
            self.process.wait()

    def last_words(self, count: int = 6) -> str:
        lines = [line for line in self.text().splitlines() if line.strip()]
        return " / ".join(line[:400] for line in lines[-count:]) or "it said nothing"


class Project:
    """A folder of its own for a pipeline: its cache, its reports, its home."""

    def __init__(
        self, program: Path, folder: Path, pipeline: str, cluster: Cluster | None = None, site: dict[str, str] | None = None
    ) -> None:
        self.program, self.folder, self.cluster = program, folder, cluster
        self.runs: list[Run] = []
        folder.mkdir(parents=True)
        (folder / "pipeline.ron").write_text(pipeline)
        self.write_site(site or {})
        self.path: list[Path] = []
        # How folders are named on the command line.
        self.is_relative = False
        self.last_job = max((task.job for task in tasks(cluster)), default=0) if cluster else 0

    def write_site(self, changes: dict[str, str]) -> None:
        lines = "".join(f"    {name}: {value},\n" for name, value in {**SITE, **changes}.items())
        (self.folder / "sites.ron").write_text(f'(sites: {{"test": (\n{lines})}})\n')

    @property
    def cache(self) -> Path:
        return self.folder / "cache"

    @property
    def env(self) -> dict[str, str]:
        env = dict(self.cluster.env if self.cluster else os.environ, HOME=str(self.folder))
        env["PATH"] = os.pathsep.join([*map(str, self.path), env["PATH"]])
        return env

    def start(self, *args: str) -> Run:
        """Starts the program with the cache and the site of this project."""
        base = Path() if self.is_relative else self.folder
        command = [str(self.program), *args, "--cache", str(base / "cache"), "--reports", str(base / "reports"), "--json"]
        if self.cluster:
            command += ["--site", "sites.ron"]
        run = Run(command, self.folder, self.env, self.folder / f"run-{len(self.runs)}")
        self.runs.append(run)
        return run

    def run(self, *args: str) -> Run:
        """Starts a run of the pipeline, on the cluster if there is one."""
        executor = ["--executor", "slurm"] if self.cluster else []
        return self.start("pipeline.ron", *executor, *args)

    def close(self) -> None:
        for run in self.runs:
            run.kill()

    def executed(self) -> collections.Counter[str]:
        """Returns how often the program of each stage was started."""
        file = self.folder / "executed"
        return collections.Counter(file.read_text().split() if file.exists() else [])

    def results(self) -> dict[str, Any]:
        """Returns what is known of every artifact, by key: kinds, names, digests and sizes of files."""
        entries = [json.loads(path.read_text()) for path in (self.cache / "entries").glob("*/*.json")]
        return {entry["key"]: entry["artifact"] for entry in entries}

    def objects(self) -> dict[str, bytes]:
        root = self.cache / "objects"
        return {str(path.relative_to(root)): path.read_bytes() for path in root.glob("*/*")}

    def compare(self, reference: Project) -> int:
        """Makes sure that every result is that of another run, byte by byte; returns their number."""
        ours, theirs = self.results(), reference.results()
        require(ours.keys() == theirs.keys(), f"{len(ours.keys() ^ theirs.keys())} keys are of one run alone")
        differing = [key for key in theirs if ours[key] != theirs[key]]
        require(not differing, f"{len(differing)} of {len(theirs)} results have other bytes: {differing[:3]}")
        objects = self.objects()
        lost = [name for name, data in reference.objects().items() if objects.get(name) != data]
        require(not lost, f"{len(lost)} files of the cache differ: {lost[:3]}")
        return len(theirs)

    def check_end(self) -> None:
        """Makes sure of what must hold after every run that ended well."""
        again = self.run()
        summary = again.succeed()
        require(summary["executed"] == 0, f"the next run computed {summary['executed']} stages again")
        verified = self.start("cache", "verify")
        require(verified.wait() == 0, f"cache verify: {verified.last_words()}")
        left = [path.name for folder in ("jobs", "work") for path in (self.cache / folder).glob("*")]
        require(not left, f"left behind in the cache: {left[:6]}")

    def tasks(self, *states: str) -> list[Task]:
        """Returns the tasks that were submitted for this project, all or those in some states."""
        own = [task for task in tasks(self.cluster) if task.job > self.last_job and task.name.startswith("pcae-")]
        return [task for task in own if not states or task.state in states]

    def batches(self) -> list[dict[str, Any]]:
        """Returns the records of jobs in the cache."""
        return [json.loads(path.read_text()) for path in sorted((self.cache / "jobs").glob("*.batch"))]

    def stage_of(self, job: str) -> list[str]:
        """Returns the stages of a job that is recorded in the cache: `17` or `17_3`."""
        number, _, task = job.partition("_")
        tasks = [batch["tasks"] for batch in self.batches() if batch["job"] == number]
        return [stage["stage"] for stage in tasks[0][int(task or 0)]] if tasks else []
