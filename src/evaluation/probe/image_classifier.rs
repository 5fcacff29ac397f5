//! A network that tells the classes of images, and whose inner features say how alike images are.
//!
//! What: convolutions and one layer of features with ReLU, taught on labeled images. Distances
//! between the features of two sets of images follow what makes up a class rather than single
//! pixels, as those of an Inception network do for photographs, without a network from elsewhere.
//! Reference: for features of a classifier of digits in place of Inception's see Binkowski et al.
//! 2018, section 5.
//! Assumptions: such distances can be compared only between sets measured by the same classifier,
//! never with published ones. How far to trust them is told by the error on unseen images.
//! Stored as two plain files: `classifier.json` and `weights.safetensors`.

use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};

use super::{
    ClassSpec, ClassificationError, ClassifierTraining, Network, error_percent, predictions,
    train_classifier,
};
use crate::data::{SampleForm, SampleSet};
use crate::device::{DeviceName, open, open_for_training};
use crate::models::pytorch::{Origin, PytorchFiles, classifier_files};
use crate::models::{BuildContext, ModelError, NetworkSpec, Weights, map_rows};
use crate::numerics::{Points, Seed};
use crate::training::Flow;

/// Settings of the network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageClassifierSpec {
    /// What comes before the features.
    pub network: NetworkSpec,
    /// Number of features.
    pub features: NonZeroUsize,
}

/// How well a classifier does, in percent of images told wrong.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quality {
    /// Of the images it learned from.
    pub train_error_percent: f64,
    /// Of images it has never seen, if there are any.
    pub test_error_percent: Option<f64>,
}

/// A trained classifier of images.
#[derive(Clone, Debug, PartialEq)]
pub struct ImageClassifier {
    description: Description,
    weights: Weights,
}

/// The content of the files that hold a classifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassifierFiles {
    /// `classifier.json`: the settings, the classes, what images look like, how well it does.
    pub description: Vec<u8>,
    /// `weights.safetensors`: the weights.
    pub weights: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    classifier: ImageClassifierSpec,
    samples: SampleForm,
    classes: Vec<String>,
    quality: Quality,
}

/// Trains a classifier, and tries it on images that it has not seen; `None` if the observer, who is
/// told each epoch and its loss, asked to stop.
pub fn train(
    spec: &ImageClassifierSpec,
    images: &SampleSet,
    unseen: Option<&SampleSet>,
    classes: &ClassSpec,
    settings: &ClassifierTraining,
    device: DeviceName,
    observer: &mut dyn FnMut(usize, f64) -> Flow,
) -> Result<Option<ImageClassifier>, ClassificationError> {
    let judged = unseen.unwrap_or(images);
    let [labels, expected] = classes.labels(images.annotations(), judged.annotations())?;
    let classes = labels.names.clone();
    let samples = images.form();
    let training = open_for_training(device)?;
    let context =
        BuildContext { form: samples, seed: settings.seed, distance_unit: 1.0, device: &training };
    let network = build(spec, classes.len(), &context)?;
    let Some(network) = train_classifier(network, images, &labels, settings, &training, observer)?
    else {
        return Ok(None);
    };
    let quality = Quality { train_error_percent: 0.0, test_error_percent: None };
    let mut classifier = ImageClassifier {
        description: Description { classifier: spec.clone(), samples, classes, quality },
        weights: Weights::of(&network),
    };
    classifier.description.quality = Quality {
        train_error_percent: error_percent(&classifier.classify(images, device)?, &labels.values),
        test_error_percent: unseen
            .map(|samples| classifier.classify(samples, device))
            .transpose()?
            .map(|found| error_percent(&found, &expected.values)),
    };
    Ok(Some(classifier))
}

fn build(
    spec: &ImageClassifierSpec,
    classes: usize,
    context: &BuildContext<'_>,
) -> Result<Network, ModelError> {
    Network::new(Some((&spec.network, spec.features.get())), classes, context)
}

impl ImageClassifier {
    /// Returns the names of the classes.
    pub fn classes(&self) -> &[String] {
        &self.description.classes
    }

    /// Returns the settings.
    pub const fn spec(&self) -> &ImageClassifierSpec {
        &self.description.classifier
    }

    /// Returns how well the classifier does.
    pub const fn quality(&self) -> Quality {
        self.description.quality
    }

    /// Returns the features of samples, in their order: what the scores of the classes are linear in.
    pub fn features(
        &self,
        samples: &SampleSet,
        device: DeviceName,
    ) -> Result<Points, ClassificationError> {
        let network = self.network(samples.form(), device)?;
        let rows: Vec<usize> = (0..samples.len()).collect();
        Ok(map_rows(samples, &rows, &open(device)?, &|inputs| network.features(inputs)))
    }

    /// Returns the classes of samples by number, in their order.
    pub fn classify(
        &self,
        samples: &SampleSet,
        device: DeviceName,
    ) -> Result<Vec<u16>, ClassificationError> {
        let network = self.network(samples.form(), device)?;
        Ok(predictions(&network, samples, &open(device)?))
    }

    /// Returns the content of the files that hold this classifier.
    pub fn to_files(&self) -> Result<ClassifierFiles, ClassificationError> {
        let mut description = serde_json::to_vec_pretty(&self.description)?;
        description.push(b'\n');
        let weights = self.weights.to_bytes().map_err(ModelError::from)?;
        Ok(ClassifierFiles { description, weights })
    }

