//! What can be typed.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::device::DeviceName;
use crate::engine::select::Choice;

/// Run declared experiment pipelines; compute every result once
#[derive(Debug, Parser)]
#[command(name = "pcae-run", version, max_term_width = 100, subcommand_negates_reqs = true)]
pub(super) struct Cli {
    /// What to do; running a pipeline is the default
    #[command(subcommand)]
    pub command: Option<Command>,
    /// How to run
    #[command(flatten)]
    pub run: RunArgs,
    /// Options of every command
    #[command(flatten)]
    pub common: Common,
}

/// Options of every command
#[derive(Clone, Debug, Args)]
pub(super) struct Common {
    /// Keep results in this folder
    #[arg(long, global = true, value_name = "DIR", default_value = "cache")]
    pub cache: PathBuf,
    /// Put tables and figures into this folder
    #[arg(long, global = true, value_name = "DIR", default_value = "reports")]
    pub reports: PathBuf,
    /// Look here for data files that are not beside the pipeline file
    #[arg(long, global = true, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Use no network: downloads must be in the data folder or in the cache
    #[arg(long, global = true)]
    pub offline: bool,
    /// Compute models on this device (see `pcae-run doctor`)
    #[arg(long, global = true, value_name = "NAME", default_value = "flex")]
    pub device: DeviceName,
    /// Run this many stages side by side [default: processor cores]
    #[arg(short, long, global = true, value_name = "N", value_parser = at_least_one)]
    pub jobs: Option<usize>,
    /// Print JSON, one object a line
    #[arg(long, global = true)]
    pub json: bool,
    /// Check the digest of every cached file that is used, large ones too
    #[arg(long, global = true)]
    pub verify: bool,
}

/// How to run
#[derive(Clone, Debug, Args)]
pub(super) struct RunArgs {
    /// The pipeline file
    #[arg(value_name = "FILE", required = true)]
    pub file: Option<PathBuf>,
    /// Show what would run, and why, then stop
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Run only these stages (name or glob); their inputs must be cached
    #[arg(long, value_name = "STAGE")]
    pub only: Vec<String>,
    /// Run these stages and everything that reads them
    #[arg(long, value_name = "STAGE")]
    pub from: Vec<String>,
    /// Run these stages and everything they need
    #[arg(long, value_name = "STAGE")]
    pub until: Vec<String>,
    /// Run these stages even though their results are cached
    #[arg(short, long, value_name = "STAGE")]
    pub force: Vec<String>,
    /// How stages are run
    #[command(flatten)]
    pub manner: MannerArgs,
}

/// How stages are run
#[derive(Clone, Debug, Args)]
pub(super) struct MannerArgs {
    /// What happens to the rest when a stage fails
    #[arg(long, value_name = "POLICY", default_value = "finish")]
    pub on_error: OnError,
    /// The same as --on-error continue
    #[arg(short, long)]
    pub keep_going: bool,
    /// Start a failed stage again this often
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub retries: u32,
    /// Stop a stage after this many seconds
    #[arg(long, value_name = "SECONDS")]
    pub timeout: Option<u64>,
    /// Run this many model stages side by side [default: processor cores, or 1 on a GPU]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub device_jobs: Option<usize>,
    /// Give up when another process keeps a key longer than this
    #[arg(long, value_name = "SECONDS")]
    pub lock_timeout: Option<u64>,
    /// Start without asking, even if the run may take more than a day
    #[arg(short, long)]
    pub yes: bool,
}

impl RunArgs {
    /// Returns which stages are meant.
    pub(super) fn choice(&self) -> Choice {
        Choice {
            only: self.only.clone(),
            from: self.from.clone(),
            until: self.until.clone(),
            force: self.force.clone(),
        }
    }
}

/// What happens to the rest when a stage fails
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum OnError {
    /// Running stages finish, no new ones start
    Finish,
    /// Running stages are stopped
    Stop,
    /// Everything that doesn't need the failed stage still runs
    Continue,
}

/// A pipeline file that may be left out
#[derive(Clone, Debug, Args)]
pub(super) struct File {
    /// The pipeline file [default: the one that was run last on this cache]
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
}

