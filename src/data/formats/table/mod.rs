//! Tables in CSV and Parquet files.
//!
//! Polars reads the file; which of the two it is, its first bytes tell. CSV cells come as text
//! and become numbers here, so that a cell which is no number is refused with its row (counted
//! from 1 below the names) and column, instead of turning a whole column into text.
//! Polars types stay inside this folder.

mod cells;
mod csv;
mod pages;
mod parquet;
mod summary;

use std::io::{Read, Seek, SeekFrom};
use std::panic::{AssertUnwindSafe, catch_unwind};

use polars::prelude::{Column, DataFrame, DataType, PolarsError};

use self::cells::{is_gap, number};
pub use self::summary::{Cells, ColumnSummary, NumberSummary, summarize_columns};
use crate::data::{Classes, DataError, DataFile};
use crate::numerics::memory::TooLarge;

const PARQUET: [u8; 4] = *b"PAR1";

/// Bytes of a number among the rows, a copy of that in polars' column.
const COPY: u64 = 4;

/// What a file says that a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ColumnKind {
    /// Numbers, texts or truth values.
    Plain,
    /// The same, known to be categories.
    Category,
    /// What is not read, in words.
    Other(&'static str),
}

/// A table of at least one row.
pub(in crate::data) struct Table<'a> {
    pub(in crate::data) file: &'a str,
    frame: DataFrame,
    /// All columns in the file's order, those too that are not read.
    columns: Vec<(String, ColumnKind)>,
    decimal: char,
}

impl<'a> Table<'a> {
    /// Reads a table; the separator and the decimal mark are for CSV files.
    pub(in crate::data) fn read(
        file: DataFile<'a>,
        separator: char,
        decimal: char,
    ) -> Result<Self, DataError> {
        let mut handle = file.open()?;
        let mut start = Vec::new();
        handle.by_ref().take(4).read_to_end(&mut start).map_err(DataError::file(file.name))?;
        handle.seek(SeekFrom::Start(0)).map_err(DataError::file(file.name))?;
        let is_parquet = start == PARQUET;
        let read = if is_parquet {
            parquet::read(handle)
        } else {
            csv::read(handle, separator)?.map(|frame| {
                let names = frame.columns().iter().map(|column| column.name().to_string());
                let columns = names.map(|name| (name, ColumnKind::Plain)).collect();
                (frame, columns)
            })
        };
        let (frame, columns) = read.map_err(|error| match error {
            ReadError::Invalid(cause) => {
                DataError::malformed(file.name, "table", in_our_words(&cause))
            }
            ReadError::TooLarge(size) => DataError::too_large(file.name)(size),
        })?;
        let table = Self { file: file.name, frame, columns, decimal };
        table.check(is_parquet)?;
        Ok(table)
    }

    /// Makes sure that there are names and rows, and columns of one length.
    fn check(&self, is_parquet: bool) -> Result<(), DataError> {
        let is_number = |name: &String| ['.', ','].iter().any(|&mark| number(name, mark).is_some());
        if !is_parquet && self.names().iter().all(is_number) {
            let reason = "expected the names of the columns, found numbers: add a header line";
            return Err(DataError::malformed(self.file, "first line", reason));
        }
        if self.frame.width() == 0 && !self.columns.is_empty() {
            let each: Vec<_> = self
                .columns
                .iter()
                .map(|(name, kind)| format!("`{name}` ({})", kind.words()))
                .collect();
            let reason = format!("expected columns of numbers, found {}", each.join(", "));
            return Err(DataError::malformed(self.file, "columns", reason));
        }
        if self.frame.height() == 0 {
            return Err(DataError::malformed(
                self.file,
                "row 1",
                "unexpected end of file, expected a row",
            ));
        }
        // Polars trusts what a Parquet file says of its columns' lengths.
        let uneven = self.frame.columns().iter().find(|column| column.len() != self.rows());
        if let Some(column) = uneven {
            let place = format!("column `{}`", column.name());
            let reason = format!("expected {} rows, found {}", self.rows(), column.len());
            return Err(DataError::malformed(self.file, place, reason));
        }
        Ok(())
    }

