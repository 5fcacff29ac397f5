//! The stage kind [`Classify`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::artifacts::{AnySamples, TrainSamples};
use crate::engine::stage::context::{RunContext, StageError};
use crate::engine::stage::lifecycle::Progress;
use crate::engine::stage::{Input, Inputs, Kind, Needs, Stage, StageRef};
use crate::evaluation::probe::{ClassSpec, ProbeData, ProbeSpec};
use crate::numerics::Seed;
use crate::report::{RecordValue, Values};
use crate::training::{Flow, TrainedModel};

/// How well classes can be predicted from the codes of a trained model.
///
/// ```ron
/// "classes-{model}-{seed}": Classify(
///     model: "train-{model}-{seed}", train: "train-images", test: "test-images",
///     by: Mlp(widths: [128, 128], epochs: 100, rate: 1e-3, weight_decay: 1e-5, batch_size: 256),
///     seed: Axis(seed),
/// ),
/// "classes-linear-{model}": Classify(
///     model: "train-{model}", train: "train-images", test: "test-images",
///     by: Linear(), seed: 0,                    // or Nearest(neighbors: 5)
///     // For data sets without classes: a factor, cut into bins of equal width.
///     classes: Bins(factor: "orientation", count: 5),
///     standardize: true,
/// )
/// ```
///
/// The model is frozen; what is learned is a classifier of its codes. The settings of `Mlp` default
/// to the paper's. Codes are used as they are, since the paper mentions no scaling; `standardize`
/// brings each coordinate to mean 0 and variance 1 over the training samples, which discards what
/// the spread of a coordinate says about its importance.
///
/// The record has `error_percent` (on `test`), `train_error_percent` (with `Nearest`, of each
/// training sample by the others), `classes` and `samples` (of `test`). A stopped stage starts
/// over.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Classify {
    /// The trained model.
    pub model: StageRef<TrainedModel>,
    /// The samples that the classifier learns from.
    pub train: StageRef<TrainSamples>,
    /// The samples that the classifier is tested on.
    pub test: StageRef<AnySamples>,
    /// The classifier of the codes.
    pub by: ProbeSpec,
    /// The classes to predict.
    #[serde(default)]
    pub classes: ClassSpec,
    /// Whether each coordinate is brought to mean 0 and variance 1.
    #[serde(default)]
    pub standardize: bool,
    /// Random seed for the initial weights and the order of the samples.
    pub seed: Seed,
}

const VALUES: [&str; 4] = ["error_percent", "train_error_percent", "classes", "samples"];

impl Stage for Classify {
    fn kind(&self) -> Kind {
        Kind { name: "Classify", version: 2 }
    }

    fn inputs(&self) -> Vec<Input> {
        vec![self.model.input("model"), self.train.input("train"), self.test.input("test")]
    }

    fn output(&self, _inputs: &Inputs<'_, str>) -> String {
        "record".to_owned()
    }

    fn needs(&self) -> Needs {
        Needs::Device
    }

    fn values(&self) -> Option<Vec<String>> {
        Some(VALUES.map(str::to_owned).into())
    }

    fn run(&self, context: &mut RunContext) -> Result<(), StageError> {
        let model = context.load(&self.model)?;
        let [train, test] = [context.load(&self.train)?.0, context.load(&self.test)?.0];
        let device = context.device().parse()?;
        let [train_labels, test_labels] =
            self.classes.labels(train.annotations(), test.annotations())?;
        let mut data = ProbeData {
            train: model.encode(&train, device)?,
            train_labels,
            test: model.encode(&test, device)?,
            test_labels,
        };
        if self.standardize {
            data.standardize();
        }
        let (classes, samples) = (data.train_labels.names.len(), data.test.rows());
        context.log(&format!(
            "{} codes with {} coordinates, {classes} classes",
            data.train.rows(),
            data.train.width()
        ));
        let mut observe = observer(context, self.by.epochs());
        let Some(rates) = self.by.evaluate(&data, self.seed, device, &mut observe)? else {
            return Err(StageError::Stopped);
        };
        drop(observe);
        context.log(&format!(
            "classification error {:.2} % on {samples} test samples, {:.2} % on training samples",
            rates.test, rates.train
        ));
        let numbers = [rates.test, rates.train, classes as f64, samples as f64];
        let values = VALUES.map(str::to_owned).into_iter();
        let record: Values = values.zip(numbers.map(RecordValue::Number)).collect();
        context.store(&record)
    }
}

/// Returns a callback that logs the loss of each epoch and stops when the stage should.
pub(super) fn observer(
    context: &mut RunContext,
    epochs: usize,
) -> impl FnMut(usize, f64) -> Flow + '_ {
    move |epoch, loss| {
        context.log(&format!("epoch {epoch}/{epochs}: loss {loss:.4}"));
        context.progress(Progress {
            done: epoch as u64,
            total: epochs as u64,
            unit: "epoch".to_owned(),
            note: format!("loss {loss:.4}"),
            ..Progress::default()
        });
        if context.should_stop() { Flow::Stop } else { Flow::Continue }
    }
}

/// A stage and the key of its settings; when the key changes, every user computes again.
#[cfg(test)]
pub(super) const PINNED: (&str, &str) = (
    r#"Classify(model: "train", train: "images", test: "images", by: Mlp(), seed: 0)"#,
    "beec96f3",
);
