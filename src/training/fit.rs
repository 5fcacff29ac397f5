//! The training loop: one plain function, shared by all models.
//!
//! Batches, noise, rates and weight updates depend on nothing but settings, data and the step's
//! number, so a run that stops after any step can be resumed, or extended, to the same bytes.
//!
//! A model may be trained in several stages (PCA-AE: one for each coordinate). Each takes the whole
//! length, or ends early: at once, with the weights of its best epoch, or after a cooldown.

use std::thread;
use std::time::{Duration, Instant};

use burn::tensor::Device;

use super::adam::Adam;
use super::batches::{BatchPosition, Batches, prefetch};
use super::checkpoint::Checkpoint;
use super::checkpoint::Retention::{Permanent, Rolling};
use super::checkpoint_writer::CheckpointWriter;
use super::early_stopping::Best;
use super::recorder::Recorder;
use super::stage_length::{StageLength, StagePosition};
use super::trained_model::mean_reconstruction;
use super::unread::UnreadSteps;
use super::{
    Checkpointing, Fit, Flow, History, OptimizerSpec, Progress, TrainError, TrainSpec,
    TrainedModel, TrainingData,
};
use crate::device::{DeviceName, open, open_for_training};
use crate::models::{
    Autoencoder, BuildContext, ClosedForm, EpochContext, ModelError, ModelSpec, ModelVisitor,
    StepPosition, Weights,
};

/// Trains a model, resuming from a checkpoint of the same trajectory if there is one.
pub fn fit(
    model: &ModelSpec,
    spec: &TrainSpec,
    data: TrainingData<'_>,
    device: DeviceName,
    checkpointing: Option<&Checkpointing>,
    observer: &mut dyn FnMut(&Progress<'_>) -> Flow,
) -> Result<Fit, TrainError> {
    let distance_unit = check(model, spec, data)?;
    let form = data.samples.form();
    let (training, inference) = (open_for_training(device)?, open(device)?);
    let context = BuildContext { form, seed: spec.seed, distance_unit, device: &training };
    let (latent, checkpoints) = (model.latent(), CheckpointWriter::new(checkpointing));
    let run = Run { spec, data, latent, checkpoints, inference, training: training.clone() };
    let outcome = model.visit(&context, Fitting { run, observer })?;
    Ok(match outcome {
        Outcome::Finished { weights, history, best_epoch } => {
            let model = TrainedModel::new(model.clone(), form, weights);
            Fit::Finished { model, history, best_epoch }
        }
        Outcome::Stopped { step } => Fit::Stopped { step },
    })
}

/// Checks that the data suit the model, and returns the unit of the distances.
fn check(model: &ModelSpec, spec: &TrainSpec, data: TrainingData<'_>) -> Result<f64, TrainError> {
    let samples = data.samples;
    if samples.is_empty() {
        return Err(TrainError::NoSamples);
    }
    match data.validation {
        Some(validation) if validation.is_empty() => return Err(TrainError::NoValidation),
        Some(validation) if validation.form() != samples.form() => {
            let (expected, found) = (samples.form(), validation.form());
            return Err(TrainError::OtherForm { expected, found });
        }
        None if spec.early_stopping.is_some() => return Err(TrainError::NoValidation),
        _ => {}
    }
    match data.distances {
        None if model.needs_distances() => Err(TrainError::NoDistances),
        None => Ok(1.0),
        Some(distances) if distances.len() == samples.len() => Ok(distances.unit()),
        Some(distances) => {
            let (samples, distances) = (samples.len(), distances.len());
            Err(TrainError::OtherPoints { samples, distances })
        }
    }
}

enum Outcome {
    Finished { weights: Weights, history: History, best_epoch: Option<usize> },
    Stopped { step: usize },
}

/// A training that waits for its model.
struct Fitting<'a, 'b> {
    run: Run<'a>,
    observer: &'b mut dyn FnMut(&Progress<'_>) -> Flow,
}

impl ModelVisitor for Fitting<'_, '_> {
    type Output = Outcome;
    type Error = TrainError;

    fn trainable<M: Autoencoder + 'static>(mut self, model: M) -> Result<Outcome, TrainError> {
        self.run.train(model, self.observer)
    }

    fn closed_form<M: ClosedForm + 'static>(self, model: M) -> Result<Outcome, TrainError> {
        let weights = Weights::of(&model.fit(self.run.data.samples, &self.run.inference)?);
        Ok(Outcome::Finished { weights, history: History::default(), best_epoch: None })
    }
}

