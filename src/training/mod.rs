//! Training: settings, the loop, its optimizer, checkpoints and record, and the trained model.
//!
//! `fit` is the one entry; it knows neither pipelines nor caches. A run that is stopped and
//! resumed ends with the same bytes as one that was not.

mod adam;
mod batches;
mod checkpoint;
mod fit;
mod history;
#[cfg(test)]
mod lab;
mod progress;
mod trained;

use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use self::adam::AdamSpec;
pub use self::batches::TrainingData;
pub use self::checkpoint::CheckpointError;
pub use self::fit::fit;
pub use self::history::{History, HistoryError};
pub use self::progress::{Checkpointing, Fit, Flow, Progress};
pub use self::trained::{ModelFiles, TrainedModel};
use crate::data::ImageShape;
use crate::device::DeviceError;
use crate::models::ModelError;
use crate::numerics::Seed;
use crate::numerics::units::Fraction;

/// Says why training failed.
#[derive(Debug, Error)]
pub enum TrainError {
    /// There is nothing to learn from.
    #[error("there are no training images")]
    NoImages,
    /// The model needs distances between the training images.
    #[error("the model needs distances between the training images, but none are given")]
    NoDistances,
    /// Images and distances do not belong together.
    #[error("there are {images} training images but distances between {distances} points")]
    OtherPoints {
        /// Number of images.
        images: usize,
        /// Number of points in the table of distances.
        distances: usize,
    },
    /// Training diverged.
    #[error("loss term `{term}` became {value} in epoch {epoch}, step {step}")]
    NotFinite {
        /// Name of the first such term.
        term: String,
        /// Its value.
        value: f64,
        /// Epoch, counting from 1.
        epoch: usize,
        /// Step, counting from 1.
        step: usize,
    },
    /// Training diverged in its very last step.
    #[error("the weights `{name}` are not finite after the last step")]
    WeightsNotFinite {
        /// Name of the first such array.
        name: String,
    },
    /// The distances belong to other images.
    #[error("the distances are between other images than `data`: compute them from the same stage")]
    OtherImages,
    /// The model cannot be built or loaded.
    #[error("cannot build the model")]
    Model(#[from] ModelError),
    /// The device cannot be used.
    #[error("cannot use the device")]
    Device(#[from] DeviceError),
    /// A checkpoint cannot be written.
    #[error("cannot keep a checkpoint")]
    Checkpoint(#[from] CheckpointError),
    /// The description of a stored model is not readable.
    #[error("the description of the model is not readable")]
    Description(#[from] serde_json::Error),
    /// Images of another shape than the model's.
    #[error("the model was trained on images of {expected}, found {found}")]
    OtherShape {
        /// Shape of the training images.
        expected: ImageShape,
        /// Shape of the images given.
        found: ImageShape,
    },
}

/// Settings of a training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainSpec {
    /// How long to train.
    pub length: Length,
    /// Images in each step; the last batch of an epoch may be smaller, so 3000 images in
    /// batches of 256 make 12 steps an epoch.
    pub batch_size: NonZeroUsize,
    /// How weights follow gradients.
    pub optimizer: OptimizerSpec,
    /// How the learning rate changes.
    #[serde(default)]
    pub schedule: Schedule,
    /// Source of the initial weights and of the order of the images.
    pub seed: Seed,
}

/// How long to train.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Length {
    /// This many passes over the training images.
    Epochs(NonZeroUsize),
    /// This many optimizer steps, even if the last epoch is cut short.
    Steps(NonZeroUsize),
}

impl Length {
    /// Returns the number of steps, given the steps of one epoch.
    pub const fn steps(self, steps_per_epoch: usize) -> usize {
        match self {
            Self::Epochs(epochs) => epochs.get() * steps_per_epoch,
            Self::Steps(steps) => steps.get(),
        }
    }
}

/// How weights follow gradients.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum OptimizerSpec {
    /// Adam, for instance `Adam(rate: 3e-3)`.
    Adam(AdamSpec),
}

/// How the learning rate changes over the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Schedule {
    /// It does not.
    #[default]
    Constant,
    /// Full rate for a share of the steps, then half a cosine down to zero.
    FlatThenCosine {
        /// Share of the steps at full rate.
        flat: Fraction,
    },
}

impl Schedule {
    /// Returns the factor on the learning rate for a step counted from 0.
    pub fn factor(self, step: usize, steps: usize) -> f64 {
        match self {
            Self::Constant => 1.0,
            Self::FlatThenCosine { flat } => {
                let flat_steps = flat.get() * steps as f64;
                let falling_steps = (steps as f64 - flat_steps).max(1.0);
                let fallen = ((step as f64 - flat_steps) / falling_steps).clamp(0.0, 1.0);
                f64::midpoint(1.0, (std::f64::consts::PI * fallen).cos())
            }
        }
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "a factor of one is exact")]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_flat_then_falls_along_a_cosine() {
        let schedule = Schedule::FlatThenCosine { flat: Fraction::new(0.5).unwrap() };
        let factors = [0, 499, 500, 750, 999].map(|step| schedule.factor(step, 1000));
        assert_eq!(factors[..3], [1.0, 1.0, 1.0]);
        assert!((factors[3] - 0.5).abs() < 1e-12);
        assert!(factors[4] > 0.0 && factors[4] < 1e-4);
        assert_eq!(Schedule::Constant.factor(999, 1000), 1.0);
    }

    #[test]
    fn a_run_that_is_flat_throughout_never_falls() {
        let schedule = Schedule::FlatThenCosine { flat: Fraction::new(1.0).unwrap() };
        assert_eq!(schedule.factor(9, 10), 1.0);
    }

    #[test]
    fn a_length_in_epochs_is_multiplied_by_the_steps_of_an_epoch() {
        let count = |count| NonZeroUsize::new(count).unwrap();
        assert_eq!(Length::Epochs(count(84)).steps(12), 1008);
        assert_eq!(Length::Steps(count(1000)).steps(12), 1000);
    }
}
