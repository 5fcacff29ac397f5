//! Kernel distance: the squared maximum mean discrepancy of two point sets, over random subsets.
//!
//! What: with k(x, y) = (x.y / d + 1)^3 the unbiased estimate
//! (sum k(x, x') + sum k(y, y')) / (m (m - 1)) - 2 sum k(x, y) / m^2, pairs of a point with itself
//! left out; its mean and population standard deviation over subsets of m points a side.
//! Reference: Binkowski, Sutherland, Arbel and Gretton 2018, "Demystifying MMD GANs" (KID).
//! Assumptions: subsets are drawn without putting back, anew for each side. Where a side has fewer
//! points than a subset should, m is that number. Subsets are computed side by side but summed in
//! their order.
//! Checked against: tests/reference/frechet.json (torch-fidelity and clean-fid), subset by subset.

use std::num::NonZeroUsize;

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, Par};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{MetricError, check};
use crate::numerics::rng::permutation;
use crate::numerics::{Points, Seed};

/// Subsets computed between two reports.
const CHUNK: usize = 8;

/// Settings of the kernel distance: `Kid(subsets: 100, subset_size: 1000, seed: 0)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "Kid")]
pub struct KidSpec {
    /// Number of subsets.
    pub subsets: NonZeroUsize,
    /// Points of each side in a subset, real and generated.
    pub subset_size: NonZeroUsize,
    /// Random seed for choosing the subsets.
    pub seed: Seed,
}

/// A kernel distance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KernelDistance {
    /// Mean over subsets.
    pub mean: f64,
    /// Population standard deviation over subsets.
    pub spread: f64,
    /// Points of each side in a subset, which may be fewer than asked for.
    pub subset_size: usize,
}

