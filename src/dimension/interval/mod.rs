//! Intervals that include bias: which dimensions an estimate is compatible with.
//!
//! What: every estimator errs by an amount that depends on the dimension, on the number of points
//! and on the shape, often by far more than its standard error. So it is applied to [`REFERENCES`]
//! random manifolds of known dimension (references.rs) with as many points as the data have. Among
//! those on which it says about the same as on the data, the logarithm of the dimension is regressed
//! on the estimate and on how the points appear (appearance.rs: unevenness, change with scale); the
//! interval is the prediction for the data with the quantiles of the residuals. How much the estimate
//! varies over samples of the data is found by subsampling, and added. The ends are rounded outward
//! to whole numbers.
//! Reference: inverse regression with simulated data, as in approximate Bayesian computation
//! (Beaumont, Zhang and Balding 2002); leave-one-out residuals as in the jackknife+ (Barber et al.
//! 2021); subsampling as Politis and Romano 1994.
//! Assumptions: the data resemble manifolds of the family in how the estimator errs on them. The
//! level holds for shapes drawn from the family; elsewhere it is measured (pipelines/coverage.ron).
//! Checked against: coverage on shapes of another kind (tests below, and tests/README.md).

mod appearance;
mod references;
mod regression;

use rand::RngExt;
use rayon::prelude::{IntoParallelIterator, ParallelIterator};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::appearance::Appearance;
use self::references::Noise;
use self::regression::{Case, Prediction};
use super::Finding;
use super::estimator::{Estimator, searching};
use crate::geometry::Neighbors;
use crate::numerics::rng::permutation;
use crate::numerics::units::Fraction;
use crate::numerics::{Points, Seed};

/// Reference manifolds of one interval.
const REFERENCES: u64 = 150;
/// References between two reports of progress.
const BATCH: u64 = 15;
/// The fewest that a regression may rest on.
const FEWEST_CASES: usize = 40;
/// The fewest points for which an interval is computed.
const FEWEST_POINTS: usize = 30;
/// From so many points on, this many of them, chosen at random, stand for all.
const MOST_POINTS: usize = 5000;
/// Points whose neighbors are searched for, of the data and of a reference.
const DATA_QUERIES: usize = 1000;
/// The largest dimension of a reference.
const LARGEST_REFERENCE: f64 = 128.0;
/// From this on, references of larger dimension are too few to bound a dimension from above.
const LARGEST_BOUND: f64 = 96.0;
/// Samples that are drawn from the data, and how many points one of them has at most.
const SUBSAMPLES: u64 = 8;
const LARGEST_SUBSAMPLE: usize = 1000;
/// Coordinates of a reference, where the dimension is not known yet.
const TYPICAL_WIDTH: usize = 16;
/// Operations that take as long as drawing a random coordinate.
const PER_DRAW: f64 = 3000.0;
/// At a larger ratio of the neighbors' distance to that of all points, neighborhoods are no longer
/// local.
const LEAST_LOCAL: f64 = 0.9;

/// Settings of the interval of an estimate, for instance `(level: 0.9, seed: 0)`.
///
/// The same estimator is applied to 150 random manifolds of known dimension with as many points
/// (5,000 of them if there are more): products of uniform, normal, skewed and heavy-tailed numbers,
/// balls and spheres, stretched, wound up, waved or rolled. The interval has the dimensions at which
/// these look like the data to the estimator. It is in whole numbers, rounded outward, and never
/// above the number of coordinates.
///
/// What it means: of manifolds drawn from that family, the interval holds the dimension of at least
/// the share `level`. What it does not mean: it knows nothing of data that no manifold of the family
/// resembles, such as points near several manifolds of different dimension, or noise that was not
/// given.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename = "Interval")]
pub struct IntervalSpec {
    /// Share of manifolds whose dimension the interval should hold.
    pub level: Fraction,
    /// Random seed for reference manifolds and subsamples.
    pub seed: Seed,
    /// Standard deviation of noise that the data contain, relative to that of the data: all
    /// coordinates together. References get as much.
    pub noise: Fraction,
}

