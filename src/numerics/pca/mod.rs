//! Principal axes: the orthogonal directions along which points vary most.
//!
//! What: the mean, the leading unit eigenvectors and all eigenvalues of the biased covariance.
//! Reference: Pearson 1901; with fewer points than coordinates the same numbers come from the
//! smaller table of products between points (Turk and Pentland 1991, "Calculating eigenfaces").
//! Assumptions: the smaller of the two tables fits into memory three times. The points need not:
//! they are read in blocks, more than once (blocks.rs). Eigenvalues that rounding can't tell from
//! zero are zero.
//! Checked against: tests/reference/pca.json (NumPy and scikit-learn).

mod blocks;

use std::ops::Range;

use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::{Mat, Par, Spec};
use thiserror::Error;

use self::blocks::Blocks;
use super::Points;

/// Values in a block of points.
const BLOCK: usize = 1 << 22;

/// Says why points have no principal axes.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PcaError {
    /// There is nothing to measure.
    #[error("there are no points, or they have no coordinates")]
    NoPoints,
    /// More axes than the points can determine.
    #[error("{rows} points with {width} coordinates have at most {most} axes, not {keep}")]
    TooManyAxes {
        /// Number of axes asked for.
        keep: usize,
        /// Number of axes there can be: points less one, or coordinates.
        most: usize,
        /// Number of points.
        rows: usize,
        /// Number of coordinates.
        width: usize,
    },
    /// A coordinate is not a finite number.
    #[error("coordinate {coordinate} of point {point} is not a finite number")]
    NonFinite {
        /// The first such point, counting from 1.
        point: usize,
        /// Its first such coordinate, counting from 1.
        coordinate: usize,
    },
    /// A block of points has another size than it should.
    #[error("{points} points with {width} coordinates have {} values, not {found}", points * width)]
    BlockSize {
        /// Number of points asked for.
        points: usize,
        /// Number of coordinates.
        width: usize,
        /// Number of values given.
        found: usize,
    },
    /// The decomposition was given up.
    #[error("the eigenvalues could not be found")]
    NoConvergence,
}

/// The directions along which points vary most, and how much they do.
#[derive(Clone, Debug, PartialEq)]
pub struct PrincipalAxes {
    mean: Vec<f32>,
    axes: Vec<f32>,
    eigenvalues: Vec<f64>,
}

impl PrincipalAxes {
    /// Counts the operations of finding them: a product of the points with themselves, and the axes
    /// of the result.
    pub fn operations(rows: usize, width: usize) -> f64 {
        let (short, long) = (rows.min(width) as f64, rows.max(width) as f64);
        2.0 * short * short * (long + 10.0 * short)
    }

    /// Finds the first `keep` axes of a table of points.
    pub fn of_points(points: &Points, keep: usize) -> Result<Self, PcaError> {
        let width = points.width();
        let mut read =
            |rows: Range<usize>| points.values()[rows.start * width..rows.end * width].to_vec();
        Self::of(points.rows(), width, keep, &mut read)
    }

    /// Finds the first `keep` axes of points that are read block by block, each range of them as
    /// one row after the other; ranges are asked for more than once.
    pub fn of(
        rows: usize,
        width: usize,
        keep: usize,
        read: &mut dyn FnMut(Range<usize>) -> Vec<f32>,
    ) -> Result<Self, PcaError> {
        let step = BLOCK.checked_div(width).unwrap_or(0).max(1);
        Self::in_blocks(Blocks { rows, width, step, read }, keep)
    }

    /// Returns the mean of each coordinate.
    pub fn mean(&self) -> &[f32] {
        &self.mean
    }

    /// Returns the leading axes one after the other: unit vectors at right angles, each turned so
    /// that its entry of largest magnitude is positive.
    pub fn axes(&self) -> &[f32] {
        &self.axes
    }

    /// Returns the biased variance along every axis, one for each coordinate, largest first.
    pub fn eigenvalues(&self) -> &[f64] {
        &self.eigenvalues
    }

