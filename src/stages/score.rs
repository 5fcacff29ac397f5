//! `Score`: how well a trained model does on samples.
//!
//! ```ron
//! "quality-{seed}": Score(model: "train-{seed}", data: "test-images", metric: Reconstruction)
//! ```

use serde::{Deserialize, Serialize};

use super::artifacts::AnySamples;
use crate::data::SampleSet;
use crate::device::DeviceName;
use crate::engine::context::{RunContext, StageError};
use crate::engine::stage::{Input, Kind, Needs, Stage, StageRef};
use crate::report::{RecordValue, Values};
use crate::training::{TrainError, TrainedModel};

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MetricSpec {
    /// Loss of the reconstruction, summed over values, mean over samples: binary cross-entropy of
    /// images, squared error of vectors.
    Reconstruction,
    /// Squared error of the reconstruction, summed over values, mean over samples.
    SquaredError,
}

impl MetricSpec {
    /// Returns the names of the values that this gives.
    const fn values(self) -> &'static [&'static str] {
        match self {
            Self::Reconstruction => &["reconstruction"],
            Self::SquaredError => &["squared_error"],
        }
    }

    /// Measures a model, one number under each name.
    fn measure(
        self,
        model: &TrainedModel,
        samples: &SampleSet,
        device: DeviceName,
    ) -> Result<Vec<f64>, TrainError> {
        match self {
            Self::Reconstruction => Ok(vec![model.reconstruction(samples, device)?]),
            Self::SquaredError => {
                let kind = crate::models::Reconstruction::SquaredError;
                Ok(vec![model.reconstruction_as(kind, samples, device)?])
            }
        }
    }
}

/// Settings of a scoring stage.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Score {
    /// The trained model.
    pub model: StageRef<TrainedModel>,
    /// The images or vectors it is tried on.
    pub data: StageRef<AnySamples>,
    /// What is measured.
    pub metric: MetricSpec,
}

impl Stage for Score {
    fn kind(&self) -> Kind {
        Kind { name: "Score", version: 1 }
    }

    fn inputs(&self) -> Vec<Input> {
        vec![self.model.input("model"), self.data.input("data")]
    }

    fn output(&self, _inputs: &[Vec<String>]) -> String {
        "record".to_owned()
    }

    fn needs(&self) -> Needs {
        Needs::Device
    }

    fn values(&self) -> Option<Vec<String>> {
        Some(self.metric.values().iter().map(|&name| name.to_owned()).collect())
    }

    fn run(&self, context: &mut RunContext) -> Result<(), StageError> {
        let model = context.load(&self.model)?;
        let samples = context.load(&self.data)?.0;
        let numbers = self.metric.measure(&model, &samples, context.device().parse()?)?;
        let mut record = Values::new();
        for (name, number) in self.metric.values().iter().zip(numbers) {
            context.log(&format!("{name} {number:.6} over {} samples", samples.len()));
            record.insert((*name).to_owned(), RecordValue::Number(number));
        }
        context.store(&record)
    }
}
