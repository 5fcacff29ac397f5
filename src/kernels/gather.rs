//! Every pixel of one image gathers, through the weights, what it needs of the other.

use std::cell::RefCell;
use std::ops::Range;

use pulp::{Simd, WithSimd};
use rayon::prelude::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};

use super::panels::Panels;
use super::strip::{CACHE, Images, Strips, VECTORS, Values, row_bytes, samples, store};
use super::{Scales, Way};
use crate::data::ImageShape;

thread_local! {
    static ROOM: RefCell<Vec<f32>> = const { RefCell::new(Vec::new()) };
}

/// What is gathered from what.
#[derive(Clone, Copy)]
pub(super) struct Gathering<'a> {
    pub(super) way: Way,
    pub(super) scales: Scales,
    /// `[small channels, large channels, 4, 4]`
    pub(super) weights: &'a [f32],
    /// One for each output channel; without one, zero.
    pub(super) bias: Option<&'a [f32]>,
    /// Whether what is below zero becomes zero.
    pub(super) relu: bool,
}

impl Gathering<'_> {
    /// Gathers for a batch of images, which are `[channels, height, width, batch]` as the result.
    pub(super) fn of(self, input: &[f32], batch: usize) -> Vec<f32> {
        let (from, to) = self.scales.along(self.way);
        let images = Images { values: input, shape: from, batch };
        let mut output = vec![0.0; to.pixels() * batch];
        pulp::Arch::new().dispatch(Job { gathering: self, images, to, output: &mut output });
        output
    }
}

struct Job<'a> {
    gathering: Gathering<'a>,
    images: Images<'a>,
    to: ImageShape,
    output: &'a mut [f32],
}

impl WithSimd for Job<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        // As many sums at a time as there are registers: outputs of a pixel, or pixels where there
        // are few outputs.
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
        let Self { gathering, images, to, output } = self;
        let Gathering { way, scales, weights, .. } = gathering;
        let panels = &Panels::of(weights, scales, way, OUTPUTS);
        let at_once = rows_at_once::<S>(way, scales);
        let mut parts: Vec<Vec<&mut [f32]>> = Vec::new();
        parts.resize_with(to.height.div_ceil(at_once), Vec::new);
        for (index, line) in output.chunks_exact_mut(to.width * images.batch).enumerate() {
            parts[index % to.height / at_once].push(line);
        }
        parts.into_par_iter().enumerate().for_each(|(part, lines)| {
            let rows = part * at_once..to.height.min((part + 1) * at_once);
            let part =
                Part::<S, OUTPUTS, PIXELS> { simd, gathering, images, to, panels, rows, lines };
            simd.vectorize(part);
        });
    }
}

/// Returns how many output rows are gathered from one packed strip: as many as stay in the cache,
/// but no more than a quarter of the image, so that there is work for several threads.
fn rows_at_once<S: Simd>(way: Way, scales: Scales) -> usize {
    let (from, _) = scales.along(way);
    let cached = (CACHE / row_bytes::<S>(from)).saturating_sub(2);
    // Counted in rows of the small image, since rows of the large one come in pairs.
    let small = match way {
        Way::Down => cached / 2,
        Way::Up => cached,
    };
    let small = small.clamp(1, scales.small.height.div_ceil(4));
    match way {
        Way::Down => small,
        Way::Up => 2 * small,
    }
}

/// Some rows of the output.
struct Part<'a, S, const OUTPUTS: usize, const PIXELS: usize> {
    simd: S,
    gathering: Gathering<'a>,
    images: Images<'a>,
    to: ImageShape,
    panels: &'a Panels,
    rows: Range<usize>,
    /// The rows of each channel, `[width, batch]`.
    lines: Vec<&'a mut [f32]>,
}

/// Values that lie side by side, and the weights that they meet.
#[derive(Clone, Copy)]
struct Run {
    values: usize,
    weights: usize,
    length: usize,
}

/// What makes up the first pixel of a row, or the first of its odd ones; what makes up the next lies
/// beside it.
struct Reach {
    runs: [Run; 4],
    count: usize,
    /// Values from the runs of one pixel to those of the next.
    step: usize,
}

impl<S: Simd, const OUTPUTS: usize, const PIXELS: usize> WithSimd for Part<'_, S, OUTPUTS, PIXELS> {
    type Output = ();

    // The room is taken and given back because code in a closure would not be vectorized.
    #[inline(always)]
    fn with_simd<T: Simd>(mut self, _: T) {
        let height = self.images.shape.height;
        let needed = match self.gathering.way {
            Way::Down => (2 * self.rows.start).saturating_sub(1)..2 * self.rows.end + 1,
            Way::Up => (self.rows.start / 2).saturating_sub(1)..self.rows.end / 2 + 1,
        };
        let needed = needed.start..needed.end.min(height);
        let mut room = ROOM.take();
        let block = self.images.shape.channels;
        for strip in 0..self.images.batch.div_ceil(samples::<S>()) {
            let needed = needed.clone();
            let values = self.images.strips(self.simd, needed, strip..strip + 1, block, &mut room);
            self.gather(&values, strip * samples::<S>());
        }
        ROOM.set(room);
    }
}

