//! Interpolations: what models decode on the way from one sample to another, strip by strip.
//!
//! One block for each model, one strip for each path. Where the samples themselves are known they
//! stand at both ends of a strip, a little apart, so that one sees what the model makes of them.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::data::Images;
use crate::report::figures::FigureError;
use crate::report::figures::drawing::typeface::Typeface;
use crate::report::figures::drawing::{Align, BLACK, Drawing, GRAY};
use crate::report::figures::factors::{PATH_FACTORS, by_path};
use crate::report::figures::image_grid::{
    Gaps, ImageGrid, Pixels, TileSize, block_summary, common_size, tile_on_page,
};
use crate::report::figures::kind::{
    FigureChecks, FigureFamily, FigureInputs, FigureKind, FinishedFigure,
};
use crate::report::figures::titles::panel_title;

/// A figure of interpolations as declared in a pipeline.
///
/// ```ron
/// Interpolation(caption: "From one digit to another", label: "Figure 2", columns: 2, strips: 5,
///               titles: {"pcae": "PCAE"})
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InterpolationSpec {
    /// The caption, as plain text.
    pub caption: String,
    /// The figure's name in the paper, such as `Figure 2`.
    pub label: String,
    /// Models side by side.
    #[serde(default = "two")]
    pub columns: NonZeroUsize,
    /// Paths shown per model, at most.
    #[serde(default = "five")]
    pub strips: NonZeroUsize,
    /// Display names of labels.
    #[serde(default)]
    pub titles: BTreeMap<String, String>,
}

const TWO: NonZeroUsize = NonZeroUsize::new(2).unwrap();
const FIVE: NonZeroUsize = NonZeroUsize::new(5).unwrap();

const fn two() -> NonZeroUsize {
    TWO
}

const fn five() -> NonZeroUsize {
    FIVE
}

impl InterpolationSpec {
    fn build(&self, size: TileSize, blocks: Vec<Block>) -> Interpolation {
        Interpolation {
            caption: self.caption.clone(),
            label: self.label.clone(),
            columns: self.columns.get(),
            size,
            blocks,
        }
    }
}

impl FigureKind for InterpolationSpec {
    type Finished = Interpolation;

    const SHOWS: &'static str = "an interpolation shows paths and the images at their ends";
    const INPUTS: &'static [&'static str] = &["paths", "images"];

    fn checks(&self) -> Option<FigureChecks<'_>> {
        Some(FigureChecks::labeled(FigureFamily::Paths, &self.titles))
    }

    /// Puts the paths of each model into strips, with the real images at their ends.
    fn finish(&self, inputs: &FigureInputs) -> Result<Interpolation, FigureError> {
        let ends = inputs.images.as_ref();
        let size = common_size(&inputs.paths, ends)?;
        let mut blocks = Vec::new();
        for (labels, images) in &inputs.paths {
            if images.annotations().factors.names != PATH_FACTORS {
                let expected = "`paths` takes images that `Interpolate` made".to_owned();
                return Err(FigureError::Inputs(expected));
            }
            let strips = by_path(images).into_iter().take(self.strips.get());
            let strips = strips.map(|rows| strip(images, &rows, ends)).collect::<Result<_, _>>()?;
            blocks.push(Block { title: panel_title(&self.titles, labels), strips });
        }
        Ok(self.build(size, blocks))
    }
}

/// Returns one path; its first two factors after `path` are the rows of the images at its ends.
fn strip(images: &Images, rows: &[usize], ends: Option<&Images>) -> Result<Strip, FigureError> {
    let ends = match (ends, rows.first()) {
        (Some(real), Some(&row)) => {
            let factors = images.annotations().factors.row(row);
            let [from, to] = [factors[1] as usize, factors[2] as usize];
            if from.max(to) >= real.len() {
                let found = "`images` is not the `data` that the paths were made from".to_owned();
                return Err(FigureError::Inputs(found));
            }
            Some([Pixels::of(real, from), Pixels::of(real, to)])
        }
        _ => None,
    };
    Ok(Strip { ends, steps: rows.iter().map(|&row| Pixels::of(images, row)).collect() })
}

/// One path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Strip {
    /// The two samples that it leads from and to, where they are known.
    pub ends: Option<[Pixels; 2]>,
    /// What is decoded on the way.
    pub steps: Vec<Pixels>,
}

/// The paths of one model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// What the model is called.
    pub title: String,
    /// Its paths.
    pub strips: Vec<Strip>,
}

/// A finished figure of interpolations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interpolation {
    /// What the figure shows.
    pub caption: String,
    /// What the figure is called in the paper.
    pub label: String,
    /// Models side by side.
    pub columns: usize,
    /// The size of every image.
    pub size: TileSize,
    /// The models.
    pub blocks: Vec<Block>,
}