impl Default for IntervalSpec {
    fn default() -> Self {
        let fraction = |share| Fraction::new(share).unwrap_or_else(|_| unreachable!("a fraction"));
        Self { level: fraction(0.9), seed: Seed(0), noise: fraction(0.0) }
    }
}

/// The dimensions that an estimate is compatible with.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// The lowest of them.
    pub low: f64,
    /// The highest of them.
    pub high: f64,
    /// The dimension that is most plausible: the estimate without its bias.
    pub corrected: f64,
    /// Standard deviation of the estimate over samples of the data.
    pub subsample_spread: f64,
    /// Why the interval has no upper end of its own, if it has none.
    pub note: Option<String>,
}

impl Interval {
    /// Returns an interval that excludes nothing.
    fn open(estimate: f64, limit: f64, subsample_spread: f64, note: String) -> Self {
        let corrected = estimate.clamp(1.0, limit);
        Self { low: 1.0, high: limit, corrected, subsample_spread, note: Some(note) }
    }

    /// Returns whether a dimension lies in the interval.
    pub fn holds(&self, dimension: f64) -> bool {
        self.low <= dimension && dimension <= self.high
    }
}

/// Returns whether points of a dimension are too few for neighborhoods to be local: the `neighbors`
/// nearest of `points` lie at more than 0.9 of the distance of all, as they do within a ball.
pub(super) fn is_hopeless(neighbors: usize, points: usize, dimension: f64) -> bool {
    let share = neighbors as f64 / points as f64;
    share.powf(1.0 / dimension) > LEAST_LOCAL
}

/// Counts the operations of an interval, nearly all of which are for reference manifolds.
pub(super) fn operations(estimator: &dyn Estimator, points: usize, width: usize) -> f64 {
    if points < FEWEST_POINTS {
        return 0.0;
    }
    let points = points.min(MOST_POINTS);
    let count = estimator.neighbors().unwrap_or_default().max(Appearance::ranks(points)[2]);
    let case = |queries: usize, points: usize, width: usize| {
        searching(queries, points, width, count) + estimator.operations(queries.min(points), width)
    };
    let subsample = (points / 2).min(LARGEST_SUBSAMPLE);
    let own =
        case(DATA_QUERIES, points, width) + SUBSAMPLES as f64 * case(subsample, subsample, width);
    let width = width.min(TYPICAL_WIDTH);
    let drawing = PER_DRAW * points as f64 * width as f64;
    own + REFERENCES as f64 * (drawing + case(estimator.calibration_queries(), points, width))
}

/// Computes the interval of an estimate of the dimension of points.
pub(super) fn interval(
    estimator: &dyn Estimator,
    points: &Points,
    estimate: f64,
    spec: IntervalSpec,
    on_progress: &mut dyn FnMut(u64, u64),
) -> Interval {
    let limit = points.width().min(points.rows().saturating_sub(1)).max(1) as f64;
    if points.rows() < FEWEST_POINTS {
        let note = format!("an interval needs at least {FEWEST_POINTS} points, so it is open");
        return Interval::open(estimate, limit, 0.0, note);
    }
    let sampled = sampled(points, MOST_POINTS, spec.seed, "points");
    let points = sampled.as_ref().unwrap_or(points);
    let calibration = Calibration { estimator, rows: points.rows(), spec, width: points.width() };
    let own = calibration.case(points, DATA_QUERIES, spec.seed);
    let Some(mut own) = own else {
        let note = "points coincide too often for an interval, so it is open".to_owned();
        return Interval::open(estimate, limit, 0.0, note);
    };
    if sampled.is_none() {
        own[3] += own[0] - estimate.ln();
        own[0] = estimate.ln();
    }
    let relative = calibration.subsample_spread(points);
    let cases = calibration.references(own[0].exp(), on_progress);
    let spread = relative * estimate;
    let Some(found) = regression::predict(&cases, own, relative, spec.level.get()) else {
        let note =
            "the estimator fails on most manifolds of this dimension, so the interval is open";
        return Interval::open(estimate, limit, spread, note.to_owned());
    };
    rounded(found, limit, spread)
}

