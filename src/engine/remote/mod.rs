//! Results that machines share. Nothing that comes from another machine is believed: a manifest needs the
//! signature of a key that the reader trusts, and every file must have its digest.

pub mod signature;
pub mod signed_manifest;
pub mod trust;

pub use self::signature::{PublicKey, SecretKey};
pub use self::trust::Trust;
