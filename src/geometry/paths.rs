//! Shortest paths between all nodes of a graph, searched from many nodes at a time.
//!
//! What: nodes near each other meet the rest of the graph in nearly the same order, so sixteen of
//! them are searched from side by side, and nearly every visit serves them all. Nodes wait for their
//! visit in buckets by path length, and are visited again if a path to them becomes shorter.
//! Lengths are those of Dijkstra's search to the last bit: both end when no edge shortens any path,
//! and sums of rounded numbers have one such end, for rounding keeps their order.
//! Reference: Dijkstra 1959; Meyer and Sanders 2003 (buckets).
//! Checked against: Floyd-Warshall and one search after the other (below), SciPy (geodesic.rs).

#![expect(
    clippy::inline_always,
    reason = "only what is inlined into a function for the processor's vectors uses them"
)]

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::{IntoParallelRefMutIterator, ParallelIterator};

use super::Graph;

/// Nodes searched from side by side.
const LANES: usize = 16;
/// Bundles between two progress reports.
const BLOCK: usize = 64;
/// Buckets to the length of a mean edge.
const FINENESS: f64 = 8.0;
/// Rows and columns that are mirrored at a time.
const SQUARE: usize = 64;

/// Path lengths to one node, from every source of a bundle.
type Lengths = [f64; LANES];

/// Returns the lengths of the shortest paths between all nodes, row-major and symmetric.
pub(super) fn shortest_paths(graph: &Graph, on_progress: &mut dyn FnMut(u64, u64)) -> Vec<f32> {
    let n = graph.nodes();
    let mut values = vec![0.0; n * n];
    let mut rows: Vec<_> = values.chunks_exact_mut(n.max(1)).map(Some).collect();
    let mut bundles: Vec<Bundle<'_>> = bundles(graph)
        .into_iter()
        .map(|sources| {
            let rows = sources.iter().filter_map(|&source| rows[source].take()).collect();
            Bundle { sources, rows }
        })
        .collect();
    let (arch, per_bucket) = (Arch::new(), mean_edge(graph) / FINENESS);
    let mut done = 0;
    for block in bundles.chunks_mut(BLOCK) {
        block.par_iter_mut().for_each_init(
            || Search::new(graph, per_bucket),
            |search, bundle| {
                arch.dispatch(Run { search, sources: &bundle.sources });
                bundle.take(&search.lengths);
            },
        );
        done += block.iter().map(|bundle| bundle.sources.len()).sum::<usize>();
        on_progress(done as u64, n as u64);
    }
    mirror(&mut values, n);
    values
}

/// Nodes that are searched from together, with the rows of the table that are theirs.
struct Bundle<'a> {
    sources: Vec<usize>,
    rows: Vec<&'a mut [f32]>,
}

impl Bundle<'_> {
    fn take(&mut self, lengths: &[Lengths]) {
        for (to, lengths) in lengths.iter().enumerate() {
            for (row, &length) in self.rows.iter_mut().zip(lengths) {
                row[to] = length as f32;
            }
        }
    }
}

/// Groups nodes with their neighbors and the neighbors of these; the last groups are of what is left.
fn bundles(graph: &Graph) -> Vec<Vec<usize>> {
    let mut is_taken = vec![false; graph.nodes()];
    let (mut bundles, mut left) = (Vec::new(), Vec::new());
    for first in 0..graph.nodes() {
        if std::mem::replace(&mut is_taken[first], true) {
            continue;
        }
        let mut bundle = vec![first];
        let mut seen = 0;
        while seen < bundle.len() && bundle.len() < LANES {
            let mut near = graph.edges(bundle[seen]).to_vec();
            near.sort_by(|a, b| a.1.total_cmp(&b.1));
            for (to, _) in near {
                if bundle.len() < LANES && !std::mem::replace(&mut is_taken[to as usize], true) {
                    bundle.push(to as usize);
                }
            }
            seen += 1;
        }
        if bundle.len() == LANES {
            bundles.push(bundle);
        } else {
            left.extend(bundle);
        }
    }
    bundles.extend(left.chunks(LANES).map(<[usize]>::to_vec));
    bundles
}

/// Returns the mean length of the edges; 1 if all their lengths are 0.
fn mean_edge(graph: &Graph) -> f64 {
    let edges = || (0..graph.nodes()).flat_map(|node| graph.edges(node));
    let mean = edges().map(|(_, length)| length).sum::<f64>() / edges().count().max(1) as f64;
    if mean > 0.0 { mean } else { 1.0 }
}

/// What a thread searches with.
struct Search<'a> {
    graph: &'a Graph,
    lengths: Vec<Lengths>,
    /// Nodes that wait for a visit, by the shortest of their new lengths.
    buckets: Vec<Vec<u32>>,
    /// The bucket that each node waits in.
    waits_in: Vec<usize>,
    /// What path lengths are divided by to give their bucket.
    per_bucket: f64,
}

/// No bucket.
const NOWHERE: usize = usize::MAX;

