//! `Figure`: records as a picture.
//!
//! ```ron
//! "variance-spectrum": Figure(
//!     records: [Each("dimension-{model}-{seed}")],
//!     picture: VarianceSpectrum(caption: "..", label: "Figure 1", series: "model", over: ["seed"]),
//! )
//! ```

use serde::{Deserialize, Serialize};

use super::records::{axis_problems, labeled_records};
use crate::engine::context::{RunContext, StageError};
use crate::engine::stage::{Each, Input, Kind, Labels, Problem, Stage};
use crate::report::{FigureSpec, Values};

/// Settings of a figure stage.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Families of records; those with equal labels are joined.
    #[serde(skip_serializing)]
    pub records: Vec<Each<Values>>,
    /// What is drawn.
    pub picture: FigureSpec,
}

impl Stage for Figure {
    fn kind(&self) -> Kind {
        Kind { name: "Figure", version: 1 }
    }

    fn inputs(&self) -> Vec<Input> {
        let families = self.records.iter().enumerate();
        families.map(|(at, family)| family.input(&format!("records[{at}]"))).collect()
    }

    fn output(&self) -> String {
        "figure".to_owned()
    }

    fn is_report(&self) -> bool {
        true
    }

    fn problems(&self, families: &[Vec<Labels>]) -> Vec<Problem> {
        match &self.picture {
            FigureSpec::VarianceSpectrum(spec) => axis_problems(
                &[("series", std::slice::from_ref(&spec.series)), ("over", &spec.over)],
                families,
            ),
        }
    }

    fn run(&self, context: &mut RunContext) -> Result<(), StageError> {
        let records = labeled_records(context, &self.records)?;
        let figure = self.picture.build(&records)?;
        context.store(&figure)
    }
}
