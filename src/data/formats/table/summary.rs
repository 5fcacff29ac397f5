//! What a table's columns hold, before any is asked to be numbers.

use std::collections::BTreeSet;

use super::cells::{is_boolean, is_compact_date, is_date, is_gap, may_be_grouped, number};
use super::{ColumnKind, Table, floats, texts};
use crate::data::{DataError, Files};

/// Steps between values differ by less than this share of their mean where they are even.
const EVEN: f64 = 1e-6;

/// A column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnSummary {
    /// Its name.
    pub name: String,
    /// What its cells hold.
    pub cells: Cells,
    /// The rows whose cell is empty or not finite, counted from 0.
    pub missing: Vec<usize>,
    /// How many different cells there are.
    pub distinct: usize,
}

/// What the cells of a column hold, apart from those that are missing.
#[derive(Clone, Debug, PartialEq)]
pub enum Cells {
    /// Whole numbers.
    Integers(NumberSummary),
    /// Numbers.
    Reals(NumberSummary),
    /// Numbers with a comma in place of the decimal point.
    DecimalCommas,
    /// Numbers whose comma may be a decimal one or group digits; one of them.
    AmbiguousCommas(String),
    /// True or false.
    Booleans,
    /// Dates or times.
    Dates,
    /// Texts or integers that the file calls categories.
    Categories,
    /// Numbers for the most part, and text.
    Mixed {
        /// The first row with text, counted from 0.
        row: usize,
        /// The text.
        text: String,
    },
    /// Text.
    Texts,
    /// What is not read from a Parquet file, in words.
    Other(&'static str),
}

/// What is to know of a column of numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NumberSummary {
    /// The smallest.
    pub low: f64,
    /// The largest.
    pub high: f64,
    /// Whether each is above the one before it, or each below.
    pub is_monotone: bool,
    /// Whether each has the same distance from the one before it, which is not 0.
    pub is_even: bool,
}

/// Tells what each column of the only file holds, and how many rows there are.
pub fn summarize_columns(
    files: &Files,
    separator: char,
    decimal: char,
) -> Result<(usize, Vec<ColumnSummary>), DataError> {
    let table = Table::read(files.only()?, separator, decimal)?;
    let columns = table.columns.iter().map(|(name, kind)| table.summary(name, *kind)).collect();
    Ok((table.rows(), columns))
}

impl Table<'_> {
    fn summary(&self, name: &str, kind: ColumnKind) -> ColumnSummary {
        let name = name.to_owned();
        if let ColumnKind::Other(held) = kind {
            return ColumnSummary {
                name,
                cells: Cells::Other(held),
                missing: Vec::new(),
                distinct: 0,
            };
        }
        let texts = self.texts(&name);
        let is_missing = |text: &str| {
            let value = number(text, self.decimal);
            is_gap(text) || value.is_some_and(|value| !(value as f32).is_finite())
        };
        let (mut missing, mut present) = (Vec::new(), Vec::new());
        for (row, text) in texts.iter().enumerate() {
            if is_missing(text) { missing.push(row) } else { present.push((row, text.as_str())) }
        }
        let cells = match kind {
            ColumnKind::Category => Cells::Categories,
            _ => cells(&present, self.decimal),
        };
        if matches!(cells, Cells::Texts | Cells::Categories) {
            // Among texts, words such as `none` are as good as others.
            let is_empty = |row: &usize| texts[*row].is_empty();
            missing = (0..texts.len()).filter(is_empty).collect();
            let cells_of = texts.iter().enumerate().map(|(row, text)| (row, text.as_str()));
            present = cells_of.filter(|(_, text)| !text.is_empty()).collect();
        }
        let distinct = present.iter().map(|(_, text)| text).collect::<BTreeSet<_>>().len();
        ColumnSummary { name, cells, missing, distinct }
    }

    /// Returns the cells of a column as text.
    fn texts(&self, name: &str) -> Vec<String> {
        let Ok(column) = self.column(name) else { return Vec::new() };
        if let Some(cells) = texts(column) {
            let trimmed = |cell: Option<String>| cell.unwrap_or_default().trim().to_owned();
            return cells.into_iter().map(trimmed).collect();
        }
        let shown = |cell: Option<f64>| cell.map_or_else(String::new, |value| value.to_string());
        floats(column).unwrap_or_default().into_iter().map(shown).collect()
    }
}

/// Returns what cells hold, given with their rows.
fn cells(present: &[(usize, &str)], decimal: char) -> Cells {
    let numbers: Vec<f64> = present.iter().filter_map(|(_, text)| number(text, decimal)).collect();
    let all =
        |is: fn(&str) -> bool| !present.is_empty() && present.iter().all(|(_, text)| is(text));
    if numbers.len() == present.len() {
        if !numbers.is_empty() && numbers.iter().all(|&value| is_compact_date(value)) {
            return Cells::Dates;
        }
        let summary = NumberSummary::of(&numbers);
        let is_whole = numbers.iter().all(|value| value.fract() == 0.0);
        return if is_whole { Cells::Integers(summary) } else { Cells::Reals(summary) };
    }
    if all(is_boolean) {
        return Cells::Booleans;
    }
    if all(is_date) {
        return Cells::Dates;
    }
    if all(|text| number(text, ',').is_some()) {
        let mut commas = present.iter().map(|(_, text)| *text).filter(|text| text.contains(','));
        let first = commas.clone().next().unwrap_or_default();
        return if commas.all(may_be_grouped) {
            Cells::AmbiguousCommas(first.to_owned())
        } else {
            Cells::DecimalCommas
        };
    }
    let text = present.iter().find(|(_, text)| number(text, decimal).is_none());
    match text {
        Some((row, text)) if 2 * numbers.len() > present.len() => {
            Cells::Mixed { row: *row, text: (*text).to_owned() }
        }
        _ => Cells::Texts,
    }
}