/// One training, without its model.
struct Run<'a> {
    spec: &'a TrainSpec,
    data: TrainingData<'a>,
    latent: usize,
    checkpoints: CheckpointWriter<'a>,
    inference: Device,
    training: Device,
}

/// What changes while training.
struct State<M> {
    model: M,
    adam: Adam,
    recorder: Recorder,
    stage: StagePosition,
    best: Option<Best>,
    /// Steps taken.
    step: usize,
}

impl<M: Autoencoder> State<M> {
    /// Loads the newest checkpoint of the same trajectory, or starts from scratch.
    fn load_or_start(run: &Run<'_>, mut model: M, steps: usize) -> Result<Self, TrainError> {
        let OptimizerSpec::Adam(adam) = &run.spec.optimizer;
        let mut adam = Adam::new(adam);
        let Some(kept) = run.checkpoints.load(steps) else {
            let recorder = Recorder::new(run.latent);
            let stage = StagePosition::default();
            return Ok(Self { model, adam, recorder, stage, best: None, step: 0 });
        };
        model.restore_extra_state(kept.extra_state)?;
        model = kept.weights.load_into(model).map_err(ModelError::from)?;
        adam.restore(kept.optimizer_steps, kept.moments, &run.inference);
        let recorder = Recorder::resumed(run.latent, kept.history, kept.codes);
        let (stage, best, step) = (kept.stage, kept.best, kept.step);
        Ok(Self { model, adam, recorder, stage, best, step })
    }

    fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            step: self.step,
            optimizer_steps: self.adam.steps(),
            weights: Weights::of(&self.model),
            moments: self.adam.moments(),
            extra_state: self.model.extra_state(),
            history: self.recorder.history.clone(),
            codes: self.recorder.codes.clone(),
            stage: self.stage,
            best: self.best.clone(),
        }
    }

    /// Completes the record of an epoch, and checks for early stopping.
    fn end_epoch(&mut self, run: &Run<'_>, epoch: usize, is_whole: bool) -> Option<f64> {
        let loss = run.data.validation.map(|samples| {
            let (model, kind) = (self.model.valid(), self.model.reconstruction());
            mean_reconstruction(&model, kind, samples, &run.inference)
        });
        self.recorder.end_epoch(loss, &self.model.metrics());
        if let (Some(stopping), Some(loss), true) = (run.spec.early_stopping, loss, is_whole) {
            let weights = || Weights::of(&self.model);
            let best = stopping.watch(self.best.take(), epoch, loss, weights);
            if stopping.is_over(&best) {
                self.stage.ended = true;
            }
            self.best = Some(best);
        }
        loss
    }

    /// Lets the rate fall from here on, if it should and has not begun to.
    fn cool_down_if_due(&mut self, length: StageLength) {
        let waited_long_enough = self.step >= self.stage.began + length.steps;
        if length.cooldown.is_some() && (self.stage.ended || waited_long_enough) {
            self.stage.cooling_since.get_or_insert(self.step);
        }
    }

    /// Goes on to the next stage from the result of this one.
    fn next_stage(&mut self) -> Result<(), TrainError> {
        if let Some(best) = self.best.take().filter(|best| !best.weights.0.is_empty()) {
            self.model = best.weights.load_into(self.model.clone()).map_err(ModelError::from)?;
        }
        self.model.next_stage()?;
        self.adam.reset();
        let (index, began) = (self.stage.index + 1, self.step);
        self.stage = StagePosition { index, began, ..StagePosition::default() };
        Ok(())
    }
}

