//! `Preprocess`: samples of another stage, chosen, split and changed.
//!
//! ```ron
//! "small-images": Preprocess(
//!     data: "train-images",            // its split stays: training data remain training data
//!     select: {"scale": Range(0.5, 0.8)},
//!     steps: [Crop(140), Resize(size: 64, filter: Lanczos)],
//! )
//! ```
//!
//! Data that are not split yet can be split here (`split`, `division`, as in `Dataset`). Steps:
//! `First(n)`, `Subset(count, seed)`, `Crop(size)`, `Pad(size)`, `Resize(size, filter)`,
//! `Flatten` (images become vectors between 0 and 1), `Scale(By(2.0))`, `Scale(Standard)`,
//! `Scale(UnitRange)`; `like` names the data that a scale is measured on, as held-out data must.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::artifacts::{AnySamples, open_samples};
use super::outlooks;
use super::samples::{Sort, making_problems, store};
use crate::data::{BrokenPolicy, Choice, Division, Recipe, Split, Step};
use crate::engine::context::{RunContext, StageError};
use crate::engine::cost::Outlook;
use crate::engine::stage::{Input, Kind, Problem, Producer, Stage, StageRef};
use crate::numerics::Points;

/// Settings of a preprocessing stage.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preprocess {
    /// The samples.
    pub data: StageRef<AnySamples>,
    /// Which samples of that, by factor or `class`.
    #[serde(default)]
    pub select: BTreeMap<String, Choice>,
    /// Which part of the data, if they are not split yet.
    #[serde(default)]
    pub split: Option<Split>,
    /// How the parts are made; as published, or 70/15/15, if left out.
    #[serde(default)]
    pub division: Option<Division>,
    /// What is done to the samples.
    #[serde(default)]
    pub steps: Vec<Step>,
    /// The data that a scale is measured on; the chosen samples themselves if left out.
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

    fn output(&self, inputs: &[Vec<&str>]) -> String {
        let taken = inputs.first().and_then(|kinds| Sort::of_kind(kinds.first()?));
        taken.map_or_else(String::new, |sort| {
            let split = self.split.or(sort.split);
            Sort { split, ..sort }.after(&self.steps).kind().to_owned()
        })
    }

    fn problems(&self, inputs: &[Vec<Producer>]) -> Vec<Problem> {
        let problem = |field, message: String, help: &str| Problem {
            field,
            message,
            help: Some(help.to_owned()),
        };
        let mut found = Vec::new();
        let taken = inputs.first().and_then(|producers| Sort::of_kind(&producers.first()?.kind));
        if let (Some(_), Some(split)) = (self.split, taken.and_then(|sort| sort.split)) {
            let message = format!("`{}` is the {} part already", self.data.name(), split.name());
            found.push(problem("split", message, "delete this line, or take unsplit data"));
        }
        let (content, division) = (taken.map(|sort| sort.content), self.division.as_ref());
        found.extend(making_problems(content, &self.steps, self.split, division));
        let is_held_out = |split| matches!(split, Some(Split::Validation | Split::Test));
        let measures = self.steps.iter().any(Step::measures);
        let made = self.split.or(taken.and_then(|sort| sort.split));
        if measures && self.like.is_none() && is_held_out(made) {
            let message = "a scale that is measured on held-out data differs from training's";
            let help = "name the training data: `like: \"..\"`";
            found.push(problem("steps", message.to_owned(), help));
        }
        let like = inputs.get(1).and_then(|producers| Sort::of_kind(&producers.first()?.kind));
        let is_train = |sort: Sort| sort.split == Some(Split::Train);
        if like.is_some_and(|sort| is_held_out(sort.split) || is_held_out(made) && !is_train(sort))
        {
            let message = "data that are held out can't set the scale".to_owned();
            found.push(problem("like", message, "name the training data"));
        }
        if self.like.is_some() && !measures {
            let message = "no step measures anything on other data".to_owned();
            found.push(problem("like", message, "add `Scale(Standard)`, or delete this line"));
        }
        found
    }

    fn outlook(&self, inputs: &[Vec<Outlook>]) -> Outlook {
        let samples = outlooks::of_input(inputs, 0).cloned().unwrap_or_default();
        outlooks::prepared(&samples, &self.recipe(None))
    }

    fn run(&self, context: &mut RunContext) -> Result<(), StageError> {
        let samples = open_samples(context.files_of(&self.data)?)?;
        let like = self.like.as_ref().map(|like| context.load(like)).transpose()?;
        store(context, samples, &self.recipe(like.as_ref()))
    }
}
