//! The nearest points found so far to one query, while the set goes by tile after tile.
//!
//! What: points that might be near wait with their rough distance; when enough wait, they are
//! measured, the most promising first, until the rest can be ruled out (see sketch.rs).

/// Rough distances looked at together.
const LANES: usize = 16;
/// Waiting points for each wanted one, and some more, from which on they are measured.
const CROWD: usize = 2;
const CROWD_AT_LEAST: usize = 64;

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
    /// Shows the points whose rough squared distance, less the query's own square, is within a
    /// limit: that number, and their row.
    pub(super) fn within(&self, limit: f32, mut show: impl FnMut(f32, u32)) {
        let lanes = self.products.chunks(LANES).zip(self.squares.chunks(LANES)).enumerate();
        for (at, (products, squares)) in lanes {
            let pairs = products.iter().zip(squares);
            // Without a branch for each, for there is rarely one within the limit.
            let near = pairs.filter(|(product, square)| *product + *square <= limit).count();
            if near == 0 && limit.is_finite() {
                continue;
            }
            for (lane, (product, square)) in products.iter().zip(squares).enumerate() {
                // Where nothing is ruled out, sums that overflow are nothing but small.
                let sum = product + square;
                let rough = if limit.is_finite() { sum } else { sum.max(f32::MIN) };
                if rough <= limit {
                    show(rough, (self.first + at * LANES + lane) as u32);
                }
            }
        }
    }
}

/// What one query has found so far.
#[derive(Default)]
pub(super) struct Front {
    count: usize,
    /// Measured points, nearest first; of equals the lower index first.
    nearest: Vec<(u32, f64)>,
    /// Points that may be near, with their rough squared distance less the query's own square.
    waiting: Vec<(f32, u32)>,
    measured: usize,
}

impl Front {
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
        self.waiting.len() > CROWD * self.count + CROWD_AT_LEAST
    }

    /// Lets the points of a tile wait whose rough distance is within the limit.
    pub(super) fn gather(&mut self, tile: &Tile<'_>, own: Option<usize>, limit: f32) {
        let waiting = &mut self.waiting;
        tile.within(limit, |rough, index| {
            if own != Some(index as usize) {
                waiting.push((rough, index));
            }
        });
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
