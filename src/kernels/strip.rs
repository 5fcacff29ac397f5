//! Rows of images for a few samples, rearranged so that kernels read them from front to back.

use std::ops::Range;

use pulp::Simd;

use crate::data::ImageShape;

/// Vectors that the samples of a strip fill.
pub(super) const VECTORS: usize = 2;

/// Bytes of strips at a time, so that they stay in the second-level cache.
pub(super) const CACHE: usize = 1 << 20;

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

/// Some rows of the images of a strip: `[rows, 1 + width + 1, channels, samples]`, with a column of
/// zeros on either side.
pub(super) struct Strip<'a, S: Simd> {
    pub(super) values: &'a [Values<S>],
    pub(super) channels: usize,
    /// Values from one row to the next.
    pub(super) pitch: usize,
    /// Number of the first row in the image.
    pub(super) first: usize,
}

/// A batch of images: `[channels, height, width, batch]`.
#[derive(Clone, Copy)]
pub(super) struct Images<'a> {
    pub(super) values: &'a [f32],
    pub(super) shape: ImageShape,
    pub(super) batch: usize,
}

impl Images<'_> {
    /// Copies rows of the samples from `start` on; samples beyond the batch are zero.
    #[inline(always)]
    pub(super) fn strip<'a, S: Simd>(
        &self,
        simd: S,
        rows: Range<usize>,
        start: usize,
        room: &'a mut Vec<f32>,
    ) -> Strip<'a, S> {
        let ImageShape { channels, height, width } = self.shape;
        let pitch = (width + 2) * channels;
        let needed = rows.len() * pitch * samples::<S>();
        if room.len() < needed {
            room.resize(needed, 0.0);
        }
        let end = self.batch.min(start + samples::<S>());
        let zero = [simd.splat_f32s(0.0); VECTORS];
        let (vectors, _) = S::as_mut_simd_f32s(&mut room[..needed]);
        let (values, _) = vectors.as_chunks_mut();
        for (row, packed) in rows.clone().zip(values.chunks_exact_mut(pitch)) {
            packed[..channels].fill(zero);
            packed[pitch - channels..].fill(zero);
            for channel in 0..channels {
                let line = (channel * height + row) * width * self.batch;
                let line = &self.values[line..][..width * self.batch];
                let places = packed[channels + channel..].iter_mut().step_by(channels);
                for (pixel, place) in line.chunks_exact(self.batch).zip(places) {
                    *place = load(simd, &pixel[start..end]);
                }
            }
        }
        let (vectors, _) = S::as_simd_f32s(&room[..needed]);
        Strip { values: vectors.as_chunks().0, channels, pitch, first: rows.start }
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
