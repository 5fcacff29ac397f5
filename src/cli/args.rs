//! The command line: options, commands and their help.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::device::DeviceChoice;
use crate::engine::plan::select::Choice;
use crate::engine::remote::PublicKey;
use crate::engine::site::{ExecutorKind, Site};

/// What `--site` without a file means: the user's own site file.
pub(crate) const OWN_SITE: &str = "-";

/// Run experiment pipelines from a file; compute each result only once
#[derive(Debug, Parser)]
#[command(name = "pcae-run", version, max_term_width = 100, subcommand_negates_reqs = true)]
pub(crate) struct Cli {
    /// The command; without one, the pipeline is run
    #[command(subcommand)]
    pub command: Option<Command>,
    /// What to run, and how
    #[command(flatten)]
    pub run: RunArgs,
    /// Options of every command
    #[command(flatten, next_help_heading = "Options of every command")]
    pub common: Common,
}

/// Options of every command
#[derive(Clone, Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Common {
    /// Keep results in this folder [default: `cache` in the project's folder: the nearest one, from the
    /// pipeline file upward, that has a cache]
    #[arg(long = "cache", global = true, value_name = "DIR")]
    pub given_cache: Option<PathBuf>,
    /// Write tables and figures to this folder [default: `reports` in the project's folder]
    #[arg(long = "reports", global = true, value_name = "DIR")]
    pub given_reports: Option<PathBuf>,
    /// The cache folder, given or found
    #[arg(skip)]
    pub cache: PathBuf,
    /// The folder of reports, given or found
    #[arg(skip)]
    pub reports: PathBuf,
    /// What to say when the cache is opened, once
    #[arg(skip)]
    pub cache_note: RefCell<Option<String>>,
    /// Whether a cache is made where there is none
    #[arg(skip)]
    pub makes_cache: bool,
    /// Whether other machines compute for the cache, too
    #[arg(skip)]
    pub shares_cache: bool,
    /// Also search this folder for data files
    #[arg(long = "data", global = true, value_name = "DIR")]
    pub given_data: Option<PathBuf>,
    /// The folder of data files, given or the site's
    #[arg(skip)]
    pub data: Option<PathBuf>,
    /// Read what belongs to this machine from this file [default: the user's own, see `pcae-run site`]
    #[arg(long = "site", global = true, value_name = "FILE", num_args = 0..=1, default_missing_value = OWN_SITE)]
    pub given_site: Option<PathBuf>,
    /// What belongs to this machine
    #[arg(skip)]
    pub site: Site,
    /// Do not use the network: downloads must already be in the data folder or the cache
    #[arg(long, global = true)]
    pub offline: bool,
    /// Run models on these devices: `flex` or `libtorch` (processor), `libtorch-cuda`, `cuda` or `wgpu` (all
    /// GPUs that are there), `cuda:0,2` (some of them); see `pcae-run doctor`
    #[arg(long, global = true, value_name = "NAME", default_value = "flex")]
    pub device: DeviceChoice,
    /// Choose a scale of the pipeline, if it has several
    #[arg(long, global = true, value_name = "NAME")]
    pub scale: Option<String>,
    /// Run up to this many stages in parallel [default: number of processor cores]
    #[arg(short, long, global = true, value_name = "N", value_parser = at_least_one)]
    pub jobs: Option<usize>,
    /// Print JSON, one object per line; errors too
    #[arg(long, global = true)]
    pub json: bool,
    /// Verify the digest of every cached file that is used, including large ones
    #[arg(long, global = true)]
    pub verify: bool,
}

