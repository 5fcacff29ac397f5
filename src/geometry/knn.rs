//! The nearest neighbors of every point among the others, or among other points.
//!
//! What: each point is a query to the exact search of search.rs. A point of the set itself is left
//! out of its own neighbors.
//! Assumptions: finite coordinates. Ties are broken by the lower index.
//! Checked against: a plain double-precision scan (tests below) and scikit-learn (reference.rs).

use rayon::prelude::{IndexedParallelIterator, ParallelIterator, ParallelSliceMut};

use super::GeometryError;
use super::search::{BLOCK, Room, Search};
use crate::numerics::Points;

/// The nearest neighbors of every point, nearest first; no point is its own neighbor.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbors {
    count: usize,
    links: Vec<(u32, f64)>,
}

impl Neighbors {
    /// Finds the `count` nearest neighbors of each of the points.
    pub fn of(points: &Points, count: usize) -> Result<Self, GeometryError> {
        Self::find(points, points, count, Some)
    }

    /// Finds the `count` points that are nearest to each of the queries.
    pub fn among(points: &Points, queries: &Points, count: usize) -> Result<Self, GeometryError> {
        Self::find(points, queries, count, |_| None)
    }

    /// Finds neighbors; `own` tells at which point a row of the queries is found itself.
    fn find(
        points: &Points,
        queries: &Points,
        count: usize,
        own: fn(usize) -> Option<usize>,
    ) -> Result<Self, GeometryError> {
        let (rows, width) = (points.rows(), points.width());
        if queries.width() != width {
            return Err(GeometryError::OtherWidth { expected: width, found: queries.width() });
        }
        if rows <= count {
            return Err(GeometryError::TooFewPoints { neighbors: count, points: rows });
        }
        if u32::try_from(rows).is_err() {
            return Err(GeometryError::TooManyPoints { points: rows });
        }
        let search = Search::over(points);
        if let Some(row) = search.first_not_finite() {
            return Err(GeometryError::NonFinite { row });
        }
        let mut links = vec![(0, 0.0); queries.rows() * count];
        let blocks = links.par_chunks_mut(BLOCK * count.max(1)).enumerate();
        let broken = blocks.map_init(Room::default, |room, (block, links)| {
            let first = block * BLOCK;
            let last = queries.rows().min(first + BLOCK);
            let block = &queries.values()[first * width..last * width];
            search.nearest(block, own(first), count, room, links).map(|row| first + row)
        });
        match broken.flatten().min() {
            Some(row) => Err(GeometryError::NonFinite { row }),
            None => Ok(Self { count, links }),
        }
    }

    /// Returns the number of points.
    pub fn rows(&self) -> usize {
        self.links.len().checked_div(self.count).unwrap_or(0)
    }

    /// Returns the neighbors of one point with their Euclidean distances, nearest first.
    pub fn row(&self, index: usize) -> &[(u32, f64)] {
        &self.links[index * self.count..(index + 1) * self.count]
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::geometry::squared_distance;
    use crate::numerics::Seed;

    fn plain_scan(points: &Points, count: usize) -> Vec<Vec<(u32, f64)>> {
        (0..points.rows())
            .map(|row| {
                let mut all: Vec<(u32, f64)> = (0..points.rows())
                    .filter(|&other| other != row)
                    .map(|other| {
                        let squared = squared_distance(points.row(row), points.row(other));
                        (other as u32, squared.sqrt())
                    })
                    .collect();
                all.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
                all.truncate(count);
                all
            })
            .collect()
    }

    fn random_points(rows: usize, width: usize, offset: f32) -> Points {
        let mut rng = Seed(5).stream("points");
        let values = (0..rows * width).map(|_| offset + rng.random::<f32>()).collect();
        Points::new(rows, width, values).unwrap()
    }

    fn assert_matches_plain_scan(points: &Points, count: usize) {
        let found = Neighbors::of(points, count).unwrap();
        for (row, expected) in plain_scan(points, count).iter().enumerate() {
            assert_eq!(found.row(row), expected, "row {row}");
        }
    }

    #[test]
    fn neighbors_of_points_on_a_line_are_the_adjacent_ones() {
        let points = Points::new(4, 1, vec![0.0, 1.0, 3.0, 7.0]).unwrap();
        let found = Neighbors::of(&points, 2).unwrap();
        assert_eq!(found.row(0), [(1, 1.0), (2, 3.0)]);
        assert_eq!(found.row(2), [(1, 2.0), (0, 3.0)]);
    }

    #[test]
    fn other_points_are_searched_whether_or_not_they_are_in_the_set() {
        let points = Points::new(4, 1, vec![0.0, 1.0, 3.0, 7.0]).unwrap();
        let found = Neighbors::among(&points, &Points::from_rows(1, vec![6.0, 1.0]), 2).unwrap();
        assert_eq!((found.rows(), found.row(0)), (2, [(3, 1.0), (2, 3.0)].as_slice()));
        assert_eq!(found.row(1), [(1, 0.0), (0, 1.0)]);
        let refused = |queries| Neighbors::among(&points, &queries, 2).unwrap_err().to_string();
        assert_eq!(
            refused(Points::from_rows(2, vec![0.0; 4])),
            "points of 2 coordinates can't be compared with points of 1"
        );
        assert_eq!(
            refused(Points::from_rows(1, vec![0.0, f32::NAN])),
            "point 1 has a coordinate that is not finite"
        );
    }

    #[test]
    fn random_points_get_the_neighbors_of_a_plain_scan() {
        assert_matches_plain_scan(&random_points(203, 13, 0.0), 7);
        assert_matches_plain_scan(&random_points(9, 3, 0.0), 8);
    }

    #[test]
    fn points_far_from_the_origin_are_exact_although_single_precision_cancels() {
        // At an offset of 1000 the fast pass is off by more than most distances.
        assert_matches_plain_scan(&random_points(150, 4, 1000.0), 5);
    }

    #[test]
    fn binary_points_with_many_equal_distances_get_the_neighbors_of_a_plain_scan() {
        let mut rng = Seed(6).stream("points");
        let values: Vec<f32> = (0..300 * 20).map(|_| f32::from(rng.random::<bool>())).collect();
        assert_matches_plain_scan(&Points::new(300, 20, values.clone()).unwrap(), 6);
        // The same with a step that single precision can't hold.
        let tenths = values.iter().map(|value| value * 0.1).collect();
        assert_matches_plain_scan(&Points::new(300, 20, tenths).unwrap(), 6);
    }

    #[test]
    fn coordinates_whose_squares_leave_single_precision_are_no_trouble() {
        for scale in [1e-30, 1e-22, 1e19, 1e30] {
            let mut points = random_points(60, 3, 0.0);
            points.values_mut().iter_mut().for_each(|value| *value *= scale);
            assert_matches_plain_scan(&points, 4);
        }
    }

    #[test]
    fn equal_distances_are_ordered_by_index() {
        let points = Points::new(40, 1, vec![2.0; 40]).unwrap();
        let found = Neighbors::of(&points, 3).unwrap();
        assert_eq!(found.row(1), [(0, 0.0), (2, 0.0), (3, 0.0)]);
    }

    #[test]
    fn too_few_points_and_coordinates_that_are_not_numbers_are_refused() {
        let error = Neighbors::of(&random_points(5, 2, 0.0), 5).unwrap_err();
        assert_eq!(error.to_string(), "5 neighbors need at least 6 points, found 5");
        let broken = Points::new(3, 1, vec![0.0, f32::NAN, 1.0]).unwrap();
        assert_eq!(Neighbors::of(&broken, 1), Err(GeometryError::NonFinite { row: 1 }));
    }
}
