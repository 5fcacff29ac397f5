//! A user's own tables, CSV or Parquet, as vectors: one row for each sample.
//!
//! Polars reads the file; which of the two it is, its first bytes tell. CSV cells come as text
//! and become numbers here, so that a cell which is no number is refused with its row (counted
//! from 1 below the names) and column, instead of turning a whole column into text.
//! Polars types stay inside this file.

mod pages;
mod summary;

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::panic::{AssertUnwindSafe, catch_unwind};

use polars::prelude::{Column, DataFrame, DataType, PolarsError};
use polars_io::SerReader;
use polars_io::prelude::{CsvParseOptions, CsvReadOptions, ParquetReader};
use serde::{Deserialize, Serialize};

pub use self::summary::{Cells, ColumnSummary, summarize_columns};
use super::arrays::number_classes;
use super::{Annotations, Classes, DataError, DataFile, Factors, Files, Samples, Vectors};
use crate::numerics::Points;

const PARQUET: [u8; 4] = *b"PAR1";

/// Most rows of a Parquet file that are read; all of them are held in memory.
const MOST_ROWS: u32 = 1 << 28;

/// Settings of a data set in a table, for instance
/// `(columns: ["width", "height"], class: "species")`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableFile {
    /// The columns that are the coordinates, in this order; all that are named nowhere else if left
    /// out.
    #[serde(default)]
    pub columns: Option<Vec<String>>,
    /// Columns with known causes of the samples.
    #[serde(default)]
    pub factors: Vec<String>,
    /// A column of texts or integers: the class of each sample.
    #[serde(default)]
    pub class: Option<String>,
    /// What stands between the cells of a CSV file.
    #[serde(default = "comma")]
    pub separator: char,
}

const fn comma() -> char {
    ','
}

impl TableFile {
    /// Reads the table.
    pub fn open(&self, files: &Files) -> Result<Samples, DataError> {
        let table = Table::read(files.only()?, self.separator)?;
        let elsewhere =
            |name: &String| self.factors.iter().chain(&self.class).any(|other| other == name);
        let others = || table.names().into_iter().filter(|name| !elsewhere(name)).collect();
        let columns: Vec<String> = self.columns.clone().unwrap_or_else(others);
        if columns.is_empty() {
            let reason = format!("expected columns of numbers, found {}", table.names().join(", "));
            return Err(DataError::malformed(table.file, "columns", reason));
        }
        let points = Points::from_rows(columns.len(), table.rows_of(&columns)?);
        let factors =
            Factors { names: self.factors.clone(), values: table.rows_of(&self.factors)? };
        let classes = self.class.as_ref().map(|name| table.classes(name)).transpose()?;
        let vectors = Vectors::new(points, Annotations { factors, classes })?;
        Ok(Samples::Vectors(vectors.with_coordinates(columns), None))
    }
}

/// A table of at least one row.
struct Table<'a> {
    file: &'a str,
    frame: DataFrame,
}

impl<'a> Table<'a> {
    fn read(file: DataFile<'a>, separator: char) -> Result<Self, DataError> {
        let mut handle = file.open()?;
        let mut start = Vec::new();
        handle.by_ref().take(4).read_to_end(&mut start).map_err(DataError::file(file.name))?;
        handle.seek(SeekFrom::Start(0)).map_err(DataError::file(file.name))?;
        let frame =
            if start == PARQUET { read_parquet(handle) } else { read_csv(handle, separator)? };
        let frame = frame
            .map_err(|cause| DataError::malformed(file.name, "table", in_our_words(&cause)))?;
        let names = frame.columns().iter().map(|column| number(column.name()));
        if start != PARQUET && names.into_iter().all(|name| name.is_some()) {
            let reason = "expected the names of the columns, found numbers: add a line of names";
            return Err(DataError::malformed(file.name, "first line", reason));
        }
        if frame.height() == 0 {
            return Err(DataError::malformed(file.name, "row 1", "expected a row, found the end"));
        }
        // Polars trusts what a Parquet file says of its columns' lengths.
        let uneven = frame.columns().iter().find(|column| column.len() != frame.height());
        if let Some(column) = uneven {
            let place = format!("column `{}`", column.name());
            let reason = format!("expected {} rows, found {}", frame.height(), column.len());
            return Err(DataError::malformed(file.name, place, reason));
        }
        Ok(Self { file: file.name, frame })
    }

