//! The header of an npy file: which values it holds, in what order, in what shape.
//!
//! NumPy writes a Python dict with three known keys, and only that is understood here: nothing
//! is evaluated, nothing nests, nothing is unpickled. The length a header claims is bounded and
//! no size in it is multiplied without a check, so any bytes give a header or a reason.

use std::fmt;
use std::io::Read;

pub(super) const MAGIC: [u8; 6] = *b"\x93NUMPY";

/// Longest accepted text of a header; NumPy itself trusts no longer one.
const LONGEST: usize = 10_000;

/// What a header says, as far as this program can use it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// The type of each value.
    pub element: Element,
    /// The sizes; values lie with the last one varying fastest (C order), unless the order is
    /// Fortran's.
    pub shape: Vec<usize>,
    /// Whether the first index varies fastest (Fortran order).
    pub is_fortran: bool,
    /// Number of bytes before the values.
    pub length: u64,
}

impl Header {
    /// Number of bytes before the text of a header of version 1.
    pub(super) const START: usize = 10;

    /// Returns a header of version 1 with this text, padded to a length that counts all of it.
    pub(crate) fn encode(dict: &str, length: usize) -> Vec<u8> {
        let mut header = MAGIC.to_vec();
        header.extend([1, 0]);
        header.extend(((length - Self::START) as u16).to_le_bytes());
        header.extend(dict.as_bytes());
        header.resize(length - 1, b' ');
        header.push(b'\n');
        header
    }

    /// Reads a header of values in C order, or says what is wrong with it.
    pub(crate) fn read(source: &mut impl Read) -> Result<Self, String> {
        let header = Self::read_any_order(source)?;
        if header.is_fortran {
            return Err("it is in Fortran order: save `numpy.ascontiguousarray` of it".to_owned());
        }
        Ok(header)
    }

    /// Reads a header of values in either order, or says what is wrong with it.
    pub(super) fn read_any_order(source: &mut impl Read) -> Result<Self, String> {
        let mut start = [0; 8];
        fill(source, &mut start)?;
        if start[..6] != MAGIC {
            return Err("expected NumPy's magic bytes, found others".to_owned());
        }
        let (length, before) = match start[6..] {
            [1, 0] => {
                let mut length = [0; 2];
                fill(source, &mut length)?;
                (usize::from(u16::from_le_bytes(length)), 10)
            }
            [2 | 3, 0] => {
                let mut length = [0; 4];
                fill(source, &mut length)?;
                (u32::from_le_bytes(length) as usize, 12)
            }
            _ => {
                return Err(format!("expected version 1, 2 or 3, found {}.{}", start[6], start[7]));
            }
        };
        if length > LONGEST {
            return Err(format!("expected at most {LONGEST} bytes of text, found {length}"));
        }
        let mut text = vec![0; length];
        fill(source, &mut text)?;
        let text = std::str::from_utf8(&text).map_err(|_| "its text is not UTF-8".to_owned())?;
        let (element, is_fortran, shape) = Text(text).dict()?;
        Ok(Self { element, shape, is_fortran, length: before + length as u64 })
    }

    /// Returns the number of bytes that the values take, unless no file could hold them.
    fn data_bytes(&self) -> Option<u64> {
        let start = self.element.size as u64;
        self.shape.iter().try_fold(start, |bytes, &size| bytes.checked_mul(size as u64))
    }

    /// Makes sure that a file of `length` bytes holds the values to the last byte.
    pub(super) fn check_length(&self, length: u64) -> Result<(), String> {
        let found = length.saturating_sub(self.length);
        let expected = self.data_bytes();
        if expected == Some(found) {
            return Ok(());
        }
        Err(format!(
            "shape {} of {} needs {} bytes of data, found {found}",
            self.shape_text(),
            self.element,
            expected.map_or_else(|| "more than 2^64".to_owned(), |bytes| bytes.to_string()),
        ))
    }

    /// Writes the shape as NumPy does.
    pub(crate) fn shape_text(&self) -> String {
        let sizes: Vec<_> = self.shape.iter().map(ToString::to_string).collect();
        let comma = if sizes.len() == 1 { "," } else { "" };
        format!("({}{comma})", sizes.join(", "))
    }
}

fn fill(source: &mut impl Read, bytes: &mut [u8]) -> Result<(), String> {
    source.read_exact(bytes).map_err(|cause| format!("it is cut off or damaged: {cause}"))
}

/// The family of a number type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One byte, 0 or 1.
    Bool,
    /// An integer of at least zero.
    Unsigned,
    /// An integer, in two's complement.
    Signed,
    /// An IEEE number of four or eight bytes.
    Float,
}

/// The type of the values of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Element {
    /// Its family.
    pub kind: Kind,
    /// Bytes of each value, at most eight.
    pub size: usize,
    big_endian: bool,
}

