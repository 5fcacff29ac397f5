//! Exact nearest points of one set to many queries, by brute force.
//!
//! What: a single-precision matrix product over all pairs says roughly how far each point is. Its
//! rounding error is bounded, so only points that the bound can't rule out are measured, in double
//! precision, the most promising first. Where all coordinates are whole numbers, as in binary
//! images, single precision is exact and nothing is measured, however many distances are equal.
//! Long points are compared by their short stand-ins first (sketch.rs), where that pays.
//! Reference: standard; error bound of a dot product, in any order, from Higham 2002, section 3.1.
//! Assumptions: finite coordinates. Ties are broken by the lower index. Memory is a tile of the set
//! for each thread, never queries times points.
//! Checked against: a plain double-precision scan (knn.rs) and scikit-learn (reference.rs).

use std::borrow::Cow;
use std::ops::Range;

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::{IntoParallelIterator, ParallelIterator};

use super::candidates::{Candidates, Tile};
use super::sketch::Sketch;
use super::squared_distance;
use crate::numerics::Points;

/// Queries answered at once: many enough that reading the points is shared.
pub(super) const BLOCK: usize = 256;
/// Points that a block of queries is compared with at once: few enough that the products stay in
/// the cache until they have been looked at.
const TILE: usize = 1024;

/// Largest relative error of one operation in single precision.
const ROUNDING: f64 = f32::EPSILON as f64 / 2.0;
/// Whole numbers up to here, and their sums, are exact in single precision.
const LARGEST_WHOLE: f64 = 16_777_216.0;
/// Queries that tell whether a sketch pays, and the neighbors looked for.
const TRIALS: usize = 32;
const TRIAL_NEIGHBORS: usize = 16;
/// How much longer measuring a coordinate takes than its part of a matrix product.
const MEASURING: usize = 12;

/// A set of points that can be searched.
pub(super) struct Search<'a> {
    points: &'a Points,
    sketch: Option<Sketch>,
    /// What is compared: stand-ins, or the points themselves.
    compared: Cow<'a, Points>,
    /// Squared lengths of these.
    squares: Vec<f32>,
    largest_squared: f64,
    are_whole: bool,
    first_not_finite: Option<usize>,
}

/// What is known of one point's coordinates.
#[derive(Clone, Copy)]
struct Norm {
    /// Sum of their squares.
    squared: f64,
    /// How many are not zero.
    nonzero: usize,
    /// Whether all are whole numbers.
    is_whole: bool,
}

impl Norm {
    fn of(coordinates: &[f32]) -> Self {
        let squared = coordinates.iter().map(|&value| f64::from(value).powi(2)).sum();
        let nonzero = coordinates.iter().filter(|value| **value != 0.0).count();
        let is_whole = coordinates.iter().all(|value| value.trunc().to_bits() == value.to_bits());
        Self { squared, nonzero, is_whole }
    }
}

/// Room that one thread uses again and again.
#[derive(Default)]
pub(super) struct Room {
    products: Vec<f32>,
    candidates: Vec<Candidates>,
}

impl Room {
    /// Returns how many points the last block of queries has measured.
    fn measured(&self) -> usize {
        self.candidates.iter().map(Candidates::measured).sum()
    }
}

impl<'a> Search<'a> {
    /// Gets ready to search a set.
    pub(super) fn over(points: &'a Points) -> Self {
        let plain = Self::comparing(points, Cow::Borrowed(points), None);
        let is_exact = plain.are_whole && 4.0 * plain.largest_squared <= LARGEST_WHOLE;
        if is_exact || plain.first_not_finite.is_some() {
            return plain;
        }
        let Some(sketch) = Sketch::of(points) else {
            return plain;
        };
        let drawn = Points::from_rows(sketch.width(), sketch.draw(points.values()));
        let sketched = Self::comparing(points, Cow::Owned(drawn), Some(sketch));
        if sketched.work() < points.rows() * points.width() { sketched } else { plain }
    }

    fn comparing(points: &'a Points, compared: Cow<'a, Points>, sketch: Option<Sketch>) -> Self {
        let rows = (0..compared.rows()).into_par_iter();
        let norms: Vec<_> = rows.map(|row| Norm::of(compared.row(row))).collect();
        let first_not_finite = norms.iter().position(|norm| !norm.squared.is_finite());
        let largest_squared = norms.iter().map(|norm| norm.squared).fold(0.0, f64::max);
        let are_whole = norms.iter().all(|norm| norm.is_whole);
        let squares = norms.iter().map(|norm| norm.squared as f32).collect();
        Self { points, sketch, compared, squares, largest_squared, are_whole, first_not_finite }
    }

