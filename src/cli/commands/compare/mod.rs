//! `pcae-run compare`: published numbers beside ours, each with a verdict.

mod undecided_cells;
pub(super) mod until_decided;

use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::cli::args::Common;
use crate::cli::commands::report::kept::KeptReport;
use crate::cli::error::{CommandError, Finding};
use crate::cli::output::terminal;
use crate::cli::workspace::Workspace;
use crate::engine::run::status::StageStatus;
use crate::engine::stage::artifact::Artifact;
use crate::report::terminal::listing;
use crate::report::{
    Cell, Judged, Table, Titled, Verdict, judge, measured_number, published_number, rounded,
};
use crate::stages::AnyStage;
use crate::statistics::PublishedRuns;

/// Compares every published number of a pipeline's tables; with `strict`, one that gets a verdict
/// and is not confirmed makes the exit code 4.
pub(super) fn compare(
    common: &Common,
    alpha: f64,
    strict: bool,
    file: Option<&Path>,
) -> Result<ExitCode, CommandError> {
    if let Some(folder) = file.filter(|file| file.is_dir()) {
        let found = kept_tables(&KeptReport::open(folder)?)?;
        return judged(alpha, found).show(common, strict, folder);
    }
    let workspace = Workspace::open(common, file)?;
    let mut found = tables(&workspace)?;
    add_kept(common, &workspace, &mut found)?;
    found.tell_missing(workspace.source.path(), alpha);
    judged(alpha, found).show(common, strict, workspace.source.path())
}

/// Puts a verdict to every published number.
fn judged(alpha: f64, found: CachedTables) -> Comparison {
    let judged = judge(&found.tables, alpha);
    Comparison { alpha, found, judged, analyses: None }
}

/// Returns the tables of a report folder.
fn kept_tables(report: &KeptReport) -> Result<CachedTables, CommandError> {
    let named = report.tables().map(|name| Ok((name.to_owned(), report.table(name)?)));
    let tables = named.collect::<Result<_, CommandError>>()?;
    Ok(CachedTables { tables, missing: Vec::new() })
}

/// Takes tables that are not cached from the report that was kept of them, if there is one.
fn add_kept(
    common: &Common,
    workspace: &Workspace,
    found: &mut CachedTables,
) -> Result<(), CommandError> {
    if found.missing.is_empty() {
        return Ok(());
    }
    let Some(report) = KeptReport::find(&common.reports.join(workspace.plan.name()))? else {
        return Ok(());
    };
    let is_kept = |(name, ..): &(String, usize, usize)| {
        workspace.plan.find(name).is_some_and(|stage| report.is_of(&workspace.plan.stages()[stage]))
    };
    let (there, missing) = found.missing.drain(..).partition::<Vec<_>, _>(is_kept);
    found.missing = missing;
    for (name, ..) in there {
        let folder = report.folder.display();
        terminal::note(&format!("`{name}` is not cached: this is what {folder} has kept"));
        found.tables.push((name.clone(), report.table(&name)?));
    }
    Ok(())
}

/// The tables of a pipeline that have results.
struct CachedTables {
    /// The tables by stage.
    tables: Vec<(String, Table)>,
    /// Tables that are not cached, with how many published numbers they have and of how many runs.
    missing: Vec<(String, usize, usize)>,
}

impl CachedTables {
    /// Returns how many published numbers are in tables that are not cached.
    fn missing_numbers(&self) -> usize {
        self.missing.iter().map(|(_, numbers, _)| numbers).sum()
    }

    /// Prints what to run for tables that are not cached, and with how many runs.
    fn tell_missing(&self, file: &Path, alpha: f64) {
        let published = |(_, table): &(String, Table)| {
            let cells = table.rows.iter().flat_map(|row| &row.cells);
            cells.filter(|cell| cell.published.is_some() && cell.unjudged.is_none()).count()
        };
        let numbers: usize =
            self.tables.iter().map(published).sum::<usize>() + self.missing_numbers();
        let file = file.display();
        for (name, own, runs) in &self.missing {
            let level = alpha / numbers as f64;
            let fewest =
                PublishedRuns::fewest_runs(*runs, level).map_or_else(String::new, |runs| {
                    format!(
                        "; with {numbers} numbers, `differs` takes at least {runs} runs of each"
                    )
                });
            terminal::note(&format!(
                "`{name}` has {}, but is not cached: run `pcae-run {file} --until {name}`{fewest}",
                terminal::count(*own, "published number")
            ));
        }
    }
}

