//! The nearest anchor of every point, beside scikit-learn.

use pcae::geometry::nearest_among;

use super::plain;
use crate::item::{Given, Guard, Item, Measured, Peer};
use crate::points;

const ROWS: usize = 60_000;
const ANCHORS: usize = 5_000;

/// Points and anchors of the small version.
const FEW_ROWS: usize = 6_000;
const FEW_ANCHORS: usize = 600;

struct Assignment;

/// Returns the one item here.
pub(crate) fn items() -> Vec<Box<dyn Item>> {
    vec![Box::new(Assignment)]
}

impl Item for Assignment {
    fn name(&self) -> String {
        "anchors".to_owned()
    }

    fn title(&self) -> String {
        "Nearest of 5,000 anchors for 60,000 x 784 points".to_owned()
    }

    fn ours(&self, given: &Given) -> Result<Measured, String> {
        let (points, anchors) = (given.read(ROWS)?, given.read(ANCHORS)?);
        let (found, measured) = Measured::of(|| nearest_among(&anchors, &points, 1));
        let found = found.map_err(|error| error.to_string())?;
        given.leave(found.iter(), |(_, distance)| distance.to_le_bytes())?;
        Ok(measured)
    }

    fn peer(&self) -> Option<Peer> {
        let arguments = [ROWS, ANCHORS].map(|number| number.to_string()).to_vec();
        Some(Peer { script: "anchors.py", arguments })
    }

    fn guard(&self) -> Option<Guard> {
        let inputs = || (points::some(FEW_ANCHORS), points::some(FEW_ROWS));
        let ((anchors, few), (same_anchors, same)) = (inputs(), inputs());
        let ours = move || {
            let found = nearest_among(&anchors, &few, 1).unwrap_or_default();
            found.into_iter().map(|link| link.1).collect()
        };
        let naive = move || {
            let found = plain::nearest(&same_anchors, &same, FEW_ROWS, 1, |_| None);
            found.into_iter().flatten().map(|link| link.1).collect()
        };
        Some(Guard { floor: 1.0, ours: Box::new(ours), naive: Box::new(naive) })
    }
}
