//! Distances of many points by way of a few: the graph is built on anchors, a random subset, and
//! each other point is linked with the anchor next to it.
//!
//! What: a table of m x m distances instead of n x n, and m instead of n shortest-path searches.
//! Reference: the paper's section on time complexity, which leaves open how many anchors there are
//! and what distance two points of one anchor have. De Silva and Tenenbaum 2002 choose landmarks
//! at random too.
//! Assumptions: anchors lie densely enough that a point and its anchor are about the same.
//! Checked against: plain loops over all pairs (below), and scikit-learn and SciPy (reference.rs).

use std::num::NonZeroUsize;

use rayon::prelude::{
    IndexedParallelIterator, IntoParallelIterator, IntoParallelRefIterator, ParallelIterator,
    ParallelSliceMut,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::geodesic::{graph_distances, scaled};
use super::search::{BLOCK, Room, Search};
use super::{Distances, GeodesicSpec, GeometryError, Links, PointSource, euclidean, memory};
use crate::numerics::rng::permutation;
use crate::numerics::{Points, Seed};

/// Points between two progress reports.
const REPORT: usize = 64 * BLOCK;

/// A random subset of the points, on which alone the graph is built.
///
/// With m anchors the table takes 4 m^2 bytes: 100 MB for 5,000 anchors, 400 MB for 10,000. Every
/// other point is linked with its nearest anchor (Euclidean). The points that share an anchor are
/// its cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Anchors {
    /// Number of anchors: more than there are neighbors, fewer than there are points.
    pub count: NonZeroUsize,
    /// Random seed for the choice.
    pub seed: Seed,
    /// What the distance of two points is, given that of their anchors.
    #[serde(default)]
    pub link: AnchorLink,
}

/// What the distance of two points is, given that of their anchors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum AnchorLink {
    /// That of their anchors, as in the paper's text. A cell shrinks to one point: distances within
    /// it are 0, so differences between points of one cell are lost, and variances come out too
    /// small, the more so the fewer anchors there are.
    #[default]
    AsAnchor,
    /// That of their anchors, but within one cell the straight (Euclidean) one. Cells keep their
    /// extent. Distances jump at the border of a cell: two points next to each other on either side
    /// of it are as far apart as their anchors.
    StraightInCell,
    /// The path from one point to its anchor, on to the other anchor and to the other point; 0 from
    /// a point to itself. No pair comes out nearer than its straight distance, but near pairs come
    /// out much farther: any two points are at least as far apart as the sum of their distances to
    /// their anchors.
    ViaAnchor,
}

impl Anchors {
    /// Returns the rows of the anchors in a set of points, in order.
    fn choose(&self, points: usize) -> Result<Vec<usize>, GeometryError> {
        let count = self.count.get();
        if count >= points {
            return Err(GeometryError::TooManyAnchors { anchors: count, points });
        }
        let mut chosen = permutation(points, &mut self.seed.stream("anchors"));
        chosen.truncate(count);
        chosen.sort_unstable();
        Ok(chosen)
    }
}

/// Computes the distances between all points by way of randomly chosen anchors.
pub(super) fn anchored<D>(
    points: &dyn PointSource,
    spec: &GeodesicSpec<D>,
    anchors: &Anchors,
    on_progress: &mut dyn FnMut(u64, u64),
) -> Result<Distances, GeometryError> {
    if u32::try_from(points.count()).is_err() {
        return Err(GeometryError::TooManyPoints { points: points.count() });
    }
    let chosen = anchors.choose(points.count())?;
    by_way_of(points, &chosen, spec, anchors.link, on_progress)
}