/// The last interim analysis of a cell, where runs are added until a verdict is reached.
#[derive(Clone, Debug)]
struct InterimAnalysis {
    /// Its number, counted from 1.
    number: u32,
    /// Its share of alpha.
    alpha: f64,
    /// Runs of the cell before any was added.
    first_runs: usize,
}

/// Tables with the verdicts on their published numbers.
struct Comparison {
    /// Probability of any wrong verdict of one kind.
    alpha: f64,
    /// The tables.
    found: CachedTables,
    /// The verdicts.
    judged: Vec<Judged>,
    /// The last interim analysis of each, and how many there were, if runs were added.
    analyses: Option<(Vec<InterimAnalysis>, u32)>,
}

impl Comparison {
    /// Prints everything; returns the exit code.
    fn show(&self, common: &Common, strict: bool, file: &Path) -> Result<ExitCode, CommandError> {
        let Self { found, judged, .. } = self;
        if judged.is_empty() && found.missing.is_empty() {
            return Err(nothing_published(file));
        }
        for (name, table) in &found.tables {
            let own = (0..judged.len()).filter(|&at| judged[at].table == *name);
            let own: Vec<_> = own.map(|at| (&judged[at], self.analysis(at))).collect();
            if common.json {
                for (judged, analysis) in own {
                    terminal::json(&as_json(table, judged, self.alpha, analysis));
                }
            } else if !own.is_empty() {
                print(name, table, &own);
            }
        }
        self.show_counts(common.json);
        let met = |judged: &Judged| {
            judged.verdict.is_confirmed() || matches!(judged.verdict, Verdict::Unjudged(_))
        };
        let failed = strict && !(judged.iter().all(met) && found.missing.is_empty());
        Ok(if failed { Finding::Unconfirmed.into() } else { ExitCode::SUCCESS })
    }

    fn analysis(&self, at: usize) -> Option<&InterimAnalysis> {
        self.analyses.as_ref().and_then(|(analyses, _)| analyses.get(at))
    }

    fn show_counts(&self, json: bool) {
        let counts = Verdict::ALL.map(|verdict| {
            let counted = self.judged.iter().filter(|judged| judged.verdict == verdict).count();
            let missing = self.found.missing_numbers();
            let count = counted + if verdict == Verdict::NotMeasured { missing } else { 0 };
            (verdict, count)
        });
        let (alpha, count) = (self.alpha, self.analyses.as_ref().map(|(_, count)| *count));
        if json {
            let counts: serde_json::Map<String, Value> = counts
                .iter()
                .map(|(verdict, count)| (verdict.word().replace(' ', "-"), (*count).into()))
                .collect();
            let mut line = json!({"alpha": alpha, "adjusted": "holm", "counts": counts});
            if let Some(count) = count {
                line["looks"] = count.into();
            }
            terminal::json(&line);
            return;
        }
        let used = counts.iter().filter(|(_, count)| *count > 0);
        for (verdict, _) in used.clone() {
            terminal::line(&format!("{}: {}", verdict.word(), verdict.meaning()));
        }
        if self.judged.iter().any(|judged| judged.needs().is_some()) {
            terminal::line("needs: runs that decide, if further ones are like the present ones");
        }
        let untested = |judged: &Judged| {
            judged.verdict.is_open()
                && (judged.equivalence_p.is_none() || judged.difference_p.is_none())
        };
        if self.judged.iter().any(untested) {
            terminal::line(
                "p –: equivalence takes values of a known `range`, a difference a published spread",
            );
        }
        let counted: Vec<_> =
            used.map(|(verdict, count)| format!("{count} {}", verdict.word())).collect();
        let over = count.map_or_else(String::new, |count| {
            format!(" over {}", terminal::count(count as usize, "look"))
        });
        terminal::line(&format!(
            "{} (alpha {alpha}{over}, Holm-adjusted over all cells)",
            counted.join(", ")
        ));
    }
}

/// Returns that there is nothing to compare with.
fn nothing_published(file: &Path) -> CommandError {
    let error = CommandError::usage(format!("{} has no published numbers", file.display()));
    error.hint("add them with `published: {..}` in the values of a table")
}

