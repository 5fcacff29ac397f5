"""Reference points for src/data/sets/manifold: scikit-dimension's own points for recorded random draws.

Run from the repository root with scikit-dimension 0.5.0 and pandas:
    python tests/reference/manifolds.py > tests/reference/manifolds.json

Every case names its shape as a pipeline file does, or by its benchmark name. `rows` holds draws
and the resulting points, `candidates` draws that were kept or refused, and `moments` the mean and
standard deviation of each coordinate of 20,000 points, with the standard error of the latter.
"""
import functools
import json

import numpy as np
import scipy
from scipy.special import gammainc
from skdim import datasets

FEW, FACES, MANY = 40, 300, 20_000
TURN = 2 * np.pi


class Recorder(np.random.RandomState):
    """Keeps what it returns, shortened to six digits so that the reference file stays small."""

    def __init__(self, seed, plant_extremes=False):
        super().__init__(seed)
        self.log, self.plant_extremes = [], plant_extremes

    def keep(self, values):
        values = np.round(np.asarray(values, dtype=float), 6)
        self.log.append(values)
        return values.copy()

    def rand(self, *shape):
        return self.keep(super().random_sample(shape))

    def random(self, size=None):
        return self.keep(super().random_sample(size))

    def randn(self, *shape):
        return self.keep(super().standard_normal(shape))

    def normal(self, loc=0.0, scale=1.0, size=None):
        return self.keep(super().normal(loc, scale, size))

    def exponential(self, scale=1.0, size=None):
        return self.keep(super().exponential(scale, size))

    def beta(self, a, b, size=None):
        return self.keep(super().beta(a, b, size))

    def multivariate_normal(self, mean, cov, size=None):
        return self.keep(super().multivariate_normal(mean, cov, size))

    def uniform(self, low=0.0, high=1.0, size=None):
        unit = np.round(super().random_sample(size), 6)
        if self.plant_extremes:  # pieces are shifted by their smallest and largest sample
            unit[:2] = 0.5
            unit.reshape(len(unit), -1)[:2, -1] = [1.0, 0.0]
        self.log.append(unit)  # as a share of the range
        return low + (high - low) * unit

    def choice(self, *args, **kwargs):
        chosen = super().choice(*args, **kwargs)
        self.log.append(chosen)
        return chosen


def short(values, digits=10):
    return [float(f"{value:.{digits}g}") for value in np.asarray(values, dtype=float).ravel()]


