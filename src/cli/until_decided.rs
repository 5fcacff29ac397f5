//! `pcae-run compare --until-decided`: adds runs where verdicts are inconclusive, and looks again.
//!
//! The axis that a table averages over goes on with further labels, in memory only. Of the stages
//! that this makes, those run that open cells need, by the same scheduler and cache as any run; so
//! a second call finds them cached and repeats the same looks. Each look has its own share of
//! alpha; what it decides stays, with the runs it was decided by.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::ExitCode;

use serde_json::json;

use super::args::{Common, MannerArgs};
use super::compare::{Comparison, Found, Look, cell, nothing_published, tables};
use super::execute::{Runner, code};
use super::failure::Failure;
use super::open_cells::{OpenCells, refill};
use super::postmortem;
use super::session::{Session, load_extendable, load_plan};
use super::terminal;
use crate::engine::extend::Extendable;
use crate::engine::plan::StageIndex;
use crate::engine::run::RunReport;
use crate::engine::select::Selection;
use crate::report::{Judged, Table, Verdict, judge, judge_again};
use crate::stages::AnyStage;
use crate::statistics::spent_alpha;

/// What the looks must keep to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Chance of any wrong verdict of a kind, over all cells and looks.
    pub alpha: f64,
    /// Labels that an axis may have.
    pub most: usize,
    /// Whether a number that is not confirmed makes the exit code 4.
    pub strict: bool,
}

/// Judges every published number, with as many runs as that takes.
pub(super) fn compare(
    common: &Common,
    args: &MannerArgs,
    bounds: Bounds,
    file: Option<&Path>,
) -> Result<ExitCode, Failure> {
    let mut session = Session::open(common, file)?;
    let found = tables(&session)?;
    if found.missing > 0 {
        let file = session.source.path().display();
        return Err(Failure::usage(format!(
            "runs are added to what the tables have: run `pcae-run {file}` first"
        )));
    }
    let own = session.source.clone();
    let axes = load_extendable(&own, common)?;
    let mut looks = Looks::first(found.tables, &axes, bounds);
    if looks.judged.is_empty() {
        return Err(nothing_published(&session));
    }
    looks.tell(common.json, &BTreeMap::new());
    looks.find_axes(&session)?;
    let runner = Runner::new(common, args, &session.backend)?;
    while let Some(added) = looks.grow() {
        session.source = axes.extended(&looks.further);
        session.plan = load_plan(&session.source, common)?;
        let members = looks.members(&session);
        let wanted: BTreeSet<StageIndex> = members.values().flatten().copied().collect();
        if wanted.is_empty() {
            break;
        }
        let report = runner.run(&session, &Selection::needed_by(&session.plan, wanted))?;
        // Verdicts on those runs alone that did not fail would be verdicts on a choice.
        if code(&report) != 0 {
            postmortem::explain(&session, &report, |_| "the same command tries again".to_owned());
            terminal::note("stopped: the same command goes on from here");
            return Ok(ExitCode::from(code(&report)));
        }
        looks.look_again(&session, &members, &report)?;
        looks.tell(common.json, &added);
    }
    let open = looks.open().count();
    if open > 0 {
        let most = bounds.most;
        terminal::note(&format!("{open} inconclusive with all labels allowed (`--most {most}`)"));
    }
    let (judged, count) = (looks.judged, looks.number);
    let found = Found { tables: looks.tables, missing: 0 };
    let looks = Some((looks.last, count));
    Comparison { alpha: bounds.alpha, found, judged, looks }.show(common, bounds.strict, &session)
}

/// The looks so far.
struct Looks<'a> {
    axes: &'a Extendable<'a>,
    bounds: Bounds,
    tables: Vec<(String, Table)>,
    judged: Vec<Judged>,
    /// The last look at each judged cell.
    last: Vec<Look>,
    /// How many looks there were.
    number: u32,
    /// The axis by which a table can grow.
    growing: BTreeMap<String, String>,
    /// Labels added to each axis.
    further: BTreeMap<String, usize>,
}

impl<'a> Looks<'a> {
    fn first(tables: Vec<(String, Table)>, axes: &'a Extendable<'a>, bounds: Bounds) -> Self {
        let alpha = spent_alpha(bounds.alpha, 1);
        let judged = judge(&tables, alpha);
        let table = |name: &str| tables.iter().find(|(known, _)| known == name);
        let runs =
            |judged: &Judged| table(&judged.table).map_or(0, |(_, table)| cell(table, judged).n);
        let look = |judged| Look { number: 1, alpha, first_runs: runs(judged) };
        let last = judged.iter().map(look).collect();
        let (growing, further) = (BTreeMap::new(), BTreeMap::new());
        Self { axes, bounds, tables, judged, last, number: 1, growing, further }
    }

