//! Classes by the nearest samples of known class.
//!
//! What: each point has the class that most of its nearest training points have; among classes with
//! equally many, the first.
//! Reference: Cover and Hart 1967; ties as in scikit-learn's `KNeighborsClassifier`.
//! Checked against: tests/reference/classification.json (scikit-learn).

use super::{ClassificationError, Labels};
use crate::geometry::{Neighbors, nearest_among};
use crate::numerics::Points;

/// Returns the class of each of the points by its nearest training points.
pub(super) fn classes_of(
    points: &Points,
    train: &Points,
    labels: &Labels,
    neighbors: usize,
) -> Result<Vec<u16>, ClassificationError> {
    Ok(vote(&nearest_among(train, points, neighbors)?, neighbors, labels))
}

/// Returns the class of each training point by the others.
pub(super) fn classes_of_own(
    train: &Points,
    labels: &Labels,
    neighbors: usize,
) -> Result<Vec<u16>, ClassificationError> {
    Ok(vote(Neighbors::of(train, neighbors)?.links(), neighbors, labels))
}

fn vote(links: &[(u32, f64)], neighbors: usize, labels: &Labels) -> Vec<u16> {
    let winner = |nearest: &[(u32, f64)]| {
        let mut votes = vec![0_usize; labels.names.len()];
        for (neighbor, _) in nearest {
            votes[usize::from(labels.values[*neighbor as usize])] += 1;
        }
        let first = (0, 0);
        let counts = (0..).zip(votes);
        counts.fold(first, |best, next| if next.1 > best.1 { next } else { best }).0
    };
    links.chunks_exact(neighbors).map(winner).collect()
}
