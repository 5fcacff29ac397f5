//! Forward-mode differentiation: one pass gives a decoder's values and its exact Jacobian.
//!
//! What: each value goes through a layer together with its derivatives along several directions of
//! the code. An affine layer maps derivatives like values but without its shift, ReLU lets those of
//! positive values pass. All directions of a batch go through as one larger batch.
//! Reference: forward-mode differentiation, e.g. Griewank and Walther 2008, section 3.1.
//! Assumptions: models in inference, not in training: batch normalization takes its running statistics.
//! The derivative of ReLU at 0 is 0, as in PyTorch.
//! Checked against: tests/reference/jacobian.json (PyTorch) to 1e-4, and burn's reverse mode for
//! every model (below).

use burn::tensor::{Tensor, activation};

/// A layer that is a linear map and a shift.
pub(super) trait Affine {
    /// Returns what the layer makes of values, `[inputs, batch]`.
    fn forward(&self, input: Tensor<2>) -> Tensor<2>;

    /// Returns the same after a ReLU.
    fn forward_relu(&self, input: Tensor<2>) -> Tensor<2> {
        activation::relu(self.forward(input))
    }

    /// Returns what the linear map makes of derivatives, `[inputs, batch]`.
    fn map(&self, tangents: Tensor<2>) -> Tensor<2>;
}

/// What goes through a network: values alone, or values with their derivatives.
pub(super) trait Signal: Sized {
    /// Goes through an affine layer.
    fn through(self, layer: &impl Affine) -> Self;

    /// Goes through a ReLU.
    fn relu(self) -> Self;

    /// Goes through an affine layer and a ReLU.
    fn through_relu(self, layer: &impl Affine) -> Self {
        self.through(layer).relu()
    }
}

impl Signal for Tensor<2> {
    fn through(self, layer: &impl Affine) -> Self {
        layer.forward(self)
    }

    fn relu(self) -> Self {
        activation::relu(self)
    }

    fn through_relu(self, layer: &impl Affine) -> Self {
        layer.forward_relu(self)
    }
}

/// Values with their derivatives along several directions.
pub(super) struct Dual {
    /// `[features, batch]`
    value: Tensor<2>,
    /// `[features, directions * batch]`, the whole batch for one direction after the other
    tangents: Tensor<2>,
}

impl Dual {
    /// Begins with codes, `[batch, latent]`, and directions, `[directions, latent]`.
    pub(super) fn at(codes: Tensor<2>, directions: Tensor<2>) -> Self {
        let [batch, latent] = codes.dims();
        let [count, _] = directions.dims();
        // Each direction is the same for the whole batch.
        let each: Tensor<3> = directions.transpose().unsqueeze_dim(2);
        let tangents = each.expand([latent, count, batch]).reshape([latent, count * batch]);
        Self { value: codes.transpose(), tangents }
    }

    /// Returns values and derivatives with the batch first.
    pub(super) fn finish(self) -> Decoded {
        let [features, batch] = self.value.dims();
        let [_, columns] = self.tangents.dims();
        let tangents = self.tangents.transpose().reshape([columns / batch, batch, features]);
        Decoded { outputs: self.value.transpose(), tangents }
    }
}

impl Signal for Dual {
    fn through(self, layer: &impl Affine) -> Self {
        Self { value: layer.forward(self.value), tangents: layer.map(self.tangents) }
    }

    fn relu(self) -> Self {
        let [features, batch] = self.value.dims();
        let [_, columns] = self.tangents.dims();
        let passes: Tensor<3> = self.value.clone().greater_elem(0.0).float().unsqueeze_dim(1);
        let tangents = self.tangents.reshape([features, columns / batch, batch]) * passes;
        Self {
            value: activation::relu(self.value),
            tangents: tangents.reshape([features, columns]),
        }
    }
}

/// What codes are decoded to, and how it changes when the codes move.
#[derive(Clone, Debug)]
pub struct Decoded {
    /// The outputs: `[batch, values]`.
    pub outputs: Tensor<2>,
    /// Their derivatives along each direction: `[directions, batch, values]`.
    pub tangents: Tensor<3>,
}

