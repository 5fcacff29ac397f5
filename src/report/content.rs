//! Everything that a report tells of a pipeline, gathered before any format is thought of.
//!
//! Plain data: whoever knows plans and caches fills it in, the page and other documents are made
//! from nothing else.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::report::conclusion::Conclusion;
use crate::report::tables::table::Table;

/// What a report tells of a pipeline.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReportContent {
    /// The pipeline's name.
    pub pipeline: String,
    /// The name of the pipeline file, without its folder.
    pub file: String,
    /// The text of the pipeline file.
    pub text: String,
    /// The program with its version.
    pub program: String,
    /// Every stage, each after its inputs.
    pub stages: Vec<StageFacts>,
    /// What the results amount to: a report opens with it.
    pub conclusions: Vec<ConclusionFacts>,
    /// The finished tables.
    pub tables: Vec<TableFacts>,
    /// The finished figures.
    pub figures: Vec<FigureFacts>,
    /// What a reader should know besides.
    pub notes: Vec<Note>,
}

/// Where a stage stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// It failed when it was tried last.
    Failed,
    /// It runs just now.
    Running,
    /// It has a result, which it computed itself.
    Ran,
    /// It has a result, which another pipeline or stage had computed before.
    Cached,
    /// Its inputs are there, its result is not.
    Due,
    /// Its inputs are not there.
    Waiting,
}

impl Status {
    /// Returns the word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Running => "running",
            Self::Ran => "ran",
            Self::Cached => "cached",
            Self::Due => "due",
            Self::Waiting => "waiting",
        }
    }

    /// Returns whether there is a result.
    pub const fn is_done(self) -> bool {
        matches!(self, Self::Ran | Self::Cached)
    }
}

/// One stage.
#[derive(Clone, Debug, PartialEq)]
pub struct StageFacts {
    /// Its name.
    pub name: String,
    /// The name as the pipeline file has it, such as `train-{seed}`.
    pub template: String,
    /// Its kind.
    pub kind: String,
    /// Where it stands.
    pub status: Status,
    /// Its key, if its inputs are known.
    pub key: Option<String>,
    /// The digest of its result.
    pub digest: Option<String>,
    /// Why it ran, or would run.
    pub why: String,
    /// The places of its inputs in the list of stages.
    pub inputs: Vec<usize>,
    /// Its settings, as the pipeline file writes them.
    pub settings: String,
    /// The last lines that it printed.
    pub log: Vec<String>,
    /// How its result was made.
    pub run: Option<RunInfo>,
}

/// How a result was made.
#[derive(Clone, Debug, PartialEq)]
pub struct RunInfo {
    /// Wall time in seconds.
    pub seconds: f64,
    /// When it ended, in seconds since 1970.
    pub finished: u64,
    /// Where.
    pub machine: Machine,
    /// Threads it was allowed.
    pub threads: usize,
    /// Its largest resident memory in bytes, if that is known.
    pub peak_memory: Option<u64>,
}

/// Hardware, as far as it tells; hosts have no names here, since reports are published.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Machine {
    /// What the machine calls its processor; empty if it doesn't tell.
    pub processor: String,
    /// Processor cores; 0 if that is not known.
    pub cores: usize,
    /// The compute device; empty if that is not known.
    pub device: String,
}

/// What was made on one machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MachineUsage {
    /// How many results.
    pub stages: usize,
    /// Their wall times, summed.
    pub seconds: f64,
    /// The largest resident memory of any, if it is known.
    pub peak_memory: Option<u64>,
}

/// A file to go with a table or a figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// Its name in the report folder.
    pub name: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// One conclusion.
#[derive(Clone, Debug, PartialEq)]
pub struct ConclusionFacts {
    /// The stage that drew it.
    pub stage: String,
    /// Its sentences.
    pub conclusion: Conclusion,
}

/// One table.
#[derive(Clone, Debug, PartialEq)]
pub struct TableFacts {
    /// The stage that made it.
    pub stage: String,
    /// Its content.
    pub table: Table,
    /// What was found about single cells.
    pub verdicts: Vec<Badge>,
    /// The same table in other formats.
    pub files: Vec<Attachment>,
}

