//! The network of a classifier: features with ReLU, then one score for each class.
//!
//! What: the body is what encoders of autoencoders are made of; its code, after ReLU, is the
//! features. Without a body scores are linear in the inputs.
//! Reference: the paper, section "Downstream Classification": two fully connected layers with 128
//! hidden units and ReLU. Read here as two hidden layers, of 128 units each, before the scores.
//! Checked against: tests/reference/classification.json (PyTorch).

use burn::module::Module;
use burn::tensor::{Tensor, activation};

use super::train_classifier::Scores;
use crate::data::SampleForm;
use crate::models::pytorch::Layer;
use crate::models::{BuildContext, Dense, Encoder, Initializer, ModelError, NetworkSpec};

/// A classifier in training or in use.
#[derive(Module, Debug)]
pub struct Network {
    body: Option<Encoder>,
    to_classes: Dense,
}

impl Network {
    /// Makes an untrained network; a body has its settings and the number of its features.
    pub fn new(
        body: Option<(&NetworkSpec, usize)>,
        classes: usize,
        context: &BuildContext<'_>,
    ) -> Result<Self, ModelError> {
        let width = body.map_or(context.form.values(), |(_, features)| features);
        let body =
            body.map(|(network, features)| Encoder::new(network, features, context, "init/body"));
        let mut initial =
            Initializer { rng: context.seed.stream("init/classes"), device: context.device };
        let to_classes = Dense::new(width, classes, &mut initial);
        Ok(Self { body: body.transpose()?, to_classes })
    }

    /// Returns what the scores are linear in: `[batch, values]` to `[batch, features]`.
    pub fn features(&self, inputs: Tensor<2>) -> Tensor<2> {
        match &self.body {
            Some(body) => activation::relu(body.forward(inputs)),
            None => inputs,
        }
    }

    /// Returns the layers that give features, and the one after them, as PyTorch has them.
    pub(super) fn pytorch(&self, form: SampleForm) -> (Vec<Layer>, Layer) {
        let mut body = self.body.as_ref().map_or_else(Vec::new, |body| body.pytorch(form));
        if self.body.is_some() {
            body.push(Layer::relu());
        }
        (body, self.to_classes.pytorch())
    }
}

impl Scores for Network {
    fn scores(&self, inputs: Tensor<2>) -> Tensor<2> {
        self.to_classes.forward(self.features(inputs).transpose()).transpose()
    }
}
