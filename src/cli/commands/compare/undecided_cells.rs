//! The records behind the cells of a table whose verdict takes more runs.

use std::collections::BTreeSet;

use crate::cli::error::CommandError;
use crate::cli::workspace::Workspace;
use crate::engine::plan::{Plan, PlannedStage, StageIndex};
use crate::engine::run::options::RunReport;
use crate::engine::stage::StageSet;
use crate::engine::stage::artifact::Artifact;
use crate::report::{Judged, Labels, Record, Table, ValueSpec, Values, tabulate};
use crate::stages::AnyStage;

/// Undecided cells of one table, in a plan where one of the axes is extended.
pub(super) struct UndecidedCells<'a> {
    /// The plan.
    pub plan: &'a Plan<AnyStage>,
    /// The table's stage.
    pub name: &'a str,
    /// The table so far.
    pub table: &'a Table,
    /// Its undecided cells.
    pub cells: Vec<&'a Judged>,
    /// The axis that is extended.
    pub axis: &'a str,
    /// The labels that are added to it.
    pub added: Vec<u64>,
}

impl UndecidedCells<'_> {
    /// Returns the stages whose records fill the table: all that the pipeline file has, and of the
    /// added ones those that belong to undecided cells. Nothing if there are none of the latter.
    pub(super) fn members(&self) -> Vec<StageIndex> {
        let Some(planned) = self.plan.find(self.name).map(|stage| &self.plan.stages()[stage])
        else {
            return Vec::new();
        };
        let AnyStage::Table(declared) = &*planned.stage else {
            return Vec::new();
        };
        let stage = |member: StageIndex| &self.plan.stages()[member];
        let all: Vec<StageIndex> = planned.members().collect();
        let (added, own): (Vec<_>, Vec<_>) =
            all.iter().copied().partition(|&member| self.is_added(stage(member)));
        let mut wanted = BTreeSet::new();
        for cell in &self.cells {
            let value = &self.table.columns[cell.column].value.name;
            let Some(value) = declared.values.iter().find(|known| known.name() == *value) else {
                continue;
            };
            let labels = self.labels(cell);
            // Records with the value that lack a shown axis get it from those they are joined with.
            let has_value = |member: &&StageIndex| may_have(&stage(**member).stage, &value.field);
            let alone = all
                .iter()
                .filter(has_value)
                .all(|&member| labels.keys().all(|axis| stage(member).labels.contains_key(axis)));
            let takes = |member: &&StageIndex| {
                (!alone || has_value(member)) && fits(stage(**member), &labels, value)
            };
            wanted.extend(added.iter().filter(takes));
        }
        if wanted.is_empty() {
            return Vec::new();
        }
        wanted.extend(own);
        // In the order in which the table reads them.
        all.into_iter().filter(|member| wanted.contains(member)).collect()
    }

    fn is_added(&self, stage: &PlannedStage<AnyStage>) -> bool {
        let label = stage.labels.get(self.axis).and_then(|label| label.parse().ok());
        label.is_some_and(|label| self.added.contains(&label))
    }

    /// Returns the labels of a cell by axis.
    fn labels(&self, cell: &Judged) -> Labels {
        let rows = self.table.row_axes.iter().zip(&self.table.rows[cell.row].labels);
        let columns = self.table.column_axes.iter().zip(&self.table.columns[cell.column].labels);
        rows.chain(columns).map(|(axis, label)| (axis.name.clone(), label.name.clone())).collect()
    }
}

/// Returns whether a stage's record has a value, as far as that is known beforehand.
fn may_have(stage: &AnyStage, field: &String) -> bool {
    stage.as_stage().values().is_none_or(|values| values.contains(field))
}

/// Returns whether the record of a stage belongs to a cell, by the axes that it has.
fn fits(stage: &PlannedStage<AnyStage>, cell: &Labels, value: &ValueSpec) -> bool {
    let mut labels = cell.iter().chain(&value.at);
    labels.all(|(axis, label)| stage.labels.get(axis).is_none_or(|own| own == label))
}

/// Fills the undecided cells of a table from the records of some stages.
pub(super) fn refill<'a>(
    workspace: &Workspace,
    name: &str,
    members: &[StageIndex],
    report: &RunReport,
    table: &mut Table,
    cells: impl Iterator<Item = &'a Judged>,
) -> Result<(), CommandError> {
    let stages = workspace.plan.stages();
    let planned = workspace.plan.find(name).map(|stage| &*stages[stage].stage);
    let Some(AnyStage::Table(declared)) = planned else {
        return Ok(());
    };
    let mut records = Vec::with_capacity(members.len());
    for member in members {
        if let Some(result) = report.results.get(member) {
            let reader = workspace.cache.reader(&result.artifact);
            let values = Values::read(&reader).map_err(CommandError::cache)?;
            let labels = stages[*member].labels.clone();
            records.push(Record::new(labels, values).map_err(CommandError::failed)?);
        }
    }
    let fresh = tabulate(declared, &records).map_err(CommandError::failed)?;
    for cell in cells {
        let (row, column) = (&table.rows[cell.row].labels, &table.columns[cell.column]);
        let row = fresh.rows.iter().find(|found| found.labels == *row);
        let column = fresh
            .columns
            .iter()
            .position(|found| (&found.labels, &found.value) == (&column.labels, &column.value));
        if let (Some(row), Some(column)) = (row, column) {
            table.rows[cell.row].cells[cell.column] = row.cells[column].clone();
        }
    }
    Ok(())
}