/// What was found about one cell, such as that it agrees with the published number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Badge {
    /// The cell's row.
    pub row: usize,
    /// The cell's column.
    pub column: usize,
    /// A word or two.
    pub text: String,
    /// How it was found.
    pub detail: String,
    /// Whether it is good news.
    pub tone: BadgeTone,
}

/// Whether a verdict is good news.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BadgeTone {
    /// Good news.
    Good,
    /// Bad news.
    Bad,
    /// Neither.
    Open,
}

/// One figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FigureFacts {
    /// The stage that made it.
    pub stage: String,
    /// What it is called in the paper.
    pub label: String,
    /// What it shows.
    pub caption: String,
    /// The picture in each format.
    pub files: Vec<Attachment>,
}

/// Something that a reader should know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Note {
    /// What it is about.
    pub title: String,
    /// One sentence each.
    pub items: Vec<String>,
}

impl ReportContent {
    /// Returns when the last result was made.
    pub fn finished(&self) -> Option<u64> {
        self.runs().map(|run| run.finished).max()
    }

    /// Returns the wall times of all results, summed.
    pub fn seconds(&self) -> f64 {
        self.runs().map(|run| run.seconds).sum()
    }

    /// Returns how many stages stand where.
    pub fn statuses(&self) -> BTreeMap<Status, usize> {
        let mut counts = BTreeMap::new();
        for stage in &self.stages {
            *counts.entry(stage.status).or_default() += 1;
        }
        counts
    }

    /// Returns what was made on which machine.
    pub fn machines(&self) -> BTreeMap<&Machine, MachineUsage> {
        let mut machines = BTreeMap::<_, MachineUsage>::new();
        for run in self.runs() {
            let work = machines.entry(&run.machine).or_default();
            work.stages += 1;
            work.seconds += run.seconds;
            work.peak_memory = work.peak_memory.max(run.peak_memory);
        }
        machines
    }

    fn runs(&self) -> impl Iterator<Item = &RunInfo> {
        self.stages.iter().filter_map(|stage| stage.run.as_ref())
    }
}

#[cfg(test)]
pub(in crate::report) mod tests {
    use super::*;

    /// Returns a stage of a family that took so many seconds.
    pub(in crate::report) fn stage(name: &str, template: &str, inputs: &[usize]) -> StageFacts {
        StageFacts {
            name: name.to_owned(),
            template: template.to_owned(),
            kind: "Command".to_owned(),
            status: Status::Ran,
            key: Some("ab".repeat(32)),
            digest: Some("cd".repeat(32)),
            why: "first result of this stage".to_owned(),
            inputs: inputs.to_vec(),
            settings: "Command(args: [\"true\"])".to_owned(),
            log: vec!["done".to_owned()],
            run: Some(RunInfo {
                seconds: 2.5,
                finished: 1_700_000_000,
                machine: Machine {
                    processor: "Some Processor".to_owned(),
                    cores: 2,
                    device: "flex".to_owned(),
                },
                threads: 1,
                peak_memory: Some(3_000_000),
            }),
        }
    }

    #[test]
    fn work_is_summed_by_machine_and_needs_no_host_name() {
        let mut other = stage("b", "b", &[]);
        let run = other.run.as_mut().unwrap();
        run.machine.cores = 64;
        run.finished += 10;
        let mut waiting = stage("c", "c", &[0]);
        (waiting.run, waiting.status) = (None, Status::Waiting);
        let stages = vec![stage("a", "a", &[]), other, stage("d", "d", &[]), waiting];
        let content = ReportContent { stages, ..ReportContent::default() };
        let work: Vec<_> =
            content.machines().values().map(|work| (work.stages, work.seconds)).collect();
        assert_eq!(work, [(2, 5.0), (1, 2.5)]);
        assert_eq!(content.finished(), Some(1_700_000_010));
        let statuses: Vec<_> = content.statuses().into_iter().collect();
        assert_eq!(statuses, [(Status::Ran, 3), (Status::Waiting, 1)]);
    }
}