/// What to run, and how
#[derive(Clone, Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct RunArgs {
    /// The pipeline file
    #[arg(value_name = "FILE", required = true)]
    pub file: Option<PathBuf>,
    /// Show what would run and why, then exit
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Run only these stages (name or glob); their inputs must be cached
    #[arg(long, value_name = "STAGE")]
    pub only: Vec<String>,
    /// Run these stages and everything that depends on them
    #[arg(long, value_name = "STAGE")]
    pub from: Vec<String>,
    /// Run these stages and everything they depend on
    #[arg(long, value_name = "STAGE")]
    pub until: Vec<String>,
    /// Run these stages even if their results are cached
    #[arg(short, long, value_name = "STAGE")]
    pub force: Vec<String>,
    /// Submit the run itself as a job of Slurm, and return
    #[arg(long, conflicts_with_all = ["wait", "dry_run"])]
    pub detach: bool,
    /// Join a run that was started with --detach: wait for its end, then show its results
    #[arg(long, conflicts_with = "dry_run")]
    pub wait: bool,
    /// This is a run that was started with --detach: submit it again when its time limit is near
    #[arg(long, hide = true)]
    pub detached: bool,
    /// How stages are run
    #[command(flatten)]
    pub runner: RunnerArgs,
}

/// How stages are run
#[derive(Clone, Debug, Args)]
pub(crate) struct RunnerArgs {
    /// What to do with the other stages when one fails
    #[arg(long, value_name = "POLICY", default_value = "finish")]
    pub on_error: OnError,
    /// Same as --on-error continue
    #[arg(short, long)]
    pub keep_going: bool,
    /// Retry a failed stage up to this many times
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub retries: u32,
    /// Stop a stage after this many seconds
    #[arg(long, value_name = "SECONDS")]
    pub timeout: Option<u64>,
    /// Run up to this many model stages in parallel on each device [default: number of processor cores,
    /// or 1 on a GPU]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub device_jobs: Option<usize>,
    /// Stop waiting for another run after this many seconds
    #[arg(long, value_name = "SECONDS")]
    pub lock_timeout: Option<u64>,
    /// Start without asking, even if the run is predicted to take more than a day
    #[arg(short, long)]
    pub yes: bool,
    /// Run stages as processes here (local) or as jobs of Slurm (slurm) [default: that of the site]
    #[arg(long, value_name = "NAME", value_parser = executor())]
    pub executor: Option<ExecutorKind>,
    /// Show training curves to TensorBoard: write them below this folder, while trainings run
    #[arg(long, value_name = "DIR")]
    pub tensorboard: Option<PathBuf>,
    /// Send new results to the remote cache while running [default: as the site says]
    #[arg(long)]
    pub upload: bool,
    #[command(flatten, next_help_heading = "Remote cache")]
    pub remote: RemoteArgs,
}

/// A cache that machines share
#[derive(Clone, Debug, Args)]
pub(crate) struct RemoteArgs {
    /// Take results from this remote cache, too: a folder, http(s)://.. or s3://bucket/prefix [default: the
    /// site's]
    #[arg(long, value_name = "URL")]
    pub remote: Option<String>,
    /// Use no remote cache
    #[arg(long, conflicts_with = "remote")]
    pub no_remote: bool,
    /// Take remote results although no trusted key has signed them
    #[arg(long)]
    pub allow_unsigned: bool,
    /// Take no remote results that were computed on another class of processor or another device
    #[arg(long)]
    pub same_machine: bool,
}

impl Cli {
    /// Returns the pipeline file that was named, if any.
    pub(crate) fn pipeline(&self) -> Option<&Path> {
        let file = match self.command.as_ref() {
            None
            | Some(
                Command::Init { .. }
                | Command::Diff { .. }
                | Command::Explain { .. }
                | Command::Completions { .. }
                | Command::Manual { .. }
                | Command::Replay(_)
                | Command::Site { .. }
                | Command::Stage(_)
                | Command::Worker(_),
            ) => None,
            Some(Command::Cache(command)) => match command {
                CacheCommand::Push { pipeline, .. } | CacheCommand::Pull { pipeline, .. } => {
                    pipeline.as_ref()
                }
                _ => None,
            },
            Some(Command::Gc { files, .. }) => files.first(),
            Some(Command::Trace { file, .. } | Command::Doctor(DoctorArgs { file, .. })) => {
                file.as_ref()
            }
            Some(
                Command::Bundle(BundleArgs { file, .. })
                | Command::Plan(PlanArgs { file, .. })
                | Command::Fetch { file, .. }
                | Command::Cancel { file }
                | Command::Why { file, .. }
                | Command::Status { file, .. }
                | Command::Graph { file, .. }
                | Command::Log { file, .. }
                | Command::Export { file, .. }
                | Command::Compare { file, .. }
                | Command::Results { file, .. }
                | Command::Report { file, .. },
            ) => file.file.as_ref(),
        };
        file.or(self.run.file.as_ref()).map(PathBuf::as_path)
    }

