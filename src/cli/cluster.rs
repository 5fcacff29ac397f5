//! Runs a pipeline on a cluster: the executor for it, a run that is a job itself, and what was used.

use std::collections::BTreeMap;
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use serde_json::json;

use super::args::Common;
use super::error::CommandError;
use super::output::terminal;
use super::workspace::Workspace;
use crate::engine::cache::Cache;
use crate::engine::executor::slurm::{
    Controller, Demand, Efficiency, JobState, NoAnswer, Slurm, SlurmCommands, SlurmOptions,
    SubmitError, TaskStatus, placed,
};
use crate::engine::plan::StageIndex;
use crate::engine::site::quantity::{duration_text, size_text};
use crate::engine::site::{CHOICE_VARIABLE, Site};
use crate::engine::stage::{Needs, StageSet};

/// The kind by which a site file gives resources to a run that is a job itself.
pub(super) const RUNNER: &str = "Runner";

/// The kind by which a site file gives resources to the job of `doctor`.
pub(super) const DOCTOR: &str = "Doctor";

/// Kinds of a site file that are no stage kinds.
pub(super) const KINDS: [&str; 2] = [RUNNER, DOCTOR];

/// Stages that may be handed over at once; more wait their turn here.
pub(super) const MOST_STAGES: usize = 20_000;

/// Makes the executor.
pub(super) fn executor<'a>(
    common: &'a Common,
    workspace: &'a Workspace,
    predicted: &BTreeMap<StageIndex, f64>,
    leave: Arc<AtomicBool>,
) -> Result<Slurm<'a, SlurmCommands>, CommandError> {
    let mut command = vec![program(&common.site)?.to_string_lossy().into_owned()];
    command.extend(["--cache".to_owned(), absolute_cache(common).to_string_lossy().into_owned()]);
    command.extend(["worker".to_owned(), "--batch".to_owned()]);
    let options = SlurmOptions {
        pipeline: workspace.plan.name().to_owned(),
        on_gpu: !common.device.is_processor(),
        predicted: predicted.clone(),
        command,
        leave,
    };
    Ok(Slurm::new(&common.site, &workspace.cache, SlurmCommands::default(), options))
}

/// Submits this very command as a job that submits the others, and returns.
pub(super) fn detach(common: &Common, workspace: &Workspace) -> Result<(), CommandError> {
    let site = &common.site;
    let name = runner_name(&workspace.cache, workspace.plan.name());
    let resources = site.resources(RUNNER, RUNNER, false);
    let (resources, partition) = placed(site, &resources)?;
    // Nodes have other names than the host by which the site was found.
    let mut command = vec!["env".to_owned(), format!("{CHOICE_VARIABLE}={}", site.name)];
    command.push(program(site)?.to_string_lossy().into_owned());
    command
        .extend(env::args().skip(1).filter(|given| given != "--detach" && given != "--detached"));
    command.push("--detached".to_owned());
    if let (None, Some(file)) = (&common.given_site, site.file()) {
        command.push(format!("--site={}", file.display()));
    }
    let here = env::current_dir().map_err(CommandError::failed)?;
    let log = log_path(common, &name);
    if let Some(folder) = log.parent() {
        fs::create_dir_all(folder).map_err(CommandError::failed)?;
    }
    let demand = Demand { site, resources: &resources, partition, excluded: &[] };
    let request = demand.runner(&name, &here, &command, &log);
    let job = SlurmCommands::default().submit(&request).map_err(|error| match error {
        SubmitError::Later(message)
        | SubmitError::Unknown(message)
        | SubmitError::Refused(message) => {
            CommandError::failed(format!("the run was not submitted: {message}"))
        }
    })?;
    if common.json {
        terminal::json(&json!({"event": "detached", "job": job, "log": log}));
        return Ok(());
    }
    let file = workspace.source.path().display();
    terminal::note(&format!("submitted as Slurm job {job}, which submits the stages"));
    terminal::note(&format!("progress: `pcae-run status {file}`"));
    terminal::note(&format!("results:  `pcae-run {file} --wait`"));
    terminal::note(&format!("to end:   `pcae-run cancel {file}`"));
    terminal::note(&format!("it prints to {}", log.display()));
    Ok(())
}

/// Waits for the end of a run of this pipeline that is a job itself, if there is one; returns its log.
pub(super) fn join(
    common: &Common,
    workspace: &Workspace,
) -> Result<Option<PathBuf>, CommandError> {
    let name = runner_name(&workspace.cache, workspace.plan.name());
    let mut slurm = SlurmCommands::default();
    let mut joined = None;
    loop {
        let pause = match runner(&mut slurm, &name) {
            Ok(None) => return Ok(joined),
            Ok(Some(runner)) if joined.is_none() => {
                terminal::note(&format!(
                    "Slurm job {} runs this pipeline: waiting for it (Ctrl-C leaves it running)",
                    runner.id.0
                ));
                joined = Some(log_path(common, &name));
                common.site.poll
            }
            Ok(Some(_)) => common.site.poll,
            Err(NoAnswer(message)) if joined.is_none() => {
                return Err(no_answer(&message));
            }
            Err(NoAnswer(_)) => common.site.poll.max(Duration::from_secs(10)),
        };
        thread::sleep(pause);
    }
}

