//! The backward kernel of strided convolutions: gradients of weights and biases.
//!
//! The gradient of a weight is the sum of the products of all pairs of pixels that it connects. (That
//! of the input is a forward pass in the other direction.)

use std::cell::RefCell;
use std::ops::Range;

use pulp::{Simd, WithSimd};
use rayon::prelude::{
    IndexedParallelIterator, IntoParallelIterator, ParallelIterator, ParallelSlice,
    ParallelSliceMut,
};

use super::ConvShape;
use super::packing::{Images, KERNEL, L2_BYTES, PackedRows, VECTORS, Values, row_bytes, samples};
use crate::data::ImageShape;

thread_local! {
    static BUFFERS: RefCell<[Vec<f32>; 2]> = const { RefCell::new([Vec::new(), Vec::new()]) };
}

/// Weights above which threads divide the weights among themselves instead of the samples.
const SPLIT_WEIGHTS: usize = 1 << 18;
/// Pixels of the small image whose products are summed up before vectors become single numbers.
const PIXELS: usize = 64;
/// Values of a channel of the small image at a time: a block of channels and what one row of the kernel
/// connects it with then stay in the first-level cache, unless a line is longer.
const L1_VALUES: usize = 512;
/// Parts that the work is divided into; a constant, so that results do not depend on threads.
const PARTS: usize = 8;

/// Returns the gradients of the weights, `[small channels, large channels, 4, 4]`, given the inputs on
/// one side and the output gradients on the other, `[channels, height, width, batch]`.
pub(super) fn weight_gradients(
    shape: ConvShape,
    small: &[f32],
    large: &[f32],
    batch: usize,
) -> Vec<f32> {
    let small = Images { values: small, shape: shape.small, batch };
    let large = Images { values: large, shape: shape.large, batch };
    pulp::Arch::new().dispatch(WeightGradients { small, large })
}

/// Returns the gradients of the biases: the sum over each channel of the output gradients.
pub(super) fn bias_gradients(gradients: &[f32], channels: usize) -> Vec<f32> {
    let channel = gradients.len() / channels;
    (0..channels)
        .into_par_iter()
        .map(|index| {
            // Many sums side by side: faster, and closer to the true sum.
            let mut sums = [0.0_f32; 32];
            let (chunks, rest) = gradients[index * channel..][..channel].as_chunks::<32>();
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
struct WeightGradients<'a> {
    small: Images<'a>,
    large: Images<'a>,
}

impl WithSimd for WeightGradients<'_> {
    type Output = Vec<f32>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Vec<f32> {
        // As many sums at a time as there are registers, in tiles that make up whole kernel rows: four
        // columns of a single channel, or one column of a block.
        match (S::F32_LANES >= 16, self.large.shape.channels) {
            (true, _) => self.run::<S, 4, 4>(simd),
            (false, 1) => self.run::<S, 2, 4>(simd),
            (false, _) => self.run::<S, 4, 3>(simd),
        }
    }
}

impl WeightGradients<'_> {
    /// The parts and the order in which they are added up depend on the sizes alone.
    #[inline(always)]
    fn run<S: Simd, const ROWS: usize, const COLUMNS: usize>(self, simd: S) -> Vec<f32> {
        let (channels, large) = (self.small.shape.channels, self.large.shape.channels);
        // Blocks of a single channel where there is just one, which else would be mostly zeros.
        let block = if large == 1 { 1 } else { COLUMNS };
        debug_assert!((4 * block).is_multiple_of(COLUMNS), "tiles make up whole kernel rows");
        let row = large.div_ceil(block) * block * KERNEL;
        let groups = self.small.batch.div_ceil(samples::<S>());
        let part = |channels: Range<usize>, groups: Range<usize>| {
            let mut sums = vec![0.0; channels.len().next_multiple_of(ROWS) * row];
            let (images, places) = (self, &mut sums);
            simd.vectorize(Part::<S, ROWS, COLUMNS> {
                simd,
                images,
                channels,
                block,
                groups,
                sums: places,
            });
            sums
        };
        let sums = if channels * row > SPLIT_WEIGHTS {
            let length = channels.div_ceil(PARTS).next_multiple_of(ROWS);
            let parts: Vec<Vec<f32>> = (0..channels.div_ceil(length))
                .into_par_iter()
                .map(|index| part(index * length..channels.min((index + 1) * length), 0..groups))
                .collect();
            parts.concat()
        } else {
            let length = groups.div_ceil(PARTS);
            let parts: Vec<Vec<f32>> = (0..groups.div_ceil(length))
                .into_par_iter()
                .map(|index| part(0..channels, index * length..groups.min((index + 1) * length)))
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
        to_weight_layout(&sums, [channels, large], block)
    }
}

/// Reorders `[small channels, 4, blocks, 4, channels of a block]` into `[small channels, large channels,
/// 4, 4]`.
fn to_weight_layout(sums: &[f32], [small, large]: [usize; 2], block: usize) -> Vec<f32> {
    let mut weights = vec![0.0; small * large * KERNEL];
    let padded = large.div_ceil(block) * block;
    let rows = sums.par_chunks_exact(padded * KERNEL);
    weights.par_chunks_exact_mut(large * KERNEL).zip(rows).for_each(|(weights, sums)| {
        for (channel, kernel) in weights.chunks_exact_mut(KERNEL).enumerate() {
            let (index, place) = (channel / block, channel % block);
            for (at, gradient) in kernel.iter_mut().enumerate() {
                let (y, x) = (at / 4, at % 4);
                *gradient = sums[y * 4 * padded + (index * 4 + x) * block + place];
            }
        }
    });
    weights
}

/// The gradients of some channels' weights, from some groups of samples.
struct Part<'a, S, const ROWS: usize, const COLUMNS: usize> {
    simd: S,
    images: WeightGradients<'a>,
    channels: Range<usize>,
    /// Channels of the large image that are packed together.
    block: usize,
    groups: Range<usize>,
    /// `[channels, 4, blocks, 4, channels of a block]`
    sums: &'a mut [f32],
}

