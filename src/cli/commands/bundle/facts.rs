//! What a bundle tells reviewers: claims with their verdicts, and what it took to make everything.

use std::collections::{BTreeMap, BTreeSet};

use super::PIPELINE;
use super::contents::tables;
use super::selected::SelectedResults;
use crate::cli::commands::report::{LEVEL, figure_titles};
use crate::cli::error::CommandError;
use crate::cli::workspace::Workspace;
use crate::engine::bundle::Extent;
use crate::engine::cache::Entry;
use crate::engine::plan::StageIndex;
use crate::engine::plan::select::Selection;
use crate::engine::run::status::StageStatus;
use crate::engine::stage::StageSet;
use crate::engine::stage::artifact::Artifact;
use crate::report::bundle::{BundleFacts, Claim, Exhibit, Standing};
use crate::report::{Conclusion, Judged, Table, Verdict, judge, measured_number, published_number};
use crate::stages::AnyStage;

/// Collects everything.
pub(super) fn collect(
    workspace: &Workspace,
    results: &SelectedResults,
    left_out: Vec<String>,
) -> Result<BundleFacts, CommandError> {
    let effort = Effort::of(workspace, results)?;
    let tables = tables(workspace, &results.statuses).map_err(CommandError::cache)?;
    let name = workspace.source.path().file_name().unwrap_or_default().to_string_lossy();
    let runs = || effort.entries.values().map(|entry| &entry.run);
    let again = results.entries.keys().filter(|stage| effort.is_report(**stage));
    let mut facts = BundleFacts {
        pipeline: workspace.plan.name().to_owned(),
        file: format!("{PIPELINE}{name}"),
        scale: workspace.plan.scale().map(str::to_owned),
        program: env!("CARGO_PKG_VERSION").to_owned(),
        is_whole: results.extent == Extent::Everything,
        conclusions: conclusions(workspace, results)?,
        left_out,
        data_sets: data_sets(workspace),
        stages: workspace.plan.stages().len(),
        seconds: runs().map(|run| run.seconds).sum(),
        replay_seconds: again.map(|stage| effort.entries[stage].run.seconds).sum(),
        finished: runs().map(|run| run.finished).max().unwrap_or_default(),
        machines: machines(&effort),
        ..BundleFacts::default()
    };
    facts.claims = claims(&facts, &effort, &tables);
    facts.exhibits = exhibits(&facts, &effort, results)?;
    Ok(facts)
}

/// What it took to make results.
struct Effort<'a> {
    workspace: &'a Workspace,
    /// Every result there is, also those that don't go into the bundle.
    entries: BTreeMap<StageIndex, Entry>,
}

impl<'a> Effort<'a> {
    fn of(workspace: &'a Workspace, results: &SelectedResults) -> Result<Self, CommandError> {
        let mut entries = results.entries.clone();
        for (stage, status) in results.statuses.iter().enumerate() {
            if let StageStatus::Cached(result) = status
                && !entries.contains_key(&stage)
            {
                entries.insert(stage, workspace.cache.entry(&result.key)?);
            }
        }
        Ok(Self { workspace, entries })
    }

    fn is_report(&self, stage: StageIndex) -> bool {
        self.workspace.plan.stages()[stage].stage.as_stage().is_report()
    }

    /// Returns the seconds that some stages and all behind them took.
    fn seconds(&self, stages: BTreeSet<StageIndex>) -> f64 {
        let needed = Selection::needed_by(&self.workspace.plan, stages).allowed;
        let entries = needed.iter().filter_map(|stage| self.entries.get(stage));
        entries.map(|entry| entry.run.seconds).sum()
    }

    /// Returns the seconds of the runs behind a cell of a table, or of the table if they are not told.
    fn seconds_of_cell(&self, stage: StageIndex, table: &Table, judged: &Judged) -> f64 {
        let cell = &table.rows[judged.row].cells[judged.column];
        let runs = cell.sources.iter().filter_map(|source| table.runs.get(*source));
        let digests: BTreeSet<&str> = runs.map(|run| run.digest.as_str()).collect();
        let is_source = |member: &StageIndex| {
            let entry = self.entries.get(member);
            entry.is_some_and(|entry| digests.contains(entry.artifact.digest.short().as_str()))
        };
        let planned = &self.workspace.plan.stages()[stage];
        let sources: BTreeSet<_> = planned.members().filter(is_source).collect();
        self.seconds(if sources.is_empty() { [stage].into() } else { sources })
    }
}

