//! Where tables and the stages behind them are known from: the cache, or a report folder.

use std::path::PathBuf;

use serde_json::Value;

use crate::cli::commands::report::kept::KeptReport;
use crate::cli::error::CommandError;
use crate::cli::workspace::Workspace;
use crate::engine::digest::StageKey;
use crate::engine::run::status::StageStatus;
use crate::engine::stage::Labels;
use crate::engine::stage::artifact::Artifact;
use crate::engine::stage::run_record::RunRecord;
use crate::report::Table;
use crate::stages::AnyStage;

/// How a result was made.
pub(super) struct Made {
    /// Its key.
    pub(super) key: StageKey,
    /// Its settings.
    pub(super) settings: Value,
    /// The labels of its stage, where they are known.
    pub(super) labels: Option<Labels>,
    /// The stages that it read.
    pub(super) reads: Vec<String>,
    /// When and where it was computed, where that is known.
    pub(super) run: Option<RunRecord>,
    /// Its log, where there is one.
    pub(super) log: Option<PathBuf>,
}

/// Tables and how they were made.
pub(super) trait Sources {
    /// Returns the stage of a table, given its name or what the table is called.
    fn stage_of(&self, table: &str) -> Result<String, CommandError>;

    /// Returns the table of a stage.
    fn table(&self, stage: &str) -> Result<Table, CommandError>;

    /// Returns how the result of a stage was made, if there is one.
    fn made(&self, stage: &str) -> Result<Option<Made>, CommandError>;
}

/// A pipeline with its cache.
pub(super) struct Cached<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) statuses: &'a [StageStatus],
}

impl Sources for Cached<'_> {
    fn stage_of(&self, table: &str) -> Result<String, CommandError> {
        let stages = self.workspace.plan.stages();
        let is_called = |label: &str| label.eq_ignore_ascii_case(table);
        let called = stages.iter().find(
            |planned| matches!(&*planned.stage, AnyStage::Table(spec) if is_called(&spec.label)),
        );
        match (self.workspace.stage(table), called) {
            (Ok(stage), _) => Ok(stages[stage].name.clone()),
            (Err(_), Some(planned)) => Ok(planned.name.clone()),
            (Err(error), None) => Err(error),
        }
    }

    fn table(&self, stage: &str) -> Result<Table, CommandError> {
        let result = self.workspace.result(stage, self.statuses)?;
        if result.artifact.kind != "table" {
            let kind = &result.artifact.kind;
            return Err(CommandError::usage(format!("`{stage}` is a {kind}, not a table")));
        }
        let reader = self.workspace.cache.reader(&result.artifact);
        Table::read(&reader).map_err(CommandError::cache)
    }

    fn made(&self, stage: &str) -> Result<Option<Made>, CommandError> {
        let index = self.workspace.stage(stage)?;
        let StageStatus::Cached(result) = &self.statuses[index] else {
            return Ok(None);
        };
        let stages = self.workspace.plan.stages();
        let planned = &stages[index];
        let entry = self.workspace.cache.entry(&result.key)?;
        Ok(Some(Made {
            key: entry.key,
            labels: Some(planned.labels.clone()),
            reads: planned.members().map(|member| stages[member].name.clone()).collect(),
            log: Some(self.workspace.cache.log_path(&entry.key)),
            settings: entry.record.settings,
            run: Some(entry.run),
        }))
    }
}

/// A report folder.
pub(super) struct Kept(pub(super) KeptReport);

impl Sources for Kept {
    fn stage_of(&self, table: &str) -> Result<String, CommandError> {
        let Self(report) = self;
        let names: Vec<&str> = report.tables().collect();
        let is_named = |name: &&&str| name.eq_ignore_ascii_case(table);
        if let Some(name) = names.iter().find(is_named) {
            return Ok((*name).to_owned());
        }
        for name in &names {
            if report.table(name)?.label.eq_ignore_ascii_case(table) {
                return Ok((*name).to_owned());
            }
        }
        let folder = report.folder.display();
        let error = CommandError::usage(format!("{folder} has no table `{table}`"));
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        Err(error.hint(format!("its tables: {}", names.join(", "))))
    }

    fn table(&self, stage: &str) -> Result<Table, CommandError> {
        self.0.table(stage)
    }

    fn made(&self, stage: &str) -> Result<Option<Made>, CommandError> {
        let entry = self.0.manifest.stages.get(stage);
        Ok(entry.map(|entry| Made {
            key: entry.key,
            settings: entry.record.settings.clone(),
            labels: None,
            reads: entry.reads.clone(),
            run: None,
            log: None,
        }))
    }
}
