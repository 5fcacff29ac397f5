//! Codes between codes: mid-points of random pairs, paths with both ends, and traversals.
//!
//! What: straight lines between the codes of two samples. Only some coordinates may vary, those of the
//! code itself or those along other axes; the others then have their mean over all samples, or are 0.
//! Reference: mid-points of random pairs as in the evaluation of RAE (Ghosh et al. 2020), paths as in
//! the paper's figure of interpolations. That the coordinates left out have their mean is our
//! reading of the paper's "using only the top-k latent coordinates"; an HAE is trained with zeros
//! behind each prefix.
//! Checked against: hand-computed codes (tests below), and along principal axes NumPy
//! (tests/reference/interpolation.json, see `stages`).

mod traversal;

use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::numerics::{Points, Seed, rng};

pub use traversal::{Around, Traversal, TraversalPoint};

/// Says why there are no codes between codes.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum InterpolationError {
    /// Pairs need two samples.
    #[error("random pairs need at least 2 samples, found {found}")]
    TooFewSamples {
        /// Number of samples.
        found: usize,
    },
    /// A chosen row is not there.
    #[error("row {row} is requested, but there are {samples} samples, counted from 0")]
    NoRow {
        /// The row.
        row: usize,
        /// Number of samples.
        samples: usize,
    },
    /// More coordinates are to vary than there are.
    #[error("{asked} coordinates should vary, but a code has {width}")]
    TooManyCoordinates {
        /// Coordinates asked for.
        asked: usize,
        /// Coordinates of a code.
        width: usize,
    },
    /// Another number of scores than coordinates.
    #[error("there are {scores} scores, but a code has {width} coordinates")]
    OtherScores {
        /// Number of scores.
        scores: usize,
        /// Coordinates of a code.
        width: usize,
    },
}

/// Which codes are decoded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub enum Between {
    /// In the middle between the two codes of random pairs.
    Midpoints {
        /// Number of pairs.
        count: NonZeroUsize,
        /// Random seed for choosing the pairs.
        seed: Seed,
    },
    /// At equal steps from one code to the other, for random pairs.
    Paths {
        /// Number of pairs.
        pairs: NonZeroUsize,
        /// Images on each path, both ends included.
        images: NonZeroUsize,
        /// Random seed for choosing the pairs.
        seed: Seed,
    },
    /// At equal steps from one code to the other, for chosen pairs.
    Rows {
        /// The rows of the two samples, counted from 0.
        pairs: Vec<(usize, usize)>,
        /// Images on each path, both ends included.
        images: NonZeroUsize,
    },
    /// At the codes of random samples themselves, each at most once.
    Samples {
        /// Number of samples, at most.
        count: NonZeroUsize,
        /// Random seed for choosing the samples.
        seed: Seed,
    },
    /// Around one code, one coordinate at a time.
    Traversal(Traversal),
}

/// A code between two codes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathPoint {
    /// The path or pair it belongs to, counted from 0.
    pub path: usize,
    /// Row of the sample that the path starts from.
    pub from: usize,
    /// Row of the sample that the path leads to.
    pub to: usize,
    /// How far it is on the way, from 0 to 1.
    pub share: f64,
}

impl Between {
    /// Returns all places, path by path; a traversal lies between no two samples and has none.
    pub fn places(&self, samples: usize) -> Result<Vec<PathPoint>, InterpolationError> {
        match self {
            Self::Midpoints { count, seed } => {
                let pairs = random_pairs(count.get(), samples, *seed)?;
                Ok(on_paths(&pairs, &[0.5]))
            }
            Self::Paths { pairs, images, seed } => {
                let pairs = random_pairs(pairs.get(), samples, *seed)?;
                Ok(on_paths(&pairs, &shares(*images)))
            }
            Self::Rows { pairs, images } => {
                let mut rows = pairs.iter().flat_map(|&(from, to)| [from, to]);
                match rows.find(|&row| row >= samples) {
                    Some(row) => Err(InterpolationError::NoRow { row, samples }),
                    None => Ok(on_paths(pairs, &shares(*images))),
                }
            }
            Self::Samples { count, seed } => {
                let mut rows = rng::permutation(samples, &mut seed.stream("samples"));
                rows.truncate(count.get());
                let pairs: Vec<(usize, usize)> = rows.into_iter().map(|row| (row, row)).collect();
                Ok(on_paths(&pairs, &[0.0]))
            }
            Self::Traversal(_) => Ok(Vec::new()),
        }
    }
}

/// Returns how far each code of a path is on the way.
fn shares(images: NonZeroUsize) -> Vec<f64> {
    let last = images.get() - 1;
    (0..=last).map(|place| place as f64 / last.max(1) as f64).collect()
}

fn on_paths(pairs: &[(usize, usize)], shares: &[f64]) -> Vec<PathPoint> {
    let path = |(path, &(from, to)): (usize, &(usize, usize))| {
        shares.iter().map(move |&share| PathPoint { path, from, to, share })
    };
    pairs.iter().enumerate().flat_map(path).collect()
}