    /// Returns whether results are added to the cache.
    pub(crate) const fn computes(&self) -> bool {
        match &self.command {
            None => !self.run.dry_run,
            Some(Command::Compare { until_decided, .. }) => *until_decided,
            Some(
                Command::Fetch { .. }
                | Command::Cache(CacheCommand::Pull { .. })
                | Command::Stage(_)
                | Command::Worker(_),
            ) => true,
            Some(_) => false,
        }
    }

    /// Returns where stages are to run, if that is said and results are added to the cache.
    const fn chosen_executor(&self) -> Option<ExecutorKind> {
        match &self.command {
            None => self.run.runner.executor,
            Some(Command::Compare { runner, .. }) => runner.executor,
            Some(_) => Some(ExecutorKind::Local),
        }
    }

    /// Returns whether stages are computed on other machines.
    pub(crate) fn computes_elsewhere(&self) -> bool {
        let executor = self.chosen_executor().unwrap_or(self.common.site.executor);
        self.computes() && executor == ExecutorKind::Slurm
    }

    /// Returns whether it matters what belongs to this machine: the other commands work although a site
    /// file has mistakes.
    pub(crate) const fn needs_site(&self) -> bool {
        !matches!(
            self.command,
            Some(
                Command::Init { .. }
                    | Command::Diff { .. }
                    | Command::Explain { .. }
                    | Command::Completions { .. }
                    | Command::Manual { .. }
                    | Command::Site { example: true }
                    | Command::Doctor(DoctorArgs { report: Some(_), .. })
                    | Command::Stage(_)
                    | Command::Worker(_)
            )
        )
    }
}

impl RunArgs {
    /// Returns which stages are meant.
    pub(crate) fn choice(&self) -> Choice {
        Choice {
            only: self.only.clone(),
            from: self.from.clone(),
            until: self.until.clone(),
            force: self.force.clone(),
        }
    }
}

/// What to do with the other stages when one fails
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnError {
    /// Let running stages finish, and start no others
    Finish,
    /// Stop the running stages; they save their state
    Stop,
    /// Run everything that does not depend on the failed stage
    Continue,
}

/// How `init` treats a table
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct TableArgs {
    /// What happens to rows of a table in which cells are missing
    #[arg(long, value_enum, default_value = "drop")]
    pub missing: MissingCells,
    /// Keep the units of a table's columns, instead of giving each mean 0 and standard deviation 1
    #[arg(long)]
    pub no_standardize: bool,
}

/// What happens to rows in which cells are missing
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MissingCells {
    /// Leave the rows out
    Drop,
    /// Fill in the mean of the column
    Mean,
    /// Fill in the median of the column
    Median,
}

/// An optional pipeline file
#[derive(Clone, Debug, Args)]
pub(crate) struct File {
    /// The pipeline file [default: the one last run with this cache]
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
}

/// What to plan
#[derive(Clone, Debug, Args)]
pub(crate) struct PlanArgs {
    /// The pipeline
    #[command(flatten)]
    pub file: File,
    /// Show what this scale has otherwise than the chosen one, and nothing else
    #[arg(long, value_name = "SCALE")]
    pub against: Option<String>,
}

