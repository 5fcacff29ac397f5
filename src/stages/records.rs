//! What tables and figures share: loading labeled records, and checking axes before anything runs.

use std::collections::BTreeSet;

use crate::engine::context::{RunContext, StageError};
use crate::engine::diagnostic::nearest;
use crate::engine::stage::{Each, Labels, Problem};
use crate::report::{Record, Values};

/// Loads families of records with the labels of the stages that made them.
pub(super) fn labeled_records(
    context: &RunContext,
    families: &[Each<Values>],
) -> Result<Vec<Record>, StageError> {
    let mut records = Vec::new();
    for family in families {
        for (labels, values) in context.load_each(family)? {
            records.push(Record::new(labels, values)?);
        }
    }
    Ok(records)
}

/// Checks that every axis a report names is one of its records, and that none is left out.
///
/// The report itself checks this too, but only after hours of training.
pub(super) fn axis_problems(
    roles: &[(&'static str, &[String])],
    families: &[Vec<Labels>],
) -> Vec<Problem> {
    if families.is_empty() || families.iter().any(Vec::is_empty) {
        return Vec::new();
    }
    let known: BTreeSet<&str> =
        families.iter().flatten().flat_map(|labels| labels.keys().map(String::as_str)).collect();
    let valid: Vec<&str> = known.iter().copied().collect();
    let mut found = Vec::new();
    for (field, axes) in roles {
        for axis in axes.iter().filter(|axis| !known.contains(axis.as_str())) {
            found.push(Problem {
                field,
                message: format!("the records have no axis `{axis}`"),
                help: Some(match nearest(axis, &valid) {
                    Some(name) => format!("did you mean `{name}`?"),
                    None => format!("their axes: {}", valid.join(", ")),
                }),
            });
        }
    }
    let named = |axis: &&&str| roles.iter().any(|(_, axes)| axes.iter().any(|name| name == **axis));
    for axis in known.iter().filter(|axis| !named(axis)) {
        found.push(Problem {
            field: "records",
            message: format!("the axis `{axis}` of these records has no role here"),
            help: Some(format!("name `{axis}` in one of: {}", names(roles))),
        });
    }
    found
}

fn names(roles: &[(&'static str, &[String])]) -> String {
    roles.iter().map(|(field, _)| format!("`{field}`")).collect::<Vec<_>>().join(", ")
}
