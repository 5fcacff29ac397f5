//! `Train`: one model, one seed.
//!
//! ```ron
//! "train-{seed}": Train(
//!     model: Pcae(latent: 16, network: Conv(channels: [16, 32]), beta: 16,
//!                 gamma: Dynamic(threshold: 0.98, every: Steps(100))),
//!     data: "train-images", distances: "distances",
//!     length: Steps(1000), batch_size: 256, optimizer: Adam(rate: 3e-3),
//!     schedule: FlatThenCosine(flat: 0.5), seed: Axis(seed),
//! )
//! ```
//!
//! A stopped or killed training goes on from its last checkpoint, to the same bytes.

use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};

use super::artifacts::TrainImages;
use crate::engine::context::{RunContext, StageError};
use crate::engine::events::Progress;
use crate::engine::stage::{Input, Kind, Labels, Needs, Problem, Stage, StageRef};
use crate::geometry::Distances;
use crate::models::ModelSpec;
use crate::numerics::Seed;
use crate::training::{
    Checkpointing, Fit, Flow, Length, OptimizerSpec, Schedule, TrainSpec, TrainingData, fit,
};

/// Steps between two checkpoints.
const CHECKPOINT_STEPS: NonZeroUsize = NonZeroUsize::new(100).unwrap();

/// Settings of a training stage.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Train {
    /// What is trained.
    pub model: ModelSpec,
    /// The images it learns from.
    pub data: StageRef<TrainImages>,
    /// Distances between those images, for models that use them.
    #[serde(default)]
    pub distances: Option<StageRef<Distances>>,
    /// How long to train.
    pub length: Length,
    /// Images in each step.
    pub batch_size: NonZeroUsize,
    /// How weights follow gradients.
    pub optimizer: OptimizerSpec,
    /// How the learning rate changes.
    #[serde(default)]
    pub schedule: Schedule,
    /// Source of the initial weights and of the order of the images.
    pub seed: Seed,
}

impl Stage for Train {
    fn kind(&self) -> Kind {
        Kind { name: "Train", version: 1 }
    }

    fn inputs(&self) -> Vec<Input> {
        let mut inputs = vec![self.data.input("data")];
        inputs.extend(self.distances.iter().map(|distances| distances.input("distances")));
        inputs
    }

    fn output(&self) -> String {
        "model".to_owned()
    }

    fn needs(&self) -> Needs {
        Needs::Device
    }

    fn problems(&self, _families: &[Vec<Labels>]) -> Vec<Problem> {
        if self.model.needs_distances() && self.distances.is_none() {
            return vec![Problem {
                field: "model",
                message: "this model learns from distances, but the stage has none".to_owned(),
                help: Some(
                    "add `distances: \"..\"` with the name of a `Geodesic` stage".to_owned(),
                ),
            }];
        }
        Vec::new()
    }

    fn run(&self, context: &mut RunContext) -> Result<(), StageError> {
        let images = context.load(&self.data)?.0;
        let distances = self.distances.as_ref().map(|input| context.load(input)).transpose()?;
        let data = TrainingData { images: &images, distances: distances.as_ref() };
        let spec = TrainSpec {
            length: self.length,
            batch_size: self.batch_size,
            optimizer: self.optimizer.clone(),
            schedule: self.schedule,
            seed: self.seed,
        };
        let checkpointing = Checkpointing {
            folder: context.state_folder().to_owned(),
            every_steps: CHECKPOINT_STEPS,
        };
        let device = context.device().parse()?;
        let mut epoch = 0;
        let mut observe = |progress: &crate::training::Progress<'_>| {
            if progress.epoch != epoch {
                epoch = progress.epoch;
                context.progress(Progress {
                    done: progress.epoch as u64,
                    total: progress.epochs as u64,
                    unit: "epoch".to_owned(),
                    note: format!("loss {:.4}", progress.loss),
                });
            }
            if context.should_stop() { Flow::Stop } else { Flow::Continue }
        };
        match fit(&self.model, &spec, data, device, Some(&checkpointing), &mut observe)? {
            Fit::Stopped { .. } => Err(StageError::Stopped),
            Fit::Finished { model, history } => {
                context.store(&model)?;
                Ok(context.writer().write_json("history.json", &history)?)
            }
        }
    }
}
