//! `pcae-run trace`: the runs, keys and logs behind one number of a table.

use std::path::Path;

use serde_json::json;

use super::args::Common;
use super::failure::Failure;
use super::session::Session;
use super::terminal;
use crate::engine::artifact::Artifact;
use crate::engine::assess::Standing;
use crate::engine::plan::StageIndex;
use crate::report::{Cell, Table, TableColumn, Titled, rounded};

/// Follows one cell back to its runs.
pub(super) fn trace(
    common: &Common,
    table: &str,
    row: &str,
    column: &str,
    file: Option<&Path>,
) -> Result<(), Failure> {
    let session = Session::open(common, file)?;
    let stage = session.stage(table)?;
    let _in_use = session.cache.hold().ok();
    let standings = session.standings()?;
    let result = session.result(table, &standings)?;
    if result.artifact.kind != "table" {
        let kind = &result.artifact.kind;
        return Err(Failure::usage(format!("`{table}` is a {kind}, not a table")));
    }
    let content =
        Table::read(&session.cache.reader(&result.artifact)).map_err(Failure::integrity)?;
    let (cell, digits) = find(&content, row, column)?;
    let members: Vec<_> = session.plan.stages()[stage].members().collect();
    if !common.json {
        let number = |value| rounded(value, digits);
        let spread = cell.std.map_or_else(String::new, |std| format!(" ± {}", number(std)));
        terminal::line(&format!(
            "{table} / {row} / {column}: {}{spread} over {}",
            cell.mean.map_or_else(|| "–".to_owned(), number),
            terminal::count(cell.n, "run"),
        ));
    }
    for &source in &cell.sources {
        if let Some(&member) = members.get(source) {
            chain(common, &session, &standings, member, 1)?;
        }
    }
    Ok(())
}

/// Prints a stage and, indented below it, the stages that it read.
fn chain(
    common: &Common,
    session: &Session,
    standings: &[Standing],
    stage: StageIndex,
    depth: usize,
) -> Result<(), Failure> {
    let planned = &session.plan.stages()[stage];
    let Standing::Cached(result) = &standings[stage] else {
        return Ok(());
    };
    let entry = session.cache.entry(&result.key)?;
    let log = session.cache.log_path(&entry.key);
    if common.json {
        terminal::json(&json!({
            "depth": depth, "stage": planned.name, "labels": planned.labels, "key": entry.key,
            "settings": entry.record.settings, "run": entry.run, "log": log,
        }));
    } else {
        let seed = entry.record.settings.get("seed");
        let seed = seed.map_or_else(String::new, |seed| format!("  seed {seed}"));
        terminal::line(&format!(
            "{:indent$}{} {}{seed}  {} on {}  {}",
            "",
            entry.key.short(),
            planned.name,
            terminal::duration(entry.run.seconds),
            entry.run.host,
            log.display(),
            indent = depth * 2,
        ));
    }
    let mut inputs: Vec<_> = planned.members().collect();
    inputs.dedup();
    for input in inputs {
        chain(common, session, standings, input, depth + 1)?;
    }
    Ok(())
}

/// Returns a cell and the decimals that its column shows.
fn find<'a>(table: &'a Table, row: &str, column: &str) -> Result<(&'a Cell, usize), Failure> {
    let rows: Vec<_> = table.rows.iter().map(|found| names(&found.labels)).collect();
    let columns: Vec<_> = table.columns.iter().map(column_names).collect();
    let row = position(&rows, row, "row")?;
    let column = position(&columns, column, "column")?;
    Ok((&table.rows[row].cells[column], table.columns[column].digits))
}

/// Returns the plain and the printed form of labels.
fn names(labels: &[Titled]) -> [String; 2] {
    let join = |part: fn(&Titled) -> &str| labels.iter().map(part).collect::<Vec<_>>().join("/");
    [join(|label| &label.name), join(|label| &label.title)]
}

fn column_names(column: &TableColumn) -> [String; 2] {
    let [plain, printed] = names(&column.labels);
    if plain.is_empty() {
        return [column.value.name.clone(), column.value.title.clone()];
    }
    [format!("{plain}/{}", column.value.name), format!("{printed}/{}", column.value.title)]
}

fn position(names: &[[String; 2]], wanted: &str, what: &str) -> Result<usize, Failure> {
    let found =
        names.iter().position(|forms| forms.iter().any(|form| form.eq_ignore_ascii_case(wanted)));
    found.ok_or_else(|| {
        let valid: Vec<_> = names.iter().map(|forms| format!("`{}`", forms[0])).collect();
        Failure::usage(format!("the table has no {what} `{wanted}`, only {}", valid.join(", ")))
    })
}
