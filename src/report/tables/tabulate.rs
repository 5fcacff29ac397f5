//! From a declaration and records to a table: group, order, attach published numbers.
//!
//! Rows and columns stand in the order in which their labels first appear in the records;
//! with several axes the first one varies slowest, so equal labels stay together. Only
//! combinations of labels that have a record or a published number make a row or a column.
//! A published number that belongs to no cell is refused rather than lost.

use std::collections::{BTreeMap, BTreeSet};

use crate::report::records::aggregate::{AggregateError, RecordFrame};
use crate::report::records::axis_roles::check_axes;
use crate::report::records::joined_rows::check_fields;
use crate::report::records::record::{Record, RecordValue};
use crate::report::records::repeats::without_repeats;
use crate::report::tables::best::{Cells, mark_best};
use crate::report::tables::cell::Cell;
use crate::report::tables::marks::Unjudged;
use crate::report::tables::selection::selected_records;
use crate::report::tables::table::{
    Best, Given, Layout, Table, TableColumn, TableError, TableRow, TableSpec, Titled, ValueSpec,
};

/// Fills a table from records; who made them is left for the caller to tell.
pub fn tabulate<R>(spec: &TableSpec<R>, records: &[Record]) -> Result<Table, TableError> {
    check_lists(spec)?;
    let (origins, seen) = selected_records(&spec.values, records)?;
    let names: Vec<String> = spec.values.iter().map(ValueSpec::name).collect();
    let fields: Vec<&str> = names.iter().map(String::as_str).collect();
    check(spec, &fields, &seen)?;
    let frame = RecordFrame::of(&seen, &fields)?;
    let axes = [spec.rows.clone(), spec.columns.clone()].concat();

    let mut cells = Cells::new();
    for (index, (field, value)) in fields.iter().zip(&spec.values).enumerate() {
        for summary in frame.summarize(field, &axes, spec.spread)? {
            let sources: Vec<usize> = summary.sources.iter().map(|seen| origins[*seen]).collect();
            let counted = without_repeats(records, &sources, &spec.over);
            let counts = |source: usize| counted.contains(&source);
            let mut cell = Cell::of(sources, summary.values, counts, spec.spread);
            examine(&mut cell, value, records);
            cells.insert((index, summary.labels), cell);
        }
    }
    let ranks: Vec<Vec<&str>> = axes.iter().map(|axis| appearance(&seen, &fields, axis)).collect();
    attach_published(spec, &ranks, &mut cells)?;
    for ((index, labels), cell) in &mut cells {
        let declared = spec.unjudged(labels, &spec.values[*index].name());
        cell.unjudged = declared.or(cell.unjudged);
    }
    let tested = mark_best(spec, &axes, &mut cells);

    let (row_ranks, column_ranks) = ranks.split_at(spec.rows.len());
    let places = || cells.keys().map(|(_, labels)| labels.split_at(spec.rows.len()));
    let rows = ordered(places().map(|(row, _)| row), row_ranks);
    let columns = ordered(places().map(|(_, column)| column), column_ranks);
    check_given(spec, &rows)?;
    let table = assemble(spec, &rows, &columns, &cells);
    Ok(Table { tested, ..table })
}

/// Finds out what the records themselves tell of a number.
fn examine(cell: &mut Cell, value: &ValueSpec, records: &[Record]) {
    let own = || cell.sources.iter().map(|source| &records[*source]);
    let number = |record: &Record, field: &str| match record.values().get(field) {
        Some(RecordValue::Number(number)) => Some(*number),
        _ => None,
    };
    let collapsed = value.collapsed.as_ref().is_some_and(|collapsed| {
        own().filter_map(|record| number(record, collapsed.field())).any(|n| collapsed.covers(n))
    });
    let at_its_limit = value.counts
        && own().any(|record| {
            let limit = record.coordinates().map(|coordinates| coordinates as f64);
            limit.is_some_and(|limit| number(record, &value.field) >= Some(limit))
        });
    if value.counts {
        let known: Option<Vec<usize>> = own().map(Record::coordinates).collect();
        cell.coordinates = known.and_then(|known| known.into_iter().max());
    }
    cell.unjudged = match (collapsed, at_its_limit) {
        (true, _) => Some(Unjudged::Collapsed),
        (false, true) => Some(Unjudged::AtItsLimit),
        (false, false) => None,
    };
}