    /// Returns the files from which plain PyTorch rebuilds this classifier.
    pub fn to_pytorch(&self, origin: &Origin) -> Result<PytorchFiles, ClassificationError> {
        let Description { samples, classes, .. } = &self.description;
        let (body, to_classes) = self.network(*samples, DeviceName::default())?.pytorch(*samples);
        let classes = serde_json::to_string(classes)?;
        Ok(classifier_files(&body, &to_classes, &classes, *samples, origin)?)
    }

    /// Reads a classifier from the content of its files, and checks that the weights fit.
    pub fn from_files(files: &ClassifierFiles) -> Result<Self, ClassificationError> {
        let description = serde_json::from_slice(&files.description)?;
        let weights = Weights::from_bytes(&files.weights).map_err(ModelError::from)?;
        let classifier = Self { description, weights };
        classifier.network(classifier.description.samples, DeviceName::default())?;
        Ok(classifier)
    }

    fn network(
        &self,
        found: SampleForm,
        device: DeviceName,
    ) -> Result<Network, ClassificationError> {
        let Description { classifier, samples, classes, .. } = &self.description;
        if found != *samples {
            return Err(ClassificationError::OtherForm { expected: *samples, found });
        }
        // The initial weights are all replaced, so their seed is moot.
        let device = open(device)?;
        let context =
            BuildContext { form: *samples, seed: Seed(0), distance_unit: 1.0, device: &device };
        let network = build(classifier, classes.len(), &context)?;
        Ok(self.weights.load_into(network).map_err(ModelError::from)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Annotations, Classes, ImageShape, Images};
    use crate::device::test_device;
    use crate::evaluation::probe::reference::training_settings;

    /// Images of 8 x 8 pixels: a bright left half or a bright upper half, with some noise.
    fn halves(count: usize, seed: u64) -> SampleSet {
        let mut rng = Seed(seed).stream("halves");
        let mut pixels = Vec::new();
        for index in 0..count {
            for place in 0..64 {
                let bright = if index % 2 == 0 { place % 8 < 4 } else { place < 32 };
                let noise = rand::RngExt::random_range(&mut rng, 0..100_u8);
                pixels.push(if bright { 155 + noise } else { noise });
            }
        }
        let shape = ImageShape { channels: 1, height: 8, width: 8 };
        let values = (0..count).map(|index| (index % 2) as u16).collect();
        let classes = Some(Classes { names: vec!["left".into(), "upper".into()], values });
        let known = Annotations { classes, ..Annotations::default() };
        SampleSet::Images(Images::new(shape, pixels, known).unwrap())
    }

    fn spec() -> ImageClassifierSpec {
        ron::from_str("(network: Conv(channels: [4]), features: 6)").unwrap()
    }

    fn trained() -> ImageClassifier {
        let (seen, unseen) = (halves(40, 0), halves(20, 1));
        let run = &mut |_, _| Flow::Continue;
        train(
            &spec(),
            &seen,
            Some(&unseen),
            &ClassSpec::Given,
            &training_settings(20),
            test_device(),
            run,
        )
        .unwrap()
        .unwrap()
    }

    #[test]
    fn a_classifier_learns_and_tells_how_well_it_does_on_unseen_images() {
        let quality = trained().quality();
        assert_eq!(quality.train_error_percent.to_bits(), 0.0_f64.to_bits());
        assert_eq!(quality.test_error_percent, Some(0.0));
    }

    #[test]
    fn a_stored_classifier_has_the_same_features_which_part_the_classes() {
        let classifier = trained();
        let restored = ImageClassifier::from_files(&classifier.to_files().unwrap()).unwrap();
        assert_eq!(restored, classifier);
        let samples = halves(10, 2);
        let features = restored.features(&samples, test_device()).unwrap();
        assert_eq!((features.rows(), features.width()), (10, 6));
        assert!(features.values().iter().all(|value| *value >= 0.0), "after ReLU");
        let apart = |one, other| crate::geometry::euclidean(features.row(one), features.row(other));
        assert!(apart(0, 2) < apart(0, 1), "{} {}", apart(0, 2), apart(0, 1));
    }

    #[test]
    fn the_same_seed_gives_the_same_bytes() {
        assert_eq!(trained().to_files().unwrap(), trained().to_files().unwrap());
    }

    #[test]
    fn images_of_another_size_and_unlabeled_ones_are_refused() {
        let shape = ImageShape { channels: 1, height: 4, width: 4 };
        let small = Images::new(shape, vec![0; 16], Annotations::default()).unwrap();
        let small = SampleSet::Images(small);
        assert_eq!(
            trained().features(&small, test_device()).unwrap_err().to_string(),
            "the classifier was trained on images of 1 x 8 x 8, found images of 1 x 4 x 4"
        );
        let run = &mut |_, _| Flow::Continue;
        let error = train(
            &spec(),
            &small,
            None,
            &ClassSpec::Given,
            &training_settings(1),
            test_device(),
            run,
        )
        .unwrap_err();
        assert!(error.to_string().starts_with("the training samples have no classes"), "{error}");
    }

    #[test]
    fn an_observer_can_stop_it() {
        let stop = &mut |_, _| Flow::Stop;
        let found = train(
            &spec(),
            &halves(4, 0),
            None,
            &ClassSpec::Given,
            &training_settings(9),
            test_device(),
            stop,
        )
        .unwrap();
        assert!(found.is_none());
    }
}
