//! Frechet distance between the Gaussians that have the means and covariances of two point sets.
//!
//! What: |m1 - m2|^2 + tr(S1 + S2) - 2 tr((S1^1/2 S2 S1^1/2)^1/2), with unbiased covariances. Each
//! covariance is kept as a factor F with S = F^T F, the triangle of a QR decomposition of the
//! centered points; the last trace is then the sum of the singular values of F1 F2^T.
//! Reference: Dowson and Landau 1982, "The Frechet distance between multivariate normal
//! distributions"; as a score of generated images Heusel et al. 2017 (FID).
//! Assumptions: none on rank. No root of a rounded zero is taken, as the root of a product of
//! covariances does, so fewer points than coordinates cost no accuracy: errors stay at the rounding
//! of the traces. Points are read once, some at a time; sums have a fixed order.
//! Checked against: tests/reference/frechet.json (pytorch-fid, torch-fidelity, and mpmath).

use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::matmul::matmul;
use faer::linalg::qr::no_pivoting::factor::{
    qr_in_place, qr_in_place_scratch, recommended_block_size,
};
use faer::linalg::svd::{ComputeSvdVectors, svd, svd_scratch};
use faer::{Accum, Mat, Par, Spec};

use super::{MetricError, check};
use crate::numerics::Points;

/// Points that join the triangle at once, in multiples of its width.
const BLOCK: usize = 2;

/// A mean and a covariance.
#[derive(Clone, Debug)]
pub struct Gaussian {
    mean: Vec<f64>,
    /// Its transpose times itself is the covariance.
    factor: Mat<f64>,
}

impl Gaussian {
    /// Returns the Gaussian with the mean and the unbiased covariance of points.
    pub fn of(points: &Points) -> Result<Self, MetricError> {
        check(points)?;
        let mean = points.means();
        let mut factor = if points.rows() <= points.width() {
            let mut centered = Mat::zeros(points.rows(), points.width());
            put(points, &mean, 0..points.rows(), &mut centered, 0);
            centered
        } else {
            triangle(points, &mean)
        };
        let scale = 1.0 / ((points.rows() - 1) as f64).sqrt();
        for column in 0..factor.ncols() {
            factor.col_as_slice_mut(column).iter_mut().for_each(|entry| *entry *= scale);
        }
        Ok(Self { mean, factor })
    }

    /// Returns the squared Frechet distance to another Gaussian.
    pub fn distance(&self, other: &Self) -> Result<f64, MetricError> {
        let (real, generated) = (self.mean.len(), other.mean.len());
        if real != generated {
            return Err(MetricError::Widths { real, generated });
        }
        let means = self.mean.iter().zip(&other.mean);
        let between: f64 = means.map(|(one, other)| (one - other).powi(2)).sum();
        let common: f64 = singular_values(&self.factor, &other.factor)?.iter().sum();
        // Rounding can bring the distance of equal Gaussians just below zero.
        Ok((between + self.total() + other.total() - 2.0 * common).max(0.0))
    }

    /// Returns the trace of the covariance.
    fn total(&self) -> f64 {
        let columns = 0..self.factor.ncols();
        columns.flat_map(|column| self.factor.col_as_slice(column)).map(|entry| entry * entry).sum()
    }
}

/// Writes centered points into the rows of a table, from row `to` on.
fn put(
    points: &Points,
    mean: &[f64],
    rows: std::ops::Range<usize>,
    table: &mut Mat<f64>,
    to: usize,
) {
    for (column, mean) in mean.iter().enumerate() {
        let places = &mut table.col_as_slice_mut(column)[to..];
        for (place, row) in places.iter_mut().zip(rows.clone()) {
            *place = f64::from(points.row(row)[column]) - mean;
        }
    }
}

/// Returns the triangle of the QR decomposition of the centered points, block by block: the triangle
/// of all blocks so far stands above the next one.
fn triangle(points: &Points, mean: &[f64]) -> Mat<f64> {
    let (rows, width) = (points.rows(), points.width());
    let height = rows.min((BLOCK + 1) * width);
    let mut table = Mat::<f64>::zeros(height, width);
    let step = recommended_block_size::<f64>(height, width);
    let mut reflections = Mat::zeros(step, width);
    let memory = qr_in_place_scratch::<f64>(height, width, step, Par::Seq, Spec::default());
    let mut memory = MemBuffer::new(memory);
    let (mut done, mut top) = (0, 0);
    while done < rows {
        let count = (height - top).min(rows - done);
        put(points, mean, done..done + count, &mut table, top);
        qr_in_place(
            table.as_mut().subrows_mut(0, top + count),
            reflections.as_mut(),
            Par::Seq,
            MemStack::new(&mut memory),
            Spec::default(),
        );
        for column in 0..width {
            table.col_as_slice_mut(column)[column + 1..].fill(0.0);
        }
        (done, top) = (done + count, width);
    }
    table.truncate(width, width);
    table
}

