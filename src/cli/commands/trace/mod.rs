//! `pcae-run trace`: the runs, keys and logs behind one number of a table.
//!
//! From the cache, or from a report folder alone: there, times, hosts and logs are not known.

mod find_cell;
mod sources;

use std::path::Path;

use serde_json::json;

use self::find_cell::{column_name, find_cell, row_name};
use self::sources::{Cached, Kept, Made, Sources};
use crate::cli::args::Common;
use crate::cli::commands::report::kept::KeptReport;
use crate::cli::error::CommandError;
use crate::cli::output::terminal;
use crate::cli::workspace::{Workspace, hold};
use crate::engine::run::status::StageStatus;
use crate::report::{Cell, Table, measured_number, rounded};

/// Lists the runs behind one cell; `file` is a pipeline file or a report folder.
pub(super) fn trace(
    common: &Common,
    table: &str,
    row: &str,
    column: &str,
    file: Option<&Path>,
) -> Result<(), CommandError> {
    if let Some(folder) = file.filter(|file| file.is_dir()) {
        return show(common, &Kept(KeptReport::open(folder)?), table, row, column);
    }
    let workspace = Workspace::open(common, file)?;
    let _in_use = hold(&workspace.cache)?;
    let statuses = workspace.statuses()?;
    let cached = Cached { workspace: &workspace, statuses: &statuses };
    let stage = cached.stage_of(table)?;
    let index = workspace.stage(&stage)?;
    if !matches!(statuses[index], StageStatus::Cached(_))
        && let Some(kept) = KeptReport::find(&common.reports.join(workspace.plan.name()))?
        && kept.is_of(&workspace.plan.stages()[index])
    {
        let folder = kept.folder.display();
        terminal::note(&format!("`{stage}` has no cached result: this is what {folder} has kept"));
        return show(common, &Kept(kept), &stage, row, column);
    }
    show(common, &cached, &stage, row, column)
}

fn show(
    common: &Common,
    sources: &impl Sources,
    table: &str,
    row: &str,
    column: &str,
) -> Result<(), CommandError> {
    let stage = sources.stage_of(table)?;
    let content = sources.table(&stage)?;
    let (row, column) = find_cell(&content, row, column)?;
    let cell = &content.rows[row].cells[column];
    let digits = content.columns[column].digits;
    if !common.json {
        let place =
            [stage.clone(), row_name(&content.rows[row]), column_name(&content.columns[column])];
        head(&place.join(" / "), cell, digits);
    }
    let members = sources.made(&stage)?.map(|made| made.reads).unwrap_or_default();
    for (position, &source) in cell.sources.iter().enumerate() {
        let run = Run {
            labels: run_labels(&content, source),
            value: cell.source_values.get(position).copied(),
            digits,
        };
        if let Some(member) = members.get(source) {
            chain(common, sources, member, Some(&run), 1)?;
        }
    }
    Ok(())
}

/// Prints what the cell shows, and what is to be known of it.
fn head(place: &str, cell: &Cell, digits: usize) {
    let number =
        cell.mean.map_or_else(|| "–".to_owned(), |mean| measured_number(mean, cell.std, digits));
    terminal::line(&format!("{place}: {number} over {}", terminal::count(cell.n, "run")));
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

/// One of the runs that a cell averages.
struct Run {
    /// Its labels on the axes that are averaged over, such as its seed.
    labels: Vec<(String, String)>,
    /// Its value.
    value: Option<f64>,
    /// Decimals shown.
    digits: usize,
}

impl Run {
    fn text(&self) -> String {
        let value = self.value.map(|value| rounded(value, self.digits));
        let labels = self.labels.iter().map(|(axis, label)| format!("{axis} {label}"));
        let parts: Vec<String> = value.into_iter().chain(labels).collect();
        if parts.is_empty() { String::new() } else { format!("{}: ", parts.join(", ")) }
    }
}

fn run_labels(table: &Table, source: usize) -> Vec<(String, String)> {
    let Some(run) = table.runs.get(source) else {
        return Vec::new();
    };
    let over = table.over.iter();
    over.filter_map(|axis| Some((axis.name.clone(), run.labels.get(&axis.name)?.clone()))).collect()
}

/// Prints a stage and, indented below it, the stages that it read.
fn chain(
    common: &Common,
    sources: &impl Sources,
    stage: &str,
    run: Option<&Run>,
    depth: usize,
) -> Result<(), CommandError> {
    let Some(made) = sources.made(stage)? else {
        return Ok(());
    };
    if common.json {
        let mut line = json!({
            "depth": depth, "stage": stage, "labels": made.labels, "key": made.key,
            "settings": made.settings, "run": made.run, "log": made.log,
        });
        if let Some(run) = run {
            let labels: serde_json::Map<_, _> =
                run.labels.iter().map(|(axis, label)| (axis.clone(), json!(label))).collect();
            (line["value"], line["over"]) = (json!(run.value), json!(labels));
        }
        terminal::json(&line);
    } else {
        let run = run.map(Run::text).unwrap_or_default();
        terminal::line(&format!("{:indent$}{run}{}", "", line(stage, &made), indent = depth * 2));
    }
    let mut reads = made.reads;
    reads.dedup();
    for input in &reads {
        chain(common, sources, input, None, depth + 1)?;
    }
    Ok(())
}

/// Writes what is known of a stage.
fn line(stage: &str, made: &Made) -> String {
    let seed = made.settings.get("seed");
    let seed = seed.map_or_else(String::new, |seed| format!("  seed {seed}"));
    let run = made.run.as_ref().map_or_else(String::new, |run| {
        format!("  {} on {}", terminal::duration(run.seconds), run.host)
    });
    let log = made.log.as_ref().map_or_else(String::new, |log| format!("  {}", log.display()));
    format!("{} {stage}{seed}{run}{log}", made.key.short())
}
