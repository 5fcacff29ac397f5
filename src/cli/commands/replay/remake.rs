//! Runs stages of a bundle again, each with the inputs that it has there, and compares their results.
//!
//! Every stage runs in a process of its own, in the folder of the replay. None is run that would start
//! another program, read a file from outside or use the network.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::outcome::{Findings, Item, Outcome};
use super::replayed::Replayed;
use super::tolerance;
use crate::cli::args::Common;
use crate::cli::error::CommandError;
use crate::engine::cache::Reuse;
use crate::engine::executor::{Executor, Local, Submission, Urgency};
use crate::engine::job::{Job, JobEvent, JobOutcome};
use crate::engine::plan::StageIndex;
use crate::engine::stage::StageSet;
use crate::engine::stage::artifact::{ArtifactReader, StoredArtifact};
use crate::engine::stage::context::DownloadPolicy;
use crate::engine::system::host;
use crate::engine::system::process::{adopt_orphans, this_program};
use crate::stages::why_outside;

/// How long nothing may be heard from a stage until it is asked whether to stop.
const PAUSE: Duration = Duration::from_millis(100);

/// The name of the run in job files.
const RUN: &str = "replay";

/// Stages that run again.
pub(super) struct Remaker<'a> {
    pub(super) common: &'a Common,
    pub(super) replayed: &'a Replayed,
    /// Set when the user wants it to end.
    pub(super) stop: &'a AtomicBool,
}

