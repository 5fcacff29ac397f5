//! Rows of images with labels: latent traversals, and reconstructions below what they stand for.
//!
//! One block for each model, one row for each coordinate that varies, or two for real images and
//! what is decoded from their codes.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::report::figures::drawing::typeface::Typeface;
use crate::report::figures::drawing::{Align, BLACK, Drawing, GRAY};
use crate::report::figures::image_grid::{
    Gaps, ImageGrid, Pixels, TileSize, block_summary, tile_on_page,
};
use crate::report::figures::kind::FinishedFigure;

/// Rows of images as declared in a pipeline.
///
/// ```ron
/// (caption: "One coordinate at a time", label: "Figure 5", titles: {"pcae": "PCAE"})
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImageRowsSpec {
    /// The caption, as plain text.
    pub caption: String,
    /// The figure's name in the paper, such as `Figure 2`.
    pub label: String,
    /// Models side by side.
    #[serde(default = "two")]
    pub columns: NonZeroUsize,
    /// Display names of labels.
    #[serde(default)]
    pub titles: BTreeMap<String, String>,
}

const TWO: NonZeroUsize = NonZeroUsize::new(2).unwrap();

const fn two() -> NonZeroUsize {
    TWO
}

impl ImageRowsSpec {
    /// Puts blocks together.
    pub(crate) fn build(&self, size: TileSize, sides: Sides, blocks: Vec<RowBlock>) -> ImageRows {
        ImageRows {
            caption: self.caption.clone(),
            label: self.label.clone(),
            columns: self.columns.get(),
            size,
            sides,
            blocks,
        }
    }
}

/// What is written along the sides of each block.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sides {
    /// What the labels of rows are.
    pub left: String,
    /// What stands above the first, the middle and the last column.
    pub top: Option<[String; 3]>,
}

/// One row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImageRow {
    /// What stands to its left.
    pub label: String,
    /// Its images.
    pub images: Vec<Pixels>,
}

/// The rows of one model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RowBlock {
    /// What the model is called.
    pub title: String,
    /// Its rows.
    pub rows: Vec<ImageRow>,
}

/// Finished rows of images.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImageRows {
    /// What the figure shows.
    pub caption: String,
    /// What the figure is called in the paper.
    pub label: String,
    /// Models side by side.
    pub columns: usize,
    /// The size of every image.
    pub size: TileSize,
    /// What is written along the sides of each block.
    pub sides: Sides,
    /// The models.
    pub blocks: Vec<RowBlock>,
}

impl ImageRows {
    fn rows(&self) -> impl Iterator<Item = &ImageRow> {
        self.blocks.iter().flat_map(|block| &block.rows)
    }
}

/// Between images of a block, and between blocks.
const GAPS: Gaps = Gaps { tile: 2.0, block: 20.0 };
const TITLE_SIZE: f64 = 13.0;
const TITLE_ROOM: f64 = 20.0;
const LABEL_SIZE: f64 = 11.5;
const LABEL_GAP: f64 = 6.0;
const HEAD_ROOM: f64 = 16.0;
/// Images are enlarged until they are at least this wide.
const LEAST_WIDTH: usize = 32;

impl FinishedFigure for ImageRows {
    /// Returns one line on each model.
    fn summaries(&self) -> Vec<String> {
        let line = |block: &RowBlock| {
            block_summary(&block.title, "rows", block.rows.iter().map(|row| row.images.len()))
        };
        self.blocks.iter().map(line).collect()
    }

    fn draw(&self, typeface: &Typeface) -> Drawing {
        let tile = tile_on_page(self.size, LEAST_WIDTH);
        let images = self.rows().map(|row| row.images.len()).max().unwrap_or_default();
        let rows = self.blocks.iter().map(|block| block.rows.len()).max().unwrap_or_default();
        let labels = self.rows().map(|row| row.label.as_str()).chain([self.sides.left.as_str()]);
        let indent = labels.map(|label| typeface.width(label, LABEL_SIZE)).fold(0.0, f64::max);
        let indent = if indent > 0.0 { indent + LABEL_GAP } else { 0.0 };
        let is_titled = self.blocks.iter().any(|block| !block.title.is_empty());
        let has_top = self.sides.top.is_some() || !self.sides.left.is_empty();
        let head = if is_titled { TITLE_ROOM } else { 0.0 } + if has_top { HEAD_ROOM } else { 0.0 };
        let width = indent + images as f64 * (tile.0 + GAPS.tile) - GAPS.tile;
        let height = head + rows as f64 * (tile.1 + GAPS.tile) - GAPS.tile;
        let counts = (self.blocks.len(), self.columns);
        let grid = ImageGrid::new((self.size, tile), (width, height), GAPS, counts);
        let mut drawing = grid.page();
        for (place, block) in self.blocks.iter().enumerate() {
            let (left, top) = grid.corner(place);
            let start = left + indent;
            let title = typeface.fitted(&block.title, TITLE_SIZE, width - indent);
            drawing.text(&title, (start, top + TITLE_SIZE), TITLE_SIZE, Align::Start, BLACK);
            self.draw_sides(&mut drawing, tile.0, (start, left + width), top + head - 5.0);
            draw_rows(&mut drawing, &grid, &block.rows, (start, top + head));
        }
        drawing
    }
}

