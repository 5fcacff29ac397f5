//! How long a stage of training takes: its whole length, or until early stopping ends it.

use serde::{Deserialize, Serialize};

use super::schedule::fall;
use super::{EarlyStopping, Schedule, TrainSpec};

/// The stage that a training is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StagePosition {
    /// Stages before it.
    pub(super) index: usize,
    /// Steps that were taken before it.
    pub(super) began: usize,
    /// Whether early stopping has ended it.
    pub(super) ended: bool,
    /// Steps that had been taken when the rate began to fall.
    pub(super) cooling_since: Option<usize>,
}

/// How long a stage may take.
#[derive(Clone, Copy)]
pub(super) struct StageLength {
    pub(super) steps: usize,
    pub(super) cooldown: Option<usize>,
    per_epoch: usize,
}

impl StageLength {
    pub(super) const fn of(spec: &TrainSpec, per_epoch: usize) -> Self {
        let cooldown = match spec.early_stopping {
            Some(EarlyStopping { cooldown: Some(epochs), .. }) => Some(epochs.get() * per_epoch),
            _ => None,
        };
        Self { steps: spec.length.steps(per_epoch), cooldown, per_epoch }
    }

    /// Returns the most steps that a stage can take.
    pub(super) const fn most(self) -> usize {
        match self.cooldown {
            Some(cooldown) => self.steps + cooldown,
            None => self.steps,
        }
    }

    /// Returns whether a stage is over once so many steps of the run are taken.
    pub(super) const fn is_over(self, stage: StagePosition, step: usize) -> bool {
        match (self.cooldown, stage.cooling_since) {
            (Some(cooldown), Some(since)) => step >= since + cooldown,
            (Some(_), None) => false,
            (None, _) => stage.ended || step >= stage.began + self.steps,
        }
    }

    /// Returns the factor on the learning rate of a step, counted from 0 over the whole run.
    pub(super) fn rate_factor(self, schedule: Schedule, stage: StagePosition, step: usize) -> f64 {
        let within = step - stage.began;
        let scheduled = schedule.factor(within.min(self.steps - 1), self.steps, self.per_epoch);
        match (self.cooldown, stage.cooling_since) {
            (Some(cooldown), Some(since)) => {
                scheduled * fall((step - since) as f64, cooldown as f64)
            }
            _ => scheduled,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::float_cmp, reason = "a factor of one is exact")]
    fn a_cooldown_follows_the_plateau_or_the_whole_length() {
        let length = StageLength { steps: 100, cooldown: Some(20), per_epoch: 10 };
        assert_eq!(length.most(), 120);
        let flat = StagePosition { began: 50, ..StagePosition::default() };
        assert!(!length.is_over(flat, 170), "it has not cooled down");
        assert_eq!(length.rate_factor(Schedule::Constant, flat, 149), 1.0);
        let cooling = StagePosition { cooling_since: Some(80), ..flat };
        let factors = [80, 90, 99].map(|s| length.rate_factor(Schedule::Constant, cooling, s));
        assert_eq!(factors[0], 1.0);
        assert!((factors[1] - 0.5).abs() < 1e-12 && factors[2] < 0.01, "{factors:?}");
        assert!(!length.is_over(cooling, 99) && length.is_over(cooling, 100));
    }

    #[test]
    fn without_a_cooldown_a_stage_ends_at_once_or_with_its_length() {
        let length = StageLength { steps: 100, cooldown: None, per_epoch: 10 };
        let stage = StagePosition { began: 50, ..StagePosition::default() };
        assert!(!length.is_over(stage, 149) && length.is_over(stage, 150));
        assert!(length.is_over(StagePosition { ended: true, ..stage }, 60));
    }
}
