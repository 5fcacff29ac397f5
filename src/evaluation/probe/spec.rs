//! How well classes can be told from codes: by a small network, by straight lines, by neighbors.
//!
//! What: a classifier is taught on the codes of training samples and tried on those of others; the
//! model that made the codes stays as it is.
//! Reference: the paper, section "Downstream Classification" and its table; batch size and scaling
//! are not given there. IRMAE classifies what comes before its linear layers; here it is the code.
//! Assumptions: codes are taken as they are, unless they are to be standardized.
//! Checked against: PyTorch and scikit-learn (reference.rs).

use std::num::NonZeroUsize;

use burn::module::Module;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::nearest::{classes_of, classes_of_own};
use super::{
    ClassificationError, ClassifierTraining, Labels, Network, error_percent, predictions,
    train_classifier,
};
use crate::data::{Annotations, SampleForm, SampleSet, Vectors};
use crate::device::{DeviceName, open, open_for_training};
use crate::models::{BuildContext, NetworkSpec};
use crate::numerics::units::{NonNegativeF64, PositiveF64};
use crate::numerics::{Points, Seed};
use crate::training::{AdamSpec, Flow};

/// The classifier of the codes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub enum ProbeSpec {
    /// Fully connected layers with ReLU, as in the paper.
    Mlp(MlpSpec),
    /// One linear layer: finds classes that are linearly separable.
    Linear(LinearSpec),
    /// The classes of the nearest training samples; nothing is learned.
    Nearest(NearestSpec),
}

/// Settings of a fully connected classifier, for instance `Mlp(widths: [128, 128])`; the defaults
/// are the paper's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MlpSpec {
    /// Units of each hidden layer.
    #[serde(default = "default_widths")]
    pub widths: Vec<NonZeroUsize>,
    /// Passes over the training samples.
    #[serde(default = "default_epochs")]
    pub epochs: NonZeroUsize,
    /// Learning rate of Adam.
    #[serde(default = "default_rate")]
    pub rate: PositiveF64,
    /// Weight decay of Adam, added to the gradient.
    #[serde(default = "default_weight_decay")]
    pub weight_decay: NonNegativeF64,
    /// Samples in each step; the paper doesn't say.
    #[serde(default = "default_batch_size")]
    pub batch_size: NonZeroUsize,
}

/// Settings of a linear classifier, for instance `Linear(epochs: 50)`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinearSpec {
    /// Passes over the training samples.
    #[serde(default = "default_epochs")]
    pub epochs: NonZeroUsize,
    /// Learning rate of Adam.
    #[serde(default = "default_rate")]
    pub rate: PositiveF64,
    /// Weight decay of Adam, added to the gradient.
    #[serde(default = "default_weight_decay")]
    pub weight_decay: NonNegativeF64,
    /// Samples in each step.
    #[serde(default = "default_batch_size")]
    pub batch_size: NonZeroUsize,
}

/// Settings of a nearest-neighbor classifier, for instance `Nearest(neighbors: 5)`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NearestSpec {
    /// Number of neighbors that vote; the first class wins a tie.
    pub neighbors: NonZeroUsize,
}

const HIDDEN: NonZeroUsize = NonZeroUsize::new(128).unwrap();
const EPOCHS: NonZeroUsize = NonZeroUsize::new(100).unwrap();
const BATCH_SIZE: NonZeroUsize = NonZeroUsize::new(256).unwrap();

fn default_widths() -> Vec<NonZeroUsize> {
    vec![HIDDEN; 2]
}

const fn default_epochs() -> NonZeroUsize {
    EPOCHS
}

pub(crate) const fn default_batch_size() -> NonZeroUsize {
    BATCH_SIZE
}

pub(crate) fn default_rate() -> PositiveF64 {
    PositiveF64::new(1e-3).unwrap_or_else(|_| unreachable!("1e-3 lies above 0"))
}

fn default_weight_decay() -> NonNegativeF64 {
    NonNegativeF64::new(1e-5).unwrap_or_else(|_| unreachable!("1e-5 lies above 0"))
}

/// Codes of known class: those learned from, and those tried on.
#[derive(Clone, Debug)]
pub struct ProbeData {
    /// Codes of the training samples.
    pub train: Points,
    /// Their classes.
    pub train_labels: Labels,
    /// Codes of the test samples.
    pub test: Points,
    /// Their classes.
    pub test_labels: Labels,
}