impl Element {
    pub(super) fn parse(name: &str) -> Result<Self, String> {
        let mut letters = name.chars();
        let order = letters.next();
        let letter = letters.next();
        if letter == Some('O') {
            return Err(
                "it holds pickled Python objects, which are never unpickled here: save it \
                        with a number type"
                    .to_owned(),
            );
        }
        let kind = match (letter, letters.as_str()) {
            (Some('b'), "1") => Some(Kind::Bool),
            (Some('u'), "1" | "2" | "4" | "8") => Some(Kind::Unsigned),
            (Some('i'), "1" | "2" | "4" | "8") => Some(Kind::Signed),
            (Some('f'), "4" | "8") => Some(Kind::Float),
            _ => None,
        };
        match (kind, order, letters.as_str().parse()) {
            (Some(kind), Some(order @ ('<' | '>' | '|' | '=')), Ok(size)) => {
                Ok(Self { kind, size, big_endian: order == '>' })
            }
            _ => Err(format!(
                "expected bool, integers, or floats of 4 or 8 bytes, found dtype `{name}`"
            )),
        }
    }

    /// Returns whether the highest byte of a value comes first.
    pub(super) const fn is_big_endian(self) -> bool {
        self.big_endian
    }

    /// Returns one value's bits; missing bytes count as zero.
    fn bits(self, bytes: &[u8]) -> u64 {
        let push = |bits: u64, &byte: &u8| bits << 8 | u64::from(byte);
        if self.big_endian { bytes.iter().fold(0, push) } else { bytes.iter().rev().fold(0, push) }
    }

    fn signed(self, bytes: &[u8]) -> i64 {
        let unused = 64 - 8 * self.size as u32;
        (self.bits(bytes) << unused).cast_signed() >> unused
    }

    /// Returns one value as a float.
    pub(crate) fn float(self, bytes: &[u8]) -> f64 {
        match self.kind {
            Kind::Bool | Kind::Unsigned => self.bits(bytes) as f64,
            Kind::Signed => self.signed(bytes) as f64,
            Kind::Float if self.size == 4 => f32::from_bits(self.bits(bytes) as u32).into(),
            Kind::Float => f64::from_bits(self.bits(bytes)),
        }
    }

    /// Returns one value as an integer, if this is an integer type.
    pub(crate) fn integer(self, bytes: &[u8]) -> Option<i128> {
        match self.kind {
            Kind::Unsigned => Some(self.bits(bytes).into()),
            Kind::Signed => Some(self.signed(bytes).into()),
            Kind::Bool | Kind::Float => None,
        }
    }
}

impl fmt::Display for Element {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = match self.kind {
            Kind::Bool => return formatter.write_str("bool"),
            Kind::Unsigned => 'u',
            Kind::Signed => 'i',
            Kind::Float => 'f',
        };
        write!(formatter, "{letter}{}", 8 * self.size)
    }
}

/// The part of a header's text that is not read yet.
struct Text<'a>(&'a str);

impl<'a> Text<'a> {
    /// Reads `{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }`.
    fn dict(mut self) -> Result<(Element, bool, Vec<usize>), String> {
        let (mut element, mut fortran_order, mut shape) = (None, None, None);
        self.expect("{")?;
        while !self.skip("}") {
            let key = self.quoted()?;
            self.expect(":")?;
            match key {
                "descr" if self.skip("[") => {
                    return Err("it is a structured array: save each field as its own array".into());
                }
                "descr" => element = Some(Element::parse(self.quoted()?)?),
                "fortran_order" if self.skip("True") => fortran_order = Some(true),
                "fortran_order" => fortran_order = self.expect("False").map(|()| Some(false))?,
                "shape" => shape = Some(self.sizes()?),
                _ => return Err(format!("expected descr, fortran_order, shape, found `{key}`")),
            }
            if !self.skip(",") {
                self.expect("}")?;
                break;
            }
        }
        let (Some(element), Some(fortran_order), Some(shape)) = (element, fortran_order, shape)
        else {
            return Err("expected the keys descr, fortran_order and shape, found fewer".to_owned());
        };
        if !self.0.trim().is_empty() {
            return Err(format!("expected its end, found {}", self.rest()));
        }
        // In one dimension both orders are the same.
        Ok((element, fortran_order && shape.len() > 1, shape))
    }

    fn sizes(&mut self) -> Result<Vec<usize>, String> {
        self.expect("(")?;
        let mut sizes = Vec::new();
        while !self.skip(")") {
            let digits = self.0.trim_start();
            let end = digits.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(digits.len());
            let size = digits[..end].parse();
            sizes.push(size.map_err(|_| format!("expected a size, found {}", self.rest()))?);
            self.0 = &digits[end..];
            // Python 2 marked long integers.
            self.skip("L");
            if !self.skip(",") {
                self.expect(")")?;
                break;
            }
        }
        Ok(sizes)
    }

