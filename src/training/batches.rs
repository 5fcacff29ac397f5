//! The order in which training samples are seen, and what a batch is made of.
//!
//! Every epoch has its own random stream, so the order of epoch 7 is known without drawing the
//! six before it: a resumed run continues exactly where it stopped. Batches are prefetched on another
//! thread while the model learns from the one before.
//!
//! An epoch has whole batches only. A last one of a few samples would take a step as long as any
//! other, on a gradient and on batch statistics that are mostly noise. Whichever samples are left
//! over are others in each epoch.

use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::Scope;

use burn::tensor::Device;

use crate::data::SampleSet;
use crate::device::send;
use crate::geometry::{Distances, euclidean};
use crate::models::Batch;
use crate::numerics::Seed;
use crate::numerics::rng::permutation;

/// Batches that wait for their use.
const PREFETCHED: usize = 2;

/// What a model learns from.
#[derive(Clone, Copy, Debug)]
pub struct TrainingData<'a> {
    /// The training samples.
    pub samples: &'a SampleSet,
    /// Distances between the training samples, for models that need them.
    pub distances: Option<&'a Distances>,
    /// Samples for the validation loss after each epoch.
    pub validation: Option<&'a SampleSet>,
}

/// The position of a batch in the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BatchPosition {
    /// Epoch, counting from 0.
    pub(crate) epoch: usize,
    /// Step within the epoch, counting from 0.
    pub(crate) within: usize,
}

/// The order of samples over a whole run.
#[derive(Clone, Debug)]
pub(crate) struct Batches {
    count: usize,
    held_out: usize,
    batch_size: usize,
    seed: Seed,
    epoch: Option<(usize, Vec<usize>)>,
}

impl Batches {
    /// Orders `count` samples, of which every epoch keeps some out of its batches.
    pub(crate) const fn new(count: usize, held_out: usize, batch_size: usize, seed: Seed) -> Self {
        Self { count, held_out, batch_size, seed, epoch: None }
    }

    /// Returns the number of batches in one pass over the samples.
    pub(crate) const fn per_epoch(&self) -> usize {
        per_epoch(self.count - self.held_out, self.batch_size)
    }

    /// Returns the position of a step, counted from 0 over the whole run.
    pub(crate) const fn position(&self, step: usize) -> BatchPosition {
        BatchPosition { epoch: step / self.per_epoch(), within: step % self.per_epoch() }
    }

    /// Returns the samples of one step.
    pub(crate) fn rows(&mut self, position: BatchPosition) -> &[usize] {
        let (batch_size, count) = (self.batch_size, self.count);
        let start = self.held_out + position.within * batch_size;
        &self.order(position.epoch)[start..(start + batch_size).min(count)]
    }

    /// Returns the samples that an epoch keeps out of its batches.
    pub(super) fn held_out(&mut self, epoch: usize) -> &[usize] {
        let held_out = self.held_out;
        &self.order(epoch)[..held_out]
    }

    fn order(&mut self, epoch: usize) -> &[usize] {
        if self.epoch.as_ref().is_some_and(|(drawn, _)| *drawn != epoch) {
            self.epoch = None;
        }
        let (seed, count) = (self.seed, self.count);
        let draw = || (epoch, permutation(count, &mut seed.stream(&format!("shuffle/{epoch}"))));
        &self.epoch.get_or_insert_with(draw).1
    }
}

/// Returns the number of whole batches of some samples; all of them are one batch if they are fewer.
pub(crate) const fn per_epoch(samples: usize, batch_size: usize) -> usize {
    let whole = samples / batch_size;
    if whole == 0 { 1 } else { whole }
}

/// A batch in host memory, before it goes to a device.
pub(super) struct HostBatch {
    rows: Vec<usize>,
    inputs: Vec<f32>,
    squared_distances: Option<Vec<f32>>,
}