fn check_lists<R>(spec: &TableSpec<R>) -> Result<(), TableError> {
    match spec.layout {
        Layout::ValuesInColumns if spec.rows.is_empty() => return Err(TableError::NoRows),
        Layout::ValuesInRows if spec.columns.is_empty() => return Err(TableError::NoColumns),
        _ if spec.values.is_empty() => return Err(TableError::NoValues),
        _ => {}
    }
    let mut seen = BTreeSet::new();
    match spec.values.iter().map(ValueSpec::name).find(|name| !seen.insert(name.clone())) {
        Some(field) => Err(TableError::ValueTwice { field }),
        None => Ok(()),
    }
}

fn check<R>(spec: &TableSpec<R>, fields: &[&str], records: &[Record]) -> Result<(), TableError> {
    check_fields(records, fields).map_err(AggregateError::from)?;
    let roles: [(&'static str, &[String]); 3] =
        [("rows", &spec.rows), ("columns", &spec.columns), ("over", &spec.over)];
    check_axes(records, fields, &roles, &["rows", "columns", "over"])?;
    let shown = [spec.rows.clone(), spec.columns.clone()].concat();
    if let Some(axis) = spec.compare.iter().find(|axis| !shown.contains(axis)) {
        return Err(TableError::UnknownComparison { axis: axis.clone(), known: shown });
    }
    let labels = || shown.iter().flat_map(|axis| appearance(records, fields, axis));
    let known: Vec<&str> = labels().chain(fields.iter().copied()).collect();
    if let Some(label) = spec.unknown_unjudged(&known) {
        let (label, known) = (label.to_owned(), known.into_iter().map(str::to_owned).collect());
        return Err(TableError::UnknownUnjudged { label, known });
    }
    for value in &spec.values {
        if let Best::ClosestTo(truths) = &value.best
            && let Some(label) = truths.keys().find(|label| !labels().any(|known| known == *label))
        {
            return Err(TableError::UnknownTruth {
                field: value.field.clone(),
                label: label.clone(),
                known: labels().map(str::to_owned).collect(),
            });
        }
    }
    Ok(())
}

fn check_given<R>(spec: &TableSpec<R>, rows: &[Vec<String>]) -> Result<(), TableError> {
    let rows = rows.iter().map(|labels| labels.join("/"));
    let known: Vec<String> = rows.flat_map(|row| given_keys(&row, spec)).collect();
    for Given { title, cells } in &spec.given {
        if let Some(key) = cells.keys().find(|key| !known.contains(key)) {
            let (title, key) = (title.clone(), key.clone());
            return Err(TableError::UnknownGiven { title, key, known });
        }
    }
    Ok(())
}

/// Returns the keys under which a given text may be for a row.
fn given_keys<R>(row: &str, spec: &TableSpec<R>) -> Vec<String> {
    let names: Vec<String> = spec.values.iter().map(ValueSpec::name).collect();
    Given::keys(row, spec.layout, &names)
}

/// Returns the labels of an axis in the order in which the records bring them up.
pub(in crate::report) fn appearance<'a>(
    records: &'a [Record],
    fields: &[&str],
    axis: &str,
) -> Vec<&'a str> {
    let mut labels: Vec<&str> = Vec::new();
    for record in records {
        if fields.iter().any(|field| record.values().contains_key(*field))
            && let Some(label) = record.labels().get(axis)
            && !labels.contains(&label.as_str())
        {
            labels.push(label);
        }
    }
    labels
}

