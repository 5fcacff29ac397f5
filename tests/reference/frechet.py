"""Reference numbers for src/evaluation/fid: Frechet distances and kernel distances of packages.

`exact` is computed with 60 digits (mpmath): the sum of the roots of the eigenvalues of the product of
both covariances. Packages work on 64-bit covariances: where the rank is deficient, roots of rounded
zeros leave them with fewer digits, as `packages_within` says. Run from the repository root with
NumPy 2.x, SciPy 1.17, mpmath 1.3, PyTorch 2.9, pytorch-fid 0.3.0, torch-fidelity 0.4.0, clean-fid 0.1.35:
    python tests/reference/frechet.py > tests/reference/frechet.json
"""
import json

import mpmath
import numpy as np
import scipy
import scipy.linalg
import torch
from cleanfid.fid import kernel_distance
from torch_fidelity.metric_fid import fid_statistics_to_metric
from torch_fidelity.metric_kid import kernel_mmd, kid_features_to_metric

# SciPy 1.18 takes `disp` away, which pytorch-fid 0.3.0 passes.
from pytorch_fid.fid_score import calculate_frechet_distance

KID = {"kid_kernel": "poly", "kid_kernel_poly_degree": 3, "kid_kernel_poly_gamma": None,
       "kid_kernel_poly_coef0": 1, "verbose": False, "rng_seed": 2020}


def points(seed, rows, width, rank, shift):
    """The points of src/evaluation/fid/mod.rs: whole numbers over 256."""
    state, values = seed, []
    for _ in range(rows):
        row = []
        for column in range(width):
            if column < rank:
                state = (1103515245 * state + 12345) % 2**31
                row.append((state >> 16) % 1024 / 256 + shift * (column % 3))
            else:
                row.append(row[column - rank] + row[(column - rank + 1) % rank])
        values.append(row)
    found = np.array(values)
    assert (found.astype(np.float32) == found).all()
    return found


def exact(real, generated):
    mpmath.mp.dps = 60
    matrices = []
    for side in (real, generated):
        table = mpmath.matrix(side.tolist())
        mean = [mpmath.fsum(table[i, j] for i in range(table.rows)) / table.rows
                for j in range(table.cols)]
        for i in range(table.rows):
            for j in range(table.cols):
                table[i, j] -= mean[j]
        matrices.append((mean, table.T * table / (table.rows - 1)))
    (mean_1, one), (mean_2, other) = matrices
    values, vectors = mpmath.eigsy(one)
    root = mpmath.diag([mpmath.sqrt(max(v, 0)) for v in values])
    root = vectors * root * vectors.T
    common = mpmath.eigsy(root * other * root, eigvals_only=True)
    # Rounded zeros are of the size 1e-60, their roots 1e-30.
    trace = mpmath.fsum(mpmath.sqrt(max(v, 0)) for v in common)
    between = mpmath.fsum((a - b) ** 2 for a, b in zip(mean_1, mean_2))
    both = mpmath.fsum(one[i, i] + other[i, i] for i in range(one.rows))
    return float(between + both - 2 * trace)


def case(name, width, real, generated, within):
    sides = [points(side["seed"], side["rows"], width, side["rank"], side["shift"])
             for side in (real, generated)]
    means = [side.mean(axis=0) for side in sides]
    covariances = [np.cov(side, rowvar=False) for side in sides]
    of_torch = fid_statistics_to_metric({"mu": means[0], "sigma": covariances[0]},
                                        {"mu": means[1], "sigma": covariances[1]}, False)
    found = {
        "name": name, "width": width, "real": real, "generated": generated,
        "exact": exact(*sides),
        "pytorch_fid": float(calculate_frechet_distance(means[0], covariances[0],
                                                        means[1], covariances[1])),
        "torch_fidelity": float(list(of_torch.values())[0]),
        "packages_within": within,
    }
    for package in ("pytorch_fid", "torch_fidelity"):
        off = abs(found[package] / found["exact"] - 1)
        assert off <= within, (name, package, off)
    return found


def side(seed, rows, rank, shift):
    return {"seed": seed, "rows": rows, "rank": rank, "shift": shift}


def kid():
    rows, width, size, many = 200, 24, 60, 2000
    real, generated = points(11, rows, width, width, 0.0), points(12, rows, width, width, 0.25)
    rng = np.random.RandomState(3)
    chosen = [rng.choice(rows, size, replace=False) for _ in range(2)]
    tensors = [torch.from_numpy(side.astype(np.float32)) for side in (real, generated)]
    whole = kid_features_to_metric(*tensors, kid_subsets=1, kid_subset_size=rows, **KID)
    averages = kid_features_to_metric(*tensors, kid_subsets=many, kid_subset_size=size, **KID)
    return {
        "rows": rows, "width": width, "real": chosen[0].tolist(), "generated": chosen[1].tolist(),
        "subset": float(kernel_mmd(real[chosen[0]], generated[chosen[1]], **KID)),
        "whole_torch_fidelity": float(whole["kernel_inception_distance_mean"]),
        "whole_clean_fid": float(kernel_distance(real, generated, num_subsets=1)),
        "many": many, "many_size": size,
        "mean_of_many": float(averages["kernel_inception_distance_mean"]),
        "spread_of_many": float(averages["kernel_inception_distance_std"]),
    }


print(json.dumps({
    "_made_by": f"tests/reference/frechet.py, NumPy {np.__version__}, SciPy {scipy.__version__}, "
                f"mpmath {mpmath.__version__}, pytorch-fid 0.3.0, torch-fidelity 0.4.0, clean-fid 0.1.35",
    "cases": [
        case("many points", 12, side(1, 400, 12, 0.0), side(2, 300, 12, 0.5), 1e-8),
        case("as many points as coordinates and one", 16, side(3, 17, 16, 0.0), side(4, 40, 16, 0.25),
             1e-8),
        case("a few coordinates are sums of others", 16, side(5, 90, 10, 0.0),
             side(6, 120, 10, 0.25), 1e-7),
        case("fewer points than coordinates", 24, side(7, 10, 24, 0.0), side(8, 15, 24, 0.25), 1e-7),
        case("one side is flat, the other is not", 20, side(9, 12, 20, 0.0), side(10, 200, 20, 0.0),
             1e-7),
    ],
    "kid": kid(),
}))