impl Run<'_> {
    fn train<M: Autoencoder>(
        &mut self,
        model: M,
        observer: &mut dyn FnMut(&Progress<'_>) -> Flow,
    ) -> Result<Outcome, TrainError> {
        let (samples, seed) = (self.data.samples, self.spec.seed);
        let held_out = model.held_out();
        if held_out >= samples.len() {
            return Err(TrainError::TooFewSamples { samples: samples.len(), held_out });
        }
        let mut batches = Batches::new(samples.len(), held_out, self.spec.batch_size.get(), seed);
        let per_epoch = batches.per_epoch();
        let length = StageLength::of(self.spec, per_epoch);
        let stages = model.stages();
        let steps = length.most() * stages;
        let mut state = State::load_or_start(self, model, steps)?;
        let is_over =
            |stage: StagePosition, step| stage.index + 1 == stages && length.is_over(stage, step);
        if is_over(state.stage, state.step) {
            return finish(Weights::of(&state.model), state.best, state.recorder.history);
        }
        let inference = self.inference.clone();
        let with_context = |batches: &mut Batches,
                            epoch,
                            act: &mut dyn FnMut(&EpochContext<'_>)| {
            let held_out = batches.held_out(epoch);
            act(&EpochContext { samples, held_out, epoch: epoch + 1, seed, device: &inference });
        };
        with_context(&mut batches, 0, &mut |context| state.model.prepare(context));

        let resumed_from = state.step;
        let (mut unread, mut terms) = (UnreadSteps::default(), None);
        thread::scope(|scope| {
            let prefetched = prefetch(scope, self.data, batches.clone(), resumed_from..steps);
            for (index, batch) in (resumed_from..steps).zip(prefetched) {
                let BatchPosition { epoch: epoch_index, within } = batches.position(index);
                let (step, epoch) = (index + 1, epoch_index + 1);
                if length.is_over(state.stage, index) {
                    state.next_stage()?;
                    let prepare = &mut |context: &EpochContext<'_>| state.model.prepare(context);
                    with_context(&mut batches, epoch_index, prepare);
                }
                if within == 0 {
                    let before =
                        &mut |context: &EpochContext<'_>| state.model.before_epoch(context);
                    with_context(&mut batches, epoch_index, before);
                }

                let mut rng = seed.stream(&format!("noise/{index}"));
                let noise = state.model.noise(&mut rng, batch.len());
                let output = state.model.losses_and_gradients(&batch.on(&self.training, noise));
                unread.add([epoch, step], output.terms, output.codes);
                let epoch_ended = within + 1 == per_epoch;
                let ends_row = epoch_ended || is_over(state.stage, step);
                // The first step tells at once whether anything can come of the training.
                if unread.are_due() || ends_row || terms.is_none() {
                    terms = unread.read_into(&mut state.recorder)?.or(terms);
                }
                let rate_factor = length.rate_factor(self.spec.schedule, state.stage, index);
                state.model = state.adam.step(state.model, output.gradients, rate_factor);
                state.step = step;
                let position = StepPosition { step, epoch, epoch_ended };
                let after =
                    &mut |context: &EpochContext<'_>| state.model.after_step(position, context);
                with_context(&mut batches, epoch_index, after);

                let began = Instant::now();
                let validation =
                    if ends_row { state.end_epoch(self, epoch, epoch_ended) } else { None };
                let validation_time =
                    if validation.is_some() { began.elapsed() } else { Duration::ZERO };
                state.cool_down_if_due(length);
                let flow = observer(&Progress {
                    epoch,
                    epochs: steps.div_ceil(per_epoch),
                    epoch_ended: ends_row,
                    step,
                    steps,
                    resumed_from,
                    terms: terms.as_deref().unwrap_or_default(),
                    rate_factor,
                    dimension: state.recorder.dimension(),
                    history: &state.recorder.history,
                    validation,
                    validation_time,
                });
                let over = is_over(state.stage, step);
                let stops = flow == Flow::Stop && !over;
                let wanted = self.checkpoints.is_wanted(step, per_epoch);
                let retention = if over || wanted { Permanent } else { Rolling };
                if self.checkpoints.is_due(epoch_ended, stops, retention) {
                    terms = unread.read_into(&mut state.recorder)?.or(terms);
                    self.checkpoints.write(&state.checkpoint(), retention)?;
                }
                if stops {
                    return Ok(Outcome::Stopped { step });
                }
                if over {
                    break;
                }
            }
            finish(Weights::of(&state.model), state.best, state.recorder.history)
        })
    }
}

