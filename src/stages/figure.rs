//! `Figure`: records as a picture.
//!
//! ```ron
//! "variance-spectrum": Figure(
//!     records: [Each("dimension-{model}-{seed}")],
//!     picture: VarianceSpectrum(caption: "..", label: "Figure 1", series: "model", over: ["seed"]),
//! )
//! ```

use serde::{Deserialize, Serialize};

use super::records::{Review, labeled_records};
use crate::engine::context::{RunContext, StageError};
use crate::engine::stage::{Each, Input, Kind, Problem, Producer, Stage};
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

    fn problems(&self, inputs: &[Vec<Producer>]) -> Vec<Problem> {
        let mut review = Review::of(inputs);
        match &self.picture {
            FigureSpec::VarianceSpectrum(spec) => {
                review.titles(&spec.titles);
                review.values("field", &[&spec.field]);
                review
                    .axes(&[("series", std::slice::from_ref(&spec.series)), ("over", &spec.over)]);
            }
        }
        review.problems()
    }

    fn run(&self, context: &mut RunContext) -> Result<(), StageError> {
        let records = labeled_records(context, &self.records)?;
        let figure = self.picture.build(&records)?;
        let panels = figure.summaries();
        context.log(&format!("{} records in {} panels", records.len(), panels.len()));
        for panel in panels {
            context.log(&panel);
        }
        context.store(&figure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stages::records::tests::{sweep, told};

    fn problems(settings: &str) -> Vec<String> {
        let picture = format!(r#"VarianceSpectrum((caption: "c", label: "l", {settings}))"#);
        let text = format!(r#"(records: [Each("x")], picture: {picture})"#);
        let figure: Figure = ron::from_str(&text).unwrap();
        told(&figure.problems(&[sweep(Some(&["dimension", "variances"]))]))
    }

    #[test]
    fn mistakes_are_told_before_anything_runs() {
        assert!(problems(r#"series: "model", over: ["seed"]"#).is_empty());
        assert_eq!(
            problems(r#"series: "model", over: ["seed"], field: "variance""#),
            ["field: no record has a value named `variance` (did you mean `variances`?)"]
        );
        assert_eq!(
            problems(r#"series: "models", over: ["seed"]"#),
            ["series: the records have no axis `models` (did you mean `model`?)"]
        );
        assert_eq!(
            problems(r#"series: "model", over: ["seed"], titles: {"pcea": "PCAE"}"#),
            ["titles: `pcea` is neither an axis nor a label of these records \
              (did you mean `pcae`?)"]
        );
    }
}
