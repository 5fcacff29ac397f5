//! The nearest neighbors of points among all the others, or among other points.
//!
//! What: each point, or each of some chosen ones, is a query to the exact search of search.rs. A
//! point of the set itself is left out of its own neighbors.
//! Assumptions: finite coordinates. Ties are broken by the lower index.
//! Checked against: a plain double-precision scan (tests below) and scikit-learn (reference.rs).

use rayon::prelude::{IndexedParallelIterator, ParallelIterator, ParallelSliceMut};

use super::search::{BLOCK, Room, Search};
use super::{GeometryError, euclidean};
use crate::numerics::rng::permutation;
use crate::numerics::{Points, Seed};

/// Queries between two progress reports.
const REPORT: usize = 8 * BLOCK;

/// The nearest neighbors of points, nearest first; no point is its own neighbor.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbors {
    /// Number of points among which neighbors were searched.
    points: usize,
    /// The points whose neighbors these are, in ascending order.
    asked: Vec<u32>,
    count: usize,
    links: Vec<(u32, f64)>,
}

impl Neighbors {
    /// Finds the `count` nearest neighbors of each of the points.
    pub fn of(points: &Points, count: usize) -> Result<Self, GeometryError> {
        let everyone = (0..points.rows()).map(|row| row as u32).collect();
        Self::of_some(points, everyone, count, &mut |_, _| ())
    }

    /// Chooses points to ask for their neighbors, at random.
    pub fn choose(points: &Points, queries: usize, seed: Seed) -> Result<Vec<u32>, GeometryError> {
        let points = points.rows();
        if queries > points {
            return Err(GeometryError::TooManyQueries { queries, points });
        }
        let mut chosen = permutation(points, &mut seed.stream("queries"));
        chosen.truncate(queries);
        chosen.sort_unstable();
        Ok(chosen.into_iter().map(|row| row as u32).collect())
    }