/// Returns each distinct place once, ordered by the rank of its labels, first axis slowest.
fn ordered<'a>(
    places: impl Iterator<Item = &'a [String]>,
    ranks: &[Vec<&str>],
) -> Vec<Vec<String>> {
    let distinct: BTreeSet<&[String]> = places.collect();
    let mut distinct: Vec<Vec<String>> = distinct.into_iter().map(<[String]>::to_vec).collect();
    distinct.sort_by_key(|labels| {
        let rank = |(label, known): (&String, &Vec<&str>)| known.iter().position(|k| k == label);
        labels.iter().zip(ranks).map(rank).collect::<Vec<_>>()
    });
    distinct
}

fn attach_published<R>(
    spec: &TableSpec<R>,
    ranks: &[Vec<&str>],
    cells: &mut Cells,
) -> Result<(), TableError> {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    if spec.values.iter().any(|value| !value.published.is_empty()) {
        places.extend(combinations(ranks).into_iter().map(|labels| (labels.join("/"), labels)));
    }
    for (index, value) in spec.values.iter().enumerate() {
        for (key, published) in &value.published {
            let Some(labels) = places.get(key) else {
                return Err(TableError::UnknownPublished {
                    field: value.field.clone(),
                    key: key.clone(),
                    known: places.into_keys().collect(),
                });
            };
            let cell = cells.entry((index, labels.clone())).or_default();
            let spread = published.spread.map(f64::from);
            cell.published = Some((published.mean.get(), spread));
        }
    }
    Ok(())
}

/// Returns every combination of one label per axis.
fn combinations(ranks: &[Vec<&str>]) -> Vec<Vec<String>> {
    let grown = |found: Vec<Vec<String>>, labels: &Vec<&str>| {
        let with =
            |start: &Vec<String>, label: &str| [start.as_slice(), &[label.to_owned()]].concat();
        found.iter().flat_map(|start| labels.iter().map(move |label| with(start, label))).collect()
    };
    ranks.iter().fold(vec![Vec::new()], grown)
}

fn assemble<R>(
    spec: &TableSpec<R>,
    rows: &[Vec<String>],
    columns: &[Vec<String>],
    cells: &Cells,
) -> Table {
    let titled = |name: &String| Titled {
        name: name.clone(),
        title: spec.titles.get(name).unwrap_or(name).clone(),
    };
    let all = |names: &[String]| names.iter().map(titled).collect::<Vec<_>>();
    let mut table = Table {
        caption: spec.caption.clone(),
        label: spec.label.clone(),
        row_axes: all(&spec.rows),
        column_axes: all(&spec.columns),
        over: all(&spec.over),
        spread: spec.spread,
        published_runs: spec.published_runs,
        layout: spec.layout,
        value_title: spec.titles.get("value").cloned().unwrap_or_default(),
        given: spec.given.clone(),
        columns: Vec::new(),
        rows: rows.iter().map(|row| TableRow { labels: all(row), cells: Vec::new() }).collect(),
        tested: false,
        notes: spec.notes.clone(),
        runs: Vec::new(),
    };
    for column in columns {
        for (index, value) in spec.values.iter().enumerate() {
            let places: Vec<(usize, Vec<String>)> =
                rows.iter().map(|labels| (index, [labels.as_slice(), column].concat())).collect();
            // Where values stand in rows, each column needs all of them, to have lines to stand in.
            let empty = !places.iter().any(|place| cells.contains_key(place));
            if empty && spec.layout == Layout::ValuesInColumns {
                continue;
            }
            table.columns.push(TableColumn {
                labels: all(column),
                value: Titled { name: value.name(), title: value.title.clone() },
                digits: value.digits,
                best: value.best.clone(),
                margin: value.margin,
                counts: value.counts,
                range: value.range,
            });
            for (row, place) in table.rows.iter_mut().zip(&places) {
                row.cells.push(cells.get(place).cloned().unwrap_or_default());
            }
        }
    }
    table
}

#[cfg(test)]
pub(in crate::report) mod tests {
    use super::*;
    use crate::report::records::record::RecordValue;
    use crate::report::records::record::tests::record;

    /// Reads a declaration the way pipeline files are read.
    pub(in crate::report) fn spec(text: &str) -> TableSpec<()> {
        use ron::extensions::Extensions;
        ron::Options::default()
            .with_default_extension(Extensions::UNWRAP_VARIANT_NEWTYPES | Extensions::IMPLICIT_SOME)
            .from_str(&text.replacen('(', "(records: (), ", 1))
            .unwrap()
    }

