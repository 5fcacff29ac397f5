//! Stages behind inputs, and what is wrong with a stage that reads them: for tests of the kinds.

use std::collections::BTreeMap;

use crate::engine::stage::{Inputs, Problem, Producer, Stage};

/// Returns a stage behind a record.
pub(super) fn producer(labels: &[(&str, &str)], values: Option<&[&str]>) -> Producer {
    let owned = |(axis, label): &(&str, &str)| ((*axis).to_owned(), (*label).to_owned());
    let labels = labels.iter().map(owned).collect::<BTreeMap<_, _>>().into();
    let values = values.map(|values| values.iter().map(|&name| name.to_owned()).collect());
    Producer { labels, kind: "record".into(), values, row_length: None }
}

/// Two models with two seeds each.
pub(super) fn grid(values: Option<&[&str]>) -> Vec<Producer> {
    let pairs = [("pcae", "0"), ("pcae", "1"), ("hae", "0"), ("hae", "1")];
    let stage = |(model, seed)| producer(&[("model", model), ("seed", seed)], values);
    pairs.map(stage).into()
}

/// Lists problems as `field: message (help)`.
pub(super) fn lines(problems: &[Problem]) -> Vec<String> {
    let line = |problem: &Problem| {
        let help = problem.help.as_deref().unwrap_or_default();
        format!("{}: {} ({help})", problem.field, problem.message)
    };
    problems.iter().map(line).collect()
}

/// Lists the problems of a stage, given the stages behind each of its inputs.
pub(super) fn problems_of(stage: &dyn Stage, producers: &[Vec<Producer>]) -> Vec<String> {
    let inputs = stage.inputs();
    let roles = inputs.iter().map(|input| input.role.as_str());
    lines(&stage.problems(&by_role(roles, producers)))
}

/// Gives each role the stages behind it.
pub(super) fn by_role<'a>(
    roles: impl Iterator<Item = &'a str>,
    producers: &'a [Vec<Producer>],
) -> Inputs<'a, Producer> {
    roles.zip(producers).map(|(role, members)| (role, members.iter().collect())).collect()
}
