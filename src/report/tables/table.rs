//! One generic table: what a pipeline file declares, and the plain data it becomes.
//!
//! Which axes make the rows, which spread across the columns and which are averaged over is
//! all in the [`TableSpec`]; no table of any paper is written in Rust. A [`Table`] holds
//! numbers and titles only; `tabulate.rs` fills it, the format files print it. Whether values
//! stand in columns or in rows concerns print only: a [`Table`] always has them in its columns.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::numerics::units::{Finite, NonNegativeF64};
use crate::report::records::aggregate::{AggregateError, Spread};
use crate::report::records::axis_roles::{AxisError, quoted};
use crate::report::records::record::{Labels, RecordError};
use crate::report::tables::cell::Cell;
use crate::report::tables::marks::Unjudged;

/// A table of records as mean and spread, beside published numbers.
///
/// ```ron
/// "intrinsic-dimension": Table(
///     records: [Each("dimension-{model}-{seed}"), Each("quality-{model}-{seed}")],
///     caption: "Estimated dimension", label: "Table 1",
///     rows: ["model"], over: ["seed"],
///     values: [Value(field: "dimension", title: "Dimension", best: Closest(4),
///                    published: {"pcae": (4.00, 0.00)}, counts: true, margin: Absolute(0.5))],
///     published_runs: 5,
///     unjudged: {"hae": StandIn},              // no verdict on these, and why; `"*"`: on nothing
/// )
/// ```
///
/// With `layout: ValuesInRows` the values are listed one below the other, as the innermost level of
/// the rows; `given` adds columns of known text, `notes` adds remarks below. Only combinations of
/// labels that have a record or a published number get a row or a column.
// `R` names the records, for whoever can find them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "Table")]
pub struct TableSpec<R> {
    /// Families of records; those with equal labels are joined.
    #[serde(skip_serializing)]
    pub records: R,
    /// The caption, as plain text.
    pub caption: String,
    /// The table's name in the paper, such as `Table 1`.
    pub label: String,
    /// Axes whose labels make the rows; there may be none if the values are in rows.
    #[serde(default)]
    pub rows: Vec<String>,
    /// Axes spread across the columns.
    #[serde(default)]
    pub columns: Vec<String>,
    /// Axes averaged over.
    #[serde(default)]
    pub over: Vec<String>,
    /// The values shown.
    pub values: Vec<ValueSpec>,
    /// Whether the values are side by side or one below the other.
    #[serde(default)]
    pub layout: Layout,
    /// Columns of given text, after the row labels.
    #[serde(default)]
    pub given: Vec<Given>,
    /// Axes along which cells are compared; if left out, the column axes, or else the rows.
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
    /// Which numbers get no verdict, and why: `{"mnist/pcae": Tuned, "celeba": StandIn}`. A key is
    /// one or more labels of a cell, or the name of its value, joined with `/`, or `*` for all; of
    /// several keys the one with the most labels counts.
    #[serde(default)]
    pub unjudged: BTreeMap<String, Unjudged>,
    /// Labels that may be absent, such as those of data that not everybody has: what is published,
    /// given or said of them is then left out.
    #[serde(default)]
    pub optional: Vec<String>,
    /// Remarks below the table.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// Returns how many runs most papers average over.
const fn five_runs() -> NonZeroUsize {
    NonZeroUsize::MIN.saturating_add(4)
}

impl<R> TableSpec<R> {
    /// Leaves out what is said of optional labels that are not there.
    pub fn retain_present(&mut self, is_there: impl Fn(&str) -> bool) {
        let absent: Vec<String> = {
            let labels = self.optional.iter().filter(|label| !is_there(label));
            labels.cloned().collect()
        };
        let stays = |key: &String| !key.split('/').any(|part| absent.iter().any(|one| one == part));
        self.unjudged.retain(|key, _| stays(key));
        for given in &mut self.given {
            given.cells.retain(|key, _| stays(key));
        }
        for value in &mut self.values {
            value.published.retain(|key, _| stays(key));
            if let Best::ClosestTo(truths) = &mut value.best {
                truths.retain(|key, _| stays(key));
            }
        }
    }

    /// Returns why a cell with some labels and a value gets no verdict, if that is declared.
    pub(in crate::report) fn unjudged(&self, labels: &[String], value: &str) -> Option<Unjudged> {
        let covers = |key: &str| {
            key == EVERY_CELL
                || key.split('/').all(|part| part == value || labels.iter().any(|own| own == part))
        };
        // The first of the most detailed keys: a later one must have more labels.
        let detail = |key: &str| if key == EVERY_CELL { 0 } else { key.split('/').count() };
        let keys = self.unjudged.iter().filter(|(key, _)| covers(key));
        keys.rev().max_by_key(|(key, _)| detail(key)).map(|(_, reason)| *reason)
    }

