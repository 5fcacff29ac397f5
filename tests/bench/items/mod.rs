//! All items, in the order of the table.

mod anchors;
mod geodesic;
mod knn;
mod plain;

use crate::item::Item;

/// Returns all items.
pub(crate) fn all() -> Vec<Box<dyn Item>> {
    [knn::items(), anchors::items(), geodesic::items()].into_iter().flatten().collect()
}
