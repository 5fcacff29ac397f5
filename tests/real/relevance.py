#!/usr/bin/env python3
"""Compares the relevance of trained models with PyTorch, to which they are exported.

Runs the part of pipelines/tour.ron that it needs (a minute, if nothing is cached) with Jacobians at all
images, since only the program knows which ones it draws. Exports models for PyTorch and their relevance
records, encodes and differentiates in double precision, and compares weights, variances, scores and
counts. All models here are trained on cross-entropy, so logits are differentiated.

    python3 tests/real/relevance.py --program target/release/pcae-run [--cache FOLDER]

Needs numpy and torch. Ends with code 1 if any number differs by more than 1e-4.
"""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

ROOT = Path(__file__).resolve().parents[2]
PIPELINE = ROOT / "pipelines/tour.ron"
TOLERANCE = 1e-4


def jacobians(decoder: torch.nn.Module, codes: torch.Tensor) -> np.ndarray:
    """Returns `[images, outputs, latent]`, one image at a time by reverse mode."""
    one = lambda code: decoder.logits(code[None]).flatten()
    return np.stack([torch.autograd.functional.jacobian(one, code).numpy() for code in codes])


def export(
        program: Path, pipeline: Path, cache: Path, stage: str, target: Path, *options: str) -> Path:
    args = [program, "export", stage, target, pipeline, "--cache", cache, *options]
    subprocess.run(args, check=True, stdout=subprocess.DEVNULL)
    return target


def relative(found, expected) -> float:
    """Returns the largest difference, of the largest entry."""
    found, expected = np.asarray(found), np.asarray(expected)
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def count(scores: np.ndarray, percent: float) -> int:
    shares = np.cumsum(np.sort(scores)[::-1]) / scores.sum() * 100
    return int(np.argmax(shares > percent)) + 1


def compare(model: str, form: str, basis: str, folder: Path, codes: torch.Tensor,
            jacobian: np.ndarray) -> bool:
    """Compares one record with NumPy on PyTorch's Jacobian."""
    record = json.loads((folder / "record.json").read_text())
    if basis == "principal":
        values, axes = np.linalg.eigh(np.cov(codes.numpy().T, bias=True))
        axes, variances = axes[:, ::-1], values[::-1]
        jacobian = jacobian @ axes
    else:
        variances = codes.numpy().var(axis=0)
    if form == "code":
        weights = (np.abs(jacobian).mean(axis=0) ** 2).sum(axis=0)
    else:
        weights = (jacobian**2).sum(axis=1).mean(axis=0)
    scores = weights * variances
    prefix = "axis_" if basis == "principal" else ""
    lists = {"weights": weights, "variances": variances, "scores": scores}
    worst = max(relative(record[prefix + name], known) for name, known in lists.items())
    counts = [record["dimension"], record["dimension_99.9"]]
    expected = [count(scores, 99), count(scores, 99.9)]
    fine = worst < TOLERANCE and counts == expected
    print(f"{model:6} {form:6} {basis:10} worst difference {worst:.1e}, counts {counts}, "
          f"expected {expected}{'' if fine else '  DIFFERS'}")
    return fine


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--cache", type=Path)
    arguments = parser.parse_args()
    program = arguments.program.resolve()
    # Small networks: threads that wait for a busy core cost minutes.
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as work:
        work = Path(work)
        sys.path.insert(0, str(work))
        cache = (arguments.cache or work / "cache").resolve()
        pipeline = work / PIPELINE.name
        pipeline.write_text(PIPELINE.read_text().replace("images: 100,", "images: 3000,"))
        run = [program, pipeline, "--until", "relevance-*"]
        run += ["--cache", cache, "--reports", work / "reports"]
        subprocess.run(run, check=True, stdout=subprocess.DEVNULL)
        exported = export(program, pipeline, cache, "train-images", work / "images")
        images = np.load(exported / "images.npy")
        images = torch.from_numpy(images.astype(np.float64) / 255)
        fine = True
        # ARD-VAE draws its codes, with noise that only the program knows.
        for model in ["pcae", "irmae", "ae"]:
            export(program, pipeline, cache, f"train-{model}-0", work / model, "--pytorch")
            networks = importlib.import_module(f"{model}.model").load(work / model)
            encoder, decoder = (network.double() for network in networks)
            with torch.no_grad():
                codes = encoder(images)
            jacobian = jacobians(decoder, codes)
            for form in ["code", "paper"]:
                for basis in ["own", "principal"]:
                    name = f"relevance-{model}-{basis}-{form}"
                    folder = export(program, pipeline, cache, name, work / name)
                    fine &= compare(model, form, basis, folder, codes, jacobian)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
