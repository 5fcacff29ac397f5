//! Relevance: how much each coordinate of a code moves what is decoded from it.
//!
//! What: coordinate l has the score w_l v_l, its variance times its weight in the decoder's
//! Jacobian J, `[images, outputs, latent]`. The dimension is the smallest number of coordinates, by
//! falling score, whose share of all scores exceeds the threshold.
//! Reference: Saha, Joshi and Whitaker 2025 (ARD-VAE, arXiv 2501.10901). Its published code has
//! w_l = sum over outputs of (mean over images of |J|)^2, its text has w_l = mean over images of the
//! squared norm of J's column l; by Jensen's inequality the first is never larger.
//! Assumptions: the coordinates are the axes of interest. A rotation of the code changes the scores,
//! so models without preferred axes are turned to their principal ones first ([`Basis::Principal`]).
//! Checked against: hand-computed cases below, and NumPy on Jacobians of PyTorch
//! (tests/reference/jacobian.json).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::EstimateError;
use crate::numerics::units::Fraction;
use crate::numerics::{Points, PrincipalAxes};

/// How a coordinate is weighted by the Jacobian.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RelevanceForm {
    /// As in ARD-VAE's published code: absolute values, averaged over images, squared, summed.
    #[default]
    Code,
    /// As in ARD-VAE's text: squared norms, averaged over images.
    Paper,
}

/// Which coordinates are scored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Basis {
    /// The code's own coordinates.
    #[default]
    Own,
    /// Those along the principal axes of the codes, for models whose own coordinates mean nothing
    /// (IRMAE).
    Principal,
}

impl Basis {
    /// Returns the directions in which codes are scored, one unit vector after the other.
    pub fn directions(self, codes: &Points) -> Result<Points, EstimateError> {
        let width = codes.width();
        match self {
            Self::Own => {
                let entry = |at: usize| f32::from(u8::from(at / width == at % width));
                Ok(Points::from_rows(width, (0..width * width).map(entry).collect()))
            }
            Self::Principal => {
                let axes = PrincipalAxes::of_points(codes, width)?;
                Ok(Points::from_rows(width, axes.axes().to_vec()))
            }
        }
    }
}

/// Returns codes by their coordinates along directions.
pub fn rotated(codes: &Points, directions: &Points) -> Points {
    let along = |code: &[f32], direction: usize| {
        let products = code.iter().zip(directions.row(direction));
        products.map(|(&a, &b)| f64::from(a) * f64::from(b)).sum::<f64>() as f32
    };
    let rows = 0..codes.rows();
    let values =
        rows.flat_map(|row| (0..directions.rows()).map(move |at| along(codes.row(row), at)));
    Points::from_rows(directions.rows(), values.collect())
}

/// Adds up Jacobians, image by image, and becomes the weight of each coordinate.
#[derive(Clone, Debug)]
pub struct JacobianWeights {
    form: RelevanceForm,
    outputs: usize,
    images: usize,
    /// Under `Code` the sum of |J| for each coordinate and output, under `Paper` the sum of squares
    /// for each coordinate.
    sums: Vec<f64>,
}

impl JacobianWeights {
    /// Gets ready for Jacobians of so many coordinates and outputs, from so many images.
    pub fn new(form: RelevanceForm, latent: usize, outputs: usize, images: usize) -> Self {
        let sums = match form {
            RelevanceForm::Code => vec![0.0; latent * outputs],
            RelevanceForm::Paper => vec![0.0; latent],
        };
        Self { form, outputs, images, sums }
    }

    /// Adds how one image's outputs change along one coordinate.
    pub fn add(&mut self, coordinate: usize, tangent: &[f32]) {
        match self.form {
            RelevanceForm::Code => {
                let sums = &mut self.sums[coordinate * self.outputs..][..self.outputs];
                for (sum, &slope) in sums.iter_mut().zip(tangent) {
                    *sum += f64::from(slope).abs();
                }
            }
            RelevanceForm::Paper => {
                let squares = tangent.iter().map(|&slope| f64::from(slope).powi(2));
                self.sums[coordinate] += squares.sum::<f64>();
            }
        }
    }

    /// Returns the weight of each coordinate.
    pub fn weights(&self) -> Vec<f64> {
        let images = self.images.max(1) as f64;
        match self.form {
            RelevanceForm::Code => {
                let weight = |sums: &[f64]| sums.iter().map(|sum| (sum / images).powi(2)).sum();
                self.sums.chunks(self.outputs.max(1)).map(weight).collect()
            }
            RelevanceForm::Paper => self.sums.iter().map(|sum| sum / images).collect(),
        }
    }
}

/// The scores of coordinates.
#[derive(Clone, Debug, PartialEq)]
pub struct RelevanceScores {
    /// The score of each coordinate, in their own order.
    pub scores: Vec<f64>,
    /// The coordinates by falling score, counting from 0.
    pub order: Vec<usize>,
}

impl RelevanceScores {
    /// Multiplies weights with variances.
    pub fn new(weights: &[f64], variances: &[f64]) -> Result<Self, EstimateError> {
        let scores: Vec<f64> = weights.iter().zip(variances).map(|(w, v)| w * v).collect();
        if let Some(index) = scores.iter().position(|score| !score.is_finite()) {
            return Err(EstimateError::NonFiniteScore { coordinate: index + 1 });
        }
        if scores.iter().sum::<f64>() <= 0.0 {
            return Err(EstimateError::NoRelevance);
        }
        let mut order: Vec<usize> = (0..scores.len()).collect();
        order.sort_by(|&one, &other| scores[other].total_cmp(&scores[one]));
        Ok(Self { scores, order })
    }