/// Returns the result of a training that is over: the last weights, or the best ones.
fn finish(last: Weights, best: Option<Best>, history: History) -> Result<Outcome, TrainError> {
    let (weights, best_epoch) = match best {
        Some(best) if !best.weights.0.is_empty() => (best.weights, Some(best.epoch)),
        _ => (last, None),
    };
    // The losses were finite before the last update; the update itself may not be.
    match weights.0.iter().find(|(_, array)| !array.values.iter().all(|v| v.is_finite())) {
        Some((name, _)) => Err(TrainError::WeightsNotFinite { name: name.clone() }),
        None => Ok(Outcome::Finished { weights, history, best_epoch }),
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use super::*;
    use crate::device::test_device;
    use crate::geometry::Distances;
    use crate::training::Length;
    use crate::training::fixture::{Fixture, options};

    #[test]
    fn the_record_has_a_row_for_each_epoch_and_the_loss_falls() {
        let mut fixture = Fixture::new();
        fixture.spec.length = Length::Epochs(NonZeroUsize::new(20).unwrap());
        let (_, history) = fixture.finished(None);
        let names = "epoch steps total reconstruction variance isometry j \
                     gamma_1 gamma_2 gamma_3 gamma_4 \
                     variance_1 variance_2 variance_3 variance_4";
        assert_eq!(history.columns.join(" "), names);
        assert_eq!(history.rows.len(), 20);
        assert!(
            history.rows.iter().all(|row| (row[1] - 3.0).abs() < 1e-9),
            "50 images in whole batches of 16"
        );
        assert!(history.rows[19][2] < 0.7 * history.rows[0][2], "{:?}", history.rows);
        assert!(history.rows[19][6] >= 1.0, "gamma was laid out around some j");
    }

    #[test]
    fn the_number_of_threads_does_not_change_the_bytes() {
        let fixture = Fixture::new();
        let with_threads = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| fixture.bytes(None))
        };
        assert_eq!(with_threads(1), with_threads(3));
    }

    #[test]
    fn a_diverging_run_names_the_term_and_the_step() {
        let mut fixture = Fixture::new();
        fixture.spec.optimizer = options().from_str("Adam(rate: 1e30)").unwrap();
        let message = fixture.error(fixture.data());
        assert!(message.starts_with("loss term `isometry` became "), "{message}");
        assert!(message.ends_with("in epoch 1, step 2"), "{message}");
    }

    #[test]
    fn data_that_do_not_suit_the_model_are_refused() {
        let mut fixture = Fixture::new();
        let none = TrainingData { distances: None, ..fixture.data() };
        assert_eq!(
            fixture.error(none),
            "the model needs distances between the training samples, but none are given"
        );
        let fewer = Distances::from_parts(1, vec![0.0], 1.0, crate::geometry::Rescale::None);
        let fewer = fewer.unwrap();
        assert_eq!(
            fixture.error(TrainingData { distances: Some(&fewer), ..fixture.data() }),
            "there are 50 training samples but distances between 1 points"
        );
        fixture.model =
            options().from_str("ArdVae(latent: 2, network: Mlp(widths: []), beta: 1)").unwrap();
        assert_eq!(
            fixture.error(fixture.data()),
            "each epoch sets 10000 samples aside, but there are only 50: lower `prior_samples`"
        );
    }

    #[test]
    fn a_run_without_gains_ends_early_with_the_weights_of_the_best_epoch() {
        let mut fixture = Fixture::new();
        fixture.model = options().from_str("Ae(latent: 2, network: Mlp(widths: [8]))").unwrap();
        fixture.spec = options()
            .from_str(
                "(length: Epochs(60), batch_size: 16, optimizer: Adam(rate: 0.3), seed: 7, \
                 early_stopping: (patience: 3))",
            )
            .unwrap();
        let validation = fixture.samples.clone();
        let data = TrainingData { validation: Some(&validation), ..fixture.data() };
        let mut epochs = 0;
        let mut observer = |progress: &Progress<'_>| {
            epochs = progress.epoch;
            Flow::Continue
        };
        let found =
            fit(&fixture.model, &fixture.spec, data, test_device(), None, &mut observer).unwrap();
        let Fit::Finished { model, history, best_epoch } = found else { panic!("not finished") };
        let best = best_epoch.unwrap();
        assert!(epochs < 60 && best + 3 == epochs, "best {best}, ended {epochs}");
        let column = history.columns.iter().position(|name| name == "validation").unwrap();
        let losses: Vec<f64> = history.rows.iter().map(|row| row[column]).collect();
        let least = losses.iter().copied().fold(f64::INFINITY, f64::min);
        assert!((losses[best - 1] - least).abs() < 1e-12);
        let again = model.reconstruction(&validation, test_device()).unwrap();
        assert!((again - least).abs() < 1e-4 * least, "{again} against {least}");
    }
}
