//! What an item of the benchmark is, and what measuring it gives.

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use pcae::numerics::Points;
use serde::{Deserialize, Serialize};

use crate::{machine, points};

/// Work that we do and another program does, too.
pub(crate) trait Item {
    /// Returns the name by which it is chosen.
    fn name(&self) -> String;

    /// Says in a few words what is done.
    fn title(&self) -> String;

    /// Does our side of the work, alone in its process, and leaves the result if it is wanted.
    fn ours(&self, given: &Given) -> Result<Measured, String>;

    /// Returns who does the same.
    fn peer(&self) -> Option<Peer>;

    /// Returns how many of what a measurement gets done, if a rate says more than seconds.
    fn amount(&self) -> Option<(f64, &'static str)> {
        None
    }

    /// Returns the billions of operations with floating-point numbers in a measurement, if they are
    /// what takes the time.
    fn giga_operations(&self) -> Option<f64> {
        None
    }

    /// Returns the series that this is one size of, to see how time grows.
    fn size(&self) -> Option<(&'static str, usize)> {
        None
    }

    /// Returns a small version of the work and the plain loops it must be faster than.
    fn guard(&self) -> Option<Guard> {
        None
    }
}

/// What our side gets.
pub(crate) struct Given {
    /// A file of points: see points.rs.
    pub(crate) points: PathBuf,
    /// Where the result is wanted, for the peer to compare with its own.
    pub(crate) result: Option<PathBuf>,
}

impl Given {
    /// Returns the first points of the file.
    pub(crate) fn read(&self, rows: usize) -> Result<Points, String> {
        points::read(&self.points, rows)
    }

    /// Leaves numbers as the result if it is wanted.
    pub(crate) fn leave<N: Copy, const BYTES: usize>(
        &self,
        numbers: impl Iterator<Item = N>,
        bytes: impl Fn(N) -> [u8; BYTES],
    ) -> Result<(), String> {
        let Some(path) = &self.result else {
            return Ok(());
        };
        let content: Vec<u8> = numbers.flat_map(bytes).collect();
        fs::write(path, content).map_err(|error| format!("{}: {error}", path.display()))
    }
}

/// A script in `peers/`. It gets the points' file, our result's file and these arguments, and
/// prints a line of JSON with what [`Measured`] has.
pub(crate) struct Peer {
    /// File name of the script.
    pub(crate) script: &'static str,
    /// What it gets besides.
    pub(crate) arguments: Vec<String>,
}

/// What one side took, once.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Measured {
    /// Time of the work itself: its data are in memory before.
    pub(crate) seconds: f64,
    /// Memory of the process before the work, in MB.
    pub(crate) started_mb: f64,
    /// Most memory of the process until the work was done, in MB.
    pub(crate) peak_mb: f64,
    /// Name and version of the other program.
    #[serde(default)]
    pub(crate) program: String,
    /// Largest difference of the two results, in parts of the number itself.
    #[serde(default)]
    pub(crate) difference: Option<f64>,
}

impl Measured {
    /// Measures work, and returns its result, too.
    pub(crate) fn of<T>(work: impl FnOnce() -> T) -> (T, Self) {
        let started_mb = machine::memory_mb("VmRSS:");
        let start = Instant::now();
        let result = work();
        let seconds = start.elapsed().as_secs_f64();
        let peak_mb = machine::memory_mb("VmHWM:");
        let program = String::new();
        (result, Self { seconds, started_mb, peak_mb, program, difference: None })
    }
}

/// A small version of the work, done in two ways that must agree.
pub(crate) struct Guard {
    /// How many times as fast ours must be.
    pub(crate) floor: f64,
    /// Our way.
    pub(crate) ours: Box<dyn Fn() -> Vec<f64>>,
    /// Plain loops, on all cores as well.
    pub(crate) naive: Box<dyn Fn() -> Vec<f64>>,
}
