//! Points of shapes whose dimension is known, to check dimension estimators on.
//!
//! What: all generators of scikit-dimension 0.5.0 (its benchmark set of 24 shapes and the others),
//! any number of points, with noise and an embedding into more coordinates if wanted.
//! Reference: Bac et al. 2021, "Scikit-dimension"; Campadelli et al. 2015 for the benchmark.
//! Assumptions: points, embedding and noise draw from streams of their own, one point after the
//! other; so noise or an embedding never changes which points are drawn.
//! Checked against: tests/reference/manifolds.json, point by point and by mean and spread.

mod benchmark;
mod draws;
mod embedding;
mod formulas;
mod lorenz;
mod problems;
#[cfg(test)]
mod reference;
mod revolution;
mod sampling;
mod shape;

use std::num::NonZeroUsize;

use rand::{Rng, RngExt};
use rand_distr::StandardNormal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::embedding::Frame;
pub use self::revolution::{Axis, Profile};
pub use self::shape::{Density, ManifoldShape, Piece};
use crate::data::{
    Annotations, Classes, Content, DataError, DataSet, Extent, Factors, Files, SampleForm, Samples,
    Vectors,
};
use crate::numerics::units::PositiveF64;
use crate::numerics::{Points, Seed, memory};

/// Settings of a set of points, for instance `Manifold(shape: Sphere(dimension: 10, ambient: 11),
/// samples: 2500, seed: 0, noise: Gaussian(0.01))`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Manifold {
    /// What the points are drawn from.
    pub shape: ManifoldShape,
    /// Number of points.
    pub samples: NonZeroUsize,
    /// Random seed for the points, the noise and the embedding.
    pub seed: Seed,
    /// What is added to every coordinate, after the embedding.
    #[serde(default)]
    pub noise: Noise,
    /// Rotates the points at random into a space of this many coordinates; distances are preserved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embed: Option<NonZeroUsize>,
}

/// What is added to every coordinate of every point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub enum Noise {
    /// Nothing.
    #[default]
    None,
    /// Normal numbers of this standard deviation (`noise_type="normal"` of scikit-dimension).
    Gaussian(PositiveF64),
    /// Uniform numbers from minus to plus half of this width (`noise_type="uniform"`).
    Uniform(PositiveF64),
}

impl Noise {
    fn add(self, point: &mut [f64], rng: &mut impl Rng) {
        for value in point {
            *value += match self {
                Self::None => return,
                Self::Gaussian(deviation) => deviation.get() * rng.sample::<f64, _>(StandardNormal),
                Self::Uniform(width) => width.get() * (rng.random::<f64>() - 0.5),
            };
        }
    }
}

impl DataSet for Manifold {
    fn content(&self) -> Content {
        Content::Vectors
    }

    fn reads_files(&self) -> bool {
        false
    }

    /// Draws the points, with their places on the shape as factors `u1`, `u2`, ... where the shape
    /// has such, and their pieces as classes where it is made of several.
    fn open(&self, _files: &Files) -> Result<Samples, DataError> {
        let problems = self.problems();
        if !problems.is_empty() {
            return Err(DataError::Unfit(problems.join("; ")));
        }
        let count = self.samples.get();
        // Double precision while they are drawn, single precision when they are done.
        let bytes = (size_of::<f64>() + size_of::<f32>()).saturating_mul(self.width());
        memory::check_values::<u8>(count.saturating_mul(bytes)).map_err(|size| {
            let what = format!("{count} points of {} coordinates", self.width());
            DataError::TooLarge { what, size, advice: "lower `samples`" }
        })?;
        let sample = self.shape.sample(count, &mut self.seed.stream("manifold"));
        let annotations = Annotations {
            factors: Factors {
                names: (1..=self.shape.latent_count()).map(|number| format!("u{number}")).collect(),
                values: sample.latents.iter().map(|&value| value as f32).collect(),
            },
            classes: (!sample.pieces.is_empty()).then(|| Classes {
                names: self.shape.pieces().iter().map(|piece| piece.name.to_owned()).collect(),
                values: sample.pieces,
            }),
        };
        let points = Points::from_rows(self.width(), self.finish(&sample.coordinates));
        Ok(Samples::Vectors(Vectors::new(points, annotations)?, None))
    }

