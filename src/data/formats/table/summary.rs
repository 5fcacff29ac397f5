//! What a table's columns hold, before any is asked to be numbers.

use std::collections::BTreeSet;

use super::{Table, number};
use crate::data::{DataError, Files};

/// A column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnSummary {
    /// Its name.
    pub name: String,
    /// What its cells hold.
    pub cells: Cells,
    /// How many cells are empty or not finite.
    pub missing: usize,
    /// How many different cells there are.
    pub distinct: usize,
}

/// What the cells of a column hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cells {
    /// The number of the row, from any first one on.
    RowNumbers,
    /// Whole numbers.
    Integers,
    /// Numbers.
    Reals,
    /// Anything else.
    Texts,
}

/// Tells what each column of the only file holds, and how many rows there are.
pub fn summarize_columns(
    files: &Files,
    separator: char,
) -> Result<(usize, Vec<ColumnSummary>), DataError> {
    let table = Table::read(files.only()?, separator)?;
    let rows = table.frame.height();
    let columns = table.names().into_iter().map(|name| table.summary(name)).collect();
    Ok((rows, columns))
}

/// Words that stand for a missing number.
const NOTHING: [&str; 6] = ["", "na", "n/a", "nan", "null", "?"];

impl Table<'_> {
    fn summary(&self, name: String) -> ColumnSummary {
        let texts = self.texts(&name);
        let is_missing = |text: &String| NOTHING.contains(&text.to_ascii_lowercase().as_str());
        let present: Vec<&String> = texts.iter().filter(|text| !is_missing(text)).collect();
        let numbers: Option<Vec<f64>> = present.iter().map(|text| number(text)).collect();
        let is_finite = |value: &f64| (*value as f32).is_finite();
        let infinite = numbers.iter().flatten().filter(|value| !is_finite(value)).count();
        let cells = match &numbers {
            Some(values) if values.iter().all(|value| value.fract() == 0.0) => {
                let counted = values.windows(2).all(|pair| (pair[1] - pair[0] - 1.0).abs() < 0.5);
                let complete = values.len() == texts.len() && values.len() > 2;
                if counted && complete { Cells::RowNumbers } else { Cells::Integers }
            }
            Some(_) => Cells::Reals,
            None => Cells::Texts,
        };
        let distinct = present.iter().collect::<BTreeSet<_>>().len();
        ColumnSummary { name, cells, missing: texts.len() - present.len() + infinite, distinct }
    }

    /// Returns the cells of a column as text; what is neither text nor number becomes a word.
    fn texts(&self, name: &str) -> Vec<String> {
        let Ok(column) = self.column(name) else { return Vec::new() };
        if let Ok(cells) = column.str() {
            return cells.iter().map(|cell| cell.unwrap_or_default().trim().to_owned()).collect();
        }
        let kind = column.dtype().is_primitive_numeric();
        let cast = column.cast(&polars::prelude::DataType::Float64);
        match cast.as_ref().map_or(None, |column| column.f64().ok()).filter(|_| kind) {
            Some(cells) => cells
                .iter()
                .map(|cell| cell.map_or_else(String::new, |value| value.to_string()))
                .collect(),
            None => vec![format!("({})", column.dtype()); column.len()],
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn columns_are_told_apart_by_what_they_hold() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        let text = "id;x;hole;kind;day\n7;1;2.5;cat;0.5\n8;3;;dog;1\n9;3;inf;cat;2\n";
        std::fs::write(&path, text).unwrap();
        let files = Files::new(BTreeMap::from([("t.csv".to_owned(), path)]));
        let (rows, columns) = summarize_columns(&files, ';').unwrap();
        let told: Vec<_> =
            columns.iter().map(|c| (&c.name[..], c.cells, c.missing, c.distinct)).collect();
        assert_eq!(rows, 3);
        assert_eq!(
            told,
            [
                ("id", Cells::RowNumbers, 0, 3),
                ("x", Cells::Integers, 0, 2),
                ("hole", Cells::Reals, 2, 2),
                ("kind", Cells::Texts, 0, 2),
                ("day", Cells::Reals, 0, 3),
            ]
        );
    }
}
