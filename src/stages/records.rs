//! What tables and figures share: loading labeled records, and finding mistakes beforehand.
//!
//! A report refuses these mistakes itself, but only after hours of training. A mistake is told
//! once: what follows from one that was found already, here or by the engine, is not.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::context::{RunContext, StageError};
use crate::engine::diagnostic::nearest;
use crate::engine::stage::{Each, Problem, Producer};
use crate::report::{Record, Values};

/// Valid choices listed when none is near to what was written.
const MOST_LISTED: usize = 12;

/// What to do about two results that have the same labels.
const APART: &str = "tell them apart by an axis, or show them in two reports";

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

/// A look at a report's settings before anything runs.
pub(super) struct Review<'a> {
    /// The field that names what is reported on.
    field: &'static str,
    /// What is known of the records that the report may show; nothing if a reference is wrong.
    records: Vec<&'a Producer>,
    problems: Vec<Problem>,
}

impl<'a> Review<'a> {
    /// Starts with the stages behind each family of records or models.
    pub(super) fn of(reported: Reported, inputs: &'a [Vec<Producer>]) -> Self {
        let field = reported.field();
        let mut review = Self { field, records: Vec::new(), problems: Vec::new() };
        if inputs.is_empty() {
            let help = format!("name at least one family: `{field}: [Each(\"..\")]`");
            review.refuse(field, format!("there are no {field} to report on"), help);
        } else if !inputs.iter().any(Vec::is_empty) {
            review.records = inputs.iter().flatten().collect();
        }
        review
    }

    /// Returns what was found.
    pub(super) fn problems(self) -> Vec<Problem> {
        self.problems
    }

