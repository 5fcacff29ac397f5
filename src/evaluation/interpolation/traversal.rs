//! Latent traversals: codes in which one coordinate after the other varies.
//!
//! What: each path varies one coordinate in equal steps, in standard deviations over all samples,
//! around the mean code or around the code of one sample; the other coordinates stay as they are.
//! Checked against: hand-computed codes (tests below).

use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{InterpolationError, Varying, dot, moved};
use crate::numerics::Points;
use crate::numerics::units::PositiveF64;

/// One coordinate at a time, for instance `Traversal(images: 9, range: 2.0)`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Traversal {
    /// Images of each coordinate, both ends included.
    pub images: NonZeroUsize,
    /// Range of each coordinate to both sides, in its standard deviations.
    #[serde(default = "two")]
    pub range: PositiveF64,
    /// The code in the middle.
    #[serde(default)]
    pub around: Around,
}

fn two() -> PositiveF64 {
    PositiveF64::new(2.0).unwrap_or_else(|_| unreachable!("2 is positive"))
}

/// The code that a traversal goes around.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Around {
    /// The mean of all codes.
    #[default]
    Mean,
    /// The code of the sample in this row, counted from 0.
    Row(usize),
}

/// A code in which one coordinate was changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TraversalPoint {
    /// The coordinate, counted from 0.
    pub coordinate: usize,
    /// How far it was moved, in its standard deviations.
    pub deviations: f64,
}

impl Traversal {
    /// Returns all changes, coordinate by coordinate.
    pub fn points(&self, varying: &Varying) -> Vec<TraversalPoint> {
        let last = self.images.get() - 1;
        let range = self.range.get();
        let step = |place: usize| match last {
            0 => 0.0,
            _ => range * (2.0 * place as f64 / last as f64 - 1.0),
        };
        let path = |&coordinate: &usize| {
            (0..=last).map(move |place| TraversalPoint { coordinate, deviations: step(place) })
        };
        varying.coordinates.iter().flat_map(path).collect()
    }

    /// Returns the changed codes.
    pub fn codes(
        &self,
        points: &[TraversalPoint],
        codes: &Points,
        varying: &Varying,
    ) -> Result<Points, InterpolationError> {
        let middle: Vec<f64> = match self.around {
            Around::Mean => codes.means(),
            Around::Row(row) if row < codes.rows() => {
                codes.row(row).iter().copied().map(f64::from).collect()
            }
            Around::Row(row) => {
                return Err(InterpolationError::NoRow { row, samples: codes.rows() });
            }
        };
        let variances = varying.variances(codes);
        let mut values = Vec::with_capacity(points.len() * codes.width());
        for TraversalPoint { coordinate, deviations } in points {
            let mut code = middle.clone();
            let by = deviations * variances[*coordinate].sqrt();
            match &varying.axes {
                None => code[*coordinate] += by,
                Some(axes) => moved(&mut code, axes.row(*coordinate), by),
            }
            values.extend(code.into_iter().map(|value| value as f32));
        }
        Ok(Points::from_rows(codes.width(), values))
    }
}

impl Varying {
    /// Returns the variance of codes in every coordinate.
    fn variances(&self, codes: &Points) -> Vec<f64> {
        let Some(axes) = &self.axes else { return codes.variances() };
        let means = codes.means();
        let along = |axis: usize| {
            let square = |row: usize| {
                let apart = codes.row(row).iter().zip(&means);
                dot(apart.map(|(&value, mean)| f64::from(value) - mean), axes.row(axis)).powi(2)
            };
            (0..codes.rows()).map(square).sum::<f64>() / codes.rows().max(1) as f64
        };
        (0..axes.rows()).map(along).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(settings: &str) -> Result<Points, InterpolationError> {
        let traversal: Traversal = ron::from_str(settings).unwrap();
        // Means 2 and 10, standard deviations 2 and 0.
        let codes = Points::from_rows(2, vec![0.0, 10.0, 4.0, 10.0]);
        let varying = Varying { coordinates: vec![1, 0], axes: None };
        traversal.codes(&traversal.points(&varying), &codes, &varying)
    }

    #[test]
    fn a_traversal_may_go_along_other_axes() {
        let traversal: Traversal = ron::from_str("(images: 2, range: 1.0)").unwrap();
        // Mean (2, 10); along (0.6, 0.8) the standard deviation is 1.2.
        let codes = Points::from_rows(2, vec![0.0, 10.0, 4.0, 10.0]);
        let axes = Points::from_rows(2, vec![0.6, 0.8, -0.8, 0.6]);
        let varying = Varying { coordinates: vec![0], axes: Some(axes) };
        let found = traversal.codes(&traversal.points(&varying), &codes, &varying).unwrap();
        let expected = [2.0 - 0.72, 10.0 - 0.96, 2.0 + 0.72, 10.0 + 0.96];
        let mut pairs = found.values().iter().zip(expected);
        assert!(pairs.all(|(one, other)| (one - other).abs() < 1e-5), "{found:?}");
    }

    #[test]
    fn one_coordinate_at_a_time_goes_to_both_sides_of_the_mean() {
        let found = codes("(images: 3, range: 1.5)").unwrap();
        assert_eq!(
            found.values(),
            [2.0, 10.0, 2.0, 10.0, 2.0, 10.0, -1.0, 10.0, 2.0, 10.0, 5.0, 10.0]
        );
    }

    #[test]
    fn the_middle_may_be_the_code_of_a_sample() {
        let found = codes("(images: 1, around: Row(1))").unwrap();
        assert_eq!(found.values(), [4.0, 10.0, 4.0, 10.0]);
        assert_eq!(
            codes("(images: 1, around: Row(2))").unwrap_err().to_string(),
            "row 2 is requested, but there are 2 samples, counted from 0"
        );
    }
}
