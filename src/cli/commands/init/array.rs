//! NumPy files: which array holds the samples, which one the classes, and what its dimensions mean.

use std::path::Path;

use super::inspect::{InspectError, Inspection};
use crate::data::{
    ArrayContent, ArrayFile, ArraySummary, DataError, DatasetSpec, Files, Layout, Numbers,
    PixelRange, summarize_arrays,
};

/// A dimension of up to this size is taken for the channels of images.
const MOST_CHANNELS: usize = 4;

/// Inspects an npy or npz file.
pub(super) fn inspect(files: &Files) -> Result<Inspection, InspectError> {
    let arrays = summarize_arrays(files)?;
    let size = |array: &&ArraySummary| array.shape.iter().product::<usize>();
    let samples = arrays.iter().filter(|array| array.shape.len() > 1).max_by_key(size);
    let Some(samples) = samples else {
        let found: Vec<_> = arrays.iter().map(described).collect();
        let reason =
            format!("expected an array with 2 to 4 dimensions, found {}", found.join(", "));
        return Err(DataError::Unfit(reason).into());
    };
    let count = samples.shape[0];
    let is_label = |array: &&ArraySummary| {
        array.shape == [count] && matches!(array.numbers, Numbers::Bytes | Numbers::Integers)
    };
    let labels = arrays.iter().find(is_label).map(|array| array.name.clone());
    // An npz may also hold arrays of text, which have no summary: its samples are always named.
    let is_archive = files.only().is_ok_and(|file| {
        Path::new(file.name).extension().is_some_and(|end| end.eq_ignore_ascii_case("npz"))
    });
    let opened = |content| {
        let array = is_archive.then(|| samples.name.clone());
        let source = DatasetSpec::Array(ArrayFile { content, array, labels: labels.clone() });
        let opened = source.open(files)?;
        Inspection::of("NumPy array", source, opened)
    };
    let mut inspection = match layout(samples) {
        None if samples.shape.len() == 2 => opened(ArrayContent::Vectors)?,
        None => {
            let reason = format!(
                "expected channels as the second or the last dimension, found {}",
                described(samples)
            );
            return Err(DataError::Unfit(reason).into());
        }
        Some(layout) if samples.numbers == Numbers::Bytes => {
            opened(ArrayContent::Images { layout, range: PixelRange::Bytes })?
        }
        Some(layout) => {
            // The narrowest range that holds the inspected values.
            let images = |range| opened(ArrayContent::Images { layout, range });
            images(PixelRange::Unit)
                .or_else(|_| images(PixelRange::Symmetric))
                .or_else(|_| images(PixelRange::Full))?
        }
    };
    let others: Vec<_> = arrays.iter().filter(|array| array.name != samples.name).collect();
    if others.len() > usize::from(labels.is_some()) {
        let others: Vec<_> = others.into_iter().map(described).collect();
        let used = &samples.name;
        inspection
            .notes
            .push(format!("using `{used}`, the largest array; also found: {}", others.join(", ")));
    }
    Ok(inspection)
}

/// Returns what the dimensions of an array of images mean.
fn layout(array: &ArraySummary) -> Option<Layout> {
    match array.shape[..] {
        [_, _, _] => Some(Layout::Nhw),
        [_, _, _, channels] if channels <= MOST_CHANNELS => Some(Layout::Nhwc),
        [_, channels, _, _] if channels <= MOST_CHANNELS => Some(Layout::Nchw),
        _ => None,
    }
}

fn described(array: &ArraySummary) -> String {
    let sizes: Vec<_> = array.shape.iter().map(ToString::to_string).collect();
    format!("`{}` ({})", array.name, sizes.join(" x "))
}
