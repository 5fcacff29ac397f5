//! Shortest paths between all points along their neighbors, beside scikit-learn and SciPy, for
//! several numbers of points.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroUsize;

use pcae::geometry::{Distances, GeodesicSpec, GeometryError, Rescale};
use pcae::numerics::Points;
use rayon::prelude::{IntoParallelIterator, ParallelIterator};

use super::plain;
use crate::item::{Given, Guard, Item, Measured, Peer};
use crate::points;

const SIZES: [usize; 4] = [2_500, 5_000, 10_000, 20_000];
const NEIGHBORS: NonZeroUsize = NonZeroUsize::new(10).unwrap();
/// Points of the small version.
const FEW_ROWS: usize = 2_000;

struct Geodesic {
    rows: usize,
}

/// Returns an item for each number of points.
pub(crate) fn items() -> Vec<Box<dyn Item>> {
    SIZES.map(|rows| Box::new(Geodesic { rows }) as Box<dyn Item>).into()
}

impl Item for Geodesic {
    fn name(&self) -> String {
        format!("geodesic-{}", self.rows)
    }

    fn title(&self) -> String {
        format!("Geodesic distances of {} points, {NEIGHBORS} neighbors", self.rows)
    }

    fn ours(&self, given: &Given) -> Result<Measured, String> {
        let points = given.read(self.rows)?;
        let (found, measured) = Measured::of(|| distances(&points));
        let found = found.map_err(|error| error.to_string())?;
        given.leave(found.values().iter(), |distance| distance.to_le_bytes())?;
        Ok(measured)
    }

    fn peer(&self) -> Option<Peer> {
        let arguments = vec![self.rows.to_string(), NEIGHBORS.to_string()];
        Some(Peer { script: "geodesic.py", arguments })
    }

    fn size(&self) -> Option<(&'static str, usize)> {
        Some(("geodesic distances", self.rows))
    }

    fn guard(&self) -> Option<Guard> {
        // One size is enough.
        if self.rows != SIZES[0] {
            return None;
        }
        let (few, same) = (points::some(FEW_ROWS), points::some(FEW_ROWS));
        let ours = move || {
            let found = distances(&few);
            found.map_or(Vec::new(), |found| found.values().iter().map(|&d| d.into()).collect())
        };
        let naive = move || plain_distances(&same);
        Some(Guard { floor: 1.0, ours: Box::new(ours), naive: Box::new(naive) })
    }
}

fn distances(points: &Points) -> Result<Distances, GeometryError> {
    let (neighbors, rescale) = (NEIGHBORS, Rescale::None);
    let spec = GeodesicSpec { data: (), neighbors, rescale, anchors: None };
    Distances::geodesic(points, &spec, &mut |_, _| ())
}

/// Searches from each point as the textbook has it.
fn plain_distances(points: &Points) -> Vec<f64> {
    let near = plain::nearest(points, points, points.rows(), NEIGHBORS.get(), Some);
    let mut graph = vec![Vec::new(); points.rows()];
    for (from, links) in near.iter().enumerate() {
        for &(to, length) in links {
            graph[from].push((to, length));
            graph[to].push((from, length));
        }
    }
    let search = |source: usize| {
        let mut lengths = vec![f64::INFINITY; graph.len()];
        lengths[source] = 0.0;
        let mut queue = BinaryHeap::from([Reverse((0_u64, source))]);
        while let Some(Reverse((bits, node))) = queue.pop() {
            // Bits of numbers that are not negative have the order of the numbers.
            let length = f64::from_bits(bits);
            if length > lengths[node] {
                continue;
            }
            for &(to, edge) in &graph[node] {
                if length + edge < lengths[to] {
                    lengths[to] = length + edge;
                    queue.push(Reverse((lengths[to].to_bits(), to)));
                }
            }
        }
        lengths
    };
    (0..graph.len()).into_par_iter().flat_map_iter(search).collect()
}
