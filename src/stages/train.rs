//! The stage kind [`Train`].

use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::artifacts::{AnySamples, TrainSamples};
use super::cost;
use super::epoch_timer::EpochTimer;
use super::geodesic::check_samples;
use super::live_curves::LiveCurves;
use crate::engine::stage::context::{RunContext, StageError};
use crate::engine::stage::estimate::{ArtifactEstimate, Work};
use crate::engine::stage::lifecycle::Progress;
use crate::engine::stage::{Input, Inputs, Kind, Needs, Problem, Producer, Stage, StageRef};
use crate::geometry::Distances;
use crate::models::ModelSpec;
use crate::numerics::Seed;
use crate::training::{
    self, Checkpointing, EarlyStopping, Fit, Flow, Length, OptimizerSpec, Schedule, TrainSpec,
    TrainingData, fit,
};

/// Share of the time that writing checkpoints may take.
const CHECKPOINT_OVERHEAD: f64 = 0.05;

/// The name under which the seconds of each epoch are measured.
pub const EPOCH_SECONDS: &str = "epoch_seconds";

/// One model, trained with one seed.
///
/// ```ron
/// "train-{seed}": Train(
///     model: Pcae(latent: 16, network: Conv(channels: [16, 32]), beta: 16,
///                 gamma: Dynamic(threshold: 0.98, every: Steps(100))),
///     data: "train-images", distances: "distances",
///     length: Steps(1000), batch_size: 256, optimizer: Adam(rate: 3e-3),
///     schedule: FlatThenCosine(flat: 0.5), seed: Axis(seed),
/// )
/// ```
///
/// A stopped or killed run resumes from its last checkpoint, and ends with the same bytes. A
/// longer one continues from the end of a shorter one with otherwise equal settings, unless its
/// learning rate depends on the length; a shorter one is available at once if its end was kept:
///
/// ```ron
/// "ards": Train(
///     model: ArdVae(latent: 16, network: Paper(of: Dsprites), beta: 5, prior_samples: 10000),
///     data: "train-images", validation: "validation-images",
///     length: Epochs(200), keep_every: Epochs(50), early_stopping: (patience: 20),
///     batch_size: 256, optimizer: Adam(rate: 1e-4), seed: 0,
/// )
/// ```
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Train {
    /// The model to train.
    pub model: ModelSpec,
    /// The images or vectors it learns from.
    pub data: StageRef<TrainSamples>,
    /// Distances between those samples, for models that use them.
    #[serde(default)]
    pub distances: Option<StageRef<Distances>>,
    /// Samples that the model is evaluated on after each epoch.
    #[serde(default)]
    pub validation: Option<StageRef<AnySamples>>,
    /// How long to train; a PCA-AE trains this long for each coordinate.
    pub length: Length,
    /// Samples in each step. An epoch has whole batches only; the samples left over are others in
    /// each epoch.
    pub batch_size: NonZeroUsize,
    /// The optimizer.
    pub optimizer: OptimizerSpec,
    /// How the learning rate changes.
    #[serde(default)]
    pub schedule: Schedule,
    /// When to stop early: once the validation loss has not fallen for a while.
    #[serde(default)]
    pub early_stopping: Option<EarlyStopping>,
    /// Random seed for the initial weights and the order of the samples.
    pub seed: Seed,
    /// Interval at which the state is kept, so that a run that ends there is available at
    /// once.
    #[serde(default, skip_serializing)]
    pub keep_every: Option<Length>,
}

impl Train {
    /// Returns how the model is trained, without what it is and learns from. These settings stand in
    /// both structs: one struct would carry three references into the training loop, and RON reads a
    /// flattened struct only as a map.
    fn spec(&self) -> TrainSpec {
        let Self { length, batch_size, optimizer, schedule, early_stopping, seed, .. } =
            self.clone();
        TrainSpec { length, batch_size, optimizer, schedule, early_stopping, seed }
    }
}

impl Stage for Train {
    fn kind(&self) -> Kind {
        Kind { name: "Train", version: 2 }
    }

    fn inputs(&self) -> Vec<Input> {
        let mut inputs = vec![self.data.input("data")];
        inputs.extend(self.distances.iter().map(|distances| distances.input("distances")));
        inputs.extend(self.validation.iter().map(|samples| samples.input("validation")));
        inputs
    }

    fn output(&self, _inputs: &Inputs<'_, str>) -> String {
        "model".to_owned()
    }

    fn needs(&self) -> Needs {
        Needs::Device
    }

