//! What a stage is to the engine: a kind, typed references, and one function that runs it.
//!
//! The engine knows no kind by name. Each kind implements [`Stage`]; the closed set of kinds that
//! a pipeline file may use implements [`StageSet`] and is what the file is parsed into.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::artifact::{Artifact, ArtifactKind};
use super::context::{RunContext, StageError};
use super::cost::{Outlook, Work};

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

/// A mistake that only a stage can see, such as two fields that don't fit each other.
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
    /// for stages that pass on what they take.
    fn output(&self, inputs: &[Vec<&str>]) -> String;

    /// Computes the artifact.
    fn run(&self, context: &mut RunContext) -> Result<(), StageError>;

    /// Returns the settings that say how far the stage goes but not which way, as dotted paths such
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

    /// Checks what the types of the fields can't, before anything runs. `inputs` has the stages
    /// behind each input; an input whose reference leads nowhere has none.
    fn problems(&self, inputs: &[Vec<Producer>]) -> Vec<Problem> {
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

    /// Returns what is known of the artifact before it is made. `inputs` has what is known of the
    /// artifacts behind each input.
    fn outlook(&self, inputs: &[Vec<Outlook>]) -> Outlook {
        let _ = inputs;
        Outlook::default()
    }

    /// Returns how much work the stage is, where that can be counted beforehand.
    fn work(&self, inputs: &[Vec<Outlook>]) -> Option<Work> {
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
}
