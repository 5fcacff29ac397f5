//! A trained model: its settings and weights, and what it does with images.
//!
//! Stored as two plain files: `model.json` and `weights.safetensors`.

use burn::tensor::Device;
use serde::{Deserialize, Serialize};

use super::TrainError;
use super::batches::images_on;
use crate::data::{ImageShape, Images};
use crate::device::{DeviceName, open};
use crate::models::{Codec, ModelError, ModelSpec, Weights, losses};
use crate::numerics::Points;

/// Images encoded at a time; bounds memory, does not change results.
const CHUNK: usize = 512;

/// A model with its final weights.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainedModel {
    spec: ModelSpec,
    shape: ImageShape,
    weights: Weights,
}

/// The content of the files that hold a trained model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelFiles {
    /// `model.json`: the settings and the image shape.
    pub description: Vec<u8>,
    /// `weights.safetensors`: the weights.
    pub weights: Vec<u8>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    model: ModelSpec,
    shape: ImageShape,
}

impl TrainedModel {
    /// Joins settings with trained weights.
    pub const fn new(spec: ModelSpec, shape: ImageShape, weights: Weights) -> Self {
        Self { spec, shape, weights }
    }

    /// Returns the shape of the images the model was trained on.
    pub const fn shape(&self) -> ImageShape {
        self.shape
    }

    /// Returns the content of the files that hold this model.
    pub fn to_files(&self) -> Result<ModelFiles, TrainError> {
        let description = Description { model: self.spec.clone(), shape: self.shape };
        let mut description = serde_json::to_vec_pretty(&description)?;
        description.push(b'\n');
        let weights = self.weights.to_bytes().map_err(ModelError::from)?;
        Ok(ModelFiles { description, weights })
    }

    /// Reads a model from the content of its files, and checks that the weights fit.
    pub fn from_files(files: &ModelFiles) -> Result<Self, TrainError> {
        let Description { model, shape } = serde_json::from_slice(&files.description)?;
        let weights = Weights::from_bytes(&files.weights).map_err(ModelError::from)?;
        model.codec(shape, &weights, &open(DeviceName::Cpu)?)?;
        Ok(Self { spec: model, shape, weights })
    }

    /// Returns the codes of images, in their order.
    pub fn encode(&self, images: &Images, device: DeviceName) -> Result<Points, TrainError> {
        let device = open(device)?;
        Ok(encode_all(&*self.codec(images, &device)?, images, &device))
    }

    /// Returns the mean over images of the binary cross-entropy summed over pixels.
    pub fn reconstruction(&self, images: &Images, device: DeviceName) -> Result<f64, TrainError> {
        let device = open(device)?;
        let codec = self.codec(images, &device)?;
        let mut sum = 0.0;
        for indices in chunks(images.len()) {
            let pixels = images_on(images, &indices, &device);
            let logits = codec.decode(codec.encode(pixels.clone()));
            let mean = losses::reconstruction(logits, pixels);
            sum += f64::from(mean.into_scalar::<f32>()) * indices.len() as f64;
        }
        Ok(sum / images.len().max(1) as f64)
    }

    fn codec(&self, images: &Images, device: &Device) -> Result<Box<dyn Codec>, TrainError> {
        if images.shape() != self.shape {
            return Err(TrainError::OtherShape { expected: self.shape, found: images.shape() });
        }
        Ok(self.spec.codec(self.shape, &self.weights, device)?)
    }
}

/// Encodes all images, some at a time.
pub(super) fn encode_all(codec: &dyn Codec, images: &Images, device: &Device) -> Points {
    let mut values = Vec::new();
    let mut width = 1;
    for indices in chunks(images.len()) {
        let codes = codec.encode(images_on(images, &indices, device));
        width = codes.dims()[1];
        values.extend(codes.into_data().iter::<f32>());
    }
    Points::from_rows(width, values)
}

fn chunks(count: usize) -> impl Iterator<Item = Vec<usize>> {
    (0..count).step_by(CHUNK).map(move |start| (start..count.min(start + CHUNK)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Annotations;
    use crate::training::Fit;
    use crate::training::lab::Lab;

    #[test]
    fn a_stored_model_gives_the_same_codes() {
        let lab = Lab::new();
        let Fit::Finished { model, .. } = lab.run(None, 0) else { panic!("not finished") };
        let restored = TrainedModel::from_files(&model.to_files().unwrap()).unwrap();
        assert_eq!(restored, model);
        let codes = restored.encode(&lab.images, DeviceName::Cpu).unwrap();
        assert_eq!((codes.rows(), codes.width()), (50, 4));
        assert_eq!(codes, model.encode(&lab.images, DeviceName::Cpu).unwrap());
        let reconstruction = model.reconstruction(&lab.images, DeviceName::Cpu).unwrap();
        assert!(reconstruction > 0.0 && reconstruction < 64.0);
    }

    #[test]
    fn images_of_another_shape_are_refused() {
        let Fit::Finished { model, .. } = Lab::new().run(None, 0) else { panic!("not finished") };
        let shape = ImageShape { channels: 1, height: 4, width: 8 };
        let images = Images::new(shape, vec![0; 32], Annotations::default()).unwrap();
        let error = model.encode(&images, DeviceName::Cpu).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the model was trained on images of 1 x 8 x 8, found 1 x 4 x 8"
        );
    }
}
