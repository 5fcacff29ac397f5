//! What a training reports to its observer, what the observer answers, and how it ends.

use std::path::PathBuf;
use std::time::Duration;

use super::{History, Length, TrainedModel};

/// Where a training keeps its state.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpointing {
    /// Folder for the checkpoints of one trajectory: trainings that differ in nothing but length.
    pub folder: PathBuf,
    /// What the checkpoints belong to: those of another owner are not used.
    pub owner: String,
    /// Share of the time that writing checkpoints may take; one is written at the end of an epoch
    /// once that share is kept.
    pub overhead: f64,
    /// How often a permanent checkpoint is written, so that a shorter run is available later.
    pub keep_every: Option<Length>,
}

/// How far a training has come.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress<'a> {
    /// Epoch of this step, counting from 1.
    pub epoch: usize,
    /// Epochs of the whole run.
    pub epochs: usize,
    /// Whether this step was the last of its epoch or of the run.
    pub epoch_ended: bool,
    /// Steps taken.
    pub step: usize,
    /// Steps of the whole run.
    pub steps: usize,
    /// The step from which this run resumed; 0 if it started from scratch.
    pub resumed_from: usize,
    /// The total and the named terms of the last step that was read: this one on a processor, and at the
    /// end of an epoch.
    pub terms: &'a [(&'static str, f64)],
    /// Factor on the learning rate in this step.
    pub rate_factor: f64,
    /// How many leading coordinates hold 99 % of the variance of the codes of this epoch that were read.
    pub dimension: Option<usize>,
    /// The record so far; its last row is complete if the epoch has ended.
    pub history: &'a History,
    /// Validation loss after this epoch, if it has ended and there are samples for it.
    pub validation: Option<f64>,
    /// How long it took to compute.
    pub validation_time: Duration,
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
#[derive(Clone, Debug)]
pub enum Fit {
    /// All steps were taken, or early stopping ended the training.
    Finished {
        /// The model with its final weights.
        model: TrainedModel,
        /// The record of every epoch.
        history: History,
        /// The epoch that the weights are of, if it is not the last.
        best_epoch: Option<usize>,
    },
    /// The observer asked to stop; a checkpoint holds the state if a folder was given.
    Stopped {
        /// Steps taken.
        step: usize,
    },
}
