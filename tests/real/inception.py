#!/usr/bin/env python3
"""Takes images through the program's Inception network and through pytorch-fid's, end to end.

pytorch-fid's own network gets random weights (the published ones with --weights) and is saved by
`torch.save` in both of PyTorch's layouts; random images are written as npy files. The program reads
both files; its features, Frechet distance and kernel distance are compared with those that pytorch-fid
and torch-fidelity compute.

    python3 tests/real/inception.py --program target/release/pcae-run [--images 64] [--weights FILE]

Needs PyTorch 2.9, torchvision 0.24, pytorch-fid 0.3.0, torch-fidelity 0.4.0 and SciPy before 1.18. Ends
with code 1 if features differ by 1e-4 of their size, or distances by 1e-3.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from pytorch_fid.fid_score import calculate_frechet_distance
from torch_fidelity.metric_kid import kid_features_to_metric

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/reference"))
from inception_network import fid_network  # noqa: E402

KID = {"kid_kernel": "poly", "kid_kernel_poly_degree": 3, "kid_kernel_poly_gamma": None,
       "kid_kernel_poly_coef0": 1, "verbose": False, "rng_seed": 2020}
PIPELINE = """Pipeline(name: "inception", axes: {"file": ["archive", "row"]}, stages: {
    "color": Dataset(source: Array(content: Images(layout: Nchw)), path: "color.npy"),
    "gray": Dataset(source: Array(content: Images(layout: Nhw)), path: "gray.npy"),
    "color-{file}": Features(data: "color", network: Inception(path: "{file}.pth")),
    "gray-{file}": Features(data: "gray", network: Inception(path: "{file}.pth")),
    "distance-{file}": Frechet(real: "color-{file}", generated: "gray-{file}",
                               kid: Kid(subsets: 1, subset_size: 100000, seed: 0)),
})"""


def randomize(network: torch.nn.Module) -> None:
    """Draws weights under which activations neither die nor explode."""
    torch.manual_seed(0)
    for name, array in network.state_dict().items():
        if name.endswith("conv.weight"):
            torch.nn.init.kaiming_normal_(array)
        elif name.endswith("running_var"):
            array.uniform_(0.7, 1.3)
        elif "bn" in name and array.dtype == torch.float32:
            array.uniform_(0.8, 1.2) if name.endswith("weight") else array.uniform_(-0.2, 0.2)


@torch.no_grad()
def features(network: torch.nn.Module, images: np.ndarray) -> np.ndarray:
    """Returns pytorch-fid's features of color images."""
    batches = torch.from_numpy(images).split(16)
    found = [network(batch / 255)[0].squeeze(-1).squeeze(-1) for batch in batches]
    return torch.cat(found).numpy()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--images", type=int, default=64)
    parser.add_argument("--weights", type=Path, help="the published weights")
    arguments = parser.parse_args()
    network = fid_network(resize_input=True, normalize_input=True)
    if arguments.weights:
        fid_network.inner.load_state_dict(torch.load(arguments.weights))
    else:
        randomize(fid_network.inner)
    rng = np.random.default_rng(0)
    waves = rng.uniform(2, 12, size=(2, arguments.images, 3, 3, 1, 1))
    y, x = np.mgrid[:64, :64] / 64
    shades = 127 + 110 * np.sin(waves[:, :, :, 0] * x + waves[:, :, :, 1] * y + waves[:, :, :, 2])
    color, gray = shades[0].round().astype(np.uint8), shades[1][:, 0].round().astype(np.uint8)
    wrong = 0
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        np.save(work / "color.npy", color)
        np.save(work / "gray.npy", gray)
        arrays = fid_network.inner.state_dict()
        torch.save(arrays, work / "archive.pth")
        torch.save(arrays, work / "row.pth", _use_new_zipfile_serialization=False)
        (work / "p.ron").write_text(PIPELINE)
        cache = ["--cache", work / "cache"]
        begin = time.monotonic()
        program = arguments.program.resolve()
        subprocess.run([program, work / "p.ron", *cache, "--reports", work / "reports"], check=True)
        seconds = time.monotonic() - begin
        print(f"{4 * arguments.images} images through the program: "
              f"{4 * arguments.images / seconds:.2f} a second, everything included")
        begin = time.monotonic()
        expected = {"color": features(network, color),
                    "gray": features(network, np.repeat(gray[:, None], 3, axis=1))}
        print(f"{2 * arguments.images} images through PyTorch: "
              f"{2 * arguments.images / (time.monotonic() - begin):.2f} a second")

        def export(stage: str) -> Path:
            target = work / "out" / stage
            args = [program, "export", stage, target, work / "p.ron", *cache]
            subprocess.run(args, check=True, stdout=subprocess.DEVNULL)
            return target

        for name, want in expected.items():
            for layout in ["archive", "row"]:
                found = np.load(export(f"{name}-{layout}") / "points.npy")
                off = np.abs(found - want).max() / np.abs(want).max()
                wrong += not off < 1e-4
                print(f"{name:5} {layout:7} {found.shape} features: largest difference {off:.1e} "
                      f"of the largest feature")
        means = [side.astype(np.float64).mean(axis=0) for side in expected.values()]
        covariances = [np.cov(side.astype(np.float64), rowvar=False) for side in expected.values()]
        distance = calculate_frechet_distance(means[0], covariances[0], means[1], covariances[1])
        tensors = [torch.from_numpy(side) for side in expected.values()]
        kid = kid_features_to_metric(*tensors, kid_subsets=1, kid_subset_size=arguments.images, **KID)
        wanted = {"frechet_distance": distance, "kid": kid["kernel_inception_distance_mean"]}
        record = json.loads((export("distance-row") / "record.json").read_text())
        for name, want in wanted.items():
            off = abs(record[name] - want) / abs(want)
            wrong += not off < 1e-3
            print(f"{name} {record[name]:.6f}, of packages {want:.6f}: {off:.1e}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