impl<S: Simd, const ROWS: usize, const COLUMNS: usize> WithSimd for Part<'_, S, ROWS, COLUMNS> {
    type Output = ();

    // The buffers are taken and put back because code in a closure would not be vectorized.
    #[inline(always)]
    fn with_simd<T: Simd>(mut self, _: T) {
        let WeightGradients { small, large } = self.images;
        let shape = ImageShape { channels: self.channels.len(), ..small.shape };
        let before = self.channels.start * shape.height * shape.width * small.batch;
        let small = Images { values: &small.values[before..], shape, ..small };
        let height = shape.height;
        let bytes = row_bytes::<S>(shape) + 2 * row_bytes::<S>(large.shape);
        let at_once = (L2_BYTES / bytes).clamp(1, height);
        let lines = (PIXELS / shape.width).clamp(1, at_once);
        // Several groups of small images at a time, so that many products are summed up at once.
        let groups_at_once = PIXELS / (shape.width * lines);
        let [mut buffer, mut large_buffer] = BUFFERS.take();
        let mut group = self.groups.start;
        while group < self.groups.end {
            let taken = group..self.groups.end.min(group + groups_at_once.max(1));
            let mut y = 0;
            while y < height {
                let rows = y..height.min(y + at_once);
                let connected = (2 * y).saturating_sub(1)..large.shape.height.min(2 * rows.end + 1);
                let (simd, block) = (self.simd, self.block);
                let small = small.pack(simd, rows.clone(), taken.clone(), ROWS, &mut buffer);
                let large = large.pack(simd, connected, taken.clone(), block, &mut large_buffer);
                for first in rows.clone().step_by(lines) {
                    let rows = first..rows.end.min(first + lines);
                    self.add(&small, &large, rows, taken.len());
                }
                y += at_once;
            }
            group = taken.end;
        }
        BUFFERS.set([buffer, large_buffer]);
    }
}

impl<S: Simd, const ROWS: usize, const COLUMNS: usize> Part<'_, S, ROWS, COLUMNS> {
    /// Adds the products of some rows, for every pair of blocks of channels.
    #[inline(always)]
    fn add(
        &mut self,
        small: &PackedRows<'_, S>,
        large: &PackedRows<'_, S>,
        rows: Range<usize>,
        groups: usize,
    ) {
        let (width, height) = (self.images.small.shape.width, self.images.large.shape.height);
        let products = Products {
            simd: self.simd,
            small,
            large,
            pixels: width,
            lines: rows.len() * groups,
            kernel_rows: std::array::from_fn(|kernel| {
                Lines::of_row(kernel, small, large, rows.clone(), groups, height)
            }),
        };
        for large_block in 0..large.blocks() {
            for small_block in 0..small.blocks() {
                let mut sums = [[[[self.simd.splat_f32s(0.0); COLUMNS]; ROWS]; 4]; 4];
                products.sum_up(small_block, large_block, &mut sums);
                self.reduce([small_block, large_block], large.blocks(), &sums);
            }
        }
    }

    /// Reduces sums of vectors to numbers, and adds them to the gradients that they belong to.
    #[inline(always)]
    fn reduce(
        &mut self,
        [small_block, large_block]: [usize; 2],
        blocks: usize,
        sums: &Sums<S, ROWS, COLUMNS>,
    ) {
        let columns = 4 * self.block;
        for (kernel, sums) in sums.iter().enumerate() {
            for (sums, column) in sums.iter().zip((0..columns).step_by(COLUMNS)) {
                for (row, sums) in sums.iter().enumerate() {
                    let row = (small_block * ROWS + row) * 4 + kernel;
                    let place = (row * blocks + large_block) * columns + column;
                    for (place, sum) in self.sums[place..].iter_mut().zip(sums) {
                        *place += self.simd.reduce_sum_f32s(*sum);
                    }
                }
            }
        }
    }
}

