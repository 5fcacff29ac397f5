//! Decides when a checkpoint is worth its time, and writes it.

use std::time::{Duration, Instant};

use super::checkpoint::{self, Checkpoint, Retention};
use super::{CheckpointError, Checkpointing};

/// Longest time without a checkpoint, however long an epoch takes, if writing one is cheap enough.
const LONGEST: Duration = Duration::from_mins(1);

/// Writes the checkpoints of one run.
pub(super) struct CheckpointWriter<'a> {
    settings: Option<&'a Checkpointing>,
    last: Instant,
    /// How long it took to write the last one.
    cost: Duration,
}

impl<'a> CheckpointWriter<'a> {
    pub(super) fn new(settings: Option<&'a Checkpointing>) -> Self {
        Self { settings, last: Instant::now(), cost: Duration::ZERO }
    }

    /// Returns the newest state up to a step.
    pub(super) fn load(&self, most: usize) -> Option<Checkpoint> {
        let settings = self.settings?;
        checkpoint::load(&settings.folder, &settings.owner, most)
    }

    /// Returns whether the state after a step is to be kept for good.
    pub(super) fn is_wanted(&self, step: usize, per_epoch: usize) -> bool {
        let every = self.settings.and_then(|settings| settings.keep_every);
        every.is_some_and(|every| step.is_multiple_of(every.steps(per_epoch)))
    }

    /// Returns whether a checkpoint is due: always when the run is about to stop, or the state is to be
    /// kept for good.
    pub(super) fn is_due(&self, epoch_ended: bool, stops: bool, retention: Retention) -> bool {
        let Some(settings) = self.settings else {
            return false;
        };
        let since = self.last.elapsed();
        let has_paid_off = self.cost.as_secs_f64() <= settings.overhead * since.as_secs_f64();
        let is_time = has_paid_off && (epoch_ended || since >= LONGEST);
        is_time || stops || retention == Retention::Permanent
    }

    /// Writes a checkpoint.
    pub(super) fn write(
        &mut self,
        state: &Checkpoint,
        retention: Retention,
    ) -> Result<(), CheckpointError> {
        let Some(settings) = self.settings else {
            return Ok(());
        };
        let began = Instant::now();
        checkpoint::save(&settings.folder, &settings.owner, state, retention)?;
        self.last = Instant::now();
        self.cost = began.elapsed();
        Ok(())
    }
}
