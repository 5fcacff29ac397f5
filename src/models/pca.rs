//! Linear PCA, exact, as the reference that every ordered autoencoder is measured by.
//!
//! What: codes are coordinates along the axes of greatest variance of the training samples.
//! Assumptions: nothing is trained; `Train` computes it from all samples at once, whatever its
//! length and optimizer.
//! Checked against: tests/reference/pca.json (scikit-learn), see `numerics`.

use std::num::NonZeroUsize;

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor, TensorData};
use serde::{Deserialize, Serialize};

use super::{Codec, Decoded, ModelError, Output};
use crate::data::{SampleForm, SampleSet};
use crate::numerics::PrincipalAxes;

/// Settings of a PCA.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PcaSpec {
    /// Number of coordinates of a code.
    pub latent: NonZeroUsize,
}

/// A PCA: a mean and some axes.
#[derive(Module, Debug)]
pub struct Pca {
    /// `[values]`
    mean: Param<Tensor<1>>,
    /// `[latent, values]`
    axes: Param<Tensor<2>>,
}

impl Pca {
    /// Makes a PCA of nothing, for weights to be loaded into.
    pub fn new(spec: &PcaSpec, form: SampleForm, device: &Device) -> Self {
        let (latent, values) = (spec.latent.get(), form.values());
        Self::of_parts(vec![0.0; values], vec![0.0; latent * values], latent, device)
    }

    /// Computes the PCA of samples.
    pub fn of(spec: &PcaSpec, samples: &SampleSet, device: &Device) -> Result<Self, ModelError> {
        let latent = spec.latent.get();
        let values = samples.form().values();
        let axes = PrincipalAxes::of(samples.len(), values, latent, &mut |rows| {
            samples.batch(&rows.collect::<Vec<_>>())
        })?;
        Ok(Self::of_parts(axes.mean().to_vec(), axes.axes().to_vec(), latent, device))
    }

    fn of_parts(mean: Vec<f32>, axes: Vec<f32>, latent: usize, device: &Device) -> Self {
        let values = mean.len();
        Self {
            mean: Param::from_data(TensorData::new(mean, [values]), device),
            axes: Param::from_data(TensorData::new(axes, [latent, values]), device),
        }
    }
}

impl Codec for Pca {
    fn encode(&self, inputs: Tensor<2>) -> Tensor<2> {
        (inputs - self.mean.val().unsqueeze()).matmul(self.axes.val().transpose())
    }

    fn decode(&self, codes: Tensor<2>) -> Tensor<2> {
        codes.matmul(self.axes.val()) + self.mean.val().unsqueeze()
    }

    fn decode_with_tangents(&self, codes: Tensor<2>, directions: Tensor<2>) -> Decoded {
        let [batch, _] = codes.dims();
        let moves: Tensor<3> = directions.matmul(self.axes.val()).unsqueeze_dim(1);
        let [count, _, values] = moves.dims();
        Decoded { outputs: self.decode(codes), tangents: moves.expand([count, batch, values]) }
    }

    fn output(&self) -> Output {
        Output::Values
    }
}