    /// Returns the number of rows.
    pub(in crate::data) fn rows(&self) -> usize {
        self.frame.height()
    }

    pub(in crate::data) fn names(&self) -> Vec<String> {
        self.columns.iter().map(|(name, _)| name.clone()).collect()
    }

    fn column(&self, name: &str) -> Result<&Column, DataError> {
        let found = self.columns.iter().find(|(column, _)| column == name);
        if let Some((_, ColumnKind::Other(held))) = found {
            let place = format!("column `{name}`");
            let reason = format!("expected numbers, found {held}; leave it out of `columns`");
            return Err(DataError::malformed(self.file, place, reason));
        }
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

    fn refuse_class(&self, column: &Column) -> DataError {
        self.refuse_type(column, "text, true and false, or 64-bit integers")
    }

    /// Returns the chosen columns as one row after the other; a cell that is missing or not finite
    /// is NaN.
    pub(in crate::data) fn rows_of(&self, names: &[String]) -> Result<Vec<f32>, DataError> {
        let width = names.len();
        let mut rows = vec![0.0; self.rows() * width];
        // One column at a time, so that there are never all of them beside the rows.
        for (column, name) in names.iter().enumerate() {
            let places = rows.iter_mut().skip(column).step_by(width);
            places.zip(self.numbers(name)?).for_each(|(place, number)| *place = number);
        }
        Ok(rows)
    }

    fn numbers(&self, name: &str) -> Result<Vec<f32>, DataError> {
        let column = self.column(name)?;
        let finite = |value: f64| Some(value as f32).filter(|value| value.is_finite());
        if let Ok(cells) = column.str() {
            let cells = cells.iter().enumerate();
            return cells
                .map(|(row, cell)| {
                    let text = cell.unwrap_or_default();
                    match number(text, self.decimal) {
                        Some(value) => Ok(finite(value).unwrap_or(f32::NAN)),
                        None if is_gap(text) => Ok(f32::NAN),
                        None => Err(self.no_number(row, name, text)),
                    }
                })
                .collect();
        }
        if !column.dtype().is_primitive_numeric() {
            return Err(self.refuse_type(column, "numbers"));
        }
        let cells = floats(column).ok_or_else(|| self.refuse_type(column, "numbers"))?;
        Ok(cells.into_iter().map(|cell| cell.and_then(finite).unwrap_or(f32::NAN)).collect())
    }

    /// Says that a cell is text where a number belongs.
    fn no_number(&self, row: usize, name: &str, text: &str) -> DataError {
        let hint = if self.decimal == '.' && number(text, ',').is_some() {
            "; if this is a decimal comma, set `decimal: ','`"
        } else {
            "; a column of text can be the `class`, or be left out of `columns`"
        };
        self.cell(row, name, "a finite number", &format!("`{text}`{hint}"))
    }

    /// Says that a cell is missing or not finite.
    pub(in crate::data) fn missing_cell(&self, row: usize, name: &str) -> DataError {
        let column = self.column(name).ok();
        let text = column.and_then(|column| {
            let text = column.str().ok().and_then(|cells| cells.get(row).map(str::to_owned));
            text.or_else(|| floats(column)?.get(row)?.map(|value| value.to_string()))
        });
        let text = text.unwrap_or_default();
        let found = if text.is_empty() { "an empty cell".to_owned() } else { format!("`{text}`") };
        self.cell(row, name, "a finite number", &found)
    }

    /// Returns for each row whether a column has a cell.
    pub(in crate::data) fn presence(&self, name: &str) -> Result<Vec<bool>, DataError> {
        let column = self.column(name)?;
        if let Some(cells) = texts(column) {
            return Ok(cells.iter().map(Option::is_some).collect());
        }
        let cells = integers(column).ok_or_else(|| self.refuse_class(column))?;
        Ok(cells.iter().map(Option::is_some).collect())
    }

    /// Returns the classes of some rows.
    pub(in crate::data) fn classes(
        &self,
        name: &str,
        rows: &[usize],
    ) -> Result<Classes, DataError> {
        let column = self.column(name)?;
        let empty = |row: usize| self.cell(row, name, "a class", "an empty cell");
        let classes = if let Some(cells) = texts(column) {
            let chosen = rows.iter().map(|&row| cells[row].as_deref().ok_or_else(|| empty(row)));
            let chosen = chosen.collect::<Result<Vec<_>, _>>()?;
            // Integers of a CSV file are in the order of numbers, not of texts.
            let integers = chosen.iter().map(|text| text.trim().parse().ok());
            match integers.collect::<Option<Vec<i128>>>() {
                Some(integers) => Classes::numbered(&integers),
                None => Classes::numbered(&chosen),
            }
        } else {
            let cells = integers(column).ok_or_else(|| self.refuse_class(column))?;
            let chosen = rows.iter().map(|&row| cells[row].ok_or_else(|| empty(row)));
            Classes::numbered(&chosen.collect::<Result<Vec<_>, _>>()?)
        };
        classes.ok_or_else(|| {
            let place = format!("column `{name}`");
            DataError::malformed(self.file, place, "there are more than 65,536 different classes")
        })
    }
}

impl ColumnKind {
    /// Returns what is held, for people.
    const fn words(self) -> &'static str {
        match self {
            Self::Plain => "numbers or text",
            Self::Category => "categories",
            Self::Other(held) => held,
        }
    }
}

