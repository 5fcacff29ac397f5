//! Weights in the order in which a gathering meets them.

use rayon::prelude::{IndexedParallelIterator, ParallelIterator, ParallelSliceMut};

use super::{Scales, Way};

/// Weights of one kernel.
const KERNEL: usize = 16;

/// Weights by blocks of outputs: `[blocks, taps, inputs, outputs of a block]`.
///
/// Going down, taps are the kernel's rows and columns. Going up, an output pixel meets only two
/// rows and two columns of the kernel, which depend on whether its own row and column are even:
/// taps are `[odd row, odd column, row, column]`.
pub(super) struct Panels {
    values: Vec<f32>,
    panel: usize,
}

impl Panels {
    /// Orders weights, `[small channels, large channels, 4, 4]`, for blocks of some outputs.
    pub(super) fn of(weights: &[f32], scales: Scales, way: Way, block: usize) -> Self {
        let (from, to) = scales.along(way);
        let (inputs, outputs) = (from.channels, to.channels);
        let panel = KERNEL * inputs * block;
        let mut values = vec![0.0; outputs.div_ceil(block) * panel];
        values.par_chunks_exact_mut(panel).enumerate().for_each(|(index, panel)| {
            let first = index * block;
            for (index, places) in panel.chunks_exact_mut(block).enumerate() {
                let (tap, input) = (index / inputs, index % inputs);
                let kernel = match way {
                    Way::Down => tap,
                    Way::Up => meets(tap / 8, tap / 2 % 2) * 4 + meets(tap / 4 % 2, tap % 2),
                };
                for (place, output) in places.iter_mut().zip(first..outputs) {
                    let pair = match way {
                        Way::Down => output * inputs + input,
                        Way::Up => input * outputs + output,
                    };
                    *place = weights[pair * KERNEL + kernel];
                }
            }
        });
        Self { values, panel }
    }

    /// Returns the weights of each block.
    #[inline(always)]
    pub(super) fn blocks(&self) -> std::slice::ChunksExact<'_, f32> {
        self.values.chunks_exact(self.panel)
    }
}

/// Returns which row (or column) of the kernel an even or odd pixel row of the large image meets
/// at the first and the second row of the small image that it touches.
const fn meets(odd: usize, touched: usize) -> usize {
    [[3, 1], [2, 0]][odd][touched]
}
