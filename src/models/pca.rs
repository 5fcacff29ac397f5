//! Linear PCA, exact, as the reference that every ordered autoencoder is measured by.
//!
//! What: codes are coordinates along the axes of greatest variance of the training samples.
//! Assumptions: nothing is trained; `Train` computes it from all samples at once, whatever its
//! length and optimizer.
//! Checked against: tests/reference/pca.json (scikit-learn), see `numerics`.

use std::num::NonZeroUsize;

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor, TensorData};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::pytorch::{EncoderNetwork, Layer, Networks};
use super::{
    Accept, BuildContext, ClosedForm, Codec, CommonSettings, Decode, Decoded, ModelError,
    ModelSettings, ModelVisitor, Output, Visited, WeightArray,
};
use crate::data::{SampleForm, SampleSet};
use crate::numerics::PrincipalAxes;

/// Settings of a PCA, for instance `Pca(latent: 16)`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PcaSpec {
    /// Number of coordinates of a code.
    pub latent: NonZeroUsize,
}

impl ModelSettings for PcaSpec {
    type Model = Pca;

    #[cfg(test)]
    const EXAMPLES: &'static [&'static str] = &["Pca(latent: 3)"];

    fn common(&self) -> CommonSettings<'_> {
        CommonSettings { latent: self.latent, network: None, reconstruction: None }
    }

    fn build(&self, context: &BuildContext<'_>) -> Result<Pca, ModelError> {
        let (latent, values) = (self.latent.get(), context.form.values());
        Ok(Pca::of_parts(vec![0.0; values], vec![0.0; latent * values], latent, context.device))
    }
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
    fn of_parts(mean: Vec<f32>, axes: Vec<f32>, latent: usize, device: &Device) -> Self {
        let values = mean.len();
        Self {
            mean: Param::from_data(TensorData::new(mean, [values]), device),
            axes: Param::from_data(TensorData::new(axes, [latent, values]), device),
        }
    }
}

impl Accept for Pca {
    fn accept<V: ModelVisitor>(self, visitor: V) -> Visited<V> {
        visitor.closed_form(self)
    }
}

impl ClosedForm for Pca {
    fn fit(self, samples: &SampleSet, device: &Device) -> Result<Self, ModelError> {
        let [latent, _] = self.axes.dims();
        let values = samples.form().values();
        let axes = PrincipalAxes::of(samples.len(), values, latent, &mut |rows| {
            samples.batch(&rows.collect::<Vec<_>>())
        })?;
        Ok(Self::of_parts(axes.mean().to_vec(), axes.axes().to_vec(), latent, device))
    }
}

impl Codec for Pca {
    fn encode(&self, inputs: Tensor<2>) -> Tensor<2> {
        (inputs - self.mean.val().unsqueeze()).matmul(self.axes.val().transpose())
    }

    fn decoder(&self) -> &dyn Decode {
        self
    }

    fn pytorch(&self, form: SampleForm) -> Networks {
        let [latent, values] = self.axes.dims();
        let project = Layer::new(format!("nn.Linear({values}, {latent}, bias=False)"))
            .with("weight", self.axes.val());
        let rebuild = Layer::new(format!("nn.Linear({latent}, {values})"))
            .with("weight", self.axes.val().transpose())
            .with("bias", self.mean.val());
        let mut mean = WeightArray::of(self.mean.val());
        let (layers, decoder) = match form {
            SampleForm::Image(image) => {
                mean.shape = vec![image.channels, image.height, image.width];
                (vec![Layer::flatten(), project], vec![rebuild, Layer::unflatten(image)])
            }
            SampleForm::Vector { .. } => (vec![project], vec![rebuild]),
        };
        let encoder = EncoderNetwork::Centered { mean, layers };
        Networks { encoder, decoder, output: Output::Values }
    }
}

impl Decode for Pca {
    fn forward(&self, codes: Tensor<2>) -> Tensor<2> {
        codes.matmul(self.axes.val()) + self.mean.val().unsqueeze()
    }

    fn forward_with_tangents(&self, codes: Tensor<2>, directions: Tensor<2>) -> Decoded {
        let [batch, _] = codes.dims();
        let moves: Tensor<3> = directions.matmul(self.axes.val()).unsqueeze_dim(1);
        let [count, _, values] = moves.dims();
        Decoded { outputs: self.forward(codes), tangents: moves.expand([count, batch, values]) }
    }

    fn output(&self) -> Output {
        Output::Values
    }
}
