//! From random numbers to points: the formula of each shape.
//!
//! What: pure functions; coordinates that a shape does not need stay zero.
//! Reference: scikit-dimension 0.5.0, `datasets`; Hein and Audibert 2005, Campadelli et al. 2015.
//! Assumptions: as many numbers as [`ManifoldShape::draw_count`] says, and a point of
//! [`ManifoldShape::ambient`] zeros.
//! Checked against: scikit-dimension's points for the same numbers, to 1e-6 of their size
//! (tests/reference/manifolds.json).

use std::f64::consts::{PI, TAU};

use super::draws::{Chain, Row};
use super::shape::ManifoldShape;

impl ManifoldShape {
    /// Writes the point that belongs to these draws into `point`, which must hold zeros.
    ///
    /// Paths and products, which are made as a whole, leave it at zero.
    pub(super) fn place(&self, row: Row, draws: &[f64], point: &mut [f64]) {
        match self {
            Self::Sphere { .. } => on_sphere(draws, 1.0, point),
            Self::Ball { .. } => in_ball(draws, point),
            Self::Cube { .. } | Self::Gaussian { .. } => put(draws, point),
            Self::CubeSurface { .. } => on_face(row, draws, point),
            Self::Affine { .. } => {
                point.iter_mut().zip(draws).for_each(|(x, uniform)| *x = 5.0 * uniform - 2.5);
            }
            Self::AffineThreeInFive => put(&affine_three_in_five(draws), point),
            Self::NonlinearFourInSix => put(&nonlinear_four_in_six(draws), point),
            Self::Nonlinear { .. } => linked_circles(draws, point),
            Self::TangentArctangent { .. } => tangents(draws, point),
            Self::Beta { .. } => curled(draws, point),
            Self::Paraboloid { .. } => paraboloid(draws, point),
            Self::Helix => put(&helix(turn(row, draws[0])), point),
            Self::Helicoid => put(&helicoid(10.0 * PI * draws[0], 10.0 * PI * draws[1]), point),
            Self::SwissRoll => put(&swiss_roll(draws[0], 21.0 * draws[1]), point),
            Self::SCurve => put(&s_curve(3.0 * PI * (draws[0] - 0.5), 2.0 * draws[1]), point),
            Self::Moebius => put(&moebius(TAU * draws[0], 2.0 * draws[1] - 1.0), point),
            Self::Spiral { .. } => put(&spiral(10.0 * PI * draws[0]), point),
            Self::FigureEightSheet => {
                put(&figure_eight(5.0 * PI * draws[1], turn(row, draws[0])), point);
            }
            Self::TwinPeaks { height, .. } => {
                let product: f64 = draws.iter().map(|place| (TAU * place).sin()).product();
                put(draws, point);
                point[draws.len()] = height.get() * product;
            }
            Self::LineDiskBall => put(&on_chain(draws), point),
            Self::SwissRollAndSphere { radius, .. } if self.is_on_sphere(row) => {
                on_sphere(draws, radius.get(), point);
            }
            Self::SwissRollAndSphere { radius, growth, turns, height, .. } => {
                let from_axis = radius.get() + growth.get() * draws[0];
                let (sine, cosine) = (TAU * turns.get() * draws[0]).sin_cos();
                let level = height.get() * (2.0 * draws[1] - 1.0);
                put(&[from_axis * cosine, from_axis * sine, level], point);
            }
            Self::Torus { radius, tube } => {
                put(&on_ring(radius.get(), tube.get(), TAU * draws[0], TAU * draws[1]), point);
            }
            Self::ToroidalSpiral { twists, radius, tube } => {
                let around = TAU * draws[0];
                let along_tube = twists.get() as f64 * around;
                put(&on_ring(radius.get(), tube.get(), around, along_tube), point);
            }
            Self::Revolution { profile, axis } => {
                put(&profile.point(*axis, draws[0], TAU * draws[1]), point);
            }
            Self::Lorenz { .. } | Self::Product { .. } => {}
        }
    }
}

/// Copies values to the front of a point.
fn put(values: &[f64], point: &mut [f64]) {
    point.iter_mut().zip(values).for_each(|(coordinate, value)| *coordinate = *value);
}

/// Returns an angle for a uniform number, shifted by one part of the circle.
fn turn(row: Row, uniform: f64) -> f64 {
    TAU / row.count as f64 + TAU * uniform
}

fn length(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum::<f64>().sqrt()
}