fn random_pairs(
    count: usize,
    samples: usize,
    seed: Seed,
) -> Result<Vec<(usize, usize)>, InterpolationError> {
    let too_few = InterpolationError::TooFewSamples { found: samples };
    rng::random_pairs(samples, count, seed).ok_or(too_few)
}

/// Returns the coordinates with the highest scores, best first; of equal ones the first.
pub fn highest(
    scores: &[f64],
    count: usize,
    width: usize,
) -> Result<Vec<usize>, InterpolationError> {
    if scores.len() != width {
        return Err(InterpolationError::OtherScores { scores: scores.len(), width });
    }
    if count > width {
        return Err(InterpolationError::TooManyCoordinates { asked: count, width });
    }
    let mut order: Vec<usize> = (0..width).collect();
    order.sort_by(|&one, &other| scores[other].total_cmp(&scores[one]));
    order.truncate(count);
    Ok(order)
}

/// Returns the first coordinates of a code.
pub fn first(count: usize, width: usize) -> Result<Vec<usize>, InterpolationError> {
    if count > width {
        return Err(InterpolationError::TooManyCoordinates { asked: count, width });
    }
    Ok((0..count).collect())
}

/// What coordinates become that do not vary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Others {
    /// Their mean over all samples.
    #[default]
    Mean,
    /// 0, as behind the prefixes that a hierarchical autoencoder is trained with.
    Zero,
}

impl Others {
    /// Returns whether coordinates get their mean.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    pub(crate) fn is_mean(&self) -> bool {
        *self == Self::Mean
    }
}

/// The coordinates that vary.
#[derive(Clone, Debug, PartialEq)]
pub struct Varying {
    /// The coordinates, counted from 0.
    pub coordinates: Vec<usize>,
    /// The axes of all coordinates, unit vectors at right angles; those of the code itself if none.
    pub axes: Option<Points>,
}

impl Varying {
    /// Returns the codes at some places; `others` is what the coordinates become that do not vary.
    pub fn codes_at(&self, places: &[PathPoint], codes: &Points, others: Others) -> Points {
        let base = match others {
            Others::Mean => codes.means(),
            Others::Zero => vec![0.0; codes.width()],
        };
        let mut values = Vec::with_capacity(places.len() * codes.width());
        for place in places {
            let ends = codes.row(place.from).iter().zip(codes.row(place.to));
            let between = ends.map(|(&from, &to)| {
                (1.0 - place.share) * f64::from(from) + place.share * f64::from(to)
            });
            let code: Vec<f64> = between.collect();
            values.extend(self.kept(&code, &base).into_iter().map(|value| value as f32));
        }
        Points::from_rows(codes.width(), values)
    }

    /// Returns `base` with the coordinates of `code` where they vary.
    fn kept(&self, code: &[f64], base: &[f64]) -> Vec<f64> {
        let mut kept = base.to_vec();
        for &coordinate in &self.coordinates {
            match &self.axes {
                None => kept[coordinate] = code[coordinate],
                Some(axes) => {
                    let axis = axes.row(coordinate);
                    let apart = code.iter().zip(base).map(|(value, base)| value - base);
                    let far = dot(apart, axis);
                    moved(&mut kept, axis, far);
                }
            }
        }
        kept
    }
}

fn dot(values: impl Iterator<Item = f64>, axis: &[f32]) -> f64 {
    values.zip(axis).map(|(value, &entry)| value * f64::from(entry)).sum()
}

