//! The stage kind [`Estimate`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::report_counts;
use super::samples::SampleKind;
use crate::dimension::{
    EstimatorSpec, Finding, Interval, IntervalSpec, LocalEstimate, ScaleEstimate, count_name,
};
use crate::engine::stage::context::{RunContext, StageError};
use crate::engine::stage::estimate::{ArtifactEstimate, Work};
use crate::engine::stage::lifecycle::Progress;
use crate::engine::stage::{Input, Inputs, Kind, Problem, Producer, Stage, StageRef};
use crate::geometry::Neighbors;
use crate::numerics::Points;
use crate::numerics::units::{Fraction, PositiveF64};
use crate::report::{RecordValue, Values};

/// Names of the values of a count.
const COUNT: [&str; 4] = ["dimension", "share", "total_variance", "variances"];
/// Names of the values of a dimension estimated from neighbors.
const LOCAL: [&str; 4] = ["dimension", "spread", "points_used", "duplicates"];

/// Names of the quantiles of the estimates of single points.
const OWN: [&str; 3] = ["own_10", "own_50", "own_90"];
/// Names of the lists of an estimate at several scales.
const SCALES: [&str; 4] = ["scale_ranks", "scale_distances", "scale_dimensions", "scale_spreads"];
/// Names of the values of an interval.
const INTERVAL: [&str; 6] = [
    "interval_low",
    "interval_high",
    "interval_width",
    "interval_open",
    "dimension_corrected",
    "subsample_spread",
];
/// Names of what a known dimension tells of an interval.
const TRUTH: [&str; 2] = ["covered", "hopeless"];

/// Operations that take as long as starting the stage: with them, runs of quick estimates tell how
/// long others take.
const STARTING: f64 = 1e9;

/// Name of what is said of an estimate from few points.
const NOTE: &str = "note";

/// The intrinsic dimension of points, with the numbers that the estimate rests on.
///
/// ```ron
/// "dimension-{seed}": Estimate(points: "codes-{seed}", estimator: Variance(threshold: 0.99)),
/// "rank-{seed}": Estimate(points: "codes-{seed}", estimator: Spectrum(threshold: 0.99)),
/// "linear-dimension": Estimate(
///     points: "train-images", estimator: Spectrum(threshold: 0.99, also: [0.95, 0.999]),
/// ),
/// "images-mle": Estimate(
///     points: "train-images", neighbors: "train-neighbors",
///     estimator: Mle(neighbors: 20, form: Pope),
/// ),
/// "images-two": Estimate(points: "train-images", estimator: TwoNn(discard: 0.1)),
/// "images-axes": Estimate(
///     points: "train-images", estimator: LocalPca(neighbors: 50, rule: FukunagaOlsen()),
/// )
/// ```
///
/// `Variance` counts the leading coordinates that hold a share of the variance, in their own order:
/// it is for codes that a model has ordered. `Spectrum` counts principal axes instead, whatever the
/// order of the coordinates: it is for all other codes, and for images and vectors as they are.
/// `also` counts at further shares: `also: [0.999]` adds the value `dimension_99.9`.
///
/// The other estimators look at neighbors and need neither an order nor a model: `Mle`, `TwoNn`,
/// `Gride`, `LocalPca`, `CorrelationDimension` and `Mom`. Several of them can share the neighbors of
/// one stage.
///
/// A count records `dimension`, `share`, `total_variance`, `variances`, and one for each share
/// in `also`. All others record `dimension`, `spread` (its standard error, as if points were
/// independent), `points_used`, and `duplicates` (neighbors ignored because they coincide with
/// their point). Those that estimate at single points record the quantiles of these, `own_10`,
/// `own_50` and `own_90`; from k neighbors such an estimate scatters by about 1 / sqrt(k) of
/// itself even where the dimension is the same everywhere. Where there are too few points for more
/// than a rough number, a `note` says so.
///
/// Every estimate but a count has an interval that includes bias: `interval_low` and `interval_high`
/// (whole numbers), their difference `interval_width`, `dimension_corrected` (the estimate without
/// its bias) and `subsample_spread` (its standard deviation over samples of the data). If the points
/// give no upper bound, `interval_high` is the number of coordinates, `interval_open` is 1, else 0, and a
/// `note` says why. What the interval means: `pcae-run explain Interval`. `interval: None` turns it
/// off.
///
/// With `truth`, the known dimension, `covered` is 1 if the interval holds it, else 0, and
/// `hopeless` is 1 if so many points of that dimension are too few for the estimator whatever their
/// shape: its neighbors then lie at more than 0.9 of the distance of all points, as (k / n)^(1 / d)
/// says. There is no `covered` then.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Estimate {
    /// The points whose dimension is estimated.
    pub points: StageRef<Points>,
    /// A stage that has found their neighbors already; they are searched for here if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neighbors: Option<StageRef<Neighbors>>,
    /// How their dimension is estimated.
    pub estimator: EstimatorSpec,
    /// The interval around the estimate; `None` leaves it out. Counts have none.
    #[serde(default = "default_interval", skip_serializing_if = "is_default_interval")]
    #[schemars(!skip_serializing_if)]
    pub interval: Option<IntervalSpec>,
    /// The known dimension, which the interval is compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truth: Option<PositiveF64>,
}

