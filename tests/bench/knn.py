#!/usr/bin/env python3
"""How fast are the exact 20 nearest neighbors of all points found, beside scikit-learn's brute force?

Both sides search among 60,000 points with 784 coordinates: real MNIST if its folder is given, else
synthetic images of the same size (a few random blobs each, and a little noise). Ours is one run of the
stage `Neighbors`: its start, reading the points and the result on disk. scikit-learn's is the call
alone, NearestNeighbors(algorithm="brute") on single-precision points in memory, on all cores.

    python3 tests/bench/knn.py --program PATH [--data FOLDER] [--points 60000] [--rounds 2]

Needs numpy and scikit-learn. Both sides run by turns. Prints a table and one line of JSON. Ends with
code 1 if ours is less than 3 times as fast, or if a distance differs by more than rounding does.
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
from pathlib import Path

import numpy as np
import sklearn
from sklearn.neighbors import NearestNeighbors

WANTED_RATIO = 3.0
NEIGHBORS, SIDE = 20, 28
# scikit-learn's distances come from products of long vectors: that is how far they are off.
TOLERANCE = 1e-5
PIPELINE = """Pipeline(name: "knn", stages: {{
    "points": Dataset(source: Array(content: Images(layout: Nhw)), path: "images.npy"),
    "near": Neighbors(data: "points", count: {count}),
}})
"""


def digits(folder: Path, points: int) -> np.ndarray:
    """Reads the images of MNIST."""
    (path,) = folder.rglob("train-images-idx3-ubyte")
    return np.fromfile(path, np.uint8)[16:].reshape(-1, SIDE, SIDE)[:points]


def blobs(points: int) -> np.ndarray:
    """Draws images of five soft blobs each, with noise in every pixel."""
    random = np.random.default_rng(0)
    images = np.zeros((points, SIDE, SIDE), np.float32)
    grid = np.arange(SIDE, dtype=np.float32)
    for _ in range(5):
        x, y = random.uniform(6, SIDE - 6, (2, points, 1)).astype(np.float32)
        across = np.exp(-((grid - x) / 3) ** 2)
        down = np.exp(-((grid - y) / 3) ** 2)
        images += down[:, :, None] * across[:, None, :]
    images += 0.02 * random.standard_normal(images.shape, np.float32)
    return np.clip(200 * images, 0, 255).astype(np.uint8)


def run_ours(command: list[str], folder: Path) -> float:
    start = time.perf_counter()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    return time.perf_counter() - start


def main() -> int:
    parser = argparse.ArgumentParser(description="Measures the search for neighbors.")
    parser.add_argument("--program", required=True, help="the pcae-run to measure")
    parser.add_argument("--data", type=Path, help="a folder that has MNIST's training images")
    parser.add_argument("--points", type=int, default=60_000)
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    program = shutil.which(given.program)
    if program is None:
        sys.exit(f"no program at `{given.program}`")
    program = str(Path(program).absolute())
    before = round(os.getloadavg()[0], 2)
    images = digits(given.data, given.points) if given.data else blobs(given.points)
    points = images.reshape(len(images), -1).astype(np.float32) / 255
    search = NearestNeighbors(n_neighbors=NEIGHBORS, algorithm="brute", n_jobs=-1).fit(points)
    sides: dict[str, list[float]] = {"ours": [], "scikit-learn": []}
    with tempfile.TemporaryDirectory(prefix="knn-") as name:
        folder = Path(name)
        np.save(folder / "images.npy", images)
        pipeline = folder / "pipeline.ron"
        pipeline.write_text(PIPELINE.format(count=NEIGHBORS))
        run_ours([program, "pipeline.ron", "--until", "points"], folder)
        kept = folder / "kept"
        (folder / "cache").rename(kept)
        for _ in range(given.rounds):
            shutil.rmtree(folder / "cache", ignore_errors=True)
            shutil.copytree(kept, folder / "cache", symlinks=True)
            sides["ours"].append(run_ours([program, "pipeline.ron"], folder))
            start = time.perf_counter()
            expected, _ = search.kneighbors()
            sides["scikit-learn"].append(time.perf_counter() - start)
        run_ours([program, "export", "near", "found", "pipeline.ron"], folder)
        distances = np.load(folder / "found" / "distances.npy")

    difference = np.abs(distances - expected) / np.maximum(expected, 1e-3 * expected.mean())
    medians = {side: statistics.median(seconds) for side, seconds in sides.items()}
    ratio = medians["scikit-learn"] / medians["ours"]
    what = "MNIST" if given.data else "synthetic images"
    print(f"{len(points)} points of {what}, {points.shape[1]} coordinates, {NEIGHBORS} neighbors, "
          f"{os.cpu_count()} cores, load average {before}")
    for side, seconds in sides.items():
        print(f"{side:<14}{medians[side]:>9.2f} s   of {', '.join(f'{s:.2f}' for s in seconds)}")
    print(f"distances differ by at most {difference.max():.1e} of themselves")
    print(f"wanted: {WANTED_RATIO} times as fast; found: {ratio:.2f}")
    print(json.dumps({
        "benchmark": "knn",
        "points": list(points.shape),
        "data": what,
        "load_average": [before, round(os.getloadavg()[0], 2)],
        "scikit_learn": sklearn.__version__,
        "seconds": {side: [round(s, 3) for s in seconds] for side, seconds in sides.items()},
        "ratio": round(ratio, 2),
        "largest_difference": float(f"{difference.max():.2e}"),
    }))
    return int(ratio < WANTED_RATIO or difference.max() > TOLERANCE)


if __name__ == "__main__":
    sys.exit(main())
