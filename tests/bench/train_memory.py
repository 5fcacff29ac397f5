#!/usr/bin/env python3
"""How much memory does a PCAE training on dSprites take, beside a plain loop in PyTorch?

Both sides hold what the paper's run holds: 64,512 images of 64 x 64 as bytes, a table of distances
between 5,000 anchors in single precision, and for each image its nearest anchor. Both train the
paper's network with Adam on batches of 256, made from bytes when they are needed. In PyTorch's
table are distances between random factors: memory does not depend on their values.

    python3 tests/bench/train_memory.py [--steps 40]
    python3 tests/bench/train_memory.py --pcae-run PATH --pipeline tests/bench/train_memory.ron

The first needs numpy and PyTorch 2.9 and measures PyTorch alone. The second also runs the pipeline
up to the stage that trains, then that stage again, which alone is measured. Prints one line of
JSON: peaks of resident memory in MB, of the largest process on each side, PyTorch's before there
were data, and the ratio of PyTorch's peak to ours, with that start and without it.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

IMAGES, SIDE, ANCHORS, BATCH, LATENT = 64_512, 64, 5_000, 256, 16
# Steps that are not timed: the first ones allocate.
WARM_UP = 3


def megabytes(peak):
    """Returns a peak that the kernel reports in units of 1024 bytes."""
    return round(peak * 1024 / 1e6, 1)


def draw_ellipses(factors):
    """Returns images of dSprites' ellipses, as bytes; rows of factors are scale, angle, x, y."""
    import numpy as np

    places = np.arange(SIDE, dtype=np.float32)
    images = np.empty((len(factors), 1, SIDE, SIDE), np.uint8)
    for first in range(0, len(factors), BATCH):
        block = factors[first : first + BATCH]
        scale, angle, x, y = (column[:, None, None] for column in block.T)
        across, down = places[None, None, :] - 16 - 32 * x, places[None, :, None] - 16 - 32 * y
        along = np.cos(angle) * across + np.sin(angle) * down
        aside = np.cos(angle) * down - np.sin(angle) * across
        inside = (along / (12.76 * scale)) ** 2 + (aside / (7.215 * scale)) ** 2 <= 1
        images[first : first + BATCH, 0] = 255 * inside.astype(np.uint8)
    return images


def blocks_of_distances(points, anchors):
    """Yields distances of some points to all anchors at a time, so that little is held at once."""
    import numpy as np

    for first in range(0, len(points), BATCH):
        block = points[first : first + BATCH]
        squared = (block**2).sum(1)[:, None] + (anchors**2).sum(1)[None] - 2 * block @ anchors.T
        yield slice(first, first + BATCH), np.sqrt(np.maximum(squared, 0))


