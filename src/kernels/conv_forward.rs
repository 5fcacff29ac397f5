//! The forward kernel of strided convolutions, in both directions.

use std::cell::RefCell;
use std::ops::Range;

use pulp::{Simd, WithSimd};
use rayon::prelude::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};

use super::packing::{
    Images, L2_BYTES, PackedRows, PackedWeights, VECTORS, Values, row_bytes, samples, store,
};
use super::{ConvShape, Direction};
use crate::data::ImageShape;

thread_local! {
    static BUFFER: RefCell<Vec<f32>> = const { RefCell::new(Vec::new()) };
}

/// A convolution with its weights.
#[derive(Clone, Copy)]
pub(super) struct ConvForward<'a> {
    pub(super) direction: Direction,
    pub(super) shape: ConvShape,
    /// `[small channels, large channels, 4, 4]`
    pub(super) weights: &'a [f32],
    /// One for each output channel; without one, zero.
    pub(super) bias: Option<&'a [f32]>,
    /// Whether a ReLU follows.
    pub(super) relu: bool,
}

impl ConvForward<'_> {
    /// Convolves a batch of images; input and output are `[channels, height, width, batch]`.
    pub(super) fn run(self, input: &[f32], batch: usize) -> Vec<f32> {
        let (from, to) = self.shape.ends(self.direction);
        let images = Images { values: input, shape: from, batch };
        let mut output = vec![0.0; to.pixels() * batch];
        pulp::Arch::new().dispatch(Job { conv: self, images, to, output: &mut output });
        output
    }
}

struct Job<'a> {
    conv: ConvForward<'a>,
    images: Images<'a>,
    to: ImageShape,
    output: &'a mut [f32],
}

impl WithSimd for Job<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        // As many sums at a time as there are registers: channels of a pixel, or pixels where there
        // are few channels.
        match (S::F32_LANES >= 16, self.to.channels) {
            (true, 1) => self.run::<S, 1, 8>(simd),
            (false, 1) => self.run::<S, 1, 4>(simd),
            (_, 3) => self.run::<S, 3, 2>(simd),
            (true, _) => self.run::<S, 8, 1>(simd),
            (false, _) => self.run::<S, 4, 1>(simd),
        }
    }
}

impl Job<'_> {
    #[inline(always)]
    fn run<S: Simd, const OUTPUTS: usize, const PIXELS: usize>(self, simd: S) {
        let Self { conv, images, to, output } = self;
        let ConvForward { direction, shape, weights, .. } = conv;
        let packed = &PackedWeights::of(weights, shape, direction, OUTPUTS);
        let at_once = rows_at_once::<S>(direction, shape);
        let mut parts: Vec<Vec<&mut [f32]>> = Vec::new();
        parts.resize_with(to.height.div_ceil(at_once), Vec::new);
        for (index, line) in output.chunks_exact_mut(to.width * images.batch).enumerate() {
            parts[index % to.height / at_once].push(line);
        }
        parts.into_par_iter().enumerate().for_each(|(part, lines)| {
            let rows = part * at_once..to.height.min((part + 1) * at_once);
            let part = Part::<S, OUTPUTS, PIXELS> { simd, conv, images, to, packed, rows, lines };
            simd.vectorize(part);
        });
    }
}

/// Returns how many output rows are computed from one group of packed rows: as many as stay in the
/// cache, but no more than a quarter of the image, so that there is work for several threads.
fn rows_at_once<S: Simd>(direction: Direction, shape: ConvShape) -> usize {
    let (from, _) = shape.ends(direction);
    let cached = (L2_BYTES / row_bytes::<S>(from)).saturating_sub(2);
    // Counted in rows of the small image, since rows of the large one come in pairs.
    let small = match direction {
        Direction::Down => cached / 2,
        Direction::Up => cached,
    };
    let small = small.clamp(1, shape.small.height.div_ceil(4));
    match direction {
        Direction::Down => small,
        Direction::Up => 2 * small,
    }
}

/// Some rows of the output.
struct Part<'a, S, const OUTPUTS: usize, const PIXELS: usize> {
    simd: S,
    conv: ConvForward<'a>,
    images: Images<'a>,
    to: ImageShape,
    packed: &'a PackedWeights,
    rows: Range<usize>,
    /// The rows of each channel, `[width, batch]`.
    lines: Vec<&'a mut [f32]>,
}

