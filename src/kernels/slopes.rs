//! Slopes of the weights: each sums up the products of all pixels that it joins.

use std::cell::RefCell;
use std::ops::Range;

use pulp::{Simd, WithSimd};
use rayon::prelude::{IntoParallelIterator, ParallelIterator};

use super::Scales;
use super::strip::{CACHE, Images, Strip, VECTORS, Values, row_bytes, samples};
use crate::data::ImageShape;

thread_local! {
    static ROOMS: RefCell<[Vec<f32>; 2]> = const { RefCell::new([Vec::new(), Vec::new()]) };
}

/// Weights from which on threads share out the weights instead of the samples.
const MANY: usize = 1 << 18;
/// Parts of many weights.
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
        if S::F32_LANES >= 16 { self.run::<S, 4, 4>(simd) } else { self.run::<S, 2, 4>(simd) }
    }
}

impl Joined<'_> {
    /// The parts and the order in which they are added up depend on the sizes alone.
    #[inline(always)]
    fn run<S: Simd, const ROWS: usize, const COLUMNS: usize>(self, simd: S) -> Vec<f32> {
        let channels = self.small.shape.channels;
        let row = self.large.shape.channels * 16;
        let strips = self.small.batch.div_ceil(samples::<S>());
        let part = |channels: Range<usize>, strips: Range<usize>| {
            let mut sums = vec![0.0; channels.len() * row];
            let joined = self;
            let sum = &mut sums;
            simd.vectorize(Part::<S, ROWS, COLUMNS> { simd, joined, channels, strips, sums: sum });
            sums
        };
        let mut sums = if channels * row > MANY {
            let block = channels.div_ceil(PARTS).next_multiple_of(ROWS);
            let parts: Vec<Vec<f32>> = (0..channels.div_ceil(block))
                .into_par_iter()
                .map(|index| part(index * block..channels.min((index + 1) * block), 0..strips))
                .collect();
            parts.concat()
        } else {
            let parts: Vec<Vec<f32>> = (0..strips)
                .into_par_iter()
                .map(|strip| part(0..channels, strip..strip + 1))
                .collect();
            let mut sums = vec![0.0; channels * row];
            for part in parts {
                for (sum, value) in sums.iter_mut().zip(part) {
                    *sum += value;
                }
            }
            sums
        };
        kernels_last(&mut sums, self.large.shape.channels);
        sums
    }
}

/// Turns `[small channels, 16, large channels]` into `[small channels, large channels, 16]`.
fn kernels_last(sums: &mut [f32], large: usize) {
    let mut turned = vec![0.0; large * 16];
    for sums in sums.chunks_exact_mut(large * 16) {
        for (kernel, sums) in sums.chunks_exact(large).enumerate() {
            for (channel, sum) in sums.iter().enumerate() {
                turned[channel * 16 + kernel] = *sum;
            }
        }
        sums.copy_from_slice(&turned);
    }
}

/// The slopes of some channels' weights, from some strips.
struct Part<'a, S, const ROWS: usize, const COLUMNS: usize> {
    simd: S,
    joined: Joined<'a>,
    channels: Range<usize>,
    strips: Range<usize>,
    /// `[channels, 4, 4, large channels]`
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
        let [mut room, mut large_room] = ROOMS.take();
        for strip in self.strips.clone() {
            let start = strip * samples::<S>();
            let mut y = 0;
            while y < height {
                let rows = y..height.min(y + at_once);
                let joined = (2 * y).saturating_sub(1)..large.shape.height.min(2 * rows.end + 1);
                let small = small.strip(self.simd, rows.clone(), start, &mut room);
                let large = large.strip(self.simd, joined, start, &mut large_room);
                self.add(&small, &large, rows);
                y += at_once;
            }
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
    fn add(&mut self, small: &Strip<'_, S>, large: &Strip<'_, S>, rows: Range<usize>) {
        let height = self.joined.large.shape.height;
        // What the four columns of a kernel row join a pixel with lies side by side.
        let columns = 4 * large.channels;
        for kernel in 0..4 {
            let first = rows.start.max(usize::from(kernel == 0));
            let last = rows.end.min((height + 1 - kernel).div_ceil(2));
            for row in (0..small.channels).step_by(ROWS) {
                for column in (0..columns).step_by(COLUMNS) {
                    let line = |y: usize| Line {
                        small: (y - small.first) * small.pitch + small.channels + row,
                        large: (2 * y + kernel - 1 - large.first) * large.pitch + column,
                    };
                    let at = (row * 4 + kernel) * columns + column;
                    let (height, width) = (small.channels - row, columns - column);
                    let sums = &mut self.sums[at..];
                    let (simd, pixels) = (self.simd, self.joined.small.shape.width);
                    let tile = Products { simd, small, large, lines: first..last, pixels };
                    if height >= ROWS && width >= COLUMNS {
                        tile.add::<ROWS, COLUMNS>(line, sums, 4 * columns);
                        continue;
                    }
                    for row in 0..height.min(ROWS) {
                        for column in 0..width.min(COLUMNS) {
                            let line = |y: usize| {
                                let Line { small, large } = line(y);
                                Line { small: small + row, large: large + column }
                            };
                            tile.add::<1, 1>(line, &mut sums[row * 4 * columns + column..], 0);
                        }
                    }
                }
            }
        }
    }
}

/// What is multiplied and summed up.
struct Products<'a, S: Simd> {
    simd: S,
    small: &'a Strip<'a, S>,
    large: &'a Strip<'a, S>,
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
        let (small_step, large_step) = (self.small.channels, 2 * self.large.channels);
        for y in self.lines.clone() {
            let Line { small, large } = line(y);
            let small = &self.small.values[small..][..(self.pixels - 1) * small_step + ROWS];
            let large = &self.large.values[large..][..(self.pixels - 1) * large_step + COLUMNS];
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
        for row in 0..ROWS {
            for column in 0..COLUMNS {
                places[row * pitch + column] += simd.reduce_sum_f32s(sums[row][column]);
            }
        }
    }
}