    /// Adds a mistake.
    pub(super) fn refuse(&mut self, field: &'static str, message: String, help: impl Into<String>) {
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
            None if valid.is_empty() => "they have none at all".to_owned(),
            None => {
                let listed = valid.iter().take(MOST_LISTED).map(|name| format!("`{name}`"));
                let more = if valid.len() > MOST_LISTED { ", .." } else { "" };
                format!("valid here: {}{more}", listed.collect::<Vec<_>>().join(", "))
            }
        };
        self.refuse(field, message, help);
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
        if let Some((name, labels)) = self.twins(names) {
            self.refuse("records", format!("two records give `{name}` for {labels}"), APART);
        }
        // Records without any of the values have no part in the report, nor do their axes.
        if self.problems.is_empty() {
            let shown = |made: &&Producer| names.iter().any(|name| gives(made, name));
            self.records.retain(|made| made.values.is_none() || shown(made));
        }
    }

    /// Returns the first value that two records give for the same labels, with these labels.
    fn twins(&self, names: &[&str]) -> Option<(String, String)> {
        names.iter().find_map(|name| {
            let mut seen = BTreeSet::new();
            let mut giving = self.records.iter().filter(|made| gives(made, name));
            let twin = giving.find(|made| !seen.insert(&made.labels))?;
            Some(((*name).to_owned(), labels_of(twin)))
        })
    }

    /// Checks that no two models have the same labels.
    pub(super) fn distinct(&mut self) {
        let mut seen = BTreeSet::new();
        if let Some(twin) = self.records.iter().find(|made| !seen.insert(&made.labels)) {
            let message = format!("two {} stand for {}", self.field, labels_of(twin));
            self.refuse(self.field, message, APART);
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
                    let message = format!("the axis `{axis}` has two roles here");
                    self.refuse(role, message, format!("it is in `{first}` and in `{role}`"));
                }
            }
        }
        // An axis may lack a role only because another mistake has taken its place.
        if self.problems.is_empty() {
            let places: Vec<String> = roles.iter().map(|(role, _)| format!("`{role}`")).collect();
            for axis in known.iter().filter(|axis| !used.contains_key(*axis)) {
                let message = format!("the axis `{axis}` of these {} has no role here", self.field);
                let help = format!("name `{axis}` in one of: {}", places.join(", "));
                self.refuse(self.field, message, help);
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

/// Returns whether a record is known to have a value.
fn gives(made: &Producer, name: &str) -> bool {
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
pub(super) mod tests {
    use super::*;

    /// Returns a stage behind a record.
    pub(in crate::stages) fn made(labels: &[(&str, &str)], values: Option<&[&str]>) -> Producer {
        let owned = |(axis, label): &(&str, &str)| ((*axis).to_owned(), (*label).to_owned());
        let labels = labels.iter().map(owned).collect::<BTreeMap<_, _>>().into();
        let values = values.map(|values| names(values).into());
        Producer { labels, kind: "record".into(), values, row_length: None }
    }

    /// Two models with two seeds each.
    pub(in crate::stages) fn sweep(values: Option<&[&str]>) -> Vec<Producer> {
        let pairs = [("pcae", "0"), ("pcae", "1"), ("hae", "0"), ("hae", "1")];
        let stage = |(model, seed)| made(&[("model", model), ("seed", seed)], values);
        pairs.map(stage).into()
    }

    /// Lists problems as `field: message (help)`.
    pub(in crate::stages) fn told(problems: &[Problem]) -> Vec<String> {
        let line = |problem: &Problem| {
            let help = problem.help.as_deref().unwrap_or_default();
            format!("{}: {} ({help})", problem.field, problem.message)
        };
        problems.iter().map(line).collect()
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn review(inputs: &[Vec<Producer>], values: &[&str], rows: &[&str]) -> Vec<String> {
        let mut review = Review::of(Reported::Records, inputs);
        review.values("values", values);
        review.axes(&[("rows", &names(rows)), ("over", &names(&["seed"]))]);
        told(&review.problems())
    }

    #[test]
    fn a_value_that_no_record_has_is_told_only_if_all_values_are_known() {
        let known = sweep(Some(&["dimension", "share"]));
        assert_eq!(
            review(std::slice::from_ref(&known), &["dimensoin"], &["model"]),
            ["values: no record has a value named `dimensoin` (did you mean `dimension`?)"]
        );
        assert!(review(&[known, sweep(None)], &["dimensoin"], &["model"]).is_empty());
    }

    #[test]
    fn a_misspelt_axis_is_not_missed_too() {
        assert_eq!(
            review(&[sweep(None)], &["dimension"], &["modle"]),
            ["rows: the records have no axis `modle` (did you mean `model`?)"]
        );
        assert_eq!(
            review(&[sweep(None)], &["dimension"], &[]),
            ["records: the axis `model` of these records has no role here \
              (name `model` in one of: `rows`, `over`)"]
        );
        assert_eq!(
            review(&[sweep(None)], &["dimension"], &["model", "seed"]),
            ["over: the axis `seed` has two roles here (it is in `rows` and in `over`)"]
        );
    }

    #[test]
    fn records_without_axes_have_nothing_to_make_rows_of() {
        let inputs = [vec![made(&[], None)]];
        let mut lone = Review::of(Reported::Records, &inputs);
        lone.axes(&[("rows", &names(&["model"]))]);
        assert_eq!(
            told(&lone.problems()),
            ["rows: the records have no axis `model` (they have none at all)"]
        );
    }

    #[test]
    fn axes_of_records_that_are_not_shown_need_no_role() {
        let shown = sweep(Some(&["dimension"]));
        let other = vec![made(&[("split", "test")], Some(&["truth"]))];
        assert!(review(&[shown.clone(), other.clone()], &["dimension"], &["model"]).is_empty());
        assert_eq!(review(&[shown, other], &["dimension", "truth"], &["model"]).len(), 1);
    }

    #[test]
    fn two_records_with_the_same_labels_must_not_give_the_same_value() {
        let family = sweep(Some(&["dimension"]));
        assert_eq!(
            review(&[family.clone(), family], &["dimension"], &["model"]),
            ["records: two records give `dimension` for model=pcae, seed=0 \
              (tell them apart by an axis, or show them in two reports)"]
        );
    }

    #[test]
    fn a_reference_that_leads_nowhere_is_left_to_the_engine_but_no_reference_is_not() {
        let lost = [sweep(None), Vec::new()];
        assert!(review(&lost, &["dimension"], &["modle"]).is_empty());
        assert_eq!(
            review(&[], &["dimension"], &["model"]),
            ["records: there are no records to report on \
              (name at least one family: `records: [Each(\"..\")]`)"]
        );
    }

    #[test]
    fn a_title_is_a_mistake_only_if_it_was_meant_for_a_name_without_one() {
        let titles = |names: &[&str]| {
            let inputs = [sweep(None)];
            let mut review = Review::of(Reported::Records, &inputs);
            review.titles(&names.iter().map(|n| ((*n).to_owned(), "T".to_owned())).collect());
            told(&review.problems())
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
        let inputs = [sweep(None)];
        let review = Review::of(Reported::Records, &inputs);
        assert_eq!(review.places(&names(&["model"])), ["hae", "pcae"]);
        assert_eq!(
            review.places(&names(&["seed", "model"])),
            ["0/hae", "0/pcae", "1/hae", "1/pcae"]
        );
    }
}
