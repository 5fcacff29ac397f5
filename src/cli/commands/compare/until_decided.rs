//! `pcae-run compare --until-decided`: adds runs where no test decides, and tests again.
//!
//! This is a group sequential test. The axis that a table averages over is extended by more labels,
//! in memory only. Of the stages that this adds, those run that undecided cells need, with the same
//! scheduler and cache as any run; so a second call finds them cached and repeats the same
//! analyses. Cells that would take more runs than allowed get none. Each interim analysis has its own share of alpha; what it decides stays, with the
//! runs it was decided by.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::ExitCode;

use serde_json::json;

use super::undecided_cells::{UndecidedCells, refill};
use super::{CachedTables, Comparison, InterimAnalysis, cell, nothing_published, tables};
use crate::cli::args::{Common, RunnerArgs};
use crate::cli::error::{CommandError, ErrorKind};
use crate::cli::output::failed_stages;
use crate::cli::output::terminal;
use crate::cli::runner::Runner;
use crate::cli::workspace::{Workspace, load_extendable, load_plan};
use crate::engine::pipeline::extend::Extendable;
use crate::engine::plan::StageIndex;
use crate::engine::plan::select::Selection;
use crate::engine::run::options::RunReport;
use crate::report::{Judged, Table, judge, judge_again, quoted};
use crate::stages::AnyStage;
use crate::statistics::spent_alpha;

/// The limits of the sequential test.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Probability of any wrong verdict of one kind, over all cells and analyses.
    pub alpha: f64,
    /// Labels that an axis may have.
    pub most: usize,
    /// Whether a number that is not confirmed makes the exit code 4.
    pub strict: bool,
}

/// Compares every published number, with as many runs as that takes.
pub(crate) fn compare(
    common: &Common,
    args: &RunnerArgs,
    bounds: Bounds,
    file: Option<&Path>,
) -> Result<ExitCode, CommandError> {
    let mut workspace = Workspace::open(common, file)?;
    let found = tables(&workspace)?;
    found.tell_missing(workspace.source.path(), bounds.alpha);
    if !found.missing.is_empty() {
        let file = workspace.source.path().display();
        let error =
            CommandError::usage("`--until-decided` needs all tables, but some are not cached");
        return Err(error.hint(format!("run `pcae-run {file}` first")));
    }
    let own = workspace.source.clone();
    let axes = load_extendable(&own, common)?;
    let mut test = SequentialTest::first(found.tables, &axes, bounds);
    if test.judged.is_empty() {
        return Err(nothing_published(workspace.source.path()));
    }
    test.print(common.json, &BTreeMap::new());
    test.find_axes(&workspace)?;
    let runner = Runner::new(common, args, &workspace.backend)?;
    while let Some(added) = test.extend() {
        workspace.source = axes.extended(&test.added);
        workspace.plan = load_plan(&workspace.source, common)?;
        let members = test.members(&workspace);
        let wanted: BTreeSet<StageIndex> = members.values().flatten().copied().collect();
        if wanted.is_empty() {
            break;
        }
        let report = runner.run(&workspace, &Selection::needed_by(&workspace.plan, wanted))?;
        // Verdicts on those runs alone that did not fail would be verdicts on a choice.
        if let Some(kind) = ErrorKind::of_run(&report) {
            let retry = |_: &str| "to retry: run the same command".to_owned();
            failed_stages::print(&workspace, &report, retry);
            terminal::note("stopped; run the same command to resume");
            return Ok(kind.into());
        }
        test.analyze(&workspace, &members, &report)?;
        test.print(common.json, &added);
    }
    let left = undecided(&test.judged).count();
    if left > 0 {
        let most = bounds.most;
        terminal::note(&format!("{left} still undecided with at most {most} runs (`--most`)"));
    }
    let SequentialTest { judged, tables, last, number, .. } = test;
    let found = CachedTables { tables, missing: Vec::new() };
    let analyses = Some((last, number));
    Comparison { alpha: bounds.alpha, found, judged, analyses }.show(
        common,
        bounds.strict,
        workspace.source.path(),
    )
}

/// The interim analyses so far.
struct SequentialTest<'a> {
    axes: &'a Extendable<'a>,
    bounds: Bounds,
    tables: Vec<(String, Table)>,
    judged: Vec<Judged>,
    /// The last analysis of each judged cell.
    last: Vec<InterimAnalysis>,
    /// How many analyses there were.
    number: u32,
    /// The axis by which a table can be extended.
    extended: BTreeMap<String, String>,
    /// Labels added to each axis.
    added: BTreeMap<String, usize>,
}

impl<'a> SequentialTest<'a> {
    fn first(tables: Vec<(String, Table)>, axes: &'a Extendable<'a>, bounds: Bounds) -> Self {
        let alpha = spent_alpha(bounds.alpha, 1);
        let judged = judge(&tables, alpha);
        let table = |name: &str| tables.iter().find(|(known, _)| known == name);
        let runs =
            |judged: &Judged| table(&judged.table).map_or(0, |(_, table)| cell(table, judged).n);
        let analysis = |judged| InterimAnalysis { number: 1, alpha, first_runs: runs(judged) };
        let last = judged.iter().map(analysis).collect();
        let (extended, added) = (BTreeMap::new(), BTreeMap::new());
        Self { axes, bounds, tables, judged, last, number: 1, extended, added }
    }