def train(steps):
    """Trains in PyTorch and prints its speed, and its peak before there were data.

    Runs in a process of its own.
    """
    import numpy as np
    import torch
    from torch import nn

    torch.manual_seed(0)
    widths = [1, 32, 32, 64, 64]
    down, up = [], []
    for a, b in zip(widths, widths[1:]):
        down += [nn.Conv2d(a, b, 4, 2, 1), nn.ReLU()]
        up = [nn.ReLU(), nn.ConvTranspose2d(b, a, 4, 2, 1), *up]
    encoder = nn.Sequential(*down, nn.Flatten(), nn.Linear(1024, LATENT))
    # The first ReLU would follow the fully connected layer, which has none.
    decoder = nn.Sequential(nn.Linear(LATENT, 1024), nn.Unflatten(1, (64, 4, 4)), *up[1:])
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], 1e-4)
    # Libraries and network: this part depends on how PyTorch was built, the rest on the training.
    started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    random = np.random.default_rng(0)
    ranges = np.array([[0.5, 1], [0, 28 * np.pi / 39], [0, 1], [0, 1]], np.float32)
    shares = random.random((IMAGES, 4), np.float32)
    factors = ranges[:, 0] + (ranges[:, 1] - ranges[:, 0]) * shares
    images = torch.from_numpy(draw_ellipses(factors))
    anchors = factors[random.choice(IMAGES, ANCHORS, replace=False)]
    table, nearest = np.empty((ANCHORS, ANCHORS), np.float32), np.empty(IMAGES, np.int64)
    for rows, distances in blocks_of_distances(anchors, anchors):
        table[rows] = distances
    for rows, distances in blocks_of_distances(factors, anchors):
        nearest[rows] = distances.argmin(1)
    table, nearest = torch.from_numpy(table), torch.from_numpy(nearest)

    gamma = torch.arange(1, LATENT + 1) * 1.9 / LATENT
    order = torch.randperm(IMAGES)
    for step in range(steps):
        if step == WARM_UP:
            start = time.perf_counter()
        at = step * BATCH % (IMAGES - BATCH + 1)
        rows = order[at : at + BATCH]
        x = images[rows].float().div_(255)
        near = nearest[rows]
        wanted = table[near[:, None], near[None]].square()
        codes = encoder(x)
        logits = decoder(codes)
        error = nn.functional.binary_cross_entropy_with_logits(logits, x, reduction="sum") / BATCH
        squares = codes.square().sum(1)
        between = squares[:, None] + squares[None] - 2 * codes @ codes.T
        variance = (gamma * codes.var(0, unbiased=False)).sum()
        loss = error + 5e-3 * (variance + (between - wanted).abs().mean())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()
    seconds = time.perf_counter() - start
    print(json.dumps({
        "version": torch.__version__,
        "started_mb": megabytes(started),
        "threads": torch.get_num_threads(),
        "steps_per_second": round((steps - WARM_UP) / seconds, 3),
    }))


def run(command, folder):
    """Runs a command; returns what it printed and the largest peak of it and its children, in MB.

    The kernel starts a child's peak from that of the process which started it: this one has to stay
    small, and imports neither NumPy nor PyTorch.
    """
    output = Path(folder) / "output"
    with output.open("w") as stream:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stream)
        _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with code {child.returncode}")
    return output.read_text(), megabytes(usage.ru_maxrss)


def measure_pytorch(steps, folder):
    printed, peak = run([sys.executable, __file__, "--worker", "--steps", str(steps)], folder)
    return {"peak_mb": peak, **json.loads(printed)}


def measure_pcae_run(given, folder):
    """Measures the training stage alone: what it reads is made before."""
    kept = ["--cache", f"{folder}/cache", "--reports", f"{folder}/reports"]
    base = [given.pcae_run, given.pipeline, *kept]
    run([*base, "--until", given.stage], folder)
    start = time.perf_counter()
    _, peak = run([*base, "--only", given.stage, "--force", given.stage], folder)
    return {"peak_mb": peak, "seconds": round(time.perf_counter() - start, 2)}


def arguments():
    parser = argparse.ArgumentParser(description="Measures the peak memory of a training.")
    parser.add_argument("--pcae-run", metavar="PATH", help="the pcae-run to measure")
    parser.add_argument("--pipeline", metavar="FILE", help="the same training as a pipeline")
    parser.add_argument("--stage", default="train", help="its stage that trains")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if (given.pcae_run is None) != (given.pipeline is None):
        parser.error("--pcae-run and --pipeline go together")
    if given.pcae_run and shutil.which(given.pcae_run) is None:
        parser.error(f"no program at `{given.pcae_run}`")
    if given.steps <= WARM_UP:
        parser.error(f"--steps starts from {WARM_UP + 1}")
    return given


def main():
    given = arguments()
    if given.worker:
        train(given.steps)
        return
    with tempfile.TemporaryDirectory(prefix="train-memory-") as folder:
        found = {"benchmark": "train_memory", "steps": given.steps,
                 "pytorch": measure_pytorch(given.steps, folder)}
        if given.pcae_run:
            found["pcae_run"] = measure_pcae_run(given, folder)
            peak, ours = found["pytorch"]["peak_mb"], found["pcae_run"]["peak_mb"]
            found["ratio"] = round(peak / ours, 2)
            found["ratio_without_start"] = round((peak - found["pytorch"]["started_mb"]) / ours, 2)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
