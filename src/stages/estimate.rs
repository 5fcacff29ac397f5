//! `Estimate`: the dimension of points, with what the estimate rests on.
//!
//! `Variance` counts the leading coordinates that hold a share of the variance, in their own order:
//! it is for codes that a model has ordered. `Spectrum` counts principal axes instead, whatever the
//! order of the coordinates: it is for all other codes, and for images and vectors as they are.
//!
//! ```ron
//! "dimension-{seed}": Estimate(points: "codes-{seed}", estimator: Variance(threshold: 0.99)),
//! "rank-{seed}": Estimate(points: "codes-{seed}", estimator: Spectrum(threshold: 0.99)),
//! "linear-dimension": Estimate(points: "train-images", estimator: Spectrum(threshold: 0.99))
//! ```

use serde::{Deserialize, Serialize};

use super::samples::Sort;
use crate::dimension::{self, EstimatorSpec};
use crate::engine::context::{RunContext, StageError};
use crate::engine::stage::{Input, Kind, Problem, Producer, Stage, StageRef};
use crate::numerics::Points;
use crate::report::{RecordValue, Values};

/// Names of the values in the record.
const VALUES: [&str; 4] = ["dimension", "share", "total_variance", "variances"];

/// Settings of an estimation stage.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Estimate {
    /// The points.
    pub points: StageRef<Points>,
    /// How their dimension is estimated.
    pub estimator: EstimatorSpec,
}

impl Stage for Estimate {
    fn kind(&self) -> Kind {
        Kind { name: "Estimate", version: 1 }
    }

    fn inputs(&self) -> Vec<Input> {
        vec![self.points.input("points")]
    }

    fn output(&self, _inputs: &[Vec<String>]) -> String {
        "record".to_owned()
    }

    fn problems(&self, inputs: &[Vec<Producer>]) -> Vec<Problem> {
        let kinds = inputs.iter().flatten().map(|producer| producer.kind.as_str());
        let samples = kinds.into_iter().any(|kind| Sort::of_kind(kind).is_some());
        if !samples || !self.estimator.needs_order() {
            return Vec::new();
        }
        vec![Problem {
            field: "estimator",
            message: "`Variance` counts coordinates in their order, which only codes have"
                .to_owned(),
            help: Some(
                "estimate the codes of an `Encode` stage, or count principal axes: \
                 `Spectrum(threshold: 0.99)`"
                    .to_owned(),
            ),
        }]
    }

    fn values(&self) -> Option<Vec<String>> {
        Some(VALUES.map(str::to_owned).into())
    }

    fn run(&self, context: &mut RunContext) -> Result<(), StageError> {
        let points = context.load(&self.points)?;
        let estimate = self.estimator.estimate(&points)?;
        context.log(&format!("{} points with {} coordinates", points.rows(), points.width()));
        context.log(&format!(
            "dimension {}, which holds {:.4} of the total variance {:.6}",
            estimate.dimension, estimate.share, estimate.total_variance
        ));
        context.store(&record(estimate))
    }
}

/// Lists the numbers of an estimate under their names.
fn record(estimate: dimension::Estimate) -> Values {
    let values = [
        RecordValue::Number(estimate.dimension as f64),
        RecordValue::Number(estimate.share),
        RecordValue::Number(estimate.total_variance),
        RecordValue::List(estimate.variances),
    ];
    VALUES.into_iter().map(str::to_owned).zip(values).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stages::records::tests::told;

    #[test]
    fn samples_have_no_order_to_count_by_but_they_have_principal_axes() {
        let problems = |estimator: &str, kind: &str| {
            let text = format!(r#"(points: "x", estimator: {estimator}((threshold: 0.99)))"#);
            let stage: Estimate = ron::from_str(&text).unwrap();
            let kind = kind.to_owned();
            told(&stage.problems(&[vec![Producer { kind, labels: [].into(), values: None }]]))
        };
        assert!(problems("Variance", "points").is_empty());
        for kind in ["points", "train-images", "vectors"] {
            assert!(problems("Spectrum", kind).is_empty(), "{kind}");
        }
        assert_eq!(
            problems("Variance", "test-images"),
            ["estimator: `Variance` counts coordinates in their order, which only codes have \
              (estimate the codes of an `Encode` stage, or count principal axes: \
              `Spectrum(threshold: 0.99)`)"]
        );
    }

    #[test]
    fn every_number_stands_under_its_own_name() {
        let estimate = dimension::Estimate {
            dimension: 1,
            variances: vec![3.0, 1.0],
            total_variance: 4.0,
            share: 0.75,
        };
        let expected = [
            ("dimension", RecordValue::Number(1.0)),
            ("share", RecordValue::Number(0.75)),
            ("total_variance", RecordValue::Number(4.0)),
            ("variances", RecordValue::List(vec![3.0, 1.0])),
        ];
        assert_eq!(record(estimate), expected.map(|(name, value)| (name.to_owned(), value)).into());
    }
}