fn command(facts: &BundleFacts, stage: &str) -> String {
    let scale = facts.scale.as_ref().map_or_else(String::new, |scale| format!(" --scale {scale}"));
    format!("pcae-run {}{scale} --until {stage}", facts.file)
}

fn claims(facts: &BundleFacts, effort: &Effort<'_>, tables: &[(String, Table)]) -> Vec<Claim> {
    let judged = judge(tables, LEVEL);
    let claim = |judged: &Judged| {
        let (name, table) = tables.iter().find(|(name, _)| *name == judged.table)?;
        let stage = effort.workspace.plan.find(name)?;
        let (row, column) = (&table.rows[judged.row], &table.columns[judged.column]);
        let cell = &row.cells[judged.column];
        let titles = row.labels.iter().chain(&column.labels).chain([&column.value]);
        let titles = titles.map(|label| label.title.as_str());
        let place: Vec<&str> = [table.label.as_str()].into_iter().chain(titles).collect();
        let (mean, spread) = cell.published?;
        let ours = cell.mean.map(|mean| measured_number(mean, cell.std, column.digits));
        Some(Claim {
            standing: standing(judged.verdict),
            place: place.join(" / "),
            published: published_number(mean, spread, column.digits),
            ours: ours.unwrap_or_else(|| "–".to_owned()),
            runs: cell.n,
            verdict: judged.text(),
            command: command(facts, name),
            seconds: effort.seconds_of_cell(stage, table, judged),
        })
    };
    judged.iter().filter_map(claim).collect()
}

const fn standing(verdict: Verdict) -> Standing {
    match verdict {
        Verdict::Equivalent | Verdict::Better => Standing::Supported,
        Verdict::Differs => Standing::NotSupported,
        Verdict::Matches | Verdict::Inconclusive | Verdict::NotMeasured => Standing::Open,
        Verdict::Unjudged(_) => Standing::NotJudged,
    }
}

fn conclusions(
    workspace: &Workspace,
    results: &SelectedResults,
) -> Result<Vec<(String, String)>, CommandError> {
    let stages = workspace.plan.stages();
    let found = results.entries.iter().filter(|(stage, entry)| {
        entry.artifact.kind == "conclusion" && stages[**stage].stage.as_stage().is_report()
    });
    found
        .map(|(&stage, entry)| {
            let reader = workspace.cache.reader(&entry.artifact);
            let conclusion = Conclusion::read(&reader).map_err(CommandError::cache)?;
            Ok((stages[stage].name.clone(), conclusion.paragraph()))
        })
        .collect()
}

/// Returns tables and figures, in the order of the file.
fn exhibits(
    facts: &BundleFacts,
    effort: &Effort<'_>,
    results: &SelectedResults,
) -> Result<Vec<Exhibit>, CommandError> {
    let stages = effort.workspace.plan.stages();
    let mut shown: Vec<_> = results.entries.iter().collect();
    shown.sort_by_key(|(stage, _)| stages[**stage].line);
    let mut found = Vec::new();
    for (&stage, entry) in shown {
        let planned = &stages[stage];
        let reader = effort.workspace.cache.reader(&entry.artifact);
        let (label, caption) = match &*planned.stage {
            AnyStage::Table(table) => (table.label.clone(), table.caption.clone()),
            AnyStage::Figure(_) => figure_titles(&reader).map_err(CommandError::cache)?,
            _ => continue,
        };
        found.push(Exhibit {
            stage: planned.name.clone(),
            label,
            caption,
            command: command(facts, &planned.name),
            seconds: effort.seconds([stage].into()),
        });
    }
    Ok(found)
}

fn data_sets(workspace: &Workspace) -> Vec<String> {
    let mut names = BTreeSet::new();
    for planned in workspace.plan.stages() {
        if let AnyStage::Dataset(dataset) = &*planned.stage {
            names.extend(dataset.source.published_files().map(str::to_owned));
        }
    }
    names.into_iter().collect()
}

/// Returns the processors and devices on which results were computed.
fn machines(effort: &Effort<'_>) -> Vec<String> {
    let mut machines = BTreeSet::new();
    for Entry { run, .. } in effort.entries.values() {
        let parts = [run.processor.as_str(), run.processor_class.as_str(), run.device.as_str()];
        let told: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        machines.insert(told.join(", "));
    }
    machines.into_iter().filter(|machine| !machine.is_empty()).collect()
}