    fn horizon(&self) -> &'static [&'static str] {
        let stopping = self.early_stopping;
        match self.model {
            // Where a coordinate ends, and with it a shorter code, depends on the run.
            ModelSpec::PcaAe(_) if stopping.is_some() => &[],
            // Each coordinate is trained for the whole length: there can only be more of them.
            ModelSpec::PcaAe(_) => &["model.PcaAe.latent"],
            _ if self.schedule.looks_ahead() => &[],
            // The rate has fallen by the end of the shorter run.
            _ if stopping.is_some_and(|stopping| stopping.cooldown.is_some()) => &[],
            _ => &["length"],
        }
    }

    fn problems(&self, _inputs: &Inputs<'_, Producer>) -> Vec<Problem> {
        let mut problems = Vec::new();
        if self.model.needs_distances() && self.distances.is_none() {
            problems.push(Problem {
                field: "model",
                message: "this model needs distances, but none are given".to_owned(),
                help: Some(
                    "add `distances: \"..\"` with the name of a `Geodesic` stage".to_owned(),
                ),
            });
        }
        if self.early_stopping.is_some() && self.validation.is_none() {
            problems.push(Problem {
                field: "early_stopping",
                message:
                    "early stopping needs a validation loss, but the stage has no `validation`"
                        .to_owned(),
                help: Some("add `validation: \"..\"` with the name of a set of samples".to_owned()),
            });
        }
        problems
    }

    fn warnings(&self, inputs: &Inputs<'_, ArtifactEstimate>) -> Vec<Problem> {
        let samples = inputs.one("data").and_then(|samples| samples.rows);
        let (ModelSpec::ArdVae(model), Some(samples)) = (&self.model, samples) else {
            return Vec::new();
        };
        let aside = model.prior_samples.get();
        if aside <= samples / 2 {
            return Vec::new();
        }
        let message = match samples.saturating_sub(aside) {
            0 => format!(
                "each epoch sets {aside} samples aside for the prior, but there are only {samples}"
            ),
            left => format!(
                "each epoch sets {aside} of {samples} samples aside for the prior, and learns \
                 from {left}"
            ),
        };
        let help = Some("set at most half of the samples aside".to_owned());
        vec![Problem { field: "prior_samples", message, help }]
    }

    fn estimate(&self, inputs: &Inputs<'_, ArtifactEstimate>) -> ArtifactEstimate {
        cost::model_estimate(&self.model, inputs.one("data"))
    }

    fn work(&self, inputs: &Inputs<'_, ArtifactEstimate>) -> Option<Work> {
        cost::training(self, inputs)
    }

    fn run(&self, context: &mut RunContext) -> Result<(), StageError> {
        let samples = context.load(&self.data)?.0;
        let distances = self.distances.as_ref().map(|input| context.load(input)).transpose()?;
        let validation = self.validation.as_ref().map(|input| context.load(input)).transpose()?;
        if let Some(distances) = &self.distances {
            check_samples(context, distances, &samples)?;
        }
        let data = TrainingData {
            samples: &samples,
            distances: distances.as_ref(),
            validation: validation.as_ref().map(|samples| &samples.0),
        };
        let checkpointing = Checkpointing {
            folder: context.state_folder().to_owned(),
            owner: context.state_owner().to_owned(),
            overhead: CHECKPOINT_OVERHEAD,
            keep_every: self.keep_every,
        };
        let device = context.device().parse()?;
        context.log(&format!("{} {} on {device}", samples.len(), samples.form()));
        let mut has_begun = false;
        let mut curves = LiveCurves::start(context);
        let mut timer = EpochTimer::start(context.state_folder());
        let mut observe = |progress: &training::Progress<'_>| {
            if !has_begun {
                has_begun = true;
                timer.resume(progress.resumed_from, progress.epoch);
                let message = resumption(progress);
                context.log(message.as_deref().unwrap_or("starts"));
                context.progress(Progress { message, ..shown(progress, progress.epoch - 1) });
            }
            let stops = context.should_stop();
            if progress.epoch_ended || stops {
                timer.read(progress.step, progress.epoch, progress.validation_time);
            }
            if progress.epoch_ended {
                context.log(&epoch_line(progress));
                curves.show(progress.history);
                context.progress(shown(progress, progress.epoch));
            }
            if stops { Flow::Stop } else { Flow::Continue }
        };
        match fit(&self.model, &self.spec(), data, device, Some(&checkpointing), &mut observe)? {
            Fit::Stopped { step } => {
                context.log(&format!("stopped after step {step}; run again to resume"));
                Err(StageError::Stopped)
            }
            Fit::Finished { model, history, best_epoch } => {
                if let Some(epoch) = best_epoch {
                    context.log(&format!("the weights are those of the best epoch, {epoch}"));
                }
                if !has_begun && !history.rows.is_empty() {
                    context.log("reused a state that a longer run had kept");
                }
                // A state that a longer run had kept was never shown.
                curves.show(&history);
                context.log("finished; the losses of every epoch are in history.csv");
                context.measured(EPOCH_SECONDS, timer.seconds(history.steps()));
                context.store(&model)?;
                Ok(context.writer().write("history.csv", history.to_csv().as_bytes())?)
            }
        }
    }
}

