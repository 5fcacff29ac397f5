//! The nearest points found so far to one query, while the set goes by tile after tile.
//!
//! What: points that might be near wait with their rough distance; when enough wait, they are
//! measured, the most promising first, until the rest can be ruled out (see sketch.rs).

use std::ops::RangeInclusive;

/// Rough distances looked at together.
const LANES: usize = 16;
/// Waiting points for each wanted one, and some more, from which on they are measured.
const WAITING: usize = 2;
const FEWEST_WAITING: usize = 64;

/// A relative step above any rounding of a square root and a square.
const SQUARING: f64 = 1e-15;

/// A few points of the set, as one query sees them.
pub(super) struct Tile<'a> {
    /// Row of the first of them.
    pub(super) first: usize,
    /// -2 times their products with the query.
    pub(super) products: &'a [f32],
    /// Their squared lengths.
    pub(super) squares: &'a [f32],
}

impl Tile<'_> {
    /// Adds the points whose rough squared distance, less the query's own square, lies above one
    /// number and not above a limit: that distance, and their row.
    pub(super) fn between(&self, above: f32, limit: f32, found: &mut Vec<(f32, u32)>) {
        let (products, last_products) = self.products.as_chunks::<LANES>();
        let (squares, last_squares) = self.squares.as_chunks::<LANES>();
        pulp::Arch::new().dispatch(|| {
            for (at, (products, squares)) in products.iter().zip(squares).enumerate() {
                // Without a branch for each, for there is rarely one within the limit.
                let pairs = products.iter().zip(squares);
                let near: u32 = pairs.map(|(a, b)| u32::from(a + b <= limit)).sum();
                if near > 0 || !limit.is_finite() {
                    self.pick(at * LANES, products, squares, above..=limit, found);
                }
            }
        });
        let last = products.len() * LANES;
        self.pick(last, last_products, last_squares, above..=limit, found);
    }

    fn pick(
        &self,
        from: usize,
        products: &[f32],
        squares: &[f32],
        between: RangeInclusive<f32>,
        found: &mut Vec<(f32, u32)>,
    ) {
        let (above, limit) = between.into_inner();
        for (at, (product, square)) in products.iter().zip(squares).enumerate() {
            // Where nothing is ruled out, sums that overflow are nothing but small.
            let sum = product + square;
            let rough = if limit.is_finite() { sum } else { sum.max(f32::MIN) };
            if rough > above && rough <= limit {
                found.push((rough, (self.first + from + at) as u32));
            }
        }
    }

    /// Returns a rough distance within which `count` of the points lie, and few more; none if there
    /// may not be so many.
    pub(super) fn promising(&self, count: usize) -> Option<f32> {
        let (products, _) = self.products.as_chunks::<LANES>();
        let (squares, _) = self.squares.as_chunks::<LANES>();
        // The least of every few: all of them are different points.
        let mut least: Vec<f32> = pulp::Arch::new().dispatch(|| {
            let lanes = products.iter().zip(squares);
            let least = lanes.map(|(products, squares)| {
                let sums = products.iter().zip(squares).map(|(a, b)| a + b);
                sums.fold(f32::INFINITY, |least, sum| if sum < least { sum } else { least })
            });
            least.collect()
        });
        let last = count.checked_sub(1).filter(|&last| last < least.len())?;
        let (_, reach, _) = least.select_nth_unstable_by(last, f32::total_cmp);
        Some(*reach).filter(|reach| reach.is_finite())
    }
}

/// What one query has found so far.
#[derive(Default)]
pub(super) struct Candidates {
    count: usize,
    /// Measured points, nearest first; of equals the lower index first.
    nearest: Vec<(u32, f64)>,
    /// Points that may be near, with their rough squared distance less the query's own square.
    waiting: Vec<(f32, u32)>,
    measured: usize,
}

