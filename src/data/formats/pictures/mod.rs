//! Pictures in files: PNG, JPEG, PGM and PPM, told apart by their first bytes.
//!
//! A picture is opened first, which reads its header only and bounds its size, so that a small file
//! can't ask for much memory; then its samples are read, all of them or none.
//! Alpha: pictures are put onto black. 16-bit samples and other ranges are scaled to 0 to 255.
//! Left alone, as in Pillow: color profiles, gamma, and the orientation that a camera noted.
//! What follows a PNG or a JPEG is of no interest; after a PGM or PPM it is a sign of damage.

mod budget;
mod jpeg;
mod png;
mod pnm;
mod set;

use std::array;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(in crate::data) use self::set::{DecodeOptions, Framing, PictureSet, Pictures};
use crate::data::DataError;

/// Extensions of pictures, in lower case.
pub(in crate::data) const EXTENSIONS: [&str; 6] = ["png", "jpg", "jpeg", "pgm", "ppm", "pnm"];

/// No picture is higher or wider than this.
const MOST_SIDE: usize = 16_384;

/// No picture has more pixels than this.
const MOST_PIXELS: usize = 64 << 20;

/// Most bytes for each pixel while a picture is decoded: four samples of two bytes, or what a
/// progressive JPEG collects, and two copies in color.
const WORKING_BYTES: u64 = 16;

/// The color channels of pictures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ColorMode {
    /// One channel; colors become their luma (ITU-R 601: 0.299 red, 0.587 green, 0.114 blue).
    Gray,
    /// Red, green and blue; gray is repeated.
    #[default]
    Rgb,
}

impl ColorMode {
    /// Returns the number of channels.
    pub const fn channels(self) -> usize {
        match self {
            Self::Gray => 1,
            Self::Rgb => 3,
        }
    }
}

/// What is wrong with a picture, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::data) struct PictureError {
    place: String,
    reason: String,
}

impl PictureError {
    fn new(place: impl ToString, reason: impl ToString) -> Self {
        // Words of decoders become one line of our own style.
        let reason = reason.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
        Self { place: place.to_string(), reason }
    }

    /// Names the file.
    pub(in crate::data) fn of(self, file: &str) -> DataError {
        DataError::malformed(file, self.place, self.reason)
    }
}

/// Height and width in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::data) struct Size {
    pub(in crate::data) height: usize,
    pub(in crate::data) width: usize,
}

impl Size {
    /// Accepts sizes that are worth decoding.
    fn bounded(height: usize, width: usize) -> Result<Self, PictureError> {
        if height == 0 || width == 0 {
            return Err(PictureError::new(
                "header",
                "expected a picture, found one without pixels",
            ));
        }
        if height.max(width) > MOST_SIDE || height.saturating_mul(width) > MOST_PIXELS {
            let reason = format!(
                "expected at most {MOST_SIDE} pixels per side and {} million in all, \
                 found {height} x {width}",
                MOST_PIXELS >> 20
            );
            return Err(PictureError::new("header", reason));
        }
        Ok(Self { height, width })
    }

    const fn pixels(self) -> usize {
        self.height * self.width
    }

    /// Returns the most memory that decoding takes, beside the file itself.
    const fn working_bytes(self) -> u64 {
        self.pixels() as u64 * WORKING_BYTES
    }
}

/// A picture whose header has been read.
pub(in crate::data) struct Picture<'a> {
    size: Size,
    format: Format<'a>,
}

