//! `Table`: records as mean and spread, beside published numbers.
//!
//! ```ron
//! "intrinsic-dimension": Table(
//!     records: [Each("dimension-{model}-{seed}"), Each("quality-{model}-{seed}")],
//!     caption: "Estimated dimension", label: "Table 1",
//!     rows: ["model"], over: ["seed"],
//!     values: [Value(field: "dimension", title: "Dimension", best: Closest(4),
//!                    published: {"pcae": (4.00, 0.00)}, counts: true, margin: Absolute(0.5))],
//!     published_runs: 5,
//! )
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};

use super::records::{Reported, Review, labeled_records};
use crate::engine::context::{RunContext, StageError};
use crate::engine::stage::{Each, Input, Kind, Problem, Producer, Stage};
use crate::report::{Spread, TableSpec, ValueSpec, Values, five_runs, tabulate};

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
    /// Number of runs behind each published mean.
    #[serde(default = "five_runs")]
    pub published_runs: NonZeroUsize,
}

impl Stage for Table {
    fn kind(&self) -> Kind {
        Kind { name: "Table", version: 2 }
    }

    fn inputs(&self) -> Vec<Input> {
        let families = self.records.iter().enumerate();
        families.map(|(at, family)| family.input(&format!("records[{at}]"))).collect()
    }

    fn output(&self, _inputs: &[Vec<String>]) -> String {
        "table".to_owned()
    }

    fn is_report(&self) -> bool {
        true
    }

    fn problems(&self, inputs: &[Vec<Producer>]) -> Vec<Problem> {
        let mut review = Review::of(Reported::Records, inputs);
        review.titles(&self.titles);
        if self.rows.is_empty() {
            let help = "name at least one axis of the records: `rows: [\"model\"]`";
            review.refuse("rows", "a table needs rows".to_owned(), help);
        }
        self.review_values(&mut review);
        let roles: [(&'static str, &[String]); 3] =
            [("rows", &self.rows), ("columns", &self.columns), ("over", &self.over)];
        if review.axes(&roles) {
            self.review_cells(&mut review);
        }
        review.problems()
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
            published_runs: self.published_runs,
        };
        let records = labeled_records(context, &self.records)?;
        let table = tabulate(&spec, &records)?;
        let (rows, columns) = (table.rows.len(), table.columns.len());
        context.log(&format!("{} records in {rows} rows and {columns} columns", records.len()));
        let empty = table.rows.iter().flat_map(|row| &row.cells).filter(|cell| cell.n == 0).count();
        if empty > 0 {
            context.log(&format!("{empty} of {} cells have no record", rows * columns));
        }
        context.store(&table)
    }
}

impl Table {
    fn review_values(&self, review: &mut Review<'_>) {
        if self.values.is_empty() {
            let help = "list at least one `Value(field: \"..\", title: \"..\")`";
            review.refuse("values", "a table needs values".to_owned(), help);
        }
        let fields: Vec<&str> = self.values.iter().map(|value| value.field.as_str()).collect();
        review.values("values", &fields);
        let mut seen = BTreeSet::new();
        for field in fields.into_iter().filter(|field| !seen.insert(*field)) {
            let message = format!("the value `{field}` is listed twice");
            review.refuse("values", message, "list each value once");
        }
    }

    /// Checks what names cells, given axes that are right.
    fn review_cells(&self, review: &mut Review<'_>) {
        let axes = [self.rows.clone(), self.columns.clone()].concat();
        let shown: Vec<&str> = axes.iter().map(String::as_str).collect();
        for axis in self.compare.iter().filter(|axis| !axes.contains(axis)) {
            let message =
                format!("cells can't compete along `{axis}`, which the table doesn't show");
            review.unknown("compare", message, axis, &shown);
        }
        if self.values.iter().all(|value| value.published.is_empty()) {
            return;
        }
        let places = review.places(&axes);
        let cells: Vec<&str> = places.iter().map(String::as_str).collect();
        for ValueSpec { field, published, .. } in &self.values {
            for key in published.keys().filter(|key| !places.contains(key)) {
                let message = format!("the published `{field}` of `{key}` belongs to no cell");
                review.unknown("values", message, key, &cells);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ron::extensions::Extensions;

    use super::*;
    use crate::stages::records::tests::{sweep, told};

    fn problems(layout: &str, values: &str) -> Vec<String> {
        let text = format!(
            r#"(records: [Each("x")], caption: "c", label: "l", {layout}, values: [{values}])"#
        );
        let options = ron::Options::default().with_default_extension(Extensions::IMPLICIT_SOME);
        let table: Table = options.from_str(&text).unwrap();
        told(&table.problems(&[sweep(Some(&["dimension", "share"]))]))
    }

    const ROWS: &str = r#"rows: ["model"], over: ["seed"]"#;
    const DIMENSION: &str = r#"Value(field: "dimension", title: "D")"#;

    #[test]
    fn a_table_without_mistakes_has_no_problems() {
        assert!(problems(ROWS, DIMENSION).is_empty());
        let published = r#"Value(field: "share", title: "S", published: {"pcae/0": (1, None)})"#;
        assert!(problems(r#"rows: ["model"], columns: ["seed"]"#, published).is_empty());
    }

    #[test]
    fn empty_lists_are_told_before_anything_runs() {
        assert_eq!(
            problems(r#"rows: [], over: ["seed"]"#, DIMENSION),
            [
                "rows: a table needs rows (name at least one axis of the records: `rows: [\"model\"]`)"
            ]
        );
        assert_eq!(
            problems(ROWS, ""),
            [
                "values: a table needs values (list at least one `Value(field: \"..\", title: \"..\")`)"
            ]
        );
        assert_eq!(
            problems(ROWS, &format!("{DIMENSION}, {DIMENSION}")),
            ["values: the value `dimension` is listed twice (list each value once)"]
        );
    }

    #[test]
    fn cells_compete_only_along_axes_that_are_shown() {
        assert_eq!(
            problems(&format!(r#"{ROWS}, compare: ["seed"]"#), DIMENSION),
            ["compare: cells can't compete along `seed`, which the table doesn't show \
              (valid here: `model`)"]
        );
    }

    #[test]
    fn a_published_number_must_belong_to_a_cell() {
        let value = |key: &str| {
            format!(r#"Value(field: "dimension", title: "D", published: {{"{key}": (4, 0)}})"#)
        };
        assert_eq!(
            problems(ROWS, &value("pcea")),
            ["values: the published `dimension` of `pcea` belongs to no cell \
              (did you mean `pcae`?)"]
        );
        assert_eq!(
            problems(r#"rows: ["model"], columns: ["seed"]"#, &value("x")),
            ["values: the published `dimension` of `x` belongs to no cell \
              (valid here: `hae/0`, `hae/1`, `pcae/0`, `pcae/1`)"]
        );
        assert_eq!(
            problems(r#"rows: ["modle"], over: ["seed"]"#, &value("x")).len(),
            1,
            "cells have no names while the rows have none"
        );
    }
}