/// Returns the cells of a column of texts or truth values.
fn texts(column: &Column) -> Option<Vec<Option<String>>> {
    if let Ok(cells) = column.str() {
        return Some(cells.iter().map(|cell| cell.map(str::to_owned)).collect());
    }
    let cells = column.bool().ok()?;
    Some(cells.iter().map(|cell| cell.map(|value| value.to_string())).collect())
}

/// Returns the cells of a column of numbers.
fn floats(column: &Column) -> Option<Vec<Option<f64>>> {
    if !column.dtype().is_primitive_numeric() {
        return None;
    }
    let cast = column.cast(&DataType::Float64).ok()?;
    Some(cast.f64().ok()?.iter().collect())
}

/// Returns the cells of a column of integers, or of floats that are all whole.
fn integers(column: &Column) -> Option<Vec<Option<i64>>> {
    if column.dtype().is_integer() {
        let cast = column.strict_cast(&DataType::Int64).ok()?;
        return Some(cast.i64().ok()?.iter().collect());
    }
    let is_whole = |value: &f64| value.fract() == 0.0 && value.abs() < 2_f64.powi(53);
    let whole = |cell: Option<f64>| match cell.filter(|value| !value.is_nan()) {
        None => Some(None),
        Some(value) => is_whole(&value).then_some(Some(value as i64)),
    };
    floats(column)?.into_iter().map(whole).collect()
}

/// Returns what polars says, or what it means where its advice is for programmers.
fn in_our_words(cause: &str) -> String {
    if cause.contains("truncate_ragged_lines") {
        return "a line has more cells than there are names: is `separator` right? Numbers with \
                decimal commas need another separator, such as `;`"
            .to_owned();
    }
    if cause.contains("utf-8") {
        return "expected text in UTF-8, found other bytes: save it as CSV in UTF-8, or as Parquet"
            .to_owned();
    }
    cause.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Says why a file is not a table.
enum ReadError {
    Invalid(String),
    TooLarge(TooLarge),
}

impl From<String> for ReadError {
    fn from(cause: String) -> Self {
        Self::Invalid(cause)
    }
}

/// Turns a panic of polars, which some damaged files cause, into an error.
fn contained<T>(read: impl FnOnce() -> Result<T, PolarsError>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(outcome) => outcome.map_err(|cause| cause.to_string()),
        Err(_) => Err("the file is damaged: polars could not read it".to_owned()),
    }
}
