//! A trained model loaded on a device: codes, decodings, Jacobians.
//!
//! Everything is computed in chunks, so that memory is bounded whatever the number of samples.

use std::num::NonZeroUsize;

use burn::tensor::{Device, Tensor};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::TrainError;
use crate::data::{SampleForm, SampleSet};
use crate::device::{read, send};
use crate::models::{Codec, Output, Reconstruction, map_rows};
use crate::numerics::{Points, Seed};

/// Codes decoded together; bounds memory.
const CHUNK: usize = 512;
/// Derivatives of decoded samples computed together, over all directions: as much memory as a
/// training step with a batch of this size.
const TANGENTS: usize = 256;

/// Which output of a decoder is differentiated. For vectors there is no difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DecoderOutput {
    /// What the model's own loss compares: logits for a cross-entropy, pixels for a squared error,
    /// as in ARD-VAE's published networks.
    #[default]
    AsTrained,
    /// The output of the last layer: logits of images.
    Raw,
    /// Pixels between 0 and 1.
    Image,
}

/// Codes, and whether they were drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Codes {
    /// One code for each sample.
    pub points: Points,
    /// Whether the model gives each sample a distribution, from which its code was drawn.
    pub are_drawn: bool,
}

/// A trained model on a device.
pub struct LoadedModel {
    pub(super) codec: Box<dyn Codec>,
    pub(super) device: Device,
    pub(super) form: SampleForm,
    pub(super) reconstruction: Option<Reconstruction>,
}

impl LoadedModel {
    /// Returns the codes of the first samples: drawn from their distributions if the model has
    /// any, else the codes themselves.
    pub fn draw(
        &self,
        samples: &SampleSet,
        most: NonZeroUsize,
        seed: Seed,
    ) -> Result<Codes, TrainError> {
        self.check(samples)?;
        let rows: Vec<usize> = (0..samples.len().min(most.get())).collect();
        let rng = std::cell::RefCell::new(seed.stream("codes"));
        let are_drawn = std::cell::Cell::new(false);
        let points = map_rows(samples, &rows, &self.device, &|chunk| match self
            .codec
            .draw(chunk.clone(), &mut rng.borrow_mut())
        {
            Some(drawn) => {
                are_drawn.set(true);
                drawn
            }
            None => self.codec.encode(chunk),
        });
        Ok(Codes { points, are_drawn: are_drawn.get() })
    }

    /// Returns the codes of all samples.
    pub fn encode(&self, samples: &SampleSet) -> Result<Points, TrainError> {
        self.check(samples)?;
        let rows: Vec<usize> = (0..samples.len()).collect();
        Ok(map_rows(samples, &rows, &self.device, &|chunk| self.codec.encode(chunk)))
    }

    /// Returns the samples that codes stand for: pixels between 0 and 1, or vectors.
    pub fn decode(&self, codes: &Points) -> Points {
        let mut values = Vec::with_capacity(codes.rows() * self.form.values());
        for chunk in codes.values().chunks(CHUNK * codes.width().max(1)) {
            let raw = self.codec.decode(self.table(chunk, codes.width()));
            values.extend(read(self.codec.output().values(raw)));
        }
        Points::from_rows(self.form.values(), values)
    }

    /// Tells `take` how the output decoded from each code changes along each direction: the place
    /// of the direction and one derivative for each value. Directions come as rows; for each of
    /// them, codes come in their order.
    pub fn differentiate(
        &self,
        codes: &Points,
        directions: &Points,
        output: DecoderOutput,
        take: &mut dyn FnMut(usize, &[f32]),
    ) {
        let width = codes.width().max(1);
        let is_image = self.codec.output() == Output::Logits && self.is_image(output);
        let values = self.form.values();
        for (part, rows) in directions.values().chunks(TANGENTS * width).enumerate() {
            let count = rows.len() / width;
            let along = self.table(rows, width);
            for chunk in codes.values().chunks((TANGENTS / count).max(1) * width) {
                let codes = self.table(chunk, width);
                let decoded = self.codec.decode_with_tangents(codes, along.clone());
                let decoded = if is_image { decoded.sigmoid() } else { decoded };
                let tangents = read(decoded.tangents);
                let per_direction = chunk.len() / width * values;
                for (direction, tangents) in tangents.chunks(per_direction).enumerate() {
                    for tangent in tangents.chunks(values) {
                        take(part * TANGENTS + direction, tangent);
                    }
                }
            }
        }
    }

    /// Returns the number of values that one code is decoded to.
    pub const fn values(&self) -> usize {
        self.form.values()
    }

    fn is_image(&self, output: DecoderOutput) -> bool {
        match output {
            DecoderOutput::AsTrained => matches!(
                self.reconstruction,
                Some(Reconstruction::SquaredError | Reconstruction::MeanSquaredError)
            ),
            DecoderOutput::Raw => false,
            DecoderOutput::Image => true,
        }
    }

    fn table(&self, values: &[f32], width: usize) -> Tensor<2> {
        let shape = [values.len() / width.max(1), width];
        send(values.to_vec(), shape, &self.device)
    }

