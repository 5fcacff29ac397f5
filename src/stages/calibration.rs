//! The rate at which a device trains: a short measurement, and a default where none was made.

use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use rayon::ThreadPoolBuilder;

use crate::data::{Annotations, ImageShape, Images, SampleForm, SampleSet};
use crate::device::DeviceName;
use crate::models::{AeSpec, LastLayer, ModelSpec, NetworkSpec};
use crate::numerics::Seed;
use crate::numerics::units::{NonNegativeF64, PositiveF64};
use crate::training::{
    AdamSpec, Flow, Length, OptimizerSpec, Progress, Schedule, TrainSpec, TrainingData, fit,
};

/// Time after which no further step is taken.
const MEASURING_TIME: Duration = Duration::from_millis(600);

const SHAPE: ImageShape = ImageShape { channels: 1, height: 32, width: 32 };
const BATCH: NonZeroUsize = NonZeroUsize::new(128).unwrap();
const SAMPLES: usize = 4 * BATCH.get();
const MOST_STEPS: NonZeroUsize = NonZeroUsize::new(10_000).unwrap();
const LATENT: NonZeroUsize = NonZeroUsize::new(16).unwrap();
const CHANNELS: [NonZeroUsize; 3] = [
    NonZeroUsize::new(16).unwrap(),
    NonZeroUsize::new(32).unwrap(),
    NonZeroUsize::new(32).unwrap(),
];

/// Trains a small autoencoder for less than a second on this many threads, and returns the counted
/// operations per second; none if the device can't train.
pub fn measure_rate(device: DeviceName, threads: usize) -> Option<f64> {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build().ok()?;
    pool.install(|| operations_per_second(device))
}

fn operations_per_second(device: DeviceName) -> Option<f64> {
    let model = ModelSpec::Ae(AeSpec {
        latent: LATENT,
        network: NetworkSpec::Conv {
            channels: CHANNELS.to_vec(),
            batch_norm: false,
            last: LastLayer::Doubles,
        },
        reconstruction: None,
    });
    let rate = PositiveF64::new(1e-4).ok()?;
    let spec = TrainSpec {
        length: Length::Steps(MOST_STEPS),
        batch_size: BATCH,
        optimizer: OptimizerSpec::Adam(AdamSpec::with_rate(rate, NonNegativeF64::new(0.0).ok()?)),
        schedule: Schedule::default(),
        early_stopping: None,
        seed: Seed(0),
    };
    // Any pixels do, as long as they are not all the same.
    let pixels = (0..SAMPLES * SHAPE.pixels()).map(|at| (at * 89 % 251) as u8).collect();
    let samples = SampleSet::Images(Images::new(SHAPE, pixels, Annotations::default()).ok()?);
    let data = TrainingData { samples: &samples, distances: None, validation: None };
    let began = Instant::now();
    // The first step allocates what all others use.
    let mut warm: Option<Instant> = None;
    let (mut steps, mut seconds) = (0_u32, 0.0);
    let mut observe = |_: &Progress<'_>| {
        if let Some(warm) = warm {
            steps += 1;
            seconds = warm.elapsed().as_secs_f64();
            if began.elapsed() > MEASURING_TIME {
                return Flow::Stop;
            }
        } else {
            warm = Some(Instant::now());
        }
        Flow::Continue
    };
    fit(&model, &spec, data, device, None, &mut observe).ok()?;
    let work = model.training_flops(SampleForm::Image(SHAPE), BATCH.get()).ok()?;
    let rate = work * BATCH.get() as f64 * f64::from(steps) / seconds;
    (rate.is_finite() && rate > 0.0).then_some(rate)
}

/// Returns the typical rate of a device of this kind, in counted operations per second.
pub const fn default_rate(device: DeviceName) -> f64 {
    match device {
        DeviceName::Flex => 1e10,
        DeviceName::LibTorch => 3e10,
        DeviceName::LibTorchCuda(_) | DeviceName::Cuda(_) => 2e12,
        DeviceName::Wgpu => 5e11,
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