/// What to do
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Look at data and write a pipeline that estimates their dimension
    Init {
        /// A .npy, .npz, .csv or .parquet file, or a folder or .zip of pictures
        #[arg(value_name = "DATA")]
        path: PathBuf,
        /// Write the pipeline to this file [default: the data's name with .ron, in this folder]
        #[arg(short, long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Show what would run, why, and how long it may take
    Plan(File),
    /// Show in which components a stage's key differs from the closest earlier one
    Why {
        /// The stage
        stage: String,
        #[command(flatten)]
        file: File,
    },
    /// Show which stages are cached
    Status {
        /// Exit with code 3 if anything would run
        #[arg(long)]
        check: bool,
        #[command(flatten)]
        file: File,
    },
    /// Draw the graph of stages
    Graph {
        /// For Graphviz
        #[arg(long, conflicts_with = "mermaid")]
        dot: bool,
        /// For Mermaid
        #[arg(long)]
        mermaid: bool,
        #[command(flatten)]
        file: File,
    },
    /// Print what a stage printed when it ran last
    Log {
        /// The stage, or the first digits of a key
        stage: String,
        #[command(flatten)]
        file: File,
    },
    /// Copy a stage's files out of the cache
    Export {
        /// The stage
        stage: String,
        /// Where to
        folder: PathBuf,
        #[command(flatten)]
        file: File,
    },
    /// Show the runs behind one number of a table
    Trace {
        /// The table's stage
        table: String,
        /// The row, as printed or by its labels
        row: String,
        /// The column, as printed or by its field
        column: String,
        #[command(flatten)]
        file: File,
    },
    /// Judge published numbers against ours: reproduced, better, differs or inconclusive
    Compare {
        /// Chance of any wrong verdict of a kind, over all cells
        #[arg(long, value_name = "SHARE", default_value_t = 0.05, value_parser = between_zero_and_half)]
        alpha: f64,
        /// Which look this is, from 1, if runs are added until verdicts stand: each spends half
        /// of the alpha that is left
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=30))]
        look: Option<u32>,
        /// Add runs where the verdict is inconclusive and look again, until none is; every look
        /// spends half of the alpha that is left
        #[arg(long, conflicts_with = "look")]
        until_decided: bool,
        /// With --until-decided: have at most this many labels on the axis that is averaged over
        #[arg(long, value_name = "N", default_value_t = 20, requires = "until_decided", value_parser = at_least_one)]
        most: usize,
        /// Exit with code 4 unless every published number is reproduced or bettered
        #[arg(long)]
        strict: bool,
        #[command(flatten)]
        file: File,
        #[command(flatten, next_help_heading = "Options of --until-decided")]
        manner: MannerArgs,
    },
    /// Show which cells moved between two reports, how far and why; exit with code 1 if any did
    Diff {
        /// The report folder or CSV file before
        old: PathBuf,
        /// The report folder or CSV file now
        new: PathBuf,
    },
    /// Write a pipeline's report page from what the cache holds, running nothing
    Report {
        /// Show it in a browser
        #[arg(long)]
        open: bool,
        /// Keep it up to date while a run goes on, until Ctrl-C
        #[arg(long)]
        watch: bool,
        /// Check instead, without a cache, that the report is of this program and pipeline file
        #[arg(long, conflicts_with_all = ["open", "watch"])]
        check: bool,
        #[command(flatten)]
        file: File,
    },
    /// Look after the cache
    #[command(subcommand)]
    Cache(CacheCommand),
    /// List what no given pipeline reaches any more; delete it with --delete
    Gc {
        /// Pipelines whose results stay [default: all that were run on this cache]
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Delete what is listed
        #[arg(long)]
        delete: bool,
        /// Stop when this many megabytes are listed
        #[arg(long, value_name = "MB")]
        free: Option<u64>,
    },
    /// Test the cache folder, the backend, threads and disk
    Doctor,
    /// Show what a stage kind or a setting does, an example and its fields
    Explain {
        /// The kind, or a type or name of settings [default: list all kinds]
        kind: Option<String>,
    },
    /// Print a completion script
    Completions {
        /// For this shell
        shell: Shell,
    },
    /// Print the manual page
    Manual,
    /// Run one job
    #[command(hide = true)]
    Stage(StageArgs),
    /// Run a program and end all that it started
    #[command(hide = true)]
    Supervise {
        /// The process whose end is the program's end
        #[arg(long)]
        parent: u32,
        /// The program
        #[arg(last = true)]
        args: Vec<String>,
    },
}

/// Look after the cache
#[derive(Debug, Subcommand)]
pub(super) enum CacheCommand {
    /// Show what the cache holds
    Stats,
    /// Check every file of every entry
    Verify,
    /// Make the index anew from the manifests
    Rebuild,
}

/// Run one job
#[derive(Debug, Args)]
pub(super) struct StageArgs {
    /// The job file
    #[arg(long)]
    pub job: PathBuf,
    /// The log so far, and its name once the key is claimed
    #[arg(long, num_args = 2)]
    pub log: Vec<PathBuf>,
    /// Threads it may use
    #[arg(long, default_value_t = 1)]
    pub threads: usize,
    /// The process to die with
    #[arg(long)]
    pub die_with: Option<u32>,
    /// Give up when another process keeps the key longer than this
    #[arg(long)]
    pub lock_timeout: Option<u64>,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("it must be at least 1".to_owned()),
        Ok(count) => Ok(count),
        Err(error) => Err(format!("{error}")),
    }
}

fn between_zero_and_half(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if share > 0.0 && share < 0.5 => Ok(share),
        Ok(_) => Err("it must be above 0 and below 0.5".to_owned()),
        Err(error) => Err(format!("{error}")),
    }
}
