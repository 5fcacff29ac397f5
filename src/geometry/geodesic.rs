//! Geodesic distances: lengths of shortest paths on the neighborhood graph, between all points.
//!
//! What: a search from every point, in double precision, on all cores (see paths.rs).
//! Reference: Tenenbaum et al. 2000 (Isomap); the paper uses them as the distances that codes
//! should keep (its section on the isometric loss).
//! Assumptions: none on density; separate components are bridged (see graph.rs).
//! Checked against: Floyd-Warshall (below) and tests/reference/geodesic.json (scikit-learn and
//! SciPy), relative tolerance 1e-6, the rounding of the stored `f32`.

use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::anchors::anchored;
use super::paths::shortest_paths;
use super::{Anchors, Distances, GeometryError, Graph, Neighbors, Parts, PointSource, memory};
use crate::numerics::Points;

/// Distances along the neighbor graph of training samples.
///
/// ```ron
/// "distances": Geodesic(data: "train-images", neighbors: 15),
/// "many-distances": Geodesic(
///     data: "train-images", neighbors: 15,
///     // The graph is built on 5,000 of the images; every other image is linked with the nearest one.
///     anchors: Anchors(count: 5000, seed: 0, link: AsAnchor),
/// )
/// ```
///
/// Without anchors the table holds all pairs, 4 bytes each: 10,000 samples take 400 MB. A graph in
/// separate parts is joined at the closest points of every two parts: of equally close ones, those
/// with the lowest rows. The log says so, and `about.json` has the parts and what joins them.
// `D` names the samples, for whoever can find them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename = "Geodesic")]
pub struct GeodesicSpec<D = ()> {
    /// The samples: images, compared pixel by pixel, or vectors.
    pub data: D,
    /// Number of neighbors of each sample in the graph.
    pub neighbors: NonZeroUsize,
    /// What distances are divided by.
    #[serde(default)]
    pub rescale: Rescale,
    /// A subset of the samples to build the graph on, if there are too many for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchors: Option<Anchors>,
}

/// What distances are divided by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Rescale {
    /// Their mean over all ordered pairs, a point with itself included.
    #[default]
    UnitMean,
    /// Nothing.
    None,
}

