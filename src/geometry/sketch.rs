//! Short stand-ins for long points, from which most of them can be ruled out as neighbors.
//!
//! What: a point's coordinates along the leading principal axes, and the length of what these leave
//! over as one more. Stand-ins are never farther apart than their points are: with axes Q that stretch
//! nothing, I - QQ' is the square of some map, and the one more is the length of the point under it.
//! Reference: Seidl and Kriegel 1998, "Optimal multi-step k-nearest neighbor search": how exact
//! neighbors come from distances that are too small; the axes are those of Pearson 1901.
//! Assumptions: none on the points for the answer, which is exact; but it pays only where few axes
//! hold most of the variance, as in images.
//! Checked against: the distances of the points themselves (tests below).

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use rayon::prelude::{IndexedParallelIterator, ParallelIterator, ParallelSlice, ParallelSliceMut};

use crate::numerics::{Points, PrincipalAxes};

/// Fewest coordinates and fewest points that are worth a sketch.
const FEWEST_COORDINATES: usize = 64;
const FEWEST_POINTS: usize = 4096;
/// Points that the axes come from: any axes are right, and so many are good ones.
const SAMPLE: usize = 2048;
/// Share of the variance that the axes hold.
const SHARE: f64 = 0.92;
/// How much shorter a stand-in must be.
const SHORTER: usize = 4;
/// Points drawn at once.
const BLOCK: usize = 256;

/// How stand-ins are made.
pub(super) struct Sketch {
    mean: Vec<f64>,
    /// One axis a column.
    axes: Mat<f64>,
}

impl Sketch {
    /// Returns how to sketch the points, if it promises to pay.
    pub(super) fn of(points: &Points) -> Option<Self> {
        let (rows, width) = (points.rows(), points.width());
        if width < FEWEST_COORDINATES || rows < FEWEST_POINTS {
            return None;
        }
        let chosen = (0..SAMPLE).flat_map(|at| points.row(at * rows / SAMPLE));
        let sample = Points::from_rows(width, chosen.copied().collect());
        let most = width / SHORTER;
        let found = PrincipalAxes::of_points(&sample, most).ok()?;
        let total: f64 = found.eigenvalues().iter().sum();
        let mut held = 0.0;
        let reaches = |variance: &f64| {
            held += variance;
            held >= SHARE * total
        };
        let count = found.eigenvalues()[..most].iter().position(reaches)? + 1;
        let axis_value = |row, axis| f64::from(found.axes()[axis * width + row]);
        let axes = Mat::from_fn(width, count, axis_value);
        let mean = found.mean().iter().map(|&mean| mean.into()).collect();
        // Axes are rounded; so much shorter, they stretch nothing.
        let gram = axes.transpose() * &axes;
        let off = (gram - Mat::<f64>::identity(count, count)).norm_l2();
        let shorter = 1.0 / (1.0 + off).sqrt();
        let axes = Mat::from_fn(width, count, |row, axis| shorter * axes[(row, axis)]);
        Some(Self { mean, axes })
    }

    /// Returns the length of a stand-in.
    pub(super) fn width(&self) -> usize {
        self.axes.ncols() + 1
    }

    /// Returns the stand-ins of points, one after the other.
    pub(super) fn draw(&self, points: &[f32]) -> Vec<f32> {
        let width = self.mean.len();
        let mut drawn = vec![0.0; points.len() / width * self.width()];
        let blocks = points.par_chunks(BLOCK * width);
        blocks.zip(drawn.par_chunks_mut(BLOCK * self.width())).for_each_init(
            <[Vec<f64>; 2]>::default,
            |room, (points, drawn)| {
                self.draw_block(points, room, drawn);
            },
        );
        drawn
    }

    fn draw_block(&self, points: &[f32], [centered, along]: &mut [Vec<f64>; 2], drawn: &mut [f32]) {
        let (width, axes) = (self.mean.len(), self.axes.ncols());
        let count = points.len() / width;
        centered.resize(points.len(), 0.0);
        for (centered, point) in centered.chunks_exact_mut(width).zip(points.chunks_exact(width)) {
            for ((place, &x), mean) in centered.iter_mut().zip(point).zip(&self.mean) {
                *place = f64::from(x) - mean;
            }
        }
        along.resize(axes * count, 0.0);
        let places = MatMut::from_column_major_slice_mut(along, axes, count);
        let columns = MatRef::from_column_major_slice(centered, width, count);
        matmul(places, Accum::Replace, self.axes.transpose(), columns, 1.0, Par::Seq);
        let pairs = centered.chunks_exact(width).zip(along.chunks_exact(axes));
        for ((point, along), drawn) in pairs.zip(drawn.chunks_exact_mut(axes + 1)) {
            let left_over = (squared(point) - squared(along)).max(0.0).sqrt();
            for (place, &value) in drawn.iter_mut().zip(along.iter().chain([&left_over])) {
                *place = value as f32;
            }
        }
    }
}

/// Sums up squares, some side by side.
fn squared(values: &[f64]) -> f64 {
    let (lanes, rest) = values.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for lanes in lanes {
        for (sum, value) in sums.iter_mut().zip(lanes) {
            *sum += value * value;
        }
    }
    sums.iter().sum::<f64>() + rest.iter().map(|value| value * value).sum::<f64>()
}

#[cfg(test)]
pub(super) mod tests {
    use rand::RngExt;

    use super::*;
    use crate::geometry::squared_distance;
    use crate::numerics::Seed;

    /// Points whose coordinates are sums of a few random waves, and a little noise.
    pub(in crate::geometry) fn wavy(rows: usize, width: usize) -> Points {
        let mut rng = Seed(11).stream("waves");
        let mut values = Vec::with_capacity(rows * width);
        for _ in 0..rows {
            let phases: [f32; 5] = std::array::from_fn(|_| 7.0 * rng.random::<f32>());
            values.extend((0..width).map(|at| {
                let place = at as f32 / width as f32;
                let waves =
                    (1..).zip(phases).map(|(n, phase)| (3.0 * n as f32 * place + phase).sin());
                waves.sum::<f32>() + 0.3 * rng.random::<f32>()
            }));
        }
        Points::from_rows(width, values)
    }

    #[test]
    fn stand_ins_are_never_farther_apart_than_their_points() {
        let points = wavy(FEWEST_POINTS, 80);
        let sketch = Sketch::of(&points).unwrap();
        assert!(sketch.width() <= 21, "{}", sketch.width());
        let drawn = Points::from_rows(sketch.width(), sketch.draw(points.values()));
        for (left, right) in (0..3000).map(|at| (at, at * 7 % 4096)) {
            let full = squared_distance(points.row(left), points.row(right));
            let short = squared_distance(drawn.row(left), drawn.row(right));
            assert!(short <= full + 1e-4, "{short} against {full}");
            assert!(short >= 0.3 * full, "{short} says little of {full}");
        }
    }

    #[test]
    fn noise_in_every_direction_has_no_sketch() {
        let mut rng = Seed(12).stream("noise");
        let values = (0..FEWEST_POINTS * 64).map(|_| rng.random::<f32>()).collect();
        assert!(Sketch::of(&Points::from_rows(64, values)).is_none());
    }
}