impl ImageRows {
    /// Writes above a block, from its first image to the end of its last, with a baseline.
    fn draw_sides(
        &self,
        drawing: &mut Drawing,
        tile_width: f64,
        (start, end): (f64, f64),
        baseline: f64,
    ) {
        let left = (start - LABEL_GAP, baseline);
        drawing.text(&self.sides.left, left, LABEL_SIZE, Align::End, GRAY);
        if let Some([first, middle, last]) = &self.sides.top {
            let half = tile_width / 2.0;
            for (text, x) in
                [(first, start + half), (middle, f64::midpoint(start, end)), (last, end - half)]
            {
                drawing.text(text, (x, baseline), LABEL_SIZE, Align::Middle, GRAY);
            }
        }
    }
}

/// Draws the rows of a block from the corner of its first image.
fn draw_rows(drawing: &mut Drawing, grid: &ImageGrid, rows: &[ImageRow], first: (f64, f64)) {
    for (index, row) in rows.iter().enumerate() {
        let (_, y) = grid.tile_at(first, index, 0);
        let at = (first.0 - LABEL_GAP, y + grid.tile.1 / 2.0 + 4.0);
        drawing.text(&row.label, at, LABEL_SIZE, Align::End, BLACK);
        for (place, pixels) in row.images.iter().enumerate() {
            grid.draw_tile(drawing, &pixels.0, grid.tile_at(first, index, place));
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::data::{Annotations, Factors, ImageShape, Images};
    use crate::report::Labels;
    use crate::report::figures::Figure;
    use crate::report::figures::chart::tests::assert_inside;
    use crate::report::figures::image_grid::tests::bitmaps;

    /// Returns images of one model with factors, which are numbered by their pixels.
    pub(crate) fn decoded(names: &[&str], values: &[f32]) -> Vec<(Labels, Images)> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let count = values.len() / names.len();
        let factors = Factors { names, values: values.to_vec() };
        let pixels = (0..count).map(|row| row as u8).collect();
        let shape = ImageShape { channels: 1, height: 1, width: 1 };
        let images = Images::new(shape, pixels, Annotations { factors, classes: None }).unwrap();
        vec![([("model".to_owned(), "pcae".to_owned())].into(), images)]
    }

    fn figure(models: usize, title: &str) -> ImageRows {
        let spec: ImageRowsSpec = ron::from_str(r#"(caption: "c", label: "l")"#).unwrap();
        let row = |number: usize| ImageRow {
            label: number.to_string(),
            images: vec![Pixels(vec![number as u8; 256]); 5],
        };
        let block = |_| RowBlock { title: title.to_owned(), rows: (1..=3).map(row).collect() };
        let top = Some(["-2 std", "mean", "+2 std"].map(str::to_owned));
        let sides = Sides { left: "coordinate".to_owned(), top };
        let size = TileSize { channels: 1, height: 16, width: 16 };
        spec.build(size, sides, (0..models).map(block).collect())
    }

    #[test]
    fn each_row_is_labeled_and_no_text_or_image_leaves_the_page() {
        let title = "a model with a name that is longer than its rows are wide";
        let drawing = figure(5, title).draw(&Typeface::embedded().unwrap());
        assert_inside(&drawing);
        let pictures = bitmaps(&drawing);
        assert_eq!(pictures.len(), 5 * 3 * 5);
        assert!(pictures.iter().all(|p| p.to.0 <= drawing.width && p.to.1 <= drawing.height));
    }

    #[test]
    fn a_figure_is_read_back_from_json_and_says_what_it_shows() {
        let rows = Figure::Traversals(figure(1, "PCAE"));
        let text = serde_json::to_string(&rows).unwrap();
        assert_eq!(serde_json::from_str::<Figure>(&text).unwrap(), rows);
        assert_eq!(rows.summaries(), ["PCAE: 3 rows of 5 images"]);
        assert!(rows.svg().unwrap().contains("+2 std"));
    }
}
