//! Test stages, numbers and sums, to test the engine's promises in milliseconds.

use std::any::Any;
use std::collections::BTreeMap;
use std::fs;
use std::panic::panic_any;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use crate::engine::cache::{Cache, Check, Reuse};
use crate::engine::executor::{Executor, Inline};
use crate::engine::job::Job;
use crate::engine::key::builder;
use crate::engine::pipeline::search_paths::FileProbe;
use crate::engine::pipeline::source::Source;
use crate::engine::plan::Plan;
use crate::engine::plan::select::Choice;
use crate::engine::run::events::Event;
use crate::engine::run::options::{OnError, RunOptions, RunReport};
use crate::engine::run::scheduler::Scheduler;
use crate::engine::run::sharing::Sharing;
use crate::engine::run::status::{self, StageStatus};
use crate::engine::stage::artifact::{Artifact, ArtifactError, ArtifactReader, ArtifactWriter};
use crate::engine::stage::context::{DownloadPolicy, RunContext, StageError};
use crate::engine::stage::{
    DeviceProblem, Each, Input, Inputs, Kind, Needs, Stage, StageRef, StageSet,
};

/// A number in a file.
#[derive(Debug)]
pub(crate) struct Number(pub(crate) i64);

impl Artifact for Number {
    const KINDS: &'static [&'static str] = &["number"];

    fn write(&self, writer: &mut ArtifactWriter) -> Result<(), ArtifactError> {
        writer.write_json("number.json", &self.0)
    }

    fn read(reader: &ArtifactReader) -> Result<Self, ArtifactError> {
        reader.read_json("number.json").map(Self)
    }
}

/// The test stage kinds; all make numbers.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) enum TestStage {
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
    /// A constant that is computed on a device.
    Model {
        value: i64,
        /// What the device panics with instead.
        #[serde(default)]
        panics: Option<String>,
    },
    /// A constant that also measures something of its run.
    Measured {
        value: i64,
        ticks: Vec<f64>,
    },
    /// What was measured when its input was made.
    Ticks {
        of: StageRef<Number>,
    },
    /// Adds `by` once more in each step than in the one before; all steps are kept in its state.
    Count {
        #[serde(default)]
        from: Option<StageRef<Number>>,
        #[serde(default)]
        by: i64,
        to: Reach,
    },
}

/// How far a count goes, and what happens then.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum Reach {
    Steps(usize),
    Failing(usize),
    Stopping(usize),
}

impl StageSet for TestStage {
    fn as_stage(&self) -> &dyn Stage {
        self
    }

    fn check_device(name: &str) -> Result<(), DeviceProblem> {
        match name.split(':').next() {
            Some("broken") => Err(DeviceProblem::Broken(format!("`{name}` fell off the bus"))),
            Some("full") => Err(DeviceProblem::Full(format!("`{name}` is full"))),
            _ => Ok(()),
        }
    }

    fn explain_panic(&self, device: &str, panic: &(dyn Any + Send)) -> Option<String> {
        let text = panic.downcast_ref::<String>()?;
        text.starts_with("no memory").then(|| format!("`{device}` is full: lower `value`"))
    }

    fn reserved_report_file(stage: &str) -> Option<&'static str> {
        (stage == "report").then_some("report.tex")
    }
}

impl Stage for TestStage {
    fn kind(&self) -> Kind {
        let name = match self {
            Self::Constant { .. } => "Constant",
            Self::Abs { .. } => "Abs",
            Self::Sum { .. } => "Sum",
            Self::Total { .. } => "Total",
            Self::Fail { .. } => "Fail",
            Self::Model { .. } => "Model",
            Self::Measured { .. } => "Measured",
            Self::Ticks { .. } => "Ticks",
            Self::Count { .. } => "Count",
        };
        Kind { name, version: 1 }
    }

    fn is_report(&self) -> bool {
        matches!(self, Self::Total { .. })
    }

    fn needs(&self) -> Needs {
        if matches!(self, Self::Model { .. }) { Needs::Device } else { Needs::Cpu }
    }

    fn inputs(&self) -> Vec<Input> {
        match self {
            Self::Constant { .. }
            | Self::Fail { .. }
            | Self::Model { .. }
            | Self::Measured { .. } => Vec::new(),
            Self::Abs { of } | Self::Ticks { of } => vec![of.input("of")],
            Self::Sum { left, right, .. } => vec![left.input("left"), right.input("right")],
            Self::Total { of } => vec![of.input("of")],
            Self::Count { from, .. } => from.iter().map(|from| from.input("from")).collect(),
        }
    }