impl NumberSummary {
    fn of(values: &[f64]) -> Self {
        let fold = |start: f64, pick: fn(f64, f64) -> f64| values.iter().copied().fold(start, pick);
        let mut steps = values.windows(2).map(|pair| pair[1] - pair[0]);
        let steps_again = steps.clone();
        let first = steps.next().unwrap_or_default();
        let count = values.len().saturating_sub(1).max(1) as f64;
        let mean = (values.last().unwrap_or(&0.0) - values.first().unwrap_or(&0.0)) / count;
        let is_same_way = |step: f64| step * first > 0.0;
        let is_near = |step: f64| (step - mean).abs() <= EVEN * mean.abs();
        let enough = values.len() > 2;
        Self {
            low: fold(f64::INFINITY, f64::min),
            high: fold(f64::NEG_INFINITY, f64::max),
            is_monotone: enough && steps_again.clone().all(is_same_way),
            is_even: enough && mean != 0.0 && steps_again.clone().all(is_near),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    use super::*;

    fn summarized(path: PathBuf, separator: char, decimal: char) -> Vec<ColumnSummary> {
        let files = Files::new(BTreeMap::from([("t".to_owned(), path)]));
        summarize_columns(&files, separator, decimal).unwrap().1
    }

    fn of_text(text: &str, separator: char, decimal: char) -> Vec<ColumnSummary> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        std::fs::write(&path, text).unwrap();
        summarized(path, separator, decimal)
    }

    /// Names each column's cells in a word.
    fn words(columns: &[ColumnSummary]) -> Vec<String> {
        let word =
            |cells: &Cells| format!("{cells:?}").split([' ', '(']).next().unwrap().to_owned();
        columns.iter().map(|column| format!("{}: {}", column.name, word(&column.cells))).collect()
    }

    #[test]
    fn columns_are_told_apart_by_what_they_hold() {
        let text = "id;x;hole;kind;day;ok;odd;num\n\
                    7;1;2.5;cat;2024-01-05;true;1;20240105\n\
                    8;3;;dog;2024-01-06;False;2;20240106\n\
                    9;3;inf;none;NA;true;<3;20240107\n";
        let columns = of_text(text, ';', '.');
        assert_eq!(
            words(&columns),
            [
                "id: Integers",
                "x: Integers",
                "hole: Reals",
                "kind: Texts",
                "day: Dates",
                "ok: Booleans",
                "odd: Mixed",
                "num: Dates",
            ]
        );
        let Cells::Integers(id) = columns[0].cells else { panic!("integers") };
        assert!(id.is_even && id.is_monotone && (id.low, id.high) == (7.0, 9.0));
        let Cells::Integers(x) = columns[1].cells else { panic!("integers") };
        assert!(!x.is_even && !x.is_monotone);
        assert_eq!((&columns[2].missing[..], columns[2].distinct), (&[1, 2][..], 1));
        assert_eq!((columns[3].missing.len(), columns[3].distinct), (0, 3), "none is a word");
        assert_eq!(columns[4].missing, [2]);
        assert_eq!(columns[6].cells, Cells::Mixed { row: 2, text: "<3".to_owned() });
    }

    #[test]
    fn decimal_commas_are_known_and_read_where_they_are_asked_for() {
        let text = "a;b;c\n3,14;1,234;0.5\n-2,5;12,500;1.5\n7;5;2.5\n";
        assert_eq!(
            words(&of_text(text, ';', '.')),
            ["a: DecimalCommas", "b: AmbiguousCommas", "c: Reals"]
        );
        assert_eq!(words(&of_text(text, ';', ',')), ["a: Reals", "b: Reals", "c: Texts"]);
    }

    #[test]
    fn every_type_of_a_parquet_file_is_told_and_none_ends_the_program() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reference/arrays/kinds.parquet");
        let columns = summarized(path.into(), ',', '.');
        assert_eq!(
            words(&columns),
            [
                "id: Integers",
                "wide: Reals",
                "narrow: Reals",
                "gaps: Reals",
                "size: Categories",
                "zone: Categories",
                "code: Integers",
                "when: Other",
                "zoned: Other",
                "day: Other",
                "clock: Other",
                "took: Other",
                "good: Booleans",
                "price: Other",
                "half: Other",
                "raw: Other",
                "list: Other",
                "pair: Other",
                "name: Texts",
                "nothing: Other",
            ]
        );
        assert_eq!(columns[3].missing, [3, 23, 43]);
        assert_eq!((columns[4].distinct, columns[5].distinct), (2, 4));
        assert_eq!(columns[7].cells, Cells::Other("dates or times"));
    }
}