/// How many classes were told wrong, in percent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ErrorRates {
    /// Of the training samples; with neighbors, each by the others.
    pub train: f64,
    /// Of the test samples.
    pub test: f64,
}

impl ProbeData {
    /// Brings each coordinate to mean 0 and variance 1 over the training samples.
    pub fn standardize(&mut self) {
        let means = self.train.means();
        let spreads: Vec<f64> = self.train.variances().iter().map(|v| v.sqrt()).collect();
        for points in [&mut self.train, &mut self.test] {
            let width = points.width().max(1);
            for (at, value) in points.values_mut().iter_mut().enumerate() {
                let column = at % width;
                let centered = f64::from(*value) - means[column];
                // A coordinate that never varies says nothing.
                let spread = spreads[column];
                *value = if spread > 0.0 { (centered / spread) as f32 } else { 0.0 };
            }
        }
    }
}

impl ProbeSpec {
    /// Returns how many passes over the training samples are made.
    pub const fn epochs(&self) -> usize {
        match self {
            Self::Mlp(spec) => spec.epochs.get(),
            Self::Linear(spec) => spec.epochs.get(),
            Self::Nearest(_) => 0,
        }
    }

    /// Trains on the training codes and evaluates on the others; `None` if the observer, who is told
    /// each epoch and its loss, asked to stop.
    pub fn evaluate(
        &self,
        data: &ProbeData,
        seed: Seed,
        device: DeviceName,
        observer: &mut dyn FnMut(usize, f64) -> Flow,
    ) -> Result<Option<ErrorRates>, ClassificationError> {
        if data.test.rows() == 0 {
            return Err(ClassificationError::NoSamples { what: "test" });
        }
        let (widths, epochs, rate, weight_decay, batch_size) = match self {
            Self::Mlp(MlpSpec { widths, epochs, rate, weight_decay, batch_size }) => {
                (widths.as_slice(), epochs, rate, weight_decay, batch_size)
            }
            Self::Linear(LinearSpec { epochs, rate, weight_decay, batch_size }) => {
                ([].as_slice(), epochs, rate, weight_decay, batch_size)
            }
            Self::Nearest(spec) => return nearest_rates(data, spec.neighbors.get()).map(Some),
        };
        let settings = ClassifierTraining {
            epochs: epochs.get(),
            batch_size: batch_size.get(),
            optimizer: AdamSpec::with_rate(*rate, *weight_decay),
            seed,
        };
        let (inference, training) = (open(device)?, open_for_training(device)?);
        let form = SampleForm::Vector { width: data.train.width() };
        let context = BuildContext { form, seed, distance_unit: 1.0, device: &training };
        let network = fully_connected(widths, data.train_labels.names.len(), &context)?;
        let [train, test] = [samples(&data.train)?, samples(&data.test)?];
        let trained =
            train_classifier(network, &train, &data.train_labels, &settings, &training, observer)?;
        Ok(trained.map(|network| {
            let network = network.valid();
            let rate = |samples, labels: &Labels| {
                error_percent(&predictions(&network, samples, &inference), &labels.values)
            };
            ErrorRates {
                train: rate(&train, &data.train_labels),
                test: rate(&test, &data.test_labels),
            }
        }))
    }
}

/// Makes a network of fully connected layers.
pub(super) fn fully_connected(
    widths: &[NonZeroUsize],
    classes: usize,
    context: &BuildContext<'_>,
) -> Result<Network, ClassificationError> {
    let body = widths
        .split_last()
        .map(|(last, before)| (NetworkSpec::Mlp { widths: before.to_vec() }, last.get()));
    let body = body.as_ref().map(|(network, features)| (network, *features));
    Ok(Network::new(body, classes, context)?)
}

fn samples(points: &Points) -> Result<SampleSet, ClassificationError> {
    Ok(SampleSet::Vectors(Vectors::new(points.clone(), Annotations::default())?))
}

fn nearest_rates(data: &ProbeData, neighbors: usize) -> Result<ErrorRates, ClassificationError> {
    let labels = &data.train_labels;
    let own = classes_of_own(&data.train, labels, neighbors)?;
    let others = classes_of(&data.test, &data.train, labels, neighbors)?;
    Ok(ErrorRates {
        train: error_percent(&own, &labels.values),
        test: error_percent(&others, &data.test_labels.values),
    })
}
