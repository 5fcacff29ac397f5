//! Which records a value of a table takes.
//!
//! A value may take only the records with certain labels (`at`). Such a record then stands in the
//! table without these labels and under the name of that value, so that one field can be shown
//! for several labels side by side, and nothing downstream needs to know of it.

use std::collections::BTreeSet;

use crate::report::records::record::{Labels, Record, RecordError, Values};
use crate::report::tables::table::ValueSpec;

/// Returns what the values see, in the order of the records, and which record each one is of.
pub(in crate::report) fn selected_records(
    values: &[ValueSpec],
    records: &[Record],
) -> Result<(Vec<usize>, Vec<Record>), RecordError> {
    let places: BTreeSet<&Labels> = values.iter().map(|value| &value.at).collect();
    let mut seen = (Vec::new(), Vec::new());
    for (origin, record) in records.iter().enumerate() {
        for place in &places {
            if let Some(record) = selected(values, place, record)? {
                seen.0.push(origin);
                seen.1.push(record);
            }
        }
    }
    Ok(seen)
}

/// Returns a record as the values at one place see it, if they do.
fn selected(
    values: &[ValueSpec],
    place: &Labels,
    record: &Record,
) -> Result<Option<Record>, RecordError> {
    if place.is_empty() {
        return Ok(Some(record.clone()));
    }
    let Some(labels) = labels_without(record.labels(), place) else {
        return Ok(None);
    };
    let taken = values.iter().filter(|value| value.at == *place);
    let taken = taken.filter_map(|value| Some((value.name(), record.values().get(&value.field)?)));
    let taken: Values = taken.map(|(name, value)| (name, value.clone())).collect();
    if taken.is_empty() { Ok(None) } else { Record::new(labels, taken).map(Some) }
}

/// Returns labels without those of a place; none if they are of another place.
pub fn labels_without(labels: &Labels, place: &Labels) -> Option<Labels> {
    let there = place.iter().all(|(axis, label)| labels.get(axis) == Some(label));
    let rest = labels.iter().filter(|(axis, _)| !place.contains_key(*axis));
    there.then(|| rest.map(|(axis, label)| (axis.clone(), label.clone())).collect())
}

#[cfg(test)]
mod tests {
    use crate::report::records::record::tests::record;
    use crate::report::tables::tabulate::tabulate;
    use crate::report::tables::tabulate::tests::spec;

    #[test]
    fn one_field_can_be_shown_for_several_labels_of_an_axis() {
        let text = r#"(caption: "c", label: "l", columns: ["model"], over: ["seed"],
            layout: ValuesInRows, values: [
                Value(field: "seconds", title: "dim = 8", at: {"dim": "8"}),
                Value(field: "seconds", title: "dim = 64", at: {"dim": "64"}),
                Value(field: "hours", title: "Total", at: {"dim": "64"})])"#;
        let run = |model, dim, seed, seconds| {
            let labels = [("model", model), ("dim", dim), ("seed", seed)];
            record(&labels, &[("seconds", seconds), ("hours", seconds / 10.0)])
        };
        let records = [
            run("pcae", "8", "0", 1.0),
            run("pcae", "64", "0", 10.0),
            run("pcae", "64", "1", 20.0),
            run("hae", "8", "0", 3.0),
        ];
        let table = tabulate(&spec(text), &records).unwrap();
        let cells = &table.rows[0].cells;
        let seen: Vec<_> = cells.iter().map(|cell| (cell.mean, cell.sources.as_slice())).collect();
        let (pcae, hae) = seen.split_at(3);
        assert_eq!(pcae, [(Some(1.0), &[0][..]), (Some(15.0), &[1, 2]), (Some(1.5), &[1, 2])]);
        assert_eq!(hae, [(Some(3.0), &[3][..]), (None, &[]), (None, &[])]);
        assert_eq!(table.columns[1].value.name, "seconds[dim=64]");
    }

    #[test]
    fn a_place_where_there_are_no_records_is_told_like_a_missing_value() {
        let text = r#"(caption: "c", label: "l", rows: ["model"],
            values: [Value(field: "x", title: "X", at: {"dim": "9"})])"#;
        let records = [record(&[("model", "a"), ("dim", "8")], &[("x", 1.0)])];
        let error = tabulate(&spec(text), &records).unwrap_err();
        assert_eq!(error.to_string(), "there are no records to report on");
    }
}
