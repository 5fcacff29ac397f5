//! The check that every axis of the records has exactly one role in a table or figure.
//!
//! An axis that nobody names would be averaged over unseen, so it is refused, as are axes
//! that do not exist and axes with two roles; each message tells the valid choices.

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

use crate::report::records::record::Record;

/// Says which axis of the records was misnamed, forgotten or used twice.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AxisError {
    /// An axis that no record has.
    #[error("no record has the axis `{axis}` (in `{place}`), expected one of {}", quoted(known))]
    UnknownAxis {
        /// The axis asked for.
        axis: String,
        /// The field of the specification that asks for it.
        place: &'static str,
        /// The axes that exist.
        known: Vec<String>,
    },
    /// An axis nobody mentions, whose labels would be averaged together unseen.
    #[error(
        "the records have the axis `{axis}`, which is in none of {}: add it to one of them",
        quoted(places)
    )]
    UnusedAxis {
        /// The forgotten axis.
        axis: String,
        /// The fields of the specification that could take it.
        places: &'static [&'static str],
    },
    /// An axis given two roles.
    #[error("the axis `{axis}` is named twice, in `{first}` and in `{second}`")]
    AxisTwice {
        /// The repeated axis.
        axis: String,
        /// The first role.
        first: &'static str,
        /// The second role.
        second: &'static str,
    },
}

/// Lists names in backticks, for messages that tell the valid choices.
pub(crate) fn quoted<S: AsRef<str>>(names: &[S]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{}`", name.as_ref())).collect();
    if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
}

/// Checks that axes are known, used once, and that no axis of the records is left out.
///
/// Only records that carry one of `fields` count: the others have no part in the picture.
pub(in crate::report) fn check_axes(
    records: &[Record],
    fields: &[&str],
    roles: &[(&'static str, &[String])],
    places: &'static [&'static str],
) -> Result<(), AxisError> {
    let known: BTreeSet<&String> = records
        .iter()
        .filter(|record| fields.iter().any(|field| record.values().contains_key(*field)))
        .flat_map(|record| record.labels().keys())
        .collect();
    check_roles(&known, roles, places)
}

/// Checks that axes are known, used once, and that no known axis is left out.
pub(in crate::report) fn check_roles(
    known: &BTreeSet<&String>,
    roles: &[(&'static str, &[String])],
    places: &'static [&'static str],
) -> Result<(), AxisError> {
    let mut used: BTreeMap<&String, &'static str> = BTreeMap::new();
    for (place, axes) in roles {
        for axis in *axes {
            if !known.contains(axis) {
                let known = known.iter().map(|axis| (*axis).clone()).collect();
                return Err(AxisError::UnknownAxis { axis: axis.clone(), place, known });
            }
            if let Some(first) = used.insert(axis, place) {
                return Err(AxisError::AxisTwice { axis: axis.clone(), first, second: place });
            }
        }
    }
    match known.iter().find(|axis| !used.contains_key(*axis)) {
        Some(axis) => Err(AxisError::UnusedAxis { axis: (*axis).clone(), places }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::records::record::tests::record;

    const PLACES: &[&str] = &["rows", "over"];

    fn check(rows: &[&str], over: &[&str]) -> Result<(), AxisError> {
        let records = [
            record(&[("model", "pcae"), ("seed", "s0")], &[("dimension", 4.0)]),
            record(&[("split", "test")], &[("error", 1.0)]),
        ];
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let (rows, over): (Vec<String>, Vec<String>) = (owned(rows), owned(over));
        check_axes(&records, &["dimension"], &[("rows", &rows), ("over", &over)], PLACES)
    }

    #[test]
    fn every_axis_with_one_role_passes_and_unrelated_records_do_not_matter() {
        assert_eq!(check(&["model"], &["seed"]), Ok(()));
    }

    #[test]
    fn a_misnamed_axis_is_answered_with_the_known_ones() {
        assert_eq!(
            check(&["modle"], &["seed"]).unwrap_err().to_string(),
            "no record has the axis `modle` (in `rows`), expected one of `model`, `seed`"
        );
    }

    #[test]
    fn a_forgotten_axis_is_refused_because_it_would_mix_unseen() {
        assert_eq!(
            check(&["model"], &[]).unwrap_err().to_string(),
            "the records have the axis `seed`, which is in none of `rows`, `over`: add it to \
             one of them"
        );
    }

    #[test]
    fn an_axis_has_one_role_only() {
        assert_eq!(
            check(&["model", "seed"], &["seed"]).unwrap_err().to_string(),
            "the axis `seed` is named twice, in `rows` and in `over`"
        );
    }
}