    fn names(&self) -> Vec<String> {
        self.frame.columns().iter().map(|column| column.name().to_string()).collect()
    }

    fn column(&self, name: &str) -> Result<&Column, DataError> {
        self.frame.column(name).map_err(|_| DataError::Unknown {
            what: "column",
            name: name.to_owned(),
            present: self.names(),
        })
    }

    /// Says what is wrong with a cell.
    fn cell(&self, row: usize, name: &str, expected: &str, found: &str) -> DataError {
        let place = format!("row {}, column `{name}`", row + 1);
        DataError::malformed(self.file, place, format!("expected {expected}, found {found}"))
    }

    fn refuse_type(&self, column: &Column, expected: &str) -> DataError {
        let place = format!("column `{}`", column.name());
        let reason = format!("expected {expected}, found the type {}", column.dtype());
        DataError::malformed(self.file, place, reason)
    }

    /// Returns the chosen columns as one row after the other.
    fn rows_of(&self, names: &[String]) -> Result<Vec<f32>, DataError> {
        let columns = names.iter().map(|name| self.numbers(name)).collect::<Result<Vec<_>, _>>()?;
        Ok((0..self.frame.height())
            .flat_map(|row| columns.iter().map(move |column| column[row]))
            .collect())
    }

    fn numbers(&self, name: &str) -> Result<Vec<f32>, DataError> {
        let column = self.column(name)?;
        if let Ok(cells) = column.str() {
            let cells = cells.iter().enumerate();
            return cells
                .map(|(row, cell)| {
                    let text = cell.unwrap_or_default();
                    self.finite(row, name, number(text), &shown(text))
                })
                .collect();
        }
        if !column.dtype().is_primitive_numeric() {
            return Err(self.refuse_type(column, "numbers"));
        }
        let cast = column.cast(&DataType::Float64);
        let cells = cast.as_ref().map_or(None, |column| column.f64().ok());
        let cells = cells.ok_or_else(|| self.refuse_type(column, "numbers"))?;
        let cells = cells.iter().enumerate();
        cells
            .map(|(row, cell)| {
                let shown = cell.map_or_else(|| shown(""), |value| value.to_string());
                self.finite(row, name, cell, &shown)
            })
            .collect()
    }

    fn finite(
        &self,
        row: usize,
        name: &str,
        value: Option<f64>,
        shown: &str,
    ) -> Result<f32, DataError> {
        let text = "; a column of texts can be the `class`, or be left out of `columns`";
        let hint = if value.is_none() && shown.starts_with('`') { text } else { "" };
        let value = value.map(|value| value as f32).filter(|value| value.is_finite());
        value.ok_or_else(|| self.cell(row, name, "a finite number", &format!("{shown}{hint}")))
    }

    fn classes(&self, name: &str) -> Result<Classes, DataError> {
        let column = self.column(name)?;
        let empty = |row| self.cell(row, name, "a class", &shown(""));
        let classes = if let Ok(cells) = column.str() {
            let cells = cells.iter().enumerate();
            let texts = cells.map(|(row, cell)| cell.ok_or_else(|| empty(row)));
            let texts = texts.collect::<Result<Vec<_>, _>>()?;
            // Integers of a CSV file are in the order of numbers, not of texts.
            let integers = texts.iter().map(|text| text.trim().parse().ok());
            match integers.collect::<Option<Vec<i128>>>() {
                Some(integers) => number_classes(&integers),
                None => number_classes(&texts),
            }
        } else if column.dtype().is_integer() {
            let cast = column.strict_cast(&DataType::Int64);
            let cells = cast.as_ref().map_or(None, |column| column.i64().ok());
            let cells = cells.ok_or_else(|| self.refuse_type(column, "integers of 64 bits"))?;
            let cells = cells.iter().enumerate();
            let integers = cells.map(|(row, cell)| cell.ok_or_else(|| empty(row)));
            number_classes(&integers.collect::<Result<Vec<_>, _>>()?)
        } else {
            return Err(self.refuse_type(column, "texts or integers"));
        };
        classes.ok_or_else(|| {
            let place = format!("column `{name}`");
            DataError::malformed(self.file, place, "there are more than 65,536 different classes")
        })
    }
}

