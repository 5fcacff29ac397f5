//! The stage kind [`Estimate`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::samples::SampleKind;
use crate::dimension::{EstimatorSpec, Finding, LocalEstimate, count_name};
use crate::engine::stage::context::{RunContext, StageError};
use crate::engine::stage::lifecycle::Progress;
use crate::engine::stage::{Input, Inputs, Kind, Problem, Producer, Stage, StageRef};
use crate::geometry::Neighbors;
use crate::numerics::Points;
use crate::numerics::units::Fraction;
use crate::report::{RecordValue, Values};

/// Names of the values of a count.
const COUNT: [&str; 4] = ["dimension", "share", "total_variance", "variances"];
/// Names of the values of a dimension estimated from neighbors.
const LOCAL: [&str; 4] = ["dimension", "spread", "points_used", "duplicates"];

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
/// `LocalPca`, `CorrelationDimension` and `Mom`. Several of them can share the neighbors of one
/// stage.
///
/// A count records `dimension`, `share`, `total_variance`, `variances`, and one for each share
/// in `also`. All others record `dimension`, `spread` (its standard error, as if points were
/// independent), `points_used`, and `duplicates` (neighbors ignored because they coincide with
/// their point). Where there are too few points for more than a rough number, a `note` says so.
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
}

impl Stage for Estimate {
    fn kind(&self) -> Kind {
        Kind { name: "Estimate", version: 1 }
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
        let names = if self.estimator.is_count() { COUNT } else { LOCAL };
        let further = self.estimator.also().iter().copied().map(count_name);
        Some(names.map(str::to_owned).into_iter().chain(further).collect())
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
            Finding::Local(LocalEstimate { dimension, spread, points_used, duplicates }) => context
                .log(&format!(
                    "dimension {dimension:.4} with a standard error of {spread:.4} from \
                     {points_used} points; {duplicates} duplicate neighbors ignored"
                )),
        }
        let note = self.estimator.note(&points, &found);
        if let Some(note) = &note {
            context.log(&format!("warning: {note}"));
            context.progress(Progress { message: Some(note.clone()), ..Progress::default() });
        }
        let mut values = record(found, self.estimator.also());
        values.extend(note.map(|note| (NOTE.to_owned(), RecordValue::Text(note))));
        context.store(&values)
    }
}

/// Lists the numbers of an estimate under their names.
fn record(found: Finding, also: &[Fraction]) -> Values {
    let count = |number: usize| RecordValue::Number(number as f64);
    let (names, values, further) = match found {
        Finding::Count(estimate, further) => {
            let values = [
                count(estimate.dimension),
                RecordValue::Number(estimate.share),
                RecordValue::Number(estimate.total_variance),
                RecordValue::List(estimate.variances),
            ];
            (COUNT, values, further)
        }
        Finding::Local(LocalEstimate { dimension, spread, points_used, duplicates }) => {
            let numbers = [dimension, spread].map(RecordValue::Number);
            let [dimension, spread] = numbers;
            (LOCAL, [dimension, spread, count(points_used), count(duplicates)], Vec::new())
        }
    };
    let further = also.iter().copied().map(count_name).zip(further.into_iter().map(count));
    names.into_iter().map(str::to_owned).zip(values).chain(further).collect()
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
        let local = LocalEstimate { dimension: 2.5, spread: 0.5, points_used: 7, duplicates: 3 };
        let numbers = expected(&[
            ("dimension", RecordValue::Number(2.5)),
            ("spread", RecordValue::Number(0.5)),
            ("points_used", RecordValue::Number(7.0)),
            ("duplicates", RecordValue::Number(3.0)),
        ]);
        assert_eq!(record(Finding::Local(local), &[]), numbers);
        let looking = stage("estimator: Mom((neighbors: 20))");
        assert!(looking.values().unwrap().iter().all(|name| numbers.contains_key(name)));
    }
}