impl Interpolation {
    fn has_ends(&self) -> bool {
        self.strips().any(|strip| strip.ends.is_some())
    }

    fn strips(&self) -> impl Iterator<Item = &Strip> {
        self.blocks.iter().flat_map(|block| &block.strips)
    }
}

/// Between images of a strip and between strips, and between blocks.
const GAPS: Gaps = Gaps { tile: 2.0, block: 22.0 };
/// Between a sample and what is decoded.
const END_GAP: f64 = 7.0;
const TITLE_SIZE: f64 = 12.0;
const TITLE_ROOM: f64 = 18.0;
const HEAD_SIZE: f64 = 9.0;
const HEAD_ROOM: f64 = 13.0;
/// Images are enlarged until they are at least this wide.
const LEAST_WIDTH: usize = 32;

impl FinishedFigure for Interpolation {
    /// Returns one line on each model.
    fn summaries(&self) -> Vec<String> {
        let line = |block: &Block| {
            block_summary(&block.title, "paths", block.strips.iter().map(|path| path.steps.len()))
        };
        self.blocks.iter().map(line).collect()
    }

    fn draw(&self, typeface: &Typeface) -> Drawing {
        let tile = tile_on_page(self.size, LEAST_WIDTH);
        let indent = if self.has_ends() { tile.0 + END_GAP } else { 0.0 };
        let is_titled = self.blocks.iter().any(|block| !block.title.is_empty());
        let title = if is_titled { TITLE_ROOM } else { 0.0 };
        let head = title + if self.has_ends() { HEAD_ROOM } else { 0.0 };
        let steps = self.strips().map(|strip| strip.steps.len()).max().unwrap_or_default();
        let strips = self.blocks.iter().map(|block| block.strips.len()).max().unwrap_or_default();
        let width = 2.0 * indent + steps as f64 * (tile.0 + GAPS.tile) - GAPS.tile;
        let height = head + strips as f64 * (tile.1 + GAPS.tile) - GAPS.tile;
        let counts = (self.blocks.len(), self.columns);
        let grid = ImageGrid::new((self.size, tile), (width, height), GAPS, counts);
        let mut drawing = grid.page();
        for (place, block) in self.blocks.iter().enumerate() {
            let (left, top) = grid.corner(place);
            let title = typeface.fitted(&block.title, TITLE_SIZE, width);
            drawing.text(&title, (left, top + TITLE_SIZE), TITLE_SIZE, Align::Start, BLACK);
            self.draw_strips(&mut drawing, &grid, block, (left, top + head), indent);
        }
        drawing
    }
}