/// Sums of a block's channels with another's: `[kernel rows, tiles, rows, columns]`. With blocks of a
/// single channel, one tile has all columns and the others stay empty.
type Sums<S, const ROWS: usize, const COLUMNS: usize> =
    [[[[<S as Simd>::f32s; COLUMNS]; ROWS]; 4]; 4];

/// Rows of the small image, and those that a row of the kernel connects them with.
struct Lines {
    /// Where both begin; a line has at least one pixel.
    places: [[usize; 2]; PIXELS],
    count: usize,
}

impl Lines {
    /// Pairs some rows, group by group; what lies outside of the large image is left out.
    fn of_row<S: Simd>(
        kernel: usize,
        small: &PackedRows<'_, S>,
        large: &PackedRows<'_, S>,
        rows: Range<usize>,
        groups: usize,
        height: usize,
    ) -> Self {
        let mut lines = Self { places: [[0; 2]; PIXELS], count: 0 };
        for y in rows {
            // One more than the row of the large image.
            let connected = 2 * y + kernel;
            if connected == 0 || connected > height {
                continue;
            }
            for group in 0..groups {
                lines.places[lines.count] = [
                    (y - small.first) * small.pitch + group * small.span,
                    (connected - 1 - large.first) * large.pitch + group * large.span,
                ];
                lines.count += 1;
            }
        }
        lines
    }

    #[inline(always)]
    fn part(&self, first: usize, count: usize) -> &[[usize; 2]] {
        &self.places[first.min(self.count)..self.count.min(first + count)]
    }
}

/// What is multiplied and summed up.
struct Products<'a, S: Simd> {
    simd: S,
    small: &'a PackedRows<'a, S>,
    large: &'a PackedRows<'a, S>,
    /// Pixels to a line of the small image.
    pixels: usize,
    /// Lines of the small image.
    lines: usize,
    kernel_rows: [Lines; 4],
}

impl<S: Simd> Products<'_, S> {
    /// Sums up the products of a block of the small image's channels with one of the large image's.
    #[inline(always)]
    fn sum_up<const ROWS: usize, const COLUMNS: usize>(
        &self,
        small_block: usize,
        large_block: usize,
        sums: &mut Sums<S, ROWS, COLUMNS>,
    ) {
        let small = &self.small.values[small_block * self.small.plane + ROWS..];
        let large = &self.large.values[large_block * self.large.plane..];
        // What the four columns of a kernel row connect a pixel with is contiguous.
        let columns = 4 * self.large.block;
        let at_once = (L1_VALUES / (samples::<S>() * self.pixels)).max(1);
        for first in (0..self.lines).step_by(at_once) {
            for (lines, sums) in self.kernel_rows.iter().zip(&mut *sums) {
                let lines = lines.part(first, at_once);
                for (sums, column) in sums.iter_mut().zip((0..columns).step_by(COLUMNS)) {
                    self.add_tile(lines, small, &large[column..], sums);
                }
            }
        }
    }

    /// Adds the products of some lines, for a tile of columns.
    #[inline(always)]
    fn add_tile<const ROWS: usize, const COLUMNS: usize>(
        &self,
        lines: &[[usize; 2]],
        small: &[Values<S>],
        large: &[Values<S>],
        total: &mut [[S::f32s; COLUMNS]; ROWS],
    ) {
        let (simd, step) = (self.simd, 2 * self.large.block);
        let mut sums = *total;
        for [small_start, large_start] in lines {
            let (small, _) = small[*small_start..][..self.pixels * ROWS].as_chunks::<ROWS>();
            let large = large[*large_start..].array_windows::<COLUMNS>().step_by(step);
            for (small, large) in small.iter().zip(large) {
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
        *total = sums;
    }
}

#[cfg(test)]
mod tests {
    use pulp::{Scalar, Scalar128b, Scalar256b, Scalar512b};

    use super::*;
    use crate::kernels::whole_numbers;

    #[test]
    fn vectors_of_any_length_give_the_same_gradients() {
        for (channels, outputs, width, batch) in
            [(1, 9, 7, 37), (3, 5, 70, 9), (130, 140, 2, 40), (10, 1, 1, 34)]
        {
            let large = ImageShape { channels, height: 6, width: 2 * width };
            let shape = ConvShape::downsampling(large, outputs);
            let large = whole_numbers(shape.large.pixels() * batch);
            let small = whole_numbers(shape.small.pixels() * batch);
            let expected = weight_gradients(shape, &small, &large, batch);
            let images = WeightGradients {
                small: Images { values: &small, shape: shape.small, batch },
                large: Images { values: &large, shape: shape.large, batch },
            };
            assert_eq!(images.with_simd(Scalar), expected);
            assert_eq!(images.with_simd(Scalar128b), expected);
            assert_eq!(images.with_simd(Scalar256b), expected);
            assert_eq!(images.with_simd(Scalar512b), expected);
        }
    }
}
