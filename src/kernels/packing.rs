//! Images and weights, packed so that the convolution kernels read them from front to back.

use std::ops::Range;

use pulp::Simd;
use rayon::prelude::{IndexedParallelIterator, ParallelIterator, ParallelSliceMut};

use super::{ConvShape, Direction};
use crate::data::ImageShape;

/// Weights of one kernel.
pub(super) const KERNEL: usize = 16;

/// SIMD vectors in a group of samples.
pub(super) const VECTORS: usize = 2;

/// Bytes of packed rows at a time, so that they stay in the second-level cache.
pub(super) const L2_BYTES: usize = 1 << 19;

/// One value of each sample in a group.
pub(super) type Values<S> = [<S as Simd>::f32s; VECTORS];

/// Returns the number of samples in a group.
pub(super) const fn samples<S: Simd>() -> usize {
    VECTORS * S::F32_LANES
}

/// Returns the bytes of one packed row of a group.
pub(super) const fn row_bytes<S: Simd>(shape: ImageShape) -> usize {
    (shape.width + 2) * shape.channels * samples::<S>() * size_of::<f32>()
}

/// Some rows of images, packed by groups of samples: `[rows, blocks, groups, 1 + width + 1, channels
/// of a block, samples]`, with a column of zeros on either side as padding, and zeros for the channels
/// that the last block lacks.
pub(super) struct PackedRows<'a, S: Simd> {
    pub(super) values: &'a [Values<S>],
    /// Channels of a block.
    pub(super) block: usize,
    /// Values from one group to the next.
    pub(super) span: usize,
    /// Values from one block to the next.
    pub(super) plane: usize,
    /// Values from one row to the next.
    pub(super) pitch: usize,
    /// Number of the first row in the image.
    pub(super) first: usize,
}

impl<S: Simd> PackedRows<'_, S> {
    /// Returns the number of blocks of channels.
    pub(super) const fn blocks(&self) -> usize {
        self.pitch / self.plane
    }
}

/// A batch of images: `[channels, height, width, batch]`.
#[derive(Clone, Copy)]
pub(super) struct Images<'a> {
    pub(super) values: &'a [f32],
    pub(super) shape: ImageShape,
    pub(super) batch: usize,
}

impl Images<'_> {
    /// Packs rows of some groups by blocks of channels; samples beyond the batch are zero.
    #[inline(always)]
    pub(super) fn pack<'a, S: Simd>(
        &self,
        simd: S,
        rows: Range<usize>,
        groups: Range<usize>,
        block: usize,
        buffer: &'a mut Vec<f32>,
    ) -> PackedRows<'a, S> {
        let ImageShape { channels, height, width } = self.shape;
        let span = (width + 2) * block;
        let plane = groups.len() * span;
        let pitch = channels.div_ceil(block) * plane;
        let needed = rows.len() * pitch * samples::<S>();
        if buffer.len() < needed {
            buffer.resize(needed, 0.0);
        }
        let zero = [simd.splat_f32s(0.0); VECTORS];
        let (vectors, _) = S::as_mut_simd_f32s(&mut buffer[..needed]);
        let (values, _) = vectors.as_chunks_mut();
        let mut packed = values;
        for row in rows.clone() {
            for first in (0..channels).step_by(block) {
                for group in groups.clone() {
                    let (places, rest) = packed.split_at_mut(span);
                    packed = rest;
                    if first + block > channels {
                        places.fill(zero);
                    }
                    places[..block].fill(zero);
                    places[span - block..].fill(zero);
                    let start = group * samples::<S>();
                    let end = self.batch.min(start + samples::<S>());
                    for (place, channel) in (first..channels.min(first + block)).enumerate() {
                        let line = (channel * height + row) * width * self.batch;
                        let line = &self.values[line..][..width * self.batch];
                        let places = places[block + place..].iter_mut().step_by(block);
                        for (pixel, place) in line.chunks_exact(self.batch).zip(places) {
                            *place = load(simd, &pixel[start..end]);
                        }
                    }
                }
            }
        }
        let (vectors, _) = S::as_simd_f32s(&buffer[..needed]);
        PackedRows { values: vectors.as_chunks().0, block, span, plane, pitch, first: rows.start }
    }
}

/// Loads the values of a group's samples, which may be fewer at the end of a batch.
#[inline(always)]
fn load<S: Simd>(simd: S, values: &[f32]) -> Values<S> {
    if let ([left, right], []) = S::as_simd_f32s(values) {
        return [*left, *right];
    }
    let (left, right) = values.split_at(values.len().min(S::F32_LANES));
    [simd.partial_load_f32s(left), simd.partial_load_f32s(right)]
}

/// Stores the values of a group's samples, of which the last may lie beyond the batch.
#[inline(always)]
pub(super) fn store<S: Simd>(simd: S, values: Values<S>, place: &mut [f32]) {
    if let ([left, right], []) = S::as_mut_simd_f32s(place) {
        [*left, *right] = values;
        return;
    }
    let (left, right) = place.split_at_mut(place.len().min(S::F32_LANES));
    simd.partial_store_f32s(left, values[0]);
    simd.partial_store_f32s(right, values[1]);
}

/// Weights in the order in which the forward kernel reads them, by blocks of outputs: `[blocks, taps,
/// inputs, outputs of a block]`.
///
/// Going down, taps are the kernel's rows and columns. Going up, an output pixel uses only two
/// rows and two columns of the kernel, which depend on whether its own row and column are even:
/// taps are `[odd row, odd column, row, column]`.
pub(super) struct PackedWeights {
    values: Vec<f32>,
    block_length: usize,
}

impl PackedWeights {
    /// Packs weights, `[small channels, large channels, 4, 4]`, for blocks of some outputs.
    pub(super) fn of(
        weights: &[f32],
        shape: ConvShape,
        direction: Direction,
        block: usize,
    ) -> Self {
        let (from, to) = shape.ends(direction);
        let (inputs, outputs) = (from.channels, to.channels);
        let block_length = KERNEL * inputs * block;
        let mut values = vec![0.0; outputs.div_ceil(block) * block_length];
        values.par_chunks_exact_mut(block_length).enumerate().for_each(
            |(index, weights_of_block)| {
                let first = index * block;
                for (index, places) in weights_of_block.chunks_exact_mut(block).enumerate() {
                    let (tap, input) = (index / inputs, index % inputs);
                    let kernel = match direction {
                        Direction::Down => tap,
                        Direction::Up => {
                            kernel_row(tap / 8, tap / 2 % 2) * 4 + kernel_row(tap / 4 % 2, tap % 2)
                        }
                    };
                    for (place, output) in places.iter_mut().zip(first..outputs) {
                        let pair = match direction {
                            Direction::Down => output * inputs + input,
                            Direction::Up => input * outputs + output,
                        };
                        *place = weights[pair * KERNEL + kernel];
                    }
                }
            },
        );
        Self { values, block_length }
    }

    /// Returns the weights of each block.
    #[inline(always)]
    pub(super) fn blocks(&self) -> std::slice::ChunksExact<'_, f32> {
        self.values.chunks_exact(self.block_length)
    }
}

/// Returns which row (or column) of the kernel connects an even or odd row of the large image with the
/// first or the second row of the small image that it depends on.
const fn kernel_row(odd: usize, neighbor: usize) -> usize {
    [[3, 1], [2, 0]][odd][neighbor]
}
