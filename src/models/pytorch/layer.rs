//! One layer of `torch.nn`.

use burn::tensor::Tensor;

use crate::data::ImageShape;
use crate::models::WeightArray;

/// A layer of `torch.nn`, with what it has learned.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// The Python expression that makes it.
    pub(super) expression: String,
    /// What it has learned, by PyTorch's names.
    pub(super) arrays: Vec<(&'static str, WeightArray)>,
}

impl Layer {
    /// Describes a layer by the expression that makes it, such as `nn.Linear(3, 2)`.
    pub(crate) fn new(expression: impl Into<String>) -> Self {
        Self { expression: expression.into(), arrays: Vec::new() }
    }

    /// Sets negative values to zero.
    pub(crate) fn relu() -> Self {
        Self::new("nn.ReLU()")
    }

    /// Makes a row of values of every image.
    pub(crate) fn flatten() -> Self {
        Self::new("nn.Flatten()")
    }

    /// Makes an image of every row of values.
    pub(crate) fn unflatten(ImageShape { channels, height, width }: ImageShape) -> Self {
        Self::new(format!("nn.Unflatten(1, ({channels}, {height}, {width}))"))
    }

    /// Adds what the layer has learned under one of PyTorch's names.
    #[must_use]
    pub(crate) fn with<const D: usize>(mut self, name: &'static str, values: Tensor<D>) -> Self {
        self.arrays.push((name, WeightArray::of(values)));
        self
    }
}
