//! From codes to samples.
//!
//! What: the mirror image of the encoder. No activation follows the first fully connected layer of
//! a convolutional decoder, nor the last layer: images come out as logits, vectors as they are.
//! Checked against: tests/reference/models.json (PyTorch).

use burn::module::Module;
use burn::tensor::Tensor;

use super::convolutions::{Pointwise, Upsample};
use super::layers::{BatchNorm, Dense, Initializer};
use super::network::{LastLayer, NetworkSpec};
use super::pytorch::Layer;
use super::tangents::{Decoded, Dual, Signal};
use super::{BuildContext, Decode, ModelError, Output};
use crate::data::{ImageShape, SampleForm};

/// Turns codes into samples.
#[derive(Module, Debug)]
pub(super) struct Decoder {
    from_latent: Dense,
    hidden: Vec<Dense>,
    convolutions: Vec<Upsample>,
    norms: Vec<BatchNorm>,
    last: Option<Pointwise>,
    #[module(skip)]
    output: Output,
}

impl Decoder {
    /// Makes a decoder with weights drawn from a named stream of the seed.
    pub(super) fn new(
        network: &NetworkSpec,
        latent: usize,
        context: &BuildContext<'_>,
        stream: &str,
    ) -> Result<Self, ModelError> {
        let layout = network.layout();
        let mut shapes = layout.shapes(context.form)?;
        let mut initial = Initializer { rng: context.seed.stream(stream), device: context.device };
        let image = shapes.first().copied();
        let keeps_size = layout.last == LastLayer::KeepsSize && shapes.len() > 1;
        if keeps_size {
            // Each stage has the channels of one halving further on, at twice its sides.
            let larger = |pair: &[ImageShape]| ImageShape { channels: pair[1].channels, ..pair[0] };
            shapes = shapes.windows(2).map(larger).collect();
        }
        let first = shapes.last().map_or(context.form.values(), ImageShape::pixels);
        let mut widths = layout.widths.clone();
        widths.reverse();
        widths.push(first);
        let from_latent = Dense::new(latent, widths[0], &mut initial);
        let hidden =
            widths.windows(2).map(|pair| Dense::new(pair[0], pair[1], &mut initial)).collect();
        let convolutions: Vec<_> = shapes
            .windows(2)
            .rev()
            .map(|pair| Upsample::new(pair[1].channels, pair[0], &mut initial))
            .collect();
        let last = match (keeps_size, shapes.first(), image) {
            (true, Some(shape), Some(image)) => {
                Some(Pointwise::new(shape.channels, image.channels, &mut initial))
            }
            _ => None,
        };
        let activated = convolutions.len() - usize::from(!keeps_size && !convolutions.is_empty());
        let normed = convolutions.iter().take(activated).filter(|_| layout.batch_norm);
        let norms = normed.map(|layer| BatchNorm::new(layer.outputs(), context.device)).collect();
        let output = Output::of(context.form);
        Ok(Self { from_latent, hidden, convolutions, norms, last, output })
    }

    /// Returns the running statistics of all normalizations.
    pub(super) fn statistics(&self) -> Vec<[Tensor<1>; 2]> {
        self.norms.iter().map(BatchNorm::statistics).collect()
    }

    /// Takes back what [`Self::statistics`] returned.
    pub(super) fn set_statistics(&self, statistics: Vec<[Tensor<1>; 2]>) {
        for (norm, statistics) in self.norms.iter().zip(statistics) {
            norm.set_statistics(statistics);
        }
    }

    /// Returns the layers as PyTorch has them, given what samples look like.
    pub(super) fn pytorch(&self, form: SampleForm) -> Vec<Layer> {
        let mut layers = vec![self.from_latent.pytorch()];
        for layer in &self.hidden {
            layers.extend([Layer::relu(), layer.pytorch()]);
        }
        if let SampleForm::Image(image) = form {
            layers.push(Layer::unflatten(self.first_shape(image)));
        }
        for (index, convolution) in self.convolutions.iter().enumerate() {
            layers.push(convolution.pytorch());
            layers.extend(self.norms.get(index).map(BatchNorm::pytorch));
            if index + 1 < self.convolutions.len() || self.last.is_some() {
                layers.push(Layer::relu());
            }
        }
        layers.extend(self.last.as_ref().map(Pointwise::pytorch));
        layers
    }

    /// Returns the shape of the features that become an image.
    fn first_shape(&self, image: ImageShape) -> ImageShape {
        match (self.convolutions.first(), &self.last) {
            (Some(convolution), _) => convolution.input_shape(),
            (None, Some(last)) => ImageShape { channels: last.inputs(), ..image },
            (None, None) => image,
        }
    }

    /// Passes codes through all layers, alone or with their derivatives.
    fn pass<S: Signal>(&self, codes: S) -> S {
        let mut hidden = codes.through(&self.from_latent); // [features, batch]
        for layer in &self.hidden {
            hidden = hidden.relu().through(layer);
        }
        for (index, convolution) in self.convolutions.iter().enumerate() {
            // No ReLU follows the last layer of all.
            let is_last = index + 1 == self.convolutions.len() && self.last.is_none();
            hidden = match self.norms.get(index) {
                Some(norm) => hidden.through(convolution).through_relu(norm),
                None if is_last => hidden.through(convolution),
                None => hidden.through_relu(convolution),
            };
        }
        if let Some(last) = &self.last {
            hidden = hidden.through(last);
        }
        hidden
    }
}

impl Decode for Decoder {
    fn forward(&self, codes: Tensor<2>) -> Tensor<2> {
        self.pass(codes.transpose()).transpose()
    }

    fn forward_with_tangents(&self, codes: Tensor<2>, directions: Tensor<2>) -> Decoded {
        self.pass(Dual::at(codes, directions)).finish()
    }

    fn output(&self) -> Output {
        self.output
    }
}