/// Rounds the ends of a prediction outward; no end is beyond the limit.
fn rounded(found: Prediction, limit: f64, subsample_spread: f64) -> Interval {
    let [low, corrected, high] = [found.low, found.middle, found.high].map(f64::exp);
    let is_open = high >= LARGEST_BOUND && limit >= LARGEST_BOUND;
    let note = "this many points give no upper bound: the estimator hardly tells larger dimensions \
                apart";
    Interval {
        low: low.floor().clamp(1.0, limit),
        high: if is_open { limit } else { high.ceil().clamp(1.0, limit) },
        corrected: corrected.clamp(1.0, limit),
        subsample_spread,
        note: is_open.then(|| note.to_owned()),
    }
}

/// Chooses points at random, in their order; none if there are no more than that.
fn sampled(points: &Points, count: usize, seed: Seed, purpose: &str) -> Option<Points> {
    (points.rows() > count).then(|| {
        let mut chosen = permutation(points.rows(), &mut seed.stream(purpose));
        chosen.truncate(count);
        chosen.sort_unstable();
        points.at(&chosen)
    })
}

/// An estimator and what it is applied to.
struct Calibration<'a> {
    estimator: &'a dyn Estimator,
    /// Number of points.
    rows: usize,
    /// Number of coordinates of the data.
    width: usize,
    spec: IntervalSpec,
}

impl Calibration<'_> {
    /// Estimates the dimension of points and describes how they appear, from the neighbors of some
    /// of them; nothing if one of both fails.
    fn case(&self, points: &Points, queries: usize, seed: Seed) -> Option<[f64; CASE]> {
        let ranks = Appearance::ranks(points.rows());
        let count = self.estimator.neighbors().unwrap_or_default().max(ranks[2]);
        let asked = Neighbors::choose(points, queries.min(points.rows()), seed).ok()?;
        let near = Neighbors::of_some(points, asked, count, &mut |_, _| ()).ok()?;
        let seen = Appearance::of(points, &near, ranks)?;
        let known = self.estimator.neighbors().is_some().then_some(&near);
        let dimension = dimension(self.estimator, points, known)?;
        let [unevenness, trend, typical] = seen.numbers();
        Some([dimension.ln(), unevenness, trend, typical - dimension.ln()])
    }

    /// Makes reference manifolds around an estimate, and applies the estimator to each.
    fn references(&self, estimate: f64, on_progress: &mut dyn FnMut(u64, u64)) -> Vec<Case> {
        let mut cases = Vec::new();
        for first in (0..REFERENCES).step_by(BATCH as usize) {
            on_progress(first, REFERENCES);
            let batch = (first..REFERENCES.min(first + BATCH)).into_par_iter();
            let found: Vec<Option<Case>> =
                batch.map(|number| self.reference(number, estimate)).collect();
            cases.extend(found.into_iter().flatten());
        }
        on_progress(REFERENCES, REFERENCES);
        cases
    }

    fn reference(&self, number: u64, estimate: f64) -> Option<Case> {
        let mut rng = self.spec.seed.stream(&format!("reference/{number}"));
        let low = (estimate / 2.0).floor().clamp(1.0, LARGEST_REFERENCE / 4.0);
        let high = (4.0 * estimate + 1.0).min(LARGEST_REFERENCE);
        let place: f64 = rng.random();
        let drawn = (low - 0.4).ln() * (1.0 - place) + (high + 0.5).ln() * place;
        let dimension = drawn.exp().round().clamp(low, high.floor());
        let noise = Noise { share: self.spec.noise.get(), width: self.width };
        let points = references::draw(dimension as usize, self.rows, noise, &mut rng);
        let queries = self.estimator.calibration_queries();
        let seen = self.case(&points, queries, Seed(number))?;
        Some(Case { seen, dimension: dimension.ln() })
    }

    /// Returns the standard deviation of the estimate over samples of as many points, relative to it:
    /// found from smaller samples, and scaled as that of a mean.
    fn subsample_spread(&self, points: &Points) -> f64 {
        let count = (self.rows / 2).min(LARGEST_SUBSAMPLE);
        let draw = |number: u64| {
            let purpose = format!("subsample/{number}");
            let some = sampled(points, count, self.spec.seed, &purpose)?;
            Some(dimension(self.estimator, &some, None)?.ln())
        };
        let found: Vec<Option<f64>> = (0..SUBSAMPLES).into_par_iter().map(draw).collect();
        let found: Vec<f64> = found.into_iter().flatten().collect();
        let mean = found.iter().sum::<f64>() / found.len() as f64;
        let squares: f64 = found.iter().map(|value| (value - mean).powi(2)).sum();
        let variance = squares / (found.len() as f64 - 1.0);
        let share = count as f64 / self.rows as f64;
        // Samples of the same points share some of them, and so vary less than new ones would.
        let spread = (variance * share / (1.0 - share)).sqrt();
        if spread.is_finite() { spread } else { 0.0 }
    }
}