impl<S: Simd, const OUTPUTS: usize, const PIXELS: usize> Part<'_, S, OUTPUTS, PIXELS> {
    #[inline(always)]
    fn gather(&mut self, strip: &Strips<'_, S>, start: usize) {
        // Pixels that follow each other in memory: all of a row, or every second one.
        let (stride, width) = match self.gathering.way {
            Way::Down => (1, self.to.width),
            Way::Up => (2, self.to.width / 2),
        };
        let panels = self.panels;
        for (block, weights) in panels.blocks().enumerate() {
            let first = block * OUTPUTS;
            let mut initial = [0.0; OUTPUTS];
            if let Some(bias) = self.gathering.bias {
                for (initial, bias) in initial.iter_mut().zip(&bias[first..]) {
                    *initial = *bias;
                }
            }
            for y in self.rows.clone() {
                for odd in 0..stride {
                    let reach = self.reach(strip, y, odd);
                    let mut index = 0;
                    while index < width {
                        let (x, simd) = (index * stride + odd, self.simd);
                        let values = &strip.values[index * reach.step..];
                        if index + PIXELS <= width {
                            let sums =
                                sum::<S, OUTPUTS, PIXELS>(simd, values, weights, &reach, initial);
                            for (pixel, sums) in sums.into_iter().enumerate() {
                                self.store(sums, first, y, x + pixel * stride, start);
                            }
                            index += PIXELS;
                        } else {
                            let [sums] =
                                sum::<S, OUTPUTS, 1>(simd, values, weights, &reach, initial);
                            self.store(sums, first, y, x, start);
                            index += 1;
                        }
                    }
                }
            }
        }
    }

    /// Returns what makes up the pixels of a row; rows outside the image are left out.
    #[inline(always)]
    fn reach(&self, strip: &Strips<'_, S>, y: usize, odd: usize) -> Reach {
        // One more than the row of the image, the column as packed, kernel columns to a run.
        let (row, column, columns, tap) = match self.gathering.way {
            Way::Down => (2 * y, 0, 4, 0),
            Way::Up => (y.div_ceil(2), odd, 2, y % 2 * 8 + odd * 4),
        };
        let length = columns * strip.block;
        let mut reach = Reach {
            runs: [Run { values: 0, weights: 0, length }; 4],
            count: 0,
            step: (columns / 2) * strip.block,
        };
        for touched in 0..columns {
            let row = row + touched;
            if row == 0 || row > self.images.shape.height {
                continue;
            }
            let run = &mut reach.runs[reach.count];
            run.values = (row - 1 - strip.first) * strip.pitch + column * strip.block;
            run.weights = (tap + touched * columns) * strip.block;
            reach.count += 1;
        }
        reach
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
            if self.gathering.relu {
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
    reach: &Reach,
    initial: [f32; OUTPUTS],
) -> [[Values<S>; OUTPUTS]; PIXELS] {
    let mut sums = [[[simd.splat_f32s(0.0); VECTORS]; OUTPUTS]; PIXELS];
    for sums in &mut sums {
        for (sums, initial) in sums.iter_mut().zip(initial) {
            *sums = [simd.splat_f32s(initial); VECTORS];
        }
    }
    let (weights, _) = weights.as_chunks::<OUTPUTS>();
    for run in &reach.runs[..reach.count] {
        let weights = &weights[run.weights..][..run.length];
        let values = &values[run.values..][..(PIXELS - 1) * reach.step + run.length];
        for (index, weight) in weights.iter().enumerate() {
            for (pixel, sums) in sums.iter_mut().enumerate() {
                let value = values[pixel * reach.step + index];
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

    /// Gathers with vectors of a length that the processor may not have.
    fn with_vectors<S: Simd>(simd: S, gathering: Gathering<'_>, input: &[f32]) -> Vec<f32> {
        let (from, to) = gathering.scales.along(gathering.way);
        let batch = input.len() / from.pixels();
        let mut output = vec![0.0; to.pixels() * batch];
        let images = Images { values: input, shape: from, batch };
        Job { gathering, images, to, output: &mut output }.with_simd(simd);
        output
    }

    #[test]
    fn vectors_of_any_length_gather_the_same() {
        for (channels, outputs, batch) in [(1, 9, 37), (3, 5, 70), (13, 10, 1), (10, 1, 34)] {
            let large = ImageShape { channels, height: 6, width: 14 };
            let scales = Scales::halving(large, outputs);
            // Whole numbers: every order of summing up gives the same.
            let whole = |count: usize| (0..count).map(|index| (index * 7 % 11) as f32 - 5.0);
            let weights: Vec<f32> = whole(channels * outputs * 16).collect();
            for way in [Way::Down, Way::Up] {
                let (from, to) = scales.along(way);
                let (input, bias): (Vec<_>, Vec<_>) =
                    (whole(from.pixels() * batch).collect(), whole(to.channels).collect());
                let gathering =
                    Gathering { way, scales, weights: &weights, bias: Some(&bias), relu: true };
                let expected = gathering.of(&input, batch);
                assert_eq!(with_vectors(Scalar, gathering, &input), expected);
                assert_eq!(with_vectors(Scalar128b, gathering, &input), expected);
                assert_eq!(with_vectors(Scalar256b, gathering, &input), expected);
                assert_eq!(with_vectors(Scalar512b, gathering, &input), expected);
            }
        }
    }
}