fn on_sphere(normals: &[f64], radius: f64, point: &mut [f64]) {
    let scale = radius / length(normals);
    point.iter_mut().zip(normals).for_each(|(coordinate, normal)| *coordinate = scale * normal);
}

/// The last number is the share of the ball's volume that lies closer to the center.
fn in_ball(draws: &[f64], point: &mut [f64]) {
    let (volume, normals) = draws.split_last().unwrap_or((&0.0, &[]));
    on_sphere(normals, volume.powf(1.0 / normals.len() as f64), point);
}

/// Faces follow each other: both faces of the first axis, of the second, and so on.
fn on_face(row: Row, draws: &[f64], point: &mut [f64]) {
    let faces = 2 * draws.len();
    let face = row.index / (row.count / faces + 1);
    put(draws, point);
    point[face / 2] = (face % 2) as f64;
}

fn affine_three_in_five(draws: &[f64]) -> [f64; 5] {
    let [x, y, z] = [4.0 * draws[0], 4.0 * draws[1], 4.0 * draws[2]];
    [
        1.2 * x - 0.5 * y + 3.0,
        0.5 * x + 0.9 * y - 1.0,
        -0.5 * x - 0.2 * y + z,
        0.4 * x - 0.9 * y - 0.1 * z,
        1.1 * x - 0.3 * y + 8.0,
    ]
}

fn nonlinear_four_in_six(draws: &[f64]) -> [f64; 6] {
    let [a, b, c, d] = [draws[0], draws[1], draws[2], draws[3]];
    let (sine, cosine) = (TAU * a).sin_cos();
    [
        b * b * cosine,
        c * c * sine,
        b + c + (b - d).powi(2),
        b - 2.0 * c + (a - d).powi(2),
        -b - 2.0 * c + (c - d).powi(2),
        a * a - b * b + c * c - d * d,
    ]
}

/// Every number is the angle of one circle and the radius of the one before.
fn linked_circles(draws: &[f64], point: &mut [f64]) {
    for copy in point.chunks_exact_mut(2 * draws.len()) {
        for (index, (angle, pair)) in draws.iter().zip(copy.chunks_exact_mut(2)).enumerate() {
            let radius = draws[(index + 1) % draws.len()];
            let (sine, cosine) = (TAU * angle).sin_cos();
            pair.copy_from_slice(&[radius * cosine, radius * sine]);
        }
    }
}

/// Fills a point with two functions of the draws: all of the first, all of the second, both again.
fn two_blocks_twice(draws: &[f64], point: &mut [f64], functions: impl Fn(usize) -> (f64, f64)) {
    let width = draws.len();
    for half in point.chunks_exact_mut(2 * width) {
        for index in 0..width {
            (half[index], half[width + index]) = functions(index);
        }
    }
}

fn tangents(draws: &[f64], point: &mut [f64]) {
    two_blocks_twice(draws, point, |index| {
        let (here, opposite) = (draws[index], draws[draws.len() - 1 - index]);
        ((here * opposite.cos()).tan(), (opposite * here.sin()).atan())
    });
}

fn curled(draws: &[f64], point: &mut [f64]) {
    two_blocks_twice(draws, point, |index| {
        let (sine, cosine) = (TAU * draws[index]).sin_cos();
        (draws[index] * cosine.sin(), draws[index] * sine.cos())
    });
}

/// From exponential numbers: the first one divides all others, which makes these dependent.
fn paraboloid(draws: &[f64], point: &mut [f64]) {
    let (height, sines_and_squares) = (draws.len() - 1, draws.len());
    for (value, exponential) in point.iter_mut().zip(&draws[1..]) {
        *value = 1.0 / (1.0 + exponential / draws[0]);
    }
    point[height] = point[..height].iter().map(|value| value * value).sum();
    let (ground, images) = point.split_at_mut(sines_and_squares);
    let (sines, squares) = images.split_at_mut(sines_and_squares);
    for ((value, sine), square) in ground.iter().zip(sines).zip(squares) {
        *sine = value.sin();
        *square = value * value;
    }
}

fn helix(angle: f64) -> [f64; 3] {
    on_ring(2.0, 1.0, angle, 8.0 * angle)
}

fn helicoid(from_axis: f64, angle: f64) -> [f64; 3] {
    [from_axis * angle.cos(), from_axis * angle.sin(), 0.5 * angle]
}

fn swiss_roll(uniform: f64, level: f64) -> [f64; 3] {
    let angle = 1.5 * PI * (1.0 + 2.0 * uniform);
    [angle * angle.cos(), level, angle * angle.sin()]
}