/// Moves a code along an axis.
fn moved(code: &mut [f64], axis: &[f32], by: f64) {
    for (value, &entry) in code.iter_mut().zip(axis) {
        *value += by * f64::from(entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(text: &str) -> Between {
        ron::from_str(text).unwrap()
    }

    fn codes_at(places: &[PathPoint], codes: &Points, varying: &[usize]) -> Points {
        let varying = Varying { coordinates: varying.to_vec(), axes: None };
        varying.codes_at(places, codes, Others::Mean)
    }

    fn codes() -> Points {
        Points::from_rows(2, vec![0.0, 10.0, 4.0, 20.0, 8.0, 60.0])
    }

    #[test]
    fn a_path_goes_from_one_code_to_the_other_in_equal_steps() {
        let places = between("Rows(pairs: [(0, 1), (2, 0)], images: 3)").places(3).unwrap();
        let found = codes_at(&places, &codes(), &[0, 1]);
        assert_eq!(
            found.values(),
            [0.0, 10.0, 2.0, 15.0, 4.0, 20.0, 8.0, 60.0, 4.0, 35.0, 0.0, 10.0]
        );
        let paths: Vec<usize> = places.iter().map(|place| place.path).collect();
        assert_eq!(paths, [0, 0, 0, 1, 1, 1]);
    }

    #[test]
    fn coordinates_that_do_not_vary_have_their_mean() {
        let places = between("Rows(pairs: [(0, 1)], images: 2)").places(3).unwrap();
        assert_eq!(codes_at(&places, &codes(), &[0]).values(), [0.0, 30.0, 4.0, 30.0]);
        assert_eq!(codes_at(&places, &codes(), &[]).values(), [4.0, 30.0, 4.0, 30.0]);
    }

    #[test]
    fn coordinates_that_do_not_vary_may_be_zero() {
        let places = between("Rows(pairs: [(0, 1)], images: 2)").places(3).unwrap();
        let first = Varying { coordinates: vec![0], axes: None };
        let found = first.codes_at(&places, &codes(), Others::Zero);
        assert_eq!(found.values(), [0.0, 0.0, 4.0, 0.0]);
    }

    #[test]
    fn coordinates_along_other_axes_leave_the_rest_of_a_code_at_its_mean_or_at_zero() {
        let places = between("Rows(pairs: [(0, 1)], images: 2)").places(3).unwrap();
        let axes = Points::from_rows(2, vec![0.6, 0.8, -0.8, 0.6]);
        let found = |coordinates: &[usize], others| {
            let varying = Varying { coordinates: coordinates.to_vec(), axes: Some(axes.clone()) };
            varying.codes_at(&places, &codes(), others)
        };
        let close = |found: &Points, expected: [f32; 4]| {
            let mut pairs = found.values().iter().zip(expected);
            assert!(pairs.all(|(one, other)| (one - other).abs() < 1e-5), "{found:?}");
        };
        // The codes (0, 10) and (4, 20) have 8 and 18.4 along the first axis, the mean 26.4.
        close(&found(&[0], Others::Zero), [4.8, 6.4, 11.04, 14.72]);
        close(&found(&[0], Others::Mean), [-7.04, 15.28, -0.8, 23.6]);
        for others in [Others::Zero, Others::Mean] {
            close(&found(&[1, 0], others), [0.0, 10.0, 4.0, 20.0]);
        }
    }

    #[test]
    fn random_pairs_are_of_different_samples_and_follow_the_seed() {
        let places =
            |seed| between(&format!("Midpoints(count: 500, seed: {seed})")).places(4).unwrap();
        let drawn = places(0);
        assert_eq!(drawn.len(), 500);
        assert!(drawn.iter().all(|place| place.from != place.to && place.to < 4));
        assert!(drawn.iter().all(|place| (place.share - 0.5).abs() < 1e-12));
        for row in 0..4 {
            // Each of 4 rows should come 125 times: 9.7 is the standard deviation.
            let count = drawn.iter().filter(|place| place.to == row).count();
            assert!(count.abs_diff(125) < 50, "{count}");
        }
        assert_eq!(drawn, places(0));
        assert_ne!(drawn, places(1));
    }

    #[test]
    fn samples_are_drawn_once_each_and_keep_their_own_codes() {
        let places = between("Samples(count: 9, seed: 1)").places(3).unwrap();
        let mut rows: Vec<usize> = places.iter().map(|place| place.to).collect();
        let expected: Vec<f32> = rows.iter().flat_map(|&row| codes().row(row).to_vec()).collect();
        assert_eq!(codes_at(&places, &codes(), &[0, 1]).values(), expected);
        rows.sort_unstable();
        assert_eq!(rows, [0, 1, 2]);
    }

    #[test]
    fn a_path_of_one_step_is_its_start() {
        let places = between("Paths(pairs: 1, images: 1, seed: 0)").places(2).unwrap();
        assert_eq!(places.len(), 1);
        assert!(places[0].share.abs() < 1e-12);
    }

    #[test]
    fn the_most_relevant_coordinates_are_those_with_the_highest_scores() {
        assert_eq!(highest(&[0.1, 3.0, 0.5, 3.0], 3, 4), Ok(vec![1, 3, 2]));
        assert_eq!(first(2, 4), Ok(vec![0, 1]));
        assert_eq!(
            highest(&[0.1, 3.0], 1, 4).unwrap_err().to_string(),
            "there are 2 scores, but a code has 4 coordinates"
        );
        for refused in [highest(&[1.0; 4], 5, 4), first(5, 4)] {
            assert_eq!(
                refused.unwrap_err().to_string(),
                "5 coordinates should vary, but a code has 4"
            );
        }
    }

    #[test]
    fn samples_that_are_not_there_are_refused() {
        let refused = |text, samples| between(text).places(samples).unwrap_err().to_string();
        assert_eq!(
            refused("Rows(pairs: [(0, 3)], images: 2)", 3),
            "row 3 is requested, but there are 3 samples, counted from 0"
        );
        assert_eq!(
            refused("Midpoints(count: 2, seed: 0)", 1),
            "random pairs need at least 2 samples, found 1"
        );
    }
}