    /// Returns the first part of a key in `unjudged` that is none of the valid ones.
    pub fn unknown_unjudged(&self, valid: &[&str]) -> Option<&str> {
        let keys = self.unjudged.keys().filter(|key| *key != EVERY_CELL);
        keys.flat_map(|key| key.split('/')).find(|part| !valid.contains(part))
    }
}

/// The key of all cells.
const EVERY_CELL: &str = "*";

/// Where the values of a table are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Layout {
    /// As the innermost level of the columns.
    #[default]
    ValuesInColumns,
    /// As the innermost level of the rows, below the title of `"value"`.
    ValuesInRows,
}

/// A column of given text, such as a known truth.
///
/// ```ron
/// Given(title: "Ground truth", cells: {"dsprites": "4", "3dshapes": "5"})
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Given {
    /// Title of the column.
    pub title: String,
    /// Its text, keyed by row labels joined with `/`. Where the values are in rows, a key may
    /// continue with the name of a value; one without it is for the first of the values.
    pub cells: BTreeMap<String, String>,
}

impl Given {
    /// Returns the keys that a row may have here, given the names of the values.
    pub fn keys(row: &str, layout: Layout, values: &[String]) -> Vec<String> {
        let mut keys = vec![row.to_owned()];
        if layout == Layout::ValuesInRows {
            keys.extend(values.iter().map(|value| Self::key(row, value)));
        }
        keys
    }

    /// Returns the key of one value in a row; a row without labels has only the value.
    pub(in crate::report) fn key(row: &str, value: &str) -> String {
        if row.is_empty() { value.to_owned() } else { format!("{row}/{value}") }
    }
}

/// One value of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "Value")]
pub struct ValueSpec {
    /// Name of the value in the records.
    pub field: String,
    /// Title of its column.
    pub title: String,
    /// Decimals shown; published numbers are taken to be rounded to as many, unless they have more.
    #[serde(default = "two_digits")]
    pub digits: usize,
    /// Which cell is marked as best.
    #[serde(default)]
    pub best: Best,
    /// Published numbers, keyed by row labels and then column labels joined with `/`.
    #[serde(default)]
    pub published: BTreeMap<String, Published>,
    /// How near to a published mean a run or a mean must be, exclusively, to match it; a tenth of it
    /// if left out.
    #[serde(default)]
    pub margin: Option<Margin>,
    /// Whether every run counts coordinates, from 1 to all there are; if so, published spreads that
    /// whole numbers can't have are detected, as are counts of all coordinates.
    #[serde(default)]
    pub counts: bool,
    /// The least and the largest value that a run can have, such as `(0, 100)`: without them no
    /// number of runs can show that means are equivalent. Counts need none if the records hold the
    /// variances of the coordinates.
    #[serde(default)]
    pub range: Option<Range>,
    /// When a code has collapsed, so that its number means nothing: `Below("total_variance", 0.01)`.
    #[serde(default)]
    pub collapsed: Option<Collapsed>,
    /// Labels of the records to use, such as `{"latent": "8"}`; these axes are then needed nowhere
    /// else, and a field may be shown several times.
    #[serde(default)]
    pub at: Labels,
}

/// The least and the largest value there can be, written `(0, 100)`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "(Finite, Finite)", into = "(Finite, Finite)")]
pub struct Range {
    /// The least value.
    pub low: Finite,
    /// The largest value.
    pub high: Finite,
}

impl TryFrom<(Finite, Finite)> for Range {
    type Error = String;

    fn try_from((low, high): (Finite, Finite)) -> Result<Self, String> {
        if low < high {
            Ok(Self { low, high })
        } else {
            Err(format!("expected a range from low to high, found ({low}, {high})"))
        }
    }
}

impl From<Range> for (Finite, Finite) {
    fn from(range: Range) -> Self {
        (range.low, range.high)
    }
}

/// When a code has collapsed, by another value of the same record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub enum Collapsed {
    /// The named value is below a number.
    Below(String, Finite),
    /// The named value is above a number.
    Above(String, Finite),
}

impl Collapsed {
    /// Returns the name of the value that tells.
    pub fn field(&self) -> &str {
        match self {
            Self::Below(field, _) | Self::Above(field, _) => field,
        }
    }

    /// Returns whether a number tells that the code collapsed.
    pub(in crate::report) fn covers(&self, number: f64) -> bool {
        match self {
            Self::Below(_, bound) => number < bound.get(),
            Self::Above(_, bound) => number > bound.get(),
        }
    }
}

