"""Reference numbers for src/statistics, by SciPy and statsmodels.

Permutation tests of means and rank sums over all divisions, the rank-sum test by its asymptotic
form, the chance that the outermost runs are all of one side, and the bound of Clopper and Pearson on
a share that was never seen. Run from the repository root with SciPy 1.17 and statsmodels 0.15:
    python tests/reference/statistics.py > tests/reference/statistics.json
"""
import json
import math

import numpy as np
import scipy
import statsmodels
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

WHOLE = [
    ([7, 7, 7, 7, 7], [4, 4, 4, 4, 4]),
    ([4, 4, 5, 4, 4], [4, 4, 4, 4, 4]),
    ([8, 8, 8, 8, 8, 8, 8, 8], [7, 7, 7, 8, 8]),
    ([12, 14, 13, 11, 13], [7, 7, 7, 8, 8]),
    ([3, 3, 3, 3, 8], [4, 4, 4, 4, 4]),
    ([31, 40, 36], [32, 38, 34, 36, 34]),
    ([9, 9], [14, 15, 14, 15, 14]),
]
REAL = [
    ([1.2, 3.4, 2.2], [0.5, 1.1, 0.7, 1.3]),
    ([0.1, 0.2, 0.3, 0.4, 0.5], [0.6, 0.7, 0.8, 0.9, 1.0]),
    ([5.0, 6.0, 5.0, 5.0, 6.0], [6.0, 6.0, 7.0, 6.0, 6.0]),
    ([2.0, 2.5, 3.0, 2.25], [4.0, 4.0, 4.0]),
    ([1.0, 1.0], [1.0, 0.0, 2.0]),
]
P_VALUES = [[0.01, 0.04, 0.03, 0.005], [0.9, 0.4], [0.02, 0.5, 0.02, 0.02], [0.0, 1.0, 0.2]]


def mean_difference(first, second):
    """Twice the smaller share of divisions whose means differ as much, as in SciPy."""
    found = stats.permutation_test(
        (first, second), lambda a, b, axis: np.sum(b, axis=axis), permutation_type="independent",
        alternative="two-sided", n_resamples=np.inf, vectorized=True,
    )
    return float(found.pvalue)


def rank_sum(larger, smaller):
    ranks = stats.rankdata(np.concatenate([larger, smaller]))
    found = stats.permutation_test(
        (ranks[: len(larger)], ranks[len(larger):]), lambda a, b, axis: np.sum(a, axis=axis),
        permutation_type="independent", alternative="greater", n_resamples=np.inf, vectorized=True,
    )
    if len(set(larger + smaller)) == len(larger) + len(smaller):
        exact = stats.mannwhitneyu(larger, smaller, alternative="greater", method="exact")
        assert np.isclose(exact.pvalue, found.pvalue)
    return float(found.pvalue)


def main():
    rng = np.random.default_rng(7)
    many = [np.round(rng.normal(mean, 1, 60), 1).tolist() for mean in (0.2, 0.0)]
    told = {
        "_made_by": "tests/reference/statistics.py, "
                    f"SciPy {scipy.__version__}, statsmodels {statsmodels.__version__}",
        "mean_difference": [[a, b, mean_difference(a, b)] for a, b in WHOLE],
        "rank_sum": [[a, b, rank_sum(a, b)] for a, b in REAL],
        "rank_sum_of_many": [
            *many,
            float(stats.mannwhitneyu(*many, alternative="greater", method="asymptotic").pvalue),
        ],
        # The outermost `k` of all runs are measured ones: `k` draws without replacement.
        "exceedance": [
            [k, n, m, min(1.0, 2 * float(stats.hypergeom.pmf(k, n + m, n, k)))]
            for n in (2, 5, 9, 20) for m in (1, 5) for k in {0, 1, n // 2, n - 1, n}
        ],
        # The largest share of runs that may have been missed by all of them.
        "unseen_share": [
            [n, alpha, float(proportion_confint(0, n, alpha=2 * alpha, method="beta")[1])]
            for n in (2, 5, 20, 100) for alpha in (0.05, 0.05 / 45)
        ],
        "holm": [[p, multipletests(p, method="holm")[1].tolist()] for p in P_VALUES],
    }
    assert math.isclose(told["unseen_share"][0][2], 1 - 0.05 ** 0.5)
    lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in told.items()]
    print("{" + ",\n".join(lines) + "}")


main()
