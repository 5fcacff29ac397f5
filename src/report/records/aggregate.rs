//! Records as a polars frame: one row per joined record, and grouped means over it.
//!
//! Grouping and averaging are polars queries on the rows that `join.rs` makes. A joined record
//! may stand in many rows, so each value keeps the index of its record and is counted once per
//! group: a value shared by five seeds has n = 1, not a spread of zero.
//! Polars types stay inside this file.

use std::collections::BTreeSet;

use polars::prelude::{Column, DataFrame, GroupsIndicator, PolarsError, UniqueKeepStrategy};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::report::records::joined_rows::{JoinError, join};
use crate::report::records::record::Record;

/// Which divisor the standard deviation uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Spread {
    /// Divides by n: the spread of exactly these runs.
    #[default]
    Population,
    /// Divides by n - 1: the estimate for all possible runs.
    Sample,
}

impl Spread {
    /// Returns what is taken from n in the divisor.
    pub(in crate::report) const fn lost_degrees_of_freedom(self) -> u8 {
        match self {
            Self::Population => 0,
            Self::Sample => 1,
        }
    }
}

/// Says why a frame has no answer.
#[derive(Debug, Error)]
pub enum AggregateError {
    /// The records cannot be joined.
    #[error(transparent)]
    Join(#[from] JoinError),
    /// A record that has no place in the layout.
    #[error("record {record} gives `{field}` but has no label on the axis `{axis}`")]
    Unlabeled {
        /// Name of the value.
        field: String,
        /// Index of the record.
        record: usize,
        /// The axis it lacks.
        axis: String,
    },
    /// The query engine failed.
    #[error("the records could not be aggregated")]
    Query(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl From<PolarsError> for AggregateError {
    fn from(error: PolarsError) -> Self {
        Self::Query(Box::new(error))
    }
}

/// Mean and spread of one value within one group of records.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::report) struct Summary {
    /// Labels of the group, in the order of the axes asked for.
    pub(in crate::report) labels: Vec<String>,
    pub(in crate::report) mean: f64,
    /// Standard deviation; none for a single record.
    pub(in crate::report) std: Option<f64>,
    /// Indices of the records behind it, in input order.
    pub(in crate::report) sources: Vec<usize>,
    /// The value of each of these records.
    pub(in crate::report) values: Vec<f64>,
}

/// The joined records, with one column per axis and, per value, its number and its source.
pub(in crate::report) struct RecordFrame {
    rows: DataFrame,
}

fn axis_column(axis: &str) -> String {
    format!("axis:{axis}")
}

fn value_column(field: &str) -> String {
    format!("value:{field}")
}

fn source_column(field: &str) -> String {
    format!("source:{field}")
}

impl RecordFrame {
    /// Joins the records that carry any of the numeric `fields`.
    pub(in crate::report) fn of(
        records: &[Record],
        fields: &[&str],
    ) -> Result<Self, AggregateError> {
        let joined = join(records, fields)?;
        let axes: BTreeSet<&String> = joined.iter().flat_map(|row| row.labels.keys()).collect();
        let mut columns = Vec::new();
        for axis in axes {
            let labels: Vec<Option<&str>> =
                joined.iter().map(|row| row.labels.get(axis).map(String::as_str)).collect();
            columns.push(Column::new(axis_column(axis).into(), labels));
        }
        for field in fields {
            let cells: Vec<_> = joined.iter().map(|row| row.cells.get(*field)).collect();
            let values: Vec<Option<f64>> = cells.iter().map(|cell| cell.map(|c| c.0)).collect();
            let sources: Vec<Option<u32>> =
                cells.iter().map(|cell| cell.map(|c| c.1 as u32)).collect();
            columns.push(Column::new(value_column(field).into(), values));
            columns.push(Column::new(source_column(field).into(), sources));
        }
        Ok(Self { rows: DataFrame::new(joined.len(), columns)? })
    }

    /// Averages `field` within each group of equal labels on the axes `by`.
    #[expect(
        deprecated,
        reason = "the advised lazy engine is four minutes of compiling, for two sums"
    )]
    pub(in crate::report) fn summarize(
        &self,
        field: &str,
        by: &[String],
        spread: Spread,
    ) -> Result<Vec<Summary>, AggregateError> {
        let (value, source) = (value_column(field), source_column(field));
        let keys: Vec<String> = by.iter().map(|axis| axis_column(axis)).collect();
        let given = self.rows.filter(&self.rows.column(&value)?.is_not_null())?;
        // A joined record stands in several rows: take it once per group.
        let mut keys_and_source = keys.clone();
        keys_and_source.push(source.clone());
        let once = given.unique_stable(Some(&keys_and_source), UniqueKeepStrategy::First, None)?;
        let (values, sources) = (once.column(&value)?.f64()?, once.column(&source)?.u32()?);
        let groups = once.group_by_stable(&keys)?.select([value.as_str()]);
        // The aggregate stands behind the keys.
        let (means, deviations) = (groups.mean()?, groups.std(spread.lost_degrees_of_freedom())?);
        let (means, deviations) = (means[by.len()].f64()?, deviations[by.len()].f64()?);
        let mut summaries = Vec::with_capacity(means.len());
        for (index, group) in groups.get_groups().iter().enumerate() {
            let rows = rows_of(&group);
            let members: Vec<usize> = rows
                .iter()
                .filter_map(|row| sources.get(*row))
                .map(|source| source as usize)
                .collect();
            let mut labels = Vec::with_capacity(by.len());
            for (axis, key) in by.iter().zip(&keys) {
                let Some(label) = once.column(key)?.str()?.get(rows[0]) else {
                    return Err(AggregateError::Unlabeled {
                        field: field.to_owned(),
                        record: members.first().copied().unwrap_or_default(),
                        axis: axis.clone(),
                    });
                };
                labels.push(label.to_owned());
            }
            let Some(mean) = means.get(index) else {
                continue;
            };
            let std = if members.len() > 1 { deviations.get(index) } else { None };
            let values = rows.iter().filter_map(|row| values.get(*row)).collect();
            summaries.push(Summary { labels, mean, std, sources: members, values });
        }
        Ok(summaries)
    }
}

