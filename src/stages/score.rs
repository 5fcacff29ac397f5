//! `Score`: how well a trained model does on images.
//!
//! ```ron
//! "quality-{seed}": Score(model: "train-{seed}", data: "test-images", metric: Reconstruction)
//! ```

use serde::{Deserialize, Serialize};

use super::artifacts::AnyImages;
use crate::engine::context::{RunContext, StageError};
use crate::engine::stage::{Input, Kind, Needs, Stage, StageRef};
use crate::report::{RecordValue, Values};
use crate::training::TrainedModel;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MetricSpec {
    /// Binary cross-entropy of the reconstruction, summed over pixels, mean over images.
    Reconstruction,
}

/// Settings of a scoring stage.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Score {
    /// The trained model.
    pub model: StageRef<TrainedModel>,
    /// The images it is tried on.
    pub data: StageRef<AnyImages>,
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

    fn output(&self) -> String {
        "record".to_owned()
    }

    fn needs(&self) -> Needs {
        Needs::Device
    }

    fn run(&self, context: &mut RunContext) -> Result<(), StageError> {
        let model = context.load(&self.model)?;
        let images = context.load(&self.data)?.0;
        let device = context.device().parse()?;
        let (name, value) = match self.metric {
            MetricSpec::Reconstruction => {
                ("reconstruction", model.reconstruction(&images, device)?)
            }
        };
        context.store(&Values::from([(name.to_owned(), RecordValue::Number(value))]))
    }
}
