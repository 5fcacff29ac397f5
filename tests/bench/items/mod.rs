//! All items, in the order of the table.

mod anchors;
mod convolution;
mod geodesic;
mod knn;
mod plain;
mod training;

use crate::item::Item;

/// Returns all items.
pub(crate) fn all() -> Vec<Box<dyn Item>> {
    [training::items(), convolution::items(), knn::items(), anchors::items(), geodesic::items()]
        .into_iter()
        .flatten()
        .collect()
}