    fn in_blocks(mut blocks: Blocks<'_>, keep: usize) -> Result<Self, PcaError> {
        let (rows, width) = (blocks.rows, blocks.width);
        if rows == 0 || width == 0 {
            return Err(PcaError::NoPoints);
        }
        let most = width.min(rows - 1);
        if keep > most {
            return Err(PcaError::TooManyAxes { keep, most, rows, width });
        }
        let mean = blocks.mean()?;
        let by_coordinates = width <= rows;
        let products =
            if by_coordinates { blocks.covariance(&mean)? } else { blocks.gram(&mean)? };
        let wanted = if keep == 0 { ComputeEigenvectors::No } else { ComputeEigenvectors::Yes };
        let (sums, vectors) = decompose(&products, wanted)?;
        let eigenvalues = variances(&sums, rows, width);
        let mut axes = Vec::with_capacity(keep * width);
        if let Some(vectors) = vectors {
            // Largest first, while those of the decomposition come smallest first.
            let last = vectors.ncols() - 1;
            let leading =
                Mat::from_fn(vectors.nrows(), keep, |row, axis| vectors[(row, last - axis)]);
            let columns = if by_coordinates {
                leading
            } else {
                let rank = eigenvalues.iter().take_while(|&&value| value > 0.0).count();
                orthonormal(blocks.combined(&mean, &leading)?, rank)
            };
            axes.extend((0..keep).flat_map(|axis| pointing_up(columns.col_as_slice(axis))));
        }
        let mean = mean.into_iter().map(|mean| mean as f32).collect();
        Ok(Self { mean, axes, eigenvalues })
    }
}

/// Returns the eigenvalues of a symmetric matrix, smallest first, and its eigenvectors if wanted.
fn decompose(
    matrix: &Mat<f64>,
    wanted: ComputeEigenvectors,
) -> Result<(Vec<f64>, Option<Mat<f64>>), PcaError> {
    let size = matrix.nrows();
    let mut values = Diag::<f64>::zeros(size);
    let mut vectors = (wanted == ComputeEigenvectors::Yes).then(|| Mat::zeros(size, size));
    let memory = self_adjoint_evd_scratch::<f64>(size, wanted, Par::Seq, Spec::default());
    self_adjoint_evd(
        matrix.as_ref(),
        values.as_mut(),
        vectors.as_mut().map(Mat::as_mut),
        Par::Seq,
        MemStack::new(&mut MemBuffer::new(memory)),
        Spec::default(),
    )
    .map_err(|_| PcaError::NoConvergence)?;
    Ok((values.column_vector().iter().copied().collect(), vectors))
}

/// Returns one variance for each coordinate, largest first.
fn variances(sums: &[f64], rows: usize, width: usize) -> Vec<f64> {
    let largest = sums.last().copied().unwrap_or_default();
    let rounding = largest * f64::EPSILON * rows.max(width) as f64;
    let variance = |&sum: &f64| if sum > rounding { sum / rows as f64 } else { 0.0 };
    let mut variances: Vec<f64> = sums.iter().rev().map(variance).collect();
    variances.resize(width, 0.0);
    variances
}

/// Makes columns unit vectors at right angles; those past `rank` hold nothing and are made up.
fn orthonormal(mut columns: Mat<f64>, rank: usize) -> Mat<f64> {
    for at in 0..columns.ncols() {
        if at >= rank {
            // The basis vector that lies farthest outside of the span so far.
            let inside = |row: &usize| (0..at).map(|c| columns[(*row, c)].powi(2)).sum::<f64>();
            let rows = 0..columns.nrows();
            let row = rows.min_by(|one, other| inside(one).total_cmp(&inside(other)));
            columns.col_mut(at).fill(0.0);
            columns[(row.unwrap_or_default(), at)] = 1.0;
        }
        // Once more, because the first time leaves what rounding has left.
        for _ in 0..2 {
            for earlier in 0..at {
                let along = columns.col(earlier).transpose() * columns.col(at);
                let (vector, earlier) = columns.as_mut().two_cols_mut(at, earlier);
                for (entry, part) in vector.iter_mut().zip(earlier.iter()) {
                    *entry -= along * part;
                }
            }
        }
        let length = columns.col(at).norm_l2();
        columns.col_mut(at).iter_mut().for_each(|entry| *entry /= length);
    }
    columns
}