#[expect(clippy::unnecessary_wraps, reason = "the default of an optional setting")]
fn default_interval() -> Option<IntervalSpec> {
    Some(IntervalSpec::default())
}

#[expect(clippy::ref_option, reason = "the form in which serde asks")]
fn is_default_interval(interval: &Option<IntervalSpec>) -> bool {
    *interval == default_interval()
}

impl Stage for Estimate {
    fn kind(&self) -> Kind {
        // Counts have been the same since the first version.
        Kind { name: "Estimate", version: if self.estimator.is_count() { 1 } else { 2 } }
    }

    fn inputs(&self) -> Vec<Input> {
        let neighbors = self.neighbors.iter().map(|neighbors| neighbors.input("neighbors"));
        [self.points.input("points")].into_iter().chain(neighbors).collect()
    }

    fn output(&self, _inputs: &Inputs<'_, str>) -> String {
        "record".to_owned()
    }

    fn problems(&self, inputs: &Inputs<'_, Producer>) -> Vec<Problem> {
        let problem = |field, message: String, help: &str| Problem {
            field,
            message,
            help: Some(help.to_owned()),
        };
        let mut found = Vec::new();
        let points = inputs.one("points");
        let are_samples = points.is_some_and(|made| SampleKind::of_kind(&made.kind).is_some());
        if are_samples && self.estimator.needs_order() {
            found.push(problem(
                "estimator",
                "`Variance` counts coordinates in order, but only codes are ordered".to_owned(),
                "estimate the codes of an `Encode` stage, or count principal axes: \
                 `Spectrum(threshold: 0.99)`",
            ));
        }
        if let Some(message) = self.estimator.problem() {
            found.push(problem("estimator", message, "see `pcae-run explain Estimate`"));
        }
        if self.estimator.is_count()
            && self.interval.is_some_and(|own| own != IntervalSpec::default())
        {
            found.push(problem(
                "interval",
                "a count has no interval".to_owned(),
                "delete this line",
            ));
        }
        if self.truth.is_some() && !self.has_interval() {
            let message = "`truth` is compared with an interval, but there is none".to_owned();
            found.push(problem("truth", message, "delete this line"));
        }
        let length = inputs.one("neighbors").and_then(|made| made.row_length);
        match (self.neighbors.is_some(), self.estimator.neighbors()) {
            (true, None) => found.push(problem(
                "neighbors",
                "this estimator does not use neighbors".to_owned(),
                "delete this line",
            )),
            (true, Some(needed)) => {
                found.extend(length.filter(|found| *found < needed).map(|found| {
                    let message = format!(
                        "{needed} neighbors of each point are needed, but this stage finds {found}"
                    );
                    problem("neighbors", message, "raise its `count`")
                }));
            }
            (false, _) => {}
        }
        found
    }

    fn values(&self) -> Option<Vec<String>> {
        let mut names: Vec<&str> = Vec::new();
        if self.estimator.is_count() {
            names.extend(COUNT);
        } else {
            names.extend(LOCAL);
            names.extend(self.interval.iter().flat_map(|_| INTERVAL));
            names.extend(self.truth.iter().flat_map(|_| TRUTH));
            names.extend(if self.estimator.has_scales() { &SCALES[..] } else { &[] });
            names.extend(if self.estimator.has_own() { &OWN[..] } else { &[] });
        }
        let further = self.estimator.also().iter().copied().map(count_name);
        Some(names.into_iter().map(str::to_owned).chain(further).collect())
    }

