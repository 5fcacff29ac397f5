"""Reference numbers for src/numerics/pca.rs: eigenvalues of the biased covariance, and its axes.

Eigenvalues are NumPy's (`eigvalsh` of the covariance), axes scikit-learn's (a full SVD).
Run from the repository root with NumPy 2.x and scikit-learn 1.x:
    python tests/reference/pca.py > tests/reference/pca.json
"""
import json

import numpy as np
import sklearn
from sklearn.decomposition import PCA


def case(name, points, keep):
    points = points.astype(np.float32)
    exact = points.astype(np.float64)
    eigenvalues = np.linalg.eigvalsh(np.cov(exact, rowvar=False, bias=True))[::-1]
    axes = PCA(n_components=keep, svd_solver="full").fit(exact).components_
    return {
        "name": name,
        "rows": points.shape[0],
        "width": points.shape[1],
        "keep": keep,
        "points": [float(v) for v in points.ravel()] if points.size < 1000 else [],
        "mean": [float(v) for v in exact.mean(axis=0)],
        "eigenvalues": [float(v) for v in eigenvalues],
        "axes": [float(v) for v in axes.ravel()],
    }


def shared(rows, width):
    """Points that the test makes again instead of reading them: integers, hence exact."""
    state, values = 1, []
    for index in range(rows * width):
        state = (1103515245 * state + 12345) % 2**31
        # One of 256 levels; every 40 coordinates are half as wide as those before.
        values.append((state >> 23) / 2.0 ** (index % width // 40))
    return np.array(values).reshape(rows, width)


rng = np.random.default_rng(0)
scales = np.array([5.0, 3.0, 1.0, 0.3, 0.1])
tall = rng.normal(size=(60, 5)) * scales @ np.linalg.qr(rng.normal(size=(5, 5)))[0] + 7
wide = rng.normal(size=(9, 40)) * 2.0 ** -np.arange(40)[None, :].clip(max=6)
# Small integers, so that the third and fourth coordinate are sums exactly.
flat = rng.integers(-9, 10, size=(30, 2))
flat = np.column_stack([flat, flat.sum(axis=1), flat[:, 0] - flat[:, 1]])
print(json.dumps({
    "_made_by": f"tests/reference/pca.py, NumPy {np.__version__}, scikit-learn {sklearn.__version__}",
    "cases": [
        case("more points than coordinates", tall, 5),
        case("fewer points than coordinates", wide, 6),
        case("a plane in four dimensions", flat, 2),
        case("many coordinates", shared(300, 200), 3),
        case("many points in more coordinates", shared(150, 200), 3),
    ],
}))