    /// Finds the `count` nearest neighbors of some of the points among all of them.
    pub fn of_some(
        points: &Points,
        asked: Vec<u32>,
        count: usize,
        on_progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Self, GeometryError> {
        let rows = points.rows();
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
        let mut links = vec![(0, 0.0); asked.len() * count];
        for (part, links) in links.chunks_mut(REPORT * count.max(1)).enumerate() {
            let blocks = links.par_chunks_mut(BLOCK * count.max(1)).enumerate();
            blocks.for_each_init(Room::default, |room, (block, links)| {
                let first = part * REPORT + block * BLOCK;
                let asked = &asked[first..first + links.len() / count.max(1)];
                let queries: Vec<f32> =
                    asked.iter().flat_map(|&row| points.row(row as usize)).copied().collect();
                let own = |index: usize| Some(asked[index] as usize);
                search.nearest(&queries, own, count, room, links);
            });
            on_progress(asked.len().min((part + 1) * REPORT) as u64, asked.len() as u64);
        }
        Ok(Self { points: rows, asked, count, links })
    }

    /// Puts stored neighbors together again.
    pub fn from_parts(
        points: usize,
        asked: Vec<u32>,
        count: usize,
        links: Vec<(u32, f64)>,
    ) -> Result<Self, GeometryError> {
        let broken = |rule| GeometryError::BrokenNeighbors { queries: asked.len(), points, rule };
        let known = |row: u32| (row as usize) < points;
        if asked.is_empty() || count == 0 {
            return Err(broken("there is at least one neighbor"));
        }
        if asked.len().checked_mul(count) != Some(links.len()) {
            return Err(broken("all points have equally many"));
        }
        if !asked.iter().chain(links.iter().map(|(row, _)| row)).all(|&row| known(row)) {
            return Err(broken("every neighbor is one of the points"));
        }
        if !asked.is_sorted_by(|a, b| a < b) {
            return Err(broken("query points are in ascending order, without repeats"));
        }
        let rows = || asked.iter().zip(links.chunks_exact(count));
        if rows().any(|(row, links)| links.iter().any(|(other, _)| other == row)) {
            return Err(broken("no point is its own neighbor"));
        }
        let is_length = |&(_, distance): &(u32, f64)| distance.is_finite() && distance >= 0.0;
        let ascending = |links: &[(u32, f64)]| links.is_sorted_by(|a, b| a.1 <= b.1);
        if !rows().all(|(_, links)| links.iter().all(is_length) && ascending(links)) {
            return Err(broken("distances are finite and the nearest comes first"));
        }
        Ok(Self { points, asked, count, links })
    }

    /// Checks that these are neighbors among the given points.
    pub fn check(&self, points: &Points) -> Result<(), GeometryError> {
        // The nearest of each point, measured again; programs may compute in single precision.
        let fits = |(at, &row): (usize, &u32)| {
            self.row(at).first().is_none_or(|&(other, distance)| {
                let again = euclidean(points.row(row as usize), points.row(other as usize));
                (again - distance).abs() <= 1e-4 * again.max(distance)
            })
        };
        if self.points == points.rows() && self.asked.iter().enumerate().all(fits) {
            Ok(())
        } else {
            Err(GeometryError::OtherPoints { neighbors: self.points, points: points.rows() })
        }
    }

    /// Returns the number of points among which neighbors were searched.
    pub const fn points(&self) -> usize {
        self.points
    }

    /// Returns the points whose neighbors these are, in ascending order.
    pub fn asked(&self) -> &[u32] {
        &self.asked
    }

    /// Returns the number of neighbors of each point.
    pub const fn count(&self) -> usize {
        self.count
    }

    /// Returns the number of points whose neighbors these are.
    pub fn rows(&self) -> usize {
        self.asked.len()
    }

    /// Returns the neighbors of one point with their Euclidean distances, nearest first.
    pub fn row(&self, index: usize) -> &[(u32, f64)] {
        &self.links[index * self.count..(index + 1) * self.count]
    }

    /// Returns all neighbors, those of one point after those of the other.
    pub fn links(&self) -> &[(u32, f64)] {
        &self.links
    }
}

/// Finds the `count` points that are nearest to each of the queries, one query after the other.
///
/// A query that is a point of the set finds itself.
pub fn nearest_among(
    points: &Points,
    queries: &Points,
    count: usize,
) -> Result<Vec<(u32, f64)>, GeometryError> {
    let width = points.width();
    if queries.width() != width {
        return Err(GeometryError::OtherWidth { expected: width, found: queries.width() });
    }
    if points.rows() < count {
        return Err(GeometryError::TooFewPoints { neighbors: count, points: points.rows() });
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
        search.nearest(block, |_| None, count, room, links).map(|row| first + row)
    });
    match broken.flatten().min() {
        Some(row) => Err(GeometryError::NonFinite { row }),
        None => Ok(links),
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::geometry::sketch::tests::wavy;
    use crate::geometry::squared_distance;

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
        let found = nearest_among(&points, &Points::from_rows(1, vec![6.0, 1.0]), 2).unwrap();
        assert_eq!(found, [(3, 1.0), (2, 3.0), (1, 0.0), (0, 1.0)]);
        let refused = |queries| nearest_among(&points, &queries, 2).unwrap_err().to_string();
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
    fn stored_neighbors_that_can_not_be_right_are_refused_with_the_rule() {
        let told = |asked: &[u32], links: &[(u32, f64)]| {
            let found = Neighbors::from_parts(3, asked.to_vec(), 2, links.to_vec());
            found.err().map(|error| error.to_string()).unwrap_or_default()
        };
        assert_eq!(told(&[1], &[(0, 1.0), (2, 1.0)]), "");
        for (asked, links, rule) in [
            (&[][..], &[][..], "there is at least one neighbor"),
            (&[1], &[(0, 1.0)], "all points have equally many"),
            (&[1], &[(0, 1.0), (3, 1.0)], "every neighbor is one of the points"),
            (&[1], &[(0, 1.0), (1, 1.0)], "no point is its own neighbor"),
            (&[1], &[(0, 2.0), (2, 1.0)], "the nearest comes first"),
            (&[1], &[(0, 1.0), (2, f64::NAN)], "distances are finite"),
            (&[1, 0], &[(0, 1.0), (2, 1.0), (1, 1.0), (2, 1.0)], "in ascending order"),
        ] {
            assert!(told(asked, links).contains(rule), "{rule}: {}", told(asked, links));
        }
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
    fn long_points_compared_by_their_stand_ins_get_the_neighbors_of_a_plain_scan() {
        let points = wavy(5000, 80);
        let asked = Neighbors::choose(&points, 40, Seed(0)).unwrap();
        let found = Neighbors::of_some(&points, asked.clone(), 9, &mut |_, _| ()).unwrap();
        for (at, &row) in asked.iter().enumerate() {
            let mut all: Vec<(u32, f64)> = (0..5000)
                .filter(|&other| other != row)
                .map(|other| {
                    (other, euclidean(points.row(row as usize), points.row(other as usize)))
                })
                .collect();
            all.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
            assert_eq!(found.row(at), &all[..9], "row {row}");
        }
    }

    #[test]
    fn chosen_points_have_the_neighbors_that_they_have_among_all() {
        let points = random_points(700, 5, 0.0);
        let all = Neighbors::of(&points, 4).unwrap();
        let asked = Neighbors::choose(&points, 300, Seed(1)).unwrap();
        let some = Neighbors::of_some(&points, asked.clone(), 4, &mut |_, _| ()).unwrap();
        assert!(asked.is_sorted_by(|one, next| one < next));
        assert_ne!(asked, Neighbors::choose(&points, 300, Seed(2)).unwrap());
        for (at, &row) in asked.iter().enumerate() {
            assert_eq!(some.row(at), all.row(row as usize));
        }
        let error = Neighbors::choose(&points, 701, Seed(1)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "701 queries can't be chosen from 700 points: lower `queries`, or leave it out"
        );
    }

    #[test]
    fn neighbors_of_other_points_are_noticed() {
        let points = random_points(50, 3, 0.0);
        let found = Neighbors::of(&points, 2).unwrap();
        assert_eq!(found.check(&points), Ok(()));
        let mut moved = points.clone();
        moved.values_mut()[30] += 1e-3;
        assert_eq!(
            found.check(&moved),
            Err(GeometryError::OtherPoints { neighbors: 50, points: 50 })
        );
        let parts = |points, links: &[_]| {
            Neighbors::from_parts(points, found.asked().to_vec(), 2, links.to_vec())
        };
        assert_eq!(parts(50, found.links()).as_ref(), Ok(&found));
        assert!(parts(49, found.links()).is_err());
        assert!(parts(50, &found.links()[1..]).is_err());
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
