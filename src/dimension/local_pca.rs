//! Principal axes of all points, or of the neighborhood of each: how many have variance.
//!
//! What: a rule (pca_rules.rs) counts axes of the spectrum of all points at once, or of each
//! neighborhood, of which the mean is taken. A neighborhood is the neighbors without the point.
//! Reference: Fukunaga and Olsen 1971; Fan et al. 2010; Cangelosi and Goriely 2007.
//! Assumptions: neighborhoods are flat, and have more points than the dimension sought.
//! Checked against: scikit-dimension 0.5.0, `lPCA` (tests/reference/estimators.py).

use rayon::prelude::{IndexedParallelIterator, IntoParallelRefIterator, ParallelIterator};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::estimator::Estimator;
use super::neighborhoods::Neighborhoods;
use super::pca_rules::PcaRule;
use super::support::TWO_ARE_A_LINE;
use super::{EstimateError, Finding, LocalEstimate, mean_and_error, own_quantiles};
use crate::geometry::Neighbors;
use crate::numerics::{PcaError, Points, PrincipalAxes};

/// Settings of a count of principal axes, for instance
/// `LocalPca(neighbors: 50, rule: FukunagaOlsen())`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LocalPca {
    /// Number of neighbors of each point; all points at once if left out.
    #[serde(default)]
    pub neighbors: Option<usize>,
    /// Which axes count.
    pub rule: PcaRule,
}

impl LocalPca {
    /// Counts axes in the spectrum of all points. There is no spread, so it is 0.
    fn of_all(&self, points: &Points) -> Result<LocalEstimate, EstimateError> {
        let rows = points.rows();
        let spectrum = spectrum(points)?;
        let count = self.rule.count(&spectrum).ok_or(EstimateError::NoVariance { points: rows })?;
        Ok(LocalEstimate { dimension: count, points_used: rows, ..LocalEstimate::default() })
    }

    /// Counts axes around each point. The spread is the standard error of the mean, as if
    /// neighborhoods were independent.
    fn of_each(
        &self,
        points: &Points,
        near: &Neighborhoods,
    ) -> Result<LocalEstimate, EstimateError> {
        let rows: Vec<&[(u32, f64)]> = near.iter().collect();
        let own = |row: &&[(u32, f64)]| -> Result<Option<f64>, PcaError> {
            let members = row.iter().flat_map(|&(index, _)| points.row(index as usize));
            let members = Points::from_rows(points.width(), members.copied().collect());
            Ok(self.rule.count(&spectrum(&members)?))
        };
        let mut found = Vec::with_capacity(rows.len());
        rows.par_iter().map(own).collect_into_vec(&mut found);
        // Neighbors that all coincide have no axes.
        let found: Vec<Option<f64>> = found.into_iter().collect::<Result<_, _>>()?;
        let found: Vec<f64> = found.into_iter().flatten().collect();
        let neighbors = self.neighbors.unwrap_or_default();
        let nothing = EstimateError::SameNeighbors { neighbors, points: near.rows() };
        let (dimension, spread) = mean_and_error(&found).ok_or(nothing)?;
        let (points_used, duplicates) = (found.len(), near.duplicates());
        let own = own_quantiles(found);
        Ok(LocalEstimate { dimension, spread, points_used, duplicates, own, ..Default::default() })
    }
}

/// Operations that take as long as what is done once for each neighborhood, and how much longer
/// those on small matrices take than on large ones.
const PER_SPECTRUM: f64 = 5e5;
const SMALL: f64 = 5.0;

impl Estimator for LocalPca {
    fn estimate(
        &self,
        points: &Points,
        known: Option<&Neighbors>,
    ) -> Result<Finding, EstimateError> {
        let found = match self.neighbors {
            Some(count) => self.of_each(points, &Neighborhoods::of(points, count, known)?)?,
            None => self.of_all(points)?,
        };
        Ok(Finding::Local(found))
    }

    fn neighbors(&self) -> Option<usize> {
        self.neighbors
    }

    fn fewest_neighbors(&self) -> usize {
        TWO_ARE_A_LINE.0
    }

    fn fewest_points(&self) -> Option<(usize, &'static str)> {
        self.neighbors.is_none().then_some(TWO_ARE_A_LINE)
    }

    /// Axes of one neighborhood take long to find, and the counts of neighborhoods hardly scatter.
    fn calibration_queries(&self) -> usize {
        100
    }

    fn operations(&self, points: usize, width: usize) -> f64 {
        match self.neighbors {
            Some(count) => {
                let axes = PrincipalAxes::operations(count, width);
                points as f64 * (PER_SPECTRUM + SMALL * axes)
            }
            None => PrincipalAxes::operations(points, width),
        }
    }

    fn counts_all_axes(&self) -> bool {
        self.neighbors.is_none()
    }
}

/// Returns the variances along the axes, largest first: as many as points or coordinates.
fn spectrum(points: &Points) -> Result<Vec<f64>, PcaError> {
    let axes = PrincipalAxes::of_points(points, 0)?;
    Ok(axes.eigenvalues()[..points.rows().min(points.width())].to_vec())
}
