//! Changes the size of images in channel, row, column order: center crop, zero padding, resampling.
//!
//! Reference: Pillow's `Image.resize`, whose filters widen with the reduction (antialiasing), as do
//! those of fast_image_resize, which does the work here.
//! Assumptions: shapes belong to their pixels and share the number of channels. A remainder that
//! does not halve evenly is cut off, or added, at the bottom and on the right.
//! Checked against: tests/reference/resize.json (Pillow): equal within one gray level.

use std::array;
use std::cell::RefCell;

use fast_image_resize::images::{TypedImage, TypedImageRef};
use fast_image_resize::pixels::U8;
use fast_image_resize::{FilterType, ResizeAlg, ResizeOptions, Resizer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DataError, ImageShape};

/// How pixels are combined when an image is resized.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Filter {
    /// Takes the pixel whose center is nearest, without averaging.
    Nearest,
    /// Averages the area that a pixel covers.
    Box,
    /// Weights pixels linearly, over as many as the reduction covers.
    Bilinear,
    /// A windowed sinc of three lobes: the sharpest.
    #[default]
    Lanczos,
}

impl Filter {
    const fn algorithm(self) -> ResizeAlg {
        match self {
            Self::Nearest => ResizeAlg::Nearest,
            Self::Box => ResizeAlg::Convolution(FilterType::Box),
            Self::Bilinear => ResizeAlg::Convolution(FilterType::Bilinear),
            Self::Lanczos => ResizeAlg::Convolution(FilterType::Lanczos3),
        }
    }
}

/// Cuts the middle out of an image; `to` is no larger than `from`.
pub(super) fn crop(from: ImageShape, pixels: &[u8], to: ImageShape, cropped: &mut [u8]) {
    center(from, pixels, to, cropped);
}

/// Puts an image into the middle of a black one; `to` is no smaller than `from`.
pub(super) fn pad(from: ImageShape, pixels: &[u8], to: ImageShape, padded: &mut [u8]) {
    padded.fill(0);
    center(from, pixels, to, padded);
}

/// Scales an image to another height and width.
pub(super) fn resize(
    from: ImageShape,
    pixels: &[u8],
    to: ImageShape,
    resized: &mut [u8],
    filter: Filter,
) -> Result<(), DataError> {
    thread_local! {
        static WORKSHOP: RefCell<Workshop> = RefCell::new(Workshop::default());
    }
    let fits = pixels.len() == from.pixels()
        && resized.len() == to.pixels()
        && from.channels == to.channels;
    let done = fits.then(|| {
        WORKSHOP.with_borrow_mut(|workshop| workshop.scale(from, pixels, to, resized, filter))
    });
    done.flatten()
        .ok_or_else(|| DataError::Unfit(format!("an image of {from} can't be scaled to {to}")))
}

/// What a thread keeps from one image to the next.
#[derive(Default)]
struct Workshop {
    resizer: Resizer,
    turned: Vec<u8>,
    narrow: Vec<u8>,
    upright: Vec<u8>,
    beside: Vec<u8>,
    short: Vec<u8>,
}

impl Workshop {
    /// Scales rows, then columns. Lanczos overshoots and is cut off after each, so the order shows:
    /// it is Pillow's. Columns are scaled several times faster than rows, so images are turned on
    /// their side for the first half; all channels lie beside each other, so that weights are
    /// computed once. `None` if a size is beyond what the resizer takes.
    fn scale(
        &mut self,
        from: ImageShape,
        pixels: &[u8],
        to: ImageShape,
        resized: &mut [u8],
        filter: Filter,
    ) -> Option<()> {
        let options = ResizeOptions::new().resize_alg(filter.algorithm());
        let Self { resizer, turned, narrow, upright, beside, short } = self;
        let (channels, height, width) = (from.channels, from.height, to.width);
        let lines = channels * height;
        turned.resize(lines * from.width, 0);
        narrow.resize(lines * width, 0);
        upright.resize(lines * width, 0);
        beside.resize(lines * width, 0);
        short.resize(to.pixels(), 0);

        transpose(pixels, from.width, turned);
        scale_columns(resizer, &options, lines, (from.width, turned), (width, narrow))?;
        transpose(narrow, lines, upright);
        let row = |line: usize, channel: usize, height: usize| {
            let start = (channel * height + line) * width;
            start..start + width
        };
        let order = |height| (0..height).flat_map(|line| (0..channels).map(move |c| (line, c)));
        for ((line, channel), row_beside) in
            order(height).zip(beside.chunks_exact_mut(width.max(1)))
        {
            row_beside.copy_from_slice(&upright[row(line, channel, height)]);
        }
        let wide = channels * width;
        scale_columns(resizer, &options, wide, (height, beside), (to.height, short))?;
        for ((line, channel), row_beside) in order(to.height).zip(short.chunks_exact(width.max(1)))
        {
            resized[row(line, channel, to.height)].copy_from_slice(row_beside);
        }
        Some(())
    }
}