    fn work(&self, inputs: &Inputs<'_, ArtifactEstimate>) -> Option<Work> {
        let points = inputs.one("points")?;
        let (rows, width) = (points.rows?, points.width()?);
        let (has_neighbors, has_interval) = (self.neighbors.is_some(), self.has_interval());
        let counted = self.estimator.operations(rows, width, has_neighbors, has_interval);
        Some(Work(STARTING + counted))
    }

    fn run(&self, context: &mut RunContext) -> Result<(), StageError> {
        let points = context.load(&self.points)?;
        let neighbors = self.neighbors.as_ref().map(|stage| context.load(stage)).transpose()?;
        let found = self.estimator.estimate(&points, neighbors.as_ref())?;
        context.log(&format!("{} points with {} coordinates", points.rows(), points.width()));
        match &found {
            Finding::Count(count, _) => context.log(&format!(
                "dimension {}, with {:.4} of the total variance {:.6}",
                count.dimension, count.share, count.total_variance
            )),
            Finding::Local(LocalEstimate {
                dimension, spread, points_used, duplicates, ..
            }) => context.log(&format!(
                "dimension {dimension:.4} with a standard error of {spread:.4} from \
                     {points_used} points; {duplicates} duplicate neighbors ignored"
            )),
        }
        let mut notes: Vec<String> = self.estimator.note(&points, &found).into_iter().collect();
        let mut further = Values::new();
        if let (Finding::Local(local), Some(spec)) = (&found, self.interval) {
            let mut report = report_counts(context, "reference manifold");
            let interval = self.estimator.interval(&points, local, spec, &mut report);
            drop(report);
            context.log(&format!(
                "the interval is {} to {}, the estimate without bias {:.2}",
                interval.low, interval.high, interval.corrected
            ));
            further.extend(self.compared(&interval, points.rows()));
            further.extend(interval_values(&interval));
            notes.extend(interval.note);
        }
        let note = (!notes.is_empty()).then(|| notes.join("; "));
        if let Some(note) = &note {
            context.log(&format!("warning: {note}"));
            context.progress(Progress { message: Some(note.clone()), ..Progress::default() });
        }
        let mut values = record(found, self.estimator.also());
        values.extend(further);
        values.extend(note.map(|note| (NOTE.to_owned(), RecordValue::Text(note))));
        context.store(&values)
    }
}

impl Estimate {
    fn has_interval(&self) -> bool {
        self.interval.is_some() && !self.estimator.is_count()
    }

    /// Says whether the interval holds the known dimension, if it is known.
    fn compared(&self, interval: &Interval, points: usize) -> Values {
        let Some(truth) = self.truth.map(PositiveF64::get) else { return Values::new() };
        let is_hopeless = self.estimator.is_hopeless(points, truth);
        let flag = |is_so: bool| RecordValue::Number(f64::from(u8::from(is_so)));
        let [covered, hopeless] = TRUTH.map(str::to_owned);
        let covered = (!is_hopeless).then(|| (covered, flag(interval.holds(truth))));
        covered.into_iter().chain([(hopeless, flag(is_hopeless))]).collect()
    }
}

/// Lists the numbers of an interval under their names.
fn interval_values(interval: &Interval) -> impl Iterator<Item = (String, RecordValue)> {
    let Interval { low, high, corrected, subsample_spread, .. } = *interval;
    let open = f64::from(u8::from(interval.note.is_some()));
    let values = [low, high, high - low, open, corrected, subsample_spread];
    INTERVAL.map(str::to_owned).into_iter().zip(values.map(RecordValue::Number))
}

/// Lists the numbers of an estimate under their names.
fn record(found: Finding, also: &[Fraction]) -> Values {
    let count = |number: usize| RecordValue::Number(number as f64);
    match found {
        Finding::Count(estimate, further) => {
            let values = [
                count(estimate.dimension),
                RecordValue::Number(estimate.share),
                RecordValue::Number(estimate.total_variance),
                RecordValue::List(estimate.variances),
            ];
            let further = also.iter().copied().map(count_name).zip(further.into_iter().map(count));
            COUNT.map(str::to_owned).into_iter().zip(values).chain(further).collect()
        }
        Finding::Local(local) => {
            let LocalEstimate { dimension, spread, points_used, duplicates, own, scales } = local;
            let [dimension, spread] = [dimension, spread].map(RecordValue::Number);
            let values = [dimension, spread, count(points_used), count(duplicates)];
            let own =
                own.into_iter().flat_map(|own| OWN.into_iter().zip(own.map(RecordValue::Number)));
            let named = LOCAL.into_iter().zip(values).chain(own).chain(scale_values(&scales));
            named.map(|(name, value)| (name.to_owned(), value)).collect()
        }
    }
}