/// A command
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Inspect data and write a pipeline that estimates its intrinsic dimension
    Init {
        /// A .npy, .npz, .csv or .parquet file, or a folder or .zip of images
        #[arg(value_name = "DATA")]
        path: PathBuf,
        /// Write the pipeline to this file [default: the data's name with .ron, in the current
        /// folder]
        #[arg(short, long, value_name = "FILE")]
        out: Option<PathBuf>,
        #[command(flatten)]
        table: TableArgs,
    },
    /// Show what would run, why, and how long it may take
    Plan(PlanArgs),
    /// Download what the pipeline takes from the network, or uses if it is there
    Fetch {
        /// How stages are run
        #[command(flatten)]
        runner: RunnerArgs,
        #[command(flatten)]
        file: File,
    },
    /// Show how a stage's key differs from the most similar other key in the cache
    Why {
        /// The stage
        stage: String,
        #[command(flatten)]
        file: File,
    },
    /// Show which stages are cached
    Status {
        /// Exit with code 3 if any stage would run
        #[arg(long)]
        check: bool,
        #[command(flatten)]
        file: File,
    },
    /// Print the graph of stages
    Graph {
        /// Print it for Graphviz
        #[arg(long, conflicts_with = "mermaid")]
        dot: bool,
        /// Print it for Mermaid
        #[arg(long)]
        mermaid: bool,
        #[command(flatten)]
        file: File,
    },
    /// Print the log of a stage's last run
    Log {
        /// The stage, or at least the first 8 digits of a key
        stage: String,
        #[command(flatten)]
        file: File,
    },
    /// Copy a stage's files out of the cache, or write a trained model for PyTorch
    Export {
        /// The stage
        stage: String,
        /// The folder to copy to
        folder: PathBuf,
        /// Write model.py and weights.safetensors instead, from which plain PyTorch rebuilds the
        /// trained model
        #[arg(long)]
        pytorch: bool,
        #[command(flatten)]
        file: File,
    },
    /// Show the runs behind one number of a table
    Trace {
        /// The table, by its stage or its printed name
        table: String,
        /// The row, by its printed title or its labels
        row: String,
        /// The column, by its printed title or its field
        column: String,
        /// The pipeline file or a report folder [default: the pipeline last run with this cache]
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
    },
    /// Compare published numbers with ours, from the cache or a report folder: equivalent, better,
    /// differs, or in how many runs they match
    Compare {
        /// Family-wise error rate: probability of any false verdict of one kind among all cells
        #[arg(long, value_name = "PROBABILITY", default_value_t = 0.05, value_parser = between_zero_and_half)]
        alpha: f64,
        /// The number of this look, from 1, if you add runs until a verdict is reached: each look
        /// spends half of the remaining alpha
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=30))]
        look: Option<u32>,
        /// Add runs where no test decides but some may, and compare again; each look spends half of
        /// the remaining alpha
        #[arg(long, conflicts_with = "look")]
        until_decided: bool,
        /// With --until-decided: extend the axis that is averaged over to at most this many labels
        #[arg(long, value_name = "N", default_value_t = 20, requires = "until_decided", value_parser = at_least_one)]
        most: usize,
        /// Exit with code 4 unless every published number that gets a verdict is equivalent or better
        #[arg(long)]
        strict: bool,
        #[command(flatten)]
        file: File,
        #[command(flatten, next_help_heading = "Options of --until-decided")]
        runner: RunnerArgs,
    },
    /// Write every measured value as one table for data frames: a row for each run and measure
    Results {
        /// Write it to this .parquet, .csv or .json file [default: CSV on standard output]
        #[arg(short, long, value_name = "FILE")]
        out: Option<PathBuf>,
        /// Write the training curves instead: a row for each training, epoch and measure
        #[arg(long)]
        histories: bool,
        #[command(flatten)]
        file: File,
    },
    /// Show which cells changed between two reports, by how much and why; exit with code 1 if any
    /// did
    Diff {
        /// The earlier report folder or CSV file
        old: PathBuf,
        /// The later report folder or CSV file
        new: PathBuf,
    },
    /// Write a pipeline's report page from the cache, without running anything
    Report {
        /// Open it in a browser
        #[arg(long)]
        open: bool,
        /// Keep it up to date during a run, until Ctrl-C
        #[arg(long)]
        watch: bool,
        /// Only check, without a cache, that the report matches this program and the pipeline file
        #[arg(long, conflicts_with_all = ["open", "watch"])]
        check: bool,
        #[command(flatten)]
        file: File,
    },
    /// Pack a pipeline with its results, its report and its claims into one file, for whoever checks them
    Bundle(BundleArgs),
    /// Check a bundle, make its tables, figures and pages again, and compare; exit with code 1 if anything
    /// differs, with 2 if the bundle is refused
    Replay(ReplayArgs),
    /// Inspect or repair the cache
    #[command(subcommand)]
    Cache(CacheCommand),
    /// List results that no given pipeline uses any more; delete them with --delete
    Gc {
        /// Pipelines whose results are kept [default: all that were run with this cache]
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Delete what is listed
        #[arg(long)]
        delete: bool,
        /// List no more than it takes to free this many megabytes
        #[arg(long, value_name = "MB")]
        free: Option<u64>,
    },
    /// Check the cache folder, the device, threads and the disk; with --site also a node of the cluster,
    /// by a job of a minute
    Doctor(DoctorArgs),
    /// Show what belongs to this machine, each value with the file and line it comes from
    Site {
        /// Print a site file to start from, with every setting
        #[arg(long)]
        example: bool,
    },
    /// Cancel a pipeline's jobs on a cluster; their stages save their state
    Cancel {
        #[command(flatten)]
        file: File,
    },
    /// Show what a stage kind or any other name in a pipeline means, with its settings
    Explain {
        /// A name as written in pipelines, such as `Train`, `Pcae` or `Adam` [default: list what there is];
        /// or `json`: what `--json` prints
        name: Option<String>,
    },
    /// Print a shell completion script, or install it
    Completions {
        /// The shell
        shell: Shell,
        /// Put it where the shell looks for it (bash, zsh, fish)
        #[arg(long)]
        install: bool,
    },
    /// Print the manual page, or install it
    Manual {
        /// Put it where `man` looks for it
        #[arg(long)]
        install: bool,
    },
    /// Run one job
    #[command(hide = true)]
    Stage(StageArgs),
    /// Run the stages of one task of a Slurm job
    #[command(hide = true)]
    Worker(WorkerArgs),
}

