//! PGM and PPM, as digits (P2, P3) or as bytes (P5, P6), with any largest value up to 65535.
//!
//! The format has no checksum, so a picture that is longer than its header says is refused like one
//! that is shorter: files damaged by a conversion of line ends grow.

use super::{ColorMode, PictureError, Size, to_byte};

/// A picture whose header has been read.
pub(super) struct Pnm<'a> {
    rest: Text<'a>,
    stored: ColorMode,
    digits: bool,
    most: u32,
    samples: usize,
}

impl<'a> Pnm<'a> {
    /// Reads kind, width, height and the largest value.
    pub(super) fn open(bytes: &'a [u8]) -> Result<(Size, Self), PictureError> {
        let kind = bytes.get(1).copied().unwrap_or_default();
        let stored = if matches!(kind, b'2' | b'5') { ColorMode::Gray } else { ColorMode::Rgb };
        let mut rest = Text { bytes, at: 2 };
        let width = rest.number("a width")?;
        let height = rest.number("a height")?;
        let size = Size::bounded(height as usize, width as usize)?;
        let place = format!("byte {}", rest.at);
        let most = rest.number("a maximum value")?;
        if !(1..=0xffff).contains(&most) {
            let reason = format!("expected a maximum value from 1 to 65535, found {most}");
            return Err(PictureError::new(place, reason));
        }
        let samples = size.pixels() * stored.channels();
        Ok((size, Self { rest, stored, digits: matches!(kind, b'2' | b'3'), most, samples }))
    }

    /// Reads the samples, and tells how they are stored.
    pub(super) fn read(mut self, samples: &mut Vec<u8>) -> Result<ColorMode, PictureError> {
        samples.clear();
        if self.digits {
            for _ in 0..self.samples {
                let place = self.rest.at;
                let sample = self.rest.number("a sample")?;
                samples.push(self.scaled(sample, place)?);
            }
            return Ok(self.stored);
        }
        // One white space, no more, parts the header from the bytes.
        let start = self.rest.at + 1;
        let bytes = self.rest.bytes.get(start..).unwrap_or_default();
        let width = if self.most > 0xff { 2 } else { 1 };
        if bytes.len() != self.samples * width {
            let reason =
                format!("expected {} bytes of pixels, found {}", self.samples * width, bytes.len());
            return Err(PictureError::new(format!("byte {start}"), reason));
        }
        if self.most == 0xff {
            samples.extend_from_slice(bytes);
            return Ok(self.stored);
        }
        for (index, sample) in bytes.chunks_exact(width).enumerate() {
            let sample = sample.iter().fold(0, |high, &low| high << 8 | u32::from(low));
            samples.push(self.scaled(sample, start + index * width)?);
        }
        Ok(self.stored)
    }

    fn scaled(&self, sample: u32, place: usize) -> Result<u8, PictureError> {
        if sample > self.most {
            let reason = format!("expected at most {}, found {sample}", self.most);
            return Err(PictureError::new(format!("byte {place}"), reason));
        }
        Ok(to_byte(sample, self.most))
    }
}

/// Text that is read number by number.
struct Text<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Text<'_> {
    fn next(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Reads a number after white space and comments.
    fn number(&mut self, what: &str) -> Result<u32, PictureError> {
        while let Some(byte) = self.next() {
            if byte == b'#' {
                let rest = &self.bytes[self.at..];
                self.at += rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
            } else if byte.is_ascii_whitespace() {
                self.at += 1;
            } else {
                break;
            }
        }
        let start = self.at;
        let mut number = 0_u32;
        while let Some(digit @ b'0'..=b'9') = self.next() {
            number = number.saturating_mul(10).saturating_add(u32::from(digit - b'0'));
            self.at += 1;
        }
        if self.at > start {
            return Ok(number);
        }
        let found =
            self.next().map_or("the end".to_owned(), |byte| format!("`{}`", byte.escape_ascii()));
        Err(PictureError::new(format!("byte {start}"), format!("expected {what}, found {found}")))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{complaint, decode};
    use super::*;

    fn gray(bytes: &[u8]) -> Vec<u8> {
        decode(bytes, ColorMode::Gray).unwrap().1
    }

    #[test]
    fn digits_and_bytes_with_comments_are_read() {
        assert_eq!(gray(b"P2 # gray\n2 2 # size\n9\n0 9\n3 6\n"), [0, 255, 85, 170]);
        assert_eq!(gray(b"P5\n2 1\n255\n\n\x07"), [b'\n', 7]);
        let colors = decode(b"P3 1 2 255 1 2 3 4 5 6", ColorMode::Rgb).unwrap().1;
        assert_eq!(colors, [1, 4, 2, 5, 3, 6]);
    }

    #[test]
    fn two_bytes_a_sample_are_scaled() {
        assert_eq!(gray(b"P5 2 1 65535 \xff\xff\x80\x00"), [255, 128]);
    }

    #[test]
    fn a_picture_that_is_not_as_long_as_it_says_is_refused() {
        let told = |found| format!("x: byte 11: expected 4 bytes of pixels, found {found}");
        assert_eq!(complaint(b"P5 2 2 255 abc"), told(3));
        assert_eq!(complaint(b"P5 2 2 255 a\r\ncd"), told(5));
        assert_eq!(complaint(b"P5 2 2 255"), told(0));
        assert_eq!(complaint(b"P2 2 1 255 7 "), "x: byte 13: expected a sample, found the end");
    }

    #[test]
    fn wrong_words_are_told_with_their_place() {
        assert_eq!(complaint(b"P5 2 x"), "x: byte 5: expected a height, found `x`");
        assert_eq!(
            complaint(b"P5 1 1 70000 a"),
            "x: byte 6: expected a maximum value from 1 to 65535, found 70000"
        );
        assert_eq!(complaint(b"P2 1 1 9 12"), "x: byte 8: expected at most 9, found 12");
        assert!(complaint(b"P5 99999999999 1 255 ").contains("at most 16384 pixels per side"));
    }
}
