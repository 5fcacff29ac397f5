//! What a user writes about a file to fetch: its name, its size, its hash, and where it may lie.
//!
//! A pin says which bytes are meant. Mirrors and packing say only how to come by them, so they
//! are read but never written: a cache key made from a pin does not change with its mirrors.
//! Everything that can be wrong about a pin is found here, before anything runs.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

use super::address::Address;

/// Longest accepted file name in bytes; leaves room for suffixes below the usual 255.
const LONGEST_NAME: usize = 200;

/// A file whose content is known beforehand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PinnedFile {
    /// The name under which folders are searched for the file.
    pub name: FileName,
    /// Size of the unpacked content in bytes.
    pub bytes: u64,
    /// Hash of the unpacked content; it alone decides whether a file is the right one.
    pub sha256: Sha256Digest,
    /// The gzipped form that mirrors ending in `.gz` serve, if known.
    #[serde(default, skip_serializing)]
    pub gzip: Option<Gzip>,
    /// Where the file can be downloaded, tried in order: `https:`, `http:` or `file:`. A mirror
    /// whose path ends in `.gz` serves the file gzipped, unless `name` ends in `.gz` as well.
    #[serde(default, skip_serializing)]
    pub mirrors: Vec<String>,
}

/// The gzipped form of a pinned file; both are optional because mirrors may pack differently.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gzip {
    /// Size of the gzipped file in bytes; a mirror that offers another size is refused at once.
    #[serde(default)]
    pub bytes: Option<u64>,
    /// Hash of the gzipped file; lets one mirror continue what another began.
    #[serde(default)]
    pub sha256: Option<Sha256Digest>,
}

impl PinnedFile {
    /// Says what is wrong with the mirrors, one line each; empty if all can be asked.
    pub fn problems(&self) -> Vec<String> {
        self.mirrors.iter().filter_map(|mirror| Address::parse(mirror).err()).collect()
    }
}

/// A plain file name: no folder, no way out of one, and not hidden.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileName(String);

/// Says why a text is no plain file name.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("expected a plain file name, found {found:?}: {reason}")]
pub struct FileNameError {
    /// The refused text.
    pub found: String,
    /// What is wrong with it.
    pub reason: &'static str,
}

impl FileName {
    /// Returns the name if it is one, else says what is wrong.
    pub fn new(name: impl Into<String>) -> Result<Self, FileNameError> {
        let name = name.into();
        let reason = match name.as_str() {
            "" => "it is empty",
            text if text.contains(['/', '\\']) => "it names a folder",
            text if text.contains("..") => "it holds `..`",
            text if text.starts_with('.') => "it starts with a dot",
            text if text.chars().any(char::is_control) => "it holds a control character",
            text if text.len() > LONGEST_NAME => "it is longer than 200 bytes",
            _ => return Ok(Self(name)),
        };
        Err(FileNameError { found: name, reason })
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Serialize for FileName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for FileName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for FileName {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "FileName".into()
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "title": "the name of a file, without folders" })
    }
}

/// A SHA-256 hash; 64 hexadecimal digits as text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sha256Digest([u8; 32]);

/// Says why a text is no SHA-256 hash.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("expected 64 hexadecimal digits, found {} characters: {found:?}", found.len())]
pub struct DigestError {
    /// The refused text.
    pub found: String,
}

impl Sha256Digest {
    /// Reads 64 hexadecimal digits, in upper or lower case; works in constants.
    pub const fn from_hex(text: &str) -> Option<Self> {
        let text = text.as_bytes();
        let mut digest = [0; 32];
        if text.len() != 2 * digest.len() {
            return None;
        }
        let mut place = 0;
        while place < digest.len() {
            match (hex_value(text[2 * place]), hex_value(text[2 * place + 1])) {
                (Some(high), Some(low)) => digest[place] = high * 16 + low,
                _ => return None,
            }
            place += 1;
        }
        Some(Self(digest))
    }

    /// Wraps the 32 bytes that a hash function returned.
    pub const fn from_bytes(digest: [u8; 32]) -> Self {
        Self(digest)
    }

