//! The predicted time and disk space of a run: from earlier runs of the same kinds on this device,
//! else from the work that stages count.

use std::collections::BTreeMap;

use serde::Serialize;

use super::rates::{Basis, Rates, quantile};
use crate::cli::error::CommandError;
use crate::cli::output::terminal;
use crate::engine::cache::Cache;
use crate::engine::key::builder;
use crate::engine::plan::{Plan, StageIndex};
use crate::engine::stage::{Needs, StageSet};
use crate::stages::AnyStage;

/// Below this many earlier runs of a kind that counts no work, nothing is predicted.
const FEWEST_RUNS: usize = 3;

/// How many stages may run in parallel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parallelism {
    /// All of them.
    pub(crate) jobs: usize,
    /// Those that use the compute device.
    pub(crate) device_jobs: usize,
}

/// What running the stages takes, each from a low to a high estimate.
#[derive(Debug, Serialize)]
pub(crate) struct Prediction {
    /// Compute seconds of all stages together.
    seconds: [f64; 2],
    /// Seconds from start to end, with stages in parallel.
    pub(crate) wall: [f64; 2],
    /// Bytes on disk.
    bytes: [f64; 2],
    /// How many earlier runs this is based on.
    runs: usize,
    /// How many stages are predicted from their counted work alone.
    pub(crate) counted: usize,
    /// What their rate is based on.
    #[serde(rename = "basis")]
    rate: Basis,
    /// Kinds that can't be predicted, and how many stages of each are due.
    unknown: BTreeMap<String, usize>,
    #[serde(skip)]
    jobs: usize,
    /// The middle of the seconds of each stage; 0 where nothing is known.
    #[serde(skip)]
    pub(crate) stages: BTreeMap<StageIndex, f64>,
}

impl Prediction {
    /// Predicts what the due stages take.
    pub(crate) fn of(
        plan: &Plan<AnyStage>,
        cache: &Cache,
        due: &[StageIndex],
        parallelism: Parallelism,
        rates: &mut Rates<'_>,
    ) -> Result<Self, CommandError> {
        let mut sum = Self {
            seconds: [0.0; 2],
            wall: [0.0; 2],
            bytes: [0.0; 2],
            runs: 0,
            counted: 0,
            rate: rates.basis(),
            unknown: BTreeMap::new(),
            jobs: parallelism.jobs,
            stages: BTreeMap::new(),
        };
        let works = if due.is_empty() { Default::default() } else { plan.works() };
        let mut histories = BTreeMap::new();
        let mut runs = BTreeMap::new();
        let mut on_device = [0.0; 2];
        // When each stage could end at the earliest, however many run in parallel.
        let mut ends = vec![[0.0; 2]; plan.stages().len()];
        for &stage in due {
            let planned = &plan.stages()[stage];
            let (kind, needs) =
                (planned.stage.as_stage().kind().name, planned.stage.as_stage().needs());
            if !histories.contains_key(kind) {
                histories.insert(kind, cache.history(kind)?);
            }
            let history = &histories[kind];
            let is_known = history.seconds.len() >= FEWEST_RUNS;
            let seconds = if let Some(work) = works[stage] {
                let settings = builder::bare_record(&*planned.stage).components();
                let (seconds, known_runs) = rates.seconds(kind, needs, work.0, &settings)?;
                sum.counted += usize::from(known_runs == 0);
                runs.insert(kind, known_runs);
                seconds
            } else if is_known {
                runs.insert(kind, history.seconds.len());
                [0.1, 0.9].map(|share| quantile(&history.seconds, share))
            } else {
                *sum.unknown.entry(kind.to_owned()).or_default() += 1;
                [0.0; 2]
            };
            sum.stages.insert(stage, (seconds[0] * seconds[1]).sqrt());
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
            let all = sum.seconds[at] / parallelism.jobs as f64;
            let device = on_device / parallelism.device_jobs.min(parallelism.jobs) as f64;
            sum.wall[at] = sum.wall[at].max(all).max(device);
        }
        sum.runs = runs.values().sum();
        Ok(sum)
    }

    /// Returns the middle of the time from start to end, in seconds.
    pub(crate) fn middle(&self) -> f64 {
        (self.wall[0] * self.wall[1]).sqrt()
    }

    /// Returns the time from start to end in words.
    pub(crate) fn time(&self) -> String {
        about(self.wall)
    }

    /// Returns in words what the prediction is based on.
    pub(crate) fn basis(&self) -> String {
        let mut parts = Vec::new();
        if self.runs > 0 {
            parts.push(format!("history: {}", terminal::count(self.runs, "run")));
        }
        if self.counted > 0 {
            let stages = terminal::count(self.counted, "stage");
            parts.push(match self.rate {
                Basis::Measured => format!("{stages} at a measured rate"),
                Basis::Rough => format!("{stages} at a rough rate, not measured here"),
            });
        }
        parts.join("; ")
    }

    /// Prints the prediction.
    pub(crate) fn print(&self) {
        if self.runs + self.counted > 0 {
            let disk = if self.bytes[1] > 0.0 {
                let [low, high] = self.bytes.map(|bytes| terminal::size(bytes as u64));
                format!("; disk {}", if low == high { low } else { format!("{low} to {high}") })
            } else {
                String::new()
            };
            terminal::line(&format!(
                "compute time {}; with -j {} {}{disk} ({})",
                about(self.seconds),
                self.jobs,
                about(self.wall),
                self.basis(),
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
