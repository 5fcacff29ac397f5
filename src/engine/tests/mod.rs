//! The engine as a whole, on stages made for tests.

mod bounds;
mod devices;
mod remote;
mod runs;
mod slurm;
mod trajectories;
