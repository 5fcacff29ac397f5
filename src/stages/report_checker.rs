//! Checks the settings of tables and figures before anything runs.
//!
//! Drawing would fail with the same mistakes, but only after hours of training. A mistake is
//! reported once: what follows from one that was found already, here or by the engine, is not.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::pipeline::diagnostic::nearest;
use crate::engine::stage::{Inputs, Problem, Producer};

/// Valid choices listed when none is near to what was written.
const MOST_LISTED: usize = 12;

/// What to do about two results that have the same labels.
const SEPARATE: &str = "distinguish them by an axis, or show them in two reports";

/// What a report is on.
#[derive(Clone, Copy)]
pub(super) enum Reported {
    /// Measured values.
    Records,
    /// Trained models.
    Models,
    /// Interpolated images.
    Paths,
    /// Codes of samples.
    Codes,
}

impl Reported {
    /// Returns the field that names them, which is also the word for them.
    const fn field(self) -> &'static str {
        match self {
            Self::Records => "records",
            Self::Models => "models",
            Self::Paths => "paths",
            Self::Codes => "codes",
        }
    }
}

/// Collects the mistakes in the settings of one table or figure.
pub(super) struct ReportChecker<'a> {
    /// The field that names what is reported on.
    field: &'static str,
    /// What is known of the records that the report may show; nothing if a reference is wrong.
    records: Vec<&'a Producer>,
    problems: Vec<Problem>,
}

impl<'a> ReportChecker<'a> {
    /// Starts with the stages behind each family of what is reported on.
    pub(super) fn of(reported: Reported, inputs: &Inputs<'a, Producer>) -> Self {
        let field = reported.field();
        let mut checker = Self { field, records: Vec::new(), problems: Vec::new() };
        let families = inputs.families(field);
        if families.is_empty() {
            let help = format!("name at least one family: `{field}: [Each(\"..\")]`");
            checker.add(field, format!("there are no {field} to report on"), help);
        } else if !families.iter().any(|family| family.is_empty()) {
            checker.records = families.concat();
        }
        checker
    }

    /// Returns what was found.
    pub(super) fn problems(self) -> Vec<Problem> {
        self.problems
    }

    /// Adds a mistake.
    pub(super) fn add(&mut self, field: &'static str, message: String, help: impl Into<String>) {
        self.problems.push(Problem { field, message, help: Some(help.into()) });
    }

    /// Adds a name that is not among the valid ones.
    pub(super) fn unknown(
        &mut self,
        field: &'static str,
        message: String,
        name: &str,
        valid: &[&str],
    ) {
        let help = match nearest(name, valid) {
            Some(near) => format!("did you mean `{near}`?"),
            None if valid.is_empty() => "there are none".to_owned(),
            None => {
                let listed = valid.iter().take(MOST_LISTED).map(|name| format!("`{name}`"));
                let more = if valid.len() > MOST_LISTED { ", .." } else { "" };
                format!("valid here: {}{more}", listed.collect::<Vec<_>>().join(", "))
            }
        };
        self.add(field, message, help);
    }

    /// Checks that the records have the values shown, each once under the same labels.
    pub(super) fn values(&mut self, field: &'static str, names: &[&str]) {
        let known: Option<Vec<_>> =
            self.records.iter().map(|made| made.values.as_deref()).collect();
        let known = known.into_iter().flatten().flatten();
        let known: BTreeSet<&str> = known.map(String::as_str).collect();
        let valid: Vec<&str> = known.iter().copied().collect();
        for name in names.iter().filter(|name| !known.is_empty() && !known.contains(*name)) {
            self.unknown(field, format!("no record has a value named `{name}`"), name, &valid);
        }
        if let Some((name, labels)) = self.duplicate(names) {
            self.add(
                "records",
                format!("two records have the value `{name}` for {labels}"),
                SEPARATE,
            );
        }
        // Records without any of the values have no part in the report, nor do their axes.
        if self.problems.is_empty() {
            let shown = |made: &&Producer| names.iter().any(|name| has_value(made, name));
            self.records.retain(|made| made.values.is_none() || shown(made));
        }
    }

    /// Returns the first value that two records have for the same labels, with these labels.
    fn duplicate(&self, names: &[&str]) -> Option<(String, String)> {
        names.iter().find_map(|name| {
            let mut seen = BTreeSet::new();
            let mut having = self.records.iter().filter(|made| has_value(made, name));
            let second = having.find(|made| !seen.insert(&made.labels))?;
            Some(((*name).to_owned(), labels_of(second)))
        })
    }

