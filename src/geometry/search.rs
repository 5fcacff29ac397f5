//! Exact nearest points of one set to many queries, by brute force.
//!
//! What: a single-precision matrix product over all pairs proposes the nearest points. Its rounding
//! error is bounded, so only points that the bound can't rule out are measured again, in double
//! precision. Where all coordinates are whole numbers, as in binary images, single precision is
//! exact and nothing is measured again, however many distances are equal.
//! Reference: standard; error bound of a dot product, in any order, from Higham 2002, section 3.1.
//! Assumptions: finite coordinates. Ties are broken by the lower index.
//! Checked against: a plain double-precision scan (tests below) and scikit-learn (reference.rs).

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

use super::squared_distance;
use crate::numerics::Points;

/// Queries answered at once: many enough that reading all points is shared.
pub(super) const BLOCK: usize = 128;

/// Largest relative error of one operation in single precision.
const ROUNDING: f64 = f32::EPSILON as f64 / 2.0;
/// Whole numbers up to here, and their sums, are exact in single precision.
const LARGEST_WHOLE: f64 = 16_777_216.0;

/// A set of points that can be searched.
pub(super) struct Search<'a> {
    points: &'a Points,
    norms: Vec<Norm>,
    largest_squared: f64,
    are_whole: bool,
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
    approximate: Vec<f32>,
    sorted: Vec<f32>,
}

impl<'a> Search<'a> {
    /// Gets ready to search a set.
    pub(super) fn over(points: &'a Points) -> Self {
        let norms: Vec<_> = (0..points.rows()).map(|row| Norm::of(points.row(row))).collect();
        let largest_squared = norms.iter().map(|norm| norm.squared).fold(0.0, f64::max);
        let are_whole = norms.iter().all(|norm| norm.is_whole);
        Self { points, norms, largest_squared, are_whole }
    }

    /// Returns the first point that has a coordinate that is not finite.
    pub(super) fn first_not_finite(&self) -> Option<usize> {
        self.norms.iter().position(|norm| !norm.squared.is_finite())
    }

    /// Writes the `count` nearest points of each query with their distances, nearest first.
    ///
    /// Queries that are points of the set themselves start at its row `own`; none finds itself.
    /// Returns the first query that has a coordinate that is not finite.
    pub(super) fn nearest(
        &self,
        queries: &[f32],
        own: Option<usize>,
        count: usize,
        room: &mut Room,
        links: &mut [(u32, f64)],
    ) -> Option<usize> {
        let (points, width) = (self.points.rows(), self.points.width());
        let row = |index: usize| &queries[index * width..(index + 1) * width];
        let norms: Vec<_> = (0..links.len() / count).map(|index| Norm::of(row(index))).collect();
        let broken = norms.iter().position(|norm| !norm.squared.is_finite());
        if broken.is_some() {
            return broken;
        }
        room.approximate.resize(norms.len() * points, 0.0);
        let approximate = &mut room.approximate[..norms.len() * points];
        self.approximate(queries, &norms, approximate);
        let rows = approximate.chunks_exact_mut(points).zip(links.chunks_exact_mut(count));
        for (index, (approximate, links)) in rows.enumerate() {
            let own = own.map(|first| first + index);
            if let Some(own) = own {
                approximate[own] = f32::INFINITY;
            }
            let query = Query { coordinates: row(index), norm: norms[index], own };
            let found = self.certified(&query, count, approximate, &mut room.sorted);
            links.copy_from_slice(&found[..count]);
        }
        None
    }

    /// Computes squared distances of queries to all points in single precision.
    fn approximate(&self, queries: &[f32], norms: &[Norm], out: &mut [f32]) {
        let (points, width) = (self.points.rows(), self.points.width());
        let queries = MatRef::from_row_major_slice(queries, norms.len(), width);
        let set = MatRef::from_column_major_slice(self.points.values(), width, points);
        let products = MatMut::from_row_major_slice_mut(&mut *out, norms.len(), points);
        matmul(products, Accum::Replace, queries, set, -2.0, Par::Seq);
        for (row, norm) in out.chunks_exact_mut(points).zip(norms) {
            for (value, other) in row.iter_mut().zip(&self.norms) {
                *value += (norm.squared + other.squared) as f32;
            }
        }
    }

    /// Returns the nearest points of a query, given approximate squared distances.
    fn certified(
        &self,
        query: &Query<'_>,
        count: usize,
        approximate: &[f32],
        sorted: &mut Vec<f32>,
    ) -> Vec<(u32, f64)> {
        let bound = self.error_bound(&query.norm);
        if bound.is_infinite() {
            return nearest_first(self.measured(query, 0..approximate.len()));
        }
        sorted.clear();
        sorted.extend_from_slice(approximate);
        let (_, cutoff, _) = sorted.select_nth_unstable_by(count - 1, f32::total_cmp);
        let proposed = up_to(approximate, f64::from(*cutoff));
        if bound == 0.0 {
            let exact = |index| (index as u32, f64::from(approximate[index]).sqrt());
            return nearest_first(proposed.map(exact).collect());
        }
        // At least `count` points are no farther than this, so nothing beyond it is wanted.
        let proposed = self.measured(query, proposed.take(count));
        let reach = proposed.iter().map(|(_, distance)| distance.powi(2)).fold(0.0, f64::max);
        nearest_first(self.measured(query, up_to(approximate, reach + bound)))
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

    fn measured(&self, query: &Query<'_>, others: impl Iterator<Item = usize>) -> Vec<(u32, f64)> {
        let distance = |other| squared_distance(query.coordinates, self.points.row(other)).sqrt();
        let others = others.filter(|other| Some(*other) != query.own);
        others.map(|other| (other as u32, distance(other))).collect()
    }
}

/// A point whose nearest points are wanted.
struct Query<'a> {
    coordinates: &'a [f32],
    norm: Norm,
    /// Its own row in the set, if it has one.
    own: Option<usize>,
}

fn up_to(approximate: &[f32], limit: f64) -> impl Iterator<Item = usize> {
    let near = approximate.iter().enumerate().filter(move |(_, v)| f64::from(**v) <= limit);
    near.map(|(index, _)| index)
}

fn nearest_first(mut found: Vec<(u32, f64)>) -> Vec<(u32, f64)> {
    found.sort_unstable_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
    found
}