/// Returns the run of a pipeline that is a job itself, if one is in the queue.
fn runner(slurm: &mut SlurmCommands, name: &str) -> Result<Option<TaskStatus>, NoAnswer> {
    let is_live = |task: &TaskStatus| !matches!(task.state, JobState::Ended(_));
    Ok(slurm.queue()?.into_iter().find(|task| task.name == name && is_live(task)))
}

/// The error of a scheduler that can't be asked.
pub(super) fn no_answer(message: &str) -> CommandError {
    CommandError::failed(format!("Slurm does not answer: {message}"))
        .hint("jobs that are in the queue go on; try again later")
}

/// Returns the name of the job that runs a pipeline on a cache.
pub(super) fn runner_name(cache: &Cache, pipeline: &str) -> String {
    let folder = std::path::absolute(cache.root()).unwrap_or_else(|_| cache.root().to_owned());
    let digest = blake3::hash(format!("{} {pipeline}", folder.display()).as_bytes());
    format!("pcae-run-{}", &digest.to_hex()[..12])
}

/// Shows what stages asked for and used, and what they might ask for next time.
pub(super) fn print_efficiency(common: &Common, efficiency: &Efficiency, calls: usize) {
    let rows: Vec<_> = efficiency.kinds().collect();
    if rows.is_empty() {
        return;
    }
    if common.json {
        for row in rows {
            terminal::json(&json!({
                "event": "efficiency", "kind": row.kind, "stages": row.stages,
                "asked_seconds": row.asked_seconds, "used_seconds": row.used_seconds,
                "asked_bytes": row.asked_memory, "used_bytes": row.used_memory,
                "enough_seconds": row.proposed_time().as_secs(),
                "enough_bytes": row.proposed_memory(),
            }));
        }
        terminal::json(&json!({"event": "scheduler", "calls": calls}));
        return;
    }
    let memory = |bytes: Option<u64>| bytes.map_or_else(|| "-".to_owned(), terminal::size);
    let time = |seconds: u64| terminal::whole_duration(seconds as f64);
    let mut lines = vec![
        ["kind", "stages", "time asked", "used", "enough", "memory asked", "used", "enough"]
            .map(str::to_owned),
    ];
    for row in rows {
        lines.push([
            row.kind.clone(),
            row.stages.to_string(),
            time(row.asked_seconds),
            time(row.used_seconds),
            time(row.proposed_time().as_secs()),
            memory(Some(row.asked_memory)),
            memory(row.used_memory),
            memory(row.proposed_memory()),
        ]);
    }
    let width = |column: usize| lines.iter().map(|line| line[column].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..lines[0].len()).map(width).collect();
    for line in &lines {
        let cells = line.iter().zip(&widths).map(|(cell, &width)| format!("{cell:<width$}"));
        terminal::note(cells.collect::<Vec<_>>().join("  ").trim_end());
    }
    let calls = terminal::count(calls, "command");
    terminal::note(&format!(
        "{calls} of Slurm were called; `used` is the most of any stage of a kind"
    ));
}

pub(super) fn absolute_cache(common: &Common) -> PathBuf {
    std::path::absolute(&common.cache).unwrap_or_else(|_| common.cache.clone())
}

/// Returns where a job of a name prints to.
pub(super) fn log_path(common: &Common, name: &str) -> PathBuf {
    absolute_cache(common).join("logs").join("slurm").join(format!("{name}.log"))
}

/// Returns the program as nodes find it.
pub(super) fn program(site: &Site) -> Result<PathBuf, CommandError> {
    match &site.program {
        Some(program) => Ok(program.clone()),
        None => env::current_exe().map_err(CommandError::failed),
    }
}

/// Shows what stages would ask for, and where that is written.
pub(super) fn print_resources(common: &Common, workspace: &Workspace, due: &[StageIndex]) {
    let site = &common.site;
    let on_gpu = !common.device.is_processor();
    let mut groups: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for planned in due.iter().map(|&stage| &workspace.plan.stages()[stage]) {
        let stage = planned.stage.as_stage();
        let (kind, name) = (stage.kind().name, planned.name.as_str());
        let wanted = site.resources(kind, name, on_gpu && stage.needs() == Needs::Device);
        let origins = site.resource_origins(kind, name);
        let limit = planned.limits.timeout.map(Duration::from_secs);
        let mut text = format!(
            "{kind}: {} ({}), {} ({}), {} ({})",
            terminal::count(wanted.cpus, "processor"),
            origins.cpus,
            size_text(wanted.memory),
            origins.memory,
            duration_text(wanted.time),
            origins.time,
        );
        if wanted.gpus > 0 {
            let _ = write!(text, ", {} ({})", terminal::count(wanted.gpus, "GPU"), origins.gpus);
        }
        if let Some(limit) = limit {
            let _ = write!(text, ", ended after {} (limits of the pipeline)", duration_text(limit));
        }
        match placed(site, &wanted) {
            Ok((given, Some(partition))) => {
                let _ = write!(text, ", partition {}", partition.name);
                if given.time < wanted.time {
                    let _ = write!(text, ", in jobs of {}", duration_text(given.time));
                }
            }
            Ok((_, None)) => {}
            Err(error) => {
                let _ = write!(text, ": {error}");
            }
        }
        groups.entry(text).or_default().push(name);
    }
    terminal::note(&format!("as Slurm jobs of the site `{}`:", site.name));
    for (text, stages) in groups {
        let stages = match stages[..] {
            [only] => only.to_owned(),
            _ => terminal::count(stages.len(), "stage"),
        };
        terminal::note(&format!("  {stages}: {text}"));
    }
}
