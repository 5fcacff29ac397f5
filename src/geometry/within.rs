//! How many points lie within some distances of others.
//!
//! What: for each asked point and each radius, the number of other points that are nearer than the
//! radius but do not coincide with it. Rough distances (search.rs) rule most out; the rest is
//! measured.
//! Checked against: a plain double-precision scan (tests below).

use rayon::prelude::{ParallelIterator, ParallelSlice};

use super::search::{BLOCK, Search};
use super::{GeometryError, euclidean};
use crate::numerics::Points;

/// Counts, for each asked point, the other points at a distance above 0 and below each radius.
pub fn counts_within<const RADII: usize>(
    points: &Points,
    asked: &[u32],
    radii: [f64; RADII],
) -> Result<Vec<[u64; RADII]>, GeometryError> {
    let search = Search::over(points);
    if let Some(row) = search.first_not_finite() {
        return Err(GeometryError::NonFinite { row });
    }
    let largest = radii.iter().copied().fold(0.0, f64::max);
    let blocks = asked.par_chunks(BLOCK).map(|asked| {
        let mut counts = vec![[0; RADII]; asked.len()];
        search.near(asked, largest * largest, |query, other| {
            let row = asked[query];
            if row != other {
                let distance = euclidean(points.row(row as usize), points.row(other as usize));
                for (count, radius) in counts[query].iter_mut().zip(radii) {
                    *count += u64::from(0.0 < distance && distance < radius);
                }
            }
        });
        counts
    });
    Ok(blocks.collect::<Vec<_>>().concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::sketch::tests::wavy;

    #[test]
    fn counts_are_those_of_a_plain_scan() {
        for points in [wavy(4500, 70), wavy(300, 5)] {
            let asked = [0, 7, 250];
            let middle = euclidean(points.row(0), points.row(1));
            let radii = [0.5 * middle, middle];
            let found = counts_within(&points, &asked, radii).unwrap();
            for (&row, found) in asked.iter().zip(found) {
                let far = |other| euclidean(points.row(row as usize), points.row(other));
                let others = (0..points.rows()).filter(|&other| other != row as usize);
                let expected = radii.map(|radius| {
                    others.clone().filter(|&other| far(other) < radius).count() as u64
                });
                assert_eq!(found, expected, "row {row}");
                assert!(expected[1] > 0);
            }
        }
    }

    #[test]
    fn what_coincides_or_lies_on_the_radius_is_not_counted() {
        let points = Points::new(5, 1, vec![0.0, 0.0, 1.0, 2.0, 5.0]).unwrap();
        let counts = counts_within(&points, &[0, 2], [1.0, 2.5]).unwrap();
        assert_eq!(counts, [[0, 2], [0, 3]]);
    }
}
