//! The contact sheet: a look at the samples themselves, tile by tile.
//!
//! Pixels are shown as they are, enlarged by a whole number, so that every one of them can be
//! counted. What is written under a tile is chosen by name from what is known of the sample.

use std::num::NonZeroUsize;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::numerics::Seed;
use crate::numerics::rng::permutation;
use crate::report::figures::scene::{Align, GRAY, Mark, Picture, Scene};
use crate::report::figures::typeface::Typeface;

/// A contact sheet as declared in a pipeline file.
///
/// ```ron
/// ContactSheet(caption: "Digits", label: "Figure 3", columns: 10, count: 50, pick: Spread,
///              under: ["class"])
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContactSheetSpec {
    /// What the figure shows, as plain text.
    pub caption: String,
    /// What the figure is called in the paper, such as `Figure 1`.
    pub label: String,
    /// Tiles in a row.
    #[serde(default = "ten")]
    pub columns: NonZeroUsize,
    /// Tiles in all, if there are so many images.
    #[serde(default = "fifty")]
    pub count: NonZeroUsize,
    /// Which images.
    #[serde(default)]
    pub pick: Pick,
    /// What stands under each tile: factors by name, or `class`.
    #[serde(default)]
    pub under: Vec<String>,
}

const TEN: NonZeroUsize = NonZeroUsize::new(10).unwrap();
const FIFTY: NonZeroUsize = NonZeroUsize::new(50).unwrap();

const fn ten() -> NonZeroUsize {
    TEN
}

const fn fifty() -> NonZeroUsize {
    FIFTY
}

/// Which images are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pick {
    /// At equal distances from the first to the last.
    #[default]
    Spread,
    /// The first ones.
    First,
    /// Drawn at random, without replacement.
    Random(Seed),
}

impl ContactSheetSpec {
    /// Returns the indices of the images to show, of `available` ones.
    pub fn picked(&self, available: usize) -> Vec<usize> {
        let count = self.count.get().min(available);
        match self.pick {
            Pick::First => (0..count).collect(),
            Pick::Random(seed) => {
                let mut order = permutation(available, &mut seed.stream("contact-sheet"));
                order.truncate(count);
                order
            }
            Pick::Spread if count < 2 => (0..count).collect(),
            Pick::Spread => (0..count).map(|place| place * (available - 1) / (count - 1)).collect(),
        }
    }

    /// Puts tiles together.
    pub fn build(&self, size: TileSize, tiles: Vec<Tile>) -> ContactSheet {
        ContactSheet {
            caption: self.caption.clone(),
            label: self.label.clone(),
            columns: self.columns.get(),
            size,
            tiles,
        }
    }
}

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

/// One image of the sheet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tile {
    /// Its place in the data set.
    pub index: usize,
    /// What stands under it.
    pub text: String,
    /// Its pixels, channel by channel; Base64 in JSON.
    #[serde(serialize_with = "to_base64", deserialize_with = "from_base64")]
    pub pixels: Vec<u8>,
}

pub(super) fn to_base64<S: Serializer>(pixels: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&STANDARD.encode(pixels))
}

pub(super) fn from_base64<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    STANDARD.decode(String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
}

/// A finished contact sheet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContactSheet {
    /// What the figure shows.
    pub caption: String,
    /// What the figure is called in the paper.
    pub label: String,
    /// Tiles in a row.
    pub columns: usize,
    /// The size of every tile.
    pub size: TileSize,
    /// The tiles, row by row.
    pub tiles: Vec<Tile>,
}

const MARGIN: f64 = 12.0;
const GAP: f64 = 4.0;
const TEXT_ROOM: f64 = 13.0;
const TEXT_SIZE: f64 = 9.5;
/// Tiles are enlarged until they are at least this wide.
const WIDE_ENOUGH: usize = 56;