    /// Finds the axes by which tables with open cells can grow; an error if none can.
    fn find_axes(&mut self, session: &Session) -> Result<(), Failure> {
        let open: BTreeSet<&str> = inconclusive(&self.judged).map(|cell| &*cell.table).collect();
        let mut stuck = Vec::new();
        for planned in session.plan.stages().iter().filter(|stage| open.contains(&*stage.name)) {
            let AnyStage::Table(declared) = &*planned.stage else {
                continue;
            };
            let can_grow = |axis: &&String| self.axes.labels(axis).is_some();
            if let [axis] = declared.over.iter().filter(can_grow).collect::<Vec<_>>()[..] {
                self.growing.insert(planned.name.clone(), axis.clone());
            } else {
                stuck.push(format!(
                    "`{}` averages over {}; runs can be added if exactly one axis in `over` is a \
                     list of integers, such as `\"seed\": [0, 1, 2]`",
                    planned.name,
                    quoted(&declared.over)
                ));
            }
        }
        if self.growing.is_empty() && !stuck.is_empty() {
            return Err(Failure::usage(stuck.join("\n")));
        }
        for message in stuck {
            terminal::note(&format!("note: {message}; its open cells stay open"));
        }
        Ok(())
    }

    /// Returns the cells that may get further runs.
    fn open(&self) -> impl Iterator<Item = &Judged> {
        inconclusive(&self.judged).filter(|cell| self.growing.contains_key(&cell.table))
    }

    /// Lets the axes of open cells go on by half of their labels; returns the labels added.
    fn grow(&mut self) -> Option<BTreeMap<String, Vec<u64>>> {
        let axes: BTreeSet<String> =
            self.open().map(|cell| self.growing[&cell.table].clone()).collect();
        let mut added = BTreeMap::new();
        for axis in axes {
            let before = self.further.get(&axis).copied().unwrap_or_default();
            let labels = self.axes.labels(&axis).map_or(0, <[u64]>::len) + before;
            let step = labels.div_ceil(2).min(self.bounds.most.saturating_sub(labels));
            if step > 0 {
                let further = self.axes.further(&axis, before + step);
                self.further.insert(axis.clone(), before + step);
                added.insert(axis, further[before..].to_vec());
            }
        }
        (!added.is_empty()).then_some(added)
    }

    /// Returns the stages behind each table with open cells: its own, and the further ones that
    /// these cells take. A table that gets none can't grow.
    fn members(&mut self, session: &Session) -> BTreeMap<String, Vec<StageIndex>> {
        let mut found = BTreeMap::new();
        for (name, table) in &self.tables {
            let open: Vec<&Judged> = self.open().filter(|cell| cell.table == *name).collect();
            let Some(axis) = self.growing.get(name).filter(|_| !open.is_empty()) else {
                continue;
            };
            let count = self.further.get(axis).copied().unwrap_or_default();
            let further = self.axes.further(axis, count);
            let cells = OpenCells { plan: &session.plan, name, table, open, axis, further };
            found.insert(name.clone(), cells.members());
        }
        for (name, _) in found.iter().filter(|(_, members)| members.is_empty()) {
            let axis = self.growing.remove(name).unwrap_or_default();
            terminal::note(&format!(
                "note: `{name}` reads no records of further labels of `{axis}`; its open cells \
                 stay open"
            ));
        }
        found
    }

    /// Fills the open cells from all runs and judges them again.
    fn look_again(
        &mut self,
        session: &Session,
        members: &BTreeMap<String, Vec<StageIndex>>,
        report: &RunReport,
    ) -> Result<(), Failure> {
        self.number += 1;
        let alpha = spent_alpha(self.bounds.alpha, self.number);
        for (name, table) in &mut self.tables {
            let Some(members) = members.get(name).filter(|members| !members.is_empty()) else {
                continue;
            };
            let open = inconclusive(&self.judged).filter(|cell| cell.table == *name);
            refill(session, name, members, report, table, open)?;
        }
        for (judged, last) in self.judged.iter().zip(&mut self.last) {
            if is_open(judged) {
                (last.number, last.alpha) = (self.number, alpha);
            }
        }
        self.judged = judge_again(&self.tables, alpha, &self.judged);
        Ok(())
    }

    /// Says what the last look left open.
    fn tell(&self, json: bool, added: &BTreeMap<String, Vec<u64>>) {
        let (number, alpha) = (self.number, spent_alpha(self.bounds.alpha, self.number));
        let open = inconclusive(&self.judged).count();
        if json {
            terminal::json(&json!({
                "look": number, "alpha": alpha, "added": added, "inconclusive": open,
            }));
            return;
        }
        let added: String = added.iter().map(|(axis, labels)| told(axis, labels)).collect();
        let all = self.judged.len();
        terminal::note(&format!(
            "look {number} (alpha {alpha}): {added}{open} of {all} inconclusive"
        ));
    }
}

fn inconclusive(judged: &[Judged]) -> impl Iterator<Item = &Judged> {
    judged.iter().filter(|judged| is_open(judged))
}

const fn is_open(judged: &Judged) -> bool {
    matches!(judged.verdict, Verdict::Inconclusive { .. })
}

/// Returns the labels that were added to an axis, which follow on each other.
fn told(axis: &str, labels: &[u64]) -> String {
    match labels {
        [] => String::new(),
        [only] => format!("{axis} {only} added, "),
        [first, .., last] => format!("{axis} {first} to {last} added, "),
    }
}

fn quoted(axes: &[String]) -> String {
    let axes: Vec<_> = axes.iter().map(|axis| format!("`{axis}`")).collect();
    if axes.is_empty() { "nothing".to_owned() } else { axes.join(", ") }
}