/// Computes the distances between all points by way of the chosen ones.
pub(super) fn by_way_of<D>(
    points: &dyn PointSource,
    chosen: &[usize],
    spec: &GeodesicSpec<D>,
    link: AnchorLink,
    on_progress: &mut dyn FnMut(u64, u64),
) -> Result<Distances, GeometryError> {
    memory::check_table(chosen.len())?;
    let count = points.count();
    let all = (2 * chosen.len() + count) as u64;
    let anchors = Points::from_rows(points.width(), points.coordinates(chosen));
    let (table, parts) =
        graph_distances(&anchors, spec.neighbors, &mut |done, _| on_progress(done, all))?;
    let mut report = |done: usize| on_progress((2 * chosen.len() + done) as u64, all);
    let found = nearest_anchors(points, &anchors, &mut report)?;
    let nearest: Vec<u32> = found.iter().map(|(anchor, _)| *anchor).collect();
    let legs: Vec<f64> = match link {
        AnchorLink::ViaAnchor => found.iter().map(|(_, leg)| *leg).collect(),
        AnchorLink::AsAnchor | AnchorLink::StraightInCell => Vec::new(),
    };
    let cells = cells(&nearest, chosen.len());
    let mut total = between_cells(&table, &cells);
    // Each point is an end of a pair with every other point, in both directions.
    total += 2.0 * (count - 1) as f64 * legs.iter().sum::<f64>();
    if link == AnchorLink::StraightInCell {
        total += within_cells(points, &cells);
    }
    let mean = total / (count as f64).powi(2);
    let distances = scaled(table, chosen.len(), mean, spec.rescale)?;
    let unit = distances.unit();
    let legs = legs.iter().map(|leg| (leg / unit) as f32).collect();
    let linked = distances.with_links(Links { link, nearest, legs })?;
    Ok(linked.with_parts(Some(parts)))
}

/// Returns the nearest anchor of each point, and how far it is.
fn nearest_anchors(
    points: &dyn PointSource,
    anchors: &Points,
    report: &mut dyn FnMut(usize),
) -> Result<Vec<(u32, f64)>, GeometryError> {
    let search = Search::over(anchors);
    let mut found = vec![(0, 0.0); points.count()];
    let mut done = 0;
    for part in found.chunks_mut(REPORT) {
        let blocks = part.par_chunks_mut(BLOCK).enumerate();
        let broken = blocks.map_init(Room::default, |room, (block, found)| {
            let first = done + block * BLOCK;
            let rows: Vec<usize> = (first..first + found.len()).collect();
            let broken = search.nearest(&points.coordinates(&rows), |_| None, 1, room, found);
            broken.map(|row| first + row)
        });
        if let Some(row) = broken.flatten().min() {
            return Err(GeometryError::NonFinite { row });
        }
        done += part.len();
        report(done);
    }
    Ok(found)
}

/// Returns the points of each anchor, in order.
fn cells(nearest: &[u32], anchors: usize) -> Vec<Vec<usize>> {
    let mut cells = vec![Vec::new(); anchors];
    for (point, &anchor) in nearest.iter().enumerate() {
        cells[anchor as usize].push(point);
    }
    cells
}

/// Sums the distances of their anchors over all ordered pairs of points.
fn between_cells(table: &[f32], cells: &[Vec<usize>]) -> f64 {
    let sizes: Vec<f64> = cells.iter().map(|cell| cell.len() as f64).collect();
    let row_sum = |row: &[f32]| -> f64 {
        row.iter().zip(&sizes).map(|(&value, size)| f64::from(value) * size).sum()
    };
    table.chunks_exact(cells.len()).zip(&sizes).map(|(row, size)| size * row_sum(row)).sum()
}

/// Sums straight distances over all ordered pairs of points of one cell.
fn within_cells(points: &dyn PointSource, cells: &[Vec<usize>]) -> f64 {
    let one_cell = |cell: &Vec<usize>| -> f64 {
        let members = Points::from_rows(points.width(), points.coordinates(cell));
        let to_later = |one: usize| -> f64 {
            let later = one + 1..members.rows();
            later.map(|other| euclidean(members.row(one), members.row(other))).sum()
        };
        in_order((0..members.rows()).into_par_iter().map(to_later))
    };
    2.0 * in_order(cells.par_iter().map(one_cell))
}

