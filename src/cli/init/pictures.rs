//! Pictures in a folder or an archive: gray or colored, of one size or of many.

use std::num::NonZeroUsize;

use super::look::{LookError, Seen};
use crate::data::{ColorMode, DatasetSpec, Files, ImageFolder, Samples};

/// The size that pictures of different sizes get.
const COMMON_SIDE: NonZeroUsize = NonZeroUsize::new(32).unwrap();
/// So many pictures decide whether all are gray.
const MOST_DECIDING: usize = 50;

/// Looks at pictures.
pub(super) fn look(kind: &str, files: &Files) -> Result<Seen, LookError> {
    let colored = ImageFolder { channels: ColorMode::Rgb, ..ImageFolder::default() };
    let framed = ImageFolder { size: Some(COMMON_SIDE), ..colored.clone() };
    let in_gray = |folder: &ImageFolder| {
        let is_gray = is_gray(folder, files).unwrap_or(false);
        let channels = if is_gray { ColorMode::Gray } else { ColorMode::Rgb };
        ImageFolder { channels, ..folder.clone() }
    };
    let opened = |folder: &ImageFolder| -> Result<Seen, LookError> {
        let source = DatasetSpec::ImageFolder(in_gray(folder));
        let opened = source.open(files)?;
        Seen::of(kind, source, opened)
    };
    let seen = opened(&colored).or_else(|native| match opened(&framed) {
        Ok(mut seen) => {
            seen.notes.push(format!(
                "sizes differ: the middle square of each is scaled to {COMMON_SIDE} x {COMMON_SIDE}"
            ));
            Ok(seen)
        }
        Err(_) => Err(native),
    });
    let mut seen = seen?;
    if let DatasetSpec::ImageFolder(folder) = &mut seen.source {
        folder.skip_broken = seen.damaged > 0;
    }
    Ok(seen)
}

/// Returns whether the colors of some pictures are all shades of gray.
fn is_gray(folder: &ImageFolder, files: &Files) -> Result<bool, LookError> {
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