impl Decoded {
    /// Returns the same after a sigmoid.
    #[must_use]
    pub fn sigmoid(self) -> Self {
        let outputs = activation::sigmoid(self.outputs);
        let derivatives = outputs.clone() * outputs.clone().neg().add_scalar(1.0);
        Self { outputs, tangents: self.tangents * derivatives.unsqueeze_dim(0) }
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, TensorData};
    use rand::RngExt;
    use serde::Deserialize;

    use super::*;
    use crate::data::{Annotations, ImageShape, Images, SampleForm, SampleSet};
    use crate::device::{open, open_for_training, test_device};
    use crate::models::reference::{Case, options};
    use crate::models::{
        Autoencoder, BuildContext, ClosedForm, Codec, ModelError, ModelSpec, ModelVisitor,
    };
    use crate::numerics::Seed;

    const IMAGE: SampleForm = SampleForm::Image(ImageShape { channels: 1, height: 8, width: 8 });
    const VECTOR: SampleForm = SampleForm::Vector { width: 5 };

    /// Returns examples of all models, and networks of every form.
    fn models() -> Vec<(SampleForm, ModelSpec)> {
        let spec = |text: &str| options().from_str(text).unwrap();
        // Batch normalization in training, as reverse mode has it, depends on the batch.
        let plain = |(text, _): (&str, ModelSpec)| spec(&text.replace(", batch_norm: true", ""));
        let images = [
            "Ae(latent: 3, network: Conv(channels: [3, 4], last: KeepsSize))",
            "Ae(latent: 3, network: Conv(channels: [3], last: KeepsSize))",
            "Ae(latent: 3, network: Conv(channels: []))",
            "Ae(latent: 2, network: Mlp(widths: [6, 5]))",
        ];
        let vectors = [
            "Ae(latent: 3, network: Mlp(widths: [7, 6]))",
            "Ae(latent: 2, network: Mlp(widths: []))",
        ];
        let examples = ModelSpec::examples().into_iter().map(plain).map(|spec| (IMAGE, spec));
        let images = images.map(|text| (IMAGE, spec(text)));
        let vectors = vectors.map(|text| (VECTOR, spec(text)));
        examples.chain(images).chain(vectors).collect()
    }

