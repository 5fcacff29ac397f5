//! The stage kind [`Encode`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::artifacts::AnySamples;
use super::cost;
use crate::engine::stage::context::{RunContext, StageError};
use crate::engine::stage::estimate::{ArtifactEstimate, Work};
use crate::engine::stage::{Input, Inputs, Kind, Needs, Stage, StageRef};
use crate::training::TrainedModel;

/// The codes that a trained model assigns to samples.
///
/// ```ron
/// "codes-{seed}": Encode(model: "train-{seed}", data: "test-images")
/// ```
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Encode {
    /// The trained model.
    pub model: StageRef<TrainedModel>,
    /// The images or vectors to encode.
    pub data: StageRef<AnySamples>,
}

impl Stage for Encode {
    fn kind(&self) -> Kind {
        Kind { name: "Encode", version: 1 }
    }

    fn inputs(&self) -> Vec<Input> {
        vec![self.model.input("model"), self.data.input("data")]
    }

    fn output(&self, _inputs: &Inputs<'_, str>) -> String {
        "points".to_owned()
    }

    fn needs(&self) -> Needs {
        Needs::Device
    }

    fn estimate(&self, inputs: &Inputs<'_, ArtifactEstimate>) -> ArtifactEstimate {
        let shape = inputs.one("model").map(|model| model.shape.clone());
        let rows = inputs.one("data").and_then(|samples| samples.rows);
        ArtifactEstimate { rows, shape: shape.unwrap_or_default(), ..ArtifactEstimate::default() }
    }

    fn work(&self, inputs: &Inputs<'_, ArtifactEstimate>) -> Option<Work> {
        cost::application(inputs.one("model"), inputs.one("data"))
    }

    fn run(&self, context: &mut RunContext) -> Result<(), StageError> {
        let model = context.load(&self.model)?;
        let samples = context.load(&self.data)?.0;
        let codes = model.encode(&samples, context.device().parse()?)?;
        context.log(&format!(
            "encoded {} {}; codes have {} coordinates",
            samples.len(),
            samples.form(),
            codes.width()
        ));
        context.store(&codes)
    }
}

/// A stage and the key of its settings; when the key changes, every user computes again.
#[cfg(test)]
pub(super) const PINNED: (&str, &str) = (r#"Encode(model: "train", data: "images")"#, "c560f60f");
