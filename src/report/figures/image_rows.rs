//! Rows of images with labels: latent traversals, and reconstructions below what they stand for.
//!
//! One block for each model, one row for each coordinate that varies, or two for real images and
//! what is decoded from their codes. Pixels are shown as they are, enlarged by a whole number.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};

use crate::report::Labels;
use crate::report::figures::contact_sheet::{TileSize, interleaved};
use crate::report::figures::interpolation::Pixels;
use crate::report::figures::panel_title::panel_title;
use crate::report::figures::scene::{Align, BLACK, GRAY, Mark, Picture, Scene};
use crate::report::figures::typeface::Typeface;

/// Rows of images as declared in a pipeline file.
///
/// ```ron
/// Traversals(caption: "One coordinate at a time", label: "Figure 5", titles: {"pcae": "PCAE"})
/// Reconstructions(caption: "Test images, decoded", label: "Figure 6", columns: 1)
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageRowsSpec {
    /// What the figure shows, as plain text.
    pub caption: String,
    /// What the figure is called in the paper, such as `Figure 2`.
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
    /// Returns the title of a block: the labels of its model, by their display names.
    pub fn title(&self, labels: &Labels) -> String {
        panel_title(&self.titles, labels)
    }

    /// Puts blocks together.
    pub fn build(&self, size: TileSize, sides: Sides, blocks: Vec<RowBlock>) -> ImageRows {
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
    /// Returns one line on each model.
    pub(super) fn summaries(&self) -> Vec<String> {
        let images = |block: &RowBlock| block.rows.iter().map(|row| row.images.len()).max();
        let line = |block: &RowBlock| {
            let (rows, images) = (block.rows.len(), images(block).unwrap_or_default());
            format!("{}: {rows} rows of {images} images", block.title)
        };
        self.blocks.iter().map(line).collect()
    }

    fn rows(&self) -> impl Iterator<Item = &ImageRow> {
        self.blocks.iter().flat_map(|block| &block.rows)
    }
}

const MARGIN: f64 = 12.0;
const GAP: f64 = 2.0;
const BLOCK_GAP: f64 = 20.0;
const TITLE_SIZE: f64 = 13.0;
const TITLE_ROOM: f64 = 20.0;
const LABEL_SIZE: f64 = 11.5;
const LABEL_GAP: f64 = 6.0;
const HEAD_ROOM: f64 = 16.0;
/// Images are enlarged until they are at least this wide.
const WIDE_ENOUGH: usize = 32;

/// Where things are in a block.
struct Layout {
    tile: (f64, f64),
    /// From a block's left edge to its first image.
    indent: f64,
    /// From a block's upper edge to its first row.
    head: f64,
    block: (f64, f64),
}

impl Layout {
    fn of(figure: &ImageRows, typeface: &Typeface) -> Self {
        let enlarged = WIDE_ENOUGH.div_ceil(figure.size.width.max(1));
        let tile = ((figure.size.width * enlarged) as f64, (figure.size.height * enlarged) as f64);
        let images = figure.rows().map(|row| row.images.len()).max().unwrap_or_default();
        let rows = figure.blocks.iter().map(|block| block.rows.len()).max().unwrap_or_default();
        let labels =
            figure.rows().map(|row| row.label.as_str()).chain([figure.sides.left.as_str()]);
        let indent = labels.map(|label| typeface.width(label, LABEL_SIZE)).fold(0.0, f64::max);
        let indent = if indent > 0.0 { indent + LABEL_GAP } else { 0.0 };
        let is_titled = figure.blocks.iter().any(|block| !block.title.is_empty());
        let has_top = figure.sides.top.is_some() || !figure.sides.left.is_empty();
        let head = if is_titled { TITLE_ROOM } else { 0.0 } + if has_top { HEAD_ROOM } else { 0.0 };
        let width = indent + images as f64 * (tile.0 + GAP) - GAP;
        let height = head + rows as f64 * (tile.1 + GAP) - GAP;
        Self { tile, indent, head, block: (width, height) }
    }
}

/// Lays the blocks out.
pub(super) fn draw(figure: &ImageRows, typeface: &Typeface) -> Scene {
    let layout = Layout::of(figure, typeface);
    let columns = figure.columns.min(figure.blocks.len()).max(1);
    let rows = figure.blocks.len().div_ceil(columns);
    let step = (layout.block.0 + BLOCK_GAP, layout.block.1 + BLOCK_GAP);
    let mut scene = Scene {
        width: (2.0 * MARGIN + columns as f64 * step.0 - BLOCK_GAP).ceil(),
        height: (2.0 * MARGIN + rows as f64 * step.1 - BLOCK_GAP).ceil(),
        marks: Vec::new(),
    };
    for (place, block) in figure.blocks.iter().enumerate() {
        let left = MARGIN + (place % columns) as f64 * step.0;
        let top = MARGIN + (place / columns) as f64 * step.1;
        draw_block(&mut scene, figure, block, &layout, (left, top), typeface);
    }
    scene
}

fn draw_block(
    scene: &mut Scene,
    figure: &ImageRows,
    block: &RowBlock,
    layout: &Layout,
    (left, top): (f64, f64),
    typeface: &Typeface,
) {
    let start = left + layout.indent;
    let title = typeface.fitted(&block.title, TITLE_SIZE, layout.block.0 - layout.indent);
    scene.text(&title, (start, top + TITLE_SIZE), TITLE_SIZE, Align::Start, BLACK);
    let above = top + layout.head - 5.0;
    let end = left + layout.block.0;
    scene.text(&figure.sides.left, (start - LABEL_GAP, above), LABEL_SIZE, Align::End, GRAY);
    if let Some([first, middle, last]) = &figure.sides.top {
        let half = layout.tile.0 / 2.0;
        for (text, x) in
            [(first, start + half), (middle, f64::midpoint(start, end)), (last, end - half)]
        {
            scene.text(text, (x, above), LABEL_SIZE, Align::Middle, GRAY);
        }
    }
    for (index, row) in block.rows.iter().enumerate() {
        let y = top + layout.head + index as f64 * (layout.tile.1 + GAP);
        let at = (start - LABEL_GAP, y + layout.tile.1 / 2.0 + 4.0);
        scene.text(&row.label, at, LABEL_SIZE, Align::End, BLACK);
        for (place, pixels) in row.images.iter().enumerate() {
            let x = start + place as f64 * (layout.tile.0 + GAP);
            scene.marks.push(Mark::Picture(Picture {
                from: (x, y),
                to: (x + layout.tile.0, y + layout.tile.1),
                columns: figure.size.width,
                rgb: interleaved(figure.size, &pixels.0),
            }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::figures::Figure;
    use crate::report::figures::chart::tests::assert_inside;

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
        let scene = draw(
            &figure(5, "a model with a name that is longer than its rows are wide"),
            &Typeface::embedded().unwrap(),
        );
        assert_inside(&scene);
        let pictures: Vec<&Picture> = scene
            .marks
            .iter()
            .filter_map(|mark| match mark {
                Mark::Picture(picture) => Some(picture),
                _ => None,
            })
            .collect();
        assert_eq!(pictures.len(), 5 * 3 * 5);
        assert!(pictures.iter().all(|p| p.to.0 <= scene.width && p.to.1 <= scene.height));
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
