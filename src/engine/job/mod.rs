//! One stage, run by itself: what a child process does, on this host or another.
//!
//! The job is a file in the cache. The process that runs it claims the key, so two processes never
//! compute the same key at once; the second takes the first one's result.

mod event;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

pub use self::event::{JobEvent, JobOutcome};
use crate::engine::cache::{
    Cache, CacheError, CheckedFile, Claim, Claimed, FileStamp, Patience, Reuse, StoredResult,
    is_network,
};
use crate::engine::digest::{ContentDigest, StageKey};
use crate::engine::key::{KeyRecord, builder};
use crate::engine::pipeline::values::dialect;
use crate::engine::plan::{Plan, ResolvedInput, StageIndex};
use crate::engine::stage::artifact::{ArtifactWriter, StoredArtifact};
use crate::engine::stage::context::{CurvesFolder, DownloadPolicy, Member, RunContext, StageError};
use crate::engine::stage::run_record::RunRecord;
use crate::engine::stage::{DeviceProblem, Inputs, Labels, Needs, StageSet};
use crate::engine::system::process::peak_memory;
use crate::engine::system::{clock, failpoint, host};

/// The artifacts behind one reference.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct JobInput {
    /// The reference as the stage holds it.
    pub reference: String,
    /// What it leads to.
    pub members: Vec<JobMember>,
}

/// One artifact behind a reference.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct JobMember {
    /// The axis labels of the stage that made it.
    pub labels: Labels,
    /// The artifact.
    pub artifact: StoredArtifact,
    /// How it was made.
    pub run: RunRecord,
}

impl JobInput {
    /// Gathers what an input leads to; members without a result are left out.
    pub(crate) fn of<S>(
        input: &ResolvedInput,
        plan: &Plan<S>,
        results: &BTreeMap<StageIndex, StoredResult>,
        cache: &Cache,
    ) -> Result<Self, CacheError> {
        let member = |member: &StageIndex| {
            let StoredResult { key, artifact } = results.get(member)?.clone();
            let labels = plan.stages()[*member].labels.clone();
            Some(cache.entry(&key).map(|entry| JobMember { labels, artifact, run: entry.run }))
        };
        let members = input.members.iter().filter_map(member).collect::<Result<_, _>>()?;
        Ok(Self { reference: input.reference.text().to_owned(), members })
    }
}

/// Everything a process needs to run one stage.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    /// The key to compute.
    pub key: StageKey,
    /// The key's pre-image.
    pub record: KeyRecord,
    /// The pipeline's name, for the run record.
    pub pipeline: String,
    /// The stage's name, for the run record.
    pub stage: String,
    /// The stage's RON text.
    pub text: String,
    /// Its inputs.
    pub inputs: Vec<JobInput>,
    /// Outside files: name in the key, and where it is.
    pub files: BTreeMap<String, PathBuf>,
    /// The compute device.
    pub device: String,
    /// The folder for curves that are shown while the stage runs.
    #[serde(default)]
    pub curves: Option<PathBuf>,
    /// Where files from the net may be lying already, and whether the net may be used.
    pub downloads: DownloadPolicy,
    /// What of earlier runs may be used.
    pub reuse: Reuse,
    /// The stage's counted work, for the run record.
    #[serde(default)]
    pub work: Option<f64>,
}

/// What a stage reads, as it was when the stage began.
struct Guard {
    /// Stamps of outside files, in the order of their names.
    files: Vec<FileStamp>,
    inputs: Vec<CheckedFile>,
}

/// How a process runs a job; nothing here changes results.
pub struct Conditions {
    /// Threads the stage may use.
    pub threads: usize,
    /// How long to wait for other processes with the same key or trajectory.
    pub longest_wait: Option<Duration>,
    /// The log so far, and its name once the key is claimed.
    pub log: Option<(PathBuf, PathBuf)>,
    /// The folder for temporary files, if they are not kept in the cache.
    pub scratch: Option<PathBuf>,
    /// Set when the stage should save its state and stop.
    pub stop: Arc<AtomicBool>,
    /// Receives what happens.
    pub emit: Box<dyn FnMut(JobEvent)>,
}

