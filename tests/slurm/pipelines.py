"""Pipelines of the checks.

Every program appends its stage's name to `executed` in the home folder: a stage that is computed
twice shows there. The home folder is the test's own, and not part of a key.
"""

from __future__ import annotations

import functools
import json
import math
import subprocess
import tempfile
import textwrap
from pathlib import Path

NOTE = 'echo {name} >> \\"$HOME/executed\\"'


def command(name: str, script: str, *, labels: str = "", more: str = "", output: str = "out") -> str:
    """Returns a stage that runs a shell; `$0` and so on are the labels."""
    args = ", ".join(['"sh"', '"-c"', f'"set -e; {NOTE.format(name=name)}; {script}"', *filter(None, [labels])])
    return f'Command(args: [{args}], {more}outputs: ["{output}"])'


def axis(name: str, count: int) -> str:
    labels = ", ".join(f'"{number}"' for number in range(1, count + 1))
    return f'"{name}": [{labels}]'


def pipeline(name: str, axes: str, stages: dict[str, str], more: str = "") -> str:
    lines = "".join(f'    "{stage}": {text},\n' for stage, text in stages.items())
    return f'Pipeline(name: "{name}", axes: {{{axes}}}, {more}stages: {{\n{lines}}})\n'


def sixty() -> str:
    """Sixty stages in three layers, with families, folders and files that are larger than a page."""
    return pipeline("sixty", axis("n", 19), {
        "make-{n}": command("make-$0", "head -c ${0}0000 /dev/zero | tr '\\\\0' x > out", labels="Axis(n)"),
        "tree-{n}": command("tree-$0", "mkdir out; echo $0 > out/a; echo $0 > out/b", labels="Axis(n)"),
        "copy-{n}": command("copy-$0", "cat inputs/x/out > out", labels="Axis(n)", more='inputs: {"x": "make-{n}"}, '),
        "trees": command("trees", "cat inputs/x/*/out/* > out", more='families: {"x": Each("tree-{n}")}, '),
        "copies": command("copies", "cat inputs/x/*/out | cksum > out", more='families: {"x": Each("copy-{n}")}, '),
        "all": command(
            "all", "cat inputs/x/out inputs/y/out > out", more='inputs: {"x": "trees", "y": "copies"}, '
        ),
    })


def sleepers(count: int, seconds: float) -> str:
    """Stages that take a while, and one that needs them all: more of them than there are processors."""
    return pipeline("sleepers", axis("n", count), {
        "work-{n}": command("work-$0", f"sleep {seconds}; echo $0 > out", labels="Axis(n)"),
        "all": command("all", "cat inputs/x/*/out > out", more='families: {"x": Each("work-{n}")}, '),
    })


def training(steps: int, seeds: int = 1) -> str:
    """A small experiment with data, distances, a training with checkpoints, measurements and a table."""
    return textwrap.dedent("""\
        Pipeline(
            name: "training",
            axes: { "seed": [%SEEDS] },
            stages: {
                "images": Dataset(
                    source: Dsprites(Render(size: 16, supersampling: 4, factors: Continuous(samples: 900, seed: 0))),
                    split: Train,
                ),
                "distances": Geodesic(data: "images", neighbors: 15),
                "train-{seed}": Train(
                    model: Pcae(
                        latent: 8, network: Conv(channels: [16, 32]), beta: 16.0, objective: Full,
                        gamma: Dynamic(threshold: 0.98, every: Steps(20)),
                    ),
                    data: "images", distances: "distances", length: Steps(%STEPS), batch_size: 256,
                    optimizer: Adam(rate: 3e-3), schedule: FlatThenCosine(flat: 0.5), seed: Axis(seed),
                ),
                "codes-{seed}": Encode(model: "train-{seed}", data: "images"),
                "dimension-{seed}": Estimate(points: "codes-{seed}", estimator: Variance(threshold: 0.99)),
                "quality-{seed}": Score(model: "train-{seed}", data: "images", metric: Reconstruction),
                "table": Table(
                    records: [Each("dimension-{seed}"), Each("quality-{seed}")],
                    caption: "Dimension", label: "Table 1", rows: ["seed"], over: [],
                    values: [
                        Value(field: "dimension", title: "Dimension"),
                        Value(field: "reconstruction", title: "Reconstruction (nats)"),
                    ],
                ),
            },
        )
        """).replace("%SEEDS", ", ".join(map(str, range(seeds)))).replace("%STEPS", str(steps))


@functools.cache
def steps_per_second(program: Path) -> float:
    """How fast the training above goes here, on one core."""
    steps = 400
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "pipeline.ron")
        path.write_text(training(steps))
        run = subprocess.run(
            [program, path, "-j", "1", "--until", "train-0", "--json"],
            check=True, capture_output=True, text=True,
        )
    events = [json.loads(line) for line in run.stdout.splitlines()]
    ended = [event for event in events if event.get("event") == "stage-ended" and event["stage"] == "train-0"]
    return steps / ended[0]["seconds"]


def training_for(program: Path, seconds: float) -> str:
    """The training above, of as many steps as take about this long here."""
    return training(math.ceil(steps_per_second(program) * seconds))


def full_scratch() -> str:
    """A stage that needs more temporary space than there is, and others that do not."""
    return pipeline("scratch", axis("n", 4), {
        "large": command("large", "head -c 1000000 /dev/zero > out"),
        "small-{n}": command("small-$0", "echo $0 > out", labels="Axis(n)"),
    })


def memory(megabytes: int) -> str:
    """A stage that fills memory and holds it for a while, so that Slurm sees it."""
    script = f"python3 -c 'import time; held = bytearray({megabytes} << 20); time.sleep(4)'; echo done > out"
    return pipeline("memory", "", {"greedy": command("greedy", script)})
