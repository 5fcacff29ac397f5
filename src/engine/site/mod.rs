//! Sites: what belongs to a machine, and never to a pipeline or to a key.
//!
//! A site file names one or more sites; the host name or `PCAE_RUN_SITE` says which of them applies.
//! It says where stages run (on this machine or by Slurm), what Slurm is told there, which resources
//! a stage gets, and where cache and data are. Everything has a default, so that a site may be empty.
//!
//! Mistakes in a site file are located like those in a pipeline file, and all of them are shown.

mod effective;
mod error;
mod find;
mod problem;
mod provenance;
pub mod quantity;
mod reader;
mod resources;
mod sbatch_options;
pub mod variables;

#[cfg(test)]
mod tests;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

use self::provenance::Provenance;
use self::quantity::{GIGABYTE, HOUR, MINUTE};
use crate::engine::pipeline::spec::NamePattern;

pub use self::effective::SiteValue;
pub use self::error::SiteError;
pub use self::find::default_file;
pub use self::problem::Problem;
pub use self::provenance::Origin;
pub use self::resources::ResourceOrigins;

/// The environment variable that names a site.
pub const CHOICE_VARIABLE: &str = "PCAE_RUN_SITE";

/// A site file with every setting and what it means.
pub const EXAMPLE: &str = include_str!("example.ron");

/// Where stages run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename = "Executor")]
pub enum ExecutorKind {
    /// As processes on this machine.
    #[default]
    Local,
    /// As jobs of Slurm.
    Slurm,
}

impl ExecutorKind {
    /// All there are.
    pub const ALL: [Self; 2] = [Self::Local, Self::Slurm];

    /// Returns the name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Slurm => "slurm",
        }
    }
}

impl fmt::Display for ExecutorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How a site wants to be told the memory of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename = "MemoryRequest")]
pub enum MemoryPer {
    /// All of it: `--mem`.
    #[default]
    PerJob,
    /// What each processor gets of it: `--mem-per-cpu`.
    PerCpu,
    /// Not at all.
    Omitted,
}

/// A partition of Slurm with its limits for one job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Partition {
    /// Its name.
    pub name: String,
    /// The longest time of a job; no limit is known if there is none.
    pub time: Option<Duration>,
    /// The most processors of a job, likewise.
    pub cpus: Option<usize>,
    /// The most bytes of memory of a job, likewise.
    pub memory: Option<u64>,
    /// The most GPUs of a job; a partition has no GPUs unless it says so.
    pub gpus: Option<usize>,
}

/// Resources of the stages of a kind or of a name; what is not said here, an earlier rule says.
#[derive(Clone, Debug, Default)]
pub struct ResourceRule {
    /// The stages it is for, by name; all if there is none.
    pub stages: Option<NamePattern>,
    /// The kind of the stages it is for; all if there is none.
    pub kind: Option<String>,
    /// Processors of a stage.
    pub cpus: Option<usize>,
    /// Bytes of memory of a stage.
    pub memory: Option<u64>,
    /// Bytes of memory that a stage gets at most when it is tried again after it ran out of memory.
    pub most_memory: Option<u64>,
    /// GPUs of a stage that needs the device.
    pub gpus: Option<usize>,
    /// The time of a stage.
    pub time: Option<Duration>,
}

/// What a stage gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Resources {
    /// Processors.
    pub cpus: usize,
    /// Bytes of memory.
    pub memory: u64,
    /// Bytes of memory at most, when it is tried again after it ran out of memory.
    pub most_memory: u64,
    /// GPUs.
    pub gpus: usize,
    /// Time.
    pub time: Duration,
}

/// What belongs to a machine.
#[derive(Clone, Debug)]
pub struct Site {
    /// Its name.
    pub name: String,
    /// The host names that it applies to.
    pub hosts: Vec<NamePattern>,
    /// Where stages run.
    pub executor: ExecutorKind,
    /// The cache folder, unless the command line gives one.
    pub cache: Option<PathBuf>,
    /// A folder of data files, unless the command line gives one.
    pub data: Option<PathBuf>,
    /// The folder for temporary files on a node, with environment variables that are expanded there
    /// ([`variables::expand`]).
    pub scratch: Option<String>,
    /// The program on nodes, if it is not this one.
    pub program: Option<PathBuf>,
    /// The account that Slurm charges.
    pub account: Option<String>,
    /// Partitions, of which the first that fits is taken.
    pub partitions: Vec<Partition>,
    /// The option of `sbatch` for GPUs, with `{gpus}` for their number.
    pub gpu_option: String,
    /// How Slurm is told the memory of a job.
    pub memory: MemoryPer,
    /// Further options of `sbatch`.
    pub options: Vec<String>,
    /// Lines of a job's script before the program.
    pub setup: Vec<String>,
    /// Tasks in the queue at most, pending and running.
    pub queue: usize,
    /// Calls of `sbatch` per minute at most.
    pub submissions_per_minute: usize,
    /// The time between two calls of `squeue`.
    pub poll: Duration,
    /// How long a result may take to be seen after its job has ended.
    pub grace: Duration,
    /// After so long without a sign of life from a process its stage is taken over by another.
    pub lease: Duration,
    /// How long before the time limit of a job its stages are asked to save their state.
    pub warn_before: Duration,
    /// Short stages share a job of about this predicted time.
    pub pack: Duration,
    /// New jobs for a stage after node failures, lost jobs and out of memory, each.
    pub attempts: usize,
    /// Resources of stages; later rules win, field by field.
    pub resources: Vec<ResourceRule>,
    /// The remote cache, unless the command line gives one.
    pub remote: Option<String>,
    /// The public keys whose signatures are believed.
    pub trusted_keys: Vec<String>,
    /// Whether shared results are taken that no trusted key has signed.
    pub allow_unsigned: bool,
    /// The file of the key that signs what is shared.
    pub signing_key: Option<PathBuf>,
    /// Whether runs send new results to the remote cache.
    pub upload: bool,
    /// Where each of these is written.
    provenance: Provenance,
}

impl Default for Site {
    /// Returns the site that has every default, named `default`.
    fn default() -> Self {
        Self {
            name: "default".to_owned(),
            hosts: Vec::new(),
            executor: ExecutorKind::default(),
            cache: None,
            data: None,
            scratch: None,
            program: None,
            account: None,
            partitions: Vec::new(),
            gpu_option: "--gpus={gpus}".to_owned(),
            memory: MemoryPer::default(),
            options: Vec::new(),
            setup: Vec::new(),
            queue: 200,
            submissions_per_minute: 60,
            poll: Duration::from_secs(15),
            grace: MINUTE,
            lease: MINUTE + MINUTE / 2,
            warn_before: 2 * MINUTE,
            pack: 10 * MINUTE,
            attempts: 3,
            resources: Vec::new(),
            remote: None,
            trusted_keys: Vec::new(),
            allow_unsigned: false,
            signing_key: None,
            upload: false,
            provenance: Provenance::default(),
        }
    }
}

/// What a stage gets that no rule speaks of.
const DEFAULT_RESOURCES: Resources = Resources {
    cpus: 1,
    memory: 4 * GIGABYTE,
    most_memory: 4 * GIGABYTE * MOST_MEMORY_FACTOR,
    gpus: 0,
    time: HOUR,
};

/// How many times its memory a stage gets at most, unless a rule says so.
const MOST_MEMORY_FACTOR: u64 = 8;
