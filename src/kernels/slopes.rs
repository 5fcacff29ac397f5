//! Slopes of the weights: each sums up the products of all pixels that it joins.

use std::cell::RefCell;
use std::ops::Range;

use pulp::{Simd, WithSimd};
use rayon::prelude::{
    IndexedParallelIterator, IntoParallelIterator, ParallelIterator, ParallelSlice,
    ParallelSliceMut,
};

use super::Scales;
use super::strip::{CACHE, Images, Strips, VECTORS, Values, row_bytes, samples};
use crate::data::ImageShape;

thread_local! {
    static ROOMS: RefCell<[Vec<f32>; 2]> = const { RefCell::new([Vec::new(), Vec::new()]) };
}

/// Weights of one kernel.
const KERNEL: usize = 16;
/// Weights from which on threads share out the weights instead of the samples.
const MANY: usize = 1 << 18;
/// Pixels of the small image at a time, so that a tile's values stay in the first-level cache.
const PIXELS: usize = 64;
/// Parts that threads share.
const PARTS: usize = 8;

/// Returns the slopes of weights, `[small channels, large channels, 4, 4]`, given the images of one
/// scale and the slopes of the other, `[channels, height, width, batch]`.
pub(super) fn weight_slopes(
    scales: Scales,
    small: &[f32],
    large: &[f32],
    batch: usize,
) -> Vec<f32> {
    let small = Images { values: small, shape: scales.small, batch };
    let large = Images { values: large, shape: scales.large, batch };
    pulp::Arch::new().dispatch(Joined { small, large })
}

/// Bias slopes: returns what each channel of a batch adds up to.
pub(super) fn bias_slopes(slopes: &[f32], channels: usize) -> Vec<f32> {
    let channel = slopes.len() / channels;
    (0..channels)
        .into_par_iter()
        .map(|index| {
            // Many sums side by side: faster, and closer to the true sum.
            let mut sums = [0.0_f32; 32];
            let (chunks, rest) = slopes[index * channel..][..channel].as_chunks::<32>();
            for chunk in chunks {
                for (sum, value) in sums.iter_mut().zip(chunk) {
                    *sum += value;
                }
            }
            sums.iter().chain(rest).sum()
        })
        .collect()
}

#[derive(Clone, Copy)]
struct Joined<'a> {
    small: Images<'a>,
    large: Images<'a>,
}

impl WithSimd for Joined<'_> {
    type Output = Vec<f32>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Vec<f32> {
        if S::F32_LANES >= 16 { self.run::<S, 4, 4>(simd) } else { self.run::<S, 4, 3>(simd) }
    }
}

impl Joined<'_> {
    /// The parts and the order in which they are added up depend on the sizes alone.
    #[inline(always)]
    fn run<S: Simd, const ROWS: usize, const COLUMNS: usize>(self, simd: S) -> Vec<f32> {
        let (channels, large) = (self.small.shape.channels, self.large.shape.channels);
        // Blocks of a single channel where there is just one, which else would be mostly zeros.
        let block = if large == 1 { 1 } else { COLUMNS };
        let row = large.div_ceil(block) * block * KERNEL;
        let strips = self.small.batch.div_ceil(samples::<S>());
        let part = |channels: Range<usize>, strips: Range<usize>| {
            let mut sums = vec![0.0; channels.len().next_multiple_of(ROWS) * row];
            let (joined, places) = (self, &mut sums);
            simd.vectorize(Part::<S, ROWS, COLUMNS> {
                simd,
                joined,
                channels,
                block,
                strips,
                sums: places,
            });
            sums
        };
        let sums = if channels * row > MANY {
            let share = channels.div_ceil(PARTS).next_multiple_of(ROWS);
            let parts: Vec<Vec<f32>> = (0..channels.div_ceil(share))
                .into_par_iter()
                .map(|index| part(index * share..channels.min((index + 1) * share), 0..strips))
                .collect();
            parts.concat()
        } else {
            let share = strips.div_ceil(PARTS);
            let parts: Vec<Vec<f32>> = (0..strips.div_ceil(share))
                .into_par_iter()
                .map(|index| part(0..channels, index * share..strips.min((index + 1) * share)))
                .collect();
            let mut parts = parts.into_iter();
            let mut sums = parts.next().unwrap_or_default();
            for part in parts {
                for (sum, value) in sums.iter_mut().zip(part) {
                    *sum += value;
                }
            }
            sums
        };
        kernels_last(&sums, [channels, large], block)
    }
}

/// Turns `[small channels, 4, blocks, 4, channels of a block]` into `[small channels, large channels,
/// 4, 4]`.
fn kernels_last(sums: &[f32], [small, large]: [usize; 2], block: usize) -> Vec<f32> {
    let mut turned = vec![0.0; small * large * KERNEL];
    let padded = large.div_ceil(block) * block;
    let rows = sums.par_chunks_exact(padded * KERNEL);
    turned.par_chunks_exact_mut(large * KERNEL).zip(rows).for_each(|(turned, sums)| {
        for (channel, kernel) in turned.chunks_exact_mut(KERNEL).enumerate() {
            let (index, place) = (channel / block, channel % block);
            for (at, slope) in kernel.iter_mut().enumerate() {
                let (y, x) = (at / 4, at % 4);
                *slope = sums[y * 4 * padded + (index * 4 + x) * block + place];
            }
        }
    });
    turned
}

/// The slopes of some channels' weights, from some strips.
struct Part<'a, S, const ROWS: usize, const COLUMNS: usize> {
    simd: S,
    joined: Joined<'a>,
    channels: Range<usize>,
    /// Channels of the large image that lie side by side.
    block: usize,
    strips: Range<usize>,
    /// `[channels, 4, blocks, 4, channels of a block]`
    sums: &'a mut [f32],
}

