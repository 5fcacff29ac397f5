//! What NumPy files hold, told by their headers alone.

use crate::data::formats::npy::{self, Kind};
use crate::data::{DataError, Files};

/// An array in a file, without its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArraySummary {
    /// Its name in the archive, or the file's name without `.npy`.
    pub name: String,
    /// Its sizes; the first is the number of samples.
    pub shape: Vec<usize>,
    /// The type of its values.
    pub numbers: Numbers,
}

/// The type of an array's values, as far as it decides what they can mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// Integers from 0 to 255.
    Bytes,
    /// Other integers, or truth values.
    Integers,
    /// Fractions.
    Reals,
}

/// Lists the arrays of npy and npz files. Those that hold no numbers are passed over, as archives
/// often keep names beside numbers, unless there is nothing else.
pub fn summarize_arrays(files: &Files) -> Result<Vec<ArraySummary>, DataError> {
    let mut found = Vec::new();
    let mut refused = None;
    for file in files.iter() {
        for stored in npy::list(file)? {
            let array = match stored.open() {
                Ok(array) => array,
                Err(error) => {
                    refused = refused.or(Some(error));
                    continue;
                }
            };
            let element = array.element();
            let numbers = match (element.kind, element.size) {
                (Kind::Unsigned, 1) => Numbers::Bytes,
                (Kind::Bool | Kind::Unsigned | Kind::Signed, _) => Numbers::Integers,
                (Kind::Float, _) => Numbers::Reals,
            };
            let shape = array.header().shape.clone();
            found.push(ArraySummary { name: stored.name, shape, numbers });
        }
    }
    match refused {
        Some(error) if found.is_empty() => Err(error),
        _ => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn every_array_of_an_archive_is_told_with_shape_and_type() {
        let place = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reference/arrays/images.npz");
        let files = Files::new(BTreeMap::from([("images.npz".to_owned(), place.into())]));
        let mut found = summarize_arrays(&files).unwrap();
        found.sort_by(|one, other| one.name.cmp(&other.name));
        let told: Vec<_> = found.iter().map(|array| (&array.name[..], &array.shape[..])).collect();
        assert_eq!(told, [("labels", &[4][..]), ("nchw", &[4, 2, 2, 3]), ("nhwc", &[4, 2, 3, 2])]);
        assert_eq!(found[1].numbers, Numbers::Bytes);
    }
}
