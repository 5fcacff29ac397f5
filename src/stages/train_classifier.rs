//! The stage kind [`TrainClassifier`].

use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::artifacts::{AnyImages, TrainImages};
use super::classify::observer;
use super::cost;
use crate::data::SampleSet;
use crate::engine::stage::context::{RunContext, StageError};
use crate::engine::stage::estimate::{ArtifactEstimate, Work};
use crate::engine::stage::{Input, Inputs, Kind, Needs, Stage, StageRef};
use crate::evaluation::probe::{
    self, ClassSpec, ClassifierTraining, ImageClassifierSpec, default_batch_size, default_rate,
};
use crate::models::NetworkSpec;
use crate::numerics::Seed;
use crate::numerics::units::{NonNegativeF64, PositiveF64};
use crate::training::AdamSpec;

/// A small classifier of labeled images, whose features serve to measure distances.
///
/// ```ron
/// "classifier": TrainClassifier(
///     data: "train-images", test: "test-images",
///     network: Conv(channels: [32, 64]), features: 128,
///     epochs: 10, seed: 0,
/// )
/// ```
///
/// The result is of kind `classifier`: `classifier.json` and `weights.safetensors`. The error on
/// `test`, by which its features can be judged, is in the log and in `classifier.json`. A stopped
/// stage starts over.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrainClassifier {
    /// The labeled images it learns from.
    pub data: StageRef<TrainImages>,
    /// Labeled images that it has not seen, to test it on.
    #[serde(default)]
    pub test: Option<StageRef<AnyImages>>,
    /// The classes to predict; images without classes may use those of a factor.
    #[serde(default, skip_serializing_if = "ClassSpec::is_given")]
    #[schemars(!skip_serializing_if)]
    pub classes: ClassSpec,
    /// The layers before the features.
    pub network: NetworkSpec,
    /// Number of features: units of the layer before the class scores.
    #[serde(default = "default_features")]
    pub features: NonZeroUsize,
    /// Passes over the images.
    #[serde(default = "default_epochs")]
    pub epochs: NonZeroUsize,
    /// Learning rate of Adam.
    #[serde(default = "default_rate")]
    pub rate: PositiveF64,
    /// Weight decay of Adam, added to the gradient.
    #[serde(default = "default_weight_decay")]
    pub weight_decay: NonNegativeF64,
    /// Images in each step.
    #[serde(default = "default_batch_size")]
    pub batch_size: NonZeroUsize,
    /// Random seed for the initial weights and the order of the images.
    pub seed: Seed,
}

const FEATURES: NonZeroUsize = NonZeroUsize::new(128).unwrap();
const EPOCHS: NonZeroUsize = NonZeroUsize::new(10).unwrap();

const fn default_features() -> NonZeroUsize {
    FEATURES
}

const fn default_epochs() -> NonZeroUsize {
    EPOCHS
}

fn default_weight_decay() -> NonNegativeF64 {
    NonNegativeF64::new(0.0).unwrap_or_else(|_| unreachable!("0 is not below 0"))
}

impl TrainClassifier {
    /// Returns the operations that one image takes.
    fn flops(&self, inputs: &Inputs<'_, ArtifactEstimate>) -> Option<f64> {
        let form = cost::form(inputs.one("data")?)?;
        Some(self.network.flops(form, self.features.get()).ok()?.encode)
    }
}

impl Stage for TrainClassifier {
    fn kind(&self) -> Kind {
        Kind { name: "TrainClassifier", version: 2 }
    }

    fn inputs(&self) -> Vec<Input> {
        let test = self.test.iter().map(|images| images.input("test"));
        [self.data.input("data")].into_iter().chain(test).collect()
    }

    fn output(&self, _inputs: &Inputs<'_, str>) -> String {
        "classifier".to_owned()
    }

    fn needs(&self) -> Needs {
        Needs::Device
    }

    fn estimate(&self, inputs: &Inputs<'_, ArtifactEstimate>) -> ArtifactEstimate {
        let application = self.flops(inputs).map_or(Work::default(), Work);
        ArtifactEstimate { rows: None, shape: vec![self.features.get()], application }
    }

    fn work(&self, inputs: &Inputs<'_, ArtifactEstimate>) -> Option<Work> {
        const FORWARD_AND_BACK: f64 = 3.0;
        let images = inputs.one("data")?.rows? * self.epochs.get();
        Some(Work(FORWARD_AND_BACK * self.flops(inputs)? * images as f64))
    }

    fn run(&self, context: &mut RunContext) -> Result<(), StageError> {
        let images = SampleSet::Images(context.load(&self.data)?.0);
        let test = self.test.as_ref().map(|images| context.load(images)).transpose()?;
        let test = test.map(|images| SampleSet::Images(images.0));
        let spec = ImageClassifierSpec { network: self.network.clone(), features: self.features };
        let settings = ClassifierTraining {
            epochs: self.epochs.get(),
            batch_size: self.batch_size.get(),
            optimizer: AdamSpec::with_rate(self.rate, self.weight_decay),
            seed: self.seed,
        };
        let device = context.device().parse()?;
        context.log(&format!("{} {} on {device}", images.len(), images.form()));
        let mut observe = observer(context, self.epochs.get());
        let trained = probe::train(
            &spec,
            &images,
            test.as_ref(),
            &self.classes,
            &settings,
            device,
            &mut observe,
        )?;
        drop(observe);
        let Some(classifier) = trained else {
            return Err(StageError::Stopped);
        };
        let quality = classifier.quality();
        context.log(&format!(
            "classification error {:.2} % on training images, {} classes",
            quality.train_error_percent,
            classifier.classes().len()
        ));
        match quality.test_error_percent {
            Some(error) => {
                context.log(&format!("classification error {error:.2} % on test images"));
            }
            None => context.log("no test error, since `test` is not given"),
        }
        context.store(&classifier)
    }
}

/// A stage and the key of its settings; when the key changes, every user computes again.
#[cfg(test)]
pub(super) const PINNED: (&str, &str) =
    (r#"TrainClassifier(data: "images", network: Conv(channels: [32, 64]), seed: 0)"#, "4297ed21");
