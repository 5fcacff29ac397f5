//! JPEG, baseline and progressive, by zune-jpeg.
//!
//! JPEG has no checksum: damage shows only where codes make no sense or run out. Left to itself, the
//! decoder fills what is missing with gray or with zeros. So the marker that closes every picture is
//! looked for first, and (but for progressive pictures) ones are put before it: they are no code, so
//! a picture whose codes run out is refused, and no sound one ever gets there.
//! Checked against: tests/reference/pictures.json (Pillow, by libjpeg-turbo): at most 5 levels off.

use zune_jpeg::JpegDecoder;
use zune_jpeg::errors::DecodeErrors;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use super::{ColorMode, MOST_SIDE, PictureError, Size};

/// A JPEG whose header has been read.
pub(super) struct Jpeg {
    decoder: JpegDecoder<ZCursor<Vec<u8>>>,
    stored: ColorMode,
}

impl Jpeg {
    /// Looks for the end and reads everything before the first scan.
    pub(super) fn open(bytes: &[u8]) -> Result<(Size, Self), PictureError> {
        let Some(guarded) = guard(bytes) else {
            let reason = "the image is truncated: the closing marker ff d9 is missing";
            return Err(PictureError::new(format!("byte {}", bytes.len()), reason));
        };
        let options = DecoderOptions::new_fast()
            .set_strict_mode(true)
            // Beyond our own bound, which then tells what it is.
            .set_max_height(4 * MOST_SIDE)
            .set_max_width(4 * MOST_SIDE);
        let mut decoder = JpegDecoder::new_with_options(ZCursor::new(guarded), options);
        decoder.decode_headers().map_err(|error| damage("header", &error))?;
        let size = decoder.dimensions().map_or_else(
            || Err(PictureError::new("header", "expected a size, found none")),
            |(width, height)| Size::bounded(height, width),
        )?;
        let stored = match decoder.input_colorspace() {
            Some(ColorSpace::Luma) => ColorMode::Gray,
            _ => ColorMode::Rgb,
        };
        let colors = match stored {
            ColorMode::Gray => ColorSpace::Luma,
            ColorMode::Rgb => ColorSpace::RGB,
        };
        decoder.set_options(options.jpeg_set_out_colorspace(colors));
        Ok((size, Self { decoder, stored }))
    }

    /// Decodes the samples, and tells how they are stored.
    pub(super) fn read(mut self, samples: &mut Vec<u8>) -> Result<ColorMode, PictureError> {
        samples.clear();
        samples.resize(self.decoder.output_buffer_size().unwrap_or_default(), 0);
        self.decoder.decode_into(samples).map_err(|error| damage("pixels", &error))?;
        Ok(self.stored)
    }
}

/// Returns the picture up to its end, with ones before the closing marker; `None` if there is no
/// such marker.
fn guard(bytes: &[u8]) -> Option<Vec<u8>> {
    const CLOSING: u8 = 0xd9;
    const PROGRESSIVE: u8 = 0xc2;
    /// More ones than any code has, and than the decoder reads ahead.
    const ONES: &[u8] = [[0xff, 0]; 16].as_flattened();
    let mut progressive = false;
    let mut at = 2;
    loop {
        // To the next marker: `ff` and a byte that is neither stuffing, filling nor a restart.
        let found = bytes.get(at..)?.windows(2).position(|pair| {
            pair[0] == 0xff && !matches!(pair[1], 0 | 0x01 | 0xd0..=0xd8 | 0xff)
        })?;
        let marker = at + found + 2;
        match bytes[marker - 1] {
            CLOSING => {
                let mut guarded = Vec::with_capacity(marker + ONES.len());
                guarded.extend_from_slice(&bytes[..marker - 2]);
                guarded.extend_from_slice(if progressive { &[] } else { ONES });
                guarded.extend_from_slice(&[0xff, CLOSING]);
                return Some(guarded);
            }
            kind => progressive |= kind == PROGRESSIVE,
        }
        // Over the segment, which may hold a small picture with an end of its own.
        let &[high, low] = bytes.get(marker..marker + 2)? else { return None };
        at = marker + usize::from(u16::from_be_bytes([high, low]));
    }
}