/// Returns the cached tables of a pipeline, and what is known of the others.
fn tables(workspace: &Workspace) -> Result<CachedTables, CommandError> {
    let statuses = workspace.statuses()?;
    let mut found = CachedTables { tables: Vec::new(), missing: Vec::new() };
    for (planned, status) in workspace.plan.stages().iter().zip(&statuses) {
        let AnyStage::Table(declared) = &*planned.stage else {
            continue;
        };
        if let StageStatus::Cached(result) = status {
            let reader = workspace.cache.reader(&result.artifact);
            let table = Table::read(&reader).map_err(CommandError::cache)?;
            found.tables.push((planned.name.clone(), table));
            continue;
        }
        let published: usize = declared.values.iter().map(|value| value.published.len()).sum();
        if published > 0 {
            found.missing.push((planned.name.clone(), published, declared.published_runs.get()));
        }
    }
    Ok(found)
}

fn print(name: &str, table: &Table, judged: &[(&Judged, Option<&InterimAnalysis>)]) {
    let lines: Vec<Vec<String>> = judged
        .iter()
        .map(|(judged, _)| {
            let (cell, digits) = (cell(table, judged), table.columns[judged.column].digits);
            let (mean, spread) = cell.published.unwrap_or_default();
            let p = |p: Option<f64>| p.map_or_else(|| "–".to_owned(), p_value);
            vec![
                place(table, judged, |label| &label.title).join(" / "),
                published_number(mean, spread, digits),
                cell.mean
                    .map_or_else(|| "–".to_owned(), |mean| measured_number(mean, cell.std, digits)),
                cell.n.to_string(),
                // A digit more than shown: a margin is often less than a unit of the last one.
                rounded(judged.margin, digits + 1),
                p(judged.equivalence_p),
                p(judged.difference_p),
                judged.needs().unwrap_or_default(),
                judged.text(),
            ]
        })
        .collect();
    terminal::line(&format!("{name} ({})", table.label));
    let header = [
        "cell",
        "published",
        "ours",
        "n",
        "margin",
        "p (equivalence)",
        "p (difference)",
        "needs",
        "verdict",
    ];
    terminal::line(listing(&header, &lines, terminal::columns()).trim_end());
    for (judged, analysis) in judged {
        let place = place(table, judged, |label| &label.title).join(" / ");
        if let Some(note) = &judged.note {
            terminal::line(&format!("note: {place}: {note}"));
        }
        let runs = cell(table, judged).n;
        if let Some(analysis) = analysis.filter(|analysis| analysis.first_runs < runs) {
            let (first, number) = (analysis.first_runs, analysis.number);
            terminal::line(&format!(
                "extended: {place}: {runs} runs instead of {first}, look {number}"
            ));
        }
    }
    terminal::line("");
}

fn as_json(
    table: &Table,
    judged: &Judged,
    alpha: f64,
    analysis: Option<&InterimAnalysis>,
) -> Value {
    let cell = cell(table, judged);
    let mut line = json!(judged);
    line["place"] = json!(place(table, judged, |label| &label.name));
    line["published"] = json!(cell.published);
    line["published_runs"] = json!(table.published_runs);
    line["ours"] = json!({"mean": cell.mean, "std": cell.std, "n": cell.n});
    line["alpha"] = json!(analysis.map_or(alpha, |analysis| analysis.alpha));
    if let Some(analysis) = analysis {
        line["look"] = json!(analysis.number);
        line["runs_before"] = json!(analysis.first_runs);
    }
    line
}

fn cell<'a>(table: &'a Table, judged: &Judged) -> &'a Cell {
    &table.rows[judged.row].cells[judged.column]
}

/// Returns the labels of a cell and the value it shows.
fn place<'a>(
    table: &'a Table,
    judged: &Judged,
    shown: impl Fn(&'a Titled) -> &'a str,
) -> Vec<&'a str> {
    let column = &table.columns[judged.column];
    let labels = table.rows[judged.row].labels.iter().chain(&column.labels);
    labels.chain([&column.value]).map(shown).collect()
}

fn p_value(p: f64) -> String {
    if p < 0.001 { "< 0.001".to_owned() } else { rounded(p, 3) }
}