impl<'a> Search<'a> {
    fn new(graph: &'a Graph, per_bucket: f64) -> Self {
        let n = graph.nodes();
        let (lengths, waits_in) = (vec![[f64::INFINITY; LANES]; n], vec![NOWHERE; n]);
        Self { graph, lengths, buckets: vec![Vec::new()], waits_in, per_bucket }
    }
}

/// A search from the nodes of a bundle.
struct Run<'s, 'a> {
    search: &'s mut Search<'a>,
    sources: &'s [usize],
}

impl WithSimd for Run<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Search { graph, lengths, buckets, waits_in, per_bucket } = self.search;
        lengths.fill([f64::INFINITY; LANES]);
        for (lane, &source) in self.sources.iter().enumerate() {
            lengths[source][lane] = 0.0;
            waits_in[source] = 0;
            buckets[0].push(source as u32);
        }
        let mut bucket = 0;
        while bucket < buckets.len() {
            while let Some(node) = buckets[bucket].pop() {
                let node = node as usize;
                // It may have moved on to a bucket before this one.
                if waits_in[node] != bucket {
                    continue;
                }
                waits_in[node] = NOWHERE;
                let here = lengths[node];
                for &(to, edge) in graph.edges(node) {
                    let to = to as usize;
                    let Some(shortest) = shorten(&mut lengths[to], &here, edge) else {
                        continue;
                    };
                    let earlier = (shortest / *per_bucket) as usize;
                    if earlier < waits_in[to] {
                        waits_in[to] = earlier;
                        if earlier >= buckets.len() {
                            buckets.resize_with(earlier + 1, Vec::new);
                        }
                        buckets[earlier].push(to as u32);
                    }
                }
            }
            bucket += 1;
        }
    }
}

/// Takes the way through another node where it is shorter; returns the shortest of the new lengths.
#[inline(always)]
fn shorten(lengths: &mut Lengths, through: &Lengths, edge: f64) -> Option<f64> {
    let mut found = 0;
    for lane in 0..LANES {
        found |= u32::from(through[lane] + edge < lengths[lane]);
    }
    // Mostly there is none, and this is all that was needed to know.
    if found == 0 {
        return None;
    }
    let mut new = [f64::INFINITY; LANES];
    for lane in 0..LANES {
        let length = through[lane] + edge;
        if length < lengths[lane] {
            lengths[lane] = length;
            new[lane] = length;
        }
    }
    Some(new.into_iter().fold(f64::INFINITY, f64::min))
}

/// Makes a table symmetric: the two directions of a path may add up differently in the last bit.
fn mirror(values: &mut [f32], n: usize) {
    for top in (0..n).step_by(SQUARE) {
        for left in (0..=top).step_by(SQUARE) {
            for row in top..n.min(top + SQUARE) {
                for column in left..row.min(left + SQUARE) {
                    values[row * n + column] = values[column * n + row];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::geometry::Neighbors;
    use crate::numerics::{Points, Seed};

    fn graph(rows: usize, width: usize, neighbors: usize) -> Graph {
        let mut rng = Seed(5).stream("points");
        let values = (0..rows * width).map(|_| rng.random::<f32>()).collect();
        let points = Points::new(rows, width, values).unwrap();
        Graph::connect(&points, &Neighbors::of(&points, neighbors).unwrap())
    }

    /// Searches from one node, looking at every edge until nothing changes (Bellman 1958).
    fn one_by_one(graph: &Graph, source: usize) -> Vec<f64> {
        let mut lengths = vec![f64::INFINITY; graph.nodes()];
        lengths[source] = 0.0;
        loop {
            let before = lengths.clone();
            for node in 0..graph.nodes() {
                for &(to, edge) in graph.edges(node) {
                    lengths[to as usize] = lengths[to as usize].min(lengths[node] + edge);
                }
            }
            if lengths == before {
                return lengths;
            }
        }
    }

    #[test]
    fn searches_side_by_side_give_what_single_ones_give_to_the_last_bit() {
        // Nearly a line, where paths are long, and a cloud, where they are short.
        for (rows, width, neighbors) in [(150, 1, 2), (203, 8, 5), (5, 2, 4)] {
            let graph = graph(rows, width, neighbors);
            let found = shortest_paths(&graph, &mut |_, _| ());
            for row in 0..rows {
                let expected = one_by_one(&graph, row);
                for column in row..rows {
                    let expected = expected[column] as f32;
                    assert_eq!(found[row * rows + column].to_bits(), expected.to_bits());
                    assert_eq!(found[column * rows + row].to_bits(), expected.to_bits());
                }
            }
        }
    }

    #[test]
    fn every_node_is_in_one_bundle_and_bundles_are_full() {
        let graph = graph(333, 3, 4);
        let bundles = bundles(&graph);
        let mut all: Vec<usize> = bundles.concat();
        all.sort_unstable();
        assert_eq!(all, (0..333).collect::<Vec<_>>());
        assert_eq!(bundles.len(), 333_usize.div_ceil(LANES));
    }
}
