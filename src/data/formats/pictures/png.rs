//! PNG of every kind, by the png crate. Alpha and transparent colors are put onto black; of an
//! animation, the still picture is taken.

use std::io::Cursor;

use png::{BitDepth, ColorType, Decoder, DecodingError, Limits, Reader, Transformations};

use super::{ColorMode, MOST_PIXELS, PictureError, Size, to_byte};

/// A PNG whose header has been read.
pub(super) struct Png<'a> {
    reader: Reader<Cursor<&'a [u8]>>,
}

impl<'a> Png<'a> {
    /// Reads everything before the pixels.
    pub(super) fn open(bytes: &'a [u8]) -> Result<(Size, Self), PictureError> {
        // Four samples of two bytes for each pixel: more is never needed.
        let limits = Limits { bytes: 8 * MOST_PIXELS };
        let mut decoder = Decoder::new_with_limits(Cursor::new(bytes), limits);
        decoder.set_ignore_text_chunk(true);
        decoder.set_ignore_iccp_chunk(true);
        decoder.set_transformations(Transformations::EXPAND);
        let header = decoder.read_header_info().map_err(|error| damage("header", &error))?;
        let size = Size::bounded(header.height as usize, header.width as usize)?;
        let reader = decoder.read_info().map_err(|error| damage("header", &error))?;
        Ok((size, Self { reader }))
    }

    /// Decodes the samples, and tells how they are stored.
    pub(super) fn read(mut self, samples: &mut Vec<u8>) -> Result<ColorMode, PictureError> {
        let length = self.reader.output_buffer_size();
        let length =
            length.ok_or_else(|| PictureError::new("header", "the picture is too large"))?;
        samples.clear();
        samples.resize(length, 0);
        let frame = self.reader.next_frame(samples).map_err(|error| damage("pixels", &error))?;
        self.reader.finish().map_err(|error| damage("end", &error))?;
        samples.truncate(frame.buffer_size());
        if frame.bit_depth == BitDepth::Sixteen {
            halve(samples);
        }
        match frame.color_type {
            ColorType::Grayscale => Ok(ColorMode::Gray),
            ColorType::Rgb => Ok(ColorMode::Rgb),
            ColorType::GrayscaleAlpha => {
                onto_black::<2>(samples);
                Ok(ColorMode::Gray)
            }
            ColorType::Rgba => {
                onto_black::<4>(samples);
                Ok(ColorMode::Rgb)
            }
            ColorType::Indexed => {
                Err(PictureError::new("header", "expected a palette, found none"))
            }
        }
    }
}

/// Makes bytes of samples of 16 bits.
fn halve(samples: &mut Vec<u8>) {
    for index in 0..samples.len() / 2 {
        let wide = u16::from_be_bytes([samples[2 * index], samples[2 * index + 1]]);
        samples[index] = to_byte(wide.into(), 0xffff);
    }
    samples.truncate(samples.len() / 2);
}

/// Multiplies each sample by the alpha of its pixel, which stands last and is dropped.
fn onto_black<const SAMPLES: usize>(samples: &mut Vec<u8>) {
    let colors = SAMPLES - 1;
    let count = samples.len() / SAMPLES;
    for pixel in 0..count {
        let alpha = u32::from(samples[pixel * SAMPLES + colors]);
        for color in 0..colors {
            let sample = u32::from(samples[pixel * SAMPLES + color]);
            samples[pixel * colors + color] = to_byte(sample * alpha, 255 * 255);
        }
    }
    samples.truncate(count * colors);
}

