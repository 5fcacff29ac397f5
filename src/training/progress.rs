//! What a training tells its observer, what it is told, and how it ends.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use super::{History, TrainedModel};

/// Where and how often a training keeps its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpointing {
    /// Folder for the checkpoint files of this one training.
    pub folder: PathBuf,
    /// Steps between two checkpoints.
    pub every_steps: NonZeroUsize,
}

/// How far a training has come.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress<'a> {
    /// Epoch of this step, counting from 1.
    pub epoch: usize,
    /// Epochs of the whole run.
    pub epochs: usize,
    /// Steps taken.
    pub step: usize,
    /// Steps of the whole run.
    pub steps: usize,
    /// Total loss of this step.
    pub loss: f64,
    /// The total and the named terms of this step.
    pub terms: &'a [(&'static str, f64)],
}

/// What an observer wants to happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Take the next step.
    Continue,
    /// Keep a checkpoint and return.
    Stop,
}

/// How a training ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Fit {
    /// All steps were taken.
    Finished {
        /// The model with its final weights.
        model: TrainedModel,
        /// Mean losses of every epoch.
        history: History,
    },
    /// The observer asked to stop; a checkpoint holds the state if a folder was given.
    Stopped {
        /// Steps taken.
        step: usize,
    },
}
