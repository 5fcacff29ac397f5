//! The way of numbers to a device and back: the only place where a tensor is filled from the host's
//! memory, or read into it, while models are trained and applied.
//!
//! A GPU works behind the host's back. Whoever reads a tensor waits until all that was asked for before
//! is done, and leaves the GPU idle until more is asked for: what is not needed at once is therefore
//! read together, by [`Readback`]. In tests, transfers are counted by thread.

use burn::tensor::{Device, Tensor, TensorData};

use super::is_processor;

#[cfg(test)]
mod counts {
    use std::cell::Cell;

    /// How often numbers went to devices and back.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(crate) struct Transfers {
        /// Tensors that were filled from the host's memory.
        pub(crate) sent: u64,
        /// Tensors that were read into the host's memory.
        pub(crate) read: u64,
    }

    thread_local! {
        static TRANSFERS: Cell<Transfers> = Cell::default();
    }

    pub(super) fn add(more: Transfers) {
        let Transfers { sent, read } = TRANSFERS.get();
        TRANSFERS.set(Transfers { sent: sent + more.sent, read: read + more.read });
    }

    /// Returns the transfers that this thread has made.
    pub(crate) fn transfers() -> Transfers {
        TRANSFERS.get()
    }
}

#[cfg(test)]
pub(crate) use self::counts::{Transfers, transfers};

/// Tensors that wait to be read together: with more of them, the host would run far ahead of the device,
/// whose memory holds all that is asked for.
const MOST_WAITING: usize = 32;

/// Values that wait to be read together, unless a single tensor has more.
const MOST_VALUES: usize = 1 << 22;

/// Copies values to a device.
pub fn send<const D: usize>(values: Vec<f32>, shape: [usize; D], device: &Device) -> Tensor<D> {
    #[cfg(test)]
    counts::add(Transfers { sent: 1, read: 0 });
    Tensor::from_data(TensorData::new(values, shape), device)
}

/// Waits for a tensor, and returns its values.
pub fn read<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    #[cfg(test)]
    counts::add(Transfers { sent: 0, read: 1 });
    tensor.into_data().iter::<f32>().collect()
}

/// Tensors whose values are read together, in the order in which they came. On a processor, where there is
/// nothing to wait for, each is read at once.
#[derive(Debug, Default)]
pub struct Readback {
    waiting: Vec<Tensor<1>>,
    values: usize,
    read: Vec<f32>,
}

impl Readback {
    /// Adds a tensor.
    pub fn push<const D: usize>(&mut self, tensor: Tensor<D>) {
        let count = tensor.shape().num_elements();
        if is_processor(&tensor.device()) {
            self.read.extend(read(tensor));
            return;
        }
        if self.waiting.len() >= MOST_WAITING || self.values + count > MOST_VALUES {
            self.fetch();
        }
        self.values += count;
        self.waiting.push(tensor.reshape([count]));
    }

    /// Returns whether values should be taken now: they were read already, or as many tensors wait as
    /// should.
    pub fn is_due(&self) -> bool {
        !self.read.is_empty() || self.waiting.len() >= MOST_WAITING
    }

    /// Waits for all tensors since the last call, and returns their values.
    pub fn take(&mut self) -> Vec<f32> {
        self.fetch();
        std::mem::take(&mut self.read)
    }

    fn fetch(&mut self) {
        self.values = 0;
        match std::mem::take(&mut self.waiting) {
            waiting if waiting.is_empty() => {}
            waiting => self.read.extend(read(Tensor::cat(waiting, 0))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{open, test_device};

    #[test]
    fn values_come_back_in_order_however_many_there_are() {
        let device = open(test_device()).unwrap();
        let mut readback = Readback::default();
        assert!(readback.take().is_empty());
        let before = transfers();
        let count = 2 * MOST_WAITING + 1;
        for place in 0..count {
            let place = place as f32;
            readback.push(send(vec![place, -place], [2, 1], &device));
        }
        let expected: Vec<f32> = (0..count).flat_map(|at| [at as f32, -(at as f32)]).collect();
        assert_eq!(readback.take(), expected);
        let after = transfers();
        assert_eq!(after.sent - before.sent, count as u64);
        let reads = if test_device().is_processor() { count as u64 } else { 3 };
        assert_eq!(after.read - before.read, reads);
        assert!(readback.take().is_empty());
    }
}