    fn horizon(&self) -> &'static [&'static str] {
        if matches!(self, Self::Count { .. }) { &["to"] } else { &[] }
    }

    fn output(&self, _inputs: &Inputs<'_, str>) -> String {
        "number".to_owned()
    }

    fn run(&self, context: &mut RunContext) -> Result<(), StageError> {
        let value = match self {
            Self::Abs { of } => context.load(of)?.0.abs(),
            Self::Sum { left, right, plus } => {
                context.load(left)?.0 + context.load(right)?.0 + plus
            }
            Self::Total { of } => context.load_each(of)?.iter().map(|(_, number)| number.0).sum(),
            Self::Fail { message } => return Err(message.clone().into()),
            Self::Model { panics: Some(message), .. } => panic_any(message.clone()),
            Self::Constant { value } | Self::Model { value, .. } => *value,
            Self::Measured { value, ticks } => {
                context.measured("ticks", ticks.clone());
                *value
            }
            Self::Ticks { of } => {
                let measured = &context.run_of(of)?.measured;
                measured.get("ticks").map_or(-1, |ticks| ticks.iter().sum::<f64>() as i64)
            }
            Self::Count { from, by, to } => {
                let base = from.as_ref().map(|from| context.load(from)).transpose()?;
                count(context, base.map_or(0, |base| base.0), *by, *to)?
            }
        };
        context.store(&Number(value))
    }
}

/// A file with this text is edited while a stage reads it, and edited back.
pub(crate) const EDITED_BACK: &str = "edited and edited back";

/// Goes on from the steps that are there; each is noted with how far the run went that made it.
fn count(context: &RunContext, base: i64, by: i64, to: Reach) -> Result<i64, StageError> {
    let (Reach::Steps(far) | Reach::Failing(far) | Reach::Stopping(far)) = to;
    let mut state = CountState::read(context.state_folder());
    if state.steps.len() != state.total {
        return Err("a part of the state is missing".into());
    }
    state.runs += 1;
    for step in state.total + 1..=far {
        let last = state.steps.last().map_or(base, |(value, _)| *value);
        state.steps.push((last + by * i64::try_from(step)?, far));
    }
    state.write(context.state_folder())?;
    for (_, path) in context.outside_files() {
        let planned = fs::read_to_string(path)?;
        fs::write(path, "edited meanwhile")?;
        if planned == EDITED_BACK {
            fs::write(path, planned)?;
        }
    }
    match to {
        Reach::Steps(0) => Ok(base),
        Reach::Steps(far) => Ok(state.steps[far - 1].0),
        Reach::Failing(_) => Err("no luck".into()),
        Reach::Stopping(_) => Err(StageError::Stopped),
    }
}

/// What a count keeps, in two files that must fit each other.
#[derive(Debug, Default)]
pub(crate) struct CountState {
    /// The value after each step, and how far the run went that made it.
    pub(crate) steps: Vec<(i64, usize)>,
    /// How many runs went on from it.
    pub(crate) runs: usize,
    /// How many steps there should be.
    pub(crate) total: usize,
}

impl CountState {
    pub(crate) fn read(folder: &Path) -> Self {
        let read = |name| fs::read(folder.join(name)).ok();
        let steps = read("steps").map(|text| serde_json::from_slice(&text).unwrap());
        let numbers = read("numbers").map(|text| serde_json::from_slice(&text).unwrap());
        let (total, runs) = numbers.unwrap_or_default();
        Self { steps: steps.unwrap_or_default(), runs, total }
    }

    pub(crate) fn write(&self, folder: &Path) -> Result<(), StageError> {
        fs::write(folder.join("steps"), serde_json::to_vec(&self.steps)?)?;
        let numbers = (self.steps.len(), self.runs);
        Ok(fs::write(folder.join("numbers"), serde_json::to_vec(&numbers)?)?)
    }

    /// Returns for each step how far the run went that made it.
    pub(crate) fn made(&self) -> Vec<usize> {
        self.steps.iter().map(|(_, far)| *far).collect()
    }
}

/// A pipeline text and a cache of its own.
pub(crate) struct Fixture {
    folder: PathBuf,
    /// Removes the folder in the end, where it is this fixture's own.
    _own: Option<TempDir>,
    pub(crate) text: String,
}

impl Fixture {
    pub(crate) fn new(text: &str) -> Self {
        let own = tempfile::tempdir().unwrap();
        Self { folder: own.path().to_owned(), _own: Some(own), text: text.to_owned() }
    }

    /// Makes a fixture in the folder of another one.
    pub(crate) fn within(folder: &Path, text: &str) -> Self {
        Self { folder: folder.to_owned(), _own: None, text: text.to_owned() }
    }

    /// Makes a fixture from the stages alone.
    pub(crate) fn stages(stages: &str) -> Self {
        Self::new(&format!("Pipeline(name: \"test\", stages: {{{stages}}})"))
    }

    pub(crate) fn edit(&mut self, from: &str, to: &str) -> &mut Self {
        assert!(self.text.contains(from), "`{from}` is not in the pipeline");
        self.text = self.text.replace(from, to);
        self
    }

    pub(crate) fn plan(&self) -> Plan<TestStage> {
        Plan::load(&Source::new("test.ron", self.text.as_str()), &FileProbe::Search).unwrap()
    }