enum Format<'a> {
    Jpeg(Box<jpeg::Jpeg>),
    Png(Box<png::Png<'a>>),
    Pnm(pnm::Pnm<'a>),
}

impl<'a> Picture<'a> {
    /// Reads the header.
    pub(in crate::data) fn open(bytes: &'a [u8]) -> Result<Self, PictureError> {
        let (size, format) = match bytes {
            [0xff, 0xd8, 0xff, ..] => {
                let (size, jpeg) = jpeg::Jpeg::open(bytes)?;
                (size, Format::Jpeg(Box::new(jpeg)))
            }
            [0x89, b'P', b'N', b'G', ..] => {
                let (size, png) = png::Png::open(bytes)?;
                (size, Format::Png(Box::new(png)))
            }
            [b'P', b'2' | b'3' | b'5' | b'6', ..] => {
                let (size, pnm) = pnm::Pnm::open(bytes)?;
                (size, Format::Pnm(pnm))
            }
            _ => {
                let start = bytes.get(..4).unwrap_or(bytes).escape_ascii();
                let reason = format!("expected a PNG, JPEG, PGM or PPM picture, found `{start}`");
                return Err(PictureError::new("byte 0", reason));
            }
        };
        Ok(Self { size, format })
    }

    /// Returns height and width.
    pub(in crate::data) const fn size(&self) -> Size {
        self.size
    }

    /// Decodes the picture into channel, row, column order. `samples` is room to work in.
    /// Nothing is written to `pixels` unless all of the picture is sound.
    pub(in crate::data) fn read(
        self,
        mode: ColorMode,
        samples: &mut Vec<u8>,
        pixels: &mut [u8],
    ) -> Result<(), PictureError> {
        let stored = match self.format {
            Format::Jpeg(jpeg) => jpeg.read(samples)?,
            Format::Png(png) => png.read(samples)?,
            Format::Pnm(pnm) => pnm.read(samples)?,
        };
        let area = self.size.pixels();
        if samples.len() != area * stored.channels() || pixels.len() != area * mode.channels() {
            return Err(PictureError::new("pixels", "their number does not fit the header"));
        }
        separate(stored, samples, mode, pixels);
        Ok(())
    }
}

/// Turns pixels of adjacent samples into one plane for each channel.
fn separate(stored: ColorMode, samples: &[u8], mode: ColorMode, pixels: &mut [u8]) {
    match (stored, mode) {
        (ColorMode::Gray, ColorMode::Gray) => pixels.copy_from_slice(samples),
        (ColorMode::Gray, ColorMode::Rgb) => {
            pixels.chunks_exact_mut(samples.len()).for_each(|plane| plane.copy_from_slice(samples));
        }
        (ColorMode::Rgb, ColorMode::Gray) => {
            let (colors, _) = samples.as_chunks::<3>();
            for (pixel, &color) in pixels.iter_mut().zip(colors) {
                *pixel = luma(color);
            }
        }
        (ColorMode::Rgb, ColorMode::Rgb) => {
            let planes = pixels.chunks_exact_mut((samples.len() / 3).max(1));
            planes.enumerate().for_each(|(channel, plane)| take_channel(samples, channel, plane));
        }
    }
}

/// Takes every third sample; eight at a time, which is several times faster than one.
fn take_channel(samples: &[u8], channel: usize, plane: &mut [u8]) {
    let (colors, _) = samples.get(channel..).unwrap_or_default().as_chunks::<24>();
    let (eights, _) = plane.as_chunks_mut::<8>();
    let done = 8 * colors.len().min(eights.len());
    for (eight, colors) in eights.iter_mut().zip(colors) {
        *eight = array::from_fn(|index| colors[3 * index]);
    }
    for (sample, color) in plane[done..].iter_mut().zip(samples[3 * done..].chunks_exact(3)) {
        *sample = color[channel];
    }
}

/// Weighs colors in fixed point, rounding to the nearest, as Pillow does.
fn luma([red, green, blue]: [u8; 3]) -> u8 {
    let weighed = 19_595 * u32::from(red) + 38_470 * u32::from(green) + 7_471 * u32::from(blue);
    ((weighed + 0x8000) >> 16) as u8
}

/// Scales a sample of another range to a byte, rounding to the nearest.
fn to_byte(sample: u32, most: u32) -> u8 {
    ((sample * 255 + most / 2) / most.max(1)) as u8
}

/// Returns what follows the last dot, in lower case.
pub(in crate::data) fn extension(name: &str) -> String {
    name.rsplit_once('.').map(|(_, end)| end.to_ascii_lowercase()).unwrap_or_default()
}

/// Tells pictures from other files by name alone.
pub(in crate::data) fn is_picture(name: &str) -> bool {
    let hidden = name.split('/').any(|part| part.starts_with('.') || part == "__MACOSX");
    !hidden && EXTENSIONS.contains(&extension(name).as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Opens and reads a picture.
    pub(super) fn decode(bytes: &[u8], mode: ColorMode) -> Result<(Size, Vec<u8>), PictureError> {
        let picture = Picture::open(bytes)?;
        let size = picture.size();
        let mut pixels = vec![0; size.pixels() * mode.channels()];
        picture.read(mode, &mut vec![9; 3], &mut pixels)?;
        Ok((size, pixels))
    }

    /// Returns what is said of a picture that can't be decoded.
    pub(super) fn complaint(bytes: &[u8]) -> String {
        decode(bytes, ColorMode::Rgb).unwrap_err().of("x").to_string()
    }

    #[test]
    fn a_text_with_the_name_of_a_picture_is_refused() {
        assert_eq!(
            complaint(b"hello, world"),
            "x: byte 0: expected a PNG, JPEG, PGM or PPM picture, found `hell`"
        );
        assert_eq!(complaint(b""), "x: byte 0: expected a PNG, JPEG, PGM or PPM picture, found ``");
    }

    #[test]
    fn colors_become_planes_and_gray_is_repeated() {
        let two = b"P6 2 1 255 \x01\x02\x03\x04\x05\x06";
        assert_eq!(decode(two, ColorMode::Rgb).unwrap().1, [1, 4, 2, 5, 3, 6]);
        let mut many = b"P6 4 4 255 ".to_vec();
        many.extend(0..48);
        let planes: Vec<u8> =
            (0..3).flat_map(|c| (0..16).map(move |pixel| 3 * pixel + c)).collect();
        assert_eq!(decode(&many, ColorMode::Rgb).unwrap().1, planes);
        let gray = b"P5 2 1 255 \x07\x08";
        assert_eq!(decode(gray, ColorMode::Rgb).unwrap().1, [7, 8, 7, 8, 7, 8]);
    }

    #[test]
    fn the_luma_of_colors_is_that_of_pillow() {
        // Image.new("RGB", (1, 1), color).convert("L"), by Pillow 13.0.0.
        for (color, gray) in [
            ([255, 255, 255], 255),
            ([255, 0, 0], 76),
            ([0, 255, 0], 150),
            ([0, 0, 255], 29),
            ([10, 200, 90], 131),
        ] {
            assert_eq!(luma(color), gray);
        }
    }

    #[test]
    fn a_picture_that_asks_for_much_memory_is_refused_by_its_header() {
        assert_eq!(
            complaint(b"P5 16385 1 255 "),
            "x: header: expected at most 16384 pixels per side and 64 million in all, \
             found 1 x 16385"
        );
        assert!(complaint(b"P5 16384 16384 255 ").contains("found 16384 x 16384"));
        assert!(complaint(b"P5 0 4 255 ").contains("found one without pixels"));
    }

    #[test]
    fn samples_of_other_ranges_are_rounded_to_the_nearest_byte() {
        assert_eq!([0, 1, 2, 3].map(|sample| to_byte(sample, 3)), [0, 85, 170, 255]);
        assert_eq!([127, 128, 129, 0xffff].map(|wide| to_byte(wide, 0xffff)), [0, 0, 1, 255]);
    }
}
