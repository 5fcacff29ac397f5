//! What a stage is to the engine: a kind, typed references, and one function that runs it.
//!
//! The engine knows no kind by name. Each kind implements [`Stage`]; the closed set of kinds that
//! a pipeline file may use implements [`StageSet`] and is what the file is parsed into.

pub mod artifact;
pub mod context;
pub mod estimate;
pub mod lifecycle;
pub mod run_record;

use std::any::{Any, type_name};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::path::PathBuf;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use self::artifact::{Artifact, ArtifactKind};
use self::context::{RunContext, StageError};
use self::estimate::{ArtifactEstimate, Work};

/// Axis names with the labels that a stage stands for.
pub type Labels = BTreeMap<String, String>;

/// The identity of a stage kind in keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Its name in pipeline files.
    pub name: &'static str,
    /// Raised whenever the same settings and inputs would give other bytes.
    pub version: u32,
}

/// What a stage needs while it runs; decides what may run side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// A processor core.
    Cpu,
    /// The compute device that models run on.
    Device,
}

/// Why a compute device can't be used; in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceProblem {
    /// It does not work.
    Broken(String),
    /// It may work later.
    Full(String),
}

/// What a reference names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    /// One stage.
    One(String),
    /// Every stage of a family, such as `estimate-{seed}`.
    Each(String),
}

impl Reference {
    /// Returns the text that the user wrote, with the stage's own axes put in.
    pub fn text(&self) -> &str {
        match self {
            Self::One(text) | Self::Each(text) => text,
        }
    }
}

/// An input that a stage declares.
#[derive(Clone, Debug)]
pub struct Input {
    /// The field that holds the reference; part of the key.
    pub role: String,
    /// The stage or family that it names.
    pub reference: Reference,
    /// The artifact kinds that are welcome there; empty means any.
    pub accepts: &'static [ArtifactKind],
}

/// What is known of the stages behind each input, by the input's role.
#[derive(Debug)]
pub struct Inputs<'a, T: ?Sized> {
    by_role: Vec<(&'a str, Vec<&'a T>)>,
}

impl<'a, T: ?Sized> Inputs<'a, T> {
    /// Returns what is known of the stage behind an input; none if the stage has no such input, or
    /// if its reference leads nowhere.
    pub fn one(&self, role: &str) -> Option<&'a T> {
        self.family(role).first().copied()
    }

    /// Returns what is known of each stage behind an input, in axis order.
    pub fn family(&self, role: &str) -> &[&'a T] {
        // Inputs are few: comparing their roles costs less than any map.
        let found = self.by_role().find(|(own, _)| *own == role);
        found.map_or(&[], |(_, members)| members)
    }

    /// Returns the families of a field that lists several, such as `records[0]` and `records[1]`.
    pub fn families(&self, field: &str) -> Vec<&[&'a T]> {
        let is_listed = |role: &str| role.strip_prefix(field).is_some_and(|at| at.starts_with('['));
        self.by_role().filter(|(role, _)| is_listed(role)).map(|(_, members)| members).collect()
    }

    /// Returns all roles with what is behind them, in the order in which the stage declares them.
    pub fn by_role(&self) -> impl Iterator<Item = (&'a str, &[&'a T])> {
        self.by_role.iter().map(|(role, members)| (*role, members.as_slice()))
    }
}

impl<'a, T: ?Sized> FromIterator<(&'a str, Vec<&'a T>)> for Inputs<'a, T> {
    fn from_iter<I: IntoIterator<Item = (&'a str, Vec<&'a T>)>>(inputs: I) -> Self {
        Self { by_role: inputs.into_iter().collect() }
    }
}

/// A reference to a stage whose artifact is read as a `T`.
#[derive(Debug)]
pub struct StageRef<T> {
    name: String,
    reads: PhantomData<fn() -> T>,
}

/// References to every stage of a family, in axis order.
#[derive(Debug)]
pub struct Each<T> {
    pattern: String,
    reads: PhantomData<fn() -> T>,
}

impl<T: Artifact> StageRef<T> {
    /// Declares this reference as an input.
    pub fn input(&self, role: &str) -> Input {
        Input {
            role: role.to_owned(),
            reference: Reference::One(self.name.clone()),
            accepts: T::KINDS,
        }
    }
}

impl<T: Artifact> Each<T> {
    /// Declares this family as an input.
    pub fn input(&self, role: &str) -> Input {
        Input {
            role: role.to_owned(),
            reference: Reference::Each(self.pattern.clone()),
            accepts: T::KINDS,
        }
    }
}

impl<T> StageRef<T> {
    /// Returns the name of the stage.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl<T> Each<T> {
    /// Returns the pattern of the family.
    pub fn pattern(&self) -> &str {
        &self.pattern
    }
}

impl<T> Clone for StageRef<T> {
    fn clone(&self) -> Self {
        Self { name: self.name.clone(), reads: PhantomData }
    }
}

impl<T> Clone for Each<T> {
    fn clone(&self) -> Self {
        Self { pattern: self.pattern.clone(), reads: PhantomData }
    }
}

// In a key a reference is nothing: the digest of what it leads to stands under its role, so that
// renaming a stage reruns nothing.
impl<T> Serialize for StageRef<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_unit()
    }
}

impl<T> Serialize for Each<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_unit()
    }
}

impl<'de, T> Deserialize<'de> for StageRef<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self { name: String::deserialize(deserializer)?, reads: PhantomData })
    }
}

