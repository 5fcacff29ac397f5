//! The contact sheet: a look at the samples themselves, tile by tile.
//!
//! What is written under a tile is chosen by name from what is known of the sample.

use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::data::{Annotations, DataError};
use crate::numerics::Seed;
use crate::numerics::rng::{permutation, spread};
use crate::report::figures::FigureError;
use crate::report::figures::drawing::typeface::Typeface;
use crate::report::figures::drawing::{Align, Drawing, GRAY};
use crate::report::figures::factors::factor_column;
use crate::report::figures::image_grid::{
    ADD_IMAGES, Gaps, ImageGrid, Pixels, TileSize, no_images, tile_on_page,
};
use crate::report::figures::kind::{
    FigureChecks, FigureInputs, FigureKind, FigureMistake, FinishedFigure,
};

/// A contact sheet as declared in a pipeline.
///
/// ```ron
/// ContactSheet(caption: "Digits", label: "Figure 3", columns: 10, count: 50, pick: Spread,
///              under: ["class"])
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContactSheetSpec {
    /// The caption, as plain text.
    pub caption: String,
    /// The figure's name in the paper, such as `Figure 1`.
    pub label: String,
    /// Tiles in a row.
    #[serde(default = "ten")]
    pub columns: NonZeroUsize,
    /// Number of tiles, at most.
    #[serde(default = "fifty")]
    pub count: NonZeroUsize,
    /// Which images to show.
    #[serde(default)]
    pub pick: Pick,
    /// What is written under each tile: factors by name, or `class`.
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Pick {
    /// One drawn from each of as many equal parts, from the first to the last.
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
            Pick::Spread => spread(available, count, &mut Seed(0).stream("contact-sheet")),
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

/// One image of the sheet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tile {
    /// Its place in the data set.
    pub index: usize,
    /// What stands under it.
    pub text: String,
    /// Its pixels.
    pub pixels: Pixels,
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

/// Between tiles.
const GAPS: Gaps = Gaps { tile: 0.0, block: 4.0 };
const TEXT_ROOM: f64 = 13.0;
const TEXT_SIZE: f64 = 9.5;
/// Tiles are enlarged until they are at least this wide.
const LEAST_WIDTH: usize = 56;

impl FigureKind for ContactSheetSpec {
    type Finished = ContactSheet;

    const SHOWS: &'static str = "a contact sheet shows images";
    const INPUTS: &'static [&'static str] = &["images"];

    fn checks(&self) -> Option<FigureChecks<'_>> {
        None
    }

    fn wrong_inputs(&self, is_given: &dyn Fn(&str) -> bool) -> Option<FigureMistake> {
        (!is_given("images")).then(|| FigureMistake {
            setting: "picture",
            message: "a contact sheet shows images, and none are given".to_owned(),
            help: ADD_IMAGES.to_owned(),
        })
    }

    fn finish(&self, inputs: &FigureInputs) -> Result<ContactSheet, FigureError> {
        let images = inputs.images.as_ref().ok_or_else(no_images)?;
        let tile = |index| {
            let text = text_under(images.annotations(), index, &self.under)?;
            Ok(Tile { index, text, pixels: Pixels::of(images, index) })
        };
        let picked = self.picked(images.len()).into_iter();
        let tiles = picked.map(tile).collect::<Result<_, DataError>>()?;
        Ok(self.build(images.shape().into(), tiles))
    }
}

/// Returns what stands under a tile: the class, or factors to two decimals.
fn text_under(known: &Annotations, index: usize, names: &[String]) -> Result<String, DataError> {
    let one = |name: &String| -> Result<String, DataError> {
        if let ("class", Some(classes)) = (name.as_str(), &known.classes) {
            return Ok(classes.names[usize::from(classes.values[index])].clone());
        }
        let column = factor_column(known, name)?;
        Ok(format!("{:.2}", known.factors.row(index)[column]))
    };
    names.iter().map(one).collect::<Result<Vec<_>, _>>().map(|parts| parts.join(" "))
}

impl FinishedFigure for ContactSheet {
    fn summaries(&self) -> Vec<String> {
        vec![format!("{} images", self.tiles.len())]
    }

    /// Lays the tiles out in rows.
    fn draw(&self, typeface: &Typeface) -> Drawing {
        let tile = tile_on_page(self.size, LEAST_WIDTH);
        let has_texts = self.tiles.iter().any(|tile| !tile.text.is_empty());
        let block = (tile.0, tile.1 + if has_texts { TEXT_ROOM } else { 0.0 });
        let counts = (self.tiles.len(), self.columns);
        let grid = ImageGrid::new((self.size, tile), block, GAPS, counts);
        let mut drawing = grid.page();
        for (place, shown) in self.tiles.iter().enumerate() {
            let (left, top) = grid.corner(place);
            grid.draw_tile(&mut drawing, &shown.pixels.0, (left, top));
            let text = typeface.fitted(&shown.text, TEXT_SIZE, tile.0);
            let below = (left + tile.0 / 2.0, top + tile.1 + TEXT_SIZE);
            drawing.text(&text, below, TEXT_SIZE, Align::Middle, GRAY);
        }
        drawing
    }
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
        let spread = spec("count: 10").picked(92_160);
        assert!(spread.iter().enumerate().all(|(part, row)| row / 9216 == part), "{spread:?}");
        let last = spread.iter().filter(|&row| row % 32 == 31).count();
        assert!(last < 5, "the fastest factor of a lattice varies: {spread:?}");
        assert_eq!(spec("count: 3, pick: First").picked(101), [0, 1, 2]);
        assert_eq!(spec("count: 3").picked(2), [0, 1]);
        assert_eq!(spec("count: 1").picked(9).len(), 1);
        let random = spec("count: 3, pick: Random(1)").picked(101);
        assert_eq!(random.len(), count.get());
        assert_ne!(random, spec("count: 3, pick: Random(2)").picked(101));
    }

    #[test]
    fn a_sheet_has_as_many_rows_as_its_tiles_need() {
        let size = TileSize { channels: 1, height: 28, width: 28 };
        let tile = |index| Tile { index, text: "3".into(), pixels: Pixels(vec![0; 784]) };
        let sheet = spec("columns: 2").build(size, (0..3).map(tile).collect());
        let drawing = sheet.draw(&Typeface::embedded().unwrap());
        let (width, height) = (112.0 + GAPS.block, 112.0 + 2.0 * TEXT_ROOM + GAPS.block);
        assert!((drawing.width - 24.0 - width).abs() < 1.0, "{}", drawing.width);
        assert!((drawing.height - 24.0 - height).abs() < 1.0, "{}", drawing.height);
        let text = serde_json::to_string(&sheet).unwrap();
        assert_eq!(serde_json::from_str::<ContactSheet>(&text).unwrap(), sheet);
    }
}