def rows(draws, points):
    """Three points with their draws; `draws` holds one row for each point."""
    count = len(points)
    return [
        {"index": i, "draws": short(draws[i]), "point": short(points[i])}
        for i in (0, count // 3, count - 1)
    ]


def moments(points):
    mean, deviation = points.mean(axis=0), points.std(axis=0)
    fourth = ((points - mean) ** 4).mean(axis=0)
    variance_error = np.sqrt(np.maximum(fourth - deviation**4, 0) / len(points))
    error = np.divide(variance_error, 2 * deviation, out=np.zeros_like(mean), where=deviation > 0)
    return {
        "count": len(points), "mean": short(mean, 6),
        "deviation": short(deviation, 6), "deviation_error": short(error, 3),
    }


def case(shape, count, row_list, many, candidates=()):
    return {
        "shape": shape, "count": count, "rows": row_list, "candidates": list(candidates),
        "moments": moments(many),
    }


def draws_of_each(log, d):
    """The draws of a benchmark shape, one row for each point."""
    if len(log) > 1 and log[0].ndim == 1:  # one call for each parameter
        return np.stack(log, axis=1)
    if log[0].ndim == 1:
        return log[0][:, None]
    by_parameter = len(log[0]) in (d, d + 1) and log[0].shape[1] == FEW
    return log[0].T if by_parameter else log[0]


def benchmark_case(name, d, ambient):
    recorder = Recorder(1)
    maker = datasets.BenchmarkManifolds(random_state=recorder).dict_gen[name]
    cubic = name.startswith("M10")
    count = FACES if cubic else FEW
    points = maker(n=count, dim=ambient, d=d)
    log = recorder.log
    draws = np.hstack(log).T[:count] if cubic else draws_of_each(log, d)
    many = datasets.BenchmarkManifolds(random_state=2).dict_gen[name](n=MANY, dim=ambient, d=d)
    return case(name, count, rows(draws, points), many)


def hidden_case(shape, maker_name, d, ambient):
    """A generator of the benchmark class that is not part of its set."""
    recorder = Recorder(1)
    points = getattr(datasets.BenchmarkManifolds(random_state=recorder), maker_name)(FEW, ambient, d)
    many = getattr(datasets.BenchmarkManifolds(random_state=2), maker_name)(MANY, ambient, d)
    return case(shape, FEW, rows(draws_of_each(recorder.log, d), points), many)


def plain_case(shape, maker, draws):
    recorder = Recorder(1)
    points = maker(FEW, random_state=recorder)
    return case(shape, FEW, rows(draws(recorder.log), points), maker(MANY, random_state=2))


def rejection_case(shape, maker, candidates_of, parameter_of, draws_of):
    """`parameter_of` recovers the drawn parameter from a point, to see which draws were kept."""
    recorder = Recorder(1)
    points = maker(FEW, random_state=recorder)
    proposals, uniforms = candidates_of(recorder.log)
    parameters = parameter_of(points)
    kept = [bool(np.min(np.abs(parameters - proposal[0])) < 1e-8) for proposal in proposals]
    candidates = [
        {"draws": short(proposal), "uniform": float(uniform), "kept": was_kept}
        for proposal, uniform, was_kept in zip(proposals, uniforms, kept)
    ]
    # What comes after enough draws were kept is left over, not refused.
    candidates = candidates[: 1 + max(i for i, was_kept in enumerate(kept) if was_kept)]
    first = [proposal for proposal, was_kept in zip(proposals, kept) if was_kept]
    draws = draws_of(recorder.log, first)
    return case(shape, FEW, rows(draws, points[: len(draws)]), maker(MANY, random_state=2), candidates)


def with_later(position):
    """Adds the numbers of a later call to the kept proposals, which lack them."""
    return lambda log, kept: [[proposal[0], log[position][i]] for i, proposal in enumerate(kept)]


def line_disk_ball_case():
    count = 40
    recorder = Recorder(1, plant_extremes=True)
    points, _ = datasets.lineDiskBall(count, random_state=recorder)
    line, disk, ball, top, chosen = recorder.log
    in_disk, in_ball = ((2 * disk - 1) ** 2).sum(axis=1) <= 1, ((2 * ball - 1) ** 2).sum(axis=1) <= 1

    def draws(selector, places):
        places = places.reshape(len(places), -1)
        padding = np.zeros((len(places), 3 - places.shape[1]))
        return np.hstack([np.full((len(places), 1), selector / 123), places, padding])

    pieces = [draws(2, line), draws(10, disk[in_disk]), draws(60, ball[in_ball]), draws(120, top)]
    sizes = [len(piece) for piece in pieces]
    chosen, all_draws = np.sort(chosen), np.vstack(pieces)
    firsts = [np.argmax(chosen >= sum(sizes[:i])) for i in range(4)]
    row_list = [
        {"index": int(i), "draws": short(all_draws[chosen[i]]), "point": short(points[i])}
        for i in firsts
    ]
    candidates = [
        {"draws": short(proposal), "uniform": 0.5, "kept": bool(kept)}
        for selector, places, keeps in ((10, disk, in_disk), (60, ball, in_ball))
        for proposal, kept in zip(draws(selector, places[:10]), keeps)
    ]
    return case("LineDiskBall", count, row_list, datasets.lineDiskBall(MANY, random_state=2)[0], candidates)


def ball_case(d):
    recorder = Recorder(1)
    points = datasets.hyperBall(FEW, d, random_state=recorder)
    normals = recorder.log[0]
    volume = gammainc(d / 2, (normals**2).sum(axis=1) / 2)
    draws = np.hstack([normals, volume[:, None]])
    shape = f"Ball(dimension: {d}, ambient: {d})"
    return case(shape, FEW, rows(draws, points), datasets.hyperBall(MANY, d, random_state=2))


def revolution_case(shape, maker, axis):
    recover = {
        "x": lambda points: (points[:, 0] + 1) / 2,
        # The angle's cosine hides the sign of the radius; the curve's height tells it.
        "y": lambda points: (np.sign(points[:, 1]) * np.hypot(points[:, 0], points[:, 2]) + 1) / 2,
    }[axis]
    return rejection_case(
        shape, maker, lambda log: (log[0][:, None], log[1]), recover, with_later(-1)
    )


def sine(axis):
    return lambda n, random_state: datasets.SurfaceOfRevolution(
        how=axis, random_state=random_state).generate(n)


def roll(n, random_state):
    return datasets.swissRoll3Sph(n, 0, random_state=random_state)


def around(points):
    return np.mod(np.arctan2(points[:, 1], points[:, 0]), TURN) / TURN


def angles(log):
    return np.stack(log[:2], axis=1), log[2]


truth = datasets.BenchmarkManifolds(random_state=0)._dict_truth
cases = [benchmark_case(name, d, ambient) for name, (d, ambient, _) in truth.items()]
cases += [
    hidden_case("Cube(dimension: 3, ambient: 5)", "_gen_uniform_data", 3, 5),
    hidden_case("FigureEightSheet", "_gen_helicoid_data", 2, 3),
    plain_case(
        "Sphere(dimension: 3, ambient: 4)", functools.partial(datasets.hyperSphere, d=3),
        lambda log: log[0]),
    plain_case(
        "TwinPeaks(dimension: 2)", functools.partial(datasets.hyperTwinPeaks, d=2),
        lambda log: log[0]),
    rejection_case(
        "TwinPeaks(dimension: 3, height: 0.5, density: Surface)",
        functools.partial(datasets.hyperTwinPeaksUniform, d=3, height=0.5),
        lambda log: (log[0], log[1]), lambda points: points[:, 0], lambda log, kept: kept),
    ball_case(2),
    ball_case(5),
    line_disk_ball_case(),
    rejection_case(
        "SwissRollAndSphere(sphere: 0)", roll, lambda log: (log[0][:, None], log[1]),
        lambda points: (np.hypot(points[:, 0], points[:, 1]) - 1) / 2,
        # The sphere, which is left out here, takes four draws.
        lambda log, kept: [[*row, 0, 0] for row in with_later(-1)(log, kept[:FEW])]),
    rejection_case("Torus()", datasets.torus, angles, around, lambda log, kept: kept),
    rejection_case(
        "ToroidalSpiral(twists: 2, tube: 0.5)",
        functools.partial(datasets.toroidal_spiral, n_twists=2, r2=0.5),
        lambda log: (log[0][:, None], log[1]), around, lambda log, kept: kept),
    revolution_case("Revolution(profile: Dumbbell(), axis: X)", datasets.dumbbell, "x"),
    revolution_case("Revolution(profile: Sine, axis: X)", sine("x"), "x"),
    revolution_case("Revolution(profile: Sine, axis: Y)", sine("y"), "y"),
]

# The documented 3-sphere is a 4-sphere without its last coordinate: no point has length 1.
sphere = datasets.swissRoll3Sph(0, MANY, random_state=2)
assert np.quantile(np.linalg.norm(sphere, axis=1), 0.01) < 0.5

# At its usual tolerance of 1e-3 the solver leaves the true path early; the equations are the same.
datasets.solve_ivp = functools.partial(
    scipy.integrate.solve_ivp, method="DOP853", rtol=1e-12, atol=1e-12)

print(json.dumps({
    "_made_by": f"tests/reference/manifolds.py, scikit-dimension 0.5.0, NumPy {np.__version__}, SciPy {scipy.__version__}",
    "benchmark": [[name, d, ambient] for name, (d, ambient, _) in truth.items()],
    "lorenz": {"duration": 5.0, "states": [short(state) for state in datasets.lorenz_attractor(11, 5.0)]},
    "cases": cases,
}))
