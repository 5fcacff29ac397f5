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
use super::geodesic::{SAMPLES_DIGEST, samples_digest};
use crate::data::SampleSet;
use crate::engine::context::{RunContext, StageError};
use crate::engine::events::Progress;
use crate::engine::stage::{Input, Kind, Needs, Problem, Producer, Stage, StageRef};
use crate::geometry::Distances;
use crate::models::ModelSpec;
use crate::numerics::Seed;
use crate::training::{
    self, Checkpointing, Fit, Flow, Length, OptimizerSpec, Schedule, TrainError, TrainSpec,
    TrainingData, fit,
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

impl Train {
    /// Makes sure that distances are between the very images that are learned from; distances of a
    /// program that doesn't say which images it took are trusted.
    fn check_samples(&self, context: &RunContext, samples: &SampleSet) -> Result<(), StageError> {
        let Some(distances) = &self.distances else {
            return Ok(());
        };
        match context.files_of(distances)?.read(SAMPLES_DIGEST) {
            Ok(of) if of != samples_digest(samples).as_bytes() => {
                Err(TrainError::OtherImages.into())
            }
            _ => Ok(()),
        }
    }
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

    fn output(&self, _inputs: &[Vec<String>]) -> String {
        "model".to_owned()
    }

    fn needs(&self) -> Needs {
        Needs::Device
    }

    fn problems(&self, _inputs: &[Vec<Producer>]) -> Vec<Problem> {
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
        let samples = SampleSet::Images(context.load(&self.data)?.0);
        let distances = self.distances.as_ref().map(|input| context.load(input)).transpose()?;
        self.check_samples(context, &samples)?;
        let SampleSet::Images(images) = &samples else {
            return Err("models learn from images".into());
        };
        let data = TrainingData { images, distances: distances.as_ref() };
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
        context.log(&format!("{} images of {} on {device}", images.len(), images.shape()));
        let epoch_steps = images.len().div_ceil(self.batch_size.get());
        let mut has_begun = false;
        let mut observe = |progress: &training::Progress<'_>| {
            if !has_begun {
                has_begun = true;
                let message = resumption(progress);
                context.log(message.as_deref().unwrap_or("starts"));
                context.progress(Progress { message, ..shown(progress, progress.epoch - 1) });
            }
            if progress.step.is_multiple_of(epoch_steps) || progress.step == progress.steps {
                let factor = self.schedule.factor(progress.step - 1, progress.steps);
                context.log(&epoch_line(progress, factor));
                context.progress(shown(progress, progress.epoch));
            }
            if context.should_stop() { Flow::Stop } else { Flow::Continue }
        };
        match fit(&self.model, &spec, data, device, Some(&checkpointing), &mut observe)? {
            Fit::Stopped { step } => {
                context.log(&format!("stops after step {step}, to go on from there"));
                Err(StageError::Stopped)
            }
            Fit::Finished { model, history } => {
                context.log("ends; the mean losses of every epoch are in history.json");
                context.store(&model)?;
                Ok(context.writer().write_json("history.json", &history)?)
            }
        }
    }
}

/// Returns what there is to say of a training that does not start from nothing.
fn resumption(first: &training::Progress<'_>) -> Option<String> {
    (first.step > 1).then(|| format!("goes on from step {} of {}", first.step, first.steps))
}

fn shown(now: &training::Progress<'_>, epochs: usize) -> Progress {
    Progress {
        done: epochs as u64,
        total: now.epochs as u64,
        unit: "epoch".to_owned(),
        note: format!("loss {}", compact(now.loss)),
        ..Progress::default()
    }
}

/// Returns the log's line on an epoch, with the losses of its last step.
fn epoch_line(now: &training::Progress<'_>, factor: f64) -> String {
    let terms: Vec<String> =
        now.terms.iter().map(|(name, value)| format!("{name} {}", compact(*value))).collect();
    let training::Progress { epoch, epochs, step, steps, .. } = now;
    format!("epoch {epoch}/{epochs}, step {step}/{steps}, rate x {factor:.3}: {}", terms.join(", "))
}

/// Writes a loss with enough digits to see it change.
fn compact(value: f64) -> String {
    if value == 0.0 || value.abs() >= 0.01 { format!("{value:.4}") } else { format!("{value:.2e}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(step: usize) -> training::Progress<'static> {
        let terms = &[("total", 31.25), ("variance", 0.000_123_4)];
        training::Progress { epoch: 2, epochs: 84, step, steps: 1000, loss: 31.25, terms }
    }

    #[test]
    fn the_log_tells_every_loss_of_an_epoch() {
        assert_eq!(
            epoch_line(&progress(24), 0.5),
            "epoch 2/84, step 24/1000, rate x 0.500: total 31.2500, variance 1.23e-4"
        );
    }

    #[test]
    fn only_a_resumed_training_says_that_it_goes_on() {
        assert_eq!(resumption(&progress(1)), None);
        assert_eq!(resumption(&progress(301)).unwrap(), "goes on from step 301 of 1000");
    }
}
