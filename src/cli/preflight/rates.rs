//! How fast stages run on this machine: from earlier runs, from a measurement, or from a guess.
//!
//! A measurement is kept in the cache folder for each backend, machine and number of threads.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde::Serialize;

use crate::cli::error::CommandError;
use crate::cli::workspace::Workspace;
use crate::device::{DeviceKind, DeviceName};
use crate::engine::cache::Entry;
use crate::engine::stage::Needs;
use crate::engine::system::host;
use crate::stages;

/// At most this many earlier results of a kind are considered.
const RECENT: usize = 200;

/// Settings of a stage by name.
type Settings = BTreeMap<String, String>;

/// What a rate is based on where there are no earlier runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Basis {
    /// The type of device alone.
    Rough,
    /// A short training on this machine.
    Measured,
}

impl Basis {
    /// Returns the factors between which the true rate is expected to lie.
    const fn uncertainty(self) -> [f64; 2] {
        match self {
            Self::Rough => [0.25, 4.0],
            Self::Measured => [0.5, 2.0],
        }
    }
}

/// Rates in counted operations a second.
pub(crate) struct Rates<'a> {
    workspace: &'a Workspace,
    device: DeviceName,
    threads: usize,
    host: String,
    /// Rates of earlier runs by kind, with what was run.
    kinds: BTreeMap<&'static str, Vec<(Settings, f64)>>,
    basis: Basis,
    rate: f64,
}

impl<'a> Rates<'a> {
    /// Takes the stored measurement for a device and a number of threads, or guesses.
    pub(crate) fn new(workspace: &'a Workspace, device: DeviceName, threads: usize) -> Self {
        let mut rates = Self {
            workspace,
            device,
            threads,
            host: host::name(),
            kinds: BTreeMap::new(),
            basis: Basis::Rough,
            rate: stages::default_rate(device.kind),
        };
        if let Some(&rate) = rates.stored().get(&rates.name()).filter(|rate| **rate > 0.0) {
            (rates.basis, rates.rate) = (Basis::Measured, rate);
        }
        rates
    }

    /// Takes a rate that was measured elsewhere.
    pub(crate) fn measured(mut self, rate: f64) -> Self {
        (self.basis, self.rate) = (Basis::Measured, rate);
        self
    }

    /// Returns what rates are based on for kinds without earlier runs.
    pub(crate) const fn basis(&self) -> Basis {
        self.basis
    }

    /// Measures the device, which takes less than a second on a processor, and stores the result.
    pub(crate) fn measure(&mut self) {
        let Some(rate) = stages::measure_rate(self.device, self.threads) else {
            return;
        };
        (self.basis, self.rate) = (Basis::Measured, rate);
        let mut stored = self.stored();
        stored.insert(self.name(), rate);
        // Without the file the next run measures again.
        let _ = fs::write(self.path(), serde_json::to_string_pretty(&stored).unwrap_or_default());
    }

    /// Returns the seconds that counted work of a kind may take, from and to, and the number of
    /// earlier runs that this is based on: those whose settings differ least. So a training is told from
    /// those of the same model with other seeds, and one that stops early from when they did.
    pub(crate) fn seconds(
        &mut self,
        kind: &'static str,
        needs: Needs,
        work: f64,
        settings: &Settings,
    ) -> Result<([f64; 2], usize), CommandError> {
        let known = nearest(self.of_kind(kind)?, settings);
        if !known.is_empty() {
            // Even a run that is repeated differs by as much.
            let [slow, fast] = [quantile(&known, 0.25) * 0.8, quantile(&known, 0.75) * 1.25];
            return Ok(([work / fast, work / slow], known.len()));
        }
        let rate = match needs {
            Needs::Cpu if !self.device.is_processor() => stages::default_rate(DeviceKind::Flex),
            Needs::Cpu | Needs::Device => self.rate,
        };
        Ok((self.basis.uncertainty().map(|factor| factor * work / rate), 0))
    }

    fn of_kind(&mut self, kind: &'static str) -> Result<&[(Settings, f64)], CommandError> {
        if !self.kinds.contains_key(kind) {
            let is_alike = |device: &str| {
                device.parse().is_ok_and(|device: DeviceName| device.kind == self.device.kind)
            };
            let entries = self.workspace.cache.recent(kind, RECENT)?;
            let here = entries.iter().filter(|Entry { run, .. }| {
                run.host == self.host && is_alike(&run.device) && run.seconds > 0.0
            });
            let known = here.filter_map(|Entry { run, record, .. }| {
                Some((record.components(), run.work? / run.seconds))
            });
            self.kinds.insert(kind, known.collect());
        }
        Ok(&self.kinds[kind])
    }

    fn stored(&self) -> BTreeMap<String, f64> {
        let text = fs::read(self.path()).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    fn path(&self) -> PathBuf {
        self.workspace.cache.root().join("rates.json")
    }

    fn name(&self) -> String {
        let family = self.device.kind.family();
        format!("{family} on {}, threads {}", self.host, self.threads)
    }
}

/// Returns the rates of the runs whose settings differ least from these, ascending.
fn nearest(known: &[(Settings, f64)], settings: &Settings) -> Vec<f64> {
    let differing = |of_run: &Settings| {
        settings.iter().filter(|(name, value)| of_run.get(*name) != Some(*value)).count()
    };
    let counts: Vec<usize> = known.iter().map(|(of_run, _)| differing(of_run)).collect();
    let least = counts.iter().min();
    let of_least = known.iter().zip(&counts).filter(|(_, count)| Some(*count) == least);
    let mut rates: Vec<f64> = of_least.map(|((_, rate), _)| *rate).collect();
    rates.sort_by(f64::total_cmp);
    rates
}

/// Returns the number that a share of ascending numbers lies below.
pub(crate) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = (share * (sorted.len() - 1) as f64).round() as usize;
    sorted[at]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_of_the_runs_that_are_most_alike() {
        let settings = |model: &str, seed: &str| {
            let pairs = [("model", model), ("seed", seed), ("length", "100")];
            pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
        };
        let known =
            [(settings("a", "0"), 3.0), (settings("b", "0"), 50.0), (settings("a", "1"), 2.0)];
        assert_eq!(nearest(&known, &settings("a", "2")), [2.0, 3.0]);
        assert_eq!(nearest(&known, &settings("b", "2")), [50.0]);
        assert_eq!(nearest(&[], &settings("a", "2")), [0.0; 0]);
    }
}