/// Returns the rows of a group, in their order; there is at least one.
fn rows_of(group: &GroupsIndicator<'_>) -> Vec<usize> {
    match group {
        GroupsIndicator::Idx((_, rows)) => rows.iter().map(|row| *row as usize).collect(),
        GroupsIndicator::Slice([first, count]) => {
            (*first as usize..(*first + *count) as usize).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::records::record::tests::record;

    fn by(axes: &[&str]) -> Vec<String> {
        axes.iter().map(|axis| (*axis).to_owned()).collect()
    }

    /// Values 2, 4, 4, 4, 5, 5, 7, 9: mean 5, squared deviations sum to 32.
    fn eight() -> Vec<Record> {
        let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        let seeds = ["a", "b", "c", "d", "e", "f", "g", "h"];
        let pairs = values.iter().zip(seeds);
        pairs.map(|(v, s)| record(&[("model", "m"), ("seed", s)], &[("x", *v)])).collect()
    }

    #[test]
    fn mean_and_both_standard_deviations_match_the_hand_computed_ones() {
        let frame = RecordFrame::of(&eight(), &["x"]).unwrap();
        let population = frame.summarize("x", &by(&["model"]), Spread::Population).unwrap();
        assert_eq!(population.len(), 1);
        assert!((population[0].mean - 5.0).abs() < 1e-12);
        assert!((population[0].std.unwrap() - 2.0).abs() < 1e-12); // sqrt(32 / 8)
        assert_eq!(population[0].sources, [0, 1, 2, 3, 4, 5, 6, 7]);
        let sample = frame.summarize("x", &by(&["model"]), Spread::Sample).unwrap();
        assert!((sample[0].std.unwrap() - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn one_record_has_no_deviation_whatever_the_divisor() {
        let frame = RecordFrame::of(&eight(), &["x"]).unwrap();
        for spread in [Spread::Population, Spread::Sample] {
            let summaries = frame.summarize("x", &by(&["model", "seed"]), spread).unwrap();
            assert_eq!(summaries.len(), 8);
            assert!(summaries.iter().all(|summary| summary.std.is_none()));
        }
    }

    #[test]
    fn a_value_shared_by_several_joined_rows_counts_once() {
        let records = [
            record(&[("set", "a"), ("seed", "s0")], &[("dimension", 3.0)]),
            record(&[("set", "a"), ("seed", "s1")], &[("dimension", 5.0)]),
            record(&[("set", "a")], &[("truth", 4.0)]),
        ];
        let frame = RecordFrame::of(&records, &["dimension", "truth"]).unwrap();
        let truth = frame.summarize("truth", &by(&["set"]), Spread::Population).unwrap();
        assert_eq!(truth.len(), 1);
        assert_eq!((truth[0].sources.as_slice(), truth[0].std), ([2].as_slice(), None));
        let dimension = frame.summarize("dimension", &by(&["set"]), Spread::Population).unwrap();
        assert_eq!((dimension[0].mean, dimension[0].std), (4.0, Some(1.0)));
    }

    #[test]
    fn a_record_without_a_label_for_the_layout_is_named() {
        let records = [
            record(&[("set", "a"), ("seed", "s0")], &[("dimension", 3.0)]),
            record(&[("set", "b")], &[("dimension", 4.0)]),
        ];
        let frame = RecordFrame::of(&records, &["dimension"]).unwrap();
        let error = frame.summarize("dimension", &by(&["seed"]), Spread::Population).unwrap_err();
        assert_eq!(
            error.to_string(),
            "record 1 gives `dimension` but has no label on the axis `seed`"
        );
    }
}
