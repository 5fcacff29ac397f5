//! `Encode`: the codes that a trained model gives to samples.
//!
//! ```ron
//! "codes-{seed}": Encode(model: "train-{seed}", data: "test-images")
//! ```

use serde::{Deserialize, Serialize};

use super::artifacts::AnySamples;
use super::outlooks;
use crate::engine::context::{RunContext, StageError};
use crate::engine::cost::{Outlook, Work};
use crate::engine::stage::{Input, Kind, Needs, Stage, StageRef};
use crate::training::TrainedModel;

/// Settings of an encoding stage.
#[derive(Clone, Debug, Serialize, Deserialize)]
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

    fn output(&self, _inputs: &[Vec<&str>]) -> String {
        "points".to_owned()
    }

    fn needs(&self) -> Needs {
        Needs::Device
    }

    fn outlook(&self, inputs: &[Vec<Outlook>]) -> Outlook {
        let shape = outlooks::of_input(inputs, 0).map(|model| model.shape.clone());
        let rows = outlooks::of_input(inputs, 1).and_then(|samples| samples.rows);
        Outlook { rows, shape: shape.unwrap_or_default(), ..Outlook::default() }
    }

    fn work(&self, inputs: &[Vec<Outlook>]) -> Option<Work> {
        outlooks::application(outlooks::of_input(inputs, 0), outlooks::of_input(inputs, 1))
    }

    fn run(&self, context: &mut RunContext) -> Result<(), StageError> {
        let model = context.load(&self.model)?;
        let samples = context.load(&self.data)?.0;
        let codes = model.encode(&samples, context.device().parse()?)?;
        context.log(&format!(
            "{} {} became codes of {} coordinates",
            samples.len(),
            samples.form(),
            codes.width()
        ));
        context.store(&codes)
    }
}
