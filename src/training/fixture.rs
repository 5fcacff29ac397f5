//! A small training for the tests of this folder, of any model.

use std::collections::BTreeMap;

use super::{Checkpointing, Fit, Flow, History, Progress, TrainSpec, TrainingData, fit};
use crate::data::prepare;
use crate::data::{BrokenPolicy, DatasetSpec, Files, Images, Prepared, Recipe, SampleSet, Split};
use crate::device::test_device;
use crate::geometry::{Distances, GeodesicSpec};
use crate::models::ModelSpec;
pub(super) use crate::models::reference::options;

/// Returns an example of every model that is trained step by step, and of every way to train it.
pub(super) fn models() -> Vec<(&'static str, ModelSpec)> {
    ModelSpec::examples().into_iter().filter(|(_, model)| !model.is_closed_form()).collect()
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

/// Twelve epochs of three steps; two samples are left over.
pub(super) struct Fixture {
    pub(super) model: ModelSpec,
    pub(super) spec: TrainSpec,
    pub(super) samples: SampleSet,
    /// Whether the training samples are those of validation, too.
    pub(super) validates: bool,
    distances: Distances,
}

impl Fixture {
    /// Trains a PCAE for eleven steps.
    pub(super) fn new() -> Self {
        let text = "Pcae(latent: 4, network: Conv(channels: [4, 6]), beta: 16, \
                    gamma: Dynamic(threshold: 0.9, every: Steps(4)))";
        let mut fixture = Self::with(options().from_str(text).unwrap());
        let spec = "(length: Steps(11), batch_size: 16, optimizer: Adam(rate: 3e-3), \
                    schedule: FlatThenCosine(flat: 0.5), seed: 7)";
        fixture.spec = options().from_str(spec).unwrap();
        fixture
    }

    /// Trains any model for twelve epochs (in each of its stages).
    pub(super) fn with(model: ModelSpec) -> Self {
        let data = "Dsprites(Render(size: 8, supersampling: 2, \
                    factors: Continuous(samples: 50, seed: 1)))";
        let data: DatasetSpec = options().from_str(data).unwrap();
        let samples = SampleSet::Images(training_images(&data));
        let graph: GeodesicSpec = options().from_str("(data: (), neighbors: 5)").unwrap();
        let distances = Distances::geodesic(&samples, &graph, &mut |_, _| ()).unwrap();
        let spec = "(length: Epochs(12), batch_size: 16, optimizer: Adam(rate: 3e-3), seed: 7)";
        let spec = options().from_str(spec).unwrap();
        Self { model, spec, samples, validates: false, distances }
    }

    pub(super) fn data(&self) -> TrainingData<'_> {
        let distances = self.model.needs_distances().then_some(&self.distances);
        let validation = self.validates.then_some(&self.samples);
        TrainingData { samples: &self.samples, distances, validation }
    }

    /// Trains to the end, or until `stop_at` steps are taken.
    pub(super) fn run(&self, checkpointing: Option<&Checkpointing>, stop_at: usize) -> Fit {
        let mut observer = |progress: &Progress<'_>| {
            if progress.step == stop_at { Flow::Stop } else { Flow::Continue }
        };
        let (data, device) = (self.data(), test_device());
        fit(&self.model, &self.spec, data, device, checkpointing, &mut observer).unwrap()
    }

    /// Trains to the end, and returns the bytes of the weights and the record.
    pub(super) fn finished(&self, checkpointing: Option<&Checkpointing>) -> (Vec<u8>, History) {
        match self.run(checkpointing, 0) {
            Fit::Finished { model, history, .. } => (model.to_files().unwrap().weights, history),
            Fit::Stopped { step } => panic!("stopped at {step}"),
        }
    }

    /// Trains to the end, and returns all bytes that would be stored.
    pub(super) fn bytes(&self, checkpointing: Option<&Checkpointing>) -> (Vec<u8>, String) {
        let (weights, history) = self.finished(checkpointing);
        (weights, history.to_csv())
    }

    /// Returns the message of a training that fails.
    pub(super) fn error(&self, data: TrainingData<'_>) -> String {
        let observer = &mut |_: &Progress<'_>| Flow::Continue;
        let result = fit(&self.model, &self.spec, data, test_device(), None, observer);
        result.unwrap_err().to_string()
    }
}