/// Lists what was found at each scale, if there are several.
fn scale_values(scales: &[ScaleEstimate]) -> impl Iterator<Item = (&'static str, RecordValue)> {
    let columns: [fn(&ScaleEstimate) -> f64; 4] = [
        |scale| scale.rank as f64,
        |scale| scale.distance,
        |scale| scale.dimension,
        |scale| scale.spread,
    ];
    let lists = columns.map(|column| RecordValue::List(scales.iter().map(column).collect()));
    SCALES.into_iter().zip(lists).filter(|_| !scales.is_empty())
}

/// A stage and the key of its settings; when the key changes, every user computes again.
#[cfg(test)]
pub(super) const PINNED: (&str, &str) =
    (r#"Estimate(points: "codes", estimator: Variance(threshold: 0.99))"#, "db6a038c");

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::dimension;
    use crate::stages::test_inputs::problems_of;

    fn made(kind: &str, row_length: Option<usize>) -> Vec<Producer> {
        vec![Producer { kind: kind.into(), labels: Arc::default(), values: None, row_length }]
    }

    /// The counted work of an estimate of so many points with 10 coordinates.
    fn work(settings: &str, rows: usize) -> f64 {
        let points = ArtifactEstimate { rows: Some(rows), shape: vec![10], ..Default::default() };
        let inputs = [("points", vec![&points])].into_iter().collect();
        stage(settings).work(&inputs).unwrap().0
    }

    #[test]
    fn intervals_are_most_of_the_work_and_stop_growing_where_points_are_drawn() {
        let mle = "estimator: Mle((neighbors: 20, form: Pope))";
        let known = r#"neighbors: Some("near"), estimator: Mle((neighbors: 20, form: Pope))"#;
        let plain = &format!("{mle}, interval: None");
        assert!(work(mle, 2000) > 5.0 * work(plain, 2000));
        assert!(work(mle, 2000) > 1.3 * work(mle, 1000));
        let interval = |rows| work(mle, rows) - work(plain, rows);
        assert!((interval(50_000) / interval(5000) - 1.0).abs() < 1e-9);
        assert!(work(known, 50_000) < work(mle, 50_000) / 3.0);
        let count = work("estimator: Spectrum((threshold: 0.99))", 2000);
        assert!(count > 0.0 && count < work(mle, 500) / 5.0, "{count}");
        let nothing: Inputs<'_, ArtifactEstimate> = std::iter::empty().collect();
        assert_eq!(stage(mle).work(&nothing), None, "nothing is known of the points");
    }

    fn stage(settings: &str) -> Estimate {
        ron::from_str(&format!(r#"(points: "x", {settings})"#)).unwrap()
    }

    #[test]
    fn samples_have_no_order_to_count_by_but_they_have_principal_axes() {
        let problems = |estimator: &str, kind: &str| {
            problems_of(&stage(&format!("estimator: {estimator}")), &[made(kind, None)])
        };
        assert!(problems("Variance((threshold: 0.99))", "points").is_empty());
        for kind in ["points", "train-images", "vectors"] {
            assert!(problems("Spectrum((threshold: 0.99))", kind).is_empty(), "{kind}");
            assert!(problems("Mle((neighbors: 20))", kind).is_empty(), "{kind}");
            let sorted = "Variance((threshold: 0.99, order: Sorted))";
            assert!(problems(sorted, kind).is_empty(), "{kind}");
        }
        assert_eq!(
            problems("Variance((threshold: 0.99))", "test-images"),
            ["estimator: `Variance` counts coordinates in order, but only codes are ordered \
              (estimate the codes of an `Encode` stage, or count principal axes: \
              `Spectrum(threshold: 0.99)`)"]
        );
    }

    #[test]
    fn neighbors_that_are_too_few_or_not_used_are_reported_before_they_are_searched() {
        let problems = |estimator: &str| {
            let stage = stage(&format!(r#"neighbors: Some("near"), estimator: {estimator}"#));
            assert_eq!(stage.inputs().len(), 2);
            problems_of(&stage, &[made("train-images", None), made("neighbors", Some(10))])
        };
        assert!(problems("Mle((neighbors: 10))").is_empty());
        assert!(problems("TwoNn(())").is_empty());
        assert_eq!(
            problems("Mle((neighbors: 20))"),
            ["neighbors: 20 neighbors of each point are needed, but this stage finds 10 \
              (raise its `count`)"]
        );
        assert_eq!(
            problems("Spectrum((threshold: 0.99))"),
            ["neighbors: this estimator does not use neighbors (delete this line)"]
        );
    }

    #[test]
    fn every_number_stands_under_its_own_name() {
        let expected = |values: &[(&str, RecordValue)]| -> Values {
            values.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
        };
        let counting = stage("estimator: Spectrum((threshold: 0.7, also: [0.999]))");
        let estimate = dimension::Estimate {
            dimension: 1,
            variances: vec![3.0, 1.0],
            total_variance: 4.0,
            share: 0.75,
        };
        let found = record(Finding::Count(estimate, vec![2]), counting.estimator.also());
        let numbers = expected(&[
            ("dimension", RecordValue::Number(1.0)),
            ("share", RecordValue::Number(0.75)),
            ("total_variance", RecordValue::Number(4.0)),
            ("variances", RecordValue::List(vec![3.0, 1.0])),
            ("dimension_99.9", RecordValue::Number(2.0)),
        ]);
        assert_eq!(found, numbers);
        assert_eq!(counting.values().unwrap().len(), numbers.len());
        assert!(counting.values().unwrap().iter().all(|name| numbers.contains_key(name)));
        let scales = vec![ScaleEstimate { rank: 2, distance: 0.5, dimension: 2.5, spread: 0.5 }];
        let local = LocalEstimate {
            dimension: 2.5,
            spread: 0.5,
            points_used: 7,
            duplicates: 3,
            own: Some([1.0, 2.0, 3.0]),
            scales,
        };
        let numbers = expected(&[
            ("dimension", RecordValue::Number(2.5)),
            ("spread", RecordValue::Number(0.5)),
            ("points_used", RecordValue::Number(7.0)),
            ("duplicates", RecordValue::Number(3.0)),
            ("own_10", RecordValue::Number(1.0)),
            ("own_50", RecordValue::Number(2.0)),
            ("own_90", RecordValue::Number(3.0)),
            ("scale_ranks", RecordValue::List(vec![2.0])),
            ("scale_distances", RecordValue::List(vec![0.5])),
            ("scale_dimensions", RecordValue::List(vec![2.5])),
            ("scale_spreads", RecordValue::List(vec![0.5])),
        ]);
        assert_eq!(record(Finding::Local(local), &[]), numbers);
        for estimator in ["Mom((neighbors: 20))", "Gride((neighbors: 20))", "TwoNn(())"] {
            let looking = stage(&format!("estimator: {estimator}, interval: None"));
            assert!(looking.values().unwrap().iter().all(|name| numbers.contains_key(name)));
        }
    }

    #[test]
    fn a_known_dimension_is_compared_with_the_interval_unless_the_case_is_hopeless() {
        let interval =
            |low, high| Interval { low, high, corrected: 10.0, subsample_spread: 0.1, note: None };
        let compared = |truth: f64, points| {
            let stage = stage(&format!("estimator: Mle((neighbors: 20)), truth: Some({truth:?})"));
            assert!(stage.values().unwrap().contains(&"covered".to_owned()));
            let values = stage.compared(&interval(9.0, 13.0), points);
            TRUTH.map(|name| values.get(name).cloned())
        };
        let number = |number| Some(RecordValue::Number(number));
        assert_eq!(compared(9.0, 2500), [number(1.0), number(0.0)]);
        assert_eq!(compared(14.0, 2500), [number(0.0), number(0.0)]);
        // 20 of 2,500 points of dimension 70 lie at 0.93 of the distance of all.
        assert_eq!(compared(70.0, 2500), [None, number(1.0)]);
    }

    #[test]
    fn counts_have_neither_interval_nor_truth() {
        let problems = |settings: &str| {
            let stage = stage(&format!("estimator: Spectrum((threshold: 0.9)), {settings}"));
            problems_of(&stage, &[made("points", None)])
        };
        assert!(problems("interval: None").is_empty());
        assert_eq!(
            problems("interval: Some((level: 0.5))"),
            ["interval: a count has no interval (delete this line)"]
        );
        assert_eq!(
            problems("truth: Some(3)"),
            ["truth: `truth` is compared with an interval, but there is none (delete this line)"]
        );
    }
}