/// How near to a published mean counts as a match.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub enum Margin {
    /// An absolute difference, in the unit of the value.
    Absolute(NonNegativeF64),
    /// A share of the published mean.
    Relative(NonNegativeF64),
}

impl ValueSpec {
    /// Returns what tells the value from the others: its field and which records it takes.
    pub fn name(&self) -> String {
        Self::name_at(&self.field, &self.at)
    }

    /// Returns the name of a field of the records with some labels.
    pub fn name_at(field: &str, at: &Labels) -> String {
        if at.is_empty() {
            return field.to_owned();
        }
        let at: Vec<String> = at.iter().map(|(axis, label)| format!("{axis}={label}")).collect();
        format!("{field}[{}]", at.join(","))
    }
}

const fn two_digits() -> usize {
    2
}

/// Which of the competing cells is best.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub enum Best {
    /// Marks nothing.
    #[default]
    None,
    /// The largest mean.
    Highest,
    /// The smallest mean.
    Lowest,
    /// The runs that are nearest to a known truth, on average.
    Closest(Finite),
    /// The runs that are nearest to the truth of their row or column, keyed by one label of it.
    ClosestTo(BTreeMap<String, Finite>),
}

impl Best {
    /// Returns how far a number in a cell with some labels is from the best imaginable, if any is.
    pub(in crate::report) fn distance(&self, labels: &[&str], value: f64) -> Option<f64> {
        match self {
            Self::None => None,
            Self::Highest => Some(-value),
            Self::Lowest => Some(value),
            Self::Closest(truth) => Some((value - truth.get()).abs()),
            Self::ClosestTo(truths) => {
                let truth = labels.iter().find_map(|label| truths.get(*label))?;
                Some((value - truth.get()).abs())
            }
        }
    }
}

/// A published mean with its spread, written `(4.00, 0.49)`, or `(4.00, None)` without one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "(Finite, Option<NonNegativeF64>)", into = "(Finite, Option<NonNegativeF64>)")]
pub struct Published {
    /// The published mean.
    pub mean: Finite,
    /// The published spread, as printed; some papers print a variance here.
    pub spread: Option<NonNegativeF64>,
}

impl From<(Finite, Option<NonNegativeF64>)> for Published {
    fn from((mean, spread): (Finite, Option<NonNegativeF64>)) -> Self {
        Self { mean, spread }
    }
}

impl From<Published> for (Finite, Option<NonNegativeF64>) {
    fn from(published: Published) -> Self {
        (published.mean, published.spread)
    }
}

/// A name in the records together with how it is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Titled {
    /// The axis or label as the records have it.
    pub name: String,
    /// How it is shown.
    pub title: String,
}

/// One column of numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableColumn {
    /// Label on each column axis.
    pub labels: Vec<Titled>,
    /// The value shown: its name in the records and its title.
    pub value: Titled,
    /// Decimals shown.
    pub digits: usize,
    /// Which cells are best.
    #[serde(default)]
    pub best: Best,
    /// How near to a published mean counts as a match.
    #[serde(default)]
    pub margin: Option<Margin>,
    /// Whether every run counts coordinates.
    #[serde(default)]
    pub counts: bool,
    /// The least and the largest value that a run can have.
    #[serde(default)]
    pub range: Option<Range>,
}

/// One row: its label on each row axis and one cell per column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableRow {
    /// Label on each row axis.
    pub labels: Vec<Titled>,
    /// One cell per column of the table.
    pub cells: Vec<Cell>,
}

/// One record behind a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Its label on each axis.
    pub labels: Labels,
    /// The first digits of the digest of its content.
    pub digest: String,
}

/// A finished table: numbers and titles, no format.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// What the table shows.
    pub caption: String,
    /// What the table is called in the paper.
    pub label: String,
    /// The axes whose labels make the rows.
    pub row_axes: Vec<Titled>,
    /// The axes spread across the columns.
    pub column_axes: Vec<Titled>,
    /// The axes averaged over.
    pub over: Vec<Titled>,
    /// Divisor of the standard deviations.
    pub spread: Spread,
    /// Number of runs behind each published mean.
    #[serde(default = "five_runs")]
    pub published_runs: NonZeroUsize,
    /// Whether the values are printed side by side or one below the other.
    pub layout: Layout,
    /// What is printed above the values where they stand in rows.
    pub value_title: String,
    /// Columns of given text.
    pub given: Vec<Given>,
    /// The columns, left to right.
    pub columns: Vec<TableColumn>,
    /// The rows, top to bottom.
    pub rows: Vec<TableRow>,
    /// Whether a test decided which cells are as good as the best.
    pub tested: bool,
    /// Remarks below the table.
    pub notes: Vec<String>,
    /// The records that the cells name as their sources, if whoever has them tells.
    pub runs: Vec<Run>,
}

