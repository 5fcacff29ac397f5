//! PCAE: an autoencoder whose codes keep geodesic distances and order their variances.
//!
//! What: reconstruction + beta (variance + isometry), where variance is the sum of gamma_i times
//! the variance of coordinate i, and isometry compares the distances of codes with those of samples.
//! Reference: the paper, eq. for L_PCAE and section "The choice of l and gamma".
//! Assumptions: biased variance and the mean over all n^2 pairs (theorem 2 needs a matching pair
//! of estimators). beta refers to distances in their original unit: if the table was divided by
//! its mean m, codes live in the scaled unit and beta is multiplied by m^2, so scaling changes
//! how well training converges but not what is minimized.
//! Checked against: tests/reference/models.json (PyTorch), relative tolerance 1e-4.

use std::num::NonZeroUsize;

use burn::module::Module;
use burn::tensor::Tensor;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ae::Ae;
use super::flops;
use super::gamma::{GammaSpec, initial_weights, updated_weights};
use super::isometry::IsometryLoss;
use super::network::NetworkSpec;
use super::pytorch::Networks;
use super::{
    Autoencoder, Batch, BuildContext, Codec, CommonSettings, Decode, EpochContext, Losses,
    ModelError, ModelSettings, Reconstruction, StepPosition,
};
use crate::data::SampleForm;
use crate::device::send;
use crate::numerics::units::NonNegativeF64;

/// Settings of a PCAE, for instance `Pcae(latent: 16, network: Conv(channels: [16, 32]), beta: 16,
/// gamma: Fixed)`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PcaeSpec {
    /// Number of coordinates of a code.
    pub latent: NonZeroUsize,
    /// The encoder and decoder network.
    pub network: NetworkSpec,
    /// Weight of the variance and isometry terms, for distances in their original unit.
    pub beta: NonNegativeF64,
    /// Which terms are minimized besides the reconstruction loss.
    #[serde(default)]
    pub objective: Objective,
    /// How distances between codes are compared with those between samples.
    #[serde(default)]
    pub isometry: IsometryLoss,
    /// Weights of the coordinates in the variance term.
    pub gamma: GammaSpec,
    /// Reconstruction loss; if left out, the one that goes with the network.
    #[serde(default)]
    pub reconstruction: Option<Reconstruction>,
}

/// Which terms are minimized besides the reconstruction loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Objective {
    /// Variance and isometry.
    #[default]
    Full,
    /// Isometry alone, an ablation: coordinates lose their order.
    IsometryOnly,
    /// Variance alone, an ablation: codes shrink.
    VarianceOnly,
}

impl ModelSettings for PcaeSpec {
    type Model = Pcae;

    #[cfg(test)]
    const EXAMPLES: &'static [&'static str] =
        &["Pcae(latent: 4, network: Conv(channels: [4, 6]), beta: 16, \
             gamma: Dynamic(threshold: 0.9, every: Steps(4)))"];

    fn common(&self) -> CommonSettings<'_> {
        CommonSettings::new(self.latent, &self.network, self.reconstruction)
    }

    fn needs_distances(&self) -> bool {
        true
    }

    fn forward_flops(&self, form: SampleForm, batch: usize) -> Result<f64, ModelError> {
        Ok(self.common().flops(form)?.total() + flops::all_pairs(self.latent.get(), batch))
    }

    fn build(&self, context: &BuildContext<'_>) -> Result<Pcae, ModelError> {
        let latent = self.latent.get();
        Ok(Pcae {
            ae: Ae::with_widths([latent; 2], &self.network, self.reconstruction, context)?,
            beta: self.beta.get(),
            distance_unit: context.distance_unit,
            objective: self.objective,
            isometry: self.isometry,
            gamma_spec: self.gamma.clone(),
            gamma: initial_weights(latent),
            j: 0,
        })
    }
}

/// A PCAE in training.
#[derive(Module, Debug)]
pub struct Pcae {
    ae: Ae,
    #[module(skip)]
    beta: f64,
    #[module(skip)]
    distance_unit: f64,
    #[module(skip)]
    objective: Objective,
    #[module(skip)]
    isometry: IsometryLoss,
    #[module(skip)]
    gamma_spec: GammaSpec,
    #[module(skip)]
    gamma: Vec<f64>,
    /// The coordinate at which gamma was last centered, 0 before that.
    #[module(skip)]
    j: usize,
}

impl Pcae {
    /// Returns the weighted sum of the coordinates' variances, given codes with a mean of zero.
    fn variance(&self, centered: Tensor<2>) -> Tensor<1> {
        let gamma: Vec<f32> = self.gamma.iter().map(|&weight| weight as f32).collect();
        let gamma: Tensor<2> = send(gamma, [1, self.gamma.len()], &centered.device());
        let variances = centered.square().mean_dim(0); // [1, latent]
        (variances * gamma).sum()
    }
}

impl Codec for Pcae {
    fn encode(&self, inputs: Tensor<2>) -> Tensor<2> {
        self.ae.encode(inputs)
    }

    fn decoder(&self) -> &dyn Decode {
        self.ae.decoder()
    }

    fn pytorch(&self, form: SampleForm) -> Networks {
        self.ae.pytorch(form)
    }
}