/// Contiguous values, and the weights that they are multiplied with.
#[derive(Clone, Copy)]
struct Run {
    values: usize,
    weights: usize,
    length: usize,
}

/// What the first pixel of a row, or the first of its odd ones, is summed up from; for the next pixel
/// everything moves by `step`.
struct Taps {
    runs: [Run; 4],
    count: usize,
    /// Values from the runs of one pixel to those of the next.
    step: usize,
}

impl<S: Simd, const OUTPUTS: usize, const PIXELS: usize> WithSimd for Part<'_, S, OUTPUTS, PIXELS> {
    type Output = ();

    // The buffer is taken and put back because code in a closure would not be vectorized.
    #[inline(always)]
    fn with_simd<T: Simd>(mut self, _: T) {
        let height = self.images.shape.height;
        let needed = match self.conv.direction {
            Direction::Down => (2 * self.rows.start).saturating_sub(1)..2 * self.rows.end + 1,
            Direction::Up => (self.rows.start / 2).saturating_sub(1)..self.rows.end / 2 + 1,
        };
        let needed = needed.start..needed.end.min(height);
        let mut buffer = BUFFER.take();
        let block = self.images.shape.channels;
        for group in 0..self.images.batch.div_ceil(samples::<S>()) {
            let needed = needed.clone();
            let rows = self.images.pack(self.simd, needed, group..group + 1, block, &mut buffer);
            self.convolve(&rows, group * samples::<S>());
        }
        BUFFER.set(buffer);
    }
}

impl<S: Simd, const OUTPUTS: usize, const PIXELS: usize> Part<'_, S, OUTPUTS, PIXELS> {
    /// Computes the outputs of one group, whose samples begin at `start`.
    #[inline(always)]
    fn convolve(&mut self, input: &PackedRows<'_, S>, start: usize) {
        // Pixels that use the same taps: all of a row, or every second one.
        let (stride, width) = match self.conv.direction {
            Direction::Down => (1, self.to.width),
            Direction::Up => (2, self.to.width / 2),
        };
        let packed = self.packed;
        for (block, weights) in packed.blocks().enumerate() {
            let first = block * OUTPUTS;
            let mut initial = [0.0; OUTPUTS];
            if let Some(bias) = self.conv.bias {
                for (initial, bias) in initial.iter_mut().zip(&bias[first..]) {
                    *initial = *bias;
                }
            }
            for y in self.rows.clone() {
                for odd in 0..stride {
                    let taps = self.taps(input, y, odd);
                    let mut index = 0;
                    while index < width {
                        let (x, simd) = (index * stride + odd, self.simd);
                        let values = &input.values[index * taps.step..];
                        if index + PIXELS <= width {
                            let sums =
                                sum::<S, OUTPUTS, PIXELS>(simd, values, weights, &taps, initial);
                            for (pixel, sums) in sums.into_iter().enumerate() {
                                self.store(sums, first, y, x + pixel * stride, start);
                            }
                            index += PIXELS;
                        } else {
                            let [sums] =
                                sum::<S, OUTPUTS, 1>(simd, values, weights, &taps, initial);
                            self.store(sums, first, y, x, start);
                            index += 1;
                        }
                    }
                }
            }
        }
    }

    /// Returns the taps of a row of pixels; rows outside the image are left out.
    #[inline(always)]
    fn taps(&self, input: &PackedRows<'_, S>, y: usize, odd: usize) -> Taps {
        // One more than the row of the image, the column as packed, kernel columns to a run.
        let (row, column, columns, tap) = match self.conv.direction {
            Direction::Down => (2 * y, 0, 4, 0),
            Direction::Up => (y.div_ceil(2), odd, 2, y % 2 * 8 + odd * 4),
        };
        let length = columns * input.block;
        let mut taps = Taps {
            runs: [Run { values: 0, weights: 0, length }; 4],
            count: 0,
            step: (columns / 2) * input.block,
        };
        for kernel_row in 0..columns {
            let row = row + kernel_row;
            if row == 0 || row > self.images.shape.height {
                continue;
            }
            let run = &mut taps.runs[taps.count];
            run.values = (row - 1 - input.first) * input.pitch + column * input.block;
            run.weights = (tap + kernel_row * columns) * input.block;
            taps.count += 1;
        }
        taps
    }

    #[inline(always)]
    fn store(
        &mut self,
        sums: [Values<S>; OUTPUTS],
        first: usize,
        y: usize,
        x: usize,
        start: usize,
    ) {
        let (simd, batch) = (self.simd, self.images.batch);
        let end = batch.min(start + samples::<S>());
        let zero = simd.splat_f32s(0.0);
        for (channel, mut values) in (first..self.to.channels).zip(sums) {
            if self.conv.relu {
                for value in &mut values {
                    // In this order, what is not a number stays so.
                    *value = simd.max_f32s(zero, *value);
                }
            }
            let line = channel * self.rows.len() + y - self.rows.start;
            store(simd, values, &mut self.lines[line][x * batch..][start..end]);
        }
    }
}