/// Sums in the order of the terms, whatever the order in which they are found.
fn in_order(terms: impl IndexedParallelIterator<Item = f64>) -> f64 {
    terms.collect::<Vec<_>>().iter().sum()
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::geometry::Rescale;

    const LINKS: [AnchorLink; 3] =
        [AnchorLink::AsAnchor, AnchorLink::StraightInCell, AnchorLink::ViaAnchor];

    fn random_points(rows: usize, width: usize) -> Points {
        let mut rng = Seed(3).stream("points");
        let values = (0..rows * width).map(|_| rng.random::<f32>()).collect();
        Points::new(rows, width, values).unwrap()
    }

    /// Makes corners of a cube, of which many coincide or are equally far apart.
    fn corners(rows: usize, width: usize) -> Points {
        let mut points = random_points(rows, width);
        points.values_mut().iter_mut().for_each(|value| *value = value.round());
        points
    }

    fn spec(count: usize, link: AnchorLink, rescale: Rescale) -> GeodesicSpec {
        let [neighbors, count] = [4, count].map(|number| NonZeroUsize::new(number).unwrap());
        let anchors = Some(Anchors { count, seed: Seed(1), link });
        GeodesicSpec { data: (), neighbors, rescale, anchors }
    }

    fn distances(points: &Points, spec: &GeodesicSpec) -> Distances {
        Distances::geodesic(points, spec, &mut |_, _| ()).unwrap()
    }

    /// Returns all squared distances, asking for them as training does.
    fn all_squares(points: &Points, distances: &Distances) -> Vec<f32> {
        let everyone: Vec<usize> = (0..points.rows()).collect();
        distances.squared_between(&everyone, &|a, b| euclidean(points.row(a), points.row(b)))
    }

    /// Computes every distance from the settings' own words.
    fn plainly(points: &Points, chosen: &[usize], link: AnchorLink) -> Vec<f64> {
        let anchors = Points::from_rows(points.width(), points.coordinates(chosen));
        let neighbors = NonZeroUsize::new(4).unwrap();
        let (table, _) = graph_distances(&anchors, neighbors, &mut |_, _| ()).unwrap();
        let nearest = |x: usize| {
            let leg = |anchor: usize| euclidean(points.row(x), anchors.row(anchor));
            (0..chosen.len()).map(|anchor| (anchor, leg(anchor))).min_by(|a, b| a.1.total_cmp(&b.1))
        };
        let links: Vec<_> = (0..points.rows()).map(|x| nearest(x).unwrap()).collect();
        let mut all = Vec::new();
        for x in 0..points.rows() {
            for y in 0..points.rows() {
                let ((from, first_leg), (to, last_leg)) = (links[x], links[y]);
                let between = f64::from(table[from * chosen.len() + to]);
                all.push(match link {
                    AnchorLink::StraightInCell if from == to => {
                        euclidean(points.row(x), points.row(y))
                    }
                    AnchorLink::AsAnchor | AnchorLink::StraightInCell => between,
                    AnchorLink::ViaAnchor if x == y => 0.0,
                    AnchorLink::ViaAnchor => first_leg + between + last_leg,
                });
            }
        }
        all
    }

    #[test]
    fn every_distance_and_their_mean_are_what_the_settings_say() {
        let sets = [random_points(120, 3), corners(120, 6)];
        for (points, link) in sets.iter().flat_map(|points| LINKS.map(|link| (points, link))) {
            let settings = spec(20, link, Rescale::UnitMean);
            let chosen = settings.anchors.as_ref().unwrap().choose(120).unwrap();
            let expected = plainly(points, &chosen, link);
            let mean = expected.iter().sum::<f64>() / expected.len() as f64;
            let found = distances(points, &settings);
            assert!((found.mean_before_scaling() / mean - 1.0).abs() < 1e-7, "{link:?}");
            assert_eq!((found.len(), found.side()), (120, 20));
            for (found, expected) in all_squares(points, &found).iter().zip(&expected) {
                let difference = f64::from(*found) - (expected / mean).powi(2);
                assert!(difference.abs() <= 1e-6 * (expected / mean).powi(2), "{link:?}");
            }
        }
    }

    #[test]
    fn a_batch_has_the_distances_of_its_points_in_their_order() {
        let points = random_points(80, 2);
        for link in LINKS {
            let found = distances(&points, &spec(10, link, Rescale::None));
            let all = all_squares(&points, &found);
            // A point may come twice.
            let batch = [70, 3, 41, 3];
            let euclid = |a: usize, b: usize| euclidean(points.row(a), points.row(b));
            let squares = found.squared_between(&batch, &euclid);
            let expected: Vec<f32> =
                batch.iter().flat_map(|x| batch.map(|y| all[x * 80 + y])).collect();
            assert_eq!(squares, expected, "{link:?}");
        }
    }

    #[test]
    fn straight_distances_are_asked_for_only_where_they_count() {
        let points = random_points(80, 2);
        let everyone: Vec<usize> = (0..80).collect();
        for link in [AnchorLink::AsAnchor, AnchorLink::ViaAnchor] {
            let found = distances(&points, &spec(10, link, Rescale::None));
            found.squared_between(&everyone, &|_, _| panic!("{link:?} has no use for it"));
        }
        let found = distances(&points, &spec(10, AnchorLink::StraightInCell, Rescale::None));
        let cells = &found.links().unwrap().nearest;
        let in_cell = |a: usize, b: usize| {
            assert!(a != b && cells[a] == cells[b], "{a} and {b}");
            0.5
        };
        found.squared_between(&everyone, &in_cell);
    }

    #[test]
    fn the_choice_of_anchors_follows_from_the_seed() {
        let choose = |seed| {
            let count = NonZeroUsize::new(5).unwrap();
            Anchors { count, seed: Seed(seed), link: AnchorLink::AsAnchor }.choose(1000).unwrap()
        };
        assert_eq!(choose(0), choose(0));
        assert_ne!(choose(0), choose(1));
        assert!(choose(0).is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn distances_do_not_depend_on_the_number_of_threads() {
        let points = random_points(700, 5);
        for link in LINKS {
            let settings = spec(60, link, Rescale::UnitMean);
            let with_threads = |threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| distances(&points, &settings))
            };
            assert_eq!(with_threads(1), with_threads(3), "{link:?}");
        }
    }

    #[test]
    fn anchors_that_cannot_be_chosen_are_refused() {
        let refused = |count, points: &Points| {
            let settings = spec(count, AnchorLink::AsAnchor, Rescale::UnitMean);
            Distances::geodesic(points, &settings, &mut |_, _| ()).unwrap_err().to_string()
        };
        let points = random_points(10, 2);
        assert_eq!(
            refused(10, &points),
            "10 anchors can't be chosen from 10 points: leave `anchors` out, or lower its `count`"
        );
        assert_eq!(refused(4, &points), "4 neighbors need at least 5 points, found 4");
        let mut broken = random_points(300, 2);
        let settings = spec(10, AnchorLink::AsAnchor, Rescale::None);
        let chosen = settings.anchors.unwrap().choose(300).unwrap();
        let row = (200..300).find(|row| !chosen.contains(row)).unwrap();
        broken.values_mut()[2 * row] = f32::NAN;
        let message = format!("point {row} has a coordinate that is not finite");
        assert_eq!(refused(10, &broken), message);
    }

    #[test]
    fn progress_counts_anchors_and_then_points() {
        let mut seen = Vec::new();
        let settings = spec(10, AnchorLink::AsAnchor, Rescale::None);
        let mut note = |done, all| seen.push((done, all));
        Distances::geodesic(&random_points(90, 2), &settings, &mut note).unwrap();
        assert_eq!(seen, [(10, 110), (20, 110), (110, 110)]);
    }
}
