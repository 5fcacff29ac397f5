//! Keys that sign manifests: ed25519, written as `name:base64`.
//!
//! The name says which key a signature is of; whether it is, only the key itself decides.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{
    ED25519, ED25519_PUBLIC_KEY_LEN, Ed25519KeyPair, KeyPair, UnparsedPublicKey,
};

use crate::engine::system::regular_file;

const SEED_LENGTH: usize = 32;

/// A name longer than this is none.
const LONGEST_NAME: usize = 64;

/// Why a text is no key.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct KeyError(String);

/// A key that signatures are checked with.
#[derive(Clone, PartialEq, Eq)]
pub struct PublicKey {
    name: String,
    bytes: [u8; ED25519_PUBLIC_KEY_LEN],
}

impl PublicKey {
    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether a signature of a message is this key's.
    pub fn verifies(&self, message: &[u8], signature: &Signature) -> bool {
        signature.key == self.name
            && UnparsedPublicKey::new(&ED25519, &self.bytes)
                .verify(message, &signature.bytes)
                .is_ok()
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.name, STANDARD.encode(self.bytes))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for PublicKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let (name, bytes) = parse(text, "public key")?;
        Ok(Self { name, bytes })
    }
}

/// A key that signs. Its bytes are never shown.
#[derive(Clone)]
pub struct SecretKey {
    name: String,
    seed: [u8; SEED_LENGTH],
}

impl SecretKey {
    /// Makes a key.
    pub fn generate(name: &str) -> Result<Self, KeyError> {
        let name = checked_name(name)?;
        let mut seed = [0; SEED_LENGTH];
        let filled = SystemRandom::new().fill(&mut seed);
        filled.map_err(|_| KeyError("the system gives no random numbers".to_owned()))?;
        Ok(Self { name, seed })
    }

    /// Reads the file of a key.
    pub fn read(path: &Path) -> Result<Self, KeyError> {
        const LONGEST: u64 = 1024;
        let at = |reason: String| KeyError(format!("{}: {reason}", path.display()));
        let text = regular_file::read_text(path, LONGEST).map_err(|cause| at(cause.to_string()))?;
        let (name, seed) = parse(text.trim(), "signing key").map_err(|error| at(error.0))?;
        Ok(Self { name, seed })
    }

    /// Writes a new file that only its owner can read.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        writeln!(file, "{}:{}", self.name, STANDARD.encode(self.seed))?;
        file.sync_all()
    }

    /// Returns the key that others check its signatures with.
    pub fn public_key(&self) -> Result<PublicKey, KeyError> {
        let pair = self.pair()?;
        let bytes = pair.public_key().as_ref().try_into();
        Ok(PublicKey { name: self.name.clone(), bytes: bytes.map_err(|_| unusable())? })
    }

    /// Signs a message.
    pub fn sign(&self, message: &[u8]) -> Result<Signature, KeyError> {
        let bytes = self.pair()?.sign(message).as_ref().to_vec();
        Ok(Signature { key: self.name.clone(), bytes })
    }

    fn pair(&self) -> Result<Ed25519KeyPair, KeyError> {
        Ed25519KeyPair::from_seed_unchecked(&self.seed).map_err(|_| unusable())
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKey({})", self.name)
    }
}

/// A signature and the name of its key, written as `name base64`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    key: String,
    bytes: Vec<u8>,
}

impl Signature {
    /// Returns the name of the key that it says it is of.
    pub fn key(&self) -> &str {
        &self.key
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.key, STANDARD.encode(&self.bytes))
    }
}

impl FromStr for Signature {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let wrong = || KeyError("a signature is `name base64`".to_owned());
        let (name, bytes) = text.split_once(' ').ok_or_else(wrong)?;
        let bytes = STANDARD.decode(bytes).map_err(|_| wrong())?;
        Ok(Self { key: checked_name(name)?, bytes })
    }
}

fn parse<const N: usize>(text: &str, what: &str) -> Result<(String, [u8; N]), KeyError> {
    let wrong = || KeyError(format!("not a {what}: it is `name:` and {N} bytes in Base64"));
    let (name, bytes) = text.split_once(':').ok_or_else(wrong)?;
    let bytes = STANDARD.decode(bytes).map_err(|_| wrong())?;
    Ok((checked_name(name)?, bytes.try_into().map_err(|_| wrong())?))
}

/// Returns a name that stands in headers and site files as it is.
fn checked_name(name: &str) -> Result<String, KeyError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.@".contains(c);
    if !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(is_plain) {
        return Ok(name.to_owned());
    }
    Err(KeyError(format!(
        "`{}` can't be the name of a key: use up to {LONGEST_NAME} letters, digits and `-_.@`",
        name.escape_debug()
    )))
}

fn unusable() -> KeyError {
    KeyError("the key can't be used".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_key_that_signed_verifies_and_only_what_it_signed() {
        let key = SecretKey::generate("lab").unwrap();
        let other = SecretKey::generate("lab").unwrap();
        let signature = key.sign(b"message").unwrap();
        assert!(key.public_key().unwrap().verifies(b"message", &signature));
        assert!(!key.public_key().unwrap().verifies(b"massage", &signature));
        assert!(!other.public_key().unwrap().verifies(b"message", &signature));
        let cut = Signature { bytes: signature.bytes[..63].to_vec(), ..signature };
        assert!(!key.public_key().unwrap().verifies(b"message", &cut));
    }

    #[test]
    fn signatures_are_those_of_the_standard() {
        // RFC 8032, section 7.1, test 3.
        let hex = |text: &str| -> Vec<u8> {
            (0..text.len())
                .step_by(2)
                .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
                .collect()
        };
        let seed = hex("c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7");
        let key = SecretKey { name: "rfc".to_owned(), seed: seed.try_into().unwrap() };
        let expected = hex(
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594\
             a7c15e9716ed28dc027beceea1ec40a",
        );
        assert_eq!(key.sign(&[0xaf, 0x82]).unwrap().bytes, expected);
        let public = hex("fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025");
        assert_eq!(key.public_key().unwrap().bytes.to_vec(), public);
    }

    #[test]
    fn keys_and_signatures_are_read_as_they_are_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys/lab.key");
        let key = SecretKey::generate("lab").unwrap();
        key.write(&path).unwrap();
        let public = key.public_key().unwrap();
        assert_eq!(SecretKey::read(&path).unwrap().public_key().unwrap(), public);
        assert_eq!(public.to_string().parse::<PublicKey>().unwrap(), public);
        let signature = key.sign(b"x").unwrap();
        assert_eq!(signature.to_string().parse::<Signature>().unwrap(), signature);
        assert!(key.write(&path).is_err(), "a key is never overwritten");
    }

    #[test]
    fn what_is_no_key_is_told_without_showing_it() {
        for text in ["", "lab", "lab:", "lab:AAAA", "lab:?", ":AAAA", "a b:AAAA"] {
            assert!(text.parse::<PublicKey>().is_err(), "{text}");
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        fs::write(&path, "lab:c2VjcmV0").unwrap();
        let message = SecretKey::read(&path).unwrap_err().to_string();
        assert!(
            message.contains("not a signing key") && !message.contains("c2VjcmV0"),
            "{message}"
        );
    }
}