/// Sums up the products of values and weights, for several outputs of several pixels.
#[inline(always)]
fn sum<S: Simd, const OUTPUTS: usize, const PIXELS: usize>(
    simd: S,
    values: &[Values<S>],
    weights: &[f32],
    taps: &Taps,
    initial: [f32; OUTPUTS],
) -> [[Values<S>; OUTPUTS]; PIXELS] {
    let mut sums = [[[simd.splat_f32s(0.0); VECTORS]; OUTPUTS]; PIXELS];
    for sums in &mut sums {
        for (sums, initial) in sums.iter_mut().zip(initial) {
            *sums = [simd.splat_f32s(initial); VECTORS];
        }
    }
    let (weights, _) = weights.as_chunks::<OUTPUTS>();
    for run in &taps.runs[..taps.count] {
        let weights = &weights[run.weights..][..run.length];
        let values = &values[run.values..][..(PIXELS - 1) * taps.step + run.length];
        for (index, weight) in weights.iter().enumerate() {
            for (pixel, sums) in sums.iter_mut().enumerate() {
                let value = values[pixel * taps.step + index];
                // A vector at a time: of all registers, only one then holds a value.
                for (vector, value) in value.into_iter().enumerate() {
                    for (sums, weight) in sums.iter_mut().zip(weight) {
                        let weight = simd.splat_f32s(*weight);
                        sums[vector] = simd.mul_add_e_f32s(weight, value, sums[vector]);
                    }
                }
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use pulp::{Scalar, Scalar128b, Scalar256b, Scalar512b};

    use super::*;
    use crate::kernels::whole_numbers;

    /// Convolves with vectors of a length that the processor may not have.
    fn with_vectors<S: Simd>(simd: S, conv: ConvForward<'_>, input: &[f32]) -> Vec<f32> {
        let (from, to) = conv.shape.ends(conv.direction);
        let batch = input.len() / from.pixels();
        let mut output = vec![0.0; to.pixels() * batch];
        let images = Images { values: input, shape: from, batch };
        Job { conv, images, to, output: &mut output }.with_simd(simd);
        output
    }

    #[test]
    fn vectors_of_any_length_give_the_same_output() {
        for (channels, outputs, batch) in [(1, 9, 37), (3, 5, 70), (13, 10, 1), (10, 1, 34)] {
            let large = ImageShape { channels, height: 6, width: 14 };
            let shape = ConvShape::downsampling(large, outputs);
            let weights = whole_numbers(channels * outputs * 16);
            for direction in [Direction::Down, Direction::Up] {
                let (from, to) = shape.ends(direction);
                let (input, bias) =
                    (whole_numbers(from.pixels() * batch), whole_numbers(to.channels));
                let conv = ConvForward {
                    direction,
                    shape,
                    weights: &weights,
                    bias: Some(&bias),
                    relu: true,
                };
                let expected = conv.run(&input, batch);
                assert_eq!(with_vectors(Scalar, conv, &input), expected);
                assert_eq!(with_vectors(Scalar128b, conv, &input), expected);
                assert_eq!(with_vectors(Scalar256b, conv, &input), expected);
                assert_eq!(with_vectors(Scalar512b, conv, &input), expected);
            }
        }
    }
}
