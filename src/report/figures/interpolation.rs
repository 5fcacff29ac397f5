//! Interpolations: what models decode on the way from one sample to another, strip by strip.
//!
//! One block for each model, one strip for each path. Where the samples themselves are known they
//! stand at both ends of a strip, a little apart, so that one sees what the model makes of them.
//! Pixels are shown as they are, enlarged by a whole number.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};

use crate::report::Labels;
use crate::report::figures::contact_sheet::{TileSize, from_base64, interleaved, to_base64};
use crate::report::figures::panel_title::panel_title;
use crate::report::figures::scene::{Align, BLACK, GRAY, Mark, Picture, Scene};
use crate::report::figures::typeface::Typeface;

/// A figure of interpolations as declared in a pipeline file.
///
/// ```ron
/// Interpolation(caption: "From one digit to another", label: "Figure 2", columns: 2, strips: 5,
///               titles: {"pcae": "PCAE"})
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InterpolationSpec {
    /// What the figure shows, as plain text.
    pub caption: String,
    /// What the figure is called in the paper, such as `Figure 2`.
    pub label: String,
    /// Models side by side.
    #[serde(default = "two")]
    pub columns: NonZeroUsize,
    /// Paths shown of each model, if there are so many.
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
    /// Returns the title of a block: the labels of its model, by their display names.
    pub fn title(&self, labels: &Labels) -> String {
        panel_title(&self.titles, labels)
    }

    /// Puts blocks together.
    pub fn build(&self, size: TileSize, blocks: Vec<Block>) -> Interpolation {
        Interpolation {
            caption: self.caption.clone(),
            label: self.label.clone(),
            columns: self.columns.get(),
            size,
            blocks,
        }
    }
}

/// The pixels of an image, channel by channel; Base64 in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pixels(
    #[serde(serialize_with = "to_base64", deserialize_with = "from_base64")] pub Vec<u8>,
);

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
    /// Returns one line on each model.
    pub fn summaries(&self) -> Vec<String> {
        let steps = |block: &Block| block.strips.iter().map(|strip| strip.steps.len()).max();
        let line = |block: &Block| {
            let (paths, images) = (block.strips.len(), steps(block).unwrap_or_default());
            format!("{}: {paths} paths of {images} images", block.title)
        };
        self.blocks.iter().map(line).collect()
    }

    fn has_ends(&self) -> bool {
        self.strips().any(|strip| strip.ends.is_some())
    }

    fn strips(&self) -> impl Iterator<Item = &Strip> {
        self.blocks.iter().flat_map(|block| &block.strips)
    }
}

const MARGIN: f64 = 12.0;
/// Between images of a strip, and between strips.
const GAP: f64 = 2.0;
/// Between a sample and what is decoded.
const END_GAP: f64 = 7.0;
/// Between blocks.
const BLOCK_GAP: f64 = 22.0;
const TITLE_SIZE: f64 = 12.0;
const TITLE_ROOM: f64 = 18.0;
const HEAD_SIZE: f64 = 9.0;
const HEAD_ROOM: f64 = 13.0;
/// Images are enlarged until they are at least this wide.
const WIDE_ENOUGH: usize = 32;

/// Where things are in a block.
struct Frame {
    tile: (f64, f64),
    /// From a block's left edge to its first decoded image.
    indent: f64,
    /// From a block's upper edge to its first strip.
    head: f64,
    block: (f64, f64),
}

impl Frame {
    fn of(figure: &Interpolation) -> Self {
        let enlarged = WIDE_ENOUGH.div_ceil(figure.size.width.max(1));
        let tile = ((figure.size.width * enlarged) as f64, (figure.size.height * enlarged) as f64);
        let steps = figure.strips().map(|strip| strip.steps.len()).max().unwrap_or_default();
        let strips = figure.blocks.iter().map(|block| block.strips.len()).max();
        let indent = if figure.has_ends() { tile.0 + END_GAP } else { 0.0 };
        let is_titled = figure.blocks.iter().any(|block| !block.title.is_empty());
        let title = if is_titled { TITLE_ROOM } else { 0.0 };
        let head = title + if figure.has_ends() { HEAD_ROOM } else { 0.0 };
        let width = 2.0 * indent + steps as f64 * (tile.0 + GAP) - GAP;
        let height = head + strips.unwrap_or_default() as f64 * (tile.1 + GAP) - GAP;
        Self { tile, indent, head, block: (width, height) }
    }
}