/// Makes columns of rows of the given width.
fn transpose(pixels: &[u8], width: usize, turned: &mut [u8]) {
    /// Rows that are turned at a time: several times faster than one.
    const STRIP: usize = 8;
    let width = width.max(1);
    let height = pixels.len() / width;
    for (strip, rows) in pixels.chunks(STRIP * width).enumerate() {
        let places = turned.chunks_exact_mut(height).map(|line| &mut line[strip * STRIP..]);
        if rows.len() == STRIP * width {
            let rows: [&[u8]; STRIP] = array::from_fn(|row| &rows[row * width..][..width]);
            for (column, place) in places.enumerate() {
                let moved: [u8; STRIP] = array::from_fn(|row| rows[row][column]);
                place[..STRIP].copy_from_slice(&moved);
            }
        } else {
            for (column, place) in places.enumerate() {
                for (pixel, row) in place.iter_mut().zip(rows.chunks_exact(width)) {
                    *pixel = row[column];
                }
            }
        }
    }
}

/// Scales columns of pixels from one height to another.
fn scale_columns(
    resizer: &mut Resizer,
    options: &ResizeOptions,
    width: usize,
    (height, pixels): (usize, &[u8]),
    (new_height, scaled): (usize, &mut [u8]),
) -> Option<()> {
    let side = |length: usize| u32::try_from(length).ok();
    let (width, height, new_height) = (side(width)?, side(height)?, side(new_height)?);
    let plane = TypedImageRef::<U8>::from_buffer(width, height, pixels).ok()?;
    let mut scaled = TypedImage::<U8>::from_buffer(width, new_height, scaled).ok()?;
    resizer.resize_typed(&plane, &mut scaled, options).ok()
}

/// Copies the part that both images share when one lies on the middle of the other.
fn center(from: ImageShape, pixels: &[u8], to: ImageShape, target: &mut [u8]) {
    let skipped = |long: usize, short: usize| long.saturating_sub(short) / 2;
    let (height, width) = (from.height.min(to.height), from.width.min(to.width));
    let (first_row, first_column) =
        (skipped(from.height, to.height), skipped(from.width, to.width));
    let (target_row, target_column) =
        (skipped(to.height, from.height), skipped(to.width, from.width));
    for (plane, target) in planes(from, pixels, to, target) {
        let rows = plane.chunks_exact(from.width.max(1)).skip(first_row).take(height);
        let target_rows = target.chunks_exact_mut(to.width.max(1)).skip(target_row);
        for (row, target) in rows.zip(target_rows) {
            target[target_column..target_column + width]
                .copy_from_slice(&row[first_column..first_column + width]);
        }
    }
}