    /// Returns the job of a stage without inputs.
    pub(crate) fn job(&self, stage: &str) -> Job {
        let plan = self.plan();
        let planned = &plan.stages()[plan.find(stage).unwrap()];
        let record = builder::bare_record(&*planned.stage);
        Job {
            key: record.key(),
            record,
            pipeline: plan.name().to_owned(),
            stage: stage.to_owned(),
            text: planned.text.clone(),
            inputs: Vec::new(),
            files: BTreeMap::new(),
            device: "cpu".to_owned(),
            curves: None,
            downloads: DownloadPolicy::default(),
            reuse: Reuse::Allowed,
            work: None,
        }
    }

    pub(crate) fn cache(&self) -> Cache {
        Cache::open(&self.cache_folder(), Check::Small).unwrap()
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn cache_folder(&self) -> PathBuf {
        self.folder.join("cache")
    }

    /// Returns the state of every count.
    pub(crate) fn states(&self) -> Vec<CountState> {
        let Ok(items) = fs::read_dir(self.cache_folder().join("trajectories")) else {
            return Vec::new();
        };
        items.map(|item| CountState::read(&item.unwrap().path())).collect()
    }

    pub(crate) fn run(&self) -> RunReport {
        self.run_with(OnError::Finish, &mut |_| {})
    }

    pub(crate) fn run_with(&self, on_error: OnError, emit: &mut dyn FnMut(Event)) -> RunReport {
        let mut executor = Inline::<TestStage>::new(self.cache_folder());
        self.run_on(&mut executor, &Choice::default(), on_error, emit)
    }

    /// Runs with some stages forced.
    pub(crate) fn force(&self, stage: &str) -> RunReport {
        let mut executor = Inline::<TestStage>::new(self.cache_folder());
        let choice = Choice { force: vec![stage.to_owned()], ..Choice::default() };
        self.run_on(&mut executor, &choice, OnError::Finish, &mut |_| {})
    }

    pub(crate) fn run_on(
        &self,
        executor: &mut dyn Executor,
        choice: &Choice,
        on_error: OnError,
        emit: &mut dyn FnMut(Event),
    ) -> RunReport {
        self.run_sharing(executor, choice, on_error, None, emit)
    }

    /// Runs with a remote cache.
    pub(crate) fn run_sharing(
        &self,
        executor: &mut dyn Executor,
        choice: &Choice,
        on_error: OnError,
        sharing: Option<&mut Sharing>,
        emit: &mut dyn FnMut(Event),
    ) -> RunReport {
        self.run_as(&Self::options(on_error), executor, choice, sharing, emit)
    }

    /// Returns how tests run.
    pub(crate) fn options(on_error: OnError) -> RunOptions {
        RunOptions {
            jobs: 2,
            device_jobs: 1,
            cores: 2,
            devices: vec!["cpu".to_owned()],
            backend: "test".to_owned(),
            curves: None,
            offline: true,
            on_error,
            timeout: None,
            retries: 0,
            only_look: false,
        }
    }

    /// Runs in a way of its own.
    pub(crate) fn run_as(
        &self,
        options: &RunOptions,
        executor: &mut dyn Executor,
        choice: &Choice,
        sharing: Option<&mut Sharing>,
        emit: &mut dyn FnMut(Event),
    ) -> RunReport {
        let (plan, cache) = (self.plan(), self.cache());
        let selection = choice.select(&plan).unwrap();
        let (statuses, _) = status::of_plan(&plan, &cache, &options.backend).unwrap();
        let scheduler = Scheduler::new(&plan, &cache, options, &selection, statuses, emit);
        scheduler.sharing(sharing).run(executor, &|| 0).unwrap()
    }

    /// Returns the value of every stage that has one.
    pub(crate) fn values(&self, report: &RunReport) -> BTreeMap<String, i64> {
        let (plan, cache) = (self.plan(), self.cache());
        let value = |(&stage, entry): (&usize, &crate::engine::cache::StoredResult)| {
            let number = Number::read(&cache.reader(&entry.artifact)).unwrap();
            (plan.stages()[stage].name.clone(), number.0)
        };
        report.results.iter().map(value).collect()
    }

    /// Returns the stages that a plan says will surely run, and those that may.
    pub(crate) fn planned(&self) -> (Vec<String>, Vec<String>) {
        let plan = self.plan();
        let (statuses, _) = status::of_plan(&plan, &self.cache(), "test").unwrap();
        let (mut run, mut may) = (Vec::new(), Vec::new());
        for (planned, status) in plan.stages().iter().zip(statuses) {
            match status {
                StageStatus::Cached(_) => {}
                StageStatus::Stale { .. } => run.push(planned.name.clone()),
                StageStatus::Waiting { .. } => may.push(planned.name.clone()),
            }
        }
        (run, may)
    }
}
