//! Which results of a remote are taken.

use super::signature::PublicKey;
use super::signed_manifest::SignedManifest;
use crate::engine::cache::Entry;

/// Whose results are taken, and from what machines.
#[derive(Clone, Debug, Default)]
pub struct Trust {
    /// The keys that are trusted.
    pub keys: Vec<PublicKey>,
    /// Whether results without a trusted signature are taken, too.
    pub unsigned: bool,
    /// The class of this machine's processor.
    pub processor_class: String,
    /// The kind of device that stages compute on here, without a number.
    pub device: String,
    /// Whether results of other processor classes and devices are refused.
    pub same_machine: bool,
}

impl Trust {
    /// Makes sure that somebody vouches for a manifest; the error says what is wrong with it: `is not signed`.
    pub fn check_signature(&self, manifest: &SignedManifest) -> Result<(), String> {
        if self.unsigned || manifest.signed_by(&self.keys).is_some() {
            return Ok(());
        }
        let mut signers: Vec<&str> = manifest.signers().collect();
        signers.dedup();
        let is_known = |name: &&str| self.keys.iter().any(|key| key.name() == *name);
        Err(match signers[..] {
            [] => "is not signed".to_owned(),
            [name] if is_known(&name) => {
                format!("has a signature of `{name}` that is not of the trusted key of this name")
            }
            _ => {
                format!(
                    "is signed by `{}`, which is not among the trusted keys",
                    signers.join("`, `")
                )
            }
        })
    }

    /// Returns what the user should know about where a result was computed, or why it is refused.
    pub fn check_machine(&self, entry: &Entry) -> Result<Option<String>, String> {
        let run = &entry.run;
        let mut others = Vec::new();
        if run.processor_class != self.processor_class {
            let class = Some(run.processor_class.as_str()).filter(|class| !class.is_empty());
            others.push(class.unwrap_or("an unknown processor class"));
        }
        // Which of several it was makes no difference.
        let kind = run.device.split(':').next().unwrap_or_default();
        // The device computes only where the key says by which backend.
        if entry.record.backend.is_some() && kind != self.device {
            others.push(kind);
        }
        if others.is_empty() {
            return Ok(None);
        }
        let others = others.join(", ");
        if self.same_machine { Err(others) } else { Ok(Some(others)) }
    }
}
