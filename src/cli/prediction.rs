//! What running stages may take on this device: from earlier runs where they fit, else from the work
//! that stages count.

use std::collections::BTreeMap;

use serde::Serialize;

use super::failure::Failure;
use super::rates::{Basis, Rates, quantile};
use super::session::Session;
use super::terminal;
use crate::engine::cost;
use crate::engine::plan::StageIndex;
use crate::engine::stage::{Needs, StageSet};

/// Below this many earlier runs of a kind that counts no work, nothing is predicted.
const FEWEST_RUNS: usize = 3;

/// How many stages may run side by side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lanes {
    /// All of them.
    pub(super) jobs: usize,
    /// Those that use the compute device.
    pub(super) device_jobs: usize,
}

/// What running the stages may take, each from a low to a high number.
#[derive(Debug, Serialize)]
pub(super) struct Prediction {
    /// Compute seconds of all stages together.
    seconds: [f64; 2],
    /// Seconds from start to end, with stages side by side.
    pub(super) wall: [f64; 2],
    /// Bytes on disk.
    bytes: [f64; 2],
    /// How many earlier runs this rests on.
    runs: usize,
    /// How many stages are predicted from their counted work alone.
    pub(super) counted: usize,
    /// What the rate of those rests on.
    basis: Basis,
    /// Kinds that can't be predicted, and how many stages of each are due.
    unknown: BTreeMap<String, usize>,
    #[serde(skip)]
    jobs: usize,
}

impl Prediction {
    /// Predicts what the due stages take.
    pub(super) fn of(
        session: &Session,
        due: &[StageIndex],
        lanes: Lanes,
        rates: &mut Rates<'_>,
    ) -> Result<Self, Failure> {
        let mut sum = Self {
            seconds: [0.0; 2],
            wall: [0.0; 2],
            bytes: [0.0; 2],
            runs: 0,
            counted: 0,
            basis: rates.basis(),
            unknown: BTreeMap::new(),
            jobs: lanes.jobs,
        };
        let works = if due.is_empty() { Vec::new() } else { cost::works(&session.plan) };
        let mut histories = BTreeMap::new();
        let mut runs = BTreeMap::new();
        let mut on_device = [0.0; 2];
        // When each stage could end at the earliest, however many run side by side.
        let mut ends = vec![[0.0; 2]; session.plan.stages().len()];
        for &stage in due {
            let planned = &session.plan.stages()[stage];
            let (kind, needs) =
                (planned.stage.as_stage().kind().name, planned.stage.as_stage().needs());
            if !histories.contains_key(kind) {
                histories.insert(kind, session.cache.history(kind)?);
            }
            let history = &histories[kind];
            let is_known = history.seconds.len() >= FEWEST_RUNS;
            let seconds = if let Some(work) = works[stage] {
                let (seconds, rests_on) = rates.seconds(kind, needs, work.0)?;
                sum.counted += usize::from(rests_on == 0);
                runs.insert(kind, rests_on);
                seconds
            } else if is_known {
                runs.insert(kind, history.seconds.len());
                [0.1, 0.9].map(|share| quantile(&history.seconds, share))
            } else {
                *sum.unknown.entry(kind.to_owned()).or_default() += 1;
                [0.0; 2]
            };
            let bytes: Vec<_> = history.bytes.iter().map(|&bytes| bytes as f64).collect();
            for (at, share) in [0.1, 0.9].into_iter().enumerate() {
                let before = planned.members().map(|member| ends[member][at]);
                ends[stage][at] = before.fold(0.0, f64::max) + seconds[at];
                sum.seconds[at] += seconds[at];
                sum.wall[at] = sum.wall[at].max(ends[stage][at]);
                on_device[at] += if needs == Needs::Device { seconds[at] } else { 0.0 };
                sum.bytes[at] += if is_known { quantile(&bytes, share) } else { 0.0 };
            }
        }
        for (at, on_device) in on_device.into_iter().enumerate() {
            let all = sum.seconds[at] / lanes.jobs as f64;
            let device = on_device / lanes.device_jobs.min(lanes.jobs) as f64;
            sum.wall[at] = sum.wall[at].max(all).max(device);
        }
        sum.runs = runs.values().sum();
        Ok(sum)
    }

