//! Rows of images for a few samples, rearranged so that kernels read them from front to back.

use std::ops::Range;

use pulp::Simd;

use crate::data::ImageShape;

/// Vectors that the samples of a strip fill.
pub(super) const VECTORS: usize = 2;

/// Bytes of strips at a time, so that they stay in the second-level cache.
pub(super) const CACHE: usize = 1 << 19;

/// One value of each sample of a strip.
pub(super) type Values<S> = [<S as Simd>::f32s; VECTORS];

/// Returns the number of samples in a strip.
pub(super) const fn samples<S: Simd>() -> usize {
    VECTORS * S::F32_LANES
}

/// Returns the bytes of one row of a strip.
pub(super) const fn row_bytes<S: Simd>(shape: ImageShape) -> usize {
    (shape.width + 2) * shape.channels * samples::<S>() * size_of::<f32>()
}

/// Some rows of the images of strips: `[rows, blocks, strips, 1 + width + 1, channels of a block,
/// samples]`, with a column of zeros on either side, and zeros for the channels that the last block
/// lacks.
pub(super) struct Strips<'a, S: Simd> {
    pub(super) values: &'a [Values<S>],
    /// Channels of a block.
    pub(super) block: usize,
    /// Values from one strip to the next.
    pub(super) span: usize,
    /// Values from one block to the next.
    pub(super) plane: usize,
    /// Values from one row to the next.
    pub(super) pitch: usize,
    /// Number of the first row in the image.
    pub(super) first: usize,
}

impl<S: Simd> Strips<'_, S> {
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
    /// Copies rows of some strips, by blocks of channels; samples beyond the batch are zero.
    #[inline(always)]
    pub(super) fn strips<'a, S: Simd>(
        &self,
        simd: S,
        rows: Range<usize>,
        strips: Range<usize>,
        block: usize,
        room: &'a mut Vec<f32>,
    ) -> Strips<'a, S> {
        let ImageShape { channels, height, width } = self.shape;
        let span = (width + 2) * block;
        let plane = strips.len() * span;
        let pitch = channels.div_ceil(block) * plane;
        let needed = rows.len() * pitch * samples::<S>();
        if room.len() < needed {
            room.resize(needed, 0.0);
        }
        let zero = [simd.splat_f32s(0.0); VECTORS];
        let (vectors, _) = S::as_mut_simd_f32s(&mut room[..needed]);
        let (values, _) = vectors.as_chunks_mut();
        let mut packed = values;
        for row in rows.clone() {
            for first in (0..channels).step_by(block) {
                for strip in strips.clone() {
                    let (places, rest) = packed.split_at_mut(span);
                    packed = rest;
                    if first + block > channels {
                        places.fill(zero);
                    }
                    places[..block].fill(zero);
                    places[span - block..].fill(zero);
                    let start = strip * samples::<S>();
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
        let (vectors, _) = S::as_simd_f32s(&room[..needed]);
        Strips { values: vectors.as_chunks().0, block, span, plane, pitch, first: rows.start }
    }
}

/// Reads the values of a strip's samples, which may be fewer at the end of a batch.
#[inline(always)]
fn load<S: Simd>(simd: S, values: &[f32]) -> Values<S> {
    if let ([left, right], []) = S::as_simd_f32s(values) {
        return [*left, *right];
    }
    let (left, right) = values.split_at(values.len().min(S::F32_LANES));
    [simd.partial_load_f32s(left), simd.partial_load_f32s(right)]
}

/// Writes the values of a strip's samples, of which the last may lie beyond the batch.
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