/// Lays the blocks out in rows.
pub(super) fn draw(figure: &Interpolation, typeface: &Typeface) -> Scene {
    let frame = Frame::of(figure);
    let columns = figure.columns.min(figure.blocks.len()).max(1);
    let rows = figure.blocks.len().div_ceil(columns);
    let step = (frame.block.0 + BLOCK_GAP, frame.block.1 + BLOCK_GAP);
    let mut scene = Scene {
        width: (2.0 * MARGIN + columns as f64 * step.0 - BLOCK_GAP).ceil(),
        height: (2.0 * MARGIN + rows as f64 * step.1 - BLOCK_GAP).ceil(),
        marks: Vec::new(),
    };
    for (place, block) in figure.blocks.iter().enumerate() {
        let left = MARGIN + (place % columns) as f64 * step.0;
        let top = MARGIN + (place / columns) as f64 * step.1;
        let title = typeface.fitted(&block.title, TITLE_SIZE, frame.block.0);
        scene.text(&title, (left, top + TITLE_SIZE), TITLE_SIZE, Align::Start, BLACK);
        draw_block(&mut scene, figure, block, &frame, (left, top));
    }
    scene
}

fn draw_block(
    scene: &mut Scene,
    figure: &Interpolation,
    block: &Block,
    frame: &Frame,
    (left, top): (f64, f64),
) {
    let mut put = |pixels: &Pixels, x: f64, y: f64| {
        scene.marks.push(Mark::Picture(Picture {
            from: (x, y),
            to: (x + frame.tile.0, y + frame.tile.1),
            columns: figure.size.width,
            rgb: interleaved(figure.size, &pixels.0),
        }));
    };
    let right = left + frame.block.0 - frame.tile.0;
    for (row, strip) in block.strips.iter().enumerate() {
        let y = top + frame.head + row as f64 * (frame.tile.1 + GAP);
        if let Some([from, to]) = &strip.ends {
            put(from, left, y);
            put(to, right, y);
        }
        for (step, pixels) in strip.steps.iter().enumerate() {
            put(pixels, left + frame.indent + step as f64 * (frame.tile.0 + GAP), y);
        }
    }
    if figure.has_ends() {
        let half = frame.tile.0 / 2.0;
        let middle = left + frame.block.0 / 2.0;
        let heads = [("real", left + half), ("decoded", middle), ("real", right + half)];
        for (text, x) in heads {
            let at = (x, top + frame.head - HEAD_ROOM + HEAD_SIZE);
            scene.text(text, at, HEAD_SIZE, Align::Middle, GRAY);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    fn pictures(scene: &Scene) -> Vec<&Picture> {
        let marks = scene.marks.iter();
        marks
            .filter_map(|mark| match mark {
                Mark::Picture(found) => Some(found),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn a_block_is_titled_with_the_display_names_of_its_labels() {
        let labels = |pairs: &[(&str, &str)]| -> Labels {
            pairs.iter().map(|(axis, label)| ((*axis).into(), (*label).into())).collect()
        };
        let spec = spec(r#"titles: {"pcae": "PCAE"}"#);
        assert_eq!(spec.title(&labels(&[("model", "pcae"), ("seed", "3")])), "PCAE, 3");
        assert_eq!(spec.title(&labels(&[])), "");
    }

    #[test]
    fn real_images_stand_at_both_ends_of_every_strip_if_they_are_known() {
        let typeface = Typeface::embedded().unwrap();
        let with = draw(&figure(true), &typeface);
        assert_eq!(pictures(&with).len(), 3 * 2 * (4 + 2));
        let first: Vec<f64> = pictures(&with)[..6].iter().map(|found| found.from.0).collect();
        assert!(
            first[0] < first[2] && first[5] < first[1],
            "left, right, then the steps: {first:?}"
        );
        assert!(first[2] - first[0] > 32.0 + GAP, "a little apart");
        let without = draw(&figure(false), &typeface);
        assert_eq!(pictures(&without).len(), 3 * 2 * 4);
        assert!(without.width < with.width);
    }

    #[test]
    fn blocks_lie_side_by_side_and_none_reaches_over_the_edge() {
        let scene = draw(&figure(true), &Typeface::embedded().unwrap());
        let (width, height) = (6.0 * 32.0 + 3.0 * GAP + 2.0 * END_GAP, 2.0 * 32.0 + GAP);
        let wide = 2.0 * MARGIN + 2.0 * width + BLOCK_GAP;
        let high = 2.0 * MARGIN + 2.0 * (height + TITLE_ROOM + HEAD_ROOM) + BLOCK_GAP;
        assert!((scene.width - wide).abs() < 1.0 && (scene.height - high).abs() < 1.0);
        let inside = |found: &&Picture| {
            found.to.0 <= scene.width - MARGIN + 1e-9 && found.to.1 <= scene.height - MARGIN + 1e-9
        };
        assert!(pictures(&scene).iter().all(inside));
    }

    #[test]
    fn a_figure_is_read_back_from_json() {
        let text = serde_json::to_string(&figure(true)).unwrap();
        assert_eq!(serde_json::from_str::<Interpolation>(&text).unwrap(), figure(true));
        assert_eq!(figure(true).summaries()[0], "PCAE: 2 paths of 4 images");
    }
}
