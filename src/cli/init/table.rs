//! Tables: what stands between cells, which columns are coordinates, and which one is the class.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use super::look::{LookError, Seen};
use crate::data::{
    Cells, ColumnSummary, DataError, DatasetSpec, Files, TableFile, summarize_columns,
};

/// Names of columns of integers that are classes rather than measurements.
const CLASS_NAMES: [&str; 8] =
    ["class", "classes", "label", "labels", "target", "species", "category", "y"];
/// More classes than this are no classes.
const MOST_CLASSES: usize = 50;
/// A first line longer than this is not looked at for separators.
const LONGEST_LINE: u64 = 1 << 20;

/// Looks at a CSV or Parquet file.
pub(super) fn look(kind: &str, path: &Path, files: &Files) -> Result<Seen, LookError> {
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
        let reason =
            format!("expected a column of numbers without gaps, found {}", names.join(", "));
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
    let mut seen = Seen::of(kind, source, opened)?;
    let left_out = |wanted: &dyn Fn(&ColumnSummary) -> bool| -> Vec<&str> {
        let others = all.iter().filter(|column| class.as_ref() != Some(&column.name));
        others.filter(|column| wanted(column)).map(|column| column.name.as_str()).collect()
    };
    let texts = left_out(&|column| column.cells == Cells::Texts);
    let gaps = left_out(&|column| column.cells != Cells::Texts && column.missing > 0);
    let braces = left_out(&|column| has_braces(&column.name));
    let numbering = left_out(&|column| column.cells == Cells::RowNumbers);
    for (names, why) in [
        (texts, "texts"),
        (gaps, "missing values"),
        (numbering, "row numbers"),
        (braces, "braces in their names, which mean axes in a pipeline"),
    ] {
        if !names.is_empty() {
            seen.notes.push(format!("left out for {why}: {}", listed(&names)));
        }
    }
    if let Some(name) = class {
        seen.notes.push(format!("taken as the class: `{name}`"));
    }
    Ok(seen)
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
fn separator(path: &Path) -> Result<char, LookError> {
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
