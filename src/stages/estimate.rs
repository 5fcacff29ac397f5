//! `Estimate`: the dimension of points, with what the estimate rests on.
//!
//! ```ron
//! "dimension-{seed}": Estimate(points: "codes-{seed}", estimator: Variance(threshold: 0.99))
//! ```

use serde::{Deserialize, Serialize};

use crate::dimension::EstimatorSpec;
use crate::engine::context::{RunContext, StageError};
use crate::engine::stage::{Input, Kind, Stage, StageRef};
use crate::numerics::Points;
use crate::report::{RecordValue, Values};

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

    fn output(&self) -> String {
        "record".to_owned()
    }

    fn run(&self, context: &mut RunContext) -> Result<(), StageError> {
        let points = context.load(&self.points)?;
        let estimate = self.estimator.estimate(&points)?;
        let number = |value| RecordValue::Number(value);
        context.store(&Values::from([
            ("dimension".to_owned(), number(estimate.dimension as f64)),
            ("share".to_owned(), number(estimate.share)),
            ("total_variance".to_owned(), number(estimate.total_variance)),
            ("variances".to_owned(), RecordValue::List(estimate.variances)),
        ]))
    }
}