/// Pairs the channels of two images.
fn planes<'a>(
    from: ImageShape,
    pixels: &'a [u8],
    to: ImageShape,
    target: &'a mut [u8],
) -> impl Iterator<Item = (&'a [u8], &'a mut [u8])> {
    let plane = |shape: ImageShape| (shape.height * shape.width).max(1);
    pixels.chunks_exact(plane(from)).zip(target.chunks_exact_mut(plane(to)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const fn shape(channels: usize, height: usize, width: usize) -> ImageShape {
        ImageShape { channels, height, width }
    }

    fn resized(from: ImageShape, pixels: &[u8], to: ImageShape, filter: Filter) -> Vec<u8> {
        let mut resized = vec![0; to.pixels()];
        resize(from, pixels, to, &mut resized, filter).unwrap();
        resized
    }

    #[test]
    fn a_crop_keeps_the_middle_of_every_channel() {
        let pixels: Vec<u8> = (0..24).collect();
        let mut cropped = [0; 4];
        crop(shape(2, 3, 4), &pixels, shape(2, 1, 2), &mut cropped);
        assert_eq!(cropped, [5, 6, 17, 18]);
    }

    #[test]
    fn an_odd_remainder_is_cut_off_and_added_at_the_bottom_and_on_the_right() {
        let mut cropped = [0; 1];
        crop(shape(1, 2, 2), &[1, 2, 3, 4], shape(1, 1, 1), &mut cropped);
        assert_eq!(cropped, [1]);
        let mut padded = [9; 9];
        pad(shape(1, 2, 2), &[1, 2, 3, 4], shape(1, 3, 3), &mut padded);
        assert_eq!(padded, [1, 2, 0, 3, 4, 0, 0, 0, 0]);
    }

    #[test]
    fn a_digit_gets_two_black_pixels_on_each_side() {
        let mut padded = vec![7; 32 * 32];
        pad(shape(1, 28, 28), &[255; 28 * 28], shape(1, 32, 32), &mut padded);
        let lit = |row: usize, column: usize| padded[row * 32 + column] == 255;
        assert!(lit(2, 2) && lit(29, 29) && !lit(1, 2) && !lit(2, 30) && !lit(30, 30));
        let sum: usize = padded.iter().map(|&pixel| usize::from(pixel)).sum();
        assert_eq!(sum, 28 * 28 * 255, "everything else is black");
    }

    #[test]
    fn a_box_averages_and_nearest_picks_and_a_flat_image_stays_flat() {
        let pixels = [0, 100, 50, 50, 20, 40, 50, 50];
        assert_eq!(resized(shape(1, 2, 4), &pixels, shape(1, 1, 2), Filter::Box), [40, 50]);
        let picked = resized(shape(1, 2, 4), &pixels, shape(1, 2, 2), Filter::Nearest);
        assert_eq!(picked, [100, 50, 40, 50]);
        for filter in [Filter::Nearest, Filter::Box, Filter::Bilinear, Filter::Lanczos] {
            let flat = resized(shape(3, 7, 5), &[77; 105], shape(3, 4, 9), filter);
            assert!(flat.iter().all(|&pixel| pixel == 77), "{filter:?}: {flat:?}");
        }
    }

    #[test]
    fn rows_become_columns_whatever_their_number() {
        for height in [1, 7, 8, 19] {
            let pixels: Vec<u8> = (0..height * 3).collect();
            let mut turned = vec![0; pixels.len()];
            transpose(&pixels, 3, &mut turned);
            let expected: Vec<u8> =
                (0..3).flat_map(|column| (0..height).map(move |row| row * 3 + column)).collect();
            assert_eq!(turned, expected);
        }
    }

    #[test]
    fn channels_are_scaled_apart_from_each_other() {
        let pixels: Vec<u8> = (0..60).map(|pixel| pixel * 4).collect();
        let (from, to) = (shape(1, 4, 5), shape(1, 3, 2));
        let apart: Vec<u8> =
            pixels.chunks(20).flat_map(|plane| resized(from, plane, to, Filter::Lanczos)).collect();
        let three = |shape| ImageShape { channels: 3, ..shape };
        assert_eq!(resized(three(from), &pixels, three(to), Filter::Lanczos), apart);
    }

    #[test]
    fn pixels_that_do_not_fill_their_shape_are_refused() {
        let error = resize(shape(1, 2, 2), &[1; 3], shape(1, 1, 1), &mut [0; 1], Filter::Box);
        assert_eq!(
            error.unwrap_err().to_string(),
            "an image of 1 x 2 x 2 can't be scaled to 1 x 1 x 1"
        );
    }

    /// One image of Pillow's, made smaller and larger.
    #[derive(Deserialize)]
    struct Reference {
        height: usize,
        width: usize,
        pixels: Vec<u8>,
        cases: Vec<Case>,
    }

    #[derive(Deserialize)]
    struct Case {
        filter: Filter,
        height: usize,
        width: usize,
        pixels: Vec<u8>,
    }

    #[test]
    fn resized_images_are_those_of_pillow_within_one_gray_level() {
        let text = include_str!("../../tests/reference/resize.json");
        let reference: Reference = serde_json::from_str(text).unwrap();
        let mut seen = BTreeMap::new();
        for case in &reference.cases {
            let to = shape(1, case.height, case.width);
            let from = shape(1, reference.height, reference.width);
            let ours = resized(from, &reference.pixels, to, case.filter);
            assert_eq!(ours.len(), case.pixels.len());
            let off = ours.iter().zip(&case.pixels).map(|(a, b)| a.abs_diff(*b)).max().unwrap();
            let worst = seen.entry(format!("{:?}", case.filter)).or_insert(0);
            *worst = off.max(*worst);
        }
        assert_eq!(seen.len(), 4);
        assert_eq!(seen["Nearest"], 0, "{seen:?}");
        assert!(seen.values().all(|&off| off <= 1), "{seen:?}");
    }
}
