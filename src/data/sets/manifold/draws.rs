//! The random numbers behind one point of each shape, and which of them are kept.
//!
//! What: independent uniform, normal, exponential or Beta numbers; where a shape is to be covered
//! evenly, a draw is kept with a probability in proportion to the area around its point.
//! Reference: scikit-dimension 0.5.0, `datasets`; the same distributions in the same order.
//! Assumptions: shapes and their settings have no [problems](super::problems::of_settings), else
//! drawing might go on for ever.
//! Checked against: draws that scikit-dimension kept or refused (tests/reference/manifolds.json).

use std::f64::consts::{PI, TAU};

use rand::{Rng, RngExt};
use rand_distr::{Beta, Distribution, Exp1, StandardNormal, StandardUniform};

use super::shape::{Density, ManifoldShape};

/// The line, disk, ball and second line of 123 draws, before corners are cut off disk and ball.
const LINE_DISK_BALL_LINE: [f64; 4] = [5.0, 13.0, 100.0, 5.0];

/// Where a point stands in its set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// Place of the point.
    pub(super) index: usize,
    /// Number of points.
    pub(super) count: usize,
}

/// The part of a line, disk and ball on end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chain {
    /// The line at the bottom.
    Line,
    /// The disk on it.
    Disk,
    /// The ball on that.
    Ball,
    /// The line at the top.
    TopLine,
}

impl Chain {
    /// Returns the part that a uniform number chooses.
    pub(super) fn chosen_by(uniform: f64) -> Self {
        let [line, disk, ball, top] = LINE_DISK_BALL_LINE;
        let place = uniform * (line + disk + ball + top);
        if place < line {
            Self::Line
        } else if place < line + disk {
            Self::Disk
        } else if place < line + disk + ball {
            Self::Ball
        } else {
            Self::TopLine
        }
    }
}

impl ManifoldShape {
    /// Returns how many random numbers are behind a point.
    pub(super) fn draw_count(&self) -> usize {
        match self {
            Self::Sphere { dimension, .. }
            | Self::Ball { dimension, .. }
            | Self::CubeSurface { dimension, .. }
            | Self::Paraboloid { dimension } => dimension.get() + 1,
            Self::LineDiskBall | Self::SwissRollAndSphere { .. } => 4,
            Self::Lorenz { .. } => 0,
            _ => self.dimension(),
        }
    }

    /// Draws the random numbers behind one point.
    pub(super) fn draw(&self, row: Row, rng: &mut impl Rng, draws: &mut [f64]) {
        loop {
            self.propose(row, rng, draws);
            let kept = self
                .acceptance(row, draws)
                .is_none_or(|probability| rng.random::<f64>() < probability);
            if kept {
                return;
            }
        }
    }

    fn propose(&self, row: Row, rng: &mut impl Rng, draws: &mut [f64]) {
        match self {
            Self::Sphere { .. } | Self::Gaussian { .. } => fill(draws, &StandardNormal, rng),
            Self::Ball { .. } => {
                fill(draws, &StandardNormal, rng);
                draws[draws.len() - 1] = rng.random();
            }
            Self::SwissRollAndSphere { .. } if self.is_on_sphere(row) => {
                fill(draws, &StandardNormal, rng);
            }
            Self::Paraboloid { .. } => fill(draws, &Exp1, rng),
            Self::Beta { .. } => match Beta::new(10.0, 0.5) {
                Ok(beta) => fill(draws, &beta, rng),
                Err(_) => unreachable!("10 and 0.5 lie above 0"),
            },
            _ => fill(draws, &StandardUniform, rng),
        }
    }

