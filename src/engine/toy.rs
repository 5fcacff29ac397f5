//! Toy stages, numbers and sums, to test the engine's promises in milliseconds.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use super::artifact::{Artifact, ArtifactError, ArtifactReader, ArtifactWriter};
use super::assess::{self, Standing};
use super::cache::{Cache, Check};
use super::context::{RunContext, StageError};
use super::events::Event;
use super::executor::Inline;
use super::plan::Plan;
use super::run::{Manner, OnError, RunReport};
use super::schedule::Scheduler;
use super::select::Choice;
use super::source::Source;
use super::stage::{Each, Input, Kind, Stage, StageRef, StageSet};

/// A number in a file.
#[derive(Debug)]
pub(super) struct Number(pub(super) i64);

impl Artifact for Number {
    const KINDS: &'static [&'static str] = &["number"];

    fn write(&self, writer: &mut ArtifactWriter) -> Result<(), ArtifactError> {
        writer.write_json("number.json", &self.0)
    }

    fn read(reader: &ArtifactReader) -> Result<Self, ArtifactError> {
        reader.read_json("number.json").map(Self)
    }
}

/// The toy stage kinds; all make numbers.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) enum Toy {
    Constant {
        value: i64,
    },
    Abs {
        of: StageRef<Number>,
    },
    Sum {
        left: StageRef<Number>,
        right: StageRef<Number>,
        #[serde(default)]
        plus: i64,
    },
    Total {
        of: Each<Number>,
    },
    Fail {
        message: String,
    },
}

impl StageSet for Toy {
    fn as_stage(&self) -> &dyn Stage {
        self
    }
}

impl Stage for Toy {
    fn kind(&self) -> Kind {
        let name = match self {
            Self::Constant { .. } => "Constant",
            Self::Abs { .. } => "Abs",
            Self::Sum { .. } => "Sum",
            Self::Total { .. } => "Total",
            Self::Fail { .. } => "Fail",
        };
        Kind { name, version: 1 }
    }

    fn inputs(&self) -> Vec<Input> {
        match self {
            Self::Constant { .. } | Self::Fail { .. } => Vec::new(),
            Self::Abs { of } => vec![of.input("of")],
            Self::Sum { left, right, .. } => vec![left.input("left"), right.input("right")],
            Self::Total { of } => vec![of.input("of")],
        }
    }

    fn output(&self, _inputs: &[Vec<String>]) -> String {
        "number".to_owned()
    }

    fn run(&self, context: &mut RunContext) -> Result<(), StageError> {
        let value = match self {
            Self::Constant { value } => *value,
            Self::Abs { of } => context.load(of)?.0.abs(),
            Self::Sum { left, right, plus } => {
                context.load(left)?.0 + context.load(right)?.0 + plus
            }
            Self::Total { of } => context.load_each(of)?.iter().map(|(_, number)| number.0).sum(),
            Self::Fail { message } => return Err(message.clone().into()),
        };
        context.store(&Number(value))
    }
}

/// A pipeline text and a cache of its own.
pub(super) struct ToyLab {
    folder: TempDir,
    pub(super) text: String,
}

impl ToyLab {
    pub(super) fn new(text: &str) -> Self {
        Self { folder: tempfile::tempdir().unwrap(), text: text.to_owned() }
    }

    /// Makes a lab from the stages alone.
    pub(super) fn stages(stages: &str) -> Self {
        Self::new(&format!("Pipeline(name: \"toy\", stages: {{{stages}}})"))
    }

    pub(super) fn edit(&mut self, from: &str, to: &str) -> &mut Self {
        assert!(self.text.contains(from), "`{from}` is not in the pipeline");
        self.text = self.text.replace(from, to);
        self
    }

    pub(super) fn plan(&self) -> Plan<Toy> {
        Plan::load(&Source::new("toy.ron", self.text.as_str()), None).unwrap()
    }

    pub(super) fn cache(&self) -> Cache {
        Cache::open(&self.cache_folder(), Check::Small).unwrap()
    }

    fn cache_folder(&self) -> PathBuf {
        self.folder.path().join("cache")
    }

    pub(super) fn run(&self) -> RunReport {
        self.run_with(OnError::Finish, &mut |_| {})
    }

    pub(super) fn run_with(&self, on_error: OnError, emit: &mut dyn FnMut(Event)) -> RunReport {
        let (plan, cache) = (self.plan(), self.cache());
        let manner = Manner {
            jobs: 2,
            device_jobs: 1,
            cores: 2,
            device: "cpu".to_owned(),
            backend: "toy".to_owned(),
            offline: true,
            on_error,
            timeout: None,
            retries: 0,
        };
        let selection = Choice::default().select(&plan).unwrap();
        let mut executor = Inline::<Toy>::new(self.cache_folder());
        let scheduler = Scheduler::new(&plan, &cache, &manner, &selection, emit);
        scheduler.run(&mut executor, &|| 0).unwrap()
    }

    /// Returns the value of every stage that has one.
    pub(super) fn values(&self, report: &RunReport) -> BTreeMap<String, i64> {
        let (plan, cache) = (self.plan(), self.cache());
        let value = |(&stage, entry): (&usize, &super::cache::Entry)| {
            let number = Number::read(&cache.reader(&entry.artifact)).unwrap();
            (plan.stages()[stage].name.clone(), number.0)
        };
        report.entries.iter().map(value).collect()
    }

    /// Returns the stages that a plan says will surely run, and those that may.
    pub(super) fn planned(&self) -> (Vec<String>, Vec<String>) {
        let plan = self.plan();
        let (standings, _) = assess::assess(&plan, &self.cache(), "toy").unwrap();
        let (mut run, mut may) = (Vec::new(), Vec::new());
        for (planned, standing) in plan.stages().iter().zip(standings) {
            match standing {
                Standing::Cached(_) => {}
                Standing::Stale { .. } => run.push(planned.name.clone()),
                Standing::Waiting { .. } => may.push(planned.name.clone()),
            }
        }
        (run, may)
    }
}
