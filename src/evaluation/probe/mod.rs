//! Classes learned from samples whose classes are known.
//!
//! Two uses: how much of the classes is left in the codes of a trained model ([`ProbeSpec`]), and a
//! network of images whose inner features measure how alike images are ([`ImageClassifier`]). Both
//! are taught by one plain loop over batches; it knows neither pipelines nor caches.

mod image_classifier;
mod labels;
mod nearest;
mod network;
#[cfg(test)]
mod reference;
mod spec;
mod train_classifier;

use thiserror::Error;

pub use self::image_classifier::{
    ClassifierFiles, ImageClassifier, ImageClassifierSpec, Quality, train,
};
pub use self::labels::{ClassSpec, Labels};
pub use self::network::Network;
pub use self::spec::{ErrorRates, LinearSpec, MlpSpec, NearestSpec, ProbeData, ProbeSpec};
pub(crate) use self::spec::{default_batch_size, default_rate};
pub use self::train_classifier::{ClassifierTraining, Scores, predictions, train_classifier};
use crate::data::{DataError, SampleForm};
use crate::device::DeviceError;
use crate::geometry::GeometryError;
use crate::models::ModelError;

/// Says why classes could not be learned or told.
#[derive(Debug, Error)]
pub enum ClassificationError {
    /// There is nothing to learn from or to be tried on.
    #[error("there are no {what} samples")]
    NoSamples {
        /// Which samples.
        what: &'static str,
    },
    /// The samples have no classes.
    #[error(
        "the {what} samples have no classes: use a set that has them (`Classify` can also make \
         classes from a factor with `classes: Bins(factor: \"..\", count: 5)`)"
    )]
    NoClasses {
        /// Which samples.
        what: &'static str,
    },
    /// Training and test samples have different classes.
    #[error(
        "the training classes are {train}, but the test classes are {test}: take both from the \
         same data set with the same `select`"
    )]
    OtherClasses {
        /// Names of the classes learned.
        train: String,
        /// Names of the classes tried.
        test: String,
    },
    /// There is no such factor.
    #[error("the {what} samples have no factor `{factor}`, only {known}")]
    NoFactor {
        /// Which samples.
        what: &'static str,
        /// The factor asked for.
        factor: String,
        /// The factors that exist.
        known: String,
    },
    /// Every training sample has the same value.
    #[error("the factor `{factor}` is the same in all training samples: it cannot define classes")]
    ConstantFactor {
        /// The factor.
        factor: String,
    },
    /// Learning diverged.
    #[error("the loss became {loss} in epoch {epoch}: lower the `rate`")]
    NotFinite {
        /// The loss.
        loss: f32,
        /// Epoch, counting from 1.
        epoch: usize,
    },
    /// Samples of another form than the classifier's.
    #[error("the classifier was trained on {expected}, found {found}")]
    OtherForm {
        /// What the training samples look like.
        expected: SampleForm,
        /// What the samples given look like.
        found: SampleForm,
    },
    /// The network cannot be built or loaded.
    #[error("cannot build the network")]
    Model(#[from] ModelError),
    /// Neighbors cannot be found.
    #[error("cannot find neighbors")]
    Geometry(#[from] GeometryError),
    /// Codes cannot be made into samples.
    #[error("cannot use these codes")]
    Data(#[from] DataError),
    /// The device cannot be used.
    #[error("cannot use the device")]
    Device(#[from] DeviceError),
    /// The description of a stored classifier is not readable.
    #[error("the description of the classifier is not readable")]
    Description(#[from] serde_json::Error),
}

/// Returns the share of labels that differ from those predicted, in percent.
pub fn error_percent(predicted: &[u16], labels: &[u16]) -> f64 {
    let wrong = predicted.iter().zip(labels).filter(|(guess, truth)| guess != truth).count();
    100.0 * wrong as f64 / labels.len().max(1) as f64
}
