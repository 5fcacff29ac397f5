"""Reference numbers for src/models/tangents.rs and src/dimension/relevance.rs.

For each network of models.json: the Jacobian of the decoder in use (running statistics) at the
codes of two samples, by PyTorch's autograd in double precision, and from it the relevance scores of
ARD-VAE by NumPy, as its code and as its text have them. Run from the repository root with PyTorch 2.9:
    python tests/reference/jacobian.py > tests/reference/jacobian.json

Before anything is written, Jacobians are compared with central differences.
"""
import json
import sys

import numpy as np
import torch

from torch_models import kinks, parse

IMAGES, THRESHOLD = 2, 0.9
# How far from zero arguments of ReLU stay, so that rounding changes no derivative.
MARGIN = 1e-4
# One for each model, and one for each way in which a decoder can be built.
NAMES = ["pcae", "pcae-vectors", "ae-mlp", "ae-linear", "ae-norm", "ae-keeps-size",
         "ae-keeps-size-norm", "hae", "pca-ae", "pca-ae-shared", "vae", "ard-vae", "irmae"]


def load(case):
    """Returns the model of a case, its decoder's weights and the codes of all its samples."""
    weights = {name: torch.tensor(array["values"], dtype=float).view(array["shape"])
               for name, array in case["weights"].items()}
    codes = torch.tensor(case["codes"], dtype=float).view(case["batch"], -1)
    # Codes are given by 9 digits: both sides start from the same 32 bits.
    return parse(case["model"]), weights, codes.float().double()


def jacobian(case):
    """Returns the first samples where rounding decides nothing, their codes and Jacobians."""
    model, weights, codes = load(case)

    def decode(code):
        return model.decode(weights, code[None], training=False)[0]

    samples, found = [], []
    for sample, code in enumerate(codes):
        kinks.clear()
        decode(code)
        if min(kinks, default=1.0) < MARGIN:
            continue
        derivatives = torch.autograd.functional.jacobian(decode, code)
        for axis, step in enumerate(1e-6 * torch.eye(len(code), dtype=float)):
            difference = (decode(code + step) - decode(code - step)) / 2e-6
            assert (difference - derivatives[:, axis]).abs().max() < 1e-6 * derivatives.abs().max()
        samples.append(sample)
        found.append(derivatives)
        if len(samples) == IMAGES:
            break
    assert len(samples) == IMAGES, case["name"]
    return codes[samples], torch.stack(found)  # [images, outputs, latent]


def count(scores):
    """Counts as ARD-VAE's code does: up to the first share in percent above the threshold."""
    percent = np.cumsum(np.sort(scores)[::-1]) / scores.sum() * 100
    return int(np.argmax(percent > 100 * THRESHOLD)) + 1


def record(case, random):
    codes, derivatives = jacobian(case)
    # What the file holds is what the scores are computed from.
    derivatives = np.float32(derivatives.numpy())
    latent = derivatives.shape[2]
    variances = np.round(random.uniform(0.1, 3.0, latent), 3)
    exact = derivatives.astype(np.float64)
    scores = {
        "code": np.square(np.abs(exact).mean(axis=0)).sum(axis=0) * variances,
        "paper": np.mean(np.linalg.norm(exact, axis=1) ** 2, axis=0) * variances,
    }
    assert (scores["code"] <= scores["paper"] * (1 + 1e-12)).all()
    print(f"{case['name']}: largest derivative {np.abs(derivatives).max():.3f}, "
          f"counts {[count(s) for s in scores.values()]} of {latent}", file=sys.stderr)
    return {
        "name": case["name"],
        "images": IMAGES,
        "latent": latent,
        "codes": [float(str(value)) for value in np.float32(codes.numpy()).flatten()],
        "jacobian": [float(str(value)) for value in derivatives.flatten()],
        "variances": variances.tolist(),
        "threshold": THRESHOLD,
        **{f"scores_{form}": [float(f"{score:.12g}") for score in found]
           for form, found in scores.items()},
        "counts": [count(found) for found in scores.values()],
    }


def main():
    with open("tests/reference/models.json") as file:
        cases = {case["name"]: case for case in json.load(file)["cases"]}
    random = np.random.default_rng(0)
    records = [record(cases[name], random) for name in NAMES]
    by = f"tests/reference/jacobian.py, PyTorch {torch.__version__}, NumPy {np.__version__}"
    print(f'{{"_made_by": {json.dumps(by)}, "cases": [')
    print(",\n".join(json.dumps(record) for record in records) + "\n]}")


if __name__ == "__main__":
    main()