/// What goes into a bundle
#[derive(Debug, Args)]
pub(crate) struct BundleArgs {
    /// Write the bundle to this file [default: the pipeline's name with .pcae, in the current folder]
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Pack only what it takes to make tables and conclusions again
    #[arg(long)]
    pub tables: bool,
    /// Sign the bundle with the key in this file [default: your own, if there is one]
    #[arg(long, value_name = "KEYFILE")]
    pub sign: Option<PathBuf>,
    /// The pipeline
    #[command(flatten)]
    pub file: File,
}

/// What is made again of a bundle
#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// The bundle
    #[arg(value_name = "BUNDLE")]
    pub bundle: PathBuf,
    /// Unpack it to this folder, which must not be there yet [default: a temporary one]
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Also compute a random share of the other stages anew, at least one; such as 5%
    #[arg(long, value_name = "SHARE", value_parser = percentage)]
    pub recompute: Option<f64>,
    /// Choose other stages to compute anew
    #[arg(long, value_name = "N", default_value_t = 0, requires = "recompute")]
    pub recompute_seed: u64,
    /// Take only bundles that are signed with this key, or with another that is given likewise or trusted by
    /// the site
    #[arg(long, value_name = "NAME:KEY")]
    pub trust: Vec<PublicKey>,
    /// Also take bundles that nobody has signed whose key is trusted
    #[arg(long)]
    pub allow_unsigned: bool,
}