fn damage(place: &str, error: &DecodingError) -> PictureError {
    match error {
        DecodingError::IoError(_) => PictureError::new(place, "the image is truncated"),
        other => PictureError::new(place, format!("not a valid PNG: {other}")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{complaint, decode};
    use super::*;

    /// Encodes a picture; `adjust` may give it a palette.
    fn encode(
        (width, height): (u32, u32),
        (color, depth): (ColorType, BitDepth),
        samples: &[u8],
        adjust: impl FnOnce(&mut png::Encoder<'_, &mut Vec<u8>>),
    ) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, width, height);
        encoder.set_color(color);
        encoder.set_depth(depth);
        adjust(&mut encoder);
        let mut writer = encoder.write_header().unwrap();
        writer.write_image_data(samples).unwrap();
        writer.finish().unwrap();
        bytes
    }

    fn plain(size: (u32, u32), kind: (ColorType, BitDepth), samples: &[u8]) -> Vec<u8> {
        encode(size, kind, samples, |_| ())
    }

    fn gray(bytes: &[u8]) -> Vec<u8> {
        decode(bytes, ColorMode::Gray).unwrap().1
    }

    fn rgb(bytes: &[u8]) -> Vec<u8> {
        decode(bytes, ColorMode::Rgb).unwrap().1
    }

    #[test]
    fn colors_and_gray_come_back_as_they_were() {
        let eight = BitDepth::Eight;
        let bytes = plain((2, 1), (ColorType::Rgb, eight), &[1, 2, 3, 4, 5, 6]);
        assert_eq!(rgb(&bytes), [1, 4, 2, 5, 3, 6]);
        let bytes = plain((2, 3), (ColorType::Grayscale, eight), &[1, 2, 3, 4, 5, 6]);
        let (size, pixels) = decode(&bytes, ColorMode::Gray).unwrap();
        assert_eq!((size.height, size.width, pixels), (3, 2, vec![1, 2, 3, 4, 5, 6]));
    }

    #[test]
    fn other_depths_are_scaled_to_bytes() {
        let bits = plain((4, 1), (ColorType::Grayscale, BitDepth::Two), &[0b00_01_10_11]);
        assert_eq!(gray(&bits), [0, 85, 170, 255]);
        let wide = [0, 0, 0, 128, 0, 129, 0x80, 0, 0xff, 0xff];
        let wide = plain((5, 1), (ColorType::Grayscale, BitDepth::Sixteen), &wide);
        assert_eq!(gray(&wide), [0, 0, 1, 128, 255]);
    }

    #[test]
    fn transparent_pixels_are_put_onto_black() {
        let eight = BitDepth::Eight;
        let samples = [200, 100, 50, 255, 200, 100, 50, 0, 200, 100, 50, 51];
        let bytes = plain((3, 1), (ColorType::Rgba, eight), &samples);
        assert_eq!(rgb(&bytes), [200, 0, 40, 100, 0, 20, 50, 0, 10]);
        let bytes = plain((2, 1), (ColorType::GrayscaleAlpha, eight), &[90, 255, 90, 0]);
        assert_eq!(gray(&bytes), [90, 0]);
        let wide = [0xff, 0xff, 0x80, 0x80];
        let wide = plain((1, 1), (ColorType::GrayscaleAlpha, BitDepth::Sixteen), &wide);
        assert_eq!(gray(&wide), [128]);
    }

    #[test]
    fn a_palette_becomes_colors() {
        let kind = (ColorType::Indexed, BitDepth::Eight);
        let bytes = encode((2, 1), kind, &[1, 0], |encoder| {
            encoder.set_palette(vec![9, 8, 7, 60, 50, 40]);
            encoder.set_trns(vec![0, 255]);
        });
        assert_eq!(rgb(&bytes), [60, 0, 50, 0, 40, 0]);
    }

    #[test]
    fn a_picture_that_ends_early_is_refused_wherever_it_ends() {
        let samples: Vec<u8> = (0..48).collect();
        let bytes = plain((4, 4), (ColorType::Rgb, BitDepth::Eight), &samples);
        for length in 4..bytes.len() {
            let told = complaint(&bytes[..length]);
            assert!(told.contains("is truncated") || told.contains("not a valid PNG"), "{told}");
        }
        let half = complaint(&bytes[..bytes.len() - 30]);
        assert_eq!(half, "x: pixels: the image is truncated");
    }

    #[test]
    fn a_changed_byte_is_found_and_what_follows_a_picture_is_of_no_interest() {
        let samples: Vec<u8> = (0..48).collect();
        let bytes = plain((4, 4), (ColorType::Rgb, BitDepth::Eight), &samples);
        let followed = [&bytes[..], b"and more"].concat();
        assert_eq!(rgb(&followed), rgb(&bytes));
        let data = bytes.windows(4).position(|name| name == b"IDAT").unwrap();
        let mut changed = bytes;
        changed[data + 10] ^= 1;
        let told = complaint(&changed);
        assert!(told.starts_with("x: pixels: not a valid PNG"), "{told}");
    }

    #[test]
    fn a_small_file_that_claims_a_large_picture_is_refused_by_its_header() {
        let bytes = plain((1, 1), (ColorType::Grayscale, BitDepth::Eight), &[0]);
        let mut claims = bytes;
        claims[16..24].copy_from_slice(&[0, 0, 0x40, 0, 0, 0, 0x40, 0]);
        let mut sum = flate2::Crc::new();
        sum.update(&claims[12..29]);
        claims[29..33].copy_from_slice(&sum.sum().to_be_bytes());
        assert!(complaint(&claims).contains("found 16384 x 16384"), "{}", complaint(&claims));
    }
}
