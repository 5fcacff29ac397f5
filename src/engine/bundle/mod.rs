//! Bundles: a pipeline with its results in one file, for a reader who trusts nobody.
//!
//! A bundle is a zip that any tool opens, of which this program reads only the one form that it writes
//! (`layout`): no links, no folders, no time stamps, no gaps, nothing before, between or behind.
//!
//! ```text
//! inventory.txt            signatures, then name, size and digest of every other file
//! cache/entries/ab/cd.json manifests of results, laid out as in a cache
//! cache/objects/ab/cdef..  their files
//! ...                      whatever else it is about
//! ```
//!
//! Nothing of it is unpacked before sizes, names and the inventory have been checked, and nothing of it
//! is believed before every digest has.

mod archive;
mod bounds;
mod error;
mod inventory;
mod layout;
mod names;
mod packer;
mod reader;
mod results;
#[cfg(test)]
mod tests;

pub use error::BundleError;
pub use inventory::{About, Extent, INVENTORY, ListedFile};
pub use packer::{Packed, Packer};
pub use reader::Bundle;
pub use results::{entry_name, object_name};
