//! Training: settings, the loop, its optimizer, checkpoints and record, and the trained model.
//!
//! `fit` is the one entry; it knows neither pipelines nor caches. A run that is stopped and
//! resumed ends with the same bytes as one that was not.

mod adam;
mod batches;
mod checkpoint;
mod checkpoint_writer;
mod early_stopping;
mod fit;
#[cfg(test)]
mod fixture;
mod history;
mod loaded_model;
mod progress;
mod recorder;
#[cfg(test)]
mod resume_tests;
mod schedule;
mod stage_length;
mod tensorboard;
mod trained_model;
#[cfg(test)]
mod transfer_tests;
mod unread;

use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub(crate) use self::adam::Adam;
pub use self::adam::AdamSpec;
pub use self::batches::TrainingData;
pub(crate) use self::batches::{Batches, per_epoch};
pub use self::checkpoint::CheckpointError;
pub use self::early_stopping::EarlyStopping;
pub use self::fit::fit;
pub use self::history::{History, HistoryError};
pub use self::loaded_model::{Codes, DecoderOutput, LoadedModel};
pub use self::progress::{Checkpointing, Fit, Flow, Progress};
pub use self::schedule::Schedule;
pub use self::tensorboard::EventFile;
pub use self::trained_model::{ModelFiles, TrainedModel};
use crate::data::{DataError, SampleForm};
use crate::device::DeviceError;
use crate::models::ModelError;
use crate::numerics::Seed;

/// Says why training failed.
#[derive(Debug, Error)]
pub enum TrainError {
    /// There are no training samples.
    #[error("there are no training samples")]
    NoSamples,
    /// Early stopping without validation samples.
    #[error("early stopping needs validation samples, but there are none")]
    NoValidation,
    /// The model sets more samples aside than there are.
    #[error(
        "each epoch sets {held_out} samples aside, but there are only {samples}: lower \
         `prior_samples`"
    )]
    TooFewSamples {
        /// Number of samples.
        samples: usize,
        /// Samples set aside.
        held_out: usize,
    },
    /// The model needs distances between the training samples.
    #[error("the model needs distances between the training samples, but none are given")]
    NoDistances,
    /// Samples and distances do not belong together.
    #[error("there are {samples} training samples but distances between {distances} points")]
    OtherPoints {
        /// Number of samples.
        samples: usize,
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
    /// The distances belong to other samples.
    #[error("the distances were not computed from `data`: compute them from the same stage")]
    OtherSamples,
    /// The model cannot be built or loaded.
    #[error("cannot build the model")]
    Model(#[from] ModelError),
    /// The device cannot be used.
    #[error("cannot use the device")]
    Device(#[from] DeviceError),
    /// A checkpoint cannot be written.
    #[error("cannot write a checkpoint")]
    Checkpoint(#[from] CheckpointError),
    /// The description of a stored model cannot be read.
    #[error("cannot read the description of the model")]
    Description(#[from] serde_json::Error),
    /// Images are asked of a model of something else.
    #[error("expected a model of images, but this one decodes to {form}")]
    NoImages {
        /// What the training samples look like.
        form: SampleForm,
    },
    /// Decoded pixels do not make images.
    #[error("cannot convert the decoded values to images")]
    Images(#[from] DataError),
    /// Samples of another form than the model's.
    #[error("the model was trained on {expected}, found {found}")]
    OtherForm {
        /// What the training samples look like.
        expected: SampleForm,
        /// What the samples given look like.
        found: SampleForm,
    },
}

/// Settings of a training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainSpec {
    /// How long to train; a model of several stages trains this long in each.
    pub length: Length,
    /// Samples in each step. An epoch has whole batches only: 3000 samples in batches of 256 make 11
    /// steps, and 184 samples, others in each epoch, are left out.
    pub batch_size: NonZeroUsize,
    /// The optimizer.
    pub optimizer: OptimizerSpec,
    /// How the learning rate changes.
    #[serde(default)]
    pub schedule: Schedule,
    /// When to stop early.
    #[serde(default)]
    pub early_stopping: Option<EarlyStopping>,
    /// Random seed for the initial weights and the order of the samples.
    pub seed: Seed,
}

/// How long to train.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Length {
    /// This many passes over the training samples.
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

/// The optimizer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub enum OptimizerSpec {
    /// Adam, with weight decay added to the gradient.
    Adam(AdamSpec),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_in_epochs_is_multiplied_by_the_steps_of_an_epoch() {
        let count = |count| NonZeroUsize::new(count).unwrap();
        assert_eq!(Length::Epochs(count(84)).steps(12), 1008);
        assert_eq!(Length::Steps(count(1000)).steps(12), 1000);
    }
}