impl<'de, T> Deserialize<'de> for Each<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename = "Each")]
        struct Written(String);
        Ok(Self { pattern: Written::deserialize(deserializer)?.0, reads: PhantomData })
    }
}

/// The schema keyword of a reference to a stage: the artifact kinds that are welcome, empty for any.
pub const STAGE_GIVES: &str = "x-stage-gives";

/// The schema keyword of a reference to a family, with the same content.
pub const FAMILY_GIVES: &str = "x-family-gives";

impl<T: Artifact> JsonSchema for StageRef<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "StageRef".into()
    }

    fn schema_id() -> Cow<'static, str> {
        type_name::<Self>().into()
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", STAGE_GIVES: T::KINDS })
    }
}

impl<T: Artifact> JsonSchema for Each<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Each".into()
    }

    fn schema_id() -> Cow<'static, str> {
        type_name::<Self>().into()
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", FAMILY_GIVES: T::KINDS })
    }
}

/// Inputs that no stage makes.
#[derive(Clone, Debug, Default)]
pub struct Externals {
    /// Paths relative to the pipeline file or the data folder; a folder stands for all in it.
    pub files: Vec<String>,
    /// Names of environment variables.
    pub variables: Vec<String>,
}

/// What is known of a stage that another one reads, before anything runs. A stage may have hundreds
/// of readers, which share it.
#[derive(Clone, Debug)]
pub struct Producer {
    /// The axis labels it stands for.
    pub labels: Arc<Labels>,
    /// The kind of artifact that it leaves.
    pub kind: Arc<str>,
    /// The names of the values in its record, if they are known.
    pub values: Option<Arc<[String]>>,
    /// How many entries each row of its artifact has, if that is known.
    pub row_length: Option<usize>,
}

/// Something about its settings that only a stage can see, such as two fields that don't fit each
/// other.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The field to point at.
    pub field: &'static str,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
}

/// One stage kind.
pub trait Stage {
    /// Returns the kind's name and version.
    fn kind(&self) -> Kind;

    /// Returns every input, one per reference.
    fn inputs(&self) -> Vec<Input>;

    /// Returns the kind of artifact that the stage leaves. `inputs` has the kinds behind each input,
    /// for stages that pass on what they read.
    fn output(&self, inputs: &Inputs<'_, str>) -> String;

    /// Computes the artifact.
    fn run(&self, context: &mut RunContext) -> Result<(), StageError>;

    /// Returns the settings that decide only how long the stage runs, as dotted paths such
    /// as `length` or `model.Deep.latent`. Stages that differ only there share one state folder, so
    /// that a longer run can go on from a shorter one; the bytes of each must be as if it had not.
    fn horizon(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns what the stage needs while it runs.
    fn needs(&self) -> Needs {
        Needs::Cpu
    }

    /// Returns files and variables from outside the pipeline.
    fn externals(&self) -> Externals {
        Externals::default()
    }

    /// Checks what the types of the fields can't, before anything runs. An input whose reference
    /// leads nowhere has no stages.
    fn problems(&self, inputs: &Inputs<'_, Producer>) -> Vec<Problem> {
        let _ = inputs;
        Vec::new()
    }

    /// Returns the names of the values in the stage's record, if they are known beforehand.
    fn values(&self) -> Option<Vec<String>> {
        None
    }

    /// Returns how many entries each row of the stage's artifact has, where its readers need to know
    /// beforehand.
    fn row_length(&self) -> Option<usize> {
        None
    }

    /// Returns what is known of the artifact before it is made.
    fn estimate(&self, inputs: &Inputs<'_, ArtifactEstimate>) -> ArtifactEstimate {
        let _ = inputs;
        ArtifactEstimate::default()
    }

    /// Returns what outside files tell of the artifact, where neither settings nor inputs do; they are
    /// named as the stage sees them. Only predictions ask for it: files may be opened.
    fn estimate_from_files(&self, files: &BTreeMap<String, PathBuf>) -> Option<ArtifactEstimate> {
        let _ = files;
        None
    }

    /// Returns what is probably not intended, although the stage can run: it is shown before a run,
    /// and stops none.
    fn warnings(&self, inputs: &Inputs<'_, ArtifactEstimate>) -> Vec<Problem> {
        let _ = inputs;
        Vec::new()
    }

    /// Returns how much work the stage is, where that can be counted before it runs.
    fn work(&self, inputs: &Inputs<'_, ArtifactEstimate>) -> Option<Work> {
        let _ = inputs;
        None
    }

    /// Returns whether the artifact's files belong into the reports folder.
    fn is_report(&self) -> bool {
        false
    }
}

/// The closed set of stage kinds that a pipeline file is parsed into.
pub trait StageSet: Serialize + DeserializeOwned + Clone + Send + Sync + 'static {
    /// Returns the kind behind the variant.
    fn as_stage(&self) -> &dyn Stage;

    /// Makes sure that a compute device works, before a stage that needs it begins.
    fn check_device(name: &str) -> Result<(), DeviceProblem> {
        let _ = name;
        Ok(())
    }

    /// Says in one line what a panic of this stage on a compute device means, if that is known.
    fn explain_panic(&self, device: &str, panic: &(dyn Any + Send)) -> Option<String> {
        let _ = (device, panic);
        None
    }

    /// Returns the file of the reports folder that no stage writes, but that a file of a stage of
    /// this name would replace.
    fn reserved_report_file(stage: &str) -> Option<&'static str> {
        let _ = stage;
        None
    }
}
