//! Plain numeric building blocks: validated numbers, random streams, point tables, and the
//! memory that there is for them.
//!
//! Nothing here knows images, networks or pipelines, and nothing here needs a tensor library.

pub mod memory;
pub mod pca;
pub mod points;
pub mod rng;
pub mod units;

pub use pca::{PcaError, PrincipalAxes};
pub use points::Points;
pub use rng::Seed;