impl<S: Simd, const ROWS: usize, const COLUMNS: usize> WithSimd for Part<'_, S, ROWS, COLUMNS> {
    type Output = ();

    // The room is taken and given back because code in a closure would not be vectorized.
    #[inline(always)]
    fn with_simd<T: Simd>(mut self, _: T) {
        let Joined { small, large } = self.joined;
        let shape = ImageShape { channels: self.channels.len(), ..small.shape };
        let before = self.channels.start * shape.height * shape.width * small.batch;
        let small = Images { values: &small.values[before..], shape, ..small };
        let height = shape.height;
        let bytes = row_bytes::<S>(shape) + 2 * row_bytes::<S>(large.shape);
        let at_once = (CACHE / bytes).clamp(1, height);
        let lines = (PIXELS / shape.width).clamp(1, at_once);
        // Small images are taken several strips at a time, to add up many products at once.
        let group = PIXELS / (shape.width * lines);
        let [mut room, mut large_room] = ROOMS.take();
        let mut strip = self.strips.start;
        while strip < self.strips.end {
            let group = strip..self.strips.end.min(strip + group.max(1));
            let mut y = 0;
            while y < height {
                let rows = y..height.min(y + at_once);
                let joined = (2 * y).saturating_sub(1)..large.shape.height.min(2 * rows.end + 1);
                let (simd, block) = (self.simd, self.block);
                let small = small.strips(simd, rows.clone(), group.clone(), ROWS, &mut room);
                let large = large.strips(simd, joined, group.clone(), block, &mut large_room);
                for first in rows.clone().step_by(lines) {
                    let rows = first..rows.end.min(first + lines);
                    self.add(&small, &large, rows, group.len());
                }
                y += at_once;
            }
            strip = group.end;
        }
        ROOMS.set([room, large_room]);
    }
}

/// Where the values of a tile lie, for one row of the small image.
#[derive(Clone, Copy)]
struct Line {
    small: usize,
    large: usize,
}

impl<S: Simd, const ROWS: usize, const COLUMNS: usize> Part<'_, S, ROWS, COLUMNS> {
    #[inline(always)]
    fn add(
        &mut self,
        small: &Strips<'_, S>,
        large: &Strips<'_, S>,
        rows: Range<usize>,
        strips: usize,
    ) {
        let height = self.joined.large.shape.height;
        // What the four columns of a kernel row join a pixel with lies side by side.
        let columns = 4 * self.block;
        let blocks = large.pitch / large.plane;
        for small_block in 0..small.pitch / small.plane {
            for large_block in 0..blocks {
                for kernel in 0..4 {
                    let first = rows.start.max(usize::from(kernel == 0));
                    let last = rows.end.min((height + 1 - kernel).div_ceil(2));
                    let (simd, pixels) = (self.simd, self.joined.small.shape.width);
                    let tile = Products { simd, small, large, strips, lines: first..last, pixels };
                    let line = |y: usize, column: usize| Line {
                        small: (y - small.first) * small.pitch + small_block * small.plane + ROWS,
                        large: (2 * y + kernel - 1 - large.first) * large.pitch
                            + large_block * large.plane
                            + column,
                    };
                    let at = ((small_block * ROWS * 4 + kernel) * blocks + large_block) * columns;
                    let pitch = 4 * blocks * columns;
                    let whole = columns - columns % COLUMNS;
                    for column in (0..whole).step_by(COLUMNS) {
                        let sums = &mut self.sums[at + column..];
                        tile.add::<ROWS, COLUMNS>(|y| line(y, column), sums, pitch);
                    }
                    for column in whole..columns {
                        let sums = &mut self.sums[at + column..];
                        tile.add::<ROWS, 1>(|y| line(y, column), sums, pitch);
                    }
                }
            }
        }
    }
}

/// What is multiplied and summed up.
struct Products<'a, S: Simd> {
    simd: S,
    small: &'a Strips<'a, S>,
    large: &'a Strips<'a, S>,
    strips: usize,
    /// Rows of the small image.
    lines: Range<usize>,
    /// Pixels to a row of the small image.
    pixels: usize,
}

impl<S: Simd> Products<'_, S> {
    /// Adds the products of some channels of the small image with some of the large one.
    #[inline(always)]
    fn add<const ROWS: usize, const COLUMNS: usize>(
        &self,
        line: impl Fn(usize) -> Line,
        places: &mut [f32],
        pitch: usize,
    ) {
        let simd = self.simd;
        let mut sums = [[simd.splat_f32s(0.0); COLUMNS]; ROWS];
        let (small_step, large_step) = (self.small.block, 2 * self.large.block);
        for y in self.lines.clone() {
            let at = line(y);
            for strip in 0..self.strips {
                let small = &self.small.values[strip * self.small.span..];
                let large = &self.large.values[strip * self.large.span..];
                let small = &small[at.small..][..(self.pixels - 1) * small_step + ROWS];
                let large = &large[at.large..][..(self.pixels - 1) * large_step + COLUMNS];
                for pixel in 0..self.pixels {
                    let small: &[Values<S>] = &small[pixel * small_step..][..ROWS];
                    let large: &[Values<S>] = &large[pixel * large_step..][..COLUMNS];
                    for vector in 0..VECTORS {
                        for row in 0..ROWS {
                            for column in 0..COLUMNS {
                                let (small, large) = (small[row][vector], large[column][vector]);
                                sums[row][column] =
                                    simd.mul_add_e_f32s(small, large, sums[row][column]);
                            }
                        }
                    }
                }
            }
        }
        for row in 0..ROWS {
            for column in 0..COLUMNS {
                places[row * pitch + column] += simd.reduce_sum_f32s(sums[row][column]);
            }
        }
    }
}
