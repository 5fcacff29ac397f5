//! `pcae-run cancel`: ends the jobs of a pipeline on a cluster, from any machine that sees the cache.

use std::path::Path;

use serde_json::json;

use crate::cli::args::Common;
use crate::cli::cluster;
use crate::cli::error::CommandError;
use crate::cli::output::terminal;
use crate::cli::workspace::Workspace;
use crate::engine::executor::slurm::{Batch, Controller, JobState, NoAnswer, SlurmCommands};
/// Cancels the jobs of a pipeline; their stages save their state.
pub(super) fn cancel(common: &Common, file: Option<&Path>) -> Result<(), CommandError> {
    let workspace = Workspace::open(common, file)?;
    let mut slurm = SlurmCommands::default();
    let no_answer = |NoAnswer(message)| cluster::no_answer(&message);
    let pipeline = workspace.plan.name();
    let batches = Batch::all(&workspace.cache.jobs());
    let own: Vec<&Batch> = batches.iter().filter(|batch| batch.pipeline == pipeline).collect();
    let names: Vec<&str> = own.iter().map(|batch| batch.name.as_str()).collect();
    let runner = cluster::runner_name(&workspace.cache, pipeline);
    let queue = slurm.queue().map_err(no_answer)?;
    let is_live = |state: &JobState| !matches!(state, JobState::Ended(_));
    let mut ids: Vec<_> = queue
        .iter()
        .filter(|task| names.contains(&task.name.as_str()) || task.name == runner)
        .filter(|task| is_live(&task.state))
        .collect();
    // The runner first: it would submit others in their place.
    ids.sort_by_key(|task| task.name != runner);
    let ids: Vec<_> = ids.into_iter().map(|task| task.id.clone()).collect();
    slurm.cancel(&ids).map_err(no_answer)?;
    let is_over = |batch: &Batch| {
        let is_in_queue = queue.iter().any(|task| task.name == batch.name && is_live(&task.state));
        batch.job.is_some() && !is_in_queue && !workspace.cache.is_living(&batch.run)
    };
    for batch in own.iter().filter(|batch| batch.is_of(&common.site.name) && is_over(batch)) {
        batch.remove(&workspace.cache.jobs());
    }
    if common.json {
        let ids: Vec<&str> = ids.iter().map(|id| id.0.as_str()).collect();
        terminal::json(&json!({"event": "cancelled", "jobs": ids}));
    } else if ids.is_empty() {
        terminal::note(&format!("no jobs of `{pipeline}` are in the queue"));
    } else {
        let jobs = terminal::count(ids.len(), "job");
        terminal::note(&format!("cancelled {jobs} of `{pipeline}`; run it again to go on"));
    }
    Ok(())
}