/// Returns what polars says, or what it means where its advice is for programmers.
fn in_our_words(cause: &str) -> String {
    if cause.contains("truncate_ragged_lines") {
        return "a line has more cells than there are names: is `separator` right?".to_owned();
    }
    if cause.contains("utf-8") {
        return "expected text, found other bytes: is this a CSV or Parquet file?".to_owned();
    }
    cause.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Reads a cell of text as a number.
fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok()
}

/// Quotes what a cell holds.
fn shown(text: &str) -> String {
    if text.is_empty() { "an empty cell".to_owned() } else { format!("`{text}`") }
}

/// Reads all cells as text.
fn read_csv(file: File, separator: char) -> Result<Result<DataFrame, String>, DataError> {
    let Some(separator) = u8::try_from(separator).ok().filter(u8::is_ascii) else {
        let reason = format!("the separator must be one ASCII character, not `{separator}`");
        return Err(DataError::Unfit(reason));
    };
    let options = CsvReadOptions::default()
        .with_infer_schema_length(Some(0))
        .with_parse_options(CsvParseOptions::default().with_separator(separator));
    Ok(contained(|| options.into_reader_with_file_handle(file).finish()))
}

/// Reads a Parquet file once its numbers of rows and values are known to be possible: polars
/// takes memory by them.
fn read_parquet(mut file: File) -> Result<DataFrame, String> {
    let damaged = |reason: String| PolarsError::ComputeError(reason.into());
    contained(|| {
        let metadata = ParquetReader::new(file.try_clone()?).get_metadata()?.clone();
        let mut rows = 0_usize;
        for group in &metadata.row_groups {
            rows = rows.saturating_add(group.num_rows());
        }
        if rows != metadata.num_rows || rows > MOST_ROWS as usize {
            let found = format!("{} rows, {rows} in its groups", metadata.num_rows);
            return Err(damaged(format!("expected at most {MOST_ROWS} rows, found {found}")));
        }
        for group in &metadata.row_groups {
            for chunk in group.parquet_columns() {
                let values = chunk.num_values().clamp(0, MOST_ROWS.into());
                pages::check(&mut file, chunk.byte_range(), values).map_err(damaged)?;
            }
        }
        ParquetReader::new(file).finish()
    })
}

