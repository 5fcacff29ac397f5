#!/usr/bin/env python3
"""Compares the relevance of trained models with PyTorch: the decoder is rebuilt from its weights.

Runs the part of pipelines/tour.ron that it needs (a minute, if nothing is cached) with Jacobians at all
images, since only the program knows which ones it draws. Exports models and their relevance records,
encodes and differentiates with the rebuilt networks in double precision, and compares weights,
variances, scores and counts.

    python3 tests/real/relevance.py --program target/release/pcae-run [--cache FOLDER]

Needs numpy and torch. Ends with code 1 if any number differs by more than 1e-4.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional as F

ROOT = Path(__file__).resolve().parents[2]
PIPELINE = ROOT / "pipelines/tour.ron"
TOLERANCE = 1e-4


def read_weights(file: Path) -> dict[str, torch.Tensor]:
    """Reads a safetensors file of 32-bit floats: a length, a JSON header, then the arrays."""
    data = file.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    arrays = {}
    for name, about in json.loads(data[8:start]).items():
        begin, end = about["data_offsets"]
        array = np.frombuffer(data[start + begin:start + end], dtype="<f4").astype(np.float64)
        arrays[name] = torch.from_numpy(array.reshape(about["shape"]))
    return arrays


class Network:
    """The network of the pipeline, from its weights alone: two halvings, two doublings."""

    def __init__(self, weights: dict[str, torch.Tensor]):
        self.weights = weights

    def layer(self, name: str) -> tuple[torch.Tensor, torch.Tensor]:
        return self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]

    def encode(self, images: torch.Tensor) -> torch.Tensor:
        for index in range(2):
            images = F.relu(F.conv2d(images, *self.layer(f"encoder.convolutions.{index}"), 2, 1))
        codes = F.linear(images.flatten(1), *self.layer("encoder.to_latent"))
        index = 0
        while f"linear.{index}.weight" in self.weights:
            codes = F.linear(codes, self.weights[f"linear.{index}.weight"])
            index += 1
        return codes

    def decode(self, codes: torch.Tensor) -> torch.Tensor:
        hidden = F.linear(codes, *self.layer("decoder.from_latent")).view(len(codes), -1, 4, 4)
        hidden = F.conv_transpose2d(hidden, *self.layer("decoder.convolutions.0"), 2, 1)
        hidden = F.conv_transpose2d(F.relu(hidden), *self.layer("decoder.convolutions.1"), 2, 1)
        return hidden.flatten(1)  # logits: all models here are trained on cross-entropy

    def jacobian(self, codes: torch.Tensor) -> np.ndarray:
        """Returns `[images, outputs, latent]`, one image at a time by reverse mode."""
        one = lambda code: self.decode(code[None])[0]
        return np.stack([torch.autograd.functional.jacobian(one, code).numpy() for code in codes])


def export(program: Path, pipeline: Path, cache: Path, stage: str, target: Path) -> Path:
    args = [program, "export", stage, target, pipeline, "--cache", cache]
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
            files = export(program, pipeline, cache, f"train-{model}-0", work / model)
            network = Network(read_weights(files / "weights.safetensors"))
            with torch.no_grad():
                codes = network.encode(images)
            jacobian = network.jacobian(codes)
            for form in ["code", "paper"]:
                for basis in ["own", "principal"]:
                    name = f"relevance-{model}-{basis}-{form}"
                    folder = export(program, pipeline, cache, name, work / name)
                    fine &= compare(model, form, basis, folder, codes, jacobian)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
