"""Reference numbers for src/dimension: every estimator by scikit-dimension, on the same points.

    python3 tests/reference/estimators.py > tests/reference/estimators.json

Needs scikit-dimension 0.5.0. The unbiased forms of the maximum likelihood are also computed here in a
few lines, and compared. Coordinates are whole numbers of 1024ths, so that they are the same in every
precision.
"""

import json
import warnings

import numpy as np
import skdim
from skdim.id import MLE, MOM, CorrInt, TwoNN, lPCA
from sklearn.neighbors import NearestNeighbors

SCALE = 1024
RULES = {
    "FukunagaOlsen": "FO", "Fan": "Fan", "MaxGap": "maxgap", "Ratio": "ratio", "Kaiser": "Kaiser",
    "BrokenStick": "broken_stick", "ParticipationRatio": "participation_ratio",
}


def sphere(random, rows):
    """A 3-sphere in 5 coordinates."""
    points = random.normal(size=(rows, 4))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return np.hstack([points, np.zeros((rows, 1))])


def sheet(random, rows):
    """A curved sheet in 9 coordinates with a little noise."""
    u, v = random.uniform(size=(2, rows))
    parts = [u, v, np.sin(3 * u), np.cos(2 * v), u * v, u**2, v**2, np.sin(u + v), u - v]
    return np.stack(parts, axis=1) + 0.01 * random.normal(size=(rows, 9))


def wide(random, rows):
    """More coordinates than points."""
    return random.normal(size=(rows, 4)) @ random.normal(size=(4, 44)) + 0.1 * random.normal(
        size=(rows, 44))


def by_hand(points, k):
    """Unbiased forms: the mean of (k - 2) / S, and (k - 2) over the mean of S."""
    distances = NearestNeighbors(n_neighbors=k).fit(points).kneighbors()[0]
    sums = np.log(distances[:, -1:] / distances[:, :-1]).sum(axis=1)
    return np.mean((k - 2) / sums), (k - 2) / np.mean(sums)


def likelihood(points, k):
    forms = {
        "LevinaBickel": (False, "mean"), "Unbiased": (True, "mean"),
        "MacKayGhahramani": (False, "mle"), "Pope": (True, "mle"),
    }
    found = {form: float(MLE(unbiased=unbiased).fit(points, n_neighbors=k, comb=comb).dimension_)
             for form, (unbiased, comb) in forms.items()}
    assert np.allclose(by_hand(points, k), [found["Unbiased"], found["Pope"]], rtol=1e-12)
    return found


def case(name, points):
    integers = np.round(points * SCALE).astype(int)
    points = integers / SCALE
    axes = {}
    for rule, version in RULES.items():
        estimator = lPCA(ver=version, alphaRatio=0.9)
        axes[rule] = {
            "all": float(estimator.fit(points).dimension_),
            "each": float(np.mean(estimator.fit_transform_pw(points, n_neighbors=15))),
        }
    return {
        "name": name, "width": points.shape[1], "points": integers.ravel().tolist(),
        "mle": {str(k): likelihood(points, k) for k in (5, 20)},
        "two_nn": {
            "line": float(TwoNN().fit(points).dimension_),
            "line_of_more": float(TwoNN(discard_fraction=0.02).fit(points).dimension_),
            "likelihood": float(TwoNN(method="mle").fit(points).dimension_),
            "likelihood_of_all": float(TwoNN(0, method="mle").fit(points).dimension_),
        },
        "local_pca": axes,
        "correlation": float(CorrInt().fit(points).dimension_),
        "correlation_near": float(CorrInt(k1=3, k2=9).fit(points).dimension_),
        "moments": float(MOM().fit(points, n_neighbors=20).dimension_),
    }


def main():
    warnings.simplefilter("ignore")
    assert skdim.__version__ == "0.5.0", skdim.__version__
    random = np.random.default_rng(0)
    cases = [case("sphere", sphere(random, 500)), case("sheet", sheet(random, 300)),
             case("wide", wide(random, 40))]
    print(json.dumps({"scikit-dimension": skdim.__version__, "scale": SCALE, "cases": cases}))


if __name__ == "__main__":
    main()