    /// Returns the middle of the time from start to end, in seconds.
    pub(super) fn middle(&self) -> f64 {
        (self.wall[0] * self.wall[1]).sqrt()
    }

    /// Returns the time from start to end in words.
    pub(super) fn time(&self) -> String {
        about(self.wall)
    }

    /// Returns in words what the prediction rests on.
    pub(super) fn grounds(&self) -> String {
        let mut grounds = Vec::new();
        if self.runs > 0 {
            grounds.push(format!("history: {}", terminal::count(self.runs, "run")));
        }
        if self.counted > 0 {
            let stages = terminal::count(self.counted, "stage");
            grounds.push(match self.basis {
                Basis::Measured => format!("{stages} by a measured rate"),
                Basis::Rough => format!("{stages} by a rough rate, not measured here"),
            });
        }
        grounds.join("; ")
    }

    /// Prints it all.
    pub(super) fn print(&self) {
        if self.runs + self.counted > 0 {
            let disk = if self.bytes[1] > 0.0 {
                let [low, high] = self.bytes.map(|bytes| terminal::size(bytes as u64));
                format!("; disk {}", if low == high { low } else { format!("{low} to {high}") })
            } else {
                String::new()
            };
            terminal::line(&format!(
                "compute time {}, with -j {} {}{disk} ({})",
                about(self.seconds),
                self.jobs,
                about(self.wall),
                self.grounds(),
            ));
        }
        if !self.unknown.is_empty() {
            let kinds: Vec<_> =
                self.unknown.iter().map(|(kind, count)| format!("{kind} ({count})")).collect();
            terminal::line(&format!(
                "no history (fewer than {FEWEST_RUNS} runs): {}",
                kinds.join(", ")
            ));
        }
    }
}

/// Returns a range of seconds for people, in one unit and no finer than it is known.
fn about([low, high]: [f64; 2]) -> String {
    const MINUTE: f64 = 60.0;
    const HOUR: f64 = 60.0 * MINUTE;
    const DAY: f64 = 24.0 * HOUR;
    const YEAR: f64 = 365.0 * DAY;
    let units = [
        (2.0 * YEAR, YEAR, "year"),
        (2.0 * DAY, DAY, "day"),
        (2.0 * HOUR, HOUR, "hour"),
        (MINUTE, MINUTE, "minute"),
    ];
    let unit = units.into_iter().find(|(from, ..)| high >= *from);
    let Some((_, unit, name)) = unit else {
        let [low, high] = [low, high].map(terminal::duration);
        return if low == high { low } else { format!("{low} to {high}") };
    };
    let [low, high] = [low / unit, high / unit].map(two_digits);
    match (low == high, &*high) {
        (true, "1") => format!("about 1 {name}"),
        (true, _) => format!("about {high} {name}s"),
        (false, _) => format!("about {low} to {high} {name}s"),
    }
}

/// Returns a number with two digits that mean something, and no decimals beyond the first.
fn two_digits(value: f64) -> String {
    if value < 9.95 {
        let text = format!("{value:.1}");
        return text.strip_suffix(".0").map_or_else(|| text.clone(), str::to_owned);
    }
    let scale = 10_f64.powf((value.log10() + 1e-9).floor() - 1.0);
    format!("{:.0}", (value / scale).round() * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_no_finer_than_they_are_known() {
        assert_eq!(about([0.041, 2.0]), "0.04 s to 2.00 s");
        assert_eq!(about([100.0, 400.0]), "about 1.7 to 6.7 minutes");
        assert_eq!(about([10_801.0, 21_999.0]), "about 3 to 6.1 hours");
        assert_eq!(about([86_400.0, 86_400.0]), "about 24 hours");
        assert_eq!(about([3.0e6, 1.2345e7]), "about 35 to 140 days");
        assert_eq!(about([7e8, 1e11]), "about 22 to 3200 years");
    }
}
