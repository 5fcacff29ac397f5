#!/usr/bin/env python3
"""Compares models that `pcae-run export --pytorch` writes with the program's own.

Runs check.ron, which trains every model on every network, exports each, loads it in PyTorch, encodes
and decodes the samples, and compares codes, decoded images, reconstruction errors and, of classifiers,
features and errors. Traces each network. Then runs the Python in pipelines/README.md as it stands.

    python3 tests/pytorch/check.py --program target/release/pcae-run

Needs numpy and torch; takes a minute. Prints the largest difference of each model on each network, and
ends with code 1 if any is above 1e-5.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

HERE = Path(__file__).resolve().parent
README = HERE.parents[1] / "pipelines/README.md"
# Of pixels as they are, between 0 and 1; of codes, features and errors in units of the largest.
TOLERANCE = 1e-5
SAMPLES = 120
SHAPES = {"gray": (1, 16, 16), "color": (3, 16, 16), "wide": (3, 8, 16), "vectors": (6,)}


def write_samples(folder: Path) -> None:
    """Writes waves of three parameters; images in bytes."""
    draw = np.random.default_rng(0)
    for name, shape in SHAPES.items():
        parameters = draw.uniform(-1, 1, (SAMPLES, 3))
        waves = np.sin(2 * parameters @ draw.normal(size=(3, int(np.prod(shape)))))
        samples = waves.reshape(SAMPLES, *shape)
        if name != "vectors":
            samples = np.round(127.5 * (samples + 1)).astype(np.uint8)
        labels = (parameters[:, 0] > 0).astype(np.int64)
        np.savez(folder / f"{name}.npz", samples=samples, labels=labels)


class Program:
    """The program with one pipeline and one cache."""

    def __init__(self, path: Path, work: Path):
        self.path, self.work, self.pipeline = path, work, HERE / "check.ron"
        self.options = ["--cache", work / "cache", "--reports", work / "reports", "--data", work]

    def call(self, *args: object) -> str:
        args = [self.path, *args, *self.options]
        return subprocess.run(args, check=True, text=True, stdout=subprocess.PIPE).stdout

    def export(self, stage: str, *options: str) -> Path:
        folder = self.work / f"{stage}{''.join(options)}"
        self.call("export", stage, folder, self.pipeline, *options)
        return folder

    def samples_behind(self, kind: str) -> dict[str, str]:
        """Returns the stages whose names begin with a word, by what follows, with their samples."""
        found = {}
        for line in map(json.loads, self.call("graph", self.pipeline, "--json").splitlines()):
            if line["stage"].startswith(f"{kind}-"):
                samples = [name for name in line["inputs"] if name.startswith("samples-")]
                found[line["stage"].removeprefix(f"{kind}-")] = samples[0]
        return found


def check_pipeline(program: Program) -> None:
    """Makes sure that no model and no kind of network is missing in the pipeline."""
    known = json.loads(program.call("explain", "Train", "--json").splitlines()[0])["$defs"]
    words = set(re.findall(r"\w+", program.pipeline.read_text()))
    for choice in ["ModelSpec", "NetworkSpec", "PaperNetwork", "Trunk", "LastLayer"]:
        for variant in known[choice]["oneOf"]:
            name = variant.get("const") or next(iter(variant["properties"]))
            # What is left out in a pipeline file needs no word.
            assert name in words | {"Separate", "Doubles"}, f"{program.pipeline} lacks `{name}`"


class Samples:
    """Samples as a model takes them, and their classes."""

    def __init__(self, folder: Path):
        if (folder / "images.npy").exists():
            pixels = np.load(folder / "images.npy")
            self.values = torch.from_numpy(pixels.astype(np.float32) / 255)
        else:
            self.values = torch.from_numpy(np.load(folder / "points.npy"))
        self.classes = np.load(folder / "classes.npy")


def load(folder: Path):
    """Returns what `load` of an exported module returns."""
    spec = importlib.util.spec_from_file_location("model", folder / "model.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.load(folder)


def relative(found: np.ndarray, expected: np.ndarray) -> float:
    """Returns the largest difference in a column, in units of its largest entry unless all are zero."""
    assert found.shape == expected.shape, (found.shape, expected.shape)
    largest = np.abs(expected).max(axis=0)
    return float((np.abs(found - expected).max(axis=0) / np.where(largest > 0, largest, 1)).max())


def beyond_rounding(values: np.ndarray, data: np.ndarray) -> float:
    """Returns by how much values are off at least, if it is these bytes that they were rounded to.

    Among thousands of values some lie so close to where rounding changes that an error shows.
    """
    levels = np.clip(255 * values.astype(np.float64), 0, 255)
    return max(0.0, float(np.abs(levels - data).max()) - 0.5) / 255


def difference_when_traced(network: torch.nn.Module, inputs: torch.Tensor) -> float:
    traced = torch.jit.trace(network, inputs[:3])
    return float((traced(inputs) - network(inputs)).abs().max())


@torch.no_grad()
def check_model(program: Program, name: str, samples: Samples) -> dict[str, float]:
    encoder, decoder = load(program.export(f"train-{name}", "--pytorch"))
    codes = encoder(samples.values)
    decoded = decoder(codes)
    assert decoded.shape == samples.values.shape
    expected = np.load(program.export(f"codes-{name}") / "points.npy")
    record = json.loads((program.export(f"error-{name}") / "record.json").read_text())
    error = (decoded - samples.values).double().square().flatten(1).sum(1).mean().item()
    found = {
        "codes": relative(codes.numpy(), expected),
        "error": abs(error / record["squared_error"] - 1),
        "encoder traced": difference_when_traced(encoder, samples.values),
        "decoder traced": difference_when_traced(decoder, codes),
    }
    if decoded.dim() == 4:
        images = program.export(f"decoded-{name}")
        rows = np.load(images / "factors.npy")[:, 1].astype(int)
        assert sorted(rows) == list(range(len(decoded)))
        found["images"] = beyond_rounding(decoded.numpy()[rows], np.load(images / "images.npy"))
    return found


@torch.no_grad()
def check_classifier(program: Program, name: str, samples: Samples) -> dict[str, float]:
    classifier = load(program.export(f"classifier-{name}", "--pytorch"))
    about = json.loads((program.export(f"classifier-{name}") / "classifier.json").read_text())
    expected = np.load(program.export(f"features-{name}") / "points.npy")
    is_wrong = classifier(samples.values).argmax(dim=1).numpy() != samples.classes
    return {
        "features": relative(classifier.features(samples.values).numpy(), expected),
        "error": abs(100 * is_wrong.mean() - about["quality"]["train_error_percent"]),
        "traced": difference_when_traced(classifier, samples.values),
    }


def check_readme(program: Program) -> None:
    """Runs the Python of the README beside an exported folder of the name that it uses."""
    lines = README.read_text().split("```python\n")[1].split("```")[0]
    program.call("export", "train-conv-pcae", program.work / "pcae", program.pipeline, "--pytorch")
    ending = "\nassert images.shape == (8, 1, 16, 16) and 0 <= images.min() and images.max() <= 1\n"
    subprocess.run([sys.executable, "-c", lines + ending], cwd=program.work, check=True)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", type=Path, required=True)
    # Small networks: threads that wait for a busy core cost minutes.
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as work:
        program = Program(parser.parse_args().program.resolve(), Path(work))
        check_pipeline(program)
        write_samples(program.work)
        program.call(program.pipeline)
        models = program.samples_behind("train")
        classifiers = program.samples_behind("classifier")
        known = {name: Samples(program.export(name)) for name in set(models.values())}
        found = {}
        for name, samples in models.items():
            found[f"train-{name}"] = check_model(program, name, known[samples])
        for name, samples in classifiers.items():
            found[f"classifier-{name}"] = check_classifier(program, name, known[samples])
        check_readme(program)
    differs = 0
    for stage, differences in found.items():
        # An error that is no number is one, too.
        is_fine = all(difference <= TOLERANCE for difference in differences.values())
        differs += not is_fine
        numbers = ", ".join(f"{what} {value:.1e}" for what, value in differences.items())
        print(f"{stage:40} {numbers}{'' if is_fine else '  DIFFERS'}")
    print(f"{len(found)} models and classifiers, {differs} differ")
    return 1 if differs else 0


if __name__ == "__main__":
    sys.exit(main())
