//! A checked pipeline: unique names, references that lead somewhere and fit, no cycle, an order.
//!
//! A [`Plan`] can only come from [`Plan::load`], so whoever holds one never meets an unknown
//! reference or a cycle.

mod cost;
mod resolve;
pub mod select;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use self::resolve::Resolver;
use crate::engine::pipeline::diagnostic::{Diagnostic, Mistakes};
use crate::engine::pipeline::expand;
use crate::engine::pipeline::scale::Scale;
use crate::engine::pipeline::search_paths::FileProbe;
use crate::engine::pipeline::source::Source;
use crate::engine::pipeline::spec::{Limits, Spec};
use crate::engine::stage::estimate::{ArtifactEstimate, Work};
use crate::engine::stage::{Inputs, Labels, Reference, StageSet};

pub(crate) use self::resolve::file_name;

/// The index of a stage in its plan.
pub type StageIndex = usize;

/// An input whose reference has been followed.
#[derive(Clone, Debug)]
pub struct ResolvedInput {
    /// The field that holds the reference.
    pub role: String,
    /// What the user wrote.
    pub reference: Reference,
    /// The stages it leads to, in axis order.
    pub members: Vec<StageIndex>,
}

/// A stage of a plan.
#[derive(Clone, Debug)]
pub struct PlannedStage<S> {
    /// Its name.
    pub name: String,
    /// Its name as the file has it, such as `train-{seed}`.
    pub template: String,
    /// The axis labels it stands for.
    pub labels: Labels,
    /// The typed stage, which is much larger than all else.
    pub stage: Box<S>,
    /// Its RON text, with everything put in.
    pub text: String,
    /// Its inputs.
    pub inputs: Vec<ResolvedInput>,
    /// Outside files, by their name in the key.
    pub files: BTreeMap<String, PathBuf>,
    /// The stages that read it.
    pub readers: Vec<StageIndex>,
    /// How it may run.
    pub limits: Limits,
    /// What is known of its artifact before it is made.
    pub estimate: ArtifactEstimate,
    /// The line of the file that declares it.
    pub line: usize,
}

impl<S> PlannedStage<S> {
    /// Returns the stages behind all inputs, in the order of the inputs.
    pub fn members(&self) -> impl Iterator<Item = StageIndex> {
        self.inputs.iter().flat_map(|input| input.members.iter().copied())
    }
}

/// A pipeline that can be run.
#[derive(Clone, Debug)]
pub struct Plan<S> {
    name: String,
    data: Option<PathBuf>,
    choices: BTreeMap<String, bool>,
    notes: Vec<(String, Vec<String>)>,
    note_files: Vec<String>,
    scale: Option<Scale>,
    stages: Vec<PlannedStage<S>>,
    warnings: Vec<Diagnostic>,
    /// See [`Plan::works`].
    works: OnceLock<Vec<Option<Work>>>,
}

impl<S: StageSet> Plan<S> {
    /// Parses and checks a pipeline file; on failure returns every mistake in it.
    ///
    /// `probe` tells where outside files are looked for.
    pub fn load(source: &Source, probe: &FileProbe) -> Result<Self, Vec<Diagnostic>> {
        let mut mistakes = Mistakes::default();
        let spec = match Spec::parse(source, probe) {
            Ok((spec, found)) => {
                mistakes.extend(found);
                spec
            }
            Err(found) => {
                mistakes.extend(found);
                return Err(mistakes.sorted());
            }
        };
        let stages = expand::expand::<S>(source, &spec, &mut mistakes);
        Resolver::new(source, &spec, mistakes).resolve(stages)
    }
}

impl<S> Plan<S> {
    /// Wraps stages that have been checked.
    fn new(spec: &Spec, stages: Vec<PlannedStage<S>>, warnings: Vec<Diagnostic>) -> Self {
        Self {
            name: spec.name.clone(),
            data: spec.search_paths.data().map(Path::to_owned),
            choices: spec.choices.clone(),
            notes: spec.notes.clone(),
            note_files: spec.note_files.clone(),
            scale: spec.scale.clone(),
            stages,
            warnings,
            works: OnceLock::new(),
        }
    }

    /// Returns the scale that was chosen, if the pipeline has any.
    pub fn scale(&self) -> Option<&str> {
        self.scale.as_ref().map(|scale| scale.name.as_str())
    }

    /// Returns the names of all scales.
    pub fn scales(&self) -> &[String] {
        self.scale.as_ref().map_or(&[], |scale| &scale.all)
    }

    /// Returns the pipeline's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the folder in which data files are looked for.
    pub fn data(&self) -> Option<&Path> {
        self.data.as_deref()
    }

    /// Returns the outside files that values were chosen by, and whether they were there.
    pub const fn choices(&self) -> &BTreeMap<String, bool> {
        &self.choices
    }

    /// Returns the notes for the report: titles with their lines.
    pub fn notes(&self) -> &[(String, Vec<String>)] {
        &self.notes
    }

    /// Returns the files that notes were read from, as the pipeline file names them.
    pub fn note_files(&self) -> &[String] {
        &self.note_files
    }

    /// Returns all stages, each after its inputs, the earlier labels of the last axis first.
    pub fn stages(&self) -> &[PlannedStage<S>] {
        &self.stages
    }

    /// Returns what is known of the artifacts that a stage reads, before they are made.
    pub fn estimates_behind<'a>(
        &'a self,
        stage: &'a PlannedStage<S>,
    ) -> Inputs<'a, ArtifactEstimate> {
        let behind = |input: &'a ResolvedInput| {
            let estimates = input.members.iter().map(|&member| &self.stages[member].estimate);
            (input.role.as_str(), estimates.collect())
        };
        stage.inputs.iter().map(behind).collect()
    }

    /// Returns what is probably not intended, in file order, each once for all stages of a template.
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }

    /// Returns a stage by name.
    pub fn find(&self, name: &str) -> Option<StageIndex> {
        self.stages.iter().position(|stage| stage.name == name)
    }
}
