//! What a model sees of the training between steps: some or all samples, in small chunks.

use burn::tensor::{Device, Tensor};

use crate::data::SampleSet;
use crate::device::{Readback, send};
use crate::numerics::{Points, Seed};

/// Samples on the device at a time; bounds memory, does not change results.
const CHUNK: usize = 512;

/// What a model sees of the training between steps.
#[derive(Clone, Copy, Debug)]
pub struct EpochContext<'a> {
    /// All training samples.
    pub samples: &'a SampleSet,
    /// The samples that this epoch keeps out of its batches, see [`super::Autoencoder::held_out`].
    pub held_out: &'a [usize],
    /// Epoch, counting from 1.
    pub epoch: usize,
    /// Source of all randomness of the training.
    pub seed: Seed,
    /// Where models are evaluated.
    pub device: &'a Device,
}

impl EpochContext<'_> {
    /// Applies a function of samples, `[chunk, values]` to `[chunk, width]`, to all of them.
    pub fn map_all(&self, apply: &dyn Fn(Tensor<2>) -> Tensor<2>) -> Points {
        map_rows(self.samples, &(0..self.samples.len()).collect::<Vec<_>>(), self.device, apply)
    }

    /// Applies a function of samples to those that the epoch keeps out.
    pub fn map_held_out(&self, apply: &dyn Fn(Tensor<2>) -> Tensor<2>) -> Points {
        map_rows(self.samples, self.held_out, self.device, apply)
    }
}

/// Applies a function of samples, `[chunk, values]` to `[chunk, width]`, to the chosen ones.
pub fn map_rows(
    samples: &SampleSet,
    rows: &[usize],
    device: &Device,
    apply: &dyn Fn(Tensor<2>) -> Tensor<2>,
) -> Points {
    let mut values = Readback::default();
    let mut width = 1;
    for chunk in rows.chunks(CHUNK) {
        let results = apply(rows_on(samples, chunk, device));
        width = results.dims()[1];
        values.push(results);
    }
    Points::from_rows(width, values.take())
}

/// Returns the chosen samples on a device: `[rows, values]`.
pub fn rows_on(samples: &SampleSet, rows: &[usize], device: &Device) -> Tensor<2> {
    let shape = [rows.len(), samples.form().values()];
    send(samples.batch(rows), shape, device)
}
