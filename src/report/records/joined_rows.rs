//! The rows behind a frame: records merged by equal labels and joined by shared axes.
//!
//! Records that carry the same axes form a family; within it, equal labels make one row.
//! Families are joined on the axes they share, and rows without a partner are kept. Every
//! value remembers the record it came from, so nothing downstream counts a copy twice.

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

use crate::report::records::axis_roles::quoted;
use crate::report::records::record::{Labels, Record, RecordValue};

/// Says why records cannot be laid side by side.
#[derive(Debug, Error)]
pub enum JoinError {
    /// There is nothing to report on.
    #[error("there are no records to report on")]
    NoRecords,
    /// No record has this value.
    #[error("no record has a value named `{field}`, expected one of {}", quoted(known))]
    UnknownField {
        /// The name asked for.
        field: String,
        /// Names of the values that exist.
        known: Vec<String>,
    },
    /// A value of another kind than the one asked for.
    #[error("value `{field}` of record {record} is {found}, expected {expected}")]
    WrongKind {
        /// Name of the value.
        field: String,
        /// Index of the record.
        record: usize,
        /// The kind wanted.
        expected: &'static str,
        /// The kind found.
        found: &'static str,
    },
    /// Two records claim the same value under the same labels.
    #[error("records {first} and {second} both give `{field}` for {labels}")]
    Conflict {
        /// Name of the value.
        field: String,
        /// The labels both have.
        labels: String,
        /// Index of the earlier record.
        first: usize,
        /// Index of the later record.
        second: usize,
    },
}

/// One row before it becomes columns: a value's number and the record it came from.
#[derive(Clone)]
pub(in crate::report) struct JoinedRow {
    pub(in crate::report) labels: Labels,
    pub(in crate::report) cells: BTreeMap<String, (f64, usize)>,
}

impl JoinedRow {
    /// Takes the numeric `fields` out of one record.
    fn of(record: &Record, index: usize, fields: &[&str]) -> Result<Self, JoinError> {
        let mut cells = BTreeMap::new();
        for field in fields {
            match record.values().get(*field) {
                None => {}
                Some(RecordValue::Number(value)) => {
                    cells.insert((*field).to_owned(), (*value, index));
                }
                Some(other) => {
                    return Err(JoinError::WrongKind {
                        field: (*field).to_owned(),
                        record: index,
                        expected: "a number",
                        found: other.kind(),
                    });
                }
            }
        }
        Ok(Self { labels: record.labels().clone(), cells })
    }

    fn absorb(&mut self, other: &Self) -> Result<(), JoinError> {
        for (field, (value, source)) in &other.cells {
            if let Some((_, first)) = self.cells.insert(field.clone(), (*value, *source)) {
                let pairs = self.labels.iter().map(|(axis, label)| format!("{axis}={label}"));
                return Err(JoinError::Conflict {
                    field: field.clone(),
                    labels: pairs.collect::<Vec<_>>().join(", "),
                    first,
                    second: *source,
                });
            }
        }
        for (axis, label) in &other.labels {
            self.labels.insert(axis.clone(), label.clone());
        }
        Ok(())
    }

    fn agrees_with(&self, other: &Self) -> bool {
        let clashes = |(axis, label): (&String, &String)| {
            other.labels.get(axis).is_some_and(|theirs| theirs != label)
        };
        !self.labels.iter().any(clashes)
    }
}

/// Joins the records that carry any of the numeric `fields` into rows.
pub(in crate::report) fn join(
    records: &[Record],
    fields: &[&str],
) -> Result<Vec<JoinedRow>, JoinError> {
    check_fields(records, fields)?;
    join_families(families(records, fields)?)
}

/// Checks that there are records and that some have each field, else tells which fields there are.
pub(in crate::report) fn check_fields(
    records: &[Record],
    fields: &[&str],
) -> Result<(), JoinError> {
    if records.is_empty() {
        return Err(JoinError::NoRecords);
    }
    for field in fields {
        if !records.iter().any(|record| record.values().contains_key(*field)) {
            let known: BTreeSet<&String> =
                records.iter().flat_map(|record| record.values().keys()).collect();
            let known = known.into_iter().cloned().collect();
            return Err(JoinError::UnknownField { field: (*field).to_owned(), known });
        }
    }
    Ok(())
}

