//! `TrainClassifier`: a small network of labeled images, whose features serve as a distance.
//!
//! ```ron
//! "classifier": TrainClassifier(
//!     data: "train-images", test: "test-images",
//!     network: Conv(channels: [32, 64]), features: 128,
//!     epochs: 10, seed: 0,
//! )
//! ```
//!
//! What it leaves is of kind `classifier`: `classifier.json` and `weights.safetensors`. The error on
//! `test`, by which one can judge its features, is in the log and in `classifier.json`. A stopped
//! stage begins anew.

use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};

use super::artifacts::{AnyImages, TrainImages};
use super::classify::observer;
use super::outlooks;
use crate::classification::{self, ClassSpec, ImageClassifierSpec, Teaching};
use crate::data::SampleSet;
use crate::engine::context::{RunContext, StageError};
use crate::engine::cost::{Outlook, Work};
use crate::engine::stage::{Input, Kind, Needs, Stage, StageRef};
use crate::models::NetworkSpec;
use crate::numerics::Seed;
use crate::numerics::units::{NonNegativeF64, PositiveF64};
use crate::training::AdamSpec;

/// Settings of a stage that trains a classifier.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainClassifier {
    /// The labeled images it learns from.
    pub data: StageRef<TrainImages>,
    /// Labeled images that it has not seen, to judge it by.
    #[serde(default)]
    pub test: Option<StageRef<AnyImages>>,
    /// Which classes; images that have none may have those of a factor.
    #[serde(default, skip_serializing_if = "ClassSpec::is_given")]
    pub classes: ClassSpec,
    /// What comes before the features.
    pub network: NetworkSpec,
    /// Number of features: units of the layer before the classes' scores.
    #[serde(default = "usual_features")]
    pub features: NonZeroUsize,
    /// Passes over the images.
    #[serde(default = "usual_epochs")]
    pub epochs: NonZeroUsize,
    /// Learning rate of Adam.
    #[serde(default = "usual_rate")]
    pub rate: PositiveF64,
    /// Weight decay of Adam, added to the gradient.
    #[serde(default = "usual_weight_decay")]
    pub weight_decay: NonNegativeF64,
    /// Images in each step.
    #[serde(default = "usual_batch_size")]
    pub batch_size: NonZeroUsize,
    /// Source of the initial weights and of the order of the images.
    pub seed: Seed,
}

const FEATURES: NonZeroUsize = NonZeroUsize::new(128).unwrap();
const EPOCHS: NonZeroUsize = NonZeroUsize::new(10).unwrap();
const BATCH_SIZE: NonZeroUsize = NonZeroUsize::new(256).unwrap();

const fn usual_features() -> NonZeroUsize {
    FEATURES
}

const fn usual_epochs() -> NonZeroUsize {
    EPOCHS
}

const fn usual_batch_size() -> NonZeroUsize {
    BATCH_SIZE
}

fn usual_rate() -> PositiveF64 {
    PositiveF64::new(1e-3).unwrap_or_else(|_| unreachable!("1e-3 lies above 0"))
}

fn usual_weight_decay() -> NonNegativeF64 {
    NonNegativeF64::new(0.0).unwrap_or_else(|_| unreachable!("0 is not below 0"))
}

impl TrainClassifier {
    /// Returns the operations that one image takes.
    fn effort(&self, inputs: &[Vec<Outlook>]) -> Option<f64> {
        let form = outlooks::form(outlooks::of_input(inputs, 0)?)?;
        Some(self.network.effort(form, self.features.get()).ok()?.encode)
    }
}

impl Stage for TrainClassifier {
    fn kind(&self) -> Kind {
        Kind { name: "TrainClassifier", version: 1 }
    }

    fn inputs(&self) -> Vec<Input> {
        let test = self.test.iter().map(|images| images.input("test"));
        [self.data.input("data")].into_iter().chain(test).collect()
    }

    fn output(&self, _inputs: &[Vec<&str>]) -> String {
        "classifier".to_owned()
    }

    fn needs(&self) -> Needs {
        Needs::Device
    }

    fn outlook(&self, inputs: &[Vec<Outlook>]) -> Outlook {
        let application = self.effort(inputs).map_or(Work::default(), Work);
        Outlook { rows: None, shape: vec![self.features.get()], application }
    }

    fn work(&self, inputs: &[Vec<Outlook>]) -> Option<Work> {
        const FORWARD_AND_BACK: f64 = 3.0;
        let images = outlooks::of_input(inputs, 0)?.rows? * self.epochs.get();
        Some(Work(FORWARD_AND_BACK * self.effort(inputs)? * images as f64))
    }

    fn run(&self, context: &mut RunContext) -> Result<(), StageError> {
        let images = SampleSet::Images(context.load(&self.data)?.0);
        let unseen = self.test.as_ref().map(|images| context.load(images)).transpose()?;
        let unseen = unseen.map(|images| SampleSet::Images(images.0));
        let spec = ImageClassifierSpec { network: self.network.clone(), features: self.features };
        let teaching = Teaching {
            epochs: self.epochs.get(),
            batch_size: self.batch_size.get(),
            optimizer: AdamSpec::usual(self.rate, self.weight_decay),
            seed: self.seed,
        };
        let device = context.device().parse()?;
        context.log(&format!("{} {} on {device}", images.len(), images.form()));
        let mut observe = observer(context, self.epochs.get());
        let trained = classification::train(
            &spec,
            &images,
            unseen.as_ref(),
            &self.classes,
            &teaching,
            device,
            &mut observe,
        )?;
        drop(observe);
        let Some(classifier) = trained else {
            return Err(StageError::Stopped);
        };
        let quality = classifier.quality();
        context.log(&format!(
            "{:.2} % of {} classes' training images told wrong",
            quality.train_error_percent,
            classifier.classes().len()
        ));
        match quality.test_error_percent {
            Some(error) => context.log(&format!("{error:.2} % of unseen images told wrong")),
            None => context.log("no unseen images to judge it by: give `test`"),
        }
        context.store(&classifier)
    }
}
