//! Training steps of the paper's networks, beside PyTorch.

use std::time::Instant;

use pcae::data::{Annotations, ImageShape, Images, SampleSet};
use pcae::device::{DeviceKind, DeviceName};
use pcae::geometry::{Distances, Rescale};
use pcae::models::ModelSpec;
use pcae::training::{Flow, TrainSpec, TrainingData, fit};

use crate::item::{Given, Item, Measured, Peer};
use crate::machine;

/// Samples in a step.
const BATCH: usize = 256;
/// Steps before the clock runs, and while it does.
const WARM: usize = 3;
const STEPS: usize = 12;

/// A PCAE with a network of the paper.
struct Training {
    network: &'static str,
    device: DeviceName,
    channels: usize,
    side: usize,
    /// Billions of operations in a step: two for each product of a weight with a value, going
    /// forward, to the gradients of the values and to those of the weights.
    giga_operations: f64,
}

/// Returns an item for each network that fits a processor, and for each device that is one.
pub(crate) fn items() -> Vec<Box<dyn Item>> {
    let mut items: Vec<Box<dyn Item>> = Vec::new();
    let processors = DeviceKind::ALL.into_iter().filter(|kind| kind.is_processor());
    for kind in processors.filter(|kind| kind.missing_feature().is_none()) {
        let device = DeviceName::from(kind);
        for (network, channels, side, widths) in [
            ("Dsprites", 1, 64, [32, 32, 64, 64]),
            ("Shapes3d", 3, 64, [32, 32, 64, 64]),
            ("Mnist", 1, 32, [64, 128, 256, 512]),
        ] {
            let giga_operations = operations(channels, side, widths) * BATCH as f64 / 1e9;
            items.push(Box::new(Training { network, device, channels, side, giga_operations }));
        }
    }
    items
}

/// Counts the operations that one sample takes.
fn operations(channels: usize, side: usize, widths: [usize; 4]) -> f64 {
    let (mut total, mut inputs, mut side) = (0, channels, side);
    for (layer, outputs) in widths.into_iter().enumerate() {
        side /= 2;
        let products = inputs * outputs * 16 * side * side;
        // Encoder and decoder; the images themselves need no gradients.
        total += if layer == 0 { 5 * products } else { 6 * products };
        inputs = outputs;
    }
    2.0 * total as f64
}

impl Item for Training {
    fn name(&self) -> String {
        format!("training-{}-{}", self.device, self.network.to_lowercase())
    }

    fn title(&self) -> String {
        format!(
            "Training, {}, the paper's network for {}, batches of {BATCH}",
            self.device, self.network
        )
    }

    fn ours(&self, _given: &Given) -> Result<Measured, String> {
        let problem = |error: &dyn std::fmt::Display| error.to_string();
        let network = self.network;
        let model: ModelSpec = ron::from_str(&format!(
            "Pcae((latent: 16, network: Paper(of: {network}), beta: 5e-3, gamma: Fixed))"
        ))
        .map_err(|error| problem(&error))?;
        let length = WARM + STEPS;
        let spec: TrainSpec = ron::from_str(&format!(
            "(length: Steps({length}), batch_size: {BATCH}, optimizer: Adam((rate: 1e-4)), seed: 0)"
        ))
        .map_err(|error| problem(&error))?;
        let count = 2 * BATCH;
        let shape = ImageShape { channels: self.channels, height: self.side, width: self.side };
        let pixels = noise(count * shape.pixels()).map(|value| u8::from(value < 0.1) * 255);
        let images = Images::new(shape, pixels.collect(), Annotations::default());
        let samples = SampleSet::Images(images.map_err(|error| problem(&error))?);
        let apart = noise(count * count).map(|value| value as f32).collect();
        let distances = Distances::from_parts(count, apart, 1.0, Rescale::None);
        let distances = distances.map_err(|error| problem(&error))?;
        let data =
            TrainingData { samples: &samples, distances: Some(&distances), validation: None };
        let (mut start, started_mb) = (None, machine::memory_mb("VmRSS:"));
        fit(&model, &spec, data, self.device, None, &mut |progress| {
            if progress.step == WARM {
                start = Some(Instant::now());
            }
            Flow::Continue
        })
        .map_err(|error| problem(&error))?;
        let seconds = start.map_or(0.0, |start| start.elapsed().as_secs_f64());
        let peak_mb = machine::memory_mb("VmHWM:");
        Ok(Measured { seconds, started_mb, peak_mb, program: String::new(), difference: None })
    }

    fn peer(&self) -> Option<Peer> {
        let arguments = vec![self.network.to_owned(), WARM.to_string(), STEPS.to_string()];
        Some(Peer { script: "training.py", arguments })
    }

    fn amount(&self) -> Option<(f64, &'static str)> {
        Some(((STEPS * BATCH) as f64, "samples"))
    }

    fn giga_operations(&self) -> Option<f64> {
        Some(self.giga_operations * STEPS as f64)
    }
}

/// Returns numbers between 0 and 1 that look random.
fn noise(count: usize) -> impl Iterator<Item = f64> {
    (1..=count).map(|index| (index as f64 * 0.618_033_988_749_894_9).fract())
}