/// Numbers that are seen of a case: the estimate, unevenness, trend, and another estimate.
const CASE: usize = 4;

/// Returns the estimated dimension; nothing if there is none, or one without a logarithm.
fn dimension(estimator: &dyn Estimator, points: &Points, known: Option<&Neighbors>) -> Option<f64> {
    match estimator.estimate(points, known) {
        Ok(Finding::Local(found)) => {
            (found.dimension.is_finite() && found.dimension > 0.0).then_some(found.dimension)
        }
        Ok(Finding::Count(..)) | Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dimension::EstimatorSpec;

    const ESTIMATORS: [&str; 6] = [
        "Mle(neighbors: 20)",
        "TwoNn()",
        "Gride(neighbors: 8)",
        "LocalPca(neighbors: 30, rule: FukunagaOlsen())",
        "CorrelationDimension()",
        "Mom(neighbors: 20)",
    ];

    fn spec(text: &str) -> EstimatorSpec {
        let options = ron::Options::default()
            .with_default_extension(ron::extensions::Extensions::IMPLICIT_SOME)
            .with_default_extension(ron::extensions::Extensions::UNWRAP_VARIANT_NEWTYPES);
        options.from_str(text).unwrap()
    }

    /// Draws points whose first coordinates are triangular, each the sum of two uniform ones: a
    /// distribution that no reference has.
    fn tent(dimension: usize, width: usize, rows: usize) -> Points {
        let mut rng = Seed(7).stream("tent");
        let mut values = Vec::new();
        for _ in 0..rows {
            values.extend((0..dimension).map(|_| rng.random::<f32>() + rng.random::<f32>()));
            values.extend((dimension..width).map(|_| 0.0));
        }
        Points::from_rows(width, values)
    }

    fn found(text: &str, points: &Points, settings: IntervalSpec) -> Interval {
        let spec = spec(text);
        let Ok(Finding::Local(found)) = spec.estimate(points, None) else {
            panic!("{text}: no estimate");
        };
        spec.interval(points, &found, settings, &mut |_, _| ())
    }

    #[test]
    fn intervals_hold_the_dimension_where_the_standard_error_does_not() {
        let points = tent(8, 20, 400);
        for text in ESTIMATORS {
            let interval = found(text, &points, IntervalSpec::default());
            assert!(interval.holds(8.0), "{text}: {interval:?}");
            assert!(interval.high - interval.low <= 8.0, "{text}: {interval:?}");
            assert!((interval.corrected / 8.0).ln().abs() < 0.25, "{text}: {interval:?}");
            let are_whole = [interval.low, interval.high].iter().all(|end| end.fract() == 0.0);
            assert!(are_whole, "{text}: {interval:?}");
        }
        let spread = found("Mle(neighbors: 20)", &points, IntervalSpec::default()).subsample_spread;
        assert!((0.05..0.5).contains(&spread), "{spread}");
        let Ok(Finding::Local(plain)) = spec("Mle(neighbors: 20)").estimate(&points, None) else {
            panic!("no estimate");
        };
        assert!(plain.dimension + 4.0 * plain.spread < 8.0, "{plain:?}");
    }

    #[test]
    fn an_interval_depends_on_its_seed_and_level_alone() {
        let points = tent(3, 5, 300);
        let settings = IntervalSpec::default();
        let once = found("TwoNn()", &points, settings);
        assert_eq!(found("TwoNn()", &points, settings), once);
        let other = found("TwoNn()", &points, IntervalSpec { seed: Seed(1), ..settings });
        assert!((other.corrected - once.corrected).abs() > 0.0, "{other:?}");
        let level = Fraction::new(0.3).unwrap();
        let narrow = found("TwoNn()", &points, IntervalSpec { level, ..settings });
        assert!(narrow.low >= once.low && narrow.high <= once.high, "{narrow:?} {once:?}");
    }

    #[test]
    fn no_interval_reaches_beyond_the_number_of_coordinates() {
        let interval = found("TwoNn()", &tent(5, 5, 300), IntervalSpec::default());
        assert_eq!((interval.high, interval.note.clone()), (5.0, None), "{interval:?}");
        assert!(interval.low < 5.0, "{interval:?}");
    }

    #[test]
    fn too_few_points_and_saturated_estimators_set_no_upper_bound_and_say_so() {
        let interval = found("TwoNn()", &tent(3, 5, 20), IntervalSpec::default());
        assert_eq!((interval.low, interval.high), (1.0, 5.0));
        assert!(interval.note.unwrap().starts_with("an interval needs at least 30 points"));
        let points = tent(90, 200, 300);
        let text = "LocalPca(neighbors: 30, rule: FukunagaOlsen())";
        let interval = found(text, &points, IntervalSpec::default());
        assert!(interval.holds(90.0), "{interval:?}");
        assert!((interval.high - 200.0).abs() < 1e-9, "{interval:?}");
        assert!(interval.note.unwrap().contains("no upper bound"));
    }

    #[test]
    fn noise_that_is_known_lowers_the_interval() {
        let mut points = tent(2, 12, 400);
        let mut rng = Seed(3).stream("noise");
        // Each sum of 12 uniform numbers is nearly normal, with a standard deviation of 1.
        let mut normal = || (0..12).map(|_| rng.random::<f32>()).sum::<f32>() - 6.0;
        points.values_mut().iter_mut().for_each(|value| *value += 0.05 * normal());
        // Signal: 2 coordinates of variance 1/6; noise: 12 of 0.0025.
        let share = (0.03_f64 / (1.0 / 3.0 + 0.03)).sqrt();
        let plain = found("Mle(neighbors: 10)", &points, IntervalSpec::default());
        let noise = Fraction::new(share).unwrap();
        let known = IntervalSpec { noise, ..IntervalSpec::default() };
        let known = found("Mle(neighbors: 10)", &points, known);
        assert!(plain.low > 2.0 && known.holds(2.0), "{plain:?} {known:?}");
    }

    #[test]
    fn a_case_is_hopeless_where_neighborhoods_are_nearly_the_whole() {
        assert!(is_hopeless(20, 2500, 70.0));
        assert!(!is_hopeless(20, 2500, 24.0));
        assert!(is_hopeless(50, 500, 24.0));
        assert!(!is_hopeless(2, 500, 24.0));
    }
}