/// Groups records by the set of axes they have, merging those with equal labels.
fn families(records: &[Record], fields: &[&str]) -> Result<Vec<Vec<JoinedRow>>, JoinError> {
    let mut families: Vec<Vec<JoinedRow>> = Vec::new();
    let mut family_of: BTreeMap<Vec<&String>, usize> = BTreeMap::new();
    let mut row_of: BTreeMap<&Labels, usize> = BTreeMap::new();
    for (index, record) in records.iter().enumerate() {
        let row = JoinedRow::of(record, index, fields)?;
        if row.cells.is_empty() {
            continue;
        }
        let axes = record.labels().keys().collect();
        let family = *family_of.entry(axes).or_insert(families.len());
        if family == families.len() {
            families.push(Vec::new());
        }
        let rows = &mut families[family];
        // Equal labels imply equal axes, so a row found here is in this family.
        if let Some(known) = row_of.get(record.labels()) {
            rows[*known].absorb(&row)?;
        } else {
            row_of.insert(record.labels(), rows.len());
            rows.push(row);
        }
    }
    Ok(families)
}

/// Joins families on the axes they share, keeping rows that find no partner.
fn join_families(families: Vec<Vec<JoinedRow>>) -> Result<Vec<JoinedRow>, JoinError> {
    let mut families = families.into_iter();
    let mut joined = families.next().unwrap_or_default();
    for family in families {
        let mut partnered = vec![false; family.len()];
        let mut next = Vec::with_capacity(joined.len());
        for left in &joined {
            let before = next.len();
            for (right, partnered) in family.iter().zip(&mut partnered) {
                if left.agrees_with(right) {
                    let mut row = left.clone();
                    row.absorb(right)?;
                    next.push(row);
                    *partnered = true;
                }
            }
            if next.len() == before {
                next.push(left.clone());
            }
        }
        let alone = family.into_iter().zip(partnered).filter(|(_, partnered)| !partnered);
        next.extend(alone.map(|(row, _)| row));
        joined = next;
    }
    Ok(joined)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::records::record::tests::record;

    #[test]
    fn families_with_equal_labels_become_one_row_with_both_values() {
        let records = [
            record(&[("model", "pcae"), ("seed", "s0")], &[("dimension", 4.0)]),
            record(&[("model", "pcae"), ("seed", "s0")], &[("error", 1.5)]),
        ];
        let rows = join(&records, &["dimension", "error"]).unwrap();
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].cells["dimension"], (4.0, 0));
        assert_eq!(rows[0].cells["error"], (1.5, 1));
    }

    #[test]
    fn a_family_with_fewer_axes_joins_every_row_that_agrees_with_it() {
        let records = [
            record(&[("set", "a"), ("seed", "s0")], &[("dimension", 4.0)]),
            record(&[("set", "a"), ("seed", "s1")], &[("dimension", 5.0)]),
            record(&[("set", "b"), ("seed", "s0")], &[("dimension", 6.0)]),
            record(&[("set", "a")], &[("truth", 4.0)]),
            record(&[("set", "c")], &[("truth", 9.0)]),
        ];
        let rows = join(&records, &["dimension", "truth"]).unwrap();
        let truths: Vec<_> = rows.iter().map(|row| row.cells.get("truth").copied()).collect();
        assert_eq!(truths, [Some((4.0, 3)), Some((4.0, 3)), None, Some((9.0, 4))]);
    }

    #[test]
    fn the_same_value_twice_under_the_same_labels_is_a_conflict() {
        let twin = record(&[("model", "pcae")], &[("dimension", 4.0), ("seconds", 1.0)]);
        let error = join(&[twin.clone(), twin.clone()], &["dimension"]).err().unwrap();
        assert_eq!(error.to_string(), "records 0 and 1 both give `dimension` for model=pcae");
        let other = record(&[("model", "pcae")], &[("error", 4.0), ("seconds", 2.0)]);
        assert!(join(&[twin, other], &["dimension", "error"]).is_ok(), "seconds is not asked for");
    }

    #[test]
    fn an_unknown_field_is_answered_with_the_known_ones() {
        let records = [record(&[], &[("dimension", 4.0), ("error", 1.0)])];
        assert_eq!(
            join(&records, &["dimensoin"]).err().unwrap().to_string(),
            "no record has a value named `dimensoin`, expected one of `dimension`, `error`"
        );
        assert!(matches!(join(&[], &["dimension"]), Err(JoinError::NoRecords)));
    }
}