    fn quoted(&mut self) -> Result<&'a str, String> {
        let quote = if self.skip("\"") { '"' } else { '\'' };
        if quote == '\'' {
            self.expect("'")?;
        }
        let (inside, rest) =
            self.0.split_once(quote).ok_or_else(|| format!("expected a closing {quote}"))?;
        self.0 = rest;
        Ok(inside)
    }

    fn skip(&mut self, token: &str) -> bool {
        let rest = self.0.trim_start().strip_prefix(token);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn expect(&mut self, token: &str) -> Result<(), String> {
        if self.skip(token) {
            Ok(())
        } else {
            Err(format!("expected `{token}`, found {}", self.rest()))
        }
    }

    /// Quotes the beginning of what is left.
    fn rest(&self) -> String {
        let start: String = self.0.trim().chars().take(20).collect();
        format!("{start:?}")
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "values must come back unchanged")]
mod tests {
    use super::*;

    fn file(text: &str) -> Vec<u8> {
        let length = u16::try_from(text.len()).unwrap();
        [&MAGIC[..], &[1, 0], &length.to_le_bytes(), text.as_bytes()].concat()
    }

    fn read(text: &str) -> Result<Header, String> {
        Header::read(&mut file(text).as_slice())
    }

    fn described(descr: &str) -> Result<Element, String> {
        let text = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (1,), }}\n");
        read(&text).map(|header| header.element)
    }

    #[test]
    fn a_header_as_numpy_writes_it_is_read() {
        let header =
            read("{'descr': '<i2', 'fortran_order': False, 'shape': (3, 40), }   \n").unwrap();
        assert_eq!(header.shape, [3, 40]);
        assert_eq!(header.element.to_string(), "i16");
        assert_eq!(header.data_bytes(), Some(240));
        assert_eq!(header.length, 10 + 64);
        let python_2 = read("{'descr': '|u1', 'fortran_order': False, 'shape': (3L, 4L)}").unwrap();
        assert_eq!(python_2.shape_text(), "(3, 4)");
        let one = read("{\"shape\": (7,), \"descr\": \"<f8\", \"fortran_order\": True}").unwrap();
        assert_eq!(one.shape_text(), "(7,)");
    }

    #[test]
    fn values_of_every_type_and_byte_order_are_decoded() {
        let float = |descr: &str, bytes: &[u8]| described(descr).unwrap().float(bytes);
        assert_eq!(float("'|u1'", &[200]), 200.0);
        assert_eq!(float("'|i1'", &[200]), -56.0);
        assert_eq!(float("'|b1'", &[1]), 1.0);
        assert_eq!(float("'<i2'", &[0xfe, 0xff]), -2.0);
        assert_eq!(float("'>i2'", &[0xff, 0xfe]), -2.0);
        assert_eq!(float("'>f4'", &1.5_f32.to_be_bytes()), 1.5);
        assert_eq!(float("'<f8'", &(-0.1_f64).to_le_bytes()), -0.1);
        let integer = |descr: &str, bytes: &[u8]| described(descr).unwrap().integer(bytes);
        assert_eq!(integer("'<u8'", &[0xff; 8]), Some(u64::MAX.into()));
        assert_eq!(integer("'>i8'", &(-7_i64).to_be_bytes()), Some(-7));
        assert_eq!(integer("'<f4'", &[0; 4]), None);
    }

    #[test]
    fn types_that_are_no_numbers_are_refused_by_name() {
        assert!(described("'|O'").unwrap_err().starts_with("it holds pickled Python objects"));
        assert!(described("[('a', '<f4')]").unwrap_err().starts_with("it is a structured array"));
        let refused = ["'<f2'", "'<c16'", "'<U3'", "'|S3'", "'<M8[ns]'", "'f4'", "'<i+4'", "''"];
        for descr in refused {
            let reason = described(descr).unwrap_err();
            assert!(reason.ends_with(&format!("found dtype `{}`", descr.replace('\'', ""))));
        }
    }

    #[test]
    fn fortran_order_is_told_and_refused_where_c_order_is_needed() {
        let text = |shape| format!("{{'descr': '<f8', 'fortran_order': True, 'shape': {shape}}}");
        assert!(read(&text("(2, 3)")).unwrap_err().starts_with("it is in Fortran order"));
        let header = Header::read_any_order(&mut file(&text("(2, 3)")).as_slice()).unwrap();
        assert!(header.is_fortran && header.shape == [2, 3]);
        assert_eq!(read(&text("(6,)")).unwrap().shape, [6]);
    }

    #[test]
    fn sizes_beyond_any_file_are_no_number_of_bytes() {
        let huge =
            read("{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296)}");
        assert_eq!(huge.unwrap().data_bytes(), None);
        let reason =
            read("{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,)}");
        assert!(reason.unwrap_err().starts_with("expected a size, found \"99999999999999999999\""));
        let reason = read("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}");
        assert!(reason.unwrap_err().starts_with("expected a size, found \"-1,)}\""));
    }

    #[test]
    fn a_header_that_claims_to_be_huge_is_refused_before_it_is_read() {
        let claimed = [&MAGIC[..], &[2, 0], &u32::MAX.to_le_bytes()].concat();
        let reason = Header::read(&mut claimed.as_slice()).unwrap_err();
        assert_eq!(reason, "expected at most 10000 bytes of text, found 4294967295");
        let nested = format!("{{'shape': {}", "(".repeat(9000));
        assert!(read(&nested).unwrap_err().starts_with("expected a size, found \"((((("));
    }
}
