//! One plain supervised loop for any network that gives each class a score.
//!
//! What: cross-entropy of the softmax of the scores, averaged over a batch, minimized with Adam;
//! samples in another random order each epoch.
//! Reference: standard; weight decay is PyTorch's (see `training::adam`).
//! Assumptions: the last batch of an epoch may be smaller. The loop is short enough to be begun
//! anew after a stop.
//! Checked against: tests/reference/classification.json (PyTorch): loss, gradients, one step.

use burn::module::Module;
use burn::tensor::{Device, Tensor, activation};

use super::{ClassificationError, Labels};
use crate::data::SampleSet;
use crate::device::{Readback, send};
use crate::models::{Gradients, map_rows, rows_on};
use crate::numerics::Seed;
use crate::training::{Adam, AdamSpec, Batches, Flow};

/// A module that gives each class a score.
pub trait Scores: Module {
    /// Returns the scores of the classes: `[batch, values]` to `[batch, classes]`.
    fn scores(&self, inputs: Tensor<2>) -> Tensor<2>;
}

/// How a network is taught.
#[derive(Clone, Debug)]
pub struct ClassifierTraining {
    /// Passes over the samples.
    pub epochs: usize,
    /// Samples in each step.
    pub batch_size: usize,
    /// How weights follow gradients.
    pub optimizer: AdamSpec,
    /// Source of the order of the samples.
    pub seed: Seed,
}

/// Trains a network to classify samples; `None` if the observer, who is told the epoch and its mean
/// loss, asked to stop.
pub fn train_classifier<M: Scores>(
    mut network: M,
    samples: &SampleSet,
    labels: &Labels,
    settings: &ClassifierTraining,
    training: &Device,
    observer: &mut dyn FnMut(usize, f64) -> Flow,
) -> Result<Option<M>, ClassificationError> {
    if samples.is_empty() {
        return Err(ClassificationError::NoSamples { what: "training" });
    }
    let mut adam = Adam::new(&settings.optimizer);
    let mut batches = Batches::new(samples.len(), 0, settings.batch_size, settings.seed);
    let per_epoch = batches.per_epoch();
    let (mut sum, mut unread) = (0.0, Readback::default());
    for step in 0..settings.epochs * per_epoch {
        let place = batches.position(step);
        let rows = batches.rows(place);
        let targets = one_hot(rows, labels, training);
        let loss = cross_entropy(network.scores(rows_on(samples, rows, training)), targets);
        let gradients = Gradients::of(&network, loss.backward());
        let epoch = place.epoch + 1;
        unread.push(loss.inner());
        if unread.is_due() || place.within + 1 == per_epoch {
            for loss in unread.take() {
                if !loss.is_finite() {
                    return Err(ClassificationError::NotFinite { loss, epoch });
                }
                sum += f64::from(loss);
            }
        }
        network = adam.step(network, gradients, 1.0);
        if place.within + 1 == per_epoch {
            if observer(epoch, sum / per_epoch as f64) == Flow::Stop {
                return Ok(None);
            }
            sum = 0.0;
        }
    }
    Ok(Some(network))
}

/// Returns for each sample the class of the highest score, the first of several.
pub fn predictions(network: &impl Scores, samples: &SampleSet, device: &Device) -> Vec<u16> {
    let rows: Vec<usize> = (0..samples.len()).collect();
    let scores = map_rows(samples, &rows, device, &|inputs| network.scores(inputs));
    let best = |row: usize| {
        let first = (0, f32::NEG_INFINITY);
        let scores = (0..).zip(scores.row(row)).map(|(class, &score)| (class, score));
        scores.fold(first, |best, next| if next.1 > best.1 { next } else { best }).0
    };
    rows.into_iter().map(best).collect()
}

/// Returns the mean over samples of the negative log-probability of the right class.
pub(super) fn cross_entropy(scores: Tensor<2>, targets: Tensor<2>) -> Tensor<1> {
    // Sample by sample: the sum of a whole large tensor may depend on the number of threads.
    (activation::log_softmax(scores, 1) * targets).sum_dim(1).mean().neg()
}

/// Returns 1 for the class of each chosen sample and 0 for all others: `[rows, classes]`.
pub(super) fn one_hot(rows: &[usize], labels: &Labels, device: &Device) -> Tensor<2> {
    let classes = labels.names.len();
    let mut values = vec![0.0_f32; rows.len() * classes];
    for (place, &row) in rows.iter().enumerate() {
        values[place * classes + usize::from(labels.values[row])] = 1.0;
    }
    send(values, [rows.len(), classes], device)
}
