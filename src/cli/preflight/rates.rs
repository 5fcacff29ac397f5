//! How fast stages run on this machine: from earlier runs, from a measurement, or from a guess.
//!
//! A measurement is kept in the cache folder for each backend, machine and number of threads.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde::Serialize;

use crate::cli::error::CommandError;
use crate::cli::workspace::Workspace;
use crate::device::{self, DeviceName};
use crate::engine::stage::Needs;
use crate::engine::system::host;
use crate::stages;

/// At most this many earlier results of a kind are considered.
const RECENT: usize = 50;

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
    /// Rates of earlier runs by kind, ascending.
    kinds: BTreeMap<&'static str, Vec<f64>>,
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
            rate: stages::default_rate(device),
        };
        if let Some(&rate) = rates.stored().get(&rates.name()).filter(|rate| **rate > 0.0) {
            (rates.basis, rates.rate) = (Basis::Measured, rate);
        }
        rates
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
    /// earlier runs that this is based on.
    pub(crate) fn seconds(
        &mut self,
        kind: &'static str,
        needs: Needs,
        work: f64,
    ) -> Result<([f64; 2], usize), CommandError> {
        let known = self.of_kind(kind)?;
        if !known.is_empty() {
            // Even a run that is repeated differs by as much.
            let [slow, fast] = [quantile(known, 0.25) * 0.8, quantile(known, 0.75) * 1.25];
            return Ok(([work / fast, work / slow], known.len()));
        }
        let rate = match needs {
            Needs::Cpu if !self.device.is_processor() => stages::default_rate(DeviceName::Flex),
            Needs::Cpu | Needs::Device => self.rate,
        };
        Ok((self.basis.uncertainty().map(|factor| factor * work / rate), 0))
    }

    fn of_kind(&mut self, kind: &'static str) -> Result<&[f64], CommandError> {
        if !self.kinds.contains_key(kind) {
            let device = self.device.to_string();
            let entries = self.workspace.cache.recent(kind, RECENT)?;
            let here = entries
                .iter()
                .map(|entry| &entry.run)
                .filter(|run| run.host == self.host && run.device == device && run.seconds > 0.0);
            let mut known: Vec<_> = here.filter_map(|run| Some(run.work? / run.seconds)).collect();
            known.sort_by(f64::total_cmp);
            self.kinds.insert(kind, known);
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
        format!("{} on {}, threads {}", device::family(self.device), self.host, self.threads)
    }
}

/// Returns the number that a share of ascending numbers lies below.
pub(crate) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = (share * (sorted.len() - 1) as f64).round() as usize;
    sorted[at]
}