    fn check(&self, samples: &SampleSet) -> Result<(), TrainError> {
        if samples.form() == self.form {
            Ok(())
        } else {
            Err(TrainError::OtherForm { expected: self.form, found: samples.form() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Annotations, ImageShape, Images};
    use crate::device::{reserved_memory, test_device};
    use crate::training::Fit;
    use crate::training::fixture::{Fixture, models, options};

    const MANY: NonZeroUsize = NonZeroUsize::new(1000).unwrap();

    fn loaded(fixture: &Fixture) -> LoadedModel {
        let Fit::Finished { model, .. } = fixture.run(None, 0) else { panic!("not finished") };
        model.load(test_device()).unwrap()
    }

    /// All derivatives: for each direction and then for each code, one for each value.
    fn jacobian(model: &LoadedModel, codes: &Points, output: DecoderOutput) -> Vec<Vec<f32>> {
        let width = codes.width();
        let unit = |at: usize| f32::from(u8::from(at / width == at % width));
        let directions = Points::from_rows(width, (0..width * width).map(unit).collect());
        let mut found = vec![Vec::new(); width];
        model.differentiate(codes, &directions, output, &mut |direction, tangent| {
            found[direction].extend_from_slice(tangent);
        });
        found
    }

    #[test]
    fn only_models_with_distributions_draw_their_codes() {
        for (name, model) in models() {
            let fixture = Fixture::with(model);
            let model = loaded(&fixture);
            let codes = model.encode(&fixture.samples).unwrap();
            let drawn = model.draw(&fixture.samples, MANY, Seed(1)).unwrap();
            assert_eq!(drawn.are_drawn, name.contains("Vae"), "{name}");
            assert_eq!(drawn.are_drawn, drawn.points != codes, "{name}");
            assert_eq!(drawn, model.draw(&fixture.samples, MANY, Seed(1)).unwrap(), "{name}");
            let few = NonZeroUsize::new(7).unwrap();
            assert_eq!(model.draw(&fixture.samples, few, Seed(1)).unwrap().points.rows(), 7);
        }
    }

    #[test]
    fn derivatives_agree_with_difference_quotients() {
        for (name, spec) in models() {
            let fixture = Fixture::with(spec);
            let model = loaded(&fixture);
            let codes = model.encode(&fixture.samples).unwrap();
            let tangents = jacobian(&model, &codes, DecoderOutput::Image);
            let (step, values) = (1e-3, model.values());
            for (coordinate, tangents) in tangents.iter().enumerate() {
                assert_eq!(tangents.len(), codes.rows() * values, "{name}");
                let moved = |by: f32| {
                    let mut moved = codes.clone();
                    let places = moved.values_mut().iter_mut().skip(coordinate);
                    places.step_by(codes.width()).for_each(|place| *place += by);
                    model.decode(&moved)
                };
                let (ahead, behind) = (moved(step), moved(-step));
                let quotient =
                    |at: usize| (ahead.values()[at] - behind.values()[at]) / (2.0 * step);
                let largest =
                    tangents.iter().fold(0.0_f32, |most, tangent| most.max(tangent.abs()));
                // A ReLU may turn within the step, at single places only.
                let is_off = |at: &usize| (quotient(*at) - tangents[*at]).abs() > 0.01 * largest;
                let off = (0..tangents.len()).filter(is_off).count();
                assert!(off * 50 < tangents.len(), "{name}: {off} of {}", tangents.len());
            }
        }
    }

    /// Alone in its process, on a GPU: others would hold memory, too.
    #[test]
    #[ignore = "takes minutes, and the device for itself"]
    fn the_memory_of_a_gpu_does_not_grow_with_the_codes() {
        for (of, channels, side, latent, most) in [
            ("Dsprites", 1, 64, 16, 1_000_000_000),
            ("CelebA, width: 0.1", 3, 64, 64, 1_000_000_000),
        ] {
            let shape = ImageShape { channels, height: side, width: side };
            let pixels = (0..2 * shape.pixels()).map(|at| (at * 89 % 251) as u8).collect();
            let images = Images::new(shape, pixels, Annotations::default()).unwrap();
            let mut fixture = Fixture::with(
                options()
                    .from_str(&format!("Ae(latent: {latent}, network: Paper(of: {of}))"))
                    .unwrap(),
            );
            fixture.samples = SampleSet::Images(images);
            fixture.spec.length = options().from_str("Steps(1)").unwrap();
            let model = loaded(&fixture);
            let directions = Points::from_rows(
                latent,
                (0..latent * latent)
                    .map(|at| f32::from(u8::from(at / latent == at % latent)))
                    .collect(),
            );
            let held = |codes: usize| {
                let values = (0..codes * latent).map(|at| (at as f32 * 0.7).sin()).collect();
                let (codes, mut seen) = (Points::from_rows(latent, values), 0);
                model.differentiate(&codes, &directions, DecoderOutput::Raw, &mut |_, _| seen += 1);
                assert_eq!(seen, codes.rows() * latent);
                reserved_memory(test_device()).expect("a GPU tells")
            };
            let chunk = TANGENTS / latent;
            let (first, last) = (held(chunk), held(3 * chunk));
            println!("Jacobians, {of}, {TANGENTS} derivatives at a time: {} MB", last / 1_000_000);
            assert!(last <= first + first / 10, "{of}: {first} and then {last}");
            assert!(last < most, "{of}: {last}");
        }
    }

    #[test]
    fn the_output_follows_the_loss_unless_it_is_chosen() {
        let network = "network: Conv(channels: [4, 6])";
        for (reconstruction, same) in
            [("CrossEntropy", DecoderOutput::Raw), ("SquaredError", DecoderOutput::Image)]
        {
            let text = format!("Ae(latent: 3, {network}, reconstruction: {reconstruction})");
            let fixture = Fixture::with(options().from_str(&text).unwrap());
            let model = loaded(&fixture);
            let codes = model.encode(&fixture.samples).unwrap();
            let trained = jacobian(&model, &codes, DecoderOutput::AsTrained);
            assert_eq!(trained, jacobian(&model, &codes, same));
            let raw = jacobian(&model, &codes, DecoderOutput::Raw);
            assert_ne!(raw, jacobian(&model, &codes, DecoderOutput::Image));
        }
    }
}