/// Returns where a training resumes, if it does.
fn resumption(first: &training::Progress<'_>) -> Option<String> {
    let training::Progress { resumed_from, steps, .. } = first;
    (*resumed_from > 0).then(|| format!("resumes at step {resumed_from} of {steps}"))
}

fn shown(now: &training::Progress<'_>, epochs: usize) -> Progress {
    let mut notes = vec![format!("loss {}", compact(now.terms[0].1))];
    notes.extend(now.validation.map(|loss| format!("validation {}", compact(loss))));
    notes.extend(now.dimension.map(|dimension| format!("dimension {dimension} so far")));
    Progress {
        done: epochs as u64,
        total: now.epochs as u64,
        unit: "epoch".to_owned(),
        note: notes.join(", "),
        ..Progress::default()
    }
}

/// Returns the log's line on an epoch, with the losses of its last step.
fn epoch_line(now: &training::Progress<'_>) -> String {
    let mut terms: Vec<String> =
        now.terms.iter().map(|(name, value)| format!("{name} {}", compact(*value))).collect();
    terms.extend(now.validation.map(|value| format!("validation {}", compact(value))));
    terms.extend(now.dimension.map(|dimension| format!("dimension {dimension}")));
    let training::Progress { epoch, epochs, step, steps, rate_factor, .. } = now;
    format!(
        "epoch {epoch}/{epochs}, step {step}/{steps}, rate x {rate_factor:.3}: {}",
        terms.join(", ")
    )
}

/// Writes a loss with enough digits to see it change.
fn compact(value: f64) -> String {
    if value == 0.0 || value.abs() >= 0.01 { format!("{value:.4}") } else { format!("{value:.2e}") }
}

/// A stage and the key of its settings; when the key changes, every user computes again.
#[cfg(test)]
pub(super) const PINNED: (&str, &str) = (
    r#"Train(
    model: Pcae(latent: 16, network: Conv(channels: [16, 32]), beta: 16.0,
                gamma: Dynamic(threshold: 0.98, every: Steps(100))),
    data: "images", distances: "distances", length: Steps(1000), batch_size: 256,
    optimizer: Adam(rate: 3e-3), schedule: FlatThenCosine(flat: 0.5), seed: 0,
)"#,
    "29ea3174",
);

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const NOTHING: &training::History =
        &training::History { columns: Vec::new(), rows: Vec::new() };

    fn progress(resumed_from: usize) -> training::Progress<'static> {
        training::Progress {
            epoch: 2,
            epochs: 84,
            epoch_ended: true,
            step: 24,
            steps: 1000,
            resumed_from,
            terms: &[("total", 31.25), ("variance", 0.000_123_4)],
            rate_factor: 0.5,
            dimension: Some(5),
            history: NOTHING,
            validation: None,
            validation_time: Duration::ZERO,
        }
    }

    #[test]
    fn the_log_tells_every_loss_of_an_epoch_and_the_dimension_so_far() {
        assert_eq!(
            epoch_line(&progress(0)),
            "epoch 2/84, step 24/1000, rate x 0.500: total 31.2500, variance 1.23e-4, dimension 5"
        );
        assert_eq!(shown(&progress(0), 2).note, "loss 31.2500, dimension 5 so far");
    }

    #[test]
    fn only_a_resumed_training_says_so() {
        assert_eq!(resumption(&progress(0)), None);
        assert_eq!(resumption(&progress(300)).unwrap(), "resumes at step 300 of 1000");
    }

    #[test]
    fn what_is_kept_on_the_way_is_not_part_of_the_settings() {
        let text = "(model: Pca(latent: 2), data: \"a\", length: Epochs(3), batch_size: 2, \
                    optimizer: Adam(rate: 1e-3), seed: 1, keep_every: Some(Epochs(1)))";
        let options = crate::engine::pipeline::values::dialect();
        let train: Train = options.from_str(text).unwrap();
        let settings = serde_json::to_value(&train).unwrap();
        assert!(settings.get("keep_every").is_none());
    }
}