    /// Counts the coordinates, by falling score, whose share of the total first exceeds the
    /// threshold; all of them if none does.
    pub fn count(&self, threshold: Fraction) -> usize {
        let total: f64 = self.order.iter().map(|&at| self.scores[at]).sum();
        let mut cumulative = 0.0;
        let mut exceeds = |&at: &usize| {
            cumulative += self.scores[at];
            cumulative / total > threshold.get()
        };
        self.order.iter().position(&mut exceeds).map_or(self.order.len(), |index| index + 1)
    }

    /// Returns the share of the total score that the first `count` coordinates hold.
    pub fn share(&self, count: usize) -> f64 {
        let sum = |places: &[usize]| places.iter().map(|&at| self.scores[at]).sum::<f64>();
        sum(&self.order[..count]) / sum(&self.order)
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    struct Reference {
        cases: Vec<Case>,
    }

    /// A Jacobian, `[images, outputs, latent]`, and what NumPy makes of it.
    #[derive(Deserialize)]
    struct Case {
        name: String,
        images: usize,
        latent: usize,
        jacobian: Vec<f32>,
        variances: Vec<f64>,
        scores_code: Vec<f64>,
        scores_paper: Vec<f64>,
        threshold: f64,
        counts: [usize; 2],
    }

    fn fraction(value: f64) -> Fraction {
        Fraction::new(value).unwrap()
    }

    fn weights(form: RelevanceForm, jacobian: &[f32], images: usize, latent: usize) -> Vec<f64> {
        let outputs = jacobian.len() / images / latent;
        let mut sums = JacobianWeights::new(form, latent, outputs, images);
        for image in jacobian.chunks(outputs * latent) {
            for coordinate in 0..latent {
                let column: Vec<f32> =
                    image.iter().skip(coordinate).step_by(latent).copied().collect();
                sums.add(coordinate, &column);
            }
        }
        sums.weights()
    }

    #[test]
    fn scores_and_counts_are_those_of_numpy() {
        let text =
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reference/jacobian.json"));
        let cases = serde_json::from_str::<Reference>(text).unwrap().cases;
        assert!(cases.len() >= 10, "{}", cases.len());
        for case in cases {
            let forms = [
                (RelevanceForm::Code, &case.scores_code),
                (RelevanceForm::Paper, &case.scores_paper),
            ];
            for ((form, expected), count) in forms.into_iter().zip(case.counts) {
                let weights = weights(form, &case.jacobian, case.images, case.latent);
                let found = RelevanceScores::new(&weights, &case.variances).unwrap();
                for (found, expected) in found.scores.iter().zip(expected) {
                    let close = (found - expected).abs() <= 1e-6 * expected;
                    assert!(close, "{}: {found} against {expected}", case.name);
                }
                assert_eq!(found.count(fraction(case.threshold)), count, "{}", case.name);
            }
        }
    }

    #[test]
    fn the_published_code_averages_before_it_squares_and_the_text_after() {
        // Two images, two outputs, one coordinate: |J| has the means 2 and 2, the squares 9 and 1.
        let jacobian = [3.0, -3.0, -1.0, 1.0];
        assert_eq!(weights(RelevanceForm::Code, &jacobian, 2, 1), [8.0]);
        assert_eq!(weights(RelevanceForm::Paper, &jacobian, 2, 1), [10.0]);
    }

    #[test]
    fn coordinates_are_counted_by_score_until_their_share_exceeds_the_threshold() {
        let found = RelevanceScores::new(&[1.0, 4.0, 1.0, 0.0], &[1.0, 1.5, 3.0, 9.0]).unwrap();
        assert_eq!(found.scores, [1.0, 6.0, 3.0, 0.0]);
        assert_eq!(found.order, [1, 2, 0, 3]);
        assert_eq!(found.count(fraction(0.59)), 1);
        assert_eq!(found.count(fraction(0.6)), 2, "a share equal to the threshold is not enough");
        assert_eq!(found.count(fraction(0.95)), 3);
        assert_eq!(found.count(fraction(1.0)), 4, "nothing exceeds all");
        assert!((found.share(2) - 0.9).abs() < 1e-12);
    }

    #[test]
    fn a_decoder_that_ignores_its_code_or_is_broken_has_no_scores() {
        let none = RelevanceScores::new(&[0.0, 0.0], &[1.0, 1.0]);
        assert_eq!(none, Err(EstimateError::NoRelevance));
        let broken = RelevanceScores::new(&[1.0, f64::NAN], &[1.0, 1.0]);
        assert_eq!(broken, Err(EstimateError::NonFiniteScore { coordinate: 2 }));
    }

    #[test]
    fn principal_directions_undo_a_rotation() {
        // A box with variances 16 and 9, turned by the angle with cosine 0.6 and sine 0.8.
        let corners = [(4.0, 3.0), (4.0, -3.0), (-4.0, 3.0), (-4.0, -3.0)];
        let turn = |(x, y): (f32, f32)| [0.6 * x - 0.8 * y, 0.8 * x + 0.6 * y];
        let codes = Points::from_rows(2, corners.map(turn).concat());
        let directions = Basis::Principal.directions(&codes).unwrap();
        let variances = rotated(&codes, &directions).variances();
        assert!((variances[0] - 16.0).abs() < 1e-5 && (variances[1] - 9.0).abs() < 1e-5);
        let own = Basis::Own.directions(&codes).unwrap();
        assert_eq!(rotated(&codes, &own), codes);
    }
}
