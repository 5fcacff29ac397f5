//! `pcae-run diff`: which cells changed between two reports, by how much, and why.
//!
//! Either side is a pipeline's report folder or one table's CSV file. Causes are known if both
//! folders have a `manifest.json`. Like `diff`, it exits with 0 if nothing changed and with 1 if something
//! did.

mod root_cause;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use serde_json::json;

use self::root_cause::{RootCause, root_causes};
use crate::cli::args::Common;
use crate::cli::commands::report::manifest::Manifest;
use crate::cli::error::{CommandError, Finding};
use crate::cli::output::terminal;
use crate::engine::system::regular_file;
use crate::report::folder::MANIFEST;
use crate::report::terminal::listing;
use crate::report::{CellChange, Change, Numbers, cell_changes};

/// One side of the comparison.
struct Side {
    /// The text of each table's CSV by the name of its stage.
    tables: BTreeMap<String, String>,
    manifest: Option<Manifest>,
}

/// Compares two reports.
pub(super) fn diff(common: &Common, old: &Path, new: &Path) -> Result<ExitCode, CommandError> {
    let (mut before, after) = (open(old)?, open(new)?);
    if old.is_file() && new.is_file() {
        // Two files are two versions of one table, whatever they are called.
        let names = after.tables.keys().cloned();
        before.tables = names.zip(before.tables.into_values()).collect();
    }
    let mut different = false;
    for (name, text) in &after.tables {
        let Some(earlier) = before.tables.get(name) else {
            different |= print_table(common, name, "appeared", old.is_dir());
            continue;
        };
        let moved = match cell_changes(earlier, text) {
            Ok(moved) => moved,
            // Other programs may keep their files in the folder.
            Err(reason) if new.is_dir() => {
                terminal::note(&format!("note: {name}.csv is ignored: {reason}"));
                continue;
            }
            Err(reason) => return Err(CommandError::usage(format!("{name}.csv: {reason}"))),
        };
        let causes = match (&before.manifest, &after.manifest) {
            (Some(before), Some(after)) if !moved.is_empty() => root_causes(before, after, name),
            _ => Vec::new(),
        };
        different |= !moved.is_empty();
        print(common, name, &moved, &causes);
    }
    for name in before.tables.keys().filter(|name| !after.tables.contains_key(*name)) {
        different |= print_table(common, name, "vanished", new.is_dir());
    }
    if different && (before.manifest.is_none() || after.manifest.is_none()) && !common.json {
        terminal::note("note: causes are known only if both folders have a manifest.json");
    }
    Ok(if different { Finding::Different.into() } else { ExitCode::SUCCESS })
}

fn open(path: &Path) -> Result<Side, CommandError> {
    let at =
        |path: &Path, cause: io::Error| CommandError::usage(format!("{}: {cause}", path.display()));
    let mut side = Side { tables: BTreeMap::new(), manifest: None };
    let mut add = |file: &Path| {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = regular_file::open(file).and_then(io::read_to_string);
        text.map(|text| side.tables.insert(name, text))
    };
    if path.exists() && !path.is_dir() {
        add(path).map_err(|cause| at(path, cause))?;
        return Ok(side);
    }
    for item in fs::read_dir(path).map_err(|cause| at(path, cause))? {
        let file = item.map_err(|cause| at(path, cause))?.path();
        if file.extension().is_some_and(|extension| extension == "csv") {
            add(&file).map_err(|cause| at(&file, cause))?;
        }
    }
    if side.tables.is_empty() {
        let folder = path.display();
        let error = CommandError::usage(format!("{folder} has no tables (*.csv)"));
        return Err(error.hint("pass a pipeline's report folder"));
    }
    let manifest = path.join(MANIFEST);
    if manifest.is_file() {
        let text = regular_file::open(&manifest).and_then(io::read_to_string);
        let read = serde_json::from_str(&text.map_err(|cause| at(&manifest, cause))?);
        side.manifest =
            Some(read.map_err(|cause| {
                CommandError::usage(format!("{}: {cause}", manifest.display()))
            })?);
    }
    Ok(side)
}

/// Prints a whole table that is on one side only; a lone file on the other side means nothing.
fn print_table(common: &Common, name: &str, word: &str, other_is_folder: bool) -> bool {
    if other_is_folder {
        if common.json {
            terminal::json(&json!({"table": name, "movement": word}));
        } else {
            let word = if word == "appeared" { "added" } else { "removed" };
            terminal::line(&format!("{name}: the table was {word}"));
        }
    }
    other_is_folder
}

fn print(common: &Common, name: &str, moved: &[CellChange], causes: &[RootCause]) {
    if common.json {
        for moved in moved {
            let mut line = json!(moved);
            line["table"] = json!(name);
            terminal::json(&line);
        }
        for cause in causes {
            let mut line = json!(cause);
            line["table"] = json!(name);
            terminal::json(&line);
        }
        return;
    }
    if moved.is_empty() {
        terminal::line(&format!("{name}: unchanged"));
        return;
    }
    terminal::line(&format!("{name}: {} changed", terminal::count(moved.len(), "cell")));
    let lines: Vec<Vec<String>> = moved.iter().map(line).collect();
    let header = ["cell", "before", "after", "change"];
    terminal::line(listing(&header, &lines, terminal::columns()).trim_end());
    for RootCause { change, stages } in causes {
        let (first, more) = (&stages[0], stages.len() - 1);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        terminal::line(&format!("caused by {first}{more}: {change}"));
    }
    terminal::line("");
}

fn line(moved: &CellChange) -> Vec<String> {
    let (before, now, change) = match moved.change {
        Change::Moved { old, new, deviations } => {
            let change = match deviations {
                Some(deviations) => format!("{deviations:+.1} std"),
                None => format!("{:+}", significant(new.mean - old.mean)),
            };
            (shown(&old), shown(&new), change)
        }
        Change::Appeared { new } => ("–".to_owned(), shown(&new), "added".to_owned()),
        Change::Vanished { old } => (shown(&old), "–".to_owned(), "removed".to_owned()),
    };
    vec![moved.place.join(" / "), before, now, change]
}

fn shown(numbers: &Numbers) -> String {
    let spread = numbers.std.map_or_else(String::new, |std| format!(" ± {}", significant(std)));
    format!("{}{spread} (n = {})", significant(numbers.mean), numbers.n)
}

/// Rounds to five significant digits: CSV has no decimals of its own to show.
fn significant(value: f64) -> f64 {
    format!("{value:.4e}").parse().unwrap_or(value)
}
