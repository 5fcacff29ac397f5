//! `Table`: records as mean and spread, beside published numbers.
//!
//! ```ron
//! "intrinsic-dimension": Table(
//!     records: [Each("dimension-{model}-{seed}"), Each("quality-{model}-{seed}")],
//!     caption: "Estimated dimension", label: "Table 1",
//!     rows: ["model"], over: ["seed"],
//!     values: [Value(field: "dimension", title: "Dimension", best: Closest(4),
//!                    published: {"pcae": (4.00, 0.00)})],
//! )
//! ```

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::records::{axis_problems, labeled_records};
use crate::engine::context::{RunContext, StageError};
use crate::engine::stage::{Each, Input, Kind, Labels, Problem, Stage};
use crate::report::{Spread, TableSpec, ValueSpec, Values, tabulate};

/// Settings of a table stage; the fields after `records` are those of [`TableSpec`].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Families of records; those with equal labels are joined.
    #[serde(skip_serializing)]
    pub records: Vec<Each<Values>>,
    /// What the table shows.
    pub caption: String,
    /// What the table is called in the paper.
    pub label: String,
    /// Axes whose labels make the rows.
    pub rows: Vec<String>,
    /// Axes spread across the columns.
    #[serde(default)]
    pub columns: Vec<String>,
    /// Axes averaged over.
    #[serde(default)]
    pub over: Vec<String>,
    /// The values shown, side by side.
    pub values: Vec<ValueSpec>,
    /// Axes along which cells compete for best.
    #[serde(default)]
    pub compare: Vec<String>,
    /// Display names of axes and of their labels.
    #[serde(default)]
    pub titles: BTreeMap<String, String>,
    /// Divisor of the standard deviation.
    #[serde(default)]
    pub spread: Spread,
}

impl Stage for Table {
    fn kind(&self) -> Kind {
        Kind { name: "Table", version: 1 }
    }

    fn inputs(&self) -> Vec<Input> {
        let families = self.records.iter().enumerate();
        families.map(|(at, family)| family.input(&format!("records[{at}]"))).collect()
    }

    fn output(&self) -> String {
        "table".to_owned()
    }

    fn is_report(&self) -> bool {
        true
    }

    fn problems(&self, families: &[Vec<Labels>]) -> Vec<Problem> {
        let roles: [(&'static str, &[String]); 3] =
            [("rows", &self.rows), ("columns", &self.columns), ("over", &self.over)];
        axis_problems(&roles, families)
    }

    fn run(&self, context: &mut RunContext) -> Result<(), StageError> {
        let spec = TableSpec {
            caption: self.caption.clone(),
            label: self.label.clone(),
            rows: self.rows.clone(),
            columns: self.columns.clone(),
            over: self.over.clone(),
            values: self.values.clone(),
            compare: self.compare.clone(),
            titles: self.titles.clone(),
            spread: self.spread,
        };
        let table = tabulate(&spec, &labeled_records(context, &self.records)?)?;
        context.store(&table)
    }
}
