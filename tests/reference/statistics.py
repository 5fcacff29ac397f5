"""Reference numbers for src/statistics, by SciPy.

Quantiles and tails of Student's t and the normal distribution; Welch's and the one-sample test on
small samples with the interval of the difference; the same from a published mean and spread; two
one-sided tests of equivalence. Run from the repository root with SciPy 1.17:
    python tests/reference/statistics.py > tests/reference/statistics.json
"""
import json

import numpy as np
import scipy
from scipy import stats

SAMPLES = {
    "equal sizes": ([4.1, 3.8, 4.4, 4.0, 4.3], [3.9, 4.2, 4.6, 4.8, 4.4]),
    "unequal sizes and variances": ([10.0, 14.5, 8.25], [11.0, 11.5, 10.75, 11.25, 11.0, 11.5, 10.5]),
    "ties": ([5.0, 6.0, 5.0, 5.0, 6.0], [6.0, 6.0, 7.0, 6.0, 6.0]),
    "far apart": ([1.0, 1.1, 0.9, 1.05], [9.0, 9.2, 8.9, 9.1, 8.8]),
    "one side constant": ([2.0, 2.5, 3.0, 2.25], [4.0, 4.0, 4.0]),
    "two values each": ([0.1, 0.2], [0.4, 0.35]),
}
MARGINS = [0.1, 0.5, 2.0]


def equivalence(first, second, margin):
    """The larger p-value of Welch's tests against both ends of the margin."""
    below = stats.ttest_ind(np.array(first) + margin, second, equal_var=False, alternative="greater")
    above = stats.ttest_ind(np.array(first) - margin, second, equal_var=False, alternative="less")
    return max(below.pvalue, above.pvalue)


def sample_case(name, first, second):
    test = stats.ttest_ind(first, second, equal_var=False)
    larger = stats.ttest_ind(first, second, equal_var=False, alternative="greater")
    interval = test.confidence_interval(0.95)
    alone = stats.ttest_1samp(first, second[0])
    from_summary = stats.ttest_ind_from_stats(
        np.mean(first), np.std(first, ddof=1), len(first),
        np.mean(second), np.std(second, ddof=1), len(second), equal_var=False,
    )
    assert np.isclose(from_summary.pvalue, test.pvalue)
    return {
        "name": name,
        "first": first,
        "second": second,
        "second_mean": float(np.mean(second)),
        "second_population_variance": float(np.var(second)),
        "degrees_of_freedom": float(test.df),
        "difference_p": float(test.pvalue),
        "larger_p": float(larger.pvalue),
        "interval": [float(interval.low), float(interval.high)],
        "equivalence_p": [[margin, float(equivalence(first, second, margin))] for margin in MARGINS],
        "one_sample_p": float(alone.pvalue),
    }


def main():
    freedoms = [0.8, 1.0, 2.0, 4.0, 5.37, 30.0, 1234.5]
    points = [-40.0, -3.0, -0.5, 0.0, 0.01, 1.0, 2.776, 12.0, 300.0]
    shares = [1e-8, 0.001, 0.025, 0.3, 0.5, 0.8, 0.95, 0.975, 0.9999]
    told = {
        "_made_by": f"tests/reference/statistics.py, SciPy {scipy.__version__}",
        "above": [[f, t, float(stats.t.sf(t, f))] for f in freedoms for t in points],
        "quantiles": [[f, p, float(stats.t.ppf(p, f))] for f in freedoms for p in shares],
        "normal": [[p, float(stats.norm.ppf(p))] for p in shares],
        "tests": [sample_case(name, *samples) for name, samples in SAMPLES.items()],
    }
    lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in told.items()]
    print("{" + ",\n".join(lines) + "}")


main()