impl KidSpec {
    /// Measures the kernel distance; `progress` hears of subsets done and in all.
    pub fn measure(
        &self,
        real: &Points,
        generated: &Points,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<KernelDistance, MetricError> {
        check(real)?;
        check(generated)?;
        if real.width() != generated.width() {
            let (real, generated) = (real.width(), generated.width());
            return Err(MetricError::Widths { real, generated });
        }
        let size = self.subset_size.get().min(real.rows()).min(generated.rows());
        if size < 2 {
            return Err(MetricError::TooFew { points: size });
        }
        let subsets: Vec<usize> = (0..self.subsets.get()).collect();
        let mut found = Vec::with_capacity(subsets.len());
        for chunk in subsets.chunks(CHUNK) {
            let measure = |subset: &usize| {
                let chosen = |side: &str, points: &Points| {
                    let mut rng = self.seed.stream(&format!("kid/{side}/{subset}"));
                    rows(points, &permutation(points.rows(), &mut rng)[..size])
                };
                discrepancy(&chosen("real", real), &chosen("generated", generated))
            };
            found.extend(chunk.par_iter().map(measure).collect::<Vec<f64>>());
            progress(found.len() as u64, subsets.len() as u64);
        }
        let mean = found.iter().sum::<f64>() / found.len() as f64;
        let squares: f64 = found.iter().map(|one| (one - mean).powi(2)).sum();
        let spread = (squares / found.len() as f64).sqrt();
        Ok(KernelDistance { mean, spread, subset_size: size })
    }
}

/// Returns the chosen points, one a column.
fn rows(points: &Points, chosen: &[usize]) -> Mat<f64> {
    let mut columns = Mat::zeros(points.width(), chosen.len());
    for (index, &row) in chosen.iter().enumerate() {
        for (entry, &value) in columns.col_as_slice_mut(index).iter_mut().zip(points.row(row)) {
            *entry = f64::from(value);
        }
    }
    columns
}

/// Returns the unbiased squared discrepancy of two sets of as many points.
fn discrepancy(real: &Mat<f64>, generated: &Mat<f64>) -> f64 {
    let size = real.ncols() as f64;
    let (of_real, twins_of_real) = kernel_sums(real, real);
    let (of_generated, twins_of_generated) = kernel_sums(generated, generated);
    let (between, _) = kernel_sums(real, generated);
    let within = of_real - twins_of_real + of_generated - twins_of_generated;
    within / (size * (size - 1.0)) - 2.0 * between / (size * size)
}

/// Returns the sum of the kernel over all pairs, and over those with equal places in both sets.
fn kernel_sums(one: &Mat<f64>, other: &Mat<f64>) -> (f64, f64) {
    let mut products = Mat::zeros(one.ncols(), other.ncols());
    matmul(
        products.as_mut(),
        Accum::Replace,
        one.transpose(),
        other.as_ref(),
        1.0 / one.nrows() as f64,
        Par::Seq,
    );
    let (mut all, mut twins) = (0.0, 0.0);
    for column in 0..products.ncols() {
        let kernel = |product: &f64| (product + 1.0).powi(3);
        all += products.col_as_slice(column).iter().map(kernel).sum::<f64>();
        twins += kernel(&products[(column, column)]);
    }
    (all, twins)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluation::fid::reference::points;

    #[derive(Deserialize)]
    struct Reference {
        kid: Kid,
    }

    /// One subset of packages' own choice, and the whole of both sides.
    #[derive(Deserialize)]
    struct Kid {
        rows: usize,
        width: usize,
        real: Vec<usize>,
        generated: Vec<usize>,
        subset: f64,
        whole_torch_fidelity: f64,
        whole_clean_fid: f64,
        mean_of_many: f64,
        spread_of_many: f64,
        many: NonZeroUsize,
        many_size: NonZeroUsize,
    }

    fn reference() -> (Kid, Points, Points) {
        let text = include_str!("../../../tests/reference/frechet.json");
        let Reference { kid } = serde_json::from_str(text).unwrap();
        let real = points(11, kid.rows, kid.width, kid.width, 0.0);
        let generated = points(12, kid.rows, kid.width, kid.width, 0.25);
        (kid, real, generated)
    }

    fn close(found: f64, expected: f64, within: f64) {
        assert!((found - expected).abs() < within * expected.abs(), "{found} against {expected}");
    }

    #[test]
    fn a_subset_has_the_discrepancy_that_published_packages_give_it() {
        let (kid, real, generated) = reference();
        let subset = discrepancy(&rows(&real, &kid.real), &rows(&generated, &kid.generated));
        // torch-fidelity takes 32-bit features and computes with them.
        close(subset, kid.subset, 1e-5);
        let one = NonZeroUsize::MIN;
        let all = KidSpec { subsets: one, subset_size: one.saturating_add(9999), seed: Seed(0) };
        let whole = all.measure(&real, &generated, &mut |_, _| ()).unwrap();
        assert_eq!((whole.subset_size, whole.spread), (kid.rows, 0.0));
        close(whole.mean, kid.whole_torch_fidelity, 1e-5);
        close(whole.mean, kid.whole_clean_fid, 1e-5);
    }

    #[test]
    fn many_subsets_have_the_mean_and_the_spread_that_those_of_a_package_have() {
        let (kid, real, generated) = reference();
        let spec = KidSpec { subsets: kid.many, subset_size: kid.many_size, seed: Seed(0) };
        let mut told = Vec::new();
        let found =
            spec.measure(&real, &generated, &mut |done, all| told.push((done, all))).unwrap();
        let count = kid.many.get() as f64;
        // Other subsets: means differ by chance, hardly ever by four standard errors.
        let chance = 4.0 * kid.spread_of_many * (2.0 / count).sqrt();
        assert!((found.mean - kid.mean_of_many).abs() < chance, "{found:?}");
        close(found.spread, kid.spread_of_many, 0.1);
        assert_eq!(told.last(), Some(&(count as u64, count as u64)));
        assert_eq!(spec.measure(&real, &generated, &mut |_, _| ()).unwrap(), found);
        let other = KidSpec { seed: Seed(1), ..spec };
        assert_ne!(other.measure(&real, &generated, &mut |_, _| ()).unwrap(), found);
    }
}
