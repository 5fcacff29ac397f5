//! A manifest as it travels: signatures above, then its bytes exactly as they were signed.
//!
//! ```text
//! pcae-run manifest 1
//! signature lab <base64>
//!
//! {..}
//! ```

use super::signature::{KeyError, PublicKey, SecretKey, Signature};

const FIRST_LINE: &str = "pcae-run manifest 1\n";

/// More signatures than this are not looked at.
const MOST_SIGNATURES: usize = 16;

/// A text with its signatures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedManifest {
    signatures: Vec<Signature>,
    body: Vec<u8>,
}

impl SignedManifest {
    /// Signs a manifest, if there is a key.
    pub fn new(body: Vec<u8>, key: Option<&SecretKey>) -> Result<Self, KeyError> {
        let signatures = key.map(|key| key.sign(&message(&body))).transpose()?;
        Ok(Self { signatures: signatures.into_iter().collect(), body })
    }

    /// Reads what was written; `None` if it is something else.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes.strip_prefix(FIRST_LINE.as_bytes())?;
        let mut signatures = Vec::new();
        loop {
            let end = rest.iter().position(|&byte| byte == b'\n')?;
            let (line, after) = (std::str::from_utf8(&rest[..end]).ok()?, &rest[end + 1..]);
            rest = after;
            if line.is_empty() {
                return Some(Self { signatures, body: rest.to_vec() });
            }
            signatures.push(line.strip_prefix("signature ")?.parse().ok()?);
            if signatures.len() > MOST_SIGNATURES {
                return None;
            }
        }
    }

    /// Returns the bytes to be stored.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = FIRST_LINE.as_bytes().to_vec();
        for signature in &self.signatures {
            bytes.extend(format!("signature {signature}\n").into_bytes());
        }
        bytes.push(b'\n');
        bytes.extend(&self.body);
        bytes
    }

    /// Returns the manifest.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// Returns the first of these keys that has signed it.
    pub fn signed_by<'k>(&self, keys: &'k [PublicKey]) -> Option<&'k PublicKey> {
        let message = message(&self.body);
        let verifies = |key: &&PublicKey| {
            self.signatures.iter().any(|signature| key.verifies(&message, signature))
        };
        keys.iter().find(verifies)
    }

    /// Returns whose signatures it says it has.
    pub fn signers(&self) -> impl Iterator<Item = &str> {
        self.signatures.iter().map(Signature::key)
    }
}

/// Returns what is signed: no signature of anything else can be taken for one of a manifest.
fn message(body: &[u8]) -> Vec<u8> {
    [FIRST_LINE.as_bytes(), body].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_read_as_it_was_written_and_verified_by_its_bytes() {
        let key = SecretKey::generate("lab").unwrap();
        let keys = [key.public_key().unwrap()];
        let signed = SignedManifest::new(b"{\n\n}".to_vec(), Some(&key)).unwrap();
        let bytes = signed.to_bytes();
        let read = SignedManifest::parse(&bytes).unwrap();
        assert_eq!(read, signed);
        assert_eq!(read.body(), b"{\n\n}");
        assert!(read.signed_by(&keys).is_some());
        for at in FIRST_LINE.len()..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            let is_believed =
                SignedManifest::parse(&changed).is_some_and(|read| read.signed_by(&keys).is_some());
            assert!(!is_believed, "byte {at}");
        }
        for length in 0..bytes.len() {
            let cut = SignedManifest::parse(&bytes[..length]);
            assert!(cut.is_none_or(|read| read.signed_by(&keys).is_none()), "{length} bytes");
        }
    }

    #[test]
    fn without_a_key_it_has_no_signature() {
        let bytes = SignedManifest::new(b"{}".to_vec(), None).unwrap().to_bytes();
        let read = SignedManifest::parse(&bytes).unwrap();
        assert_eq!((read.signers().count(), read.body()), (0, b"{}".as_slice()));
    }
}
