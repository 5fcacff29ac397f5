//! The exact nearest neighbors of all points, beside scikit-learn's brute force.

use pcae::geometry::Neighbors;

use super::plain;
use crate::item::{Given, Guard, Item, Measured, Peer};
use crate::points;

const ROWS: usize = 60_000;
const NEIGHBORS: usize = 20;

/// Points of the small version, and how many of them are asked.
const FEW_ROWS: usize = 6_000;
const FEW_ASKED: usize = 600;

struct Knn;

/// Returns the one item here.
pub(crate) fn items() -> Vec<Box<dyn Item>> {
    vec![Box::new(Knn)]
}

impl Item for Knn {
    fn name(&self) -> String {
        "knn".to_owned()
    }

    fn title(&self) -> String {
        format!("{NEIGHBORS} exact nearest neighbors of 60,000 x 784 points")
    }

    fn ours(&self, given: &Given) -> Result<Measured, String> {
        let points = given.read(ROWS)?;
        let (found, measured) = Measured::of(|| Neighbors::of(&points, NEIGHBORS));
        let found = found.map_err(|error| error.to_string())?;
        given.leave(found.links().iter(), |(_, distance)| distance.to_le_bytes())?;
        Ok(measured)
    }

    fn peer(&self) -> Option<Peer> {
        let arguments = [ROWS, NEIGHBORS].map(|number| number.to_string()).to_vec();
        Some(Peer { script: "knn.py", arguments })
    }

    fn guard(&self) -> Option<Guard> {
        let (few, same) = (points::some(FEW_ROWS), points::some(FEW_ROWS));
        let ours = move || {
            let asked = (0..FEW_ASKED as u32).collect();
            let found = Neighbors::of_some(&few, asked, NEIGHBORS, &mut |_, _| ());
            found.map_or(Vec::new(), |found| found.links().iter().map(|link| link.1).collect())
        };
        let naive = move || {
            let found = plain::nearest(&same, &same, FEW_ASKED, NEIGHBORS, Some);
            found.into_iter().flatten().map(|link| link.1).collect()
        };
        Some(Guard { floor: 1.0, ours: Box::new(ours), naive: Box::new(naive) })
    }
}