impl Job {
    /// Reads a job file.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = fs::read(path).map_err(|cause| format!("{}: {cause}", path.display()))?;
        let job: Self = serde_json::from_slice(&text)
            .map_err(|cause| format!("{}: {cause}", path.display()))?;
        if job.record.key() == job.key {
            Ok(job)
        } else {
            Err(format!("{} was written by another version of pcae-run", path.display()))
        }
    }

    /// Writes the job file whole or not at all.
    pub fn write(&self, path: &Path) -> std::io::Result<()> {
        let temporary = path.with_extension("tmp");
        fs::write(&temporary, serde_json::to_vec(self)?)?;
        fs::rename(&temporary, path)
    }

    /// Runs the job.
    pub fn perform<S: StageSet>(self, cache: &Cache, mut conditions: Conditions) -> JobOutcome {
        let stage = match self.stage::<S>() {
            Ok(stage) => stage,
            Err(message) => return JobOutcome::Failed { message, permanent: true },
        };
        let trajectory = self.record.trajectory(stage.as_stage().horizon());
        let stop = Arc::clone(&conditions.stop);
        let patience = Patience {
            longest: conditions.longest_wait,
            stop: &stop,
            on_wait: &mut || (conditions.emit)(JobEvent::Waiting),
        };
        match cache.claim(&self.key, trajectory.as_ref(), self.reuse, patience) {
            Ok(Claimed::Hit(result)) => JobOutcome::Cached(result),
            Ok(Claimed::Mine(claim)) => {
                if let Some(owner) = claim.taken_from() {
                    let note = format!("taken over from {owner}, which gives no sign of life");
                    (conditions.emit)(JobEvent::Note(note));
                }
                if let Some((so_far, name)) = &conditions.log {
                    let _ = fs::rename(so_far, name);
                }
                let lost = claim.lost();
                match self.compute(&stage, cache, claim, conditions) {
                    JobOutcome::Failed { .. } if lost.load(Ordering::Relaxed) => {
                        JobOutcome::failed(
                            "gave no sign of life for too long, so another process took it over",
                        )
                    }
                    outcome => outcome,
                }
            }
            Err(CacheError::Stopped) => JobOutcome::Stopped,
            Err(error @ CacheError::Waited { .. }) => JobOutcome::Busy(error.to_string()),
            Err(error) => JobOutcome::failed(error),
        }
    }

    /// Parses the stage and makes sure that this program means the same by it as the one that
    /// wrote the job: the key must never name another version's bytes.
    fn stage<S: StageSet>(&self) -> Result<S, String> {
        let stage: S = dialect().from_str(&self.text).map_err(|error| error.to_string())?;
        let kind = stage.as_stage().kind();
        let same = kind.name == self.record.kind
            && kind.version == self.record.version
            && builder::settings(&stage) == self.record.settings;
        if same {
            Ok(stage)
        } else {
            Err("this stage was planned by another version of pcae-run: run again".to_owned())
        }
    }

    fn compute<S: StageSet>(
        self,
        stage: &S,
        cache: &Cache,
        claim: Claim<'_>,
        mut conditions: Conditions,
    ) -> JobOutcome {
        let guard = match self.guard(cache) {
            Ok(guard) => guard,
            // Nothing that a second try would mend: another stage has to run first.
            Err(message) => return JobOutcome::Failed { message, permanent: true },
        };
        (conditions.emit)(JobEvent::Started);
        if stage.as_stage().needs() == Needs::Device {
            match S::check_device(&self.device) {
                Ok(()) => {}
                Err(DeviceProblem::Broken(message)) => return JobOutcome::NoDevice(message),
                Err(DeviceProblem::Full(message)) => return JobOutcome::failed(message),
            }
        }
        let threads = conditions.threads;
        let mut context = self.context(cache, &claim, conditions);
        let (began, scratch) = (Instant::now(), context.scratch.clone());
        let point = |name| failpoint::pass(name).map_err(StageError::from);
        let result = point("stage.run.before")
            .and_then(|()| self.run(stage, &mut context))
            .and_then(|()| point("stage.run.after"));
        let matters = result.is_ok() || claim.has_state();
        let changed = if matters { self.changed(cache, &guard, &context).err() } else { None };
        // State that came from other bytes than the key says is none to go on from.
        if changed.is_some()
            && let Err(error) = claim.clear_state()
        {
            return JobOutcome::failed(error);
        }
        match result {
            Ok(()) => {}
            Err(StageError::Stopped) => return JobOutcome::Stopped,
            Err(StageError::Failed(error)) => {
                let mut message = chain(&*error);
                // The program of a stage may not say so itself.
                let is_full = is_full(cache.root()) || is_full(&scratch);
                if is_full && !message.contains("No space left on device") {
                    message.push_str(": No space left on device");
                }
                return JobOutcome::failed(message);
            }
        }
        if let Some(message) = changed {
            return JobOutcome::failed(message);
        }
        let run = RunRecord {
            pipeline: self.pipeline.clone(),
            stage: self.stage.clone(),
            seconds: began.elapsed().as_secs_f64(),
            finished: clock::now(),
            host: host::name(),
            processor: host::processor(),
            processor_class: host::processor_class(),
            program: env!("CARGO_PKG_VERSION").to_owned(),
            cores: host::cores(),
            device: self.device.clone(),
            threads,
            peak_memory: peak_memory("self"),
            measured: context.measured,
            work: self.work,
        };
        let declared = stage.as_stage().inputs();
        let kinds: Inputs<'_, str> = declared
            .iter()
            .map(|input| (input.role.as_str(), self.kinds_of(input.reference.text())))
            .collect();
        let kind = stage.as_stage().output(&kinds);
        let declared = context.writer.names();
        match claim.commit(&kind, &declared, self.record, run) {
            Ok(result) => JobOutcome::Executed(result),
            Err(error) => JobOutcome::failed(error),
        }
    }

    /// Runs the stage. A panic of which nothing is known goes on: what it says is in the log.
    fn run<S: StageSet>(&self, stage: &S, context: &mut RunContext) -> Result<(), StageError> {
        let run = AssertUnwindSafe(|| stage.as_stage().run(context));
        catch_unwind(run).unwrap_or_else(|panic| match stage.explain_panic(&self.device, &*panic) {
            Some(message) => Err(message.into()),
            None => resume_unwind(panic),
        })
    }

    fn kinds_of(&self, reference: &str) -> Vec<&str> {
        let members = self.inputs.iter().filter(|input| input.reference == reference);
        members
            .take(1)
            .flat_map(|input| &input.members)
            .map(|member| member.artifact.kind.as_str())
            .collect()
    }

    fn context(&self, cache: &Cache, claim: &Claim<'_>, mut conditions: Conditions) -> RunContext {
        let inputs = self.inputs.iter().map(|input| {
            let members = input.members.iter().map(|member| Member {
                labels: member.labels.clone(),
                reader: cache.reader(&member.artifact),
                digest: member.artifact.digest,
                run: member.run.clone(),
            });
            (input.reference.clone(), members.collect())
        });
        let files = self.files.iter().filter_map(|(name, path)| {
            let digest = self.record.files.get(name)?;
            Some((name.clone(), (path.clone(), *digest)))
        });
        RunContext {
            inputs: inputs.collect(),
            writer: ArtifactWriter::new(claim.output_folder()),
            state: claim.state_folder(),
            state_owner: claim.state_owner(),
            scratch: conditions.scratch.take().unwrap_or_else(|| claim.scratch_folder()),
            device: self.device.clone(),
            curves: self.curves.clone().map(|path| CurvesFolder { path, owner: self.key.short() }),
            files: files.collect(),
            reads_in_place: Cell::new(false),
            variables: self.record.variables.clone(),
            downloads: self.downloads.clone(),
            aliases: Box::new(cache.aliases()),
            measured: BTreeMap::new(),
            stop: conditions.stop,
            report: Box::new(move |progress| (conditions.emit)(JobEvent::Progress(progress))),
        }
    }

    /// Makes sure that inputs and outside files are what the key says, and notes how they look.
    fn guard(&self, cache: &Cache) -> Result<Guard, String> {
        let stamp = |path: &PathBuf| FileStamp::of(path).map_err(|error| error.to_string());
        let files = self.files.values().map(stamp).collect::<Result<_, _>>()?;
        if let Some(file) = self.changed_file(cache) {
            return Err(format!("`{file}` changed before the stage began: run again"));
        }
        let mut inputs = Vec::new();
        for member in self.inputs.iter().flat_map(|input| &input.members) {
            let checked = cache.check_input(&member.artifact);
            inputs.extend(checked.map_err(|error| error.to_string())?);
        }
        Ok(Guard { files, inputs })
    }

    /// Says what of the inputs and outside files has changed since the stage began.
    fn changed(&self, cache: &Cache, guard: &Guard, context: &RunContext) -> Result<(), String> {
        let message = |file: String| {
            format!("`{file}` changed while the stage ran, so its result was not kept: run again")
        };
        if let Some(file) = self.changed_file(cache) {
            return Err(message(file));
        }
        // Edited and edited back: equal bytes now do not mean equal bytes when it was read.
        if context.reads_in_place.get() {
            for (path, stamp) in self.files.values().zip(&guard.files) {
                if FileStamp::of(path).ok().as_ref() != Some(stamp) {
                    return Err(message(path.display().to_string()));
                }
            }
        }
        cache.check_again(&guard.inputs).map_err(|error| error.to_string())
    }

    /// Returns an outside file whose bytes are not the ones in the key.
    fn changed_file(&self, cache: &Cache) -> Option<String> {
        self.files.iter().find_map(|(name, path)| {
            // Across a network, what is said about a file may be out of date.
            let digest = if is_network(path) {
                ContentDigest::of_path(path).ok()
            } else {
                cache.digest_of_file(path).ok()
            };
            (digest.as_ref() != self.record.files.get(name)).then(|| path.display().to_string())
        })
    }
}

/// Returns whether a stage failed where nothing more can be written.
fn is_full(folder: &Path) -> bool {
    const NOTHING_MORE: u64 = 1 << 20;
    rustix::fs::statvfs(folder).is_ok_and(|disk| disk.f_bavail * disk.f_frsize < NOTHING_MORE)
}

/// Returns an error with its causes, on one line.
fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text = format!("{text}: {inner_text}");
        }
        cause = inner.source();
    }
    text
}