impl HostBatch {
    fn of(data: TrainingData<'_>, rows: &[usize]) -> Self {
        let straight = |one: usize, other: usize| {
            euclidean(&data.samples.batch(&[one]), &data.samples.batch(&[other]))
        };
        Self {
            rows: rows.to_vec(),
            inputs: data.samples.batch(rows),
            squared_distances: data.distances.map(|table| table.squared_between(rows, &straight)),
        }
    }

    /// Returns the number of samples.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Copies the batch to a device, with the random numbers of its step.
    pub(super) fn on(self, device: &Device, noise: Option<(usize, Vec<f32>)>) -> Batch {
        let count = self.rows.len();
        let table = |values: Vec<f32>, width| send(values, [count, width], device);
        let width = self.inputs.len() / count.max(1);
        Batch {
            inputs: table(self.inputs, width),
            squared_distances: self.squared_distances.map(|values| table(values, count)),
            noise: noise.map(|(width, values)| table(values, width)),
            rows: self.rows,
        }
    }
}

/// Assembles the batches of some steps on a thread of their own, in order.
pub(super) fn prefetch<'scope, 'data: 'scope>(
    scope: &'scope Scope<'scope, '_>,
    data: TrainingData<'data>,
    mut batches: Batches,
    steps: std::ops::Range<usize>,
) -> Receiver<HostBatch> {
    let (sender, receiver) = sync_channel(PREFETCHED);
    scope.spawn(move || {
        for step in steps {
            let batch = HostBatch::of(data, batches.rows(batches.position(step)));
            if sender.send(batch).is_err() {
                break; // the training has ended early
            }
        }
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_has_whole_batches_and_leaves_out_other_samples_each_time() {
        let mut batches = Batches::new(10, 0, 4, Seed(1));
        assert_eq!(batches.per_epoch(), 2);
        let mut left_out = Vec::new();
        for epoch in 0..2 {
            let mut seen = Vec::new();
            for within in 0..2 {
                let rows = batches.rows(BatchPosition { epoch, within });
                assert_eq!(rows.len(), 4, "no step on a few samples");
                seen.extend_from_slice(rows);
            }
            seen.sort_unstable();
            assert!(seen.is_sorted_by(|a, b| a < b), "none twice");
            left_out.push((0..10).filter(|row| !seen.contains(row)).collect::<Vec<_>>());
        }
        assert_ne!(left_out[0], left_out[1]);
    }

    #[test]
    fn samples_that_fill_no_batch_are_one() {
        let mut batches = Batches::new(3, 0, 4, Seed(1));
        assert_eq!(batches.per_epoch(), 1);
        assert_eq!(batches.rows(BatchPosition { epoch: 2, within: 0 }).len(), 3);
    }

    #[test]
    fn samples_that_an_epoch_keeps_out_are_in_none_of_its_batches() {
        let mut batches = Batches::new(11, 3, 4, Seed(1));
        assert_eq!(batches.per_epoch(), 2);
        let first = batches.held_out(0).to_vec();
        let mut seen = first.clone();
        for within in 0..2 {
            seen.extend_from_slice(batches.rows(BatchPosition { epoch: 0, within }));
        }
        seen.sort_unstable();
        assert_eq!(seen, (0..11).collect::<Vec<_>>());
        assert_ne!(batches.held_out(1), first, "drawn anew");
    }

    #[test]
    fn every_epoch_and_every_seed_has_its_own_order() {
        let first_batch = |seed, epoch| {
            let position = BatchPosition { epoch, within: 0 };
            Batches::new(50, 0, 50, Seed(seed)).rows(position).to_vec()
        };
        assert_ne!(first_batch(1, 0), first_batch(1, 1));
        assert_ne!(first_batch(1, 0), first_batch(2, 0));
    }

    #[test]
    fn the_order_of_an_epoch_does_not_depend_on_what_was_drawn_before() {
        let position = BatchPosition { epoch: 5, within: 1 };
        let fresh = Batches::new(20, 0, 6, Seed(1)).rows(position).to_vec();
        let mut used = Batches::new(20, 0, 6, Seed(1));
        for step in 0..12 {
            used.rows(used.position(step));
        }
        assert_eq!(used.rows(position), fresh);
    }
}