    /// Checks that no two models have the same labels.
    pub(super) fn distinct(&mut self) {
        let mut seen = BTreeSet::new();
        if let Some(second) = self.records.iter().find(|made| !seen.insert(&made.labels)) {
            let message = format!("two {} have the labels {}", self.field, labels_of(second));
            self.add(self.field, message, SEPARATE);
        }
    }

    /// Checks that every axis of the records has one role; returns whether the roles are right.
    pub(super) fn axes(&mut self, roles: &[(&'static str, &[String])]) -> bool {
        let known: BTreeSet<&str> = self.records.iter().flat_map(|made| axes_of(made)).collect();
        if self.records.is_empty() {
            return false;
        }
        let valid: Vec<&str> = known.iter().copied().collect();
        let before = self.problems.len();
        let mut used: BTreeMap<&str, &'static str> = BTreeMap::new();
        for (role, axes) in roles {
            for axis in *axes {
                if !known.contains(axis.as_str()) {
                    let message = format!("the {} have no axis `{axis}`", self.field);
                    self.unknown(role, message, axis, &valid);
                } else if let Some(first) = used.insert(axis, role) {
                    let message = format!("the axis `{axis}` is in both `{first}` and `{role}`");
                    self.add(role, message, "keep it in one of them");
                }
            }
        }
        // An axis may lack a role only because another mistake has taken its place.
        if self.problems.is_empty() {
            let places = neither(roles);
            for axis in known.iter().filter(|axis| !used.contains_key(*axis)) {
                let message = format!("the axis `{axis}` of these {} is in {places}", self.field);
                self.add(self.field, message, format!("add `{axis}` to one of them"));
            }
        }
        self.problems.len() == before
    }

    /// Checks for misspelt display names.
    ///
    /// Titles are often shared between reports, so one for a name that these records don't have
    /// is no mistake, unless it is nearly that of a name that goes without a title.
    pub(super) fn titles(&mut self, titles: &BTreeMap<String, String>) {
        let labels = self.records.iter().flat_map(|made| made.labels.values());
        let axes = self.records.iter().flat_map(|made| axes_of(made));
        let known: BTreeSet<&str> = labels.map(String::as_str).chain(axes).collect();
        let untitled: Vec<&str> =
            known.iter().copied().filter(|name| !titles.contains_key(*name)).collect();
        for name in titles.keys().filter(|name| !known.contains(name.as_str())) {
            if nearest(name, &untitled).is_some() {
                let message =
                    format!("`{name}` is neither an axis nor a label of these {}", self.field);
                self.unknown("titles", message, name, &untitled);
            }
        }
    }

    /// Returns every combination of the labels of some axes, joined with `/`.
    pub(super) fn places(&self, axes: &[String]) -> Vec<String> {
        let labels = axes.iter().map(|axis| {
            let found = self.records.iter().filter_map(|made| made.labels.get(axis));
            found.cloned().collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>()
        });
        let product = |left: Vec<String>, right: Vec<String>| {
            let pairs = |first: &String| {
                right.iter().map(|second| format!("{first}/{second}")).collect::<Vec<_>>()
            };
            left.iter().flat_map(pairs).collect()
        };
        labels.reduce(product).unwrap_or_default()
    }
}

/// Lists fields as in "neither `rows`, `columns` nor `over`".
fn neither(roles: &[(&'static str, &[String])]) -> String {
    let fields: Vec<String> = roles.iter().map(|(role, _)| format!("`{role}`")).collect();
    match fields.split_last() {
        Some((last, first)) if !first.is_empty() => {
            format!("neither {} nor {last}", first.join(", "))
        }
        _ => format!("none of {}", fields.join(", ")),
    }
}

/// Returns whether a record is known to have a value.
fn has_value(made: &Producer, name: &str) -> bool {
    made.values.iter().flat_map(|values| values.iter()).any(|has| has == name)
}

fn labels_of(made: &Producer) -> String {
    let labels = made.labels.iter().map(|(axis, label)| format!("{axis}={label}"));
    labels.collect::<Vec<_>>().join(", ")
}

fn axes_of(made: &Producer) -> impl Iterator<Item = &str> {
    made.labels.keys().map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stages::test_inputs::{by_role, grid, lines, producer};

    fn records(families: &[Vec<Producer>]) -> Inputs<'_, Producer> {
        by_role(["records[0]", "records[1]"].into_iter(), families)
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn check(families: &[Vec<Producer>], values: &[&str], rows: &[&str]) -> Vec<String> {
        let mut checker = ReportChecker::of(Reported::Records, &records(families));
        checker.values("values", values);
        checker.axes(&[("rows", &names(rows)), ("over", &names(&["seed"]))]);
        lines(&checker.problems())
    }

    #[test]
    fn a_value_that_no_record_has_is_reported_only_if_all_values_are_known() {
        let known = grid(Some(&["dimension", "share"]));
        assert_eq!(
            check(std::slice::from_ref(&known), &["dimensoin"], &["model"]),
            ["values: no record has a value named `dimensoin` (did you mean `dimension`?)"]
        );
        assert!(check(&[known, grid(None)], &["dimensoin"], &["model"]).is_empty());
    }

    #[test]
    fn a_misspelt_axis_is_not_missed_too() {
        assert_eq!(
            check(&[grid(None)], &["dimension"], &["modle"]),
            ["rows: the records have no axis `modle` (did you mean `model`?)"]
        );
        assert_eq!(
            check(&[grid(None)], &["dimension"], &[]),
            ["records: the axis `model` of these records is in neither `rows` nor `over` \
              (add `model` to one of them)"]
        );
        assert_eq!(
            check(&[grid(None)], &["dimension"], &["model", "seed"]),
            ["over: the axis `seed` is in both `rows` and `over` (keep it in one of them)"]
        );
    }

    #[test]
    fn records_without_axes_have_none_to_name() {
        let families = [vec![producer(&[], None)]];
        let mut lone = ReportChecker::of(Reported::Records, &records(&families));
        lone.axes(&[("rows", &names(&["model"]))]);
        assert_eq!(
            lines(&lone.problems()),
            ["rows: the records have no axis `model` (there are none)"]
        );
    }

    #[test]
    fn axes_of_records_that_are_not_shown_need_no_field() {
        let shown = grid(Some(&["dimension"]));
        let other = vec![producer(&[("split", "test")], Some(&["truth"]))];
        assert!(check(&[shown.clone(), other.clone()], &["dimension"], &["model"]).is_empty());
        assert_eq!(check(&[shown, other], &["dimension", "truth"], &["model"]).len(), 1);
    }

    #[test]
    fn two_records_with_the_same_labels_must_not_give_the_same_value() {
        let family = grid(Some(&["dimension"]));
        assert_eq!(
            check(&[family.clone(), family], &["dimension"], &["model"]),
            ["records: two records have the value `dimension` for model=pcae, seed=0 \
              (distinguish them by an axis, or show them in two reports)"]
        );
    }

    #[test]
    fn a_reference_that_leads_nowhere_is_left_to_the_engine_but_no_reference_is_not() {
        let lost = [grid(None), Vec::new()];
        assert!(check(&lost, &["dimension"], &["modle"]).is_empty());
        assert_eq!(
            check(&[], &["dimension"], &["model"]),
            ["records: there are no records to report on \
              (name at least one family: `records: [Each(\"..\")]`)"]
        );
    }

    #[test]
    fn a_title_is_a_mistake_only_if_it_was_meant_for_a_name_without_one() {
        let titles = |names: &[&str]| {
            let families = [grid(None)];
            let mut checker = ReportChecker::of(Reported::Records, &records(&families));
            checker.titles(&names.iter().map(|n| ((*n).to_owned(), "T".to_owned())).collect());
            lines(&checker.problems())
        };
        assert!(titles(&["model", "pcae", "seed", "elsewhere"]).is_empty());
        assert!(titles(&["pcae", "pcae-2"]).is_empty(), "a label of another report");
        assert_eq!(
            titles(&["modle", "pcae"]),
            ["titles: `modle` is neither an axis nor a label of these records \
              (did you mean `model`?)"]
        );
    }

    #[test]
    fn places_are_all_combinations_of_labels() {
        let families = [grid(None)];
        let checker = ReportChecker::of(Reported::Records, &records(&families));
        assert_eq!(checker.places(&names(&["model"])), ["hae", "pcae"]);
        assert_eq!(
            checker.places(&names(&["seed", "model"])),
            ["0/hae", "0/pcae", "1/hae", "1/pcae"]
        );
    }
}