/// Returns the singular values of one factor times the transpose of another.
fn singular_values(one: &Mat<f64>, other: &Mat<f64>) -> Result<Vec<f64>, MetricError> {
    let (rows, columns) = (one.nrows(), other.nrows());
    let mut product = Mat::zeros(rows, columns);
    matmul(product.as_mut(), Accum::Replace, one.as_ref(), other.transpose(), 1.0, Par::Seq);
    let mut values = Diag::<f64>::zeros(rows.min(columns));
    let none = ComputeSvdVectors::No;
    let memory = svd_scratch::<f64>(rows, columns, none, none, Par::Seq, Spec::default());
    svd(
        product.as_ref(),
        values.as_mut(),
        None,
        None,
        Par::Seq,
        MemStack::new(&mut MemBuffer::new(memory)),
        Spec::default(),
    )
    .map_err(|_| MetricError::NoConvergence)?;
    Ok(values.column_vector().iter().copied().collect())
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::evaluation::fid::reference::points;

    #[derive(Deserialize)]
    struct Reference {
        cases: Vec<Case>,
    }

    #[derive(Deserialize)]
    struct Case {
        name: String,
        width: usize,
        real: Side,
        generated: Side,
        exact: f64,
        pytorch_fid: f64,
        torch_fidelity: f64,
        packages_within: f64,
    }

    #[derive(Deserialize)]
    struct Side {
        seed: u32,
        rows: usize,
        rank: usize,
        shift: f32,
    }

    impl Side {
        fn gaussian(&self, width: usize) -> Gaussian {
            Gaussian::of(&points(self.seed, self.rows, width, self.rank, self.shift)).unwrap()
        }
    }

    #[test]
    fn distances_are_those_of_exact_arithmetic_and_of_published_packages() {
        let text = include_str!("../../../tests/reference/frechet.json");
        let reference: Reference = serde_json::from_str(text).unwrap();
        assert!(reference.cases.len() >= 5);
        for case in reference.cases {
            let (real, generated) =
                (case.real.gaussian(case.width), case.generated.gaussian(case.width));
            let found = real.distance(&generated).unwrap();
            let off = |expected: f64| (found - expected).abs() / expected;
            assert!(off(case.exact) < 1e-11, "{}: {found} against {}", case.name, case.exact);
            for (package, expected) in
                [("pytorch-fid", case.pytorch_fid), ("torch-fidelity", case.torch_fidelity)]
            {
                assert!(
                    off(expected) <= case.packages_within,
                    "{}: {found} against {expected} of {package}",
                    case.name
                );
            }
            let back = generated.distance(&real).unwrap();
            assert!((back - found).abs() <= 1e-11 * found, "{}: it is symmetric", case.name);
        }
    }

    #[test]
    fn equal_sets_have_no_distance_and_a_shift_is_its_square() {
        let side = |shift: f32| Gaussian::of(&points(1, 500, 30, 20, shift)).unwrap();
        let (here, there) = (side(0.0), side(0.5));
        let total = here.total();
        assert!(here.distance(&here).unwrap() < 1e-12 * total);
        let means: f64 = here.mean.iter().zip(&there.mean).map(|(a, b)| (a - b).powi(2)).sum();
        assert!(means > 1.0);
        assert!((here.distance(&there).unwrap() - means).abs() < 1e-12 * (total + means));
    }

    #[test]
    fn points_that_can_not_be_compared_are_refused() {
        let table = |width: usize, values: &[f32]| Points::from_rows(width, values.to_vec());
        let refused = |points: &Points| Gaussian::of(points).unwrap_err();
        assert_eq!(refused(&table(2, &[1.0, 2.0])), MetricError::TooFew { points: 1 });
        assert_eq!(
            refused(&table(2, &[1.0, 2.0, 3.0, f32::NAN])),
            MetricError::NonFinite { point: 2, coordinate: 2 }
        );
        let gaussian = |width| Gaussian::of(&points(1, 9, width, width, 0.0)).unwrap();
        assert_eq!(
            gaussian(2).distance(&gaussian(3)).unwrap_err().to_string(),
            "points with 2 coordinates can't be compared with points with 3: use the same network \
             for both"
        );
    }
}
