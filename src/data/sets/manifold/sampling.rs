//! Draws a whole set of points of one shape.

use rand::Rng;

use super::draws::Row;
use super::lorenz;
use super::shape::ManifoldShape;
use crate::numerics::rng::shuffle;

/// Points of one shape with what is known of them, row-major.
pub(super) struct Sample {
    /// Coordinates of each point.
    pub(super) coordinates: Vec<f64>,
    /// Coordinates of each point on the shape itself; none where the shape has no such.
    pub(super) latents: Vec<f64>,
    /// The piece of each point; none where the shape is of one piece.
    pub(super) pieces: Vec<u16>,
}

impl ManifoldShape {
    /// Returns how many coordinates a point has on the shape itself, if known at all.
    pub(super) fn latent_count(&self) -> usize {
        match self {
            Self::Sphere { .. }
            | Self::CubeSurface { .. }
            | Self::LineDiskBall
            | Self::SwissRollAndSphere { .. }
            | Self::Lorenz { .. } => 0,
            Self::Product { first, second } => first.latent_count() + second.latent_count(),
            _ => self.dimension(),
        }
    }

    /// Draws points of a shape without [problems](Self::problems).
    pub(super) fn sample(&self, count: usize, rng: &mut impl Rng) -> Sample {
        match self {
            Self::Lorenz { duration } => Sample {
                coordinates: lorenz::path(duration.get(), count).into_flattened(),
                latents: Vec::new(),
                pieces: Vec::new(),
            },
            Self::Product { first, second } => product(first, second, count, rng),
            _ => self.sample_each(count, rng),
        }
    }

    fn sample_each(&self, count: usize, rng: &mut impl Rng) -> Sample {
        let mut draws = vec![0.0; self.draw_count()];
        let mut coordinates = vec![0.0; count * self.ambient()];
        let mut latents = Vec::with_capacity(count * self.latent_count());
        let mut pieces = Vec::new();
        for (index, point) in coordinates.chunks_exact_mut(self.ambient()).enumerate() {
            let row = Row { index, count };
            self.draw(row, rng, &mut draws);
            self.place(row, &draws, point);
            let known = match self {
                // Here not the draws but the leading coordinates tell the place on the shape.
                Self::Ball { .. } | Self::Paraboloid { .. } => &*point,
                _ => &draws,
            };
            latents.extend(&known[..self.latent_count()]);
            if !self.pieces().is_empty() {
                pieces.push(self.piece(row, &draws));
            }
        }
        Sample { coordinates, latents, pieces }
    }
}

fn product(
    first: &ManifoldShape,
    second: &ManifoldShape,
    count: usize,
    rng: &mut impl Rng,
) -> Sample {
    let leading = first.sample(count, rng);
    let trailing = second.sample(count, rng);
    let mut partners: Vec<usize> = (0..count).collect();
    shuffle(&mut partners, rng);
    let joined = |left: &[f64], left_width: usize, right: &[f64], right_width: usize| {
        let mut values = Vec::with_capacity(left.len() + right.len());
        for (index, &partner) in partners.iter().enumerate() {
            values.extend(&left[index * left_width..(index + 1) * left_width]);
            values.extend(&right[partner * right_width..(partner + 1) * right_width]);
        }
        values
    };
    Sample {
        coordinates: joined(
            &leading.coordinates,
            first.ambient(),
            &trailing.coordinates,
            second.ambient(),
        ),
        latents: joined(
            &leading.latents,
            first.latent_count(),
            &trailing.latents,
            second.latent_count(),
        ),
        pieces: Vec::new(),
    }
}
