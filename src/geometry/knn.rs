//! Exact nearest neighbors of every point, by brute force.
//!
//! What: a fast single-precision pass over all pairs proposes candidates; their distances are
//! then recomputed in double precision. A rounding-error bound proves that no other point can be
//! nearer; a row where it cannot is scanned again in full. So the result is exact.
//! Reference: standard; error bound of a dot product from Higham 2002, section 3.1.
//! Assumptions: finite coordinates. Ties are broken by the lower index.
//! Checked against: a plain double-precision scan (tests below) and scikit-learn (geodesic.rs).

use rayon::prelude::{IndexedParallelIterator, ParallelIterator, ParallelSliceMut};

use super::{GeometryError, squared_distance};
use crate::numerics::Points;

/// Points whose coordinates are interleaved, so that one load feeds one vector instruction.
const PANEL: usize = 8;
/// Rows that share one pass over a panel; with `PANEL` this fills the vector registers.
const TILE: usize = 4;
/// Rows handled by one task; a multiple of `TILE`.
const TASK: usize = 32;
/// Candidates kept beyond the wanted neighbors, so that the bound nearly always holds.
const SLACK: usize = 16;

/// The nearest neighbors of every point, nearest first; no point is its own neighbor.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbors {
    count: usize,
    links: Vec<(u32, f64)>,
}

impl Neighbors {
    /// Finds the `count` nearest neighbors of each of the points.
    pub fn of(points: &Points, count: usize) -> Result<Self, GeometryError> {
        let rows = points.rows();
        if rows <= count {
            return Err(GeometryError::TooFewPoints { neighbors: count, points: rows });
        }
        if u32::try_from(rows).is_err() {
            return Err(GeometryError::TooManyPoints { points: rows });
        }
        let finite = |row: &usize| points.row(*row).iter().all(|value| value.is_finite());
        if let Some(row) = (0..rows).find(|row| !finite(row)) {
            return Err(GeometryError::NonFinite { row });
        }
        let search = Search::over(points);
        let mut links = vec![(0, 0.0); rows * count];
        links.par_chunks_mut(TASK * count.max(1)).enumerate().for_each(|(task, links)| {
            search.fill(task * TASK, count, links);
        });
        Ok(Self { count, links })
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

/// All points, packed for the fast pass.
struct Search<'a> {
    points: &'a Points,
    /// Panels of `PANEL` points: coordinate by coordinate, the points side by side.
    panels: Vec<f32>,
    squared_norms: Vec<f32>,
    largest_squared_norm: f32,
}

impl<'a> Search<'a> {
    fn over(points: &'a Points) -> Self {
        let (rows, width) = (points.rows(), points.width());
        let mut panels = vec![0.0; rows.div_ceil(PANEL) * PANEL * width];
        for row in 0..rows {
            let panel = &mut panels[row / PANEL * PANEL * width..];
            for (column, &value) in points.row(row).iter().enumerate() {
                panel[column * PANEL + row % PANEL] = value;
            }
        }
        let squared_norm = |row| points.row(row).iter().map(|value| value * value).sum::<f32>();
        let squared_norms: Vec<f32> = (0..rows).map(squared_norm).collect();
        let largest_squared_norm = squared_norms.iter().copied().fold(0.0, f32::max);
        Self { points, panels, squared_norms, largest_squared_norm }
    }

    /// Writes the neighbors of the rows from `first` on, as many as `links` has room for.
    fn fill(&self, first: usize, count: usize, links: &mut [(u32, f64)]) {
        let rows = self.points.rows();
        let mut approximate = vec![0.0; TASK * rows];
        self.approximate_distances(first, &mut approximate);
        let mut order: Vec<u32> = Vec::with_capacity(rows);
        for (offset, links) in links.chunks_mut(count.max(1)).enumerate() {
            let row = first + offset;
            let distances = &approximate[offset * rows..(offset + 1) * rows];
            let nearest = self.certified_neighbors(row, count, distances, &mut order);
            links.copy_from_slice(&nearest[..count]);
        }
    }

    /// Computes single-precision squared distances of `TASK` rows to all points.
    fn approximate_distances(&self, first: usize, out: &mut [f32]) {
        let (rows, width) = (self.points.rows(), self.points.width());
        for (panel_index, panel) in self.panels.chunks_exact(PANEL * width.max(1)).enumerate() {
            let panel_start = panel_index * PANEL;
            let panel_rows = PANEL.min(rows - panel_start);
            for tile_start in (0..TASK.min(rows - first)).step_by(TILE) {
                // Rows past the end repeat the last one; their results are dropped below.
                let tile: [usize; TILE] =
                    std::array::from_fn(|lane| (first + tile_start + lane).min(rows - 1));
                let dots = dot_products(tile.map(|row| self.points.row(row)), panel);
                for (lane, &row) in tile.iter().enumerate() {
                    if first + tile_start + lane >= rows {
                        break;
                    }
                    let start = (tile_start + lane) * rows + panel_start;
                    for (column, target) in out[start..start + panel_rows].iter_mut().enumerate() {
                        let norms =
                            self.squared_norms[row] + self.squared_norms[panel_start + column];
                        *target = norms - 2.0 * dots[lane][column];
                    }
                }
            }
        }
    }

    /// Returns the exact neighbors of one row, given its approximate distances.
    fn certified_neighbors(
        &self,
        row: usize,
        count: usize,
        approximate: &[f32],
        order: &mut Vec<u32>,
    ) -> Vec<(u32, f64)> {
        order.clear();
        order.extend((0..approximate.len() as u32).filter(|&other| other as usize != row));
        let kept = (count + SLACK).min(order.len());
        let mut cutoff = f64::INFINITY;
        if kept < order.len() {
            let (_, first_left_out, _) = order.select_nth_unstable_by(kept, |&a, &b| {
                approximate[a as usize].total_cmp(&approximate[b as usize])
            });
            cutoff = f64::from(approximate[*first_left_out as usize]) - self.error_bound(row);
        }
        let candidates = self.sorted_exactly(row, &order[..kept]);
        let certain = count == 0 || candidates[count - 1].1.powi(2) < cutoff;
        if certain { candidates } else { self.sorted_exactly(row, order) }
    }

    /// Returns how far a single-precision squared distance of this row can be off.
    fn error_bound(&self, row: usize) -> f64 {
        let operations = (self.points.width() + 8) as f64;
        let largest = f64::from(self.squared_norms[row]) + f64::from(self.largest_squared_norm);
        2.0 * operations * f64::from(f32::EPSILON) * largest
    }

    fn sorted_exactly(&self, row: usize, others: &[u32]) -> Vec<(u32, f64)> {
        let from = self.points.row(row);
        let distance = |&other: &u32| squared_distance(from, self.points.row(other as usize));
        let mut found: Vec<(u32, f64)> =
            others.iter().map(|other| (*other, distance(other).sqrt())).collect();
        found.sort_unstable_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        found
    }
}

/// Multiplies `TILE` rows with the points of one panel.
fn dot_products(rows: [&[f32]; TILE], panel: &[f32]) -> [[f32; PANEL]; TILE] {
    let mut sums = [[0.0; PANEL]; TILE];
    for (column, points) in panel.as_chunks::<PANEL>().0.iter().enumerate() {
        for (sums, row) in sums.iter_mut().zip(rows) {
            let value = row[column];
            for (sum, point) in sums.iter_mut().zip(points) {
                *sum += value * point;
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
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