    /// Two models, two sets; `irmae` was not run on `shapes`, and `hae` has one seed there.
    pub(in crate::report) fn runs() -> Vec<Record> {
        let run = |set, model, seed, dimension| {
            record(&[("set", set), ("model", model), ("seed", seed)], &[("dimension", dimension)])
        };
        vec![
            run("sprites", "pcae", "s0", 4.0),
            run("sprites", "pcae", "s1", 4.0),
            run("sprites", "hae", "s0", 7.0),
            run("sprites", "hae", "s1", 8.0),
            run("sprites", "irmae", "s0", 6.0),
            run("sprites", "irmae", "s1", 6.0),
            run("shapes", "pcae", "s0", 5.0),
            run("shapes", "pcae", "s1", 5.0),
            run("shapes", "hae", "s0", 6.0),
        ]
    }

    /// The runs as a table of sets by models, with two published numbers.
    pub(in crate::report) fn wide() -> Table {
        let text = r#"(caption: "Estimated dimension, τ = 99%", label: "Table 1", rows: ["set"],
            columns: ["model"], over: ["seed"], values: [Value(field: "dimension",
            title: "Dimension", best: Lowest,
            published: {"sprites/pcae": (4.0, 0.0), "shapes/hae": (6.2, 0.4)})],
            titles: {"pcae": "PCAE", "hae": "H&E", "set": "Data set", "shapes": "3D_shapes"})"#;
        tabulate(&spec(text), &runs()).unwrap()
    }

    /// One set, models as rows, published numbers in their own column.
    pub(in crate::report) fn tall() -> Table {
        let text = r#"(caption: "Dimension", label: "Table 2", rows: ["model"],
            over: ["seed"], values: [Value(field: "dimension", title: "Dimension",
            best: Closest(4.0), published: {"pcae": (4.0, 0.0), "hae": (7.4, None)})],
            titles: {"model": "Model"})"#;
        let records: Vec<Record> = runs()[..6]
            .iter()
            .map(|old| {
                let mut labels = old.labels().clone();
                labels.remove("set");
                Record::new(labels, old.values().clone()).unwrap()
            })
            .collect();
        tabulate(&spec(text), &records).unwrap()
    }

    fn names(titled: &[Titled]) -> Vec<&str> {
        titled.iter().map(|titled| titled.name.as_str()).collect()
    }

    #[test]
    fn rows_and_columns_follow_the_order_of_the_records() {
        let table = wide();
        let rows: Vec<_> = table.rows.iter().map(|row| names(&row.labels)).collect();
        assert_eq!(rows, [["sprites"], ["shapes"]]);
        let columns: Vec<_> = table.columns.iter().map(|column| names(&column.labels)).collect();
        assert_eq!(columns, [["pcae"], ["hae"], ["irmae"]]);
    }

    #[test]
    fn a_cell_knows_its_mean_spread_count_and_sources() {
        let table = wide();
        let hae = &table.rows[0].cells[1];
        assert_eq!((hae.mean, hae.std, hae.n), (Some(7.5), Some(0.5), 2));
        assert_eq!(hae.sources, [2, 3]);
        assert_eq!(hae.values, [7.0, 8.0]);
        let single = &table.rows[1].cells[1];
        assert_eq!((single.mean, single.std, single.n), (Some(6.0), None, 1));
        assert_eq!(table.rows[1].cells[2], Cell::default());
        assert_eq!(table.rows[1].cells[1].published, Some((6.2, Some(0.4))));
    }

    #[test]
    fn the_first_row_axis_varies_slowest_whatever_the_record_order() {
        let text = r#"(caption: "c", label: "l", rows: ["set", "tau"],
            values: [Value(field: "x", title: "X")])"#;
        let at = |set, tau| record(&[("set", set), ("tau", tau)], &[("x", 1.0)]);
        let records = [at("b", "99"), at("a", "99"), at("b", "999"), at("a", "999")];
        let table = tabulate(&spec(text), &records).unwrap();
        let rows: Vec<_> = table.rows.iter().map(|row| names(&row.labels)).collect();
        assert_eq!(rows, [["b", "99"], ["b", "999"], ["a", "99"], ["a", "999"]]);
    }

    #[test]
    fn values_of_several_families_stand_side_by_side() {
        let text = r#"(caption: "c", label: "l", rows: ["set"], over: ["seed"], values: [
            Value(field: "truth", title: "Truth", digits: 0), Value(field: "dimension", title: "D"),
            Value(field: "error", title: "E")])"#;
        let records = [
            record(&[("set", "a"), ("seed", "s0")], &[("dimension", 3.0)]),
            record(&[("set", "a"), ("seed", "s1")], &[("dimension", 5.0)]),
            record(&[("set", "a"), ("seed", "s1")], &[("error", 0.5)]),
            record(&[("set", "a")], &[("truth", 4.0)]),
        ];
        let table = tabulate(&spec(text), &records).unwrap();
        let cells = &table.rows[0].cells;
        let seen: Vec<_> = cells.iter().map(|c| (c.mean, c.std, c.sources.clone())).collect();
        assert_eq!(
            seen,
            [
                (Some(4.0), None, vec![3]),
                (Some(4.0), Some(1.0), vec![0, 1]),
                (Some(0.5), None, vec![2]),
            ]
        );
    }

    #[test]
    fn a_table_survives_storage() {
        let json = serde_json::to_string(&wide()).unwrap();
        assert_eq!(serde_json::from_str::<Table>(&json).unwrap(), wide());
    }

    #[test]
    fn a_value_that_is_not_a_number_is_refused() {
        let text = r#"(caption: "c", label: "l", rows: ["m"],
            values: [Value(field: "v", title: "V")])"#;
        let labels = [("m".to_owned(), "a".to_owned())].into();
        let list = [("v".to_owned(), RecordValue::List(vec![1.0]))].into();
        let error = tabulate(&spec(text), &[Record::new(labels, list).unwrap()]).unwrap_err();
        assert_eq!(error.to_string(), "value `v` of record 0 is a list, expected a number");
        let error = tabulate(&spec(text), &[]).unwrap_err();
        assert_eq!(error.to_string(), "there are no records to report on");
    }

    #[test]
    fn mistakes_are_answered_with_the_valid_choices() {
        let message = |changes: &str| {
            let text = format!(r#"(caption: "c", label: "l", {changes})"#);
            tabulate(&spec(&text), &runs()).unwrap_err().to_string()
        };
        insta::assert_snapshot!(message(r#"rows: ["set"], columns: ["model"], over: ["seed"],
            values: [Value(field: "dimension", title: "D", published: {"pcae": (4.0, 0.0)})]"#),
            @"`dimension` has a published number for `pcae`, expected one of `shapes/hae`, `shapes/irmae`, `shapes/pcae`, `sprites/hae`, `sprites/irmae`, `sprites/pcae`");
        insta::assert_snapshot!(message(r#"rows: ["set"], over: ["seed"],
            values: [Value(field: "dimension", title: "D")]"#),
            @"the records have the axis `model`, which is in none of `rows`, `columns`, `over`: add it to one of them");
        insta::assert_snapshot!(message(r#"rows: ["set"], columns: ["model"], over: ["sede"],
            values: [Value(field: "dimension", title: "D")]"#),
            @"no record has the axis `sede` (in `over`), expected one of `model`, `seed`, `set`");
        insta::assert_snapshot!(message(r#"rows: ["set"], columns: ["model"], over: ["seed"],
            values: [Value(field: "fid", title: "FID")]"#),
            @"no record has a value named `fid`, expected one of `dimension`");
        insta::assert_snapshot!(message(r#"rows: ["set"], columns: ["model"], over: ["seed"],
            compare: ["seed"], values: [Value(field: "dimension", title: "D")]"#),
            @"`compare` names `seed`, expected one of `set`, `model`");
    }
}