    /// Finds the axes by which tables with undecided cells can be extended; an error if none can.
    fn find_axes(&mut self, workspace: &Workspace) -> Result<(), CommandError> {
        let undecided: BTreeSet<&str> = undecided(&self.judged).map(|cell| &*cell.table).collect();
        let mut fixed = Vec::new();
        for planned in
            workspace.plan.stages().iter().filter(|stage| undecided.contains(&*stage.name))
        {
            let AnyStage::Table(declared) = &*planned.stage else {
                continue;
            };
            let can_be_extended = |axis: &&String| self.axes.labels(axis).is_some();
            if let [axis] = declared.over.iter().filter(can_be_extended).collect::<Vec<_>>()[..] {
                self.extended.insert(planned.name.clone(), axis.clone());
            } else {
                fixed.push(format!(
                    "`{}` averages over {}; runs can be added if exactly one axis in `over` is a \
                     list of integers, such as `\"seed\": [0, 1, 2]`",
                    planned.name,
                    quoted(&declared.over)
                ));
            }
        }
        if self.extended.is_empty() && !fixed.is_empty() {
            return Err(CommandError::usage(fixed.join("\n")));
        }
        for message in fixed {
            terminal::note(&format!("note: {message}; its undecided cells stay undecided"));
        }
        Ok(())
    }

    /// Returns the undecided cells that may get more runs.
    fn extendable(&self) -> impl Iterator<Item = &Judged> {
        self.within_reach().filter(|cell| self.extended.contains_key(&cell.table))
    }

    /// Returns the undecided cells that as many runs as allowed are expected to decide.
    fn within_reach(&self) -> impl Iterator<Item = &Judged> {
        let most = self.bounds.most;
        undecided(&self.judged)
            .filter(move |cell| cell.runs_needed.is_some_and(|runs| runs <= most))
    }

    /// Extends the axes of undecided cells by half of their labels; returns the labels added.
    fn extend(&mut self) -> Option<BTreeMap<String, Vec<u64>>> {
        let axes: BTreeSet<String> =
            self.extendable().map(|cell| self.extended[&cell.table].clone()).collect();
        let mut added = BTreeMap::new();
        for axis in axes {
            let before = self.added.get(&axis).copied().unwrap_or_default();
            let labels = self.axes.labels(&axis).map_or(0, <[u64]>::len) + before;
            let step = labels.div_ceil(2).min(self.bounds.most.saturating_sub(labels));
            if step > 0 {
                let labels = self.axes.further(&axis, before + step);
                self.added.insert(axis.clone(), before + step);
                added.insert(axis, labels[before..].to_vec());
            }
        }
        (!added.is_empty()).then_some(added)
    }

    /// Returns the stages behind each table with undecided cells: its own, and the added ones that
    /// these cells need. A table without such stages can't be extended.
    fn members(&mut self, workspace: &Workspace) -> BTreeMap<String, Vec<StageIndex>> {
        let mut found = BTreeMap::new();
        for (name, table) in &self.tables {
            let cells: Vec<&Judged> =
                self.extendable().filter(|cell| cell.table == *name).collect();
            let Some(axis) = self.extended.get(name).filter(|_| !cells.is_empty()) else {
                continue;
            };
            let count = self.added.get(axis).copied().unwrap_or_default();
            let added = self.axes.further(axis, count);
            let undecided =
                UndecidedCells { plan: &workspace.plan, name, table, cells, axis, added };
            found.insert(name.clone(), undecided.members());
        }
        for (name, _) in found.iter().filter(|(_, members)| members.is_empty()) {
            let axis = self.extended.remove(name).unwrap_or_default();
            terminal::note(&format!(
                "note: `{name}` has no records for more labels of `{axis}`; its undecided cells \
                 stay undecided"
            ));
        }
        found
    }

    /// Fills the cells that got runs from all of theirs, and judges again.
    fn analyze(
        &mut self,
        workspace: &Workspace,
        members: &BTreeMap<String, Vec<StageIndex>>,
        report: &RunReport,
    ) -> Result<(), CommandError> {
        let extended: Vec<Judged> = self.extendable().cloned().collect();
        self.number += 1;
        let alpha = spent_alpha(self.bounds.alpha, self.number);
        for (name, table) in &mut self.tables {
            let Some(members) = members.get(name).filter(|members| !members.is_empty()) else {
                continue;
            };
            let cells = extended.iter().filter(|cell| cell.table == *name);
            refill(workspace, name, members, report, table, cells)?;
        }
        for (judged, last) in self.judged.iter().zip(&mut self.last) {
            if extended.contains(judged) {
                (last.number, last.alpha) = (self.number, alpha);
            }
        }
        self.judged = judge_again(&self.tables, alpha, &self.judged);
        Ok(())
    }

    /// Prints what the last analysis left undecided.
    fn print(&self, json: bool, added: &BTreeMap<String, Vec<u64>>) {
        let (number, alpha) = (self.number, spent_alpha(self.bounds.alpha, self.number));
        let undecided = undecided(&self.judged).count();
        let within_reach = self.within_reach().count();
        if json {
            terminal::json(&json!({
                "look": number, "alpha": alpha, "added": added, "undecided": undecided,
                "within_reach": within_reach,
            }));
            return;
        }
        let added: String = added.iter().map(|(axis, labels)| described(axis, labels)).collect();
        let all = self.judged.len();
        let most = self.bounds.most;
        terminal::note(&format!(
            "look {number} (alpha {alpha}): {added}{undecided} of {all} undecided, of which \
             {within_reach} need at most {most} runs"
        ));
    }
}

fn undecided(judged: &[Judged]) -> impl Iterator<Item = &Judged> {
    judged.iter().filter(|judged| judged.verdict.is_open())
}

/// Returns in words the consecutive labels that were added to an axis.
fn described(axis: &str, labels: &[u64]) -> String {
    match labels {
        [] => String::new(),
        [only] => format!("{axis} {only} added, "),
        [first, .., last] => format!("{axis} {first} to {last} added, "),
    }
}
