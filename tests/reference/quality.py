"""Reference numbers for src/evaluation/latent, by NumPy, SciPy and scikit-learn.

Codes with two factors (one curved, one with equal values) and what correlations, linear fits and
neighbors say of them; pairs of distances and how they fit; decodings on paths and the variance of
their steps. Run from the repository root with scikit-learn 1.9 and SciPy 1.17:
    python tests/reference/quality.py > tests/reference/quality.json
"""
import json

import numpy as np
import scipy
import sklearn
from scipy.optimize import minimize_scalar
from scipy.stats import pearsonr, spearmanr
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.neighbors import NearestNeighbors

NEIGHBORS, FIRST, STEPS = 5, 2, 4


def single(values, digits=3):
    """Rounds to short decimals, and those to 32 bits: the same numbers on both sides."""
    return np.float32(np.round(values, digits)).astype(np.float64)


def flat(values):
    return [float(str(value)) for value in np.float32(values).flatten()]


def factor(name, codes, values):
    near = NearestNeighbors(n_neighbors=NEIGHBORS).fit(codes)
    around = near.kneighbors(return_distance=False)  # leaves each point itself out
    pearson = [abs(pearsonr(column, values)[0]) for column in codes.T]
    spearman = [abs(spearmanr(column, values)[0]) for column in codes.T]
    fit = LinearRegression().fit(codes, values)
    return {
        "name": name,
        "values": values.tolist(),
        "coordinate": int(np.argmax(spearman)) + 1,
        "pearson": max(pearson),
        "spearman": max(spearman),
        "linear": r2_score(values, fit.predict(codes)),
        "neighbors": r2_score(values, values[around].mean(axis=1)),
    }


def factors(random):
    hidden = random.uniform(-1, 1, (60, 2))
    mixed = hidden @ random.normal(size=(2, 4)) + 0.1 * random.normal(size=(60, 4))
    codes = single(np.column_stack([mixed, mixed[:, 0] * mixed[:, 1]]))
    known = {
        "curved": single(np.exp(hidden[:, 0])),
        "stepped": np.round(3 * hidden[:, 1]),
    }
    cases = []
    for count in (codes.shape[1], FIRST):
        leading = codes[:, :count]
        fits = [factor(name, leading, values) for name, values in known.items()]
        cases.append({"first": count, "fits": fits})
    return {"width": codes.shape[1], "codes": flat(codes), "neighbors": NEIGHBORS, "cases": cases}


def isometry(random):
    data = np.round(random.uniform(0.2, 3, 40), 3)
    code = np.round(0.6 * data * random.uniform(0.5, 1.5, 40), 3)

    def rest(scale):
        return np.sum((data - scale * code) ** 2)

    scale = minimize_scalar(rest, tol=1e-12).x
    return {
        "data": data.tolist(),
        "code": code.tolist(),
        "error": np.mean(np.abs(code**2 / data**2 - 1)),
        "scaled_error": np.mean(np.abs((scale * code) ** 2 / data**2 - 1)),
        "correlation": pearsonr(data, code)[0],
        "scale": scale,
        "stress": np.sqrt(rest(scale) / np.sum(data**2)),
    }


def paths(random):
    decoded = single(random.uniform(size=(6, STEPS + 1, 5)).cumsum(axis=1))
    lengths = np.linalg.norm(np.diff(decoded, axis=1), axis=2)  # [paths, steps]
    variances = lengths.var(axis=1)
    return {"steps": STEPS, "width": 5, "decoded": flat(decoded), "variance": variances.mean(),
            "spread": variances.std(), "length": lengths.mean()}


def main():
    random = np.random.default_rng(7)
    by = (f"tests/reference/quality.py, NumPy {np.__version__}, SciPy {scipy.__version__}, "
          f"scikit-learn {sklearn.__version__}")
    made = {"_made_by": by, "factors": factors(random), "isometry": isometry(random),
            "paths": paths(random)}
    print("{" + ",\n".join(f'"{name}": {json.dumps(value)}' for name, value in made.items()) + "}")


if __name__ == "__main__":
    main()
