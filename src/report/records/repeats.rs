//! Records that repeat a result along an axis on which nothing depends, such as a seed that no stage
//! uses. Counted as runs of their own they would make a spread of zero out of a single run.

use std::collections::BTreeMap;

use crate::report::records::record::{Labels, Record, RecordValue};

/// Returns which of some records count, given the axes that are averaged over: where all records
/// along an axis are equal in every value, only the first does.
///
/// Whole numbers may well be equal in several runs, so a record of nothing else repeats none.
pub(in crate::report) fn without_repeats(
    records: &[Record],
    sources: &[usize],
    over: &[String],
) -> Vec<usize> {
    let mut counted = sources.to_vec();
    for axis in over {
        let mut groups: BTreeMap<Labels, Vec<usize>> = BTreeMap::new();
        for source in &counted {
            let mut labels = records[*source].labels().clone();
            labels.remove(axis);
            groups.entry(labels).or_default().push(*source);
        }
        let repeats = |group: &Vec<usize>| {
            let first = &records[group[0]];
            has_fraction(first)
                && group.iter().all(|source| records[*source].values() == first.values())
        };
        if groups.values().all(repeats) {
            let firsts: Vec<usize> = groups.into_values().map(|group| group[0]).collect();
            counted.retain(|source| firsts.contains(source));
        }
    }
    counted
}

/// Returns whether any number of a record is not whole.
fn has_fraction(record: &Record) -> bool {
    let fraction = |number: &f64| number.fract() != 0.0;
    record.values().values().any(|value| match value {
        RecordValue::Number(number) => fraction(number),
        RecordValue::List(numbers) => numbers.iter().any(fraction),
        RecordValue::Text(_) => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::records::record::tests::record;

    fn counted(values: &[(&str, &str, f64)], over: &[&str]) -> Vec<usize> {
        let made = |(seed, fold, x): &(&str, &str, f64)| {
            record(&[("seed", seed), ("fold", fold)], &[("x", *x)])
        };
        let records: Vec<Record> = values.iter().map(made).collect();
        let sources: Vec<usize> = (0..records.len()).collect();
        let over: Vec<String> = over.iter().map(|&axis| axis.to_owned()).collect();
        without_repeats(&records, &sources, &over)
    }

    #[test]
    fn one_result_under_several_labels_counts_once() {
        assert_eq!(counted(&[("0", "a", 9.6), ("1", "a", 9.6), ("2", "a", 9.6)], &["seed"]), [0]);
        let one_differs = [("0", "a", 9.6), ("1", "a", 9.6), ("2", "a", 9.7)];
        assert_eq!(counted(&one_differs, &["seed"]), [0, 1, 2]);
    }

    #[test]
    fn equal_counts_are_several_runs() {
        assert_eq!(counted(&[("0", "a", 4.0), ("1", "a", 4.0)], &["seed"]), [0, 1]);
    }

    #[test]
    fn an_axis_without_effect_is_found_beside_one_with_an_effect() {
        let both = [("0", "a", 1.5), ("0", "b", 1.5), ("1", "a", 2.5), ("1", "b", 2.5)];
        assert_eq!(counted(&both, &["seed", "fold"]), [0, 2]);
    }
}
