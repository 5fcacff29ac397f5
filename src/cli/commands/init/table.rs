//! Tables: their separator and decimal mark, and which column is the class.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use super::columns::Columns;
use super::inspect::{InspectError, Inspection};
use crate::data::{
    Cells, ColumnSummary, DataError, DatasetSpec, Files, Missing, TableFile, summarize_columns,
};

/// Names of columns of integers that are classes rather than measurements.
const CLASS_NAMES: [&str; 8] =
    ["class", "classes", "label", "labels", "target", "species", "category", "y"];
/// A column with more different values than this is not a class.
const MOST_CLASSES: usize = 50;
/// Rows without a class are dropped, so a column that lacks more than this share is not taken for it.
const MOST_MISSING: f64 = 0.05;
/// Only this many bytes of the first line are searched for separators.
const LONGEST_LINE: u64 = 1 << 20;

/// Inspects a CSV or Parquet file.
pub(super) fn inspect(
    kind: &str,
    path: &Path,
    files: &Files,
    missing: Missing,
) -> Result<Inspection, InspectError> {
    let separator = separator(path)?;
    let (decimal, rows, all) = summarized(files, separator)?;
    let class = class(&all, rows);
    let columns = Columns::choose(&all, rows, class, missing);
    if columns.taken.is_empty() {
        let found = columns.left_out_in_words().join("; ");
        let reason = format!("expected columns of numbers, found {found}");
        return Err(DataError::malformed(&path.display().to_string(), "columns", reason).into());
    }
    // Columns are named where some are, or may have to be, left out.
    let is_whole = columns.left_out.is_empty() && columns.few_valued.is_empty();
    let source = DatasetSpec::Table(TableFile {
        columns: (!is_whole).then(|| columns.taken.clone()),
        factors: Vec::new(),
        class: class.map(str::to_owned),
        separator,
        decimal,
        missing,
    });
    let opened = source.open(files)?;
    let mut inspection = Inspection::of(kind, source, opened)?;
    if inspection.count < rows {
        let note =
            "to keep such rows, run `init` with `--missing median`, which fills in the cells";
        inspection.notes.push(note.to_owned());
    }
    if decimal == ',' {
        inspection.notes.push("numbers have decimal commas".to_owned());
    }
    inspection.columns = Some(columns);
    Ok(inspection)
}

/// Finds out the decimal mark by what most columns have, and what each column holds.
fn summarized(
    files: &Files,
    separator: char,
) -> Result<(char, usize, Vec<ColumnSummary>), InspectError> {
    let (rows, all) = summarize_columns(files, separator, '.')?;
    let count = |is: fn(&Cells) -> bool| all.iter().filter(|column| is(&column.cells)).count();
    let commas = count(|cells| *cells == Cells::DecimalCommas);
    if commas > count(|cells| matches!(cells, Cells::Reals(_))) {
        let (rows, all) = summarize_columns(files, separator, ',')?;
        return Ok((',', rows, all));
    }
    Ok(('.', rows, all))
}

/// Returns the column that tells the class: by its name, else the first of text.
fn class(all: &[ColumnSummary], rows: usize) -> Option<&str> {
    let most = MOST_CLASSES.min(rows / 4);
    let may_be = |column: &&ColumnSummary| {
        column.missing.len() as f64 <= MOST_MISSING * rows as f64
            && !has_braces(&column.name)
            && (2..=most).contains(&column.distinct)
    };
    let is_named = |column: &&ColumnSummary| {
        CLASS_NAMES.contains(&column.name.trim().to_ascii_lowercase().as_str())
    };
    let is_label = |column: &&ColumnSummary| {
        matches!(
            column.cells,
            Cells::Texts | Cells::Categories | Cells::Booleans | Cells::Integers(_)
        )
    };
    let is_text =
        |column: &&ColumnSummary| matches!(column.cells, Cells::Texts | Cells::Categories);
    let candidates = || all.iter().filter(may_be);
    let named = candidates().find(|column| is_named(column) && is_label(column));
    named.or_else(|| candidates().find(is_text)).map(|column| column.name.as_str())
}

/// Returns whether a pipeline would take a part of a name for an axis.
pub(super) fn has_braces(name: &str) -> bool {
    name.contains(['{', '}'])
}

/// Returns the most frequent separator of the first line; Parquet files have none and get a comma.
fn separator(path: &Path) -> Result<char, InspectError> {
    let file = File::open(path)?;
    let mut line = Vec::new();
    BufReader::new(file.take(LONGEST_LINE)).read_until(b'\n', &mut line)?;
    if line.starts_with(b"PAR1") {
        return Ok(',');
    }
    let often =
        |separator: &char| line.iter().filter(|&&byte| char::from(byte) == *separator).count();
    let found = ['|', '\t', ';', ','].into_iter().max_by_key(often);
    Ok(found.unwrap_or(','))
}
