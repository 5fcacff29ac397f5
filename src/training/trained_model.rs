//! A trained model: its settings and weights, and what it does with samples.
//!
//! Stored as two plain files: `model.json` and `weights.safetensors`.

use burn::tensor::Device;
use serde::{Deserialize, Serialize};

use super::{LoadedModel, TrainError};
use crate::data::{Annotations, Images, SampleForm, SampleSet};
use crate::device::{DeviceName, Readback, open};
use crate::models::pytorch::{Origin, PytorchFiles};
use crate::models::{Codec, ModelError, ModelSpec, Reconstruction, Weights, rows_on};
use crate::numerics::Points;

/// Samples reconstructed at a time; bounds memory.
const CHUNK: usize = 512;

/// A model with its final weights.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainedModel {
    spec: ModelSpec,
    form: SampleForm,
    weights: Weights,
}

/// The content of the files that hold a trained model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelFiles {
    /// `model.json`: the settings and what samples look like.
    pub description: Vec<u8>,
    /// `weights.safetensors`: the weights.
    pub weights: Vec<u8>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    model: ModelSpec,
    samples: SampleForm,
    /// The loss that the model was trained on, also where the settings leave it to the network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reconstruction: Option<Reconstruction>,
}

impl TrainedModel {
    /// Joins settings with trained weights.
    pub const fn new(spec: ModelSpec, form: SampleForm, weights: Weights) -> Self {
        Self { spec, form, weights }
    }

    /// Returns what the samples look like that the model was trained on.
    pub const fn form(&self) -> SampleForm {
        self.form
    }

    /// Returns the content of the files that hold this model.
    pub fn to_files(&self) -> Result<ModelFiles, TrainError> {
        let reconstruction = self.spec.reconstruction(self.form);
        let description =
            Description { model: self.spec.clone(), samples: self.form, reconstruction };
        let mut description = serde_json::to_vec_pretty(&description)?;
        description.push(b'\n');
        let weights = self.weights.to_bytes().map_err(ModelError::from)?;
        Ok(ModelFiles { description, weights })
    }

    /// Reads a model from the content of its files, and checks that the weights fit.
    pub fn from_files(files: &ModelFiles) -> Result<Self, TrainError> {
        let Description { model, samples, .. } = serde_json::from_slice(&files.description)?;
        let weights = Weights::from_bytes(&files.weights).map_err(ModelError::from)?;
        model.codec(samples, &weights, &open(DeviceName::default())?)?;
        Ok(Self { spec: model, form: samples, weights })
    }

    /// Returns the files from which plain PyTorch rebuilds this model.
    pub fn to_pytorch(&self, origin: &Origin) -> Result<PytorchFiles, TrainError> {
        let device = open(DeviceName::default())?;
        let codec = self.spec.codec(self.form, &self.weights, &device)?;
        Ok(codec.pytorch(self.form).files(self.form, self.spec.latent(), origin)?)
    }

    /// Returns the codes of samples, in their order.
    pub fn encode(&self, samples: &SampleSet, device: DeviceName) -> Result<Points, TrainError> {
        self.load(device)?.encode(samples)
    }

    /// Returns how reconstructions were compared in training; a PCA minimizes the squared error.
    pub fn loss(&self) -> Reconstruction {
        self.spec.reconstruction(self.form).unwrap_or(Reconstruction::SquaredError)
    }

    /// Returns the reconstruction loss that the model was trained with, averaged over samples.
    pub fn reconstruction(
        &self,
        samples: &SampleSet,
        device: DeviceName,
    ) -> Result<f64, TrainError> {
        self.reconstruction_as(self.loss(), samples, device)
    }

    /// Returns a reconstruction loss of the user's choice, averaged over samples.
    pub fn reconstruction_as(
        &self,
        kind: Reconstruction,
        samples: &SampleSet,
        device: DeviceName,
    ) -> Result<f64, TrainError> {
        let device = open(device)?;
        let codec = self.codec(samples, &device)?;
        Ok(mean_reconstruction(&*codec, kind, samples, &device))
    }

    /// Returns the images that codes stand for, as bytes: rounded, and cut off at black and white;
    /// `known` is what is known of them.
    pub fn decode_images(
        &self,
        codes: &Points,
        known: Annotations,
        device: DeviceName,
    ) -> Result<Images, TrainError> {
        let SampleForm::Image(shape) = self.form else {
            return Err(TrainError::NoImages { form: self.form });
        };
        let decoded = self.load(device)?.decode(codes);
        let pixels = decoded.values().iter().map(|value| (255.0 * value).round() as u8);
        Ok(Images::new(shape, pixels.collect(), known)?)
    }

    /// Returns the settings of the model.
    pub const fn spec(&self) -> &ModelSpec {
        &self.spec
    }

