//! The stage kind [`Preprocess`].

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::artifacts::{AnySamples, open_samples};
use super::cost;
use super::samples::{SampleKind, recipe_problems, store_prepared};
use crate::data::{BrokenPolicy, Choice, Division, Recipe, Split, Step};
use crate::engine::stage::context::{RunContext, StageError};
use crate::engine::stage::estimate::ArtifactEstimate;
use crate::engine::stage::{Input, Inputs, Kind, Problem, Producer, Stage, StageRef};
use crate::numerics::Points;

/// Samples of another stage: selected, split and transformed.
///
/// ```ron
/// "small-images": Preprocess(
///     data: "train-images",            // its split stays: training data remain training data
///     select: {"scale": Range(0.5, 0.8)},
///     steps: [Crop(140), Resize(size: 64, filter: Lanczos)],
/// )
/// ```
///
/// Data that are not split yet can be split here (`split`, `division`, as in `Dataset`). `like`
/// names the data that a scale is measured on; held-out data need it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Preprocess {
    /// The samples.
    pub data: StageRef<AnySamples>,
    /// Which samples to keep, by factor or `class`.
    #[serde(default)]
    pub select: BTreeMap<String, Choice>,
    /// Which part of the data, if they are not yet split.
    #[serde(default)]
    pub split: Option<Split>,
    /// How the parts are made; if left out, as published, or 70/15/15 where nothing is published.
    #[serde(default)]
    pub division: Option<Division>,
    /// Preprocessing steps, in this order.
    #[serde(default)]
    pub steps: Vec<Step>,
    /// The data that a scale is measured on; the selected samples themselves if left out.
    #[serde(default)]
    pub like: Option<StageRef<Points>>,
}

impl Preprocess {
    fn recipe<'a>(&'a self, like: Option<&'a Points>) -> Recipe<'a> {
        Recipe {
            select: &self.select,
            split: self.split,
            division: self.division.as_ref(),
            steps: &self.steps,
            broken: BrokenPolicy::Fail,
            like,
        }
    }
}

impl Stage for Preprocess {
    fn kind(&self) -> Kind {
        Kind { name: "Preprocess", version: 1 }
    }

    fn inputs(&self) -> Vec<Input> {
        let like = self.like.iter().map(|like| like.input("like"));
        std::iter::once(self.data.input("data")).chain(like).collect()
    }

    fn output(&self, inputs: &Inputs<'_, str>) -> String {
        let taken = inputs.one("data").and_then(SampleKind::of_kind);
        taken.map_or_else(String::new, |samples| {
            let split = self.split.or(samples.split);
            SampleKind { split, ..samples }.after(&self.steps).kind().to_owned()
        })
    }

    fn problems(&self, inputs: &Inputs<'_, Producer>) -> Vec<Problem> {
        let problem = |field, message: String, help: &str| Problem {
            field,
            message,
            help: Some(help.to_owned()),
        };
        let mut found = Vec::new();
        let taken = inputs.one("data").and_then(|made| SampleKind::of_kind(&made.kind));
        if let (Some(_), Some(split)) = (self.split, taken.and_then(|samples| samples.split)) {
            let message = format!("`{}` is already the {} split", self.data.name(), split.name());
            found.push(problem("split", message, "delete this line, or use unsplit data"));
        }
        let (content, division) = (taken.map(|samples| samples.content), self.division.as_ref());
        found.extend(recipe_problems(content, &self.steps, self.split, division));
        let is_held_out = |split| matches!(split, Some(Split::Validation | Split::Test));
        let measures = self.steps.iter().any(Step::measures);
        let made = self.split.or(taken.and_then(|samples| samples.split));
        if measures && self.like.is_none() && is_held_out(made) {
            let message =
                "a scale measured on held-out data differs from that of the training data";
            let help = "name the training data: `like: \"..\"`";
            found.push(problem("steps", message.to_owned(), help));
        }
        let like = inputs.one("like").and_then(|made| SampleKind::of_kind(&made.kind));
        let is_train = |samples: SampleKind| samples.split == Some(Split::Train);
        if like.is_some_and(|samples| {
            is_held_out(samples.split) || is_held_out(made) && !is_train(samples)
        }) {
            let message = "held-out data can't determine the scale".to_owned();
            found.push(problem("like", message, "name the training data"));
        }
        if self.like.is_some() && !measures {
            let message = "no step measures a scale".to_owned();
            found.push(problem("like", message, "add `Scale(Standard)`, or delete this line"));
        }
        found
    }

    fn estimate(&self, inputs: &Inputs<'_, ArtifactEstimate>) -> ArtifactEstimate {
        let samples = inputs.one("data").cloned().unwrap_or_default();
        cost::prepared_estimate(&samples, &self.recipe(None))
    }

    fn run(&self, context: &mut RunContext) -> Result<(), StageError> {
        let samples = open_samples(context.files_of(&self.data)?)?;
        let like = self.like.as_ref().map(|like| context.load(like)).transpose()?;
        store_prepared(context, samples, &self.recipe(like.as_ref()))
    }
}

/// A stage and the key of its settings; when the key changes, every user computes again.
#[cfg(test)]
pub(super) const PINNED: (&str, &str) =
    (r#"Preprocess(data: "images", steps: [Pad(20)])"#, "ba641e15");
