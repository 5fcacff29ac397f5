//! The neighborhood graph: every point linked with its nearest neighbors, in both directions.
//!
//! What: symmetric union of the neighbor lists, Euclidean edge weights. Separate components are
//! joined by the closest pair of points of every two components, so no distance is infinite. Of
//! equally close pairs the one with the lowest rows is taken, first in the component with the lowest
//! row: on a lattice another choice may change many distances, so the record says how many there are.
//! Reference: Tenenbaum et al. 2000 (Isomap); joining as scikit-learn's Isomap does it.
//! Checked against: hand-drawn graphs below; scikit-learn and SciPy in geodesic.rs.

use rayon::prelude::{IndexedParallelIterator, ParallelIterator, ParallelSliceMut};
use serde::{Deserialize, Serialize};

use super::Neighbors;
use super::search::{BLOCK, Room, Search};
use crate::numerics::Points;

/// A connected graph with a positive or zero length on every edge.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    /// Edges of node `i` are `edges[offsets[i]..offsets[i + 1]]`.
    offsets: Vec<usize>,
    edges: Vec<(u32, f64)>,
    parts: Parts,
}

/// The connected components that the links between neighbors leave, and what joins them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parts {
    /// How many there are; 1 if nothing is apart.
    pub components: usize,
    /// One for every two components.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bridges: Vec<Bridge>,
}

/// The link that joins two components.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bridge {
    /// A point of the component with the lowest row.
    pub from: u32,
    /// Its closest point in the other component.
    pub to: u32,
    /// Their distance, before rescaling.
    pub length: f64,
    /// How many points of the first component are as close to the second.
    pub equally_short: usize,
}

impl Graph {
    /// Links every point with its neighbors, then joins what is still apart.
    pub fn connect(points: &Points, neighbors: &Neighbors) -> Self {
        let rows = neighbors.rows();
        let mut links = Vec::new();
        for from in 0..rows {
            for &(to, length) in neighbors.row(from) {
                links.push((from as u32, to, length));
            }
        }
        let components = components(rows, &links);
        let bridges = bridges(points, &components);
        links.extend(bridges.iter().map(|bridge| (bridge.from, bridge.to, bridge.length)));
        let parts = Parts { components: components.len(), bridges };
        Self { parts, ..Self::from_links(rows, &links) }
    }

    /// Makes the graph that has each link in both directions, and none of them twice.
    fn from_links(rows: usize, links: &[(u32, u32, f64)]) -> Self {
        let mut both: Vec<(u32, u32, f64)> =
            links.iter().flat_map(|&(a, b, length)| [(a, b, length), (b, a, length)]).collect();
        both.sort_unstable_by_key(|&(from, to, _)| (from, to));
        both.dedup_by_key(|&mut (from, to, _)| (from, to));
        let mut offsets = vec![0; rows + 1];
        for &(from, _, _) in &both {
            offsets[from as usize + 1] += 1;
        }
        for row in 0..rows {
            offsets[row + 1] += offsets[row];
        }
        let edges = both.into_iter().map(|(_, to, length)| (to, length)).collect();
        Self { offsets, edges, parts: Parts { components: 1, bridges: Vec::new() } }
    }