impl Candidates {
    /// Forgets everything and looks for so many points.
    pub(super) fn begin(&mut self, count: usize) {
        self.count = count;
        self.nearest.clear();
        self.waiting.clear();
        self.measured = 0;
    }

    /// Returns how many points have been measured.
    pub(super) const fn measured(&self) -> usize {
        self.measured
    }

    /// Returns the measured points, nearest first.
    pub(super) fn nearest(&self) -> &[(u32, f64)] {
        &self.nearest
    }

    /// Returns a squared distance beyond which no point is wanted.
    pub(super) fn reach(&self) -> f64 {
        match self.nearest.last() {
            Some((_, distance)) if self.nearest.len() == self.count => {
                distance * distance * (1.0 + SQUARING)
            }
            _ => f64::INFINITY,
        }
    }

    /// Returns whether enough points wait to be measured.
    pub(super) fn is_crowded(&self) -> bool {
        self.waiting.len() > WAITING * self.count + FEWEST_WAITING
    }

    /// Returns whether no point has been looked at.
    pub(super) fn is_new(&self) -> bool {
        self.nearest.is_empty() && self.waiting.is_empty()
    }

    /// Lets the points of a tile wait whose rough distance lies above one number and not above a
    /// limit, but not the query's own row.
    pub(super) fn gather(&mut self, tile: &Tile<'_>, own: Option<usize>, above: f32, limit: f32) {
        let before = self.waiting.len();
        tile.between(above, limit, &mut self.waiting);
        let is_own = |&(_, index): &(f32, u32)| own == Some(index as usize);
        if let Some(own) = self.waiting[before..].iter().position(is_own) {
            self.waiting.swap_remove(before + own);
        }
    }

    /// Measures the waiting points, the most promising first, until the rest can be ruled out.
    ///
    /// `exact` is the query's own square if rough distances are exact. `limit` turns a reach into
    /// the largest rough distance of points within it; `measure` returns the squared distance of a
    /// point if it is within a reach.
    pub(super) fn settle(
        &mut self,
        exact: Option<f64>,
        limit: impl Fn(f64) -> f32,
        measure: impl Fn(u32, f64) -> Option<f64>,
    ) {
        let mut waiting = std::mem::take(&mut self.waiting);
        if let Some(square) = exact {
            for &(rough, index) in &waiting {
                self.offer(index, (f64::from(rough) + square).sqrt());
            }
        } else {
            let promising = |left: &(f32, u32), right: &(f32, u32)| {
                left.0.total_cmp(&right.0).then(left.1.cmp(&right.1))
            };
            let missing = self.count - self.nearest.len();
            if missing > 0 && waiting.len() > missing {
                waiting.select_nth_unstable_by(missing - 1, promising);
            }
            let certain = missing.min(waiting.len());
            for &(_, index) in &waiting[..certain] {
                self.measure(index, &measure);
            }
            waiting.drain(..certain);
            let within = limit(self.reach());
            waiting.retain(|&(rough, _)| rough <= within);
            waiting.sort_unstable_by(promising);
            for &(rough, index) in &waiting {
                if rough > limit(self.reach()) {
                    break;
                }
                self.measure(index, &measure);
            }
        }
        waiting.clear();
        self.waiting = waiting;
    }

    fn measure(&mut self, index: u32, measure: &impl Fn(u32, f64) -> Option<f64>) {
        self.measured += 1;
        if let Some(squared) = measure(index, self.reach()) {
            self.offer(index, squared.sqrt());
        }
    }

    /// Takes a measured point in if it is nearer than another, or if there is room.
    fn offer(&mut self, index: u32, distance: f64) {
        let before = |&(other, found): &(u32, f64)| {
            found.total_cmp(&distance).then(other.cmp(&index)).is_lt()
        };
        if self.nearest.len() == self.count {
            if self.nearest.last().is_some_and(before) {
                return;
            }
            self.nearest.pop();
        }
        let place = self.nearest.partition_point(before);
        self.nearest.insert(place, (index, distance));
    }
}