/// Lays the tiles out in rows.
pub(super) fn draw(sheet: &ContactSheet, typeface: &Typeface) -> Scene {
    let enlarged = WIDE_ENOUGH.div_ceil(sheet.size.width.max(1));
    let width = (sheet.size.width * enlarged) as f64;
    let height = (sheet.size.height * enlarged) as f64;
    let texts = sheet.tiles.iter().any(|tile| !tile.text.is_empty());
    let step = (width + GAP, height + GAP + if texts { TEXT_ROOM } else { 0.0 });
    let columns = sheet.columns.min(sheet.tiles.len()).max(1);
    let rows = sheet.tiles.len().div_ceil(columns);
    let mut scene = Scene {
        width: (2.0 * MARGIN + columns as f64 * step.0 - GAP).ceil(),
        height: (2.0 * MARGIN + rows as f64 * step.1 - GAP).ceil(),
        marks: Vec::new(),
    };
    for (place, tile) in sheet.tiles.iter().enumerate() {
        let left = MARGIN + (place % columns) as f64 * step.0;
        let top = MARGIN + (place / columns) as f64 * step.1;
        scene.marks.push(Mark::Picture(Picture {
            from: (left, top),
            to: (left + width, top + height),
            columns: sheet.size.width,
            rgb: interleaved(sheet.size, &tile.pixels),
        }));
        let text = typeface.fitted(&tile.text, TEXT_SIZE, width);
        let below = (left + width / 2.0, top + height + TEXT_SIZE);
        scene.text(&text, below, TEXT_SIZE, Align::Middle, GRAY);
    }
    scene
}

/// Returns planes of pixels as red, green and blue next to each other.
pub(super) fn interleaved(size: TileSize, pixels: &[u8]) -> Vec<u8> {
    let plane = size.height * size.width;
    let value = |channel: usize, at: usize| {
        let channel = if size.channels >= 3 { channel } else { 0 };
        pixels.get(channel * plane + at).copied().unwrap_or_default()
    };
    (0..plane).flat_map(|at| [value(0, at), value(1, at), value(2, at)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(settings: &str) -> ContactSheetSpec {
        ron::from_str(&format!(r#"(caption: "c", label: "l", {settings})"#)).unwrap()
    }

    #[test]
    fn images_are_picked_from_the_first_to_the_last_or_at_random() {
        let count = NonZeroUsize::new(3).unwrap();
        assert_eq!(spec("count: 3").picked(101), [0, 50, 100]);
        assert_eq!(spec("count: 3, pick: First").picked(101), [0, 1, 2]);
        assert_eq!(spec("count: 3").picked(2), [0, 1]);
        assert_eq!(spec("count: 1").picked(9), [0]);
        let random = spec("count: 3, pick: Random(1)").picked(101);
        assert_eq!(random.len(), count.get());
        assert_ne!(random, spec("count: 3, pick: Random(2)").picked(101));
    }

    #[test]
    fn a_gray_tile_is_shown_gray_and_a_color_tile_keeps_its_channels() {
        let gray = TileSize { channels: 1, height: 1, width: 2 };
        assert_eq!(interleaved(gray, &[7, 9]), [7, 7, 7, 9, 9, 9]);
        let color = TileSize { channels: 3, height: 1, width: 2 };
        assert_eq!(interleaved(color, &[1, 2, 3, 4, 5, 6]), [1, 3, 5, 2, 4, 6]);
    }

    #[test]
    fn a_sheet_has_as_many_rows_as_its_tiles_need() {
        let size = TileSize { channels: 1, height: 28, width: 28 };
        let tile = |index| Tile { index, text: "3".into(), pixels: vec![0; 784] };
        let sheet = spec("columns: 2").build(size, (0..3).map(tile).collect());
        let scene = draw(&sheet, &Typeface::embedded().unwrap());
        let (width, height) = (112.0 + GAP, 112.0 + 2.0 * TEXT_ROOM + GAP);
        assert!((scene.width - 2.0 * MARGIN - width).abs() < 1.0, "{}", scene.width);
        assert!((scene.height - 2.0 * MARGIN - height).abs() < 1.0, "{}", scene.height);
        let text = serde_json::to_string(&sheet).unwrap();
        assert_eq!(serde_json::from_str::<ContactSheet>(&text).unwrap(), sheet);
    }
}
