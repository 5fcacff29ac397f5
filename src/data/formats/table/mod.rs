//! Tables in CSV and Parquet files.
//!
//! Polars reads the file; which of the two it is, its first bytes tell. CSV cells come as text
//! and become numbers here, so that a cell which is no number is refused with its row (counted
//! from 1 below the names) and column, instead of turning a whole column into text.
//! Polars types stay inside this folder.

mod pages;
mod summary;

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::panic::{AssertUnwindSafe, catch_unwind};

use polars::prelude::{Column, DataFrame, DataType, PolarsError};
use polars_io::SerReader;
use polars_io::prelude::{CsvParseOptions, CsvReadOptions, ParquetReader};

pub use self::summary::{Cells, ColumnSummary, summarize_columns};
use crate::data::{Classes, DataError, DataFile};
use crate::numerics::memory::{self, TooLarge};

const PARQUET: [u8; 4] = *b"PAR1";

/// Most rows of a Parquet file that are read; all of them are held in memory.
const MOST_ROWS: u32 = 1 << 28;

/// A table of at least one row.
pub(in crate::data) struct Table<'a> {
    pub(in crate::data) file: &'a str,
    frame: DataFrame,
}

impl<'a> Table<'a> {
    pub(in crate::data) fn read(file: DataFile<'a>, separator: char) -> Result<Self, DataError> {
        let mut handle = file.open()?;
        let mut start = Vec::new();
        handle.by_ref().take(4).read_to_end(&mut start).map_err(DataError::file(file.name))?;
        handle.seek(SeekFrom::Start(0)).map_err(DataError::file(file.name))?;
        let frame =
            if start == PARQUET { read_parquet(handle) } else { read_csv(handle, separator)? };
        let frame = frame.map_err(|error| match error {
            ReadError::Invalid(cause) => {
                DataError::malformed(file.name, "table", in_our_words(&cause))
            }
            ReadError::TooLarge(size) => DataError::too_large(file.name)(size),
        })?;
        let names = frame.columns().iter().map(|column| number(column.name()));
        if start != PARQUET && names.into_iter().all(|name| name.is_some()) {
            let reason = "expected the names of the columns, found numbers: add a header line";
            return Err(DataError::malformed(file.name, "first line", reason));
        }
        if frame.height() == 0 {
            return Err(DataError::malformed(
                file.name,
                "row 1",
                "unexpected end of file, expected a row",
            ));
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

    pub(in crate::data) fn names(&self) -> Vec<String> {
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
    pub(in crate::data) fn rows_of(&self, names: &[String]) -> Result<Vec<f32>, DataError> {
        let width = names.len();
        let mut rows = vec![0.0; self.frame.height() * width];
        // One column at a time, so that there are never all of them beside the rows.
        for (column, name) in names.iter().enumerate() {
            let places = rows.iter_mut().skip(column).step_by(width);
            places.zip(self.numbers(name)?).for_each(|(place, number)| *place = number);
        }
        Ok(rows)
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
        let text = "; a column of text can be the `class`, or be left out of `columns`";
        let hint = if value.is_none() && shown.starts_with('`') { text } else { "" };
        let value = value.map(|value| value as f32).filter(|value| value.is_finite());
        value.ok_or_else(|| self.cell(row, name, "a finite number", &format!("{shown}{hint}")))
    }

    pub(in crate::data) fn classes(&self, name: &str) -> Result<Classes, DataError> {
        let column = self.column(name)?;
        let empty = |row| self.cell(row, name, "a class", &shown(""));
        let classes = if let Ok(cells) = column.str() {
            let cells = cells.iter().enumerate();
            let texts = cells.map(|(row, cell)| cell.ok_or_else(|| empty(row)));
            let texts = texts.collect::<Result<Vec<_>, _>>()?;
            // Integers of a CSV file are in the order of numbers, not of texts.
            let integers = texts.iter().map(|text| text.trim().parse().ok());
            match integers.collect::<Option<Vec<i128>>>() {
                Some(integers) => Classes::numbered(&integers),
                None => Classes::numbered(&texts),
            }
        } else if column.dtype().is_integer() {
            let cast = column.strict_cast(&DataType::Int64);
            let cells = cast.as_ref().map_or(None, |column| column.i64().ok());
            let cells = cells.ok_or_else(|| self.refuse_type(column, "64-bit integers"))?;
            let cells = cells.iter().enumerate();
            let integers = cells.map(|(row, cell)| cell.ok_or_else(|| empty(row)));
            Classes::numbered(&integers.collect::<Result<Vec<_>, _>>()?)
        } else {
            return Err(self.refuse_type(column, "text or integers"));
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

/// Bytes of a number in polars' column, and of its copy among the rows.
const NUMBER: u64 = 8;
const COPY: u64 = 4;

/// Bytes of a text in polars' column, where it is short.
const TEXT: u64 = 16;

/// Reads all cells as text.
fn read_csv(mut file: File, separator: char) -> Result<Result<DataFrame, ReadError>, DataError> {
    let Some(separator) = u8::try_from(separator).ok().filter(u8::is_ascii) else {
        let reason = format!("the separator must be one ASCII character, not `{separator}`");
        return Err(DataError::Unfit(reason));
    };
    if let Err(error) = check_csv(&mut file, separator) {
        return Ok(Err(error));
    }
    let options = CsvReadOptions::default()
        .with_infer_schema_length(Some(0))
        .with_parse_options(CsvParseOptions::default().with_separator(separator));
    Ok(contained(|| options.into_reader_with_file_handle(file).finish()).map_err(ReadError::from))
}

/// Makes sure that there is memory for all cells; they are counted only where that can matter.
fn check_csv(file: &mut File, separator: u8) -> Result<(), ReadError> {
    let failed = |cause: io::Error| cause.to_string();
    let length = file.metadata().map_err(failed)?.len();
    let taken = |cells: u64| length.saturating_add(cells.saturating_mul(TEXT + COPY));
    if memory::check(taken(length)).is_ok() {
        return Ok(());
    }
    let mut cells = 0_u64;
    let mut block = vec![0; 1 << 16];
    loop {
        let count = file.read(&mut block).map_err(failed)?;
        if count == 0 {
            break;
        }
        let ends = block[..count].iter().filter(|&&byte| byte == separator || byte == b'\n');
        cells += ends.count() as u64;
    }
    file.rewind().map_err(failed)?;
    memory::check(taken(cells)).map_err(ReadError::TooLarge)
}

/// Reads a Parquet file once its numbers of rows and values are known to be possible, and to fit
/// into memory: polars takes memory by them.
fn read_parquet(mut file: File) -> Result<DataFrame, ReadError> {
    let damaged = |reason: String| PolarsError::ComputeError(reason.into());
    let needed = contained(|| {
        let metadata = ParquetReader::new(file.try_clone()?).get_metadata()?.clone();
        let mut rows = 0_usize;
        for group in &metadata.row_groups {
            rows = rows.saturating_add(group.num_rows());
        }
        if rows != metadata.num_rows || rows > MOST_ROWS as usize {
            let found = format!("{} rows, {rows} in its groups", metadata.num_rows);
            return Err(damaged(format!("expected at most {MOST_ROWS} rows, found {found}")));
        }
        let mut needed = 0_u64;
        for group in &metadata.row_groups {
            for chunk in group.parquet_columns() {
                let values = chunk.num_values().clamp(0, MOST_ROWS.into());
                let unpacked =
                    pages::check(&mut file, chunk.byte_range(), values).map_err(damaged)?;
                // A short page can stand for many equal values, a long text for one.
                let values = values.unsigned_abs();
                let held = unpacked.max(values * NUMBER) + values * COPY;
                needed = needed.saturating_add(held);
            }
        }
        Ok(needed)
    })?;
    memory::check(needed).map_err(ReadError::TooLarge)?;
    Ok(contained(|| ParquetReader::new(file).finish())?)
}

/// Turns a panic of polars, which some damaged files cause, into an error.
fn contained<T>(read: impl FnOnce() -> Result<T, PolarsError>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(outcome) => outcome.map_err(|cause| cause.to_string()),
        Err(_) => Err("the file is damaged: polars could not read it".to_owned()),
    }
}