/// Puts the decoder's words into one of ours where it says little.
fn damage(place: &str, error: &DecodeErrors) -> PictureError {
    let reason = match error {
        DecodeErrors::ExhaustedData | DecodeErrors::IoErrors(_) => "the image is truncated".into(),
        DecodeErrors::FormatStatic(reason) => (*reason).to_owned(),
        DecodeErrors::Format(reason) => reason.clone(),
        other => format!("{other:?}"),
    };
    PictureError::new(place, format!("not a valid JPEG: {reason}"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::super::Picture;
    use super::super::tests::{complaint, decode};
    use super::*;

    const COLOR: &[u8] = include_bytes!("../../../../tests/reference/pictures/color.jpg");
    const FULL_COLOR: &[u8] = include_bytes!("../../../../tests/reference/pictures/full_color.jpg");
    const PROGRESSIVE: &[u8] =
        include_bytes!("../../../../tests/reference/pictures/progressive.jpg");
    const GRAY: &[u8] = include_bytes!("../../../../tests/reference/pictures/gray.jpg");
    const CAMERA: &[u8] = include_bytes!("../../../../tests/reference/pictures/camera.jpg");

    /// What Pillow finds in the pictures.
    #[derive(Deserialize)]
    struct Reference {
        height: usize,
        width: usize,
        pixels: BTreeMap<String, Vec<u8>>,
    }

    #[test]
    fn pixels_are_those_of_pillow_within_a_few_levels() {
        let text = include_str!("../../../../tests/reference/pictures.json");
        let reference: Reference = serde_json::from_str(text).unwrap();
        for (name, jpeg) in [
            ("color", COLOR),
            ("full_color", FULL_COLOR),
            ("progressive", PROGRESSIVE),
            ("gray", GRAY),
            ("camera", CAMERA),
        ] {
            let (size, pixels) = decode(jpeg, ColorMode::Rgb).unwrap();
            assert_eq!((size.height, size.width), (reference.height, reference.width), "{name}");
            let theirs = &reference.pixels[name];
            let off = pixels.iter().zip(theirs).map(|(a, b)| u32::from(a.abs_diff(*b)));
            let (worst, sum) = off.fold((0, 0), |(worst, sum), off| (off.max(worst), sum + off));
            // Decoders may round differently: one level in each of three steps, and colors weigh up
            // to 1.8.
            assert!(worst <= 5, "{name}: {worst}");
            assert!(f64::from(sum) < 0.7 * theirs.len() as f64, "{name}: {sum}");
        }
    }

    #[test]
    fn a_gray_picture_stays_gray() {
        let (_, gray) = decode(GRAY, ColorMode::Gray).unwrap();
        let (_, colors) = decode(GRAY, ColorMode::Rgb).unwrap();
        assert_eq!(colors, [&gray[..]; 3].concat());
    }

    #[test]
    fn a_picture_that_ends_early_is_refused_wherever_it_ends() {
        for jpeg in [COLOR, FULL_COLOR, PROGRESSIVE, GRAY, CAMERA] {
            for length in 3..jpeg.len() {
                let told = complaint(&jpeg[..length]);
                assert!(told.contains("is truncated") || told.contains("not a valid"), "{told}");
            }
        }
        assert_eq!(
            complaint(&COLOR[..COLOR.len() - 2]),
            "x: byte 883: the image is truncated: the closing marker ff d9 is missing"
        );
    }

    #[test]
    fn codes_that_are_cut_short_and_closed_again_are_refused() {
        for jpeg in [COLOR, FULL_COLOR, GRAY] {
            let scan = jpeg.windows(2).rposition(|pair| pair == [0xff, 0xda]).unwrap();
            // The last codes are of less than a byte: missing a few bits, they still make sense.
            for end in scan + 14..jpeg.len() - 4 {
                let told = complaint(&[&jpeg[..end], &[0xff, 0xd9]].concat());
                assert!(told.starts_with("x: pixels: not a valid JPEG"), "{end}: {told}");
            }
        }
    }

    #[test]
    fn an_end_inside_of_the_header_is_not_the_end_of_the_picture() {
        assert!(guard(CAMERA).unwrap().len() > CAMERA.len());
        let within = CAMERA.windows(2).position(|pair| pair == [0xff, 0xd9]).unwrap();
        assert_eq!(guard(&CAMERA[..within + 2]), None);
    }

    #[test]
    fn what_follows_a_picture_is_of_no_interest() {
        let followed = [COLOR, b"and more \xff\xd8\xff\xc0 of it"].concat();
        assert_eq!(decode(&followed, ColorMode::Rgb), decode(COLOR, ColorMode::Rgb));
    }

    #[test]
    fn no_changed_byte_makes_the_decoder_panic() {
        for jpeg in [COLOR, PROGRESSIVE, GRAY, CAMERA] {
            for index in 0..jpeg.len() {
                for value in [0, 1, 0x7f, 0xff, jpeg[index] ^ 0x10] {
                    let mut changed = jpeg.to_vec();
                    changed[index] = value;
                    // A header may come to claim a large picture; its size alone is of no interest.
                    if Picture::open(&changed).is_ok_and(|p| p.size().pixels() < 1 << 20) {
                        let _ = decode(&changed, ColorMode::Rgb);
                    }
                }
            }
        }
    }
}
