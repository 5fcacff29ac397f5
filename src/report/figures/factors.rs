//! Factors that samples are annotated with: by name, and those that tell where on a path an image is.

use crate::data::{Annotations, DataError, Images};

/// The factors of images on a path between two samples, in this order.
pub const PATH_FACTORS: [&str; 4] = ["path", "from", "to", "share"];

/// The factors of images along a latent coordinate, in this order.
pub const TRAVERSAL_FACTORS: [&str; 3] = ["path", "coordinate", "deviations"];

/// Returns the place of a factor among those of each sample.
pub(crate) fn factor_column(known: &Annotations, name: &str) -> Result<usize, DataError> {
    let column = known.factors.names.iter().position(|have| have == name);
    column.ok_or_else(|| DataError::Unknown {
        what: if name == "class" { "classes for" } else { "factor" },
        name: name.to_owned(),
        present: known.factors.names.clone(),
    })
}

/// Returns the indices of images, those on the same path together.
pub(crate) fn by_path(images: &Images) -> Vec<Vec<usize>> {
    let factors = &images.annotations().factors;
    let rows: Vec<usize> = (0..images.len()).collect();
    let path = |row: usize| factors.row(row)[0].to_bits();
    rows.chunk_by(|one, next| path(*one) == path(*next)).map(<[usize]>::to_vec).collect()
}
