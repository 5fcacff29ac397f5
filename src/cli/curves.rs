//! Training curves for TensorBoard, of trainings that this run has not computed itself: the others show
//! theirs while they run.

use std::io;
use std::path::Path;

use super::error::CommandError;
use super::workspace::Workspace;
use crate::engine::run::options::RunReport;
use crate::engine::stage::run_record::RunRecord;
use crate::stages::{EPOCH_SECONDS, TrainingHistory};
use crate::training::{EventFile, History};

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
            write(&folder, &result.key.short(), &history, &run)
                .map_err(|cause| CommandError::failed(format!("{}: {cause}", folder.display())))?;
        }
    }
    Ok(())
}

fn write(folder: &Path, owner: &str, history: &History, run: &RunRecord) -> io::Result<()> {
    if EventFile::is_complete(folder, owner, history) {
        return Ok(());
    }
    let seconds = run.measured.get(EPOCH_SECONDS).map(Vec::as_slice).unwrap_or_default();
    let later = |epoch: usize| seconds.iter().skip(epoch + 1).sum::<f64>();
    let time = |epoch: usize| run.finished as f64 - later(epoch);
    EventFile::create(folder, owner, time(0))?.update(history, time)
}
