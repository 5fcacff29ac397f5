//! NumPy files: which array holds the samples, which one the classes, and what its dimensions mean.

use std::path::Path;

use super::inspect::{InspectError, Inspection, MOST_IMAGES, MOST_VALUES};
use super::range as in_words;
use crate::data::{
    ArrayContent, ArrayFile, ArraySummary, ArrayValues, DataError, DatasetSpec, Files, Layout,
    Numbers, PixelRange, scan_values, summarize_arrays,
};

/// A dimension of up to this size is taken for the channels of images.
const MOST_CHANNELS: usize = 4;

/// Rounding may move an image by this share of the distance to its nearest neighbor: a distance
/// then changes by about a hundredth.
const MOST_MOVED: f64 = 0.1;

/// Inspects an npy or npz file.
pub(super) fn inspect(files: &Files) -> Result<Inspection, InspectError> {
    let arrays = summarize_arrays(files)?;
    let size = |array: &&ArraySummary| array.shape.iter().product::<usize>();
    let samples = arrays.iter().filter(|array| array.shape.len() > 1).max_by_key(size);
    let Some(samples) = samples else {
        let found: Vec<_> = arrays.iter().map(described).collect();
        let reason =
            format!("expected an array with at least 2 dimensions, found {}", found.join(", "));
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
        Some(layout) if samples.numbers == Numbers::Bytes => {
            opened(ArrayContent::Images { layout, range: PixelRange::Bytes })?
        }
        Some(layout) => {
            let size = samples.shape[1..].iter().product::<usize>().max(1);
            let most = (MOST_VALUES / size).clamp(2, MOST_IMAGES);
            let values = scan_values(files, &samples.name, most)?;
            let (content, note) = content(&values, size, layout);
            let is_flattened = content == ArrayContent::Vectors;
            let mut inspection = opened(content)?;
            inspection.range = (values.low, values.high);
            inspection.notes.extend(note);
            inspection.is_flattened = is_flattened;
            inspection
        }
        None => {
            let mut inspection = opened(ArrayContent::Vectors)?;
            if samples.shape.len() > 2 {
                let note = format!("{}: every sample is taken as one vector", described(samples));
                inspection.notes.push(note);
                inspection.is_flattened = true;
            }
            inspection
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

/// Decides whether images are read as such, which rounds their values to bytes, or as vectors, and
/// returns what to say about it.
fn content(values: &ArrayValues, size: usize, layout: Layout) -> (ArrayContent, Option<String>) {
    let Some(range) = values.range else {
        let note = format!(
            "values from {} are not those of pixels (0 to 1, -1 to 1 or 0 to 255): every image is \
             taken as one vector of {size} values",
            in_words(values.low, values.high)
        );
        return (ArrayContent::Vectors, Some(note));
    };
    let images = ArrayContent::Images { layout, range };
    if values.are_levels {
        return (images, None);
    }
    // Nothing is left to compare with where all images are equal; that is refused later.
    let share = values.rounding().unwrap_or_default();
    let moved =
        if share < 1.0 { format!("{:.1} % of", 100.0 * share) } else { "more than".to_owned() };
    let (low, high) = range.ends();
    if share > MOST_MOVED {
        let note = format!(
            "every image is taken as one vector of {size} values, to keep them as they are: images \
             have 256 levels from {low} to {high}, and rounding to them would move an image by \
             {moved} the distance to its nearest neighbor"
        );
        return (ArrayContent::Vectors, Some(note));
    }
    let note = format!(
        "values are rounded to 256 levels from {low} to {high}, which moves an image by {moved} \
         the distance to its nearest neighbor; `Array(content: Vectors)` would keep them as they \
         are"
    );
    (images, Some(note))
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