/// Inspect or repair the cache
#[derive(Debug, Subcommand)]
pub(crate) enum CacheCommand {
    /// Show what the cache holds
    Stats,
    /// Verify every file of every result
    Verify,
    /// Rebuild the index from the manifests
    Rebuild,
    /// Send results to the remote cache that it does not have
    Push {
        /// Send only what this pipeline uses [default: everything in the cache]
        #[arg(long = "for", value_name = "FILE")]
        pipeline: Option<PathBuf>,
        #[command(flatten)]
        remote: RemoteArgs,
    },
    /// Fetch a pipeline's results from the remote cache, without running anything
    Pull {
        /// The pipeline [default: the one last run with this cache]
        #[arg(long = "for", value_name = "FILE")]
        pipeline: Option<PathBuf>,
        #[command(flatten)]
        remote: RemoteArgs,
    },
    /// Make a key that signs what you share, and print the line by which others trust it
    Key {
        /// A name for it, such as that of the laboratory
        name: String,
        /// Write it to this file [default: signing.key beside your own site file]
        #[arg(short, long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
}

/// What `doctor` does as a job of another one
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Train each network of the paper for some seconds, on every device that this build can use
    #[arg(long)]
    pub measure: bool,
    /// With --measure: predict how long this pipeline would take on each device, at its scale for GPUs
    #[arg(value_name = "FILE", requires = "measure")]
    pub file: Option<PathBuf>,
    /// Tell the machine that asks in this folder
    #[arg(long, hide = true)]
    pub report: Option<PathBuf>,
    /// The folder for temporary files
    #[arg(long, hide = true)]
    pub scratch: Option<String>,
}

/// Run one job
#[derive(Debug, Args)]
pub(crate) struct StageArgs {
    /// The job file
    #[arg(long)]
    pub job: PathBuf,
    /// The log so far, and its name once the key is claimed
    #[arg(long, num_args = 2)]
    pub log: Vec<PathBuf>,
    /// The number of threads it may use
    #[arg(long, default_value_t = 1)]
    pub threads: usize,
    /// End when this process ends
    #[arg(long)]
    pub die_with: Option<u32>,
    /// Stop waiting for another run after this many seconds
    #[arg(long)]
    pub lock_timeout: Option<u64>,
    /// This is a node of a cluster: the index is the runner's to write
    #[arg(long)]
    pub on_node: bool,
    /// Keep the stage's temporary files below this folder
    #[arg(long)]
    pub scratch: Option<PathBuf>,
}

/// Run the stages of one task of a Slurm job
#[derive(Debug, Args)]
pub(crate) struct WorkerArgs {
    /// The record of the job
    #[arg(long)]
    pub batch: PathBuf,
    /// The number of the task
    #[arg(long, default_value_t = 0)]
    pub task: usize,
}

fn executor() -> impl TypedValueParser<Value = ExecutorKind> {
    let names = ExecutorKind::ALL.map(ExecutorKind::name);
    let of_name = |name: String| ExecutorKind::ALL.into_iter().find(|kind| kind.name() == name);
    PossibleValuesParser::new(names).try_map(move |name| of_name(name).ok_or("no such executor"))
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("must be at least 1".to_owned()),
        Ok(count) => Ok(count),
        Err(error) => Err(format!("{error}")),
    }
}

fn percentage(text: &str) -> Result<f64, String> {
    const WHOLE: f64 = 100.0;
    let number = text.strip_suffix('%').ok_or("must end with %")?;
    match number.trim().parse::<f64>() {
        Ok(share) if share > 0.0 && share <= WHOLE => Ok(share / WHOLE),
        Ok(_) => Err("must be above 0% and at most 100%".to_owned()),
        Err(error) => Err(format!("{error}")),
    }
}

fn between_zero_and_half(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if share > 0.0 && share < 0.5 => Ok(share),
        Ok(_) => Err("must be above 0 and below 0.5".to_owned()),
        Err(error) => Err(format!("{error}")),
    }
}
