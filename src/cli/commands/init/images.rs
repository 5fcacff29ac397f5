//! Images in a folder or an archive: gray or colored, of one size or of many.

use std::num::NonZeroUsize;

use super::inspect::{InspectError, Inspection};
use crate::data::{ColorMode, DataSet, DatasetSpec, Files, ImageFolder, Samples};

/// The size that images of different sizes are scaled to.
const COMMON_SIDE: NonZeroUsize = NonZeroUsize::new(32).unwrap();
/// At most this many images decide whether all are gray.
const MOST_DECIDING: usize = 50;

/// Inspects images.
pub(super) fn inspect(kind: &str, files: &Files) -> Result<Inspection, InspectError> {
    let colored = ImageFolder { channels: ColorMode::Rgb, ..ImageFolder::default() };
    let framed = ImageFolder { size: Some(COMMON_SIDE), ..colored.clone() };
    let in_gray = |folder: &ImageFolder| {
        let is_gray = is_gray(folder, files).unwrap_or(false);
        let channels = if is_gray { ColorMode::Gray } else { ColorMode::Rgb };
        ImageFolder { channels, ..folder.clone() }
    };
    let opened = |folder: &ImageFolder| -> Result<Inspection, InspectError> {
        let source = DatasetSpec::ImageFolder(in_gray(folder));
        let opened = source.open(files)?;
        Inspection::of(kind, source, opened)
    };
    let inspection = opened(&colored).or_else(|native| match opened(&framed) {
        Ok(mut inspection) => {
            inspection.notes.push(format!(
                "sizes differ: the central square of each is scaled to {COMMON_SIDE} x {COMMON_SIDE}"
            ));
            Ok(inspection)
        }
        Err(_) => Err(native),
    });
    let mut inspection = inspection?;
    if let DatasetSpec::ImageFolder(folder) = &mut inspection.source {
        folder.skip_broken = inspection.damaged > 0;
    }
    Ok(inspection)
}

/// Returns whether the colors of some images are all shades of gray.
fn is_gray(folder: &ImageFolder, files: &Files) -> Result<bool, InspectError> {
    let Samples::Images(mut images) = folder.open(files)? else { return Ok(false) };
    let count = images.catalog().count;
    let wanted = count.min(MOST_DECIDING);
    let rows: Vec<usize> = (0..wanted).map(|index| index * count / wanted).collect();
    let mut pixels = vec![0; wanted * images.shape().pixels()];
    images.read(&rows, &mut pixels)?;
    let side = images.shape().height * images.shape().width;
    let same =
        |image: &[u8]| image[..side] == image[side..2 * side] && image[..side] == image[2 * side..];
    Ok(pixels.chunks_exact(3 * side).all(same))
}