/// Says why a declaration and its records do not make a table.
#[derive(Debug, Error)]
pub enum TableError {
    /// The records cannot be joined or averaged.
    #[error(transparent)]
    Aggregate(#[from] AggregateError),
    /// An axis is misnamed, forgotten or used twice.
    #[error(transparent)]
    Axis(#[from] AxisError),
    /// A part of a record makes no record of its own.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The declaration names no row axis.
    #[error("`rows` is empty, expected at least one axis")]
    NoRows,
    /// Values are to stand in rows, with nothing to spread across the columns.
    #[error("`columns` is empty, expected at least one axis where the values stand in rows")]
    NoColumns,
    /// The declaration names no value.
    #[error("`values` is empty, expected at least one `Value(field: ..., title: ...)`")]
    NoValues,
    /// A value is declared twice.
    #[error("the value `{field}` is declared twice")]
    ValueTwice {
        /// The repeated field.
        field: String,
    },
    /// Cells are to compete along an axis that the table does not show.
    #[error("`compare` names `{axis}`, expected one of {}", quoted(known))]
    UnknownComparison {
        /// The axis asked for.
        axis: String,
        /// The axes the table shows.
        known: Vec<String>,
    },
    /// A published number belongs to no cell.
    #[error("`{field}` has a published number for `{key}`, expected one of {}", quoted(known))]
    UnknownPublished {
        /// The value it was given for.
        field: String,
        /// The key that matches nothing.
        key: String,
        /// The keys of the cells that exist.
        known: Vec<String>,
    },
    /// A cell is said to get no verdict that does not exist.
    #[error("`unjudged` names `{label}`, expected one of {}", quoted(known))]
    UnknownUnjudged {
        /// The label that matches nothing.
        label: String,
        /// The labels and values that exist.
        known: Vec<String>,
    },
    /// A given text belongs to no row.
    #[error("`{title}` has a text for `{key}`, expected one of {}", quoted(known))]
    UnknownGiven {
        /// The title of its column.
        title: String,
        /// The key that matches nothing.
        key: String,
        /// The keys of the rows that exist.
        known: Vec<String>,
    },
    /// A truth is given for a label that the table does not show.
    #[error("`{field}` has a truth for `{label}`, expected one of {}", quoted(known))]
    UnknownTruth {
        /// The value it was given for.
        field: String,
        /// The label that matches nothing.
        label: String,
        /// The labels that exist.
        known: Vec<String>,
    },
}

#[cfg(test)]
mod tests {
    use ron::extensions::Extensions;

    use super::*;

    fn parse(text: &str) -> Result<TableSpec<()>, String> {
        ron::Options::default()
            .with_default_extension(Extensions::UNWRAP_VARIANT_NEWTYPES | Extensions::IMPLICIT_SOME)
            .from_str(text)
            .map_err(|error| error.code.to_string())
    }

    #[test]
    fn a_declaration_reads_with_its_defaults() {
        let spec = parse(
            r#"(records: (), caption: "c", label: "Table 1", rows: ["model"], over: ["seed"],
                values: [Value(field: "dimension", title: "Dimension", best: Closest(4.0),
                               published: {"pcae": (4.00, 0.00), "hae": (7.4, None)})])"#,
        )
        .unwrap();
        assert_eq!(spec.spread, Spread::Population);
        assert!(spec.columns.is_empty() && spec.compare.is_empty());
        let value = &spec.values[0];
        assert_eq!(value.digits, 2);
        assert_eq!(value.best, Best::Closest(Finite::new(4.0).unwrap()));
        assert_eq!(value.published["pcae"].spread.map(NonNegativeF64::get), Some(0.0));
        assert_eq!(value.published["hae"].spread, None);
    }

    #[test]
    fn a_misspelled_field_and_a_negative_spread_are_refused() {
        let error = parse(r#"(records: (), caption: "c", label: "l", row: ["model"], values: [])"#)
            .unwrap_err();
        assert!(error.contains("row"), "{error}");
        let error = parse(
            r#"(records: (), caption: "c", label: "l", rows: ["model"], values: [
                Value(field: "x", title: "X", published: {"a": (1.0, -2.0)})])"#,
        )
        .unwrap_err();
        assert!(error.contains("expected a finite number of at least 0, found -2"), "{error}");
    }
}