impl Distances {
    /// Computes all geodesic distances, telling `on_progress` how many of how many points are done. Each
    /// counts twice: when its neighbors are known, and when its paths are. With anchors these are
    /// counted first, then all points as they are linked.
    pub fn geodesic<D>(
        points: &dyn PointSource,
        spec: &GeodesicSpec<D>,
        on_progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Self, GeometryError> {
        if let Some(anchors) = &spec.anchors {
            return anchored(points, spec, anchors, on_progress);
        }
        memory::check_table(points.count())?;
        let (table, parts) = graph_distances(&points.all(), spec.neighbors, on_progress)?;
        let mean = mean_of_rows(&table, points.count());
        let distances = scaled(table, points.count(), mean, spec.rescale)?;
        Ok(distances.with_parts(Some(parts)))
    }
}

/// Returns the distances between all points along their graph, row-major, and the parts that it
/// had before they were joined.
pub(super) fn graph_distances(
    points: &Points,
    neighbors: NonZeroUsize,
    on_progress: &mut dyn FnMut(u64, u64),
) -> Result<(Vec<f32>, Parts), GeometryError> {
    let rows = points.rows() as u64;
    let everyone = (0..points.rows()).map(|row| row as u32).collect();
    let mut searched = |done, _| on_progress(done, 2 * rows);
    let neighbors = Neighbors::of_some(points, everyone, neighbors.get(), &mut searched)?;
    let graph = Graph::connect(points, &neighbors);
    let mut found = |done, _| on_progress(rows + done, 2 * rows);
    Ok((shortest_paths(&graph, &mut found), graph.parts().clone()))
}

/// Divides a table by the mean of all distances that follow from it, if that is asked for.
pub(super) fn scaled(
    mut table: Vec<f32>,
    side: usize,
    mean: f64,
    rescale: Rescale,
) -> Result<Distances, GeometryError> {
    if rescale == Rescale::UnitMean {
        if mean <= 0.0 {
            return Err(GeometryError::AllCoincide { points: side });
        }
        for value in &mut table {
            *value = (f64::from(*value) / mean) as f32;
        }
    }
    Distances::from_parts(side, table, mean, rescale)
}

/// Averages row by row, so that rounding does not grow with the size of the table.
fn mean_of_rows(values: &[f32], n: usize) -> f64 {
    let rows = values.chunks_exact(n.max(1));
    let sum: f64 = rows.map(|row| row.iter().map(|&value| f64::from(value)).sum::<f64>()).sum();
    sum / values.len().max(1) as f64
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "small integers and copies are exact")]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::numerics::Seed;

    fn random_points(rows: usize, width: usize) -> Points {
        let mut rng = Seed(11).stream("points");
        let values = (0..rows * width).map(|_| rng.random::<f32>()).collect();
        Points::new(rows, width, values).unwrap()
    }

    fn spec(neighbors: usize, rescale: Rescale) -> GeodesicSpec {
        let neighbors = NonZeroUsize::new(neighbors).unwrap();
        GeodesicSpec { data: (), neighbors, rescale, anchors: None }
    }

    fn between(distances: &Distances, from: usize, to: usize) -> f32 {
        distances.values()[from * distances.len() + to]
    }

    fn floyd_warshall(graph: &Graph) -> Vec<f64> {
        let n = graph.nodes();
        let mut table = vec![f64::INFINITY; n * n];
        for from in 0..n {
            table[from * n + from] = 0.0;
            for &(to, length) in graph.edges(from) {
                table[from * n + to as usize] = length;
            }
        }
        for middle in 0..n {
            for from in 0..n {
                for to in 0..n {
                    let through = table[from * n + middle] + table[middle * n + to];
                    table[from * n + to] = table[from * n + to].min(through);
                }
            }
        }
        table
    }

    #[test]
    fn distances_along_a_line_add_up() {
        let points = Points::new(4, 1, vec![0.0, 1.0, 3.0, 7.0]).unwrap();
        let raw = Distances::geodesic(&points, &spec(1, Rescale::None), &mut |_, _| ()).unwrap();
        assert_eq!(raw.values()[..4], [0.0, 1.0, 3.0, 7.0]);
        assert_eq!(between(&raw, 3, 1), 6.0);
        assert_eq!(raw.mean_before_scaling(), 2.0 * 23.0 / 16.0);
        assert_eq!(raw.unit(), 1.0);
    }

    #[test]
    fn scaled_distances_have_a_mean_of_one_and_remember_their_unit() {
        let points = random_points(50, 3);
        let scale =
            |rescale| Distances::geodesic(&points, &spec(4, rescale), &mut |_, _| ()).unwrap();
        let (raw, scaled) = (scale(Rescale::None), scale(Rescale::UnitMean));
        assert!((mean_of_rows(scaled.values(), 50) - 1.0).abs() < 1e-6);
        assert_eq!(scaled.unit(), raw.mean_before_scaling());
        let restored = f64::from(between(&scaled, 3, 40)) * scaled.unit();
        assert!((restored - f64::from(between(&raw, 3, 40))).abs() < 1e-6);
    }

    #[test]
    fn random_graphs_agree_with_floyd_warshall_and_are_symmetric() {
        let points = random_points(90, 2);
        let graph = Graph::connect(&points, &Neighbors::of(&points, 3).unwrap());
        let expected = floyd_warshall(&graph);
        let found = shortest_paths(&graph, &mut |_, _| ());
        for (index, (&found, &expected)) in found.iter().zip(&expected).enumerate() {
            let difference = (f64::from(found) - expected).abs();
            assert!(difference <= 1e-6 * expected.max(1e-6), "entry {index}");
        }
        assert!((0..90).all(|i| (0..90).all(|j| found[i * 90 + j] == found[j * 90 + i])));
    }

    #[test]
    fn distances_do_not_depend_on_the_number_of_threads() {
        let points = random_points(300, 6);
        let with_threads = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let settings = spec(5, Rescale::UnitMean);
            pool.install(|| Distances::geodesic(&points, &settings, &mut |_, _| ()).unwrap())
        };
        assert_eq!(with_threads(1), with_threads(3));
    }

    #[test]
    fn progress_counts_the_search_for_neighbors_and_then_the_paths() {
        let mut seen = Vec::new();
        let settings = spec(3, Rescale::None);
        let points = random_points(1100, 2);
        Distances::geodesic(&points, &settings, &mut |done, all| seen.push((done, all))).unwrap();
        assert_eq!(seen, [(1100, 2200), (2124, 2200), (2200, 2200)]);
    }

    #[test]
    fn far_clusters_stay_at_a_finite_distance() {
        let points = Points::new(4, 1, vec![0.0, 1.0, 100.0, 101.0]).unwrap();
        let raw = Distances::geodesic(&points, &spec(1, Rescale::None), &mut |_, _| ()).unwrap();
        assert_eq!(between(&raw, 0, 3), 101.0);
        assert_eq!(raw.parts().unwrap().components, 2);
    }

    #[test]
    fn points_that_all_coincide_cannot_be_scaled() {
        let points = Points::new(3, 1, vec![1.0; 3]).unwrap();
        let result = Distances::geodesic(&points, &spec(1, Rescale::UnitMean), &mut |_, _| ());
        assert_eq!(result, Err(GeometryError::AllCoincide { points: 3 }));
    }
}