/// Rounds an axis, turned so that its entry of largest magnitude (the first of them) is positive.
fn pointing_up(axis: &[f64]) -> Vec<f32> {
    let largest = axis.iter().fold(0.0_f32, |largest, &entry| {
        if (entry as f32).abs() > largest.abs() { entry as f32 } else { largest }
    });
    let sign = if largest < 0.0 { -1.0 } else { 1.0 };
    // Adding zero turns -0.0 into 0.0.
    axis.iter().map(|&entry| sign * entry as f32 + 0.0).collect()
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    struct Reference {
        cases: Vec<Case>,
    }

    #[derive(Deserialize)]
    struct Case {
        name: String,
        rows: usize,
        width: usize,
        keep: usize,
        points: Vec<f32>,
        mean: Vec<f64>,
        eigenvalues: Vec<f64>,
        axes: Vec<f64>,
    }

    impl Case {
        fn points(&self) -> Points {
            if self.points.is_empty() {
                return made(self.rows, self.width);
            }
            Points::new(self.rows, self.width, self.points.clone()).unwrap()
        }
    }

    /// The same points as in the reference's script.
    fn made(rows: usize, width: usize) -> Points {
        let mut state = 1_u64;
        let mut value = |index: usize| {
            state = (1_103_515_245 * state + 12_345) % (1 << 31);
            (state >> 23) as f32 / (1 << (index % width / 40)) as f32
        };
        Points::from_rows(width, (0..rows * width).map(&mut value).collect())
    }

    fn cases() -> Vec<Case> {
        let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reference/pca.json"));
        serde_json::from_str::<Reference>(text).unwrap().cases
    }

    fn dot(one: &[f32], other: &[f64]) -> f64 {
        one.iter().zip(other).map(|(one, other)| f64::from(*one) * other).sum()
    }

    fn assert_close(found: &[f64], expected: &[f64], name: &str) {
        assert_eq!(found.len(), expected.len(), "{name}");
        for (found, expected) in found.iter().zip(expected) {
            // NumPy leaves rounding, of either sign, where there is no variance.
            let tolerance = if *found == 0.0 { 1e-12 } else { 1e-10 * expected };
            assert!((found - expected).abs() <= tolerance, "{name}: {found} against {expected}");
        }
    }

    /// Asserts that axes are unit vectors at right angles, as far as `f32` can tell.
    fn assert_orthonormal(axes: &[f32], width: usize) {
        for (row, axis) in axes.chunks(width).enumerate() {
            let exact: Vec<f64> = axis.iter().map(|&entry| entry.into()).collect();
            for (other, axis) in axes.chunks(width).enumerate() {
                let expected = if row == other { 1.0 } else { 0.0 };
                let found = dot(axis, &exact);
                assert!((found - expected).abs() < 1e-6, "{row} and {other}: {found}");
            }
        }
    }

    #[test]
    fn eigenvalues_and_axes_are_those_of_numpy_and_scikit_learn() {
        let cases = cases();
        assert_eq!(cases.len(), 5);
        for case in cases {
            let found = PrincipalAxes::of_points(&case.points(), case.keep).unwrap();
            for (found, expected) in found.mean().iter().zip(&case.mean) {
                assert!((f64::from(*found) - expected).abs() <= 1e-7 * expected.abs().max(1.0));
            }
            assert_close(found.eigenvalues(), &case.eigenvalues, &case.name);
            assert_eq!(found.axes().len(), case.axes.len());
            let pairs = found.axes().chunks(case.width).zip(case.axes.chunks(case.width));
            for (axis, expected) in pairs {
                let sign = dot(axis, expected).signum();
                for (found, expected) in axis.iter().zip(expected) {
                    let difference = f64::from(*found) - sign * expected;
                    assert!(difference.abs() < 1e-6, "{}: {difference}", case.name);
                }
            }
            let alone = PrincipalAxes::of_points(&case.points(), 0).unwrap();
            assert_close(alone.eigenvalues(), &case.eigenvalues, &case.name);
        }
    }

    #[test]
    fn directions_without_variance_have_an_eigenvalue_of_zero_and_an_axis_all_the_same() {
        let all = cases();
        let plane = &all[2];
        let found = PrincipalAxes::of_points(&plane.points(), 4).unwrap();
        assert_eq!(found.eigenvalues()[2..], [0.0, 0.0]);
        assert_orthonormal(found.axes(), 4);
        // Five points, each twice, in many coordinates: four directions.
        let once = made(5, 200);
        let twice = Points::from_rows(200, once.values().repeat(2));
        let found = PrincipalAxes::of_points(&twice, 9).unwrap();
        assert_eq!(found.eigenvalues().iter().filter(|&&value| value > 0.0).count(), 4);
        assert_eq!(found.eigenvalues().len(), 200);
        assert_eq!(found.axes().len(), 9 * 200);
        assert_orthonormal(found.axes(), 200);
    }

    #[test]
    fn many_coordinates_without_variance_are_no_difficulty() {
        // 300 coordinates of which 297 repeat the others: past the size where faer divides.
        let few = made(400, 3);
        let values = (0..400).flat_map(|row| few.row(row).repeat(100)).collect();
        let points = Points::new(400, 300, values).unwrap();
        let found = PrincipalAxes::of_points(&points, 20).unwrap();
        assert_orthonormal(found.axes(), 300);
        let expected = PrincipalAxes::of_points(&few, 0).unwrap();
        let expected: Vec<f64> = expected.eigenvalues().iter().map(|value| value * 100.0).collect();
        assert_close(&found.eigenvalues()[..3], &expected, "repeated");
        assert!(found.eigenvalues()[3..].iter().all(|&value| value == 0.0));
    }

    #[test]
    fn the_entry_of_largest_magnitude_is_positive() {
        for (rows, width) in [(60, 20), (20, 60)] {
            let found = PrincipalAxes::of_points(&made(rows, width), 10).unwrap();
            for axis in found.axes().chunks(width) {
                let lowest = axis.iter().copied().fold(0.0, f32::min);
                let highest = axis.iter().copied().fold(0.0, f32::max);
                assert!(highest >= -lowest, "{highest} and {lowest}");
            }
        }
        assert_eq!(pointing_up(&[0.5, -0.8, 0.0]), [-0.5, 0.8, 0.0]);
        assert_eq!(pointing_up(&[-0.5, 0.5]), [0.5, -0.5]);
    }

    #[test]
    fn points_that_come_in_blocks_have_the_same_axes() {
        for (rows, width) in [(50, 20), (20, 50)] {
            let points = made(rows, width);
            let mut read =
                |rows: Range<usize>| points.values()[rows.start * width..rows.end * width].to_vec();
            let blocks = Blocks { rows, width, step: 7, read: &mut read };
            let found = PrincipalAxes::in_blocks(blocks, 5).unwrap();
            let whole = PrincipalAxes::of_points(&points, 5).unwrap();
            assert_close(found.eigenvalues(), whole.eigenvalues(), "blocks");
            for (found, whole) in found.axes().iter().zip(whole.axes()) {
                assert!((found - whole).abs() < 1e-6, "{found} against {whole}");
            }
        }
    }

    #[test]
    fn the_number_of_threads_changes_no_byte() {
        for (rows, width) in [(700, 600), (600, 700)] {
            let points = made(rows, width);
            let with = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let found = pool.install(|| PrincipalAxes::of_points(&points, 300)).unwrap();
                let bits: Vec<u64> =
                    found.eigenvalues().iter().map(|value| value.to_bits()).collect();
                let axes: Vec<u32> = found.axes().iter().map(|value| value.to_bits()).collect();
                (bits, axes)
            };
            assert!(with(1) == with(3), "{rows} points of {width}");
        }
    }

    #[test]
    fn what_has_no_axes_is_refused() {
        let message =
            |points: &Points, keep| PrincipalAxes::of_points(points, keep).unwrap_err().to_string();
        let none = Points::new(0, 3, Vec::new()).unwrap();
        assert_eq!(message(&none, 0), "there are no points, or they have no coordinates");
        assert_eq!(
            message(&made(4, 9), 4),
            "4 points with 9 coordinates have at most 3 axes, not 4"
        );
        assert_eq!(
            message(&made(9, 4), 5),
            "9 points with 4 coordinates have at most 4 axes, not 5"
        );
        let broken = Points::new(2, 2, vec![0.0, 1.0, 2.0, f32::NAN]).unwrap();
        assert_eq!(message(&broken, 0), "coordinate 2 of point 2 is not a finite number");
        let short = PrincipalAxes::of(2, 3, 1, &mut |_| vec![0.0; 5]).unwrap_err();
        assert_eq!(short.to_string(), "2 points with 3 coordinates have 6 values, not 5");
        let one = PrincipalAxes::of_points(&made(1, 3), 0).unwrap();
        assert_eq!(one.eigenvalues(), [0.0; 3]);
    }
}