    /// Loads the model on a device.
    pub fn load(&self, device: DeviceName) -> Result<LoadedModel, TrainError> {
        let device = open(device)?;
        Ok(LoadedModel {
            codec: self.spec.codec(self.form, &self.weights, &device)?,
            form: self.form,
            reconstruction: self.spec.reconstruction(self.form),
            device,
        })
    }

    fn codec(&self, samples: &SampleSet, device: &Device) -> Result<Box<dyn Codec>, TrainError> {
        if samples.form() != self.form {
            return Err(TrainError::OtherForm { expected: self.form, found: samples.form() });
        }
        Ok(self.spec.codec(self.form, &self.weights, device)?)
    }
}

/// Returns the mean over samples of a reconstruction loss.
pub(super) fn mean_reconstruction(
    codec: &dyn Codec,
    kind: Reconstruction,
    samples: &SampleSet,
    device: &Device,
) -> f64 {
    let (mut means, mut counts) = (Readback::default(), Vec::new());
    for start in (0..samples.len()).step_by(CHUNK) {
        let rows: Vec<usize> = (start..samples.len().min(start + CHUNK)).collect();
        let chunk = rows_on(samples, &rows, device);
        let output = codec.decode(codec.encode(chunk.clone()));
        means.push(kind.loss(output, codec.output(), chunk));
        counts.push(rows.len());
    }
    let weighted = means.take().into_iter().zip(counts);
    let weighted = weighted.map(|(mean, count)| f64::from(mean) * count as f64);
    weighted.fold(0.0, |sum, part| sum + part) / samples.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::ImageShape;
    use crate::device::test_device;
    use crate::training::Fit;
    use crate::training::fixture::{Fixture, models, options};

    #[test]
    fn a_stored_model_gives_the_same_codes() {
        for (name, model) in models() {
            let fixture = Fixture::with(model);
            let Fit::Finished { model, .. } = fixture.run(None, 0) else { panic!("not finished") };
            let restored = TrainedModel::from_files(&model.to_files().unwrap()).unwrap();
            assert_eq!(restored, model, "{name}");
            let codes = restored.encode(&fixture.samples, test_device()).unwrap();
            assert_eq!((codes.rows(), codes.width()), (50, fixture.model.latent()), "{name}");
            assert_eq!(codes, model.encode(&fixture.samples, test_device()).unwrap(), "{name}");
            let reconstruction = model.reconstruction(&fixture.samples, test_device()).unwrap();
            assert!(reconstruction > 0.0 && reconstruction < 64.0, "{name}: {reconstruction}");
        }
    }

    #[test]
    fn the_loss_that_a_model_was_trained_on_is_in_its_record() {
        for (model, loss) in [
            ("Ae(latent: 2, network: Conv(channels: [4, 6]))", "CrossEntropy"),
            ("PcaAe(latent: 2, network: Conv(channels: [4, 6]))", "MeanCrossEntropy"),
            (
                "Ae(latent: 2, network: Conv(channels: [4, 6]), reconstruction: SquaredError)",
                "SquaredError",
            ),
        ] {
            let fixture = Fixture::with(options().from_str(model).unwrap());
            let Fit::Finished { model, .. } = fixture.run(None, 0) else { panic!("not finished") };
            let description = model.to_files().unwrap().description;
            let description: serde_json::Value = serde_json::from_slice(&description).unwrap();
            assert_eq!(description["reconstruction"], loss);
        }
    }

    #[test]
    fn decoded_codes_are_the_reconstructions_in_bytes() {
        let fixture = Fixture::new();
        let Fit::Finished { model, .. } = fixture.run(None, 0) else { panic!("not finished") };
        let codes = model.encode(&fixture.samples, test_device()).unwrap();
        let images = model.decode_images(&codes, Annotations::default(), test_device()).unwrap();
        assert_eq!((images.len(), SampleForm::Image(images.shape())), (50, model.form()));
        let (decoded, real) = (images.to_points(), fixture.samples.to_points());
        let pairs = decoded.values().iter().zip(real.values());
        let squares = pairs.map(|(one, other)| f64::from(one - other).powi(2)).sum::<f64>() / 50.0;
        let kind = Reconstruction::SquaredError;
        let expected = model.reconstruction_as(kind, &fixture.samples, test_device()).unwrap();
        assert!((squares - expected).abs() < 0.01 * expected, "{squares} {expected}");
    }

    #[test]
    fn samples_of_another_form_are_refused() {
        let fixture = Fixture::new();
        let Fit::Finished { model, .. } = fixture.run(None, 0) else { panic!("not finished") };
        let shape = ImageShape { channels: 1, height: 4, width: 8 };
        let images = Images::new(shape, vec![0; 32], Annotations::default()).unwrap();
        let error = model.encode(&SampleSet::Images(images), test_device()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the model was trained on images of 1 x 8 x 8, found images of 1 x 4 x 8"
        );
    }
}
