//! Fills the record of a training, step by step.
//!
//! An epoch's row has the means of its losses, and at its end the state of the model, the
//! validation loss, and the variance of each coordinate over the codes that the epoch has seen
//! (while weights were changing: no extra pass over the data is made for it). All of it is part
//! of a checkpoint, so that a resumed run ends with the same record.

use super::History;
use crate::numerics::Points;

/// Share of the variance that the leading coordinates hold at the dimension shown while training.
const SHOWN_SHARE: f64 = 0.99;
/// Columns before the first loss.
const LEADING: usize = 2;

/// The record so far, and what the running epoch adds to it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Recorder {
    pub(super) history: History,
    pub(super) codes: RunningVariance,
    latent: usize,
}

impl Recorder {
    pub(super) fn new(latent: usize) -> Self {
        Self::resumed(latent, History::default(), RunningVariance::default())
    }

    pub(super) const fn resumed(latent: usize, history: History, codes: RunningVariance) -> Self {
        Self { history, codes, latent }
    }

    /// Adds one step of an epoch (counted from 1).
    pub(super) fn add_step(&mut self, epoch: usize, losses: &[(&str, f64)], codes: &Points) {
        if self.history.columns.is_empty() {
            let leading = ["epoch", "steps"].into_iter();
            let names = leading.chain(losses.iter().map(|(name, _)| *name));
            self.history.columns = names.map(str::to_owned).collect();
        }
        if self.history.rows.len() < epoch {
            let mut row = vec![f64::NAN; self.history.columns.len()];
            row[..LEADING + losses.len()].fill(0.0);
            row[0] = epoch as f64;
            self.history.rows.push(row);
            self.codes = RunningVariance::default();
        }
        if let Some(row) = self.history.rows.last_mut() {
            row[1] += 1.0;
            let steps = row[1];
            for (mean, (_, value)) in row[LEADING..].iter_mut().zip(losses) {
                *mean += (value - *mean) / steps;
            }
        }
        self.codes.add(codes);
    }

    /// Completes the row of an epoch that is over, or of the last one.
    pub(super) fn end_epoch(&mut self, validation: Option<f64>, metrics: &[(String, f64)]) {
        let mut ends: Vec<(String, f64)> = Vec::new();
        ends.extend(validation.map(|loss| ("validation".to_owned(), loss)));
        ends.extend(metrics.iter().cloned());
        let variances = self.codes.variances();
        ends.extend((0..self.latent).map(|place| {
            let variance = variances.get(place).copied().unwrap_or(f64::NAN);
            (format!("variance_{}", place + 1), variance)
        }));
        for (name, value) in ends {
            self.set(&name, value);
        }
    }

    fn set(&mut self, name: &str, value: f64) {
        let History { columns, rows } = &mut self.history;
        let place = columns.iter().position(|column| column == name).unwrap_or_else(|| {
            columns.push(name.to_owned());
            for row in rows.iter_mut() {
                row.push(f64::NAN);
            }
            columns.len() - 1
        });
        if let Some(row) = rows.last_mut() {
            row[place] = value;
        }
    }

    /// Returns how many leading coordinates hold nearly all variance of the codes seen lately.
    pub(super) fn dimension(&self) -> Option<usize> {
        let variances = self.codes.variances();
        let total: f64 = variances.iter().sum();
        if !(total > 0.0 && total.is_finite()) {
            return None;
        }
        let mut held = 0.0;
        let enough = |variance: &f64| {
            held += variance;
            held >= SHOWN_SHARE * total
        };
        variances.iter().position(enough).map(|place| place + 1)
    }
}

/// Running mean and sum of squared deviations of each coordinate (Welford's algorithm).
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RunningVariance {
    pub(super) count: f64,
    pub(super) means: Vec<f64>,
    pub(super) squares: Vec<f64>,
}

impl RunningVariance {
    /// Adds codes; those of another width before them are forgotten.
    fn add(&mut self, codes: &Points) {
        let width = codes.width();
        if self.means.len() != width {
            *self = Self { count: 0.0, means: vec![0.0; width], squares: vec![0.0; width] };
        }
        for row in 0..codes.rows() {
            self.count += 1.0;
            let sums = self.means.iter_mut().zip(&mut self.squares);
            for ((mean, squares), &value) in sums.zip(codes.row(row)) {
                let deviation = f64::from(value) - *mean;
                *mean += deviation / self.count;
                *squares += deviation * (f64::from(value) - *mean);
            }
        }
    }

    /// Returns the biased variance of each coordinate.
    fn variances(&self) -> Vec<f64> {
        self.squares.iter().map(|squares| squares / self.count.max(1.0)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(values: &[f32]) -> Points {
        Points::from_rows(2, values.to_vec())
    }

    #[test]
    fn each_epoch_has_one_row_of_means_and_of_what_was_at_its_end() {
        let mut recorder = Recorder::new(2);
        recorder.add_step(1, &[("total", 4.0), ("kl", 1.0)], &codes(&[1.0, 0.0]));
        recorder.add_step(1, &[("total", 2.0), ("kl", 1.0)], &codes(&[3.0, 0.0]));
        recorder.end_epoch(Some(9.0), &[("j".to_owned(), 1.0)]);
        recorder.add_step(2, &[("total", 1.0), ("kl", 0.5)], &codes(&[5.0, 5.0, 6.0, 5.0]));
        let columns = "epoch steps total kl validation j variance_1 variance_2";
        assert_eq!(recorder.history.columns.join(" "), columns);
        let rows = &recorder.history.rows;
        assert_eq!(rows[0], [1.0, 2.0, 3.0, 1.0, 9.0, 1.0, 1.0, 0.0]);
        assert_eq!(rows[1][..4], [2.0, 1.0, 1.0, 0.5]);
        assert!(rows[1][4..].iter().all(|value| value.is_nan()), "not measured yet");
        recorder.end_epoch(None, &[]);
        assert_eq!(recorder.history.rows[1][6..], [0.25, 0.0], "each epoch by itself");
        assert_eq!(recorder.dimension(), Some(1));
    }

    #[test]
    fn codes_without_variance_have_no_dimension() {
        let mut recorder = Recorder::new(2);
        assert_eq!(recorder.dimension(), None);
        recorder.add_step(1, &[("total", 4.0)], &codes(&[1.0, 0.0, 1.0, 0.0]));
        assert_eq!(recorder.dimension(), None);
    }

    #[test]
    fn coordinates_that_are_not_there_yet_have_no_variance() {
        let mut recorder = Recorder::new(3);
        recorder.add_step(1, &[("total", 4.0)], &codes(&[1.0, 0.0, 3.0, 0.0]));
        recorder.end_epoch(None, &[]);
        assert!(recorder.history.rows[0][5].is_nan());
    }
}