    /// Returns the probability with which draws are kept, unless all are.
    pub(super) fn acceptance(&self, row: Row, draws: &[f64]) -> Option<f64> {
        match self {
            Self::TwinPeaks { height, density: Density::Surface, .. } => {
                let steepest = TAU * height.get();
                let slope = steepest * peaks_gradient(draws);
                Some(slope.hypot(1.0) / steepest.hypot(1.0))
            }
            Self::LineDiskBall => match Chain::chosen_by(draws[0]) {
                Chain::Line | Chain::TopLine => None,
                Chain::Disk => Some(inside(&draws[1..3])),
                Chain::Ball => Some(inside(&draws[1..4])),
            },
            Self::SwissRollAndSphere { radius, growth, turns, .. } if !self.is_on_sphere(row) => {
                let pace = |place: f64| {
                    let from_axis = radius.get() + growth.get() * place;
                    growth.get().hypot(TAU * turns.get() * from_axis)
                };
                Some(pace(draws[0]) / pace(1.0))
            }
            Self::Torus { radius, tube } => {
                let from_axis = radius.get() + tube.get() * (TAU * draws[1]).cos();
                Some(from_axis / (radius.get() + tube.get()))
            }
            Self::ToroidalSpiral { twists, radius, tube } => {
                let around_tube = twists.get() as f64 * tube.get();
                let pace = |cosine: f64| (radius.get() + tube.get() * cosine).hypot(around_tube);
                Some(pace((twists.get() as f64 * TAU * draws[0]).cos()) / pace(1.0))
            }
            Self::Revolution { profile, axis } => Some(profile.acceptance(*axis, draws[0])),
            _ => None,
        }
    }

    /// Returns whether a point of the roll and sphere lies on the sphere: the last ones do.
    pub(super) fn is_on_sphere(&self, row: Row) -> bool {
        let Self::SwissRollAndSphere { sphere, .. } = self else { return false };
        let on_sphere = (row.count as f64 * sphere.get()).round() as usize;
        row.index + on_sphere >= row.count
    }

    /// Returns the number of the piece that a point belongs to, for shapes made of pieces.
    pub(super) fn piece(&self, row: Row, draws: &[f64]) -> u16 {
        match self {
            Self::LineDiskBall => match Chain::chosen_by(draws[0]) {
                Chain::Line | Chain::TopLine => 0,
                Chain::Disk => 1,
                Chain::Ball => 2,
            },
            _ => u16::from(self.is_on_sphere(row)),
        }
    }
}

fn fill(draws: &mut [f64], law: &impl Distribution<f64>, rng: &mut impl Rng) {
    for value in draws {
        *value = law.sample(rng);
    }
}

/// Returns 1 for places of the unit cube that lie in the ball it holds, else 0.
fn inside(places: &[f64]) -> f64 {
    let squared: f64 = places.iter().map(|place| (2.0 * place - 1.0).powi(2)).sum();
    if squared > 1.0 { 0.0 } else { 1.0 }
}

/// Returns the length of the gradient of a product of sines, where each sine has slope 1 at most.
fn peaks_gradient(places: &[f64]) -> f64 {
    // Square sums of the products' partial slopes, extended one factor at a time:
    // (p s)' = (p' s, p s').
    let (squared_slope, _) =
        places.iter().fold((0.0, 1.0_f64), |(squared_slope, product), place| {
            let (sine, cosine) = (2.0 * PI * place).sin_cos();
            (squared_slope * sine * sine + (product * cosine).powi(2), product * sine)
        });
    squared_slope.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerics::Seed;

    #[test]
    fn the_gradient_of_the_peaks_agrees_with_a_difference_quotient() {
        let product = |places: &[f64; 3]| places.iter().map(|p| (TAU * p).sin()).product::<f64>();
        let places = [0.13, 0.41, 0.77];
        let squared: f64 = (0..3)
            .map(|axis| {
                let mut moved = places;
                moved[axis] += 1e-6;
                ((product(&moved) - product(&places)) / (1e-6 * TAU)).powi(2)
            })
            .sum();
        assert!((peaks_gradient(&places) - squared.sqrt()).abs() < 1e-5);
    }

    #[test]
    fn the_parts_of_line_disk_and_ball_have_their_share_of_the_points() {
        let mut rng = Seed(0).stream("pieces");
        let mut counts = [0.0; 3];
        let row = Row { index: 0, count: 1 };
        for _ in 0..20_000 {
            let mut draws = [0.0; 4];
            ManifoldShape::LineDiskBall.draw(row, &mut rng, &mut draws);
            counts[usize::from(ManifoldShape::LineDiskBall.piece(row, &draws))] += 1.0 / 20_000.0;
        }
        let kept = [10.0, 13.0 * PI / 4.0, 100.0 * PI / 6.0];
        for (found, kept_share) in counts.iter().zip(kept) {
            // Five standard deviations of a share of 20,000 draws are below 0.018.
            assert!((found - kept_share / kept.iter().sum::<f64>()).abs() < 0.018, "{counts:?}");
        }
    }
}
