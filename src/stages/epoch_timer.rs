//! The seconds of each epoch of a training, also of one that was resumed by other processes.
//!
//! Times are kept beside the checkpoints, one line for each epoch and for each orderly stop within
//! one, by the step at which they were read. A process that resumes at some step takes over the
//! times up to it; so does a longer training that resumes at the end of a shorter one. The time
//! that a killed process spent in its last epoch is not counted, nor is that of validation.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Beside the checkpoints of a training.
const FILE: &str = "epoch-seconds.txt";

/// Seconds since the beginning of an epoch.
#[derive(Clone, Copy, Debug, PartialEq)]
struct EpochTime {
    epoch: usize,
    seconds: f64,
}

/// Times the epochs of one training.
pub(super) struct EpochTimer {
    path: PathBuf,
    times: BTreeMap<usize, EpochTime>,
    began: Instant,
    /// Seconds of the running epoch in an earlier process.
    earlier: f64,
}

impl EpochTimer {
    /// Starts, with the times of earlier processes.
    pub(super) fn start(folder: &Path) -> Self {
        let path = folder.join(FILE);
        let text = fs::read_to_string(&path).unwrap_or_default();
        let times = text.lines().filter_map(parse).collect();
        Self { path, times, began: Instant::now(), earlier: 0.0 }
    }

    /// Resumes at a step of an earlier process, within an epoch or at its beginning.
    pub(super) fn resume(&mut self, step: usize, epoch: usize) {
        let within = self.times.get(&step).filter(|time| time.epoch == epoch);
        self.earlier = within.map_or(0.0, |time| time.seconds);
    }

    /// Reads the time of an epoch that has ended or is stopped in, less that of its validation.
    pub(super) fn read(&mut self, step: usize, epoch: usize, validation: Duration) {
        let training = self.began.elapsed().saturating_sub(validation);
        let seconds = self.earlier + training.as_secs_f64();
        self.note(step, EpochTime { epoch, seconds });
        self.began = Instant::now();
        self.earlier = 0.0;
    }

    fn note(&mut self, step: usize, time: EpochTime) {
        self.times.insert(step, time);
        // Times are only informative: failing to keep them must not end a training.
        let _ = File::options()
            .append(true)
            .create(true)
            .open(&self.path)
            .and_then(|mut file| writeln!(file, "{step} {} {}", time.epoch, time.seconds));
    }

    /// Returns the seconds of each epoch up to a step.
    pub(super) fn seconds(&self, step: usize) -> Vec<f64> {
        // The last time of an epoch includes the earlier ones.
        let times = self.times.range(..=step).map(|(_, time)| time);
        let last: BTreeMap<_, _> = times.map(|one| (one.epoch, one.seconds)).collect();
        last.into_values().collect()
    }
}

/// Parses a line; none if it was written incompletely.
fn parse(line: &str) -> Option<(usize, EpochTime)> {
    let mut parts = line.split(' ');
    let step = parts.next()?.parse().ok()?;
    let epoch = parts.next()?.parse().ok()?;
    let seconds: f64 = parts.next()?.parse().ok()?;
    (parts.next().is_none() && seconds.is_finite()).then_some((step, EpochTime { epoch, seconds }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(timer: &mut EpochTimer, step: usize, epoch: usize, seconds: f64) {
        timer.note(step, EpochTime { epoch, seconds });
    }

    #[test]
    fn an_epoch_that_a_stop_cut_in_two_has_the_seconds_of_both_parts() {
        let folder = tempfile::tempdir().unwrap();
        let mut first = EpochTimer::start(folder.path());
        note(&mut first, 10, 1, 5.0);
        note(&mut first, 14, 2, 2.0);
        let mut second = EpochTimer::start(folder.path());
        second.resume(14, 2);
        second.read(20, 2, Duration::ZERO);
        let seconds = second.seconds(20);
        assert_eq!((seconds.len(), seconds[0].to_bits()), (2, 5.0_f64.to_bits()));
        assert!(seconds[1] >= 2.0, "{seconds:?}");
        let third = EpochTimer::start(folder.path());
        assert_eq!(third.seconds(20), seconds, "read back to the last bit");
    }

    #[test]
    fn steps_that_are_done_again_are_counted_once() {
        let folder = tempfile::tempdir().unwrap();
        let mut killed = EpochTimer::start(folder.path());
        for (step, epoch, seconds) in [(10, 1, 100.0), (20, 2, 200.0)] {
            note(&mut killed, step, epoch, seconds);
        }
        // Its last checkpoint was that of step 10.
        let mut next = EpochTimer::start(folder.path());
        next.resume(10, 2);
        next.read(20, 2, Duration::ZERO);
        let seconds = next.seconds(20);
        assert!(seconds.len() == 2 && seconds[1] < 100.0, "{seconds:?}");
    }

    #[test]
    fn a_shorter_training_has_the_seconds_of_its_own_epochs() {
        let folder = tempfile::tempdir().unwrap();
        let mut longer = EpochTimer::start(folder.path());
        for epoch in 1..=4 {
            note(&mut longer, 10 * epoch, epoch, 1.0);
        }
        assert_eq!(EpochTimer::start(folder.path()).seconds(20).len(), 2);
    }

    #[test]
    fn the_time_of_validation_is_not_that_of_training() {
        let folder = tempfile::tempdir().unwrap();
        let mut timer = EpochTimer::start(folder.path());
        timer.began = Instant::now().checked_sub(Duration::from_mins(1)).unwrap();
        timer.read(10, 1, Duration::from_secs(50));
        let seconds = timer.seconds(10)[0];
        assert!((10.0..50.0).contains(&seconds), "{seconds}");
    }

    #[test]
    fn an_incomplete_line_is_no_reading() {
        assert_eq!(parse("10 1 2.5"), Some((10, EpochTime { epoch: 1, seconds: 2.5 })));
        for torn in ["10 1", "10 1 2.5 3", "10 1 -", "", "10 1 inf"] {
            assert_eq!(parse(torn), None, "{torn}");
        }
    }
}
