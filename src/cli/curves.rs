//! Training curves for TensorBoard, of trainings that this run has not computed itself: the others show
//! theirs while they run.

use std::path::Path;

use super::error::CommandError;
use super::workspace::Workspace;
use crate::engine::run::options::RunReport;
use crate::stages::{TrainingHistory, write_curves};

/// Writes the curves that the folder lacks, each below the name of its stage.
pub(crate) fn write_missing(
    workspace: &Workspace,
    report: &RunReport,
    folder: &Path,
) -> Result<(), CommandError> {
    for (&stage, result) in &report.results {
        if result.artifact.kind != "model" {
            continue;
        }
        let reader = workspace.cache.reader(&result.artifact);
        let history = TrainingHistory::of_model(&reader).map_err(CommandError::cache)?;
        let folder = folder.join(&workspace.plan.stages()[stage].name);
        if let Some(history) = history.filter(|history| !history.rows.is_empty()) {
            let run = workspace.cache.entry(&result.key)?.run;
            write_curves(&folder, &result.key.short(), &history, &run)
                .map_err(|cause| CommandError::failed(format!("{}: {cause}", folder.display())))?;
        }
    }
    Ok(())
}