    /// Returns the first point that has a coordinate that is not finite.
    pub(super) const fn first_not_finite(&self) -> Option<usize> {
        self.first_not_finite
    }

    /// Estimates the work for one query, in coordinates of a matrix product.
    fn work(&self) -> usize {
        let (rows, width) = (self.points.rows(), self.points.width());
        let chosen: Vec<usize> = (0..TRIALS).map(|at| at * rows / TRIALS).collect();
        let queries: Vec<f32> =
            chosen.iter().flat_map(|&row| self.points.row(row)).copied().collect();
        let mut room = Room::default();
        let mut links = vec![(0, 0.0); TRIALS * TRIAL_NEIGHBORS];
        let own = |index: usize| Some(chosen[index]);
        self.nearest(&queries, own, TRIAL_NEIGHBORS, &mut room, &mut links);
        rows * self.compared.width() + MEASURING * room.measured() * width / TRIALS
    }

    /// Writes the `count` nearest points of each query with their distances, nearest first.
    ///
    /// `own` has the row of a query that is a point of the set itself; none finds itself. Returns
    /// the first query that has a coordinate that is not finite.
    pub(super) fn nearest(
        &self,
        coordinates: &[f32],
        own: impl Fn(usize) -> Option<usize>,
        count: usize,
        room: &mut Room,
        links: &mut [(u32, f64)],
    ) -> Option<usize> {
        let asked = links.len().checked_div(count)?;
        let compared = self.compare(coordinates);
        let queries = self.queries(coordinates, &compared, asked);
        let broken = queries.iter().position(|query| !query.squared.is_finite());
        if broken.is_some() {
            return broken;
        }
        room.candidates.resize_with(asked, Candidates::default);
        let of_queries = &mut room.candidates[..asked];
        for candidates in of_queries.iter_mut() {
            candidates.begin(count);
        }
        self.over_tiles(&compared, asked, &mut room.products, |index, tile| {
            let (query, candidates) = (&queries[index], &mut of_queries[index]);
            let mut above = f32::NEG_INFINITY;
            // The best of the first tile tell how far to look. One of them may be the query itself.
            if candidates.is_new()
                && query.bound.is_finite()
                && let Some(promising) = tile.promising(count + 1)
            {
                candidates.gather(&tile, own(index), above, promising);
                self.settle(query, candidates);
                above = promising;
            }
            candidates.gather(&tile, own(index), above, query.limit(candidates.reach()));
            if candidates.is_crowded() {
                self.settle(query, candidates);
            }
        });
        for ((query, candidates), links) in
            queries.iter().zip(of_queries).zip(links.chunks_exact_mut(count))
        {
            self.settle(query, candidates);
            links.copy_from_slice(candidates.nearest());
        }
        None
    }

    /// Shows all points whose squared distance of a query may be at most `reach`, and some beyond:
    /// the query's place among those asked, and the point's row. A query is shown itself, too.
    pub(super) fn near(&self, asked: &[u32], reach: f64, mut show: impl FnMut(usize, u32)) {
        let rows = asked.iter().flat_map(|&row| self.points.row(row as usize));
        let coordinates: Vec<f32> = rows.copied().collect();
        let compared = self.compare(&coordinates);
        let queries = self.queries(&coordinates, &compared, asked.len());
        let mut found = Vec::new();
        self.over_tiles(&compared, asked.len(), &mut Vec::new(), |index, tile| {
            tile.between(f32::NEG_INFINITY, queries[index].limit(reach), &mut found);
            for (_, other) in found.drain(..) {
                show(index, other);
            }
        });
    }

