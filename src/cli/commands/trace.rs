//! `pcae-run trace`: the runs, keys and logs behind one number of a table.

use std::path::Path;

use serde_json::json;

use crate::cli::args::Common;
use crate::cli::error::CommandError;
use crate::cli::output::terminal;
use crate::cli::workspace::{Workspace, hold};
use crate::engine::plan::StageIndex;
use crate::engine::run::status::StageStatus;
use crate::engine::stage::artifact::Artifact;
use crate::report::{Cell, Table, TableColumn, Titled, measured_number};

/// Lists the runs behind one cell.
pub(super) fn trace(
    common: &Common,
    table: &str,
    row: &str,
    column: &str,
    file: Option<&Path>,
) -> Result<(), CommandError> {
    let workspace = Workspace::open(common, file)?;
    let stage = workspace.stage(table)?;
    let _in_use = hold(&workspace.cache)?;
    let statuses = workspace.statuses()?;
    let result = workspace.result(table, &statuses)?;
    if result.artifact.kind != "table" {
        let kind = &result.artifact.kind;
        return Err(CommandError::usage(format!("`{table}` is a {kind}, not a table")));
    }
    let content =
        Table::read(&workspace.cache.reader(&result.artifact)).map_err(CommandError::cache)?;
    let (cell, digits) = find(&content, row, column)?;
    let members: Vec<_> = workspace.plan.stages()[stage].members().collect();
    if !common.json {
        terminal::line(&format!(
            "{table} / {row} / {column}: {} over {}",
            cell.mean
                .map_or_else(|| "–".to_owned(), |mean| measured_number(mean, cell.std, digits)),
            terminal::count(cell.n, "run"),
        ));
        if cell.repeats > 0 {
            let (repeats, all) = (cell.repeats, cell.sources.len());
            terminal::line(&format!(
                "{repeats} of {all} records repeat the result of another and are not counted"
            ));
        }
        if let Some(reason) = cell.unjudged {
            terminal::line(&format!("{}: {}", reason.word(), reason.meaning()));
        }
    }
    for &source in &cell.sources {
        if let Some(&member) = members.get(source) {
            chain(common, &workspace, &statuses, member, 1)?;
        }
    }
    Ok(())
}

/// Prints a stage and, indented below it, the stages that it read.
fn chain(
    common: &Common,
    workspace: &Workspace,
    statuses: &[StageStatus],
    stage: StageIndex,
    depth: usize,
) -> Result<(), CommandError> {
    let planned = &workspace.plan.stages()[stage];
    let StageStatus::Cached(result) = &statuses[stage] else {
        return Ok(());
    };
    let entry = workspace.cache.entry(&result.key)?;
    let log = workspace.cache.log_path(&entry.key);
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
        chain(common, workspace, statuses, input, depth + 1)?;
    }
    Ok(())
}

/// Returns a cell and the decimals that its column shows.
fn find<'a>(table: &'a Table, row: &str, column: &str) -> Result<(&'a Cell, usize), CommandError> {
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

fn position(names: &[[String; 2]], wanted: &str, what: &str) -> Result<usize, CommandError> {
    let found =
        names.iter().position(|forms| forms.iter().any(|form| form.eq_ignore_ascii_case(wanted)));
    found.ok_or_else(|| {
        let valid: Vec<_> = names.iter().map(|forms| format!("`{}`", forms[0])).collect();
        let error = CommandError::usage(format!("the table has no {what} `{wanted}`"));
        error.hint(format!("its {what}s: {}", valid.join(", ")))
    })
}