    /// Returns the number of nodes.
    pub fn nodes(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Returns the nodes linked with `node` and the lengths of the links.
    pub fn edges(&self, node: usize) -> &[(u32, f64)] {
        &self.edges[self.offsets[node]..self.offsets[node + 1]]
    }

    /// Returns the components that the neighbor links alone left, and what joins them.
    pub const fn parts(&self) -> &Parts {
        &self.parts
    }
}

/// Returns the members of each connected component, ordered by their lowest member.
fn components(rows: usize, links: &[(u32, u32, f64)]) -> Vec<Vec<u32>> {
    let mut parents: Vec<u32> = (0..rows as u32).collect();
    for &(a, b, _) in links {
        let (a, b) = (root(&mut parents, a), root(&mut parents, b));
        parents[a.max(b) as usize] = a.min(b);
    }
    let mut members = vec![Vec::new(); rows];
    for node in 0..rows as u32 {
        members[root(&mut parents, node) as usize].push(node);
    }
    members.retain(|component| !component.is_empty());
    members
}

fn root(parents: &mut [u32], mut node: u32) -> u32 {
    while parents[node as usize] != node {
        let grandparent = parents[parents[node as usize] as usize];
        parents[node as usize] = grandparent;
        node = grandparent;
    }
    node
}

/// Returns the closest pair of points of every two components.
fn bridges(points: &Points, components: &[Vec<u32>]) -> Vec<Bridge> {
    if components.len() < 2 {
        return Vec::new();
    }
    let gathered = |members: &Vec<u32>| {
        let rows = members.iter().flat_map(|&member| points.row(member as usize));
        Points::from_rows(points.width(), rows.copied().collect())
    };
    let parts: Vec<Points> = components.iter().map(gathered).collect();
    let searches: Vec<Search> = parts.iter().map(Search::over).collect();
    let mut found = Vec::new();
    for left in 0..components.len() {
        for right in left + 1..components.len() {
            let closest = closest_pair(&parts[left], &searches[right]);
            let from = components[left][closest.from as usize];
            let to = components[right][closest.to as usize];
            found.push(Bridge { from, to, ..closest });
        }
    }
    found
}

/// Returns the rows and the distance of the two points that are closest to each other.
fn closest_pair(left: &Points, right: &Search<'_>) -> Bridge {
    let mut nearest = vec![(0, 0.0); left.rows()];
    nearest.par_chunks_mut(BLOCK).enumerate().for_each_init(
        Room::default,
        |room, (block, found)| {
            let start = block * BLOCK * left.width();
            let queries = &left.values()[start..start + found.len() * left.width()];
            right.nearest(queries, |_| None, 1, room, found);
        },
    );
    let pairs = nearest.iter().zip(0..).map(|(&(to, length), from)| (from, to, length));
    // The first of equals, so that the result is unique.
    let (from, to, length) = pairs.min_by(|a, b| a.2.total_cmp(&b.2)).unwrap_or_default();
    let as_close = |(_, other): &&(u32, f64)| other.total_cmp(&length).is_eq();
    Bridge { from, to, length, equally_short: nearest.iter().filter(as_close).count() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(coordinates: &[f32], neighbors: usize) -> Graph {
        let points = Points::new(coordinates.len(), 1, coordinates.to_vec()).unwrap();
        Graph::connect(&points, &Neighbors::of(&points, neighbors).unwrap())
    }

    #[test]
    fn a_link_found_from_one_side_goes_both_ways() {
        // The nearest of 3 is 1, but the nearest of 1 is 0.
        let graph = graph(&[0.0, 1.0, 3.0], 1);
        assert_eq!(graph.edges(1), [(0, 1.0), (2, 2.0)]);
        assert_eq!(graph.edges(2), [(1, 2.0)]);
        assert_eq!(*graph.parts(), Parts { components: 1, bridges: Vec::new() });
    }

    #[test]
    fn separate_components_are_joined_by_their_closest_points() {
        let graph = graph(&[0.0, 1.0, 10.0, 11.0], 1);
        let bridge = Bridge { from: 1, to: 2, length: 9.0, equally_short: 1 };
        assert_eq!(*graph.parts(), Parts { components: 2, bridges: vec![bridge] });
        assert_eq!(graph.edges(1), [(0, 1.0), (2, 9.0)]);
        assert_eq!(graph.edges(0), [(1, 1.0)]);
    }

    #[test]
    fn of_equally_short_bridges_the_one_of_the_lowest_rows_is_taken() {
        // Two columns of three points, side by side, in an order of their own.
        let corners = [[5.0, 1.0], [0.0, 2.0], [0.0, 1.0], [5.0, 0.0], [0.0, 0.0], [5.0, 2.0]];
        let points = Points::new(6, 2, corners.concat()).unwrap();
        let graph = Graph::connect(&points, &Neighbors::of(&points, 2).unwrap());
        let bridge = Bridge { from: 0, to: 2, length: 5.0, equally_short: 3 };
        assert_eq!(*graph.parts(), Parts { components: 2, bridges: vec![bridge] });
    }

    #[test]
    fn three_components_get_a_bridge_between_every_two() {
        let graph = graph(&[0.0, 1.0, 10.0, 11.0, 30.0, 31.0], 1);
        assert_eq!(graph.parts().components, 3);
        assert_eq!(graph.parts().bridges.len(), 3);
        assert_eq!(graph.edges(4), [(1, 29.0), (3, 19.0), (5, 1.0)]);
    }
}
