//! The order in which training images are seen, and the tensors made of them.
//!
//! Every epoch has its own random stream, so the order of epoch 7 is known without drawing the
//! six before it: a resumed run continues exactly where it stopped.

use burn::tensor::{Device, Tensor, TensorData};

use crate::data::Images;
use crate::geometry::{Distances, euclidean};
use crate::models::Batch;
use crate::numerics::Seed;
use crate::numerics::rng::permutation;

/// What a model learns from.
#[derive(Clone, Copy, Debug)]
pub struct TrainingData<'a> {
    /// The training images.
    pub images: &'a Images,
    /// Distances between the training images, for models that need them.
    pub distances: Option<&'a Distances>,
}

/// A step's place in the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Epoch, counting from 0.
    pub(super) epoch: usize,
    /// Step within the epoch, counting from 0.
    pub(super) within: usize,
}

/// The order of images over a whole run.
#[derive(Clone, Debug)]
pub(super) struct Batches {
    count: usize,
    batch_size: usize,
    seed: Seed,
    epoch: Option<(usize, Vec<usize>)>,
}

impl Batches {
    pub(super) const fn new(count: usize, batch_size: usize, seed: Seed) -> Self {
        Self { count, batch_size, seed, epoch: None }
    }

    /// Returns the number of batches in one pass over the images.
    pub(super) const fn per_epoch(&self) -> usize {
        self.count.div_ceil(self.batch_size)
    }

    /// Returns the place of a step, counted from 0 over the whole run.
    pub(super) const fn place(&self, step: usize) -> Place {
        Place { epoch: step / self.per_epoch(), within: step % self.per_epoch() }
    }

    /// Returns the images of one step.
    pub(super) fn indices(&mut self, place: Place) -> &[usize] {
        let (seed, count) = (self.seed, self.count);
        let draw = || {
            let mut rng = seed.stream(&format!("shuffle/{}", place.epoch));
            (place.epoch, permutation(count, &mut rng))
        };
        if self.epoch.as_ref().is_some_and(|(epoch, _)| *epoch != place.epoch) {
            self.epoch = None;
        }
        let (_, order) = self.epoch.get_or_insert_with(draw);
        let start = place.within * self.batch_size;
        &order[start..(start + self.batch_size).min(count)]
    }
}

impl TrainingData<'_> {
    /// Returns the chosen images, and the distances between them, on a device.
    pub(super) fn batch(&self, indices: &[usize], device: &Device) -> Batch {
        let images = images_on(self.images, indices, device);
        let squared_distances = self.distances.map(|distances| {
            let straight = |one: usize, other: usize| {
                euclidean(&self.images.batch(&[one]), &self.images.batch(&[other]))
            };
            let values = distances.squared_between(indices, &straight);
            let data = TensorData::new(values, [indices.len(), indices.len()]);
            Tensor::from_data(data, device)
        });
        Batch { images, squared_distances }
    }
}

/// Returns the chosen images on a device: `[batch, channels, height, width]`.
pub(super) fn images_on(images: &Images, indices: &[usize], device: &Device) -> Tensor<4> {
    let shape = images.shape();
    let dimensions = [indices.len(), shape.channels, shape.height, shape.width];
    Tensor::from_data(TensorData::new(images.batch(indices), dimensions), device)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_sees_every_image_once_with_a_smaller_last_batch() {
        let mut batches = Batches::new(10, 4, Seed(1));
        assert_eq!(batches.per_epoch(), 3);
        let mut seen = Vec::new();
        for step in 3..6 {
            let place = batches.place(step);
            assert_eq!(place.epoch, 1);
            seen.extend_from_slice(batches.indices(place));
        }
        seen.sort_unstable();
        assert_eq!(seen, (0..10).collect::<Vec<_>>());
        assert_eq!(batches.indices(Place { epoch: 0, within: 2 }).len(), 2);
    }

    #[test]
    fn every_epoch_and_every_seed_has_its_own_order() {
        let first_batch = |seed, epoch| {
            let place = Place { epoch, within: 0 };
            Batches::new(50, 50, Seed(seed)).indices(place).to_vec()
        };
        assert_ne!(first_batch(1, 0), first_batch(1, 1));
        assert_ne!(first_batch(1, 0), first_batch(2, 0));
    }

    #[test]
    fn the_order_of_an_epoch_does_not_depend_on_what_was_drawn_before() {
        let place = Place { epoch: 5, within: 1 };
        let fresh = Batches::new(20, 6, Seed(1)).indices(place).to_vec();
        let mut used = Batches::new(20, 6, Seed(1));
        for step in 0..12 {
            used.indices(used.place(step));
        }
        assert_eq!(used.indices(place), fresh);
    }
}
