//! Nearest points by plain loops on all cores, which faster ways are held against.

use pcae::numerics::Points;
use rayon::prelude::{IntoParallelIterator, ParallelIterator};

/// Returns the `count` nearest points of each query, nearest first; `queries` may leave one out.
pub(crate) fn nearest(
    points: &Points,
    queries: &Points,
    asked: usize,
    count: usize,
    own: impl Fn(usize) -> Option<usize> + Sync,
) -> Vec<Vec<(usize, f64)>> {
    let one = |query: usize| {
        let mut all: Vec<(usize, f64)> = (0..points.rows())
            .filter(|&row| own(query) != Some(row))
            .map(|row| (row, distance(queries.row(query), points.row(row))))
            .collect();
        all.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        all.truncate(count);
        all
    };
    (0..asked).into_par_iter().map(one).collect()
}

fn distance(left: &[f32], right: &[f32]) -> f64 {
    let mut sum = 0.0;
    for (&a, &b) in left.iter().zip(right) {
        let difference = f64::from(a) - f64::from(b);
        sum += difference * difference;
    }
    sum.sqrt()
}
