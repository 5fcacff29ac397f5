//! More labels for an axis than the pipeline file gives it, in memory only.
//!
//! An axis that is a plain list of integers, such as seeds, can go on by itself: the next label is
//! one more than the largest. The file stays as it is, and so does every line number.

use std::collections::BTreeMap;

use super::diagnostic::Diagnostic;
use super::search_paths::FileProbe;
use super::source::Source;
use super::spec::{Axis, Spec};

/// The axes of a pipeline that can go on.
#[derive(Clone, Debug)]
pub struct Extendable<'a> {
    source: &'a Source,
    axes: Vec<(Axis, Vec<u64>)>,
}

impl<'a> Extendable<'a> {
    /// Finds the axes that are lists of integers.
    pub fn of(source: &'a Source, probe: &FileProbe) -> Result<Self, Vec<Diagnostic>> {
        let (spec, _) = Spec::parse(source, probe)?;
        let axes = spec.axes.into_iter().filter(|axis| axis.is_list);
        let axes = axes.filter_map(|axis| Some((integers(&axis)?, axis)));
        Ok(Self { source, axes: axes.map(|(labels, axis)| (axis, labels)).collect() })
    }

    /// Returns the labels that the file gives an axis; nothing if it can't go on.
    pub fn labels(&self, axis: &str) -> Option<&[u64]> {
        self.axes.iter().find(|(known, _)| known.name == axis).map(|(_, labels)| &labels[..])
    }

    /// Returns the labels with which an axis goes on.
    pub fn further(&self, axis: &str, count: usize) -> Vec<u64> {
        let largest = self.labels(axis).and_then(|labels| labels.iter().max());
        largest.map_or_else(Vec::new, |largest| (largest + 1..).take(count).collect())
    }

    /// Returns the pipeline with so many further labels on its axes.
    pub fn extended(&self, counts: &BTreeMap<String, usize>) -> Source {
        let mut text = self.source.text().to_owned();
        // From the back, so that places in front of what is put in stay where they are.
        let mut axes: Vec<&Axis> = self.axes.iter().map(|(axis, _)| axis).collect();
        axes.sort_by_key(|axis| axis.values.last().map(|(_, place)| std::cmp::Reverse(place.end)));
        for axis in axes {
            let count = counts.get(&axis.name).copied().unwrap_or_default();
            let further = self.further(&axis.name, count);
            let further: Vec<_> = further.iter().map(|label| format!(", {label}")).collect();
            if let Some((_, last)) = axis.values.last() {
                text.insert_str(last.end, &further.concat());
            }
        }
        Source::new(self.source.path(), text).at_scale(self.source.scale().clone())
    }
}

/// Returns the labels of an axis as integers, leaving room for further ones.
fn integers(axis: &Axis) -> Option<Vec<u64>> {
    let labels = axis.values.iter().map(|(label, _)| label.parse::<u32>().ok().map(u64::from));
    labels.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIPELINE: &str = r#"Pipeline(
        name: "p",
        axes: {
            "seed": [20, /* the last */ 7, ], "fold": [0,1],
            "named": {"0": 0}, "model": ["a", "b"],
        },
        stages: {"a-{seed}": X()},
    )"#;

    #[test]
    fn a_list_of_integers_goes_on_after_its_largest() {
        let source = Source::new("p.ron", PIPELINE);
        let axes = Extendable::of(&source, &FileProbe::Search).unwrap();
        assert_eq!(axes.labels("seed"), Some(&[20, 7][..]));
        let counts = [("seed".to_owned(), 2), ("fold".to_owned(), 1)].into();
        let extended = axes.extended(&counts);
        let (spec, mistakes) = Spec::parse(&extended, &FileProbe::Search).unwrap();
        assert!(mistakes.is_empty());
        let labels = |axis: usize| -> Vec<_> {
            spec.axes[axis].values.iter().map(|(label, _)| label.clone()).collect()
        };
        assert_eq!(
            (labels(0), labels(1).len()),
            (["20", "7", "21", "22"].map(str::to_owned).into(), 3)
        );
        assert_eq!(extended.text().lines().count(), PIPELINE.lines().count());
    }

    #[test]
    fn labels_with_names_and_words_do_not_go_on() {
        let source = Source::new("p.ron", PIPELINE);
        let axes = Extendable::of(&source, &FileProbe::Search).unwrap();
        for axis in ["named", "model", "unknown"] {
            assert_eq!(axes.labels(axis), None);
            assert!(axes.further(axis, 3).is_empty());
        }
    }
}
