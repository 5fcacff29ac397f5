//! The seconds of each epoch of a training, also of one that several processes took part in.
//!
//! Times are kept beside the checkpoints, one line for each epoch and for each orderly stop within
//! one, by the step at which they were read. A process that goes on from some step takes over what
//! was read up to it; so does a longer training that goes on from the end of a shorter one. Of a
//! killed process, what it did in the epoch that it was killed in is not counted.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Beside the checkpoints of a training.
const FILE: &str = "epoch-seconds.txt";

/// One reading: the epoch it belongs to, and the seconds since this epoch began.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Reading {
    epoch: usize,
    seconds: f64,
}

/// Times the epochs of one training.
pub(super) struct Stopwatch {
    path: PathBuf,
    readings: BTreeMap<usize, Reading>,
    began: Instant,
    /// Seconds of the running epoch in an earlier process.
    earlier: f64,
}

impl Stopwatch {
    /// Starts, with the readings of earlier processes.
    pub(super) fn start(folder: &Path) -> Self {
        let path = folder.join(FILE);
        let text = fs::read_to_string(&path).unwrap_or_default();
        let readings = text.lines().filter_map(parse).collect();
        Self { path, readings, began: Instant::now(), earlier: 0.0 }
    }

    /// Goes on from a step of an earlier process, within an epoch or at its beginning.
    pub(super) fn resume(&mut self, step: usize, epoch: usize) {
        let within = self.readings.get(&step).filter(|reading| reading.epoch == epoch);
        self.earlier = within.map_or(0.0, |reading| reading.seconds);
    }

    /// Reads the time of an epoch that is over, or is left within.
    pub(super) fn read(&mut self, step: usize, epoch: usize) {
        let seconds = self.earlier + self.began.elapsed().as_secs_f64();
        self.note(step, Reading { epoch, seconds });
        self.began = Instant::now();
        self.earlier = 0.0;
    }

    fn note(&mut self, step: usize, reading: Reading) {
        self.readings.insert(step, reading);
        // Times are for people to read: that they can't be kept must not end a training.
        let _ =
            File::options().append(true).create(true).open(&self.path).and_then(|mut file| {
                writeln!(file, "{step} {} {}", reading.epoch, reading.seconds)
            });
    }

    /// Returns the seconds of each epoch up to a step.
    pub(super) fn seconds(&self, step: usize) -> Vec<f64> {
        // The last reading of an epoch has those within it in it.
        let readings = self.readings.range(..=step).map(|(_, reading)| reading);
        let last: BTreeMap<_, _> = readings.map(|one| (one.epoch, one.seconds)).collect();
        last.into_values().collect()
    }
}

/// Reads a line; a torn one is none.
fn parse(line: &str) -> Option<(usize, Reading)> {
    let mut parts = line.split(' ');
    let step = parts.next()?.parse().ok()?;
    let epoch = parts.next()?.parse().ok()?;
    let seconds: f64 = parts.next()?.parse().ok()?;
    (parts.next().is_none() && seconds.is_finite()).then_some((step, Reading { epoch, seconds }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(watch: &mut Stopwatch, step: usize, epoch: usize, seconds: f64) {
        watch.note(step, Reading { epoch, seconds });
    }

    #[test]
    fn an_epoch_that_a_stop_cut_in_two_has_the_seconds_of_both_parts() {
        let folder = tempfile::tempdir().unwrap();
        let mut first = Stopwatch::start(folder.path());
        note(&mut first, 10, 1, 5.0);
        note(&mut first, 14, 2, 2.0);
        let mut second = Stopwatch::start(folder.path());
        second.resume(14, 2);
        second.read(20, 2);
        let seconds = second.seconds(20);
        assert_eq!((seconds.len(), seconds[0].to_bits()), (2, 5.0_f64.to_bits()));
        assert!(seconds[1] >= 2.0, "{seconds:?}");
        let third = Stopwatch::start(folder.path());
        assert_eq!(third.seconds(20), seconds, "read back to the last bit");
    }

    #[test]
    fn steps_that_are_done_again_are_counted_once() {
        let folder = tempfile::tempdir().unwrap();
        let mut killed = Stopwatch::start(folder.path());
        for (step, epoch, seconds) in [(10, 1, 100.0), (20, 2, 200.0)] {
            note(&mut killed, step, epoch, seconds);
        }
        // Its last checkpoint was that of step 10.
        let mut next = Stopwatch::start(folder.path());
        next.resume(10, 2);
        next.read(20, 2);
        let seconds = next.seconds(20);
        assert!(seconds.len() == 2 && seconds[1] < 100.0, "{seconds:?}");
    }

    #[test]
    fn a_shorter_training_has_the_seconds_of_its_own_epochs() {
        let folder = tempfile::tempdir().unwrap();
        let mut longer = Stopwatch::start(folder.path());
        for epoch in 1..=4 {
            note(&mut longer, 10 * epoch, epoch, 1.0);
        }
        assert_eq!(Stopwatch::start(folder.path()).seconds(20).len(), 2);
    }

    #[test]
    fn a_torn_line_is_no_reading() {
        assert_eq!(parse("10 1 2.5"), Some((10, Reading { epoch: 1, seconds: 2.5 })));
        for torn in ["10 1", "10 1 2.5 3", "10 1 -", "", "10 1 inf"] {
            assert_eq!(parse(torn), None, "{torn}");
        }
    }
}