impl Interpolation {
    /// Draws the strips of a block from its left edge and the upper edge of its first strip.
    fn draw_strips(
        &self,
        drawing: &mut Drawing,
        grid: &ImageGrid,
        block: &Block,
        (left, top): (f64, f64),
        indent: f64,
    ) {
        let right = left + grid.block.0 - grid.tile.0;
        for (row, strip) in block.strips.iter().enumerate() {
            if let Some([from, to]) = &strip.ends {
                grid.draw_tile(drawing, &from.0, grid.tile_at((left, top), row, 0));
                grid.draw_tile(drawing, &to.0, grid.tile_at((right, top), row, 0));
            }
            for (step, pixels) in strip.steps.iter().enumerate() {
                let at = grid.tile_at((left + indent, top), row, step);
                grid.draw_tile(drawing, &pixels.0, at);
            }
        }
        if self.has_ends() {
            let half = grid.tile.0 / 2.0;
            let middle = left + grid.block.0 / 2.0;
            let heads = [("real", left + half), ("decoded", middle), ("real", right + half)];
            for (text, x) in heads {
                let at = (x, top - HEAD_ROOM + HEAD_SIZE);
                drawing.text(text, at, HEAD_SIZE, Align::Middle, GRAY);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Annotations, Factors, ImageShape};
    use crate::report::Labels;
    use crate::report::figures::drawing::Bitmap;
    use crate::report::figures::image_grid::tests::bitmaps;

    fn spec(settings: &str) -> InterpolationSpec {
        ron::from_str(&format!(r#"(caption: "c", label: "l", {settings})"#)).unwrap()
    }

    fn strip(steps: usize, ends: bool) -> Strip {
        let pixels = |value| Pixels(vec![value; 16 * 16]);
        let ends = ends.then(|| [pixels(0), pixels(255)]);
        Strip { ends, steps: (0..steps).map(|step| pixels(step as u8)).collect() }
    }

    fn figure(ends: bool) -> Interpolation {
        let size = TileSize { channels: 1, height: 16, width: 16 };
        let block = |title: &str| Block {
            title: title.to_owned(),
            strips: vec![strip(4, ends), strip(4, ends)],
        };
        spec("").build(size, vec![block("PCAE"), block("HAE"), block("AE")])
    }

    #[test]
    fn a_block_is_titled_with_the_display_names_of_its_labels() {
        let labels = |pairs: &[(&str, &str)]| -> Labels {
            pairs.iter().map(|(axis, label)| ((*axis).into(), (*label).into())).collect()
        };
        let titles = spec(r#"titles: {"pcae": "PCAE"}"#).titles;
        let title = |pairs: &[(&str, &str)]| panel_title(&titles, &labels(pairs));
        assert_eq!(title(&[("model", "pcae"), ("seed", "3")]), "PCAE, 3");
        assert_eq!(title(&[]), "");
    }

    #[test]
    fn real_images_stand_at_both_ends_of_every_strip_if_they_are_known() {
        let typeface = Typeface::embedded().unwrap();
        let with = figure(true).draw(&typeface);
        assert_eq!(bitmaps(&with).len(), 3 * 2 * (4 + 2));
        let first: Vec<f64> = bitmaps(&with)[..6].iter().map(|found| found.from.0).collect();
        assert!(
            first[0] < first[2] && first[5] < first[1],
            "left, right, then the steps: {first:?}"
        );
        assert!(first[2] - first[0] > 32.0 + GAPS.tile, "a little apart");
        let without = figure(false).draw(&typeface);
        assert_eq!(bitmaps(&without).len(), 3 * 2 * 4);
        assert!(without.width < with.width);
    }

    #[test]
    fn blocks_lie_side_by_side_and_none_reaches_over_the_edge() {
        let drawing = figure(true).draw(&Typeface::embedded().unwrap());
        let (width, height) =
            (6.0 * 32.0 + 3.0 * GAPS.tile + 2.0 * END_GAP, 2.0 * 32.0 + GAPS.tile);
        let wide = 24.0 + 2.0 * width + GAPS.block;
        let high = 24.0 + 2.0 * (height + TITLE_ROOM + HEAD_ROOM) + GAPS.block;
        assert!((drawing.width - wide).abs() < 1.0 && (drawing.height - high).abs() < 1.0);
        let inside = |found: &&Bitmap| {
            found.to.0 <= drawing.width - 12.0 + 1e-9 && found.to.1 <= drawing.height - 12.0 + 1e-9
        };
        assert!(bitmaps(&drawing).iter().all(inside));
    }

    #[test]
    fn a_figure_is_read_back_from_json() {
        let text = serde_json::to_string(&figure(true)).unwrap();
        assert_eq!(serde_json::from_str::<Interpolation>(&text).unwrap(), figure(true));
        assert_eq!(figure(true).summaries()[0], "PCAE: 2 paths of 4 images");
    }

    fn interpolated(rows: &[[f32; 4]]) -> Images {
        let shape = ImageShape { channels: 1, height: 1, width: 1 };
        let names = PATH_FACTORS.map(str::to_owned).into();
        let factors = Factors { names, values: rows.iter().flatten().copied().collect() };
        let pixels = (0..rows.len()).map(|row| row as u8).collect();
        Images::new(shape, pixels, Annotations { factors, classes: None }).unwrap()
    }

    #[test]
    fn each_path_is_a_strip_between_the_images_that_it_leads_from_and_to() {
        let rows = [[0.0, 2.0, 0.0, 0.0], [0.0, 2.0, 0.0, 1.0], [1.0, 1.0, 2.0, 0.0]];
        let labels: Labels = [("model".to_owned(), "pcae".to_owned())].into();
        let real = Images::new(
            ImageShape { channels: 1, height: 1, width: 1 },
            vec![70, 80, 90],
            Annotations::default(),
        );
        let real = real.unwrap();
        let finish = |paths: Images, images: Option<Images>| {
            let paths = vec![(labels.clone(), paths)];
            spec("").finish(&FigureInputs { images, paths, ..FigureInputs::default() })
        };
        let found = finish(interpolated(&rows), Some(real.clone())).unwrap();
        let shown = &found.blocks[0].strips;
        assert_eq!((found.blocks[0].title.as_str(), shown.len()), ("pcae", 2));
        assert_eq!(shown[0].steps, [Pixels(vec![0]), Pixels(vec![1])]);
        assert_eq!(shown[0].ends, Some([Pixels(vec![90]), Pixels(vec![70])]));
        assert_eq!(shown[1].ends, Some([Pixels(vec![80]), Pixels(vec![90])]));
        let refused =
            |paths: Images, images: Option<Images>| finish(paths, images).unwrap_err().to_string();
        assert_eq!(
            refused(interpolated(&rows), Some(interpolated(&rows[..1]))),
            "`images` is not the `data` that the paths were made from"
        );
        assert_eq!(refused(real, None), "`paths` takes images that `Interpolate` made");
    }
}
