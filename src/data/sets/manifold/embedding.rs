//! Turns points into a space of more coordinates without changing any distance.

use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

/// Orthonormal directions in a space, one for each coordinate of the points to turn.
pub(super) struct Frame {
    width: usize,
    directions: Vec<f64>,
}

impl Frame {
    /// Draws `count` orthonormal directions of length `width`, all orientations equally likely.
    ///
    /// There must be at most `width` of them.
    pub(super) fn random(width: usize, count: usize, rng: &mut impl Rng) -> Self {
        let mut directions: Vec<f64> = Vec::with_capacity(width * count);
        for _ in 0..count {
            let mut next: Vec<f64> = StandardNormal.sample_iter(&mut *rng).take(width).collect();
            // Once more, because the first pass leaves what rounding lets through.
            for _ in 0..2 {
                for earlier in directions.chunks_exact(width) {
                    let along = dot(&next, earlier);
                    next.iter_mut().zip(earlier).for_each(|(value, part)| *value -= along * part);
                }
                let length = dot(&next, &next).sqrt();
                for value in &mut next {
                    *value /= length;
                }
            }
            directions.extend(next);
        }
        Self { width, directions }
    }

    /// Adds the turned point to `turned`.
    pub(super) fn turn(&self, point: &[f64], turned: &mut [f64]) {
        for (&coordinate, direction) in point.iter().zip(self.directions.chunks_exact(self.width)) {
            turned.iter_mut().zip(direction).for_each(|(sum, part)| *sum += coordinate * part);
        }
    }
}

fn dot(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerics::Seed;

    #[test]
    fn directions_are_orthonormal_even_when_they_fill_the_space() {
        let frame = Frame::random(40, 40, &mut Seed(3).stream("frame"));
        for (i, left) in frame.directions.chunks_exact(40).enumerate() {
            for (j, right) in frame.directions.chunks_exact(40).enumerate() {
                let expected = if i == j { 1.0 } else { 0.0 };
                assert!((dot(left, right) - expected).abs() < 1e-12, "{i} {j}");
            }
        }
    }

    #[test]
    fn a_turned_point_keeps_its_length() {
        let frame = Frame::random(7, 2, &mut Seed(0).stream("frame"));
        let mut turned = [0.0; 7];
        frame.turn(&[3.0, 4.0], &mut turned);
        assert!((dot(&turned, &turned) - 25.0).abs() < 1e-12);
        assert!(turned.iter().all(|value| value.abs() > 1e-6));
    }
}