    fn extent(&self) -> Option<Extent> {
        let form = SampleForm::Vector { width: self.width() };
        Some(Extent::new(self.samples.get(), form))
    }

    fn problems(&self) -> Vec<String> {
        problems::of_settings(self)
    }
}

impl Manifold {
    /// Returns the number of coordinates of each point.
    fn width(&self) -> usize {
        self.embed.map_or_else(|| self.shape.ambient(), NonZeroUsize::get)
    }

    /// Embeds the points and adds noise.
    fn finish(&self, coordinates: &[f64]) -> Vec<f32> {
        let (own, width) = (self.shape.ambient(), self.width());
        let frame = self
            .embed
            .map(|_| Frame::random(width, own, &mut self.seed.stream("manifold/embedding")));
        let mut noise_rng = self.seed.stream("manifold/noise");
        let mut finished = Vec::with_capacity(self.samples.get() * width);
        let mut row = vec![0.0; width];
        for point in coordinates.chunks_exact(own) {
            if let Some(frame) = &frame {
                row.fill(0.0);
                frame.turn(point, &mut row);
            } else {
                row.copy_from_slice(point);
            }
            self.noise.add(&mut row, &mut noise_rng);
            finished.extend(row.iter().map(|&value| value as f32));
        }
        finished
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerics::memory::pretended::with_available;

    fn manifold(text: &str) -> Manifold {
        let options = ron::Options::default()
            .with_default_extension(ron::extensions::Extensions::IMPLICIT_SOME)
            .with_default_extension(ron::extensions::Extensions::UNWRAP_VARIANT_NEWTYPES);
        options.from_str(text).unwrap()
    }

    fn opened(text: &str) -> Vectors {
        let Samples::Vectors(vectors, None) = manifold(text).open(&Files::default()).unwrap()
        else {
            panic!("points are vectors, and nobody has split them")
        };
        vectors
    }

    fn distance(points: &Points, left: usize, right: usize) -> f32 {
        let squares = points.row(left).iter().zip(points.row(right)).map(|(a, b)| (a - b).powi(2));
        squares.sum::<f32>().sqrt()
    }

    #[test]
    fn equal_settings_give_equal_points_and_another_seed_gives_others() {
        let text = "(shape: SwissRoll, samples: 20, seed: 4, noise: Uniform(0.1), embed: 9)";
        assert_eq!(opened(text), opened(text));
        assert_ne!(opened(text), opened(&text.replace("seed: 4", "seed: 5")));
    }

    #[test]
    fn first_points_are_pinned_because_cached_results_depend_on_them() {
        for (shape, pinned) in [
            ("Sphere(dimension: 1, ambient: 2)", [-0.706_050_9, 0.708_161_1]),
            ("Beta(dimension: 1)", [0.825_575_9, 0.979_408_9]),
            ("Paraboloid(dimension: 1)", [0.001_899_593_5, 3.608_455_5e-6]),
        ] {
            let points = opened(&format!("(shape: {shape}, samples: 2, seed: 0)"));
            let found = &points.points().row(0)[..2];
            let apart = found.iter().zip(pinned).map(|(a, b): (&f32, f32)| (a - b).abs());
            assert!(apart.sum::<f32>() < 1e-6, "{shape}: {found:?}");
        }
    }

    #[test]
    fn settings_survive_being_written_and_read() {
        let settings = manifold(
            "(shape: Product(first: Torus(tube: 0.5), second: Revolution(
                profile: Polyline([(0, 1), (2, 3)]), axis: Y)),
              samples: 3, seed: 1, noise: Gaussian(0.5), embed: 12)",
        );
        assert!(settings.problems().is_empty());
        let written = ron::to_string(&settings).unwrap();
        assert_eq!(ron::from_str::<Manifold>(&written).unwrap(), settings);
    }

    #[test]
    fn an_embedding_keeps_every_distance() {
        let plain = opened("(shape: Moebius, samples: 30, seed: 2)");
        let embedded = opened("(shape: Moebius, samples: 30, seed: 2, embed: 50)");
        assert_eq!(embedded.points().width(), 50);
        assert_eq!(plain.annotations(), embedded.annotations());
        for other in 1..30 {
            let (before, after) =
                (distance(plain.points(), 0, other), distance(embedded.points(), 0, other));
            assert!((before - after).abs() < 1e-5, "{before} {after}");
        }
    }

    #[test]
    fn noise_has_the_stated_size_and_leaves_the_points_below_it_as_they_are() {
        let plain = opened("(shape: Spiral(ambient: 13), samples: 4000, seed: 2)");
        // Uniform noise of width 1 has a standard deviation of 1 / sqrt(12).
        for (noise, deviation) in [("Gaussian(0.5)", 0.5), ("Uniform(1)", 0.288_675)] {
            let noisy = opened(&format!(
                "(shape: Spiral(ambient: 13), samples: 4000, seed: 2, noise: {noise})"
            ));
            let values = plain.points().values().iter().zip(noisy.points().values());
            let added: Vec<f64> = values.map(|(before, after)| f64::from(after - before)).collect();
            let squares: f64 = added.iter().map(|value| value * value).sum();
            let found = (squares / added.len() as f64).sqrt();
            // 52,000 numbers: the standard error of the deviation is 0.3 % at most.
            assert!((found / deviation - 1.0).abs() < 0.015, "{noise}: {found}");
            assert!(added.iter().sum::<f64>().abs() / (added.len() as f64) < 0.015);
        }
    }

    #[test]
    fn factors_are_the_places_on_the_shape() {
        let roll = opened("(shape: SwissRoll, samples: 50, seed: 0)");
        let factors = &roll.annotations().factors;
        assert_eq!(factors.names, ["u1", "u2"]);
        for row in 0..50 {
            assert!((roll.points().row(row)[1] - 21.0 * factors.row(row)[1]).abs() < 1e-4);
        }
        let paraboloid = opened("(shape: Paraboloid(dimension: 3), samples: 5, seed: 0)");
        assert_eq!(paraboloid.annotations().factors.row(4), &paraboloid.points().row(4)[..3]);
        let sphere = opened("(shape: Sphere(dimension: 2, ambient: 3), samples: 5, seed: 0)");
        assert!(sphere.annotations().factors.names.is_empty());
    }

    #[test]
    fn pieces_of_different_dimension_are_classes() {
        let both = opened("(shape: SwissRollAndSphere(sphere: 0.3), samples: 10, seed: 0)");
        let classes = both.annotations().classes.as_ref().unwrap();
        assert_eq!(classes.names, ["roll", "sphere"]);
        assert_eq!(classes.values, [0, 0, 0, 0, 0, 0, 0, 1, 1, 1]);
        for row in 7..10 {
            let squared: f32 = both.points().row(row).iter().map(|value| value * value).sum();
            assert!((squared - 1.0).abs() < 1e-5);
        }
        assert!(both.points().row(0)[3].abs() < f32::EPSILON);
    }

    #[test]
    fn more_points_than_there_is_memory_for_are_refused_with_their_size() {
        let settings = manifold("(shape: SwissRoll, samples: 100, seed: 0)");
        let open =
            |available| with_available(available, || settings.open(&Files::default()).map(|_| ()));
        assert!(open(100 * 3 * 12).is_ok());
        assert_eq!(
            open(100 * 3 * 12 - 1).unwrap_err().to_string(),
            "100 points of 3 coordinates would take 0.0 GB of memory, but only 0.0 GB is \
             available: lower `samples`"
        );
    }

    #[test]
    fn a_product_pairs_its_shapes_at_random() {
        let twice =
            opened("(shape: Product(first: Lorenz(), second: Lorenz()), samples: 500, seed: 0)");
        assert_eq!(twice.points().width(), 6);
        let paired_with_itself = (0..500)
            .filter(|&row| twice.points().row(row)[..3] == twice.points().row(row)[3..])
            .count();
        // A random order leaves one in its place on average.
        assert!(paired_with_itself < 8, "{paired_with_itself}");
    }

    #[test]
    fn a_single_point_can_be_drawn_from_every_benchmark_shape() {
        for (name, shape) in ManifoldShape::benchmark() {
            let settings = Manifold {
                shape,
                samples: NonZeroUsize::MIN,
                seed: Seed(0),
                noise: Noise::None,
                embed: None,
            };
            let Ok(Samples::Vectors(vectors, None)) = settings.open(&Files::default()) else {
                panic!("{name}")
            };
            assert!(vectors.points().values().iter().all(|value| value.is_finite()), "{name}");
        }
    }
}
