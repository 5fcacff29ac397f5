//! The part of a pipeline that estimates the dimension of each class by itself.

use super::inspect::Inspection;
use super::settings::Settings;
use super::write::quoted;

/// With more classes than this, a table of them is not a first look any more.
const MOST_CLASSES: usize = 20;
/// The fewest training samples of a class for which a dimension is estimated.
const FEWEST_SAMPLES: usize = 60;

/// What is written for classes; empty if there are none, or too few samples of one.
#[derive(Default)]
pub(super) struct ClassPart {
    /// The axis of classes.
    pub(super) axis: String,
    /// Stages for each class, and their table.
    pub(super) stages: String,
}

impl ClassPart {
    /// Writes the part for some data.
    pub(super) fn of(inspection: &Inspection, settings: &Settings) -> Self {
        let sizes = &inspection.class_sizes;
        let trained = |size: usize| size * settings.train / inspection.count.max(1);
        let smallest = sizes.iter().map(|(_, size)| trained(*size)).min().unwrap_or_default();
        if !(2..=MOST_CLASSES).contains(&sizes.len()) || smallest < FEWEST_SAMPLES {
            return Self::default();
        }
        let names: Vec<&str> = sizes.iter().map(|(name, _)| name.as_str()).collect();
        // A brace would mark an axis.
        if names.iter().any(|name| name.contains(['{', '}'])) {
            return Self::default();
        }
        let labels = labels(&names);
        let entries: Vec<String> = labels
            .iter()
            .zip(&names)
            .map(|(label, name)| format!("            {}: {},", quoted(label), quoted(name)))
            .collect();
        let titles: Vec<String> = labels
            .iter()
            .zip(&names)
            .filter(|(label, name)| label != *name)
            .map(|(label, name)| format!("{}: {}, ", quoted(label), quoted(name)))
            .collect();
        let axis = format!("\n        \"class\": {{\n{}\n        }},", entries.join("\n"));
        let stages = STAGES
            .replace("NEAR", &settings.near.min(smallest / 3).to_string())
            .replace("TITLES", &titles.concat());
        Self { axis, stages }
    }
}

/// Returns names as labels may be, each once.
fn labels(names: &[&str]) -> Vec<String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.+".contains(c);
    let mut labels: Vec<String> = Vec::new();
    for (number, name) in (1..).zip(names) {
        let label: String = name.chars().map(|c| if fits(c) { c } else { '-' }).collect();
        let is_plain = label.chars().any(|c| c.is_ascii_alphanumeric()) && !label.starts_with('.');
        let is_free = !labels.iter().any(|known| known.eq_ignore_ascii_case(&label));
        labels.push(if is_plain && is_free { label } else { format!("class-{number}") });
    }
    labels
}

const STAGES: &str = r#"
        // The dimension of each class by itself.
        "class-data-{class}": Preprocess(
            data: "train-data", select: {"class": Names([Axis(class)])},
        ),
        "class-dimension-{class}": Estimate(
            points: "class-data-{class}", estimator: Mle(neighbors: NEAR, form: MacKayGhahramani),
        ),
        "classes": Table(
            records: [Each("class-dimension-{class}")],
            caption: "Dimension of each class by itself (MLE), with its 90 % interval. The last columns: 10 and 90 % of single samples lie below these, part of which is scatter.",
            label: "Classes",
            rows: ["class"],
            values: [
                Value(field: "dimension", title: "Dimension", digits: 1),
                Value(field: "interval_low", title: "90 % interval from", digits: 0),
                Value(field: "interval_high", title: "to", digits: 0),
                Value(field: "own_10", title: "10 % of samples", digits: 1),
                Value(field: "own_90", title: "90 % of samples", digits: 1),
            ],
            titles: {TITLES"class": "Class"},
        ),
"#;

#[cfg(test)]
mod tests {
    use super::labels;

    #[test]
    fn labels_are_names_of_files_and_each_is_there_once() {
        let found = labels(&["cat", "wild cat", "wild-cat", "Cat", "3.5", "Küken", "..", ""]);
        let expected =
            ["cat", "wild-cat", "class-3", "class-4", "3.5", "K-ken", "class-7", "class-8"];
        assert_eq!(found, expected);
    }
}
