//! The engine as a whole, on stages made for tests.

mod runs;
mod trajectories;
