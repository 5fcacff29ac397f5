//! A small training for the tests of this folder.

use std::collections::BTreeMap;

use super::{Checkpointing, Fit, Flow, Progress, TrainSpec, TrainingData, fit};
use crate::data::{BrokenPolicy, DatasetSpec, Files, Images, Prepared, Recipe, Split, prepare};
use crate::device::DeviceName;
use crate::geometry::{Distances, GeodesicSpec};
use crate::models::ModelSpec;

/// Returns the options with which pipelines are read.
pub(super) fn options() -> ron::Options {
    ron::Options::default()
        .with_default_extension(ron::extensions::Extensions::UNWRAP_VARIANT_NEWTYPES)
        .with_default_extension(ron::extensions::Extensions::IMPLICIT_SOME)
}

fn training_images(data: &DatasetSpec) -> Images {
    let recipe = Recipe {
        select: &BTreeMap::new(),
        split: Some(Split::Train),
        division: None,
        steps: &[],
        broken: BrokenPolicy::Fail,
        like: None,
    };
    let samples = data.open(&Files::default()).unwrap();
    let mut pixels = Vec::new();
    match prepare(samples, &recipe, &mut pixels, &mut |_, _| ()).unwrap() {
        Prepared::Images { shape, annotations, .. } => {
            Images::new(shape, pixels, annotations).unwrap()
        }
        Prepared::Vectors { .. } => panic!("these are images"),
    }
}

/// Eleven steps in epochs of four whose last batch is smaller, with two updates of gamma.
pub(super) struct Lab {
    pub(super) model: ModelSpec,
    pub(super) spec: TrainSpec,
    pub(super) images: Images,
    distances: Distances,
}

impl Lab {
    pub(super) fn new() -> Self {
        let data = "Dsprites(Render(size: 8, supersampling: 2, \
                    factors: Continuous(samples: 50, seed: 1)))";
        let data: DatasetSpec = options().from_str(data).unwrap();
        let images = training_images(&data);
        let graph: GeodesicSpec = options().from_str("(neighbors: 5)").unwrap();
        let distances = Distances::geodesic(&images.to_points(), &graph, &mut |_, _| ()).unwrap();
        let model = "Pcae(latent: 4, network: Conv(channels: [4, 6]), beta: 16, \
                     gamma: Dynamic(threshold: 0.9, every: Steps(4)))";
        let model = options().from_str(model).unwrap();
        let spec = "(length: Steps(11), batch_size: 16, optimizer: Adam(rate: 3e-3), \
                    schedule: FlatThenCosine(flat: 0.5), seed: 7)";
        let spec = options().from_str(spec).unwrap();
        Self { model, spec, images, distances }
    }

    pub(super) fn data(&self) -> TrainingData<'_> {
        TrainingData { images: &self.images, distances: Some(&self.distances) }
    }

    /// Trains to the end, or until `stop_at` steps are taken.
    pub(super) fn run(&self, checkpointing: Option<&Checkpointing>, stop_at: usize) -> Fit {
        let mut observer = |progress: &Progress<'_>| {
            if progress.step == stop_at { Flow::Stop } else { Flow::Continue }
        };
        let (data, cpu) = (self.data(), DeviceName::Cpu);
        fit(&self.model, &self.spec, data, cpu, checkpointing, &mut observer).unwrap()
    }

    /// Returns the message of a training that fails.
    pub(super) fn error(&self, data: TrainingData<'_>) -> String {
        let observer = &mut |_: &Progress<'_>| Flow::Continue;
        let result = fit(&self.model, &self.spec, data, DeviceName::Cpu, None, observer);
        result.unwrap_err().to_string()
    }
}
