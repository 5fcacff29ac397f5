//! The rate at which a device trains: a short measurement, and a default where none was made.

use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use rayon::ThreadPoolBuilder;

use crate::data::{Annotations, ImageShape, Images, SampleForm, SampleSet};
use crate::device::{DeviceKind, DeviceName, catch};
use crate::models::{AeSpec, LastLayer, ModelSpec, NetworkSpec, PaperNetwork};
use crate::numerics::Seed;
use crate::numerics::units::{NonNegativeF64, PositiveF64};
use crate::training::{
    AdamSpec, Flow, Length, OptimizerSpec, Progress, Schedule, TrainSpec, TrainingData, fit,
};

/// Steps in an epoch: what was computed is certain only at the end of one.
const STEPS_PER_EPOCH: usize = 4;
const MOST_STEPS: NonZeroUsize = NonZeroUsize::new(10_000).unwrap();
const LATENT: NonZeroUsize = NonZeroUsize::new(16).unwrap();
const CHANNELS: [NonZeroUsize; 3] = [
    NonZeroUsize::new(16).unwrap(),
    NonZeroUsize::new(32).unwrap(),
    NonZeroUsize::new(32).unwrap(),
];

/// An autoencoder that is trained for a measurement.
struct Workload {
    network: NetworkSpec,
    shape: ImageShape,
    batch: NonZeroUsize,
    /// Time after which no further epoch is begun.
    time: Duration,
}

/// How fast a device trains.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrainingRate {
    /// Training samples in a second.
    pub samples: f64,
    /// Counted operations in a second.
    pub operations: f64,
}

/// Trains a small autoencoder for less than a second on this many threads, and returns the counted
/// operations per second; none if the device can't train.
pub fn measure_rate(device: DeviceName, threads: usize) -> Option<f64> {
    let workload = Workload {
        network: NetworkSpec::Conv {
            channels: CHANNELS.to_vec(),
            batch_norm: false,
            last: LastLayer::Doubles,
        },
        shape: ImageShape { channels: 1, height: 32, width: 32 },
        batch: NonZeroUsize::new(128)?,
        time: Duration::from_millis(600),
    };
    Some(workload.measure(device, threads)?.operations)
}

/// Trains an autoencoder with each of the paper's networks but the largest for a second or two, and tells
/// how fast, by the name of the data set; fewer if the device can't train.
pub fn paper_rates(device: DeviceName, threads: usize) -> Vec<(&'static str, TrainingRate)> {
    let networks = [
        ("dSprites", PaperNetwork::Dsprites, 1, 64),
        ("3DShapes", PaperNetwork::Shapes3d, 3, 64),
        ("MNIST", PaperNetwork::Mnist, 1, 32),
    ];
    let rates = networks.into_iter().filter_map(|(name, of, channels, side)| {
        let workload = Workload {
            network: NetworkSpec::Paper { of, width: PositiveF64::new(1.0).ok()? },
            shape: ImageShape { channels, height: side, width: side },
            batch: NonZeroUsize::new(64)?,
            time: Duration::from_secs(2),
        };
        Some((name, workload.measure(device, threads)?))
    });
    rates.collect()
}

impl Workload {
    fn measure(&self, device: DeviceName, threads: usize) -> Option<TrainingRate> {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().ok()?;
        // A device that does not work has no rate.
        pool.install(|| catch(|| self.train(device))).ok()?
    }

    fn train(&self, device: DeviceName) -> Option<TrainingRate> {
        let model = ModelSpec::Ae(AeSpec {
            latent: LATENT,
            network: self.network.clone(),
            reconstruction: None,
        });
        let rate = PositiveF64::new(1e-4).ok()?;
        let decay = NonNegativeF64::new(0.0).ok()?;
        let spec = TrainSpec {
            length: Length::Steps(MOST_STEPS),
            batch_size: self.batch,
            optimizer: OptimizerSpec::Adam(AdamSpec::with_rate(rate, decay)),
            schedule: Schedule::default(),
            early_stopping: None,
            seed: Seed(0),
        };
        // Any pixels do, as long as they are not all the same.
        let shape = self.shape;
        let count = STEPS_PER_EPOCH * self.batch.get() * shape.pixels();
        let pixels = (0..count).map(|at| (at * 89 % 251) as u8).collect();
        let samples = SampleSet::Images(Images::new(shape, pixels, Annotations::default()).ok()?);
        let data = TrainingData { samples: &samples, distances: None, validation: None };
        // The first epoch allocates what all others use.
        let mut warm: Option<Instant> = None;
        let (mut steps, mut seconds) = (0, 0.0);
        let mut observe = |progress: &Progress<'_>| {
            if !progress.epoch_ended {
                return Flow::Continue;
            }
            let began = *warm.get_or_insert_with(Instant::now);
            if progress.step > STEPS_PER_EPOCH {
                (steps, seconds) = (progress.step - STEPS_PER_EPOCH, began.elapsed().as_secs_f64());
            }
            if steps > 0 && began.elapsed() > self.time { Flow::Stop } else { Flow::Continue }
        };
        fit(&model, &spec, data, device, None, &mut observe).ok()?;
        let samples = (steps * self.batch.get()) as f64 / seconds;
        let work = model.training_flops(SampleForm::Image(shape), self.batch.get()).ok()?;
        let rate = TrainingRate { samples, operations: work * samples };
        (rate.operations.is_finite() && rate.operations > 0.0).then_some(rate)
    }
}

/// Returns the typical rate of a device of this kind, in counted operations per second.
pub const fn default_rate(device: DeviceKind) -> f64 {
    match device {
        DeviceKind::Flex => 1e10,
        DeviceKind::LibTorch => 3e10,
        DeviceKind::LibTorchCuda | DeviceKind::Cuda => 2e12,
        DeviceKind::Wgpu => 5e11,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::test_device;

    #[test]
    fn a_device_that_trains_has_a_rate() {
        let rate = measure_rate(test_device(), 1).unwrap();
        assert!(rate > 1e6 && rate.is_finite(), "{rate}");
    }
}
