//! Points read in blocks, and the products between them that principal axes come from.
//!
//! Products are computed panel by panel on all threads; panels depend on sizes alone, so that equal
//! points give equal bytes whatever the number of threads.

use std::ops::Range;

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use super::PcaError;

/// Columns of a product that one thread computes at a time.
const PANEL: usize = 256;

/// Points that are read some at a time.
pub(super) struct Blocks<'a> {
    pub(super) rows: usize,
    pub(super) width: usize,
    /// Points read at once.
    pub(super) step: usize,
    /// Gives a range of points, one row after the other.
    pub(super) read: &'a mut dyn FnMut(Range<usize>) -> Vec<f32>,
}

impl Blocks<'_> {
    fn ranges(&self, from: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let (rows, step) = (self.rows, self.step);
        (from..rows).step_by(step).map(move |start| start..rows.min(start + step))
    }

    fn values(&mut self, range: &Range<usize>) -> Result<Vec<f32>, PcaError> {
        let values = (self.read)(range.clone());
        let (points, width, found) = (range.len(), self.width, values.len());
        if found == points * width {
            Ok(values)
        } else {
            Err(PcaError::BlockSize { points, width, found })
        }
    }

    /// Returns the mean of each coordinate, or where a value is not finite.
    pub(super) fn mean(&mut self) -> Result<Vec<f64>, PcaError> {
        let mut sums = vec![0.0; self.width];
        for range in self.ranges(0) {
            let values = self.values(&range)?;
            if let Some(place) = values.iter().position(|value| !value.is_finite()) {
                let point = range.start + place / self.width + 1;
                return Err(PcaError::NonFinite { point, coordinate: place % self.width + 1 });
            }
            for point in values.chunks_exact(self.width) {
                for (sum, &value) in sums.iter_mut().zip(point) {
                    *sum += f64::from(value);
                }
            }
        }
        Ok(sums.into_iter().map(|sum| sum / self.rows as f64).collect())
    }

    /// Returns points less their mean, one a column.
    fn centered(&mut self, range: &Range<usize>, mean: &[f64]) -> Result<Mat<f64>, PcaError> {
        let values = self.values(range)?;
        let mut columns = Mat::zeros(self.width, range.len());
        for (index, point) in values.chunks_exact(self.width).enumerate() {
            let column = columns.col_as_slice_mut(index).iter_mut();
            for ((entry, &value), mean) in column.zip(point).zip(mean) {
                *entry = f64::from(value) - mean;
            }
        }
        Ok(columns)
    }

    /// Returns the sums of products between coordinates; only the lower triangle is filled.
    pub(super) fn covariance(&mut self, mean: &[f64]) -> Result<Mat<f64>, PcaError> {
        let mut sums = Mat::zeros(self.width, self.width);
        for range in self.ranges(0) {
            let block = self.centered(&range, mean)?;
            add_product(sums.as_mut(), block.as_ref(), block.transpose(), Part::LowerTriangle);
        }
        Ok(sums)
    }

    /// Returns the products between points; only the lower triangle is filled.
    pub(super) fn gram(&mut self, mean: &[f64]) -> Result<Mat<f64>, PcaError> {
        let mut products = Mat::zeros(self.rows, self.rows);
        for right in self.ranges(0) {
            let columns = self.centered(&right, mean)?;
            for left in self.ranges(right.start) {
                let other = (left != right).then(|| self.centered(&left, mean)).transpose()?;
                let rows = other.as_ref().unwrap_or(&columns).transpose();
                let (top, height) = (left.start, left.len());
                let into = products.as_mut().submatrix_mut(top, right.start, height, right.len());
                add_product(into, rows, columns.as_ref(), Part::Whole);
            }
        }
        Ok(products)
    }

    /// Returns sums of points, one a column, with each column of `weights` as their weights.
    pub(super) fn combined(
        &mut self,
        mean: &[f64],
        weights: &Mat<f64>,
    ) -> Result<Mat<f64>, PcaError> {
        let mut sums = Mat::zeros(self.width, weights.ncols());
        for range in self.ranges(0) {
            let block = self.centered(&range, mean)?;
            let weights = weights.as_ref().subrows(range.start, range.len());
            add_product(sums.as_mut(), block.as_ref(), weights, Part::Whole);
        }
        Ok(sums)
    }
}

/// The part of a product that is computed.
#[derive(Clone, Copy)]
enum Part {
    Whole,
    /// The lower triangle, and what else falls into its panels.
    LowerTriangle,
}

/// Adds a product of matrices, panel by panel: a panel's numbers don't depend on who computes it.
fn add_product(into: MatMut<'_, f64>, left: MatRef<'_, f64>, right: MatRef<'_, f64>, part: Part) {
    let mut panels = Vec::new();
    let mut rest = into;
    while rest.ncols() > 0 {
        let start = panels.len() * PANEL;
        let (panel, after) = rest.split_at_col_mut(PANEL.min(right.ncols() - start));
        panels.push((start, panel));
        rest = after;
    }
    panels.into_par_iter().for_each(|(start, panel)| {
        let top = match part {
            Part::Whole => 0,
            Part::LowerTriangle => start,
        };
        let (height, width) = (panel.nrows() - top, panel.ncols());
        let columns = right.subcols(start, width);
        let rows = left.subrows(top, height);
        matmul(panel.subrows_mut(top, height), Accum::Add, rows, columns, 1.0, Par::Seq);
    });
}
