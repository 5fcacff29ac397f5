//! How points appear to an estimator beside its own estimate: what tells in which way it may err.
//!
//! What: from the distances to neighbors of three ranks, `unevenness` is the scatter of log distance
//! times the dimension (large where density varies), and `trend` is how the likeliest dimension
//! changes from few neighbors to many (up where a manifold is curved, down near edges and noise).
//! Reference: the likelihood of MacKay and Ghahramani 2005, at three ranks.

use crate::dimension::neighborhoods::Neighborhoods;
use crate::geometry::Neighbors;
use crate::numerics::Points;

/// Ranks of neighbors: few, some and many.
const RANKS: [usize; 3] = [5, 20, 50];

/// How points appear.
pub(super) struct Appearance {
    unevenness: f64,
    trend: f64,
    typical: f64,
}

impl Appearance {
    /// Returns the ranks of neighbors for a number of points: fewer where the usual ones would be
    /// most of the points.
    pub(super) fn ranks(points: usize) -> [usize; 3] {
        let [few, some, many] = RANKS;
        if points > 3 * many {
            return RANKS;
        }
        let scale = |rank: usize| (rank * points / (3 * many)).max(3);
        let few = scale(few);
        let some = scale(some).max(few + 1);
        [few, some, scale(many).max(some + 1)]
    }

    /// Describes points by their neighbors; nothing if too many coincide.
    pub(super) fn of(points: &Points, near: &Neighbors, ranks: [usize; 3]) -> Option<Self> {
        let near = Neighborhoods::of(points, ranks[2], Some(near)).ok()?;
        let [few, some, many] = ranks.map(|rank| likeliest(&near, rank));
        let logs = near.distances(ranks[1]).into_iter().map(f64::ln);
        let (count, sum) = logs.clone().fold((0.0, 0.0), |(n, sum), log| (n + 1.0, sum + log));
        let mean = sum / count;
        let scatter = (logs.map(|log| (log - mean).powi(2)).sum::<f64>() / count).sqrt();
        let unevenness = (scatter * some).ln();
        let seen = Self { unevenness, trend: (few / many).ln(), typical: some.ln() };
        seen.numbers().iter().all(|number| number.is_finite()).then_some(seen)
    }

    /// Returns unevenness, trend, and the logarithm of the likeliest dimension.
    pub(super) const fn numbers(&self) -> [f64; 3] {
        [self.unevenness, self.trend, self.typical]
    }
}

/// Returns the likeliest dimension by neighbors up to a rank.
fn likeliest(near: &Neighborhoods, rank: usize) -> f64 {
    let sum = |row: &[(u32, f64)]| -> f64 {
        let farthest = row[rank - 1].1;
        row[..rank - 1].iter().map(|(_, distance)| (farthest / distance).ln()).sum()
    };
    let total: f64 = near.iter().map(sum).sum();
    (rank - 1) as f64 * near.rows() as f64 / total
}