    /// Returns the first eight hexadecimal digits, enough to tell files apart by eye.
    pub fn short(&self) -> String {
        let mut text = self.to_string();
        text.truncate(8);
        text
    }
}

/// Returns what a hexadecimal digit stands for.
pub(super) const fn hex_value(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

impl fmt::Display for Sha256Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for Sha256Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl Serialize for Sha256Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Sha256Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let found = String::deserialize(deserializer)?;
        Self::from_hex(&found).ok_or_else(|| serde::de::Error::custom(DigestError { found }))
    }
}

impl JsonSchema for Sha256Digest {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Sha256Digest".into()
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "title": "a string of 64 hexadecimal digits",
            "pattern": "^[0-9A-Fa-f]{64}$",
        })
    }
}

#[cfg(test)]
mod tests {
    use ron::extensions::Extensions;

    use super::*;

    const HASH: &str = "BA891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db";

    fn read(text: &str) -> Result<PinnedFile, ron::error::SpannedError> {
        ron::Options::default().with_default_extension(Extensions::IMPLICIT_SOME).from_str(text)
    }

    #[test]
    fn mirrors_and_packing_are_read_but_never_written() {
        let text = format!(
            "(name: \"a.bin\", bytes: 7, sha256: \"{HASH}\", gzip: (bytes: 5), \
             mirrors: [\"https://example.org/a.bin.gz\"])"
        );
        let file = read(&text).unwrap();
        assert_eq!(file.gzip, Some(Gzip { bytes: Some(5), sha256: None }));
        assert_eq!(file.mirrors, ["https://example.org/a.bin.gz"]);
        let written = ron::to_string(&file).unwrap();
        let hash = HASH.to_lowercase();
        assert_eq!(written, format!("(name:\"a.bin\",bytes:7,sha256:\"{hash}\")"));
    }

    #[test]
    fn names_that_lead_out_of_a_folder_are_refused() {
        let refused = ["", ".", "..", ".hidden", "a/b", "/a", "a\\b", "a..b", "a\0b", "a\nb"];
        for name in refused {
            assert!(FileName::new(name).is_err(), "{name:?} is accepted");
        }
        assert!(FileName::new("x".repeat(201)).is_err());
        assert!(FileName::new("train-images.idx3-ubyte").is_ok());
        let text = format!("(name: \"../a\", bytes: 7, sha256: \"{HASH}\")");
        let error = read(&text).unwrap_err().to_string();
        assert!(error.contains("found \"../a\": it names a folder"), "{error}");
    }

    #[test]
    fn a_hash_has_64_hexadecimal_digits() {
        assert_eq!(Sha256Digest::from_hex(HASH).unwrap().to_string(), HASH.to_lowercase());
        assert_eq!(Sha256Digest::from_hex(HASH).unwrap().short(), "ba891046");
        for text in [&HASH[1..], &format!("{HASH}0"), &HASH.replace('B', "g"), ""] {
            assert_eq!(Sha256Digest::from_hex(text), None);
        }
        let error = read("(name: \"a\", bytes: 7, sha256: \"12\")").unwrap_err().to_string();
        assert!(
            error.contains("expected 64 hexadecimal digits, found 2 characters: \"12\""),
            "{error}"
        );
    }

    #[test]
    fn an_unknown_scheme_is_a_problem_before_anything_runs() {
        let mirrors = ["ftp://h/a", "https://h/a", "file:a"].map(str::to_owned).to_vec();
        let sha256 = Sha256Digest::from_hex(HASH).unwrap();
        let name = FileName::new("a").unwrap();
        let file = PinnedFile { name, bytes: 1, sha256, gzip: None, mirrors };
        let problems = file.problems();
        assert_eq!(problems.len(), 2);
        assert!(problems[0].starts_with("mirror `ftp://h/a`: "), "{}", problems[0]);
    }

    #[test]
    fn an_unknown_field_is_refused() {
        let text = format!("(name: \"a\", bytes: 7, sha256: \"{HASH}\", md5: \"\")");
        assert!(read(&text).is_err());
    }
}
