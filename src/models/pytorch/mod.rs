//! Trained networks as PyTorch has them: layers of `torch.nn`, and a Python module made of them.
//!
//! What: every module says which layers it consists of and what these have learned; `module` writes
//! them as a file of Python that needs nothing but PyTorch, with the weights beside it.
//! Assumptions: none of a network's settings. A module describes the layers that it holds.
//! Checked against: tests/pytorch/check.py (PyTorch): codes and decoded samples, to 1e-5.

mod layer;
mod module;

pub use self::layer::Layer;
pub use self::module::{Origin, PytorchFiles, classifier_files};
use super::{Output, WeightArray};

/// The encoder and the decoder of a trained model.
#[derive(Clone, Debug, PartialEq)]
pub struct Networks {
    /// From samples to codes.
    pub encoder: EncoderNetwork,
    /// From codes to raw outputs.
    pub decoder: Vec<Layer>,
    /// What raw outputs stand for.
    pub output: Output,
}

/// From samples to codes.
#[derive(Clone, Debug, PartialEq)]
pub enum EncoderNetwork {
    /// The layers end in codes.
    Code(Vec<Layer>),
    /// The layers end in the means of codes, then the logarithms of their variances.
    Distribution(Vec<Layer>),
    /// The layers take samples without their mean.
    Centered {
        /// The mean of the training samples.
        mean: WeightArray,
        /// What comes after it is subtracted.
        layers: Vec<Layer>,
    },
    /// Each coordinate has layers of its own, which differ in their weights alone.
    Coordinates(Vec<Vec<Layer>>),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{ImageShape, SampleForm};
    use crate::device::{open, test_device};
    use crate::models::{
        Autoencoder, BuildContext, ClosedForm, ModelError, ModelSpec, ModelVisitor, Weights,
    };
    use crate::numerics::Seed;

    const IMAGE: SampleForm = SampleForm::Image(ImageShape { channels: 3, height: 8, width: 4 });

    /// Takes the networks of an untrained model, and how many numbers it has learned.
    struct Describe;

    fn numbers(weights: &Weights) -> usize {
        weights.0.values().map(|array| array.values.len()).sum()
    }

    impl ModelVisitor for Describe {
        type Output = (Networks, usize);
        type Error = ModelError;

        fn trainable<M: Autoencoder + 'static>(
            self,
            model: M,
        ) -> Result<Self::Output, Self::Error> {
            let model = model.complete()?;
            Ok((model.pytorch(IMAGE), numbers(&Weights::of(&model))))
        }

        fn closed_form<M: ClosedForm + 'static>(
            self,
            model: M,
        ) -> Result<Self::Output, Self::Error> {
            // Mean and axes are in the encoder and in the decoder.
            Ok((model.pytorch(IMAGE), 2 * numbers(&Weights::of(&model))))
        }
    }

    fn describe(spec: &ModelSpec) -> (Networks, usize) {
        let device = open(test_device()).unwrap();
        let context =
            BuildContext { form: IMAGE, seed: Seed(0), distance_unit: 1.0, device: &device };
        spec.visit(&context, Describe).unwrap()
    }

    #[test]
    fn all_that_a_model_has_learned_is_in_its_layers() {
        for (text, spec) in ModelSpec::examples() {
            let (networks, learned) = describe(&spec);
            let files = networks.files(IMAGE, spec.latent(), &Origin::default()).unwrap();
            let weights = Weights::from_bytes(&files.weights).unwrap();
            assert_eq!(numbers(&weights), learned, "{text}");
        }
    }

    #[test]
    fn no_name_ends_the_docstring() {
        let origin = Origin { title: r#"a""" + \"#.to_owned(), ..Origin::default() };
        let (_, spec) = ModelSpec::examples().remove(0);
        let module = describe(&spec).0.files(IMAGE, 3, &origin).unwrap().module;
        assert!(module.starts_with(r#""""a\"\"\" + \\: encoder"#), "{module}");
    }
}
