//! The engine as a whole, on stages made for tests.

mod bounds;
mod remote;
mod runs;
mod slurm;
mod trajectories;