    /// Boxes a model without training it, or fits it to random images.
    struct Untrained<'a>(&'a Device);

    impl ModelVisitor for Untrained<'_> {
        type Output = Box<dyn Codec>;
        type Error = ModelError;

        fn trainable<M: Autoencoder + 'static>(
            self,
            model: M,
        ) -> Result<Box<dyn Codec>, ModelError> {
            Ok(Box::new(model.complete()?))
        }

        fn closed_form<M: ClosedForm + 'static>(
            self,
            model: M,
        ) -> Result<Box<dyn Codec>, ModelError> {
            let mut rng = Seed(5).stream("images");
            let pixels = (0..20 * IMAGE.values()).map(|_| rng.random()).collect();
            let SampleForm::Image(shape) = IMAGE else { panic!("these are images") };
            let images = Images::new(shape, pixels, Annotations::default()).unwrap();
            Ok(Box::new(model.fit(&SampleSet::Images(images), self.0)?))
        }
    }

    /// Makes an untrained model, with the same weights wherever it lives.
    fn make(spec: &ModelSpec, form: SampleForm, device: &Device) -> Box<dyn Codec> {
        let context = BuildContext { form, seed: Seed(3), distance_unit: 1.0, device };
        spec.visit(&context, Untrained(device)).unwrap()
    }

    fn table(rows: usize, width: usize, device: &Device) -> Tensor<2> {
        let mut rng = Seed(9).stream("codes");
        let values: Vec<f32> = (0..rows * width).map(|_| 4.0 * rng.random::<f32>() - 2.0).collect();
        Tensor::from_data(TensorData::new(values, [rows, width]), device)
    }

    fn plain<const D: usize>(tensor: &Tensor<D>) -> Vec<f32> {
        tensor.to_data().iter::<f32>().collect()
    }

    fn assert_close(found: &[f32], expected: &[f32], what: &str) {
        assert_eq!(found.len(), expected.len(), "{what}");
        let largest = expected.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
        for (place, (found, expected)) in found.iter().zip(expected).enumerate() {
            let difference = (found - expected).abs();
            assert!(difference <= 1e-5 * largest, "{what}, {place}: {found} against {expected}");
        }
    }

    #[test]
    fn every_model_has_the_derivatives_of_reverse_mode() {
        const BATCH: usize = 4;
        let (device, training) =
            (open(test_device()).unwrap(), open_for_training(test_device()).unwrap());
        for (form, spec) in models() {
            let latent = spec.latent();
            let decoded = make(&spec, form, &device)
                .decode_with_tangents(table(BATCH, latent, &device), Tensor::eye(latent, &device));
            let (name, model) = (format!("{spec:?}"), make(&spec, form, &training));
            // One output at a time, [batch, latent], against all directions of that output; going
            // backward uses the graph up, so each needs its own.
            for output in 0..form.values() {
                let codes = table(BATCH, latent, &training).require_grad();
                let outputs = model.decode(codes.clone());
                assert_close(&plain(&decoded.outputs), &plain(&outputs), &name);
                let gradients = outputs.narrow(1, output, 1).sum().backward();
                let expected = codes.grad(&gradients).unwrap();
                let found: Tensor<2> = decoded.tangents.clone().narrow(2, output, 1).squeeze_dim(2);
                assert_close(&plain(&found.transpose()), &plain(&expected), &name);
            }
        }
    }

    #[test]
    fn decoders_in_inference_have_the_jacobians_of_pytorch() {
        #[derive(Deserialize)]
        struct Reference {
            cases: Vec<Known>,
        }
        #[derive(Deserialize)]
        struct Known {
            name: String,
            images: usize,
            latent: usize,
            codes: Vec<f32>,
            /// `[images, outputs, latent]`
            jacobian: Vec<f32>,
        }
        let text =
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reference/jacobian.json"));
        let cases = serde_json::from_str::<Reference>(text).unwrap().cases;
        assert_eq!(cases.len(), 13);
        let device = open(test_device()).unwrap();
        for Known { name, images, latent, codes, jacobian } in cases {
            let codes = Tensor::from_data(TensorData::new(codes, [images, latent]), &device);
            let model = Case::named(&name).codec();
            let found = model.decode_with_tangents(codes, Tensor::eye(latent, &device)).tangents;
            assert_close(&plain(&found.permute([1, 2, 0])), &jacobian, &name);
        }
    }

    #[test]
    fn any_directions_may_be_asked_for() {
        let device = open(test_device()).unwrap();
        let (form, spec) = models().swap_remove(0);
        let model = make(&spec, form, &device);
        let codes = table(2, 3, &device);
        let all = model.decode_with_tangents(codes.clone(), Tensor::eye(3, &device)).tangents;
        let direction = Tensor::<2>::from_floats([[0.5, -2.0, 1.0]], &device);
        let along = model.decode_with_tangents(codes, direction).tangents;
        let part = |axis: usize, by: f32| all.clone().narrow(0, axis, 1).mul_scalar(by);
        let expected = part(0, 0.5) + part(1, -2.0) + part(2, 1.0);
        assert_close(&plain(&along), &plain(&expected), "a sum of directions");
    }

    #[test]
    fn a_sigmoid_scales_derivatives_by_its_own() {
        let device = open(test_device()).unwrap();
        let outputs = Tensor::<2>::from_floats([[0.0, 3.0]], &device);
        let tangents = Tensor::<3>::from_floats([[[1.0, 2.0]], [[-4.0, 0.0]]], &device);
        let found = Decoded { outputs, tangents }.sigmoid();
        // sigma(0) = 1/2 with derivative 1/4; sigma(3) = 0.952574 with derivative 0.0451767.
        assert_close(&plain(&found.outputs), &[0.5, 0.952_574], "outputs");
        assert_close(&plain(&found.tangents), &[0.25, 0.090_353_4, -1.0, 0.0], "tangents");
    }
}
