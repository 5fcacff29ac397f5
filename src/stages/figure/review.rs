//! What each picture asks of its inputs: axes with one role each, values that exist.

use std::collections::BTreeMap;

use crate::engine::stage::{Problem, Producer};
use crate::report::{
    BarsSpec, CodeScatterSpec, CoordinateCourseSpec, LearningCurvesSpec, VarianceCurvesSpec,
    VarianceSpectrumSpec,
};
use crate::stages::records::{Reported, Review};

/// Reviews pictures in which each input is shown under its labels.
pub(super) fn labeled(
    reported: Reported,
    titles: &BTreeMap<String, String>,
    inputs: &[Vec<Producer>],
) -> Vec<Problem> {
    let mut review = Review::of(reported, inputs);
    review.titles(titles);
    review.distinct();
    review.problems()
}

/// Reviews display names of labels; columns and factors have titles too, but which there are is
/// known only after a run.
fn review_titles(review: &mut Review, titles: &BTreeMap<String, String>, others: &[String]) {
    let of_labels = titles.iter().filter(|(name, _)| !others.contains(name));
    review.titles(&of_labels.map(|(name, title)| (name.clone(), title.clone())).collect());
}

/// Reviews bars.
pub(super) fn bars(spec: &BarsSpec, inputs: &[Vec<Producer>]) -> Vec<Problem> {
    let mut review = Review::of(Reported::Records, inputs);
    review.titles(&spec.titles);
    review.values("field", &[&spec.field]);
    review.axes(&[
        ("bars", std::slice::from_ref(&spec.bars)),
        ("groups", spec.groups.as_slice()),
        ("over", &spec.over),
    ]);
    review.problems()
}

/// Reviews a scatter of codes.
pub(super) fn code_scatter(spec: &CodeScatterSpec, inputs: &[Vec<Producer>]) -> Vec<Problem> {
    let mut review = Review::of(Reported::Codes, inputs);
    review_titles(&mut review, &spec.titles, spec.color.as_slice());
    if spec.coordinates.0 == spec.coordinates.1 {
        let message = format!("coordinate {} is on both axes", spec.coordinates.0);
        review.refuse("coordinates", message, "name two different ones: `coordinates: (1, 2)`");
    }
    review.distinct();
    review.problems()
}

/// Reviews the course of coordinates.
pub(super) fn coordinate_course(
    spec: &CoordinateCourseSpec,
    inputs: &[Vec<Producer>],
) -> Vec<Problem> {
    let mut review = Review::of(Reported::Models, inputs);
    review_titles(&mut review, &spec.titles, std::slice::from_ref(&spec.column));
    let numbered = spec.column.rsplit_once('_').filter(|(_, end)| end.parse::<usize>().is_ok());
    if let Some((stem, _)) = numbered {
        let message = format!("`{}` is one coordinate alone", spec.column);
        review.refuse("column", message, format!("write `column: \"{stem}\"` for all of them"));
    }
    review.distinct();
    review.axes(&[("panels", std::slice::from_ref(&spec.panels)), ("over", &spec.over)]);
    review.problems()
}

/// Reviews learning curves.
pub(super) fn curves(spec: &LearningCurvesSpec, inputs: &[Vec<Producer>]) -> Vec<Problem> {
    let mut review = Review::of(Reported::Models, inputs);
    review_titles(&mut review, &spec.titles, &spec.columns);
    if spec.columns.is_empty() {
        let help = "name at least one: `columns: [\"total\"]`";
        review.refuse("columns", "there are no columns to show".to_owned(), help);
    }
    for (at, column) in spec.columns.iter().enumerate() {
        if spec.columns[..at].contains(column) {
            let message = format!("the column `{column}` is listed twice");
            review.refuse("columns", message, "list each column once");
        }
    }
    review.distinct();
    review.axes(&[("series", std::slice::from_ref(&spec.series)), ("over", &spec.over)]);
    review.problems()
}

/// Reviews variance curves.
pub(super) fn variance_curves(spec: &VarianceCurvesSpec, inputs: &[Vec<Producer>]) -> Vec<Problem> {
    let mut review = Review::of(Reported::Records, inputs);
    review.titles(&spec.titles);
    if spec.thresholds.is_empty() {
        let help = "name at least one: `thresholds: [0.99]`";
        review.refuse("thresholds", "there is no share that counts as enough".to_owned(), help);
    }
    review.values("field", &[&spec.field]);
    review.axes(&[
        ("series", std::slice::from_ref(&spec.series)),
        ("panels", spec.panels.as_slice()),
        ("over", &spec.over),
    ]);
    review.problems()
}

/// Reviews a variance spectrum.
pub(super) fn spectrum(spec: &VarianceSpectrumSpec, inputs: &[Vec<Producer>]) -> Vec<Problem> {
    let mut review = Review::of(Reported::Records, inputs);
    review.titles(&spec.titles);
    review.values("field", &[&spec.field]);
    review.axes(&[("series", std::slice::from_ref(&spec.series)), ("over", &spec.over)]);
    review.problems()
}
