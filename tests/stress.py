#!/usr/bin/env python3
"""Does the cache survive kills, power cuts, full disks and many runners at once?

Each round disturbs runs of a small pipeline, then runs it undisturbed and compares every result and
every file with those of a run that nobody ever disturbed. Nothing may be lost, wrong or left behind.

    python3 tests/stress.py --program PATH [--kills 390] [--cuts 90] [--full 70] [--concurrent 160]

Power cuts (an ext4 image whose journal is shut down) and full disks (a small tmpfs) need the right to
mount; without it they are left out, and the last lines say so. Ends with code 1 if anything is wrong.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PIPELINE = """Pipeline(name: "stress", axes: {"n": ["1", "2", "3", "4"]}, stages: {
    "make-{n}": Command(args: ["sh", "-c", "set -e; head -c ${0}00000 /dev/zero | tr '\\\\0' $0 > big; sleep 0.0$0; echo $0 > small", Axis(n)], outputs: ["big", "small"]),
    "copy-{n}": Command(args: ["sh", "-c", "cat inputs/x/big inputs/x/small > both"], inputs: {"x": "make-{n}"}, outputs: ["both"]),
    "tree-{n}": Command(args: ["sh", "-c", "set -e; mkdir out; (sleep 0.05; echo late > out/late) & echo $0 > out/now; wait $!", Axis(n)], outputs: ["out"]),
    "all": Command(args: ["sh", "-c", "cat inputs/b/*/both inputs/t/*/out/* > all"], families: {"b": Each("copy-{n}"), "t": Each("tree-{n}")}, outputs: ["all"]),
})
"""
STAGES = 13


class Wrong(Exception):
    """Something that must not happen, with what was seen."""


class Folder:
    """A folder with the pipeline in it, and the program run there."""

    def __init__(self, program: str, path: Path) -> None:
        self.program = program
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        (path / "pipeline.ron").write_text(PIPELINE)

    def start(self, *args: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [self.program, *args], cwd=self.path, stdin=subprocess.DEVNULL, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )

    def call(self, *args: str) -> tuple[int, str, str]:
        child = self.start(*args)
        out, err = child.communicate(timeout=120)
        return child.returncode, out, err

    def results(self) -> dict[str, object]:
        found = {}
        for path in (self.path / "cache/entries").glob("*/*.json"):
            entry = json.loads(path.read_text())
            found[entry["key"]] = entry["artifact"]
        return found

    def objects(self) -> dict[str, bytes]:
        root = self.path / "cache/objects"
        return {str(path.relative_to(root)): path.read_bytes() for path in root.glob("*/*")}

    def compare(self, reference: Folder, what: str) -> None:
        """Runs to the end, and compares with a run that nobody disturbed."""
        code, _, err = self.call("pipeline.ron")
        if code != 0:
            raise Wrong(f"{what}: the next run failed: {err}")
        if self.results() != reference.results():
            raise Wrong(f"{what}: other results")
        if any(self.objects().get(name) != data for name, data in reference.objects().items()):
            raise Wrong(f"{what}: other files")
        code, _, err = self.call("cache", "verify")
        if code != 0:
            raise Wrong(f"{what}: {err}")
        code, out, err = self.call("pipeline.ron", "--json")
        if code != 0 or json.loads(out.splitlines()[-1])["executed"] != 0:
            raise Wrong(f"{what}: not cached after a run: {out}{err}")
        left = [str(p) for f in ("jobs", "work") for p in (self.path / "cache" / f).iterdir()]
        if left:
            raise Wrong(f"{what}: left behind: {left}")


def children(process: int) -> list[int]:
    try:
        text = Path(f"/proc/{process}/task/{process}/children").read_text()
    except OSError:
        return []
    return [int(child) for child in text.split()]


def descendants(process: int) -> list[int]:
    below = children(process)
    return below + [found for child in below for found in descendants(child)]


def kill(process: int) -> None:
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        pass


def kills(program: str, reference: Folder, work: Path, rounds: int) -> str:
    """Kills runners, stages, programs, and all of them at once."""
    events = 0
    for number in range(rounds):
        folder = Folder(program, work / f"kill-{number}")
        runner = folder.start("pipeline.ron", "-j", "2")
        for _ in range(random.randint(1, 3)):
            time.sleep(random.uniform(0.0, 0.15))
            if runner.poll() is not None:
                break
            # Not what a program itself starts: a shell may well go on without a part of its pipe.
            below = descendants(runner.pid)
            stages = children(runner.pid)
            programs = [found for stage in stages for found in children(stage)]
            victims = random.choice(
                [[runner.pid], stages[:1], programs[:1], below, [runner.pid, *below]]
            )
            for victim in victims:
                kill(victim)
            events += len(victims)
        kill(runner.pid) if random.random() < 0.5 else None
        runner.communicate(timeout=120)
        folder.compare(reference, f"kill {number}")
        shutil.rmtree(folder.path)
    return f"{rounds} killed runs, {events} kills: nothing lost"


def concurrent(program: str, reference: Folder, work: Path, runs: int) -> str:
    """Eight runners on one cache, with a collector and a verifier beside them."""
    together = 8
    for number in range(-(-runs // together)):
        folder = Folder(program, work / f"concurrent-{number}")
        runners = [folder.start("pipeline.ron", "--json") for _ in range(together)]
        others = [folder.start("cache", "verify"), folder.start("gc", "pipeline.ron", "--delete")]
        executed = 0
        for runner in runners:
            out, err = runner.communicate(timeout=120)
            if runner.returncode != 0:
                raise Wrong(f"concurrent {number}: {out[-500:]}{err}")
            executed += json.loads(out.splitlines()[-1])["executed"]
        for other in others:
            out, err = other.communicate(timeout=120)
            if other.returncode not in (0, 75):
                raise Wrong(f"concurrent {number}: {other.args}: {other.returncode} {out}{err}")
        if executed != STAGES:
            raise Wrong(f"concurrent {number}: {executed} executions of {STAGES} stages")
        folder.compare(reference, f"concurrent {number}")
        shutil.rmtree(folder.path)
    return f"{runs} runs, {together} at a time: every stage executed once"


def mounted(*args: str) -> bool:
    return subprocess.run(["mount", *args], stderr=subprocess.DEVNULL, check=False).returncode == 0


def unmount(path: Path) -> None:
    for _ in range(100):
        if subprocess.run(["umount", path], stderr=subprocess.DEVNULL, check=False).returncode == 0:
            return
        time.sleep(0.05)
    raise Wrong(f"{path} is still in use")


def full_disks(program: str, reference: Folder, work: Path, rounds: int) -> str:
    """Lets the disk run full at another place each time."""
    disk = work / "full"
    disk.mkdir()
    refused = 0
    for number in range(rounds):
        size = 100_000 + number * 40_000
        if not mounted("-t", "tmpfs", "-o", f"size={size}", "none", str(disk)):
            return "left out: full disks (this user may not mount one)"
        try:
            folder = Folder(program, disk / "run")
            code, _, err = folder.call("pipeline.ron")
            if code != 0:
                refused += 1
                if "No space left on device" not in err:
                    raise Wrong(f"full disk of {size}: {err}")
                if (folder.path / "cache/index.sqlite").exists():
                    code, _, err = folder.call("status", "pipeline.ron")
                    if code not in (0, 3):
                        raise Wrong(f"status on a full disk of {size}: {err}")
            mounted("-o", "remount,size=100m", str(disk))
            folder.compare(reference, f"full disk of {size}")
        finally:
            unmount(disk)
    return f"{rounds} disks, {refused} of them too small: nothing lost"


def power_cuts(program: str, reference: Folder, work: Path, rounds: int) -> str:
    """Shuts a file system down in the middle of a run, without writing its journal out."""
    shut_down, without_journal = 0x8004587D, 2
    image, disk = work / "image", work / "disk"
    disk.mkdir()
    for number in range(rounds):
        with image.open("wb") as file:
            file.truncate(100 << 20)
        subprocess.run(["mkfs.ext4", "-q", "-F", image], check=True)
        if not mounted("-o", "loop", str(image), str(disk)):
            return "left out: power cuts (this user may not mount an image)"
        folder = Folder(program, disk / "run")
        subprocess.run(["sync", "-f", disk], check=True)
        runner = folder.start("pipeline.ron")
        time.sleep(random.uniform(0.0, 0.4))
        handle = os.open(disk, os.O_RDONLY)
        fcntl.ioctl(handle, shut_down, struct.pack("I", without_journal))
        os.close(handle)
        for process in [runner.pid, *descendants(runner.pid)]:
            kill(process)
        runner.communicate(timeout=120)
        unmount(disk)
        if not mounted("-o", "loop", str(image), str(disk)):
            raise Wrong("the file system can't be mounted again")
        try:
            folder.compare(reference, f"power cut {number}")
        finally:
            unmount(disk)
    return f"{rounds} power cuts: nothing lost"


def main() -> int:
    parser = argparse.ArgumentParser(description="Disturbs runs and compares what they leave.")
    parser.add_argument("--program", required=True)
    parser.add_argument("--kills", type=int, default=390)
    parser.add_argument("--cuts", type=int, default=90)
    parser.add_argument("--full", type=int, default=70)
    parser.add_argument("--concurrent", type=int, default=160)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    random.seed(given.seed)
    program = str(Path(given.program).absolute())
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="stress-") as name:
        work = Path(name)
        reference = Folder(program, work / "reference")
        if reference.call("pipeline.ron")[0] != 0:
            sys.exit("the pipeline does not run")
        kinds = [
            (kills, given.kills), (concurrent, given.concurrent),
            (full_disks, given.full), (power_cuts, given.cuts),
        ]
        for kind, count in kinds:
            began = time.monotonic()
            try:
                said = kind(program, reference, work, count) if count else "not asked for"
                passed += 1
            except Wrong as wrong:
                said = f"WRONG: {wrong}"
                failed += 1
            print(f"{kind.__name__}: {said} ({time.monotonic() - began:.0f} s)", flush=True)
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
