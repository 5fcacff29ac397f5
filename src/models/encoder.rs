//! From samples to codes.
//!
//! What: 4 x 4 convolutions of stride 2 and padding 1 (perhaps batch normalization) with ReLU,
//! each halving the image, or fully connected layers with ReLU; then one more to the code.
//! Checked against: tests/reference/models.json (PyTorch).

use burn::module::Module;
use burn::tensor::{Tensor, activation};

use super::convolutions::Downsample;
use super::layers::{BatchNorm, Dense, Initializer};
use super::network::NetworkSpec;
use super::pytorch::Layer;
use super::tangents::Affine;
use super::{BuildContext, ModelError};
use crate::data::{ImageShape, SampleForm};

/// Turns samples into codes.
#[derive(Module, Debug)]
pub(crate) struct Encoder {
    convolutions: Vec<Downsample>,
    norms: Vec<BatchNorm>,
    hidden: Vec<Dense>,
    to_latent: Dense,
    #[module(skip)]
    feature_count: usize,
}

impl Encoder {
    /// Makes an encoder with weights drawn from a named stream of the seed.
    pub(crate) fn new(
        network: &NetworkSpec,
        latent: usize,
        context: &BuildContext<'_>,
        stream: &str,
    ) -> Result<Self, ModelError> {
        let layout = network.layout();
        let shapes = layout.shapes(context.form)?;
        let mut initial = Initializer { rng: context.seed.stream(stream), device: context.device };
        let convolutions = shapes
            .windows(2)
            .map(|pair| Downsample::new(pair[0], pair[1].channels, &mut initial))
            .collect();
        let norms = layout.channels.iter().filter(|_| layout.batch_norm);
        let norms = norms.map(|&channels| BatchNorm::new(channels, context.device)).collect();
        let mut width = shapes.last().map_or(context.form.values(), ImageShape::pixels);
        let mut hidden = Vec::new();
        for &next in &layout.widths {
            hidden.push(Dense::new(width, next, &mut initial));
            width = next;
        }
        let to_latent = Dense::new(width, latent, &mut initial);
        Ok(Self { convolutions, norms, hidden, to_latent, feature_count: width })
    }

    /// Returns the number of features.
    pub(super) const fn feature_count(&self) -> usize {
        self.feature_count
    }

    /// Returns the features, which are the input of the last layer: `[batch, values]` to `[features,
    /// batch]`.
    pub(super) fn features(&self, inputs: Tensor<2>) -> Tensor<2> {
        let mut hidden = inputs.transpose(); // batch last, see `layers`
        for (index, convolution) in self.convolutions.iter().enumerate() {
            hidden = match self.norms.get(index) {
                Some(norm) => norm.forward_relu(convolution.forward(hidden, false)),
                None => convolution.forward(hidden, true),
            };
        }
        for layer in &self.hidden {
            hidden = activation::relu(layer.forward(hidden));
        }
        hidden
    }

    /// Returns the codes: `[batch, values]` to `[batch, latent]`.
    pub(crate) fn forward(&self, inputs: Tensor<2>) -> Tensor<2> {
        self.to_latent.forward(self.features(inputs)).transpose()
    }

    /// Returns the layers as PyTorch has them, given what samples look like.
    pub(crate) fn pytorch(&self, form: SampleForm) -> Vec<Layer> {
        let mut layers = self.pytorch_features(form);
        layers.push(self.to_latent.pytorch());
        layers
    }

    /// Returns the layers but for the last.
    pub(super) fn pytorch_features(&self, form: SampleForm) -> Vec<Layer> {
        let mut layers = Vec::new();
        for (index, convolution) in self.convolutions.iter().enumerate() {
            layers.push(convolution.pytorch());
            layers.extend(self.norms.get(index).map(BatchNorm::pytorch));
            layers.push(Layer::relu());
        }
        if let SampleForm::Image(_) = form {
            layers.push(Layer::flatten());
        }
        for layer in &self.hidden {
            layers.extend([layer.pytorch(), Layer::relu()]);
        }
        layers
    }

    /// Returns the last layer.
    pub(super) const fn last_layer(&self) -> &Dense {
        &self.to_latent
    }
}
