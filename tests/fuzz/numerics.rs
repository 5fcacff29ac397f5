//! The part of the numerics module that the readers use.

#[path = "../../src/numerics/memory.rs"]
pub mod memory;
#[path = "../../src/numerics/points.rs"]
pub mod points;
#[path = "../../src/numerics/rng.rs"]
pub mod rng;
#[path = "../../src/numerics/units.rs"]
pub mod units;

pub use points::Points;
pub use rng::Seed;