    /// Returns what of the queries is compared.
    fn compare<'q>(&self, coordinates: &'q [f32]) -> Cow<'q, [f32]> {
        match &self.sketch {
            Some(sketch) => sketch.draw(coordinates).into(),
            None => coordinates.into(),
        }
    }

    /// Compares queries with the set, tile after tile.
    fn over_tiles(
        &self,
        compared: &[f32],
        asked: usize,
        products: &mut Vec<f32>,
        mut show: impl FnMut(usize, Tile<'_>),
    ) {
        for first in (0..self.points.rows()).step_by(TILE) {
            let tile = first..self.points.rows().min(first + TILE);
            products.resize(asked * tile.len(), 0.0);
            self.multiply(compared, asked, &tile, products);
            let squares = &self.squares[tile.clone()];
            for (index, products) in products.chunks_exact(tile.len()).enumerate() {
                show(index, Tile { first, products, squares });
            }
        }
    }

    /// Measures the points that wait in a query's candidates.
    fn settle(&self, query: &Query<'_>, candidates: &mut Candidates) {
        let measure = |index: u32, reach: f64| {
            let (left, right) = (query.coordinates, self.points.row(index as usize));
            (!is_surely_beyond(left, right, reach)).then(|| squared_distance(left, right))
        };
        let exact = (query.bound == 0.0).then_some(query.squared);
        candidates.settle(exact, |reach| query.limit(reach), measure);
    }

    /// Gets ready to answer queries, given their coordinates and what of them is compared.
    fn queries<'q>(
        &self,
        coordinates: &'q [f32],
        compared: &[f32],
        asked: usize,
    ) -> Vec<Query<'q>> {
        let (width, short) = (self.points.width(), self.compared.width());
        let query = |at: usize| {
            let norm = Norm::of(&compared[at * short..(at + 1) * short]);
            // Stand-ins are rounded themselves, by a quarter of this at most; and what axes leave over
            // is a root of a difference, which is off by up to a third of this.
            let drawing = 16.0 * ROUNDING * (norm.squared + self.largest_squared);
            let bound = self.error_bound(&norm);
            Query {
                coordinates: &coordinates[at * width..(at + 1) * width],
                squared: norm.squared,
                bound: if self.sketch.is_some() { bound + drawing } else { bound },
            }
        };
        (0..asked).map(query).collect()
    }

    /// Computes -2 times the products of queries with a tile of the set.
    fn multiply(&self, queries: &[f32], asked: usize, tile: &Range<usize>, out: &mut [f32]) {
        let width = self.compared.width();
        let set = &self.compared.values()[tile.start * width..tile.end * width];
        let queries = MatRef::from_row_major_slice(queries, asked, width);
        let set = MatRef::from_column_major_slice(set, width, tile.len());
        let products = MatMut::from_row_major_slice_mut(out, asked, tile.len());
        matmul(products, Accum::Replace, queries, set, -2.0, Par::Seq);
    }

    /// Returns how far a single-precision squared distance of a query can be off.
    fn error_bound(&self, norm: &Norm) -> f64 {
        let squares = norm.squared + self.largest_squared;
        if self.are_whole && norm.is_whole && 2.0 * squares <= LARGEST_WHOLE {
            return 0.0;
        }
        // Adding a product that is zero is exact.
        let products = norm.nonzero as f64 * ROUNDING;
        if products >= 0.5 || 4.0 * squares >= f64::from(f32::MAX) {
            return f64::INFINITY;
        }
        let dot = products / (1.0 - products) * (norm.squared * self.largest_squared).sqrt();
        let underflow = norm.nonzero as f64 * f64::from(f32::MIN_POSITIVE);
        2.0 * dot + 8.0 * ROUNDING * squares + 4.0 * underflow
    }
}

/// A point whose nearest points are wanted.
struct Query<'a> {
    coordinates: &'a [f32],
    /// Squared length of what is compared.
    squared: f64,
    /// How far a squared distance of what is compared can be off.
    bound: f64,
}

impl Query<'_> {
    /// Returns the largest rough squared distance, less the query's own square, of a point whose
    /// squared distance is at most `reach`.
    fn limit(&self, reach: f64) -> f32 {
        ((reach + self.bound - self.squared) as f32).next_up()
    }
}

/// Returns whether two points are surely farther apart than a squared distance.
///
/// It is much faster than measuring them: sums in single precision, in an order that suits the
/// processor. An overflow is no answer.
fn is_surely_beyond(left: &[f32], right: &[f32], reach: f64) -> bool {
    const LANES: usize = 16;
    let margin = 1.0 + (left.len() + LANES) as f64 * f64::from(f32::EPSILON);
    let (left, left_rest) = left.as_chunks::<LANES>();
    let (right, right_rest) = right.as_chunks::<LANES>();
    let mut sums = pulp::Arch::new().dispatch(|| {
        let mut sums = [0.0_f32; LANES];
        for (left, right) in left.iter().zip(right) {
            for (sum, (left, right)) in sums.iter_mut().zip(left.iter().zip(right)) {
                *sum += (left - right) * (left - right);
            }
        }
        sums
    });
    for (sum, (left, right)) in sums.iter_mut().zip(left_rest.iter().zip(right_rest)) {
        *sum += (left - right).powi(2);
    }
    let rough: f32 = sums.iter().sum();
    rough.is_finite() && f64::from(rough) > reach * margin + f64::from(f32::MIN_POSITIVE)
}