fn s_curve(angle: f64, level: f64) -> [f64; 3] {
    [angle.sin(), level, angle.signum() * (angle.cos() - 1.0)]
}

fn moebius(around: f64, across: f64) -> [f64; 3] {
    on_ring(1.0, 0.5 * across, around, 5.0 * around)
}

fn spiral(angle: f64) -> [f64; 3] {
    [100.0 * angle.cos(), 100.0 * angle.sin(), angle]
}

fn figure_eight(angle: f64, level: f64) -> [f64; 3] {
    let (sine, cosine) = angle.sin_cos();
    [cosine, sine * cosine, level]
}

/// Goes `around` a ring, and around its tube by `along_tube`.
fn on_ring(radius: f64, tube: f64, around: f64, along_tube: f64) -> [f64; 3] {
    let from_axis = radius + tube * along_tube.cos();
    [from_axis * around.cos(), from_axis * around.sin(), tube * along_tube.sin()]
}

/// From the bottom: a line of 0.5, a disk of radius 1, a ball of radius 0.5 and another line.
fn on_chain(draws: &[f64]) -> [f64; 3] {
    let [x, y, z] = [draws[1], draws[2], draws[3]];
    match Chain::chosen_by(draws[0]) {
        Chain::Line => [0.0, 0.0, 0.5 * x - 0.5],
        Chain::Disk => [2.0 * x - 1.0, 0.0, 2.0 * y],
        Chain::Ball => [x - 0.5, y - 0.5, z + 2.0],
        Chain::TopLine => [0.0, 0.0, 0.5 * x + 3.0],
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use super::*;

    const ROW: Row = Row { index: 0, count: 4 };

    fn placed(shape: &ManifoldShape, row: Row, draws: &[f64]) -> Vec<f64> {
        let mut point = vec![0.0; shape.ambient()];
        shape.place(row, draws, &mut point);
        point
    }

    fn assert_close(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        let apart = found.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(apart < 1e-12, "{found:?} instead of {expected:?}");
    }

    fn count(number: usize) -> NonZeroUsize {
        NonZeroUsize::new(number).unwrap()
    }

    #[test]
    fn spheres_and_balls_have_radius_one_and_leave_spare_coordinates_at_zero() {
        let sphere = ManifoldShape::Sphere { dimension: count(1), ambient: count(4) };
        assert_close(&placed(&sphere, ROW, &[3.0, -4.0]), &[0.6, -0.8, 0.0, 0.0]);
        let ball = ManifoldShape::Ball { dimension: count(2), ambient: count(3) };
        assert_close(&placed(&ball, ROW, &[3.0, -4.0, 0.25]), &[0.3, -0.4, 0.0]);
    }

    #[test]
    fn the_faces_of_a_square_follow_each_other() {
        let square = ManifoldShape::CubeSurface { dimension: count(1), ambient: count(2) };
        let corner = |index| placed(&square, Row { index, count: 7 }, &[0.3, 0.6]);
        // 7 points on 4 faces: two each, and the last face gets the remaining one.
        assert_close(&corner(0), &[0.0, 0.6]);
        assert_close(&corner(1), &[0.0, 0.6]);
        assert_close(&corner(2), &[1.0, 0.6]);
        assert_close(&corner(4), &[0.3, 0.0]);
        assert_close(&corner(6), &[0.3, 1.0]);
    }

    #[test]
    fn the_swiss_roll_starts_below_its_axis() {
        // Angle 1.5 pi: cosine 0, sine -1.
        assert_close(&placed(&ManifoldShape::SwissRoll, ROW, &[0.0, 0.5]), &[0.0, 10.5, -1.5 * PI]);
    }

    #[test]
    fn line_disk_ball_and_line_touch_each_other() {
        let end = |piece: f64, place: f64| {
            let draws = [
                piece / 123.0,
                if (5.0..118.0).contains(&piece) { 0.5 } else { place },
                place,
                place,
            ];
            placed(&ManifoldShape::LineDiskBall, ROW, &draws)[2]
        };
        assert_close(&[end(4.0, 0.0), end(4.0, 1.0)], &[-0.5, 0.0]);
        assert_close(&[end(17.0, 0.0), end(17.0, 1.0)], &[0.0, 2.0]);
        assert_close(&[end(117.0, 0.0), end(117.0, 1.0)], &[2.0, 3.0]);
        assert_close(&[end(122.0, 0.0), end(122.0, 1.0)], &[3.0, 3.5]);
    }
}