/// Turns a panic of polars, which some damaged files cause, into an error.
fn contained(read: impl FnOnce() -> Result<DataFrame, PolarsError>) -> Result<DataFrame, String> {
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(outcome) => outcome.map_err(|cause| cause.to_string()),
        Err(_) => Err("it is damaged: polars gave up on it".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use super::*;

    fn reference(name: &str) -> Vec<u8> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reference/arrays/");
        fs::read(format!("{folder}{name}")).unwrap()
    }

    fn open(settings: &str, bytes: &[u8]) -> Result<Vectors, DataError> {
        let options = ron::Options::default()
            .with_default_extension(ron::extensions::Extensions::IMPLICIT_SOME);
        let settings: TableFile = options.from_str(settings).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table");
        fs::write(&path, bytes).unwrap();
        let files = Files::new(BTreeMap::from([("t".to_owned(), path)]));
        match settings.open(&files)? {
            Samples::Vectors(vectors, None) => Ok(vectors),
            _ => panic!("no plain vectors"),
        }
    }

    fn refusal(settings: &str, bytes: &[u8]) -> String {
        open(settings, bytes).unwrap_err().to_string()
    }

    #[test]
    fn csv_and_parquet_of_one_table_give_the_same_vectors() {
        let settings = "(factors: [\"angle\"], class: \"kind\")";
        let vectors = open(settings, &reference("table.csv")).unwrap();
        assert_eq!(vectors.points().width(), 2);
        assert_eq!(vectors.points().values(), [0.5, 3.0, 1.5, 1.0, -2.0, 4.0, 4.0, 1.0]);
        assert_eq!(vectors.annotations().factors.values, [0.0, 90.0, 180.0, 270.0]);
        let classes = vectors.annotations().classes.as_ref().unwrap();
        assert_eq!(classes.names, ["bee", "cat", "dog"]);
        assert_eq!(classes.values, [2, 1, 2, 0]);
        assert_eq!(open(settings, &reference("table.parquet")).unwrap(), vectors);
    }

    #[test]
    fn parquet_of_every_packing_is_read() {
        for packing in ["snappy", "zstd", "gzip", "lz4", "none"] {
            let bytes = reference(&format!("types_{packing}.parquet"));
            let vectors = open("(class: \"i64\")", &bytes).unwrap();
            assert_eq!(vectors.points().row(1), [1.0; 5], "{packing}");
            let classes = vectors.annotations().classes.as_ref().unwrap();
            assert_eq!(classes.names, ["-2", "1"]);
        }
    }

    #[test]
    fn named_columns_are_taken_in_the_given_order() {
        let vectors = open("(columns: [\"count\", \"x\"])", &reference("table.csv")).unwrap();
        assert_eq!(vectors.points().row(0), [3.0, 0.5]);
    }

    #[test]
    fn a_name_that_is_not_there_lists_those_that_are() {
        assert_eq!(
            refusal("(columns: [\"z\"])", &reference("table.parquet")),
            "these samples have no column `z`; there are x, count, kind, angle"
        );
    }

    #[test]
    fn a_cell_that_is_no_number_is_refused_with_row_and_column() {
        let refuse = |cell: &str| refusal("()", format!("a,b\n1,2\n3,{cell}\n").as_bytes());
        let expected = "t: row 2, column `b`: expected a finite number, found ";
        let hint = "; a column of texts can be the `class`, or be left out of `columns`";
        assert_eq!(refuse("four"), format!("{expected}`four`{hint}"));
        assert_eq!(refuse("NaN"), format!("{expected}`NaN`"));
        assert_eq!(refuse("-inf"), format!("{expected}`-inf`"));
        assert_eq!(refuse("1e39"), format!("{expected}`1e39`"));
        assert_eq!(refuse(""), format!("{expected}an empty cell"));
        assert_eq!(
            refusal("()", &reference("null.parquet")),
            "t: row 3, column `x`: expected a finite number, found an empty cell"
        );
        assert_eq!(
            refusal("(columns: [\"kind\"])", &reference("table.parquet")),
            format!("t: row 1, column `kind`: expected a finite number, found `dog`{hint}")
        );
    }

    #[test]
    fn a_table_without_rows_or_numbers_is_refused() {
        assert_eq!(refusal("()", b"a,b\n"), "t: row 1: expected a row, found the end");
        assert!(
            refusal("()", b"a\nx\n").starts_with("t: row 1, column `a`: expected a finite number")
        );
        assert!(refusal("(class: \"a\")", b"a\nx\n").starts_with("t: columns: expected columns"));
        assert_eq!(
            refusal("()", b"1,2\n3,4\n"),
            "t: first line: expected the names of the columns, found numbers: add a line of names"
        );
        assert!(refusal("()", b"").starts_with("t: table: "));
    }

    #[test]
    fn another_separator_and_integer_classes_in_their_order_will_do() {
        let vectors = open("(separator: ';', class: \"k\")", b"x;k\n1.5;10\n2;9\n").unwrap();
        assert_eq!(vectors.points().values(), [1.5, 2.0]);
        assert_eq!(vectors.annotations().classes.as_ref().unwrap().names, ["9", "10"]);
        let reason = "the separator must be one ASCII character, not `\u{2192}`";
        assert_eq!(refusal("(separator: '\u{2192}')", b"x\n1\n"), reason);
    }

    #[test]
    fn rows_of_different_lengths_are_refused() {
        let reason = refusal("()", b"a,b\n1,2\n3,4,5\n");
        assert!(reason.starts_with("t: table: ") && !reason.contains('\n'), "{reason}");
    }

    #[test]
    fn any_prefix_of_a_parquet_file_is_refused_and_no_changed_byte_brings_down_the_program() {
        let whole = reference("table.parquet");
        for end in (0..whole.len()).step_by(7) {
            assert!(open("()", &whole[..end]).is_err(), "{end} bytes");
        }
        for at in (0..whole.len()).step_by(3) {
            let mut changed = whole.clone();
            changed[at] ^= 0x01;
            let _ = open("()", &changed);
        }
    }
}
