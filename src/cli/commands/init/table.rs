//! Tables: their separator, which columns are coordinates, and which one is the class.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use super::inspect::{InspectError, Inspection};
use crate::data::{
    Cells, ColumnSummary, DataError, DatasetSpec, Files, TableFile, summarize_columns,
};

/// Names of columns of integers that are classes rather than measurements.
const CLASS_NAMES: [&str; 8] =
    ["class", "classes", "label", "labels", "target", "species", "category", "y"];
/// A column with more different values than this is not a class.
const MOST_CLASSES: usize = 50;
/// Only this many bytes of the first line are searched for separators.
const LONGEST_LINE: u64 = 1 << 20;

/// Inspects a CSV or Parquet file.
pub(super) fn inspect(kind: &str, path: &Path, files: &Files) -> Result<Inspection, InspectError> {
    let separator = separator(path)?;
    let (rows, all) = summarize_columns(files, separator)?;
    let class = all.iter().find(|column| is_class(column, rows)).map(|column| column.name.clone());
    let is_coordinate = |column: &&ColumnSummary| {
        matches!(column.cells, Cells::Integers | Cells::Reals)
            && column.missing == 0
            && !has_braces(&column.name)
            && class.as_ref() != Some(&column.name)
    };
    let columns: Vec<String> =
        all.iter().filter(is_coordinate).map(|column| column.name.clone()).collect();
    if columns.is_empty() {
        let names: Vec<_> = all.iter().take(8).map(|column| column.name.as_str()).collect();
        let reason = format!(
            "expected a column of numbers without missing values, found {}",
            names.join(", ")
        );
        return Err(DataError::malformed(&path.display().to_string(), "columns", reason).into());
    }
    let is_whole = columns.len() + usize::from(class.is_some()) == all.len();
    let source = DatasetSpec::Table(TableFile {
        columns: (!is_whole).then_some(columns),
        factors: Vec::new(),
        class: class.clone(),
        separator,
    });
    let opened = source.open(files)?;
    let mut inspection = Inspection::of(kind, source, opened)?;
    let ignored = |wanted: &dyn Fn(&ColumnSummary) -> bool| -> Vec<&str> {
        let others = all.iter().filter(|column| class.as_ref() != Some(&column.name));
        others.filter(|column| wanted(column)).map(|column| column.name.as_str()).collect()
    };
    let texts = ignored(&|column| column.cells == Cells::Texts);
    let gaps = ignored(&|column| column.cells != Cells::Texts && column.missing > 0);
    let braces = ignored(&|column| has_braces(&column.name));
    let numbering = ignored(&|column| column.cells == Cells::RowNumbers);
    for (names, why) in [
        (texts, "text"),
        (gaps, "missing values"),
        (numbering, "row numbers"),
        (braces, "braces in their names, which mark axes in a pipeline"),
    ] {
        if !names.is_empty() {
            inspection.notes.push(format!("ignored ({why}): {}", listed(&names)));
        }
    }
    if let Some(name) = class {
        inspection.notes.push(format!("used as the class: `{name}`"));
    }
    Ok(inspection)
}

/// Names a few columns and counts the rest.
fn listed(names: &[&str]) -> String {
    const SHOWN: usize = 6;
    let shown: Vec<_> = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    let more = names.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

/// Returns whether a pipeline would take a part of a name for an axis.
pub(super) fn has_braces(name: &str) -> bool {
    name.contains(['{', '}'])
}

fn is_class(column: &ColumnSummary, rows: usize) -> bool {
    let is_named = CLASS_NAMES.contains(&column.name.trim().to_ascii_lowercase().as_str());
    let may_be = match column.cells {
        Cells::Texts => true,
        Cells::Integers => is_named,
        Cells::Reals | Cells::RowNumbers => false,
    };
    let most = MOST_CLASSES.min(rows / 4);
    may_be
        && column.missing == 0
        && !has_braces(&column.name)
        && (2..=most).contains(&column.distinct)
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