impl Autoencoder for Pcae {
    fn reconstruction(&self) -> Reconstruction {
        self.ae.reconstruction()
    }

    fn losses(&self, batch: &Batch) -> Losses {
        let codes = self.encode(batch.inputs.clone());
        let reconstruction = self.ae.loss_of(codes.clone(), &batch.inputs);
        // Distances do not depend on the mean, and are more precise without it.
        let centered = codes.clone() - codes.clone().mean_dim(0);
        let variance = self.variance(centered.clone());
        let mut terms =
            vec![("reconstruction", reconstruction.clone()), ("variance", variance.clone())];
        let mut total = reconstruction;
        let area = self.distance_unit.powi(2);
        if self.objective != Objective::IsometryOnly {
            total = total + variance.mul_scalar(self.beta * area);
        }
        if let Some(squared_distances) = &batch.squared_distances {
            let isometry = self.isometry.loss(centered, squared_distances.clone());
            terms.push(("isometry", isometry.clone()));
            if self.objective != Objective::VarianceOnly {
                let unit = if self.isometry.has_a_unit() { area } else { 1.0 };
                total = total + isometry.mul_scalar(self.beta * unit);
            }
        }
        Losses { total, terms, codes }
    }

    fn after_step(&mut self, position: StepPosition, context: &EpochContext<'_>) {
        let GammaSpec::Dynamic { threshold, every } = self.gamma_spec else {
            return;
        };
        if !every.is_due(position) {
            return;
        }
        let model = self.valid();
        let variances = context.map_all(&|samples| model.encode(samples)).variances();
        if let Some((j, weights)) = updated_weights(&variances, threshold) {
            self.j = j;
            self.gamma = weights;
        }
    }

    fn extra_state(&self) -> Vec<f64> {
        [self.j as f64].into_iter().chain(self.gamma.iter().copied()).collect()
    }

    fn restore_extra_state(&mut self, state: Vec<f64>) -> Result<(), ModelError> {
        if let [j, gamma @ ..] = &state[..] {
            self.j = *j as usize;
            self.gamma = gamma.to_vec();
        }
        Ok(())
    }

    fn metrics(&self) -> Vec<(String, f64)> {
        let j = ("j".to_owned(), self.j as f64);
        [j].into_iter().chain(super::numbered("gamma", &self.gamma)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Annotations, SampleSet, Vectors};
    use crate::device::{open, test_device};
    use crate::models::reference::Case;
    use crate::numerics::{Points, Seed};

    #[test]
    fn beta_refers_to_distances_in_their_original_unit() {
        let case = Case::named("pcae");
        let total = |unit: f64| {
            let mut model = case.pcae();
            model.beta /= unit.powi(2);
            model.distance_unit = unit;
            model.losses(&case.batch()).total.into_scalar::<f32>()
        };
        assert!((total(7.0) - total(1.0)).abs() < 1e-4);
    }

    #[test]
    fn a_misspelled_setting_is_refused_at_its_place() {
        let text = "(latent: 4, network: Conv(channels: [2]), beta: 16, gamma: Fixed, betta: 1)";
        let error = ron::from_str::<PcaeSpec>(text).unwrap_err();
        assert!(error.to_string().contains("betta"), "{error}");
        let text = "(latent: 4, network: Conv(channels: [2]), beta: 16, \
                    gamma: Dynamic(threshold: 0.9, every: Steps(4), t: 1))";
        assert!(ron::from_str::<PcaeSpec>(text).is_err());
    }

    #[test]
    fn gamma_follows_the_variances_when_an_update_is_due() {
        let network = "Mlp(widths: [])";
        let text = format!("(latent: 3, network: {network}, beta: 1, gamma: Fixed)");
        let device = open(test_device()).unwrap();
        let form = crate::data::SampleForm::Vector { width: 2 };
        let context = BuildContext { form, seed: Seed(1), distance_unit: 1.0, device: &device };
        let spec: PcaeSpec = ron::from_str(&text).unwrap();
        let mut model = spec.build(&context).unwrap();
        let points = Points::new(2, 2, vec![1.0, 0.0, -1.0, 0.5]).unwrap();
        let samples = SampleSet::Vectors(Vectors::new(points, Annotations::default()).unwrap());
        let epoch = EpochContext {
            samples: &samples,
            held_out: &[],
            epoch: 1,
            seed: Seed(1),
            device: &device,
        };
        let position = StepPosition { step: 10, epoch: 1, epoch_ended: false };
        model.after_step(position, &epoch);
        assert_eq!(model.gamma, initial_weights(3), "fixed weights stay");
        let threshold = crate::numerics::units::Fraction::new(0.0).unwrap();
        let every = super::super::Interval::Steps(NonZeroUsize::new(5).unwrap());
        model.gamma_spec = GammaSpec::Dynamic { threshold, every };
        model.after_step(StepPosition { step: 9, ..position }, &epoch);
        assert_eq!(model.gamma, initial_weights(3), "not due yet");
        model.after_step(position, &epoch);
        assert_eq!(model.extra_state(), [1.0, 1.0, 1.25, 1.5], "j, then gamma");
    }
}