impl Remaker<'_> {
    /// Runs stages and adds what came of each.
    pub(super) fn run(
        &self,
        stages: &[StageIndex],
        findings: &mut Findings,
    ) -> Result<(), CommandError> {
        let mut waiting = VecDeque::new();
        for &stage in stages {
            match self.job(stage)? {
                Ok(job) => waiting.push_back((stage, job)),
                Err(why) => findings.push(self.item(stage, Outcome::NotPossible, why), self.json()),
            }
        }
        let at_once = self.common.jobs.unwrap_or_else(host::cores);
        // A GPU may have no memory for several.
        let at_once = if self.common.device.is_processor() { at_once } else { 1 };
        let mut executor = self.executor()?;
        let mut running = BTreeMap::new();
        while !(waiting.is_empty() && running.is_empty()) {
            while running.len() < at_once
                && let Some((stage, job)) = waiting.pop_front()
            {
                executor.submit(self.submission(stage, job, at_once));
                running.insert(stage, Instant::now());
            }
            if self.stop.load(Ordering::Relaxed) {
                executor.stop(Urgency::Now);
                return Err(CommandError::interrupted("stopped"));
            }
            if let Some((stage, JobEvent::Ended(outcome))) = executor.next(PAUSE)
                && let Some(began) = running.remove(&stage)
            {
                let item = self.compared(stage, outcome);
                findings.push(item.took(began.elapsed().as_secs_f64()), self.json());
            }
        }
        Ok(())
    }

    /// Returns why a stage can't be run again, if so, without asking what it takes to.
    pub(super) fn obstacle(&self, stage: StageIndex) -> Result<Option<String>, CommandError> {
        Ok(self.job(stage)?.err())
    }

    const fn json(&self) -> bool {
        self.common.json
    }

    /// Makes the job of a stage, or says why it can't be run again.
    fn job(&self, stage: StageIndex) -> Result<Result<Job, String>, CommandError> {
        let Replayed { workspace, .. } = self.replayed;
        let planned = &workspace.plan.stages()[stage];
        if let Some(why) = why_outside(&planned.stage) {
            return Ok(Err(why.to_owned()));
        }
        let Some((listed, entry)) = self.replayed.result(&planned.name) else {
            return Ok(Err("its result is not in the bundle".to_owned()));
        };
        if let Some(difference) = self.replayed.key_differences(planned)?.first() {
            return Ok(Err(format!("this program would make something else: {difference}")));
        }
        let backend = entry.record.backend.as_deref();
        if let Some(backend) = backend.filter(|backend| **backend != workspace.backend) {
            return Ok(Err(format!("it was computed by {backend}: choose it with `--device`")));
        }
        let inputs = planned.inputs.iter().map(|input| self.replayed.input(input));
        Ok(match inputs.collect::<Result<Vec<_>, _>>() {
            Err(name) => Err(format!("its input `{name}` is not in the bundle")),
            Ok(inputs) => Ok(Job {
                key: listed.key,
                record: listed.record.clone(),
                pipeline: workspace.plan.name().to_owned(),
                stage: planned.name.clone(),
                text: planned.text.clone(),
                inputs,
                files: BTreeMap::new(),
                device: self.common.device.first().to_string(),
                curves: None,
                downloads: DownloadPolicy { folders: Vec::new(), offline: true },
                reuse: Reuse::Refused,
                work: None,
            }),
        })
    }

    fn submission(&self, stage: StageIndex, job: Job, at_once: usize) -> Submission {
        let Replayed { workspace, .. } = self.replayed;
        let kind = workspace.plan.stages()[stage].stage.as_stage();
        Submission {
            stage,
            kind: kind.kind().name.to_owned(),
            needs: kind.needs(),
            run: RUN.to_owned(),
            job_path: workspace.cache.job_path(&job.key, RUN),
            log_path: workspace.cache.log_path(&job.key),
            threads: (host::cores() / at_once).max(1),
            timeout: None,
            job,
        }
    }

    fn executor(&self) -> Result<Local, CommandError> {
        let program = this_program().map_err(CommandError::failed)?;
        let cache = self.replayed.workspace.cache.root().to_string_lossy().into_owned();
        let arguments = vec!["--cache".to_owned(), cache, "stage".to_owned()];
        Ok(Local::new(program, arguments, adopt_orphans()))
    }

    fn item(&self, stage: StageIndex, outcome: Outcome, reason: String) -> Item {
        let planned = &self.replayed.workspace.plan.stages()[stage];
        Item::unequal(&planned.name, planned.stage.as_stage().kind().name, outcome, reason)
    }

    /// Compares what a stage has made with what the bundle has.
    fn compared(&self, stage: StageIndex, outcome: JobOutcome) -> Item {
        let Replayed { workspace, .. } = self.replayed;
        let planned = &workspace.plan.stages()[stage];
        let made = match outcome {
            JobOutcome::Executed(made) | JobOutcome::Cached(made) => made.artifact,
            JobOutcome::Failed { message, .. }
            | JobOutcome::Killed(message)
            | JobOutcome::Busy(message) => {
                return self.item(stage, Outcome::Differs, format!("it failed: {message}"));
            }
            JobOutcome::NoDevice(message) => {
                return self.item(stage, Outcome::NotPossible, message);
            }
            JobOutcome::Stopped | JobOutcome::Left => {
                return self.item(stage, Outcome::Differs, "it was stopped".to_owned());
            }
        };
        let Some((_, entry)) = self.replayed.result(&planned.name) else {
            return self.item(stage, Outcome::NotPossible, "nothing to compare with".to_owned());
        };
        workspace.cache.remove_job(&entry.key, RUN);
        if made == entry.artifact {
            return Item::equal(&planned.name, planned.stage.as_stage().kind().name);
        }
        let class = (entry.run.processor_class.as_str(), host::processor_class());
        let (outcome, reason) = self.unequal(&entry.artifact, &made, class.0 != class.1);
        let reason = match class {
            (theirs, own) if theirs != own => {
                format!("{reason} (computed on {theirs}, here {own})")
            }
            _ => reason,
        };
        self.item(stage, outcome, reason)
    }

    fn unequal(
        &self,
        stored: &StoredArtifact,
        made: &StoredArtifact,
        is_other_class: bool,
    ) -> (Outcome, String) {
        let names = |artifact: &StoredArtifact| {
            artifact.files.iter().map(|file| file.name.clone()).collect::<Vec<_>>()
        };
        if names(stored) != names(made) {
            return (Outcome::Differs, "it has other files".to_owned());
        }
        let cache = &self.replayed.workspace.cache;
        let readers = (cache.reader(stored), cache.reader(made));
        let pairs = stored.files.iter().zip(&made.files);
        let other = pairs.filter(|(a, b)| a.digest != b.digest).map(|(a, _)| a.name.as_str());
        let other: Vec<&str> = other.collect();
        let farthest = other.iter().map(|name| {
            let read = |reader: &ArtifactReader| reader.read(name);
            let (stored, made) = (read(&readers.0).ok()?, read(&readers.1).ok()?);
            tolerance::distance(name, &stored, &made)
        });
        let farthest = farthest.collect::<Option<Vec<f64>>>();
        let farthest = farthest.map(|all| all.into_iter().fold(0.0, f64::max));
        let files = other.join(", ");
        match farthest {
            Some(distance) if distance <= tolerance::TOLERANCE && is_other_class => {
                (Outcome::Close, format!("{files}: numbers differ by at most {distance:.1e}"))
            }
            Some(distance) => {
                (Outcome::Differs, format!("{files}: numbers differ by up to {distance:.1e}"))
            }
            None => (Outcome::Differs, format!("{files}: other bytes")),
        }
    }
}
