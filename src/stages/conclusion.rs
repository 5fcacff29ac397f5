//! The stage kind [`Conclusion`].

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::records::labeled_records;
use crate::engine::pipeline::diagnostic::nearest;
use crate::engine::stage::context::{RunContext, StageError};
use crate::engine::stage::{Each, Input, Inputs, Kind, Problem, Producer, Stage};
use crate::report::conclusion::{Evidence, Reading};
use crate::report::{self, Values};

/// What estimates and counts amount to: a range of the dimension, and a paragraph on it.
///
/// ```ron
/// "conclusion": Conclusion(
///     estimates: [Each("dimension-{estimator}")],          // without a model
///     counts: [Each("dimension-{model}-axes-{seed}")],     // coordinates of codes
///     errors: [Each("error-{model}-{seed}")],              // of their reconstructions
///     baseline: "pca", over: ["seed"], titles: {"pcae": "PCAE", "pca": "PCA"},
/// )
/// ```
///
/// The range consists of the values that most 90 % intervals of the estimates hold. Estimates
/// without an interval (`interval_low` and `interval_high` in their records) give a range of
/// estimates with two standard errors, which says nothing of their bias; then the range has no upper
/// end where the points are too few for such a dimension. Rules look at the rest: estimators that
/// disagree, models that count something else, counts that are at the limit of the code, models that
/// reconstruct worse than the baseline, counts that vary over seeds, codes that have collapsed.
///
/// The report opens with the paragraph, and a run ends with it. The record has `low`, `high` (absent
/// if there is no upper end), `text`, and for each rule whether it found something (1) or not (0):
/// `estimates_disagree`, `estimate_outside`, `few_points`, `counts_agree`, `counts_differ`,
/// `linear_count`, `at_limit`, `worse_than_baseline`, `unstable` and `collapsed`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Conclusion {
    /// Families of records of estimates without a model.
    #[serde(skip_serializing)]
    pub estimates: Vec<Each<Values>>,
    /// Families of records of counts, by `Estimate` with `Variance` or `Spectrum`.
    #[serde(default, skip_serializing)]
    pub counts: Vec<Each<Values>>,
    /// Families of records of reconstruction errors.
    #[serde(default, skip_serializing)]
    pub errors: Vec<Each<Values>>,
    /// Axes that number the runs.
    #[serde(default = "seeds")]
    pub over: Vec<String>,
    /// The label of the linear model that others should not reconstruct worse than.
    #[serde(default = "pca")]
    pub baseline: String,
    /// Name of the error in its records.
    #[serde(default = "squared_error")]
    pub error: String,
    /// How many values a sample has: codes can't have more coordinates that matter.
    #[serde(default)]
    pub width: Option<NonZeroUsize>,
    /// Display names of labels.
    #[serde(default)]
    pub titles: BTreeMap<String, String>,
}

fn seeds() -> Vec<String> {
    vec!["seed".to_owned()]
}

fn pca() -> String {
    "pca".to_owned()
}

fn squared_error() -> String {
    "squared_error".to_owned()
}

impl Stage for Conclusion {
    fn kind(&self) -> Kind {
        Kind { name: "Conclusion", version: 2 }
    }

    fn inputs(&self) -> Vec<Input> {
        let families = |role: &'static str, families: &[Each<Values>]| -> Vec<Input> {
            let numbered = families.iter().enumerate();
            numbered.map(|(at, family)| family.input(&format!("{role}[{at}]"))).collect()
        };
        [
            families("estimates", &self.estimates),
            families("counts", &self.counts),
            families("errors", &self.errors),
        ]
        .concat()
    }

    fn output(&self, _inputs: &Inputs<'_, str>) -> String {
        "conclusion".to_owned()
    }

    fn is_report(&self) -> bool {
        true
    }

    fn problems(&self, inputs: &Inputs<'_, Producer>) -> Vec<Problem> {
        let mut problems = Vec::new();
        if self.estimates.is_empty() {
            problems.push(Problem {
                field: "estimates",
                message: "a conclusion needs estimates without a model".to_owned(),
                help: Some("name at least one family: `estimates: [Each(\"..\")]`".to_owned()),
            });
        }
        let error = self.error.as_str();
        for (role, value) in
            [("estimates", "dimension"), ("counts", "dimension"), ("errors", error)]
        {
            problems.extend(missing_value(inputs, role, value));
        }
        problems
    }

    fn values(&self) -> Option<Vec<String>> {
        Some(report::Conclusion::value_names())
    }

    fn run(&self, context: &mut RunContext) -> Result<(), StageError> {
        let estimates = labeled_records(context, &self.estimates)?;
        let counts = labeled_records(context, &self.counts)?;
        let errors = labeled_records(context, &self.errors)?;
        let reading = Reading {
            over: &self.over,
            baseline: &self.baseline,
            error: &self.error,
            titles: &self.titles,
            width: self.width.map(NonZeroUsize::get),
        };
        let evidence = Evidence::of(reading, &estimates, &counts, &errors);
        let conclusion = report::Conclusion::of(&evidence);
        context.log(&conclusion.paragraph());
        for step in &conclusion.next {
            context.log(&format!("next: {step}"));
        }
        context.store(&conclusion)
    }
}

/// Returns a problem if none of the records of a role has a value.
fn missing_value(
    inputs: &Inputs<'_, Producer>,
    role: &'static str,
    value: &str,
) -> Option<Problem> {
    let made = inputs.families(role).concat();
    let known: Option<Vec<_>> = made.iter().map(|made| made.values.as_deref()).collect();
    let known: BTreeSet<&str> = known?.into_iter().flatten().map(String::as_str).collect();
    if made.is_empty() || known.contains(value) {
        return None;
    }
    let names: Vec<&str> = known.into_iter().collect();
    let help = match nearest(value, &names) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("their values: {}", names.join(", ")),
    };
    let field = if role == "errors" { "error" } else { role };
    let message = format!("no record of `{role}` has a value named `{value}`");
    Some(Problem { field, message, help: Some(help) })
}

/// A stage and the key of its settings; when the key changes, every user computes again.
#[cfg(test)]
pub(super) const PINNED: (&str, &str) =
    (r#"Conclusion(estimates: [Each("dimension-{estimator}")])"#, "b07614c6");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stages::test_inputs::{problems_of, producer};

    #[test]
    fn records_without_the_numbers_that_count_are_reported_before_anything_runs() {
        let stage: Conclusion = ron::from_str(
            r#"(estimates: [Each("e")], counts: [Each("c")], errors: [Each("x")], error: "loss")"#,
        )
        .unwrap();
        let made = |value: &str| vec![producer(&[("model", "pcae")], Some(&[value]))];
        let right = [made("dimension"), made("dimension"), made("loss")];
        assert!(problems_of(&stage, &right).is_empty());
        let wrong = [made("r2"), made("dimension"), made("squared_error")];
        assert_eq!(
            problems_of(&stage, &wrong),
            [
                "estimates: no record of `estimates` has a value named `dimension` (their values: r2)",
                "error: no record of `errors` has a value named `loss` (their values: squared_error)",
            ]
        );
        let none: Conclusion = ron::from_str("(estimates: [])").unwrap();
        assert_eq!(problems_of(&none, &[]).len(), 1);
    }
}
