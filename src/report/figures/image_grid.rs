//! Images as tiles of one size: their pixels, and where tiles and blocks of them are on the page.
//!
//! Pixels are shown as they are, enlarged by a whole number, so that every one of them can be
//! counted.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::data::{ImageShape, Images};
use crate::report::figures::FigureError;
use crate::report::figures::drawing::{Bitmap, Drawing, Mark};
use crate::report::records::record::Labels;

/// The size of every tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TileSize {
    /// One channel (gray) or three (red, green, blue).
    pub channels: usize,
    /// Pixel rows.
    pub height: usize,
    /// Pixel columns.
    pub width: usize,
}

impl From<ImageShape> for TileSize {
    fn from(shape: ImageShape) -> Self {
        Self { channels: shape.channels, height: shape.height, width: shape.width }
    }
}

/// The pixels of an image, channel by channel; Base64 in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pixels(
    #[serde(serialize_with = "to_base64", deserialize_with = "from_base64")] pub Vec<u8>,
);

impl Pixels {
    /// Returns the pixels of one of some images.
    pub(crate) fn of(images: &Images, row: usize) -> Self {
        Self(images.image(row).to_vec())
    }
}

fn to_base64<S: Serializer>(pixels: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&STANDARD.encode(pixels))
}

fn from_base64<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    STANDARD.decode(String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
}

/// What to do about a figure without the images that it shows.
pub(crate) const ADD_IMAGES: &str = "add `images: \"a stage that makes images\"`";

/// Says that there are no images.
pub(crate) fn no_images() -> FigureError {
    FigureError::Inputs("there are no images".to_owned())
}

/// Returns the size that all images have.
pub(crate) fn common_size(
    families: &[(Labels, Images)],
    others: Option<&Images>,
) -> Result<TileSize, FigureError> {
    let mut shapes = families.iter().map(|(_, images)| images.shape());
    let Some(shape) = shapes.next() else {
        return Err(FigureError::Inputs("there are no paths to show".to_owned()));
    };
    match shapes.chain(others.map(Images::shape)).find(|other| *other != shape) {
        Some(other) => Err(FigureError::Inputs(format!(
            "images of {other} can't be shown next to images of {shape}"
        ))),
        None => Ok(shape.into()),
    }
}

/// Blocks of tiles that lie side by side, all of the same size.
pub(crate) struct ImageGrid {
    size: TileSize,
    /// Width and height of a tile on the page.
    pub(crate) tile: (f64, f64),
    /// Between tiles of a block.
    tile_gap: f64,
    /// Width and height of a block.
    pub(crate) block: (f64, f64),
    block_gap: f64,
    blocks: usize,
    columns: usize,
}

/// Between the edge of the page and the blocks.
const MARGIN: f64 = 12.0;

/// Returns how large tiles are on the page: enlarged until they are at least this wide.
pub(crate) fn tile_on_page(size: TileSize, least_width: usize) -> (f64, f64) {
    let enlarged = least_width.div_ceil(size.width.max(1));
    ((size.width * enlarged) as f64, (size.height * enlarged) as f64)
}

/// Distances in a grid: between tiles of a block, and between blocks.
#[derive(Clone, Copy)]
pub(crate) struct Gaps {
    pub(crate) tile: f64,
    pub(crate) block: f64,
}

impl ImageGrid {
    /// Returns a grid of so many blocks in at most so many columns.
    pub(crate) fn new(
        (size, tile): (TileSize, (f64, f64)),
        block: (f64, f64),
        gaps: Gaps,
        (blocks, columns): (usize, usize),
    ) -> Self {
        let columns = columns.min(blocks).max(1);
        Self { size, tile, tile_gap: gaps.tile, block, block_gap: gaps.block, blocks, columns }
    }

    /// Returns an empty page for all blocks.
    pub(crate) fn page(&self) -> Drawing {
        let rows = self.blocks.div_ceil(self.columns);
        let step = self.step();
        Drawing {
            width: (2.0 * MARGIN + self.columns as f64 * step.0 - self.block_gap).ceil(),
            height: (2.0 * MARGIN + rows as f64 * step.1 - self.block_gap).ceil(),
            marks: Vec::new(),
        }
    }

    /// Returns the left upper corner of the block with an index.
    pub(crate) fn corner(&self, index: usize) -> (f64, f64) {
        let step = self.step();
        let left = MARGIN + (index % self.columns) as f64 * step.0;
        let top = MARGIN + (index / self.columns) as f64 * step.1;
        (left, top)
    }

    fn step(&self) -> (f64, f64) {
        (self.block.0 + self.block_gap, self.block.1 + self.block_gap)
    }

    /// Returns the place of a tile, counted from the first one of a block.
    pub(crate) fn tile_at(&self, first: (f64, f64), row: usize, column: usize) -> (f64, f64) {
        let x = first.0 + column as f64 * (self.tile.0 + self.tile_gap);
        let y = first.1 + row as f64 * (self.tile.1 + self.tile_gap);
        (x, y)
    }

    /// Draws a tile.
    pub(crate) fn draw_tile(&self, drawing: &mut Drawing, pixels: &[u8], (x, y): (f64, f64)) {
        drawing.marks.push(Mark::Bitmap(Bitmap {
            from: (x, y),
            to: (x + self.tile.0, y + self.tile.1),
            columns: self.size.width,
            rgb: interleaved(self.size, pixels),
        }));
    }
}

/// Returns one line on a block, given how many images each of its rows has.
pub(crate) fn block_summary(title: &str, what: &str, rows: impl Iterator<Item = usize>) -> String {
    let lengths: Vec<usize> = rows.collect();
    let longest = lengths.iter().max().copied().unwrap_or_default();
    format!("{title}: {} {what} of {longest} images", lengths.len())
}

/// Returns planes of pixels as red, green and blue next to each other.
fn interleaved(size: TileSize, pixels: &[u8]) -> Vec<u8> {
    let plane = size.height * size.width;
    let value = |channel: usize, at: usize| {
        let channel = if size.channels >= 3 { channel } else { 0 };
        pixels.get(channel * plane + at).copied().unwrap_or_default()
    };
    (0..plane).flat_map(|at| [value(0, at), value(1, at), value(2, at)]).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns the bitmaps of a drawing.
    pub(crate) fn bitmaps(drawing: &Drawing) -> Vec<&Bitmap> {
        let marks = drawing.marks.iter();
        marks
            .filter_map(|mark| match mark {
                Mark::Bitmap(found) => Some(found),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn a_gray_tile_is_shown_gray_and_a_color_tile_keeps_its_channels() {
        let gray = TileSize { channels: 1, height: 1, width: 2 };
        assert_eq!(interleaved(gray, &[7, 9]), [7, 7, 7, 9, 9, 9]);
        let color = TileSize { channels: 3, height: 1, width: 2 };
        assert_eq!(interleaved(color, &[1, 2, 3, 4, 5, 6]), [1, 3, 5, 2, 4, 6]);
    }
}
