//! The training loop: one plain function, shared by all models.
//!
//! Batches, rates and weight updates depend on nothing but specs, data and the step's number,
//! so a run can stop after any step and go on later to the same bytes.

use burn::tensor::{Device, Tensor};

use super::adam::Adam;
use super::batches::Batches;
use super::checkpoint::{self, Checkpoint};
use super::trained::encode_all;
use super::{
    Checkpointing, Fit, Flow, History, OptimizerSpec, Progress, TrainError, TrainSpec,
    TrainedModel, TrainingData,
};
use crate::device::{DeviceName, family, open, open_for_training};
use crate::models::{Autoencoder, Clock, Losses, ModelSpec, Pcae, Start, Weights};

/// Trains a model, going on from a checkpoint if there is one of the same run.
pub fn fit(
    model: &ModelSpec,
    spec: &TrainSpec,
    data: TrainingData<'_>,
    device: DeviceName,
    checkpointing: Option<&Checkpointing>,
    observer: &mut dyn FnMut(&Progress<'_>) -> Flow,
) -> Result<Fit, TrainError> {
    let distance_unit = check(model, data)?;
    let shape = data.images.shape();
    let training = open_for_training(device)?;
    let keeper = match checkpointing {
        Some(settings) => Some(Keeper { settings, run: run_name(model, spec, data, device)? }),
        None => None,
    };
    let run = Run { spec, data, keeper, inference: open(device)?, training: training.clone() };
    let start = Start { shape, seed: spec.seed, distance_unit, device: &training };
    let outcome = match model {
        ModelSpec::Pcae(pcae) => run.train(Pcae::new(pcae, &start)?, observer)?,
    };
    Ok(match outcome {
        Outcome::Finished { weights, history } => {
            Fit::Finished { model: TrainedModel::new(model.clone(), shape, weights), history }
        }
        Outcome::Stopped { step } => Fit::Stopped { step },
    })
}

/// Checks that the data suit the model, and returns the unit of the distances.
fn check(model: &ModelSpec, data: TrainingData<'_>) -> Result<f64, TrainError> {
    if data.images.is_empty() {
        return Err(TrainError::NoImages);
    }
    match data.distances {
        None if model.needs_distances() => Err(TrainError::NoDistances),
        None => Ok(1.0),
        Some(distances) if distances.len() == data.images.len() => Ok(distances.unit()),
        Some(distances) => {
            Err(TrainError::OtherPoints { images: data.images.len(), distances: distances.len() })
        }
    }
}

/// Names a run by all that decides its result, so that no other run takes up its checkpoints.
fn run_name(
    model: &ModelSpec,
    spec: &TrainSpec,
    data: TrainingData<'_>,
    device: DeviceName,
) -> Result<String, TrainError> {
    let mut hasher = blake3::Hasher::new();
    let settings = (model, spec, data.images.shape(), family(device));
    hasher.update(&serde_json::to_vec(&settings)?);
    hasher.update(data.images.pixels());
    if let Some(distances) = data.distances {
        distances.feed(&mut |bytes| {
            hasher.update(bytes);
        });
    }
    Ok(hasher.finalize().to_hex().to_string())
}

enum Outcome {
    Finished { weights: Weights, history: History },
    Stopped { step: usize },
}

/// Keeps the checkpoints of one run.
struct Keeper<'a> {
    settings: &'a Checkpointing,
    /// Tells this run from all others.
    run: String,
}

/// One training, without its model.
struct Run<'a> {
    spec: &'a TrainSpec,
    data: TrainingData<'a>,
    keeper: Option<Keeper<'a>>,
    inference: Device,
    training: Device,
}

impl Run<'_> {
    fn train<M: Autoencoder>(
        &self,
        mut model: M,
        observer: &mut dyn FnMut(&Progress<'_>) -> Flow,
    ) -> Result<Outcome, TrainError> {
        let OptimizerSpec::Adam(adam) = &self.spec.optimizer;
        let mut adam = Adam::new(adam);
        let mut history = History::default();
        let batch_size = self.spec.batch_size.get();
        let mut batches = Batches::new(self.data.images.len(), batch_size, self.spec.seed);
        let steps = self.spec.length.steps(batches.per_epoch());
        let epochs = steps.div_ceil(batches.per_epoch());
        let mut first_step = 0;
        let stored =
            self.keeper.as_ref().and_then(|k| checkpoint::load(&k.settings.folder, &k.run));
        if let Some(state) = stored {
            first_step = state.step;
            model = state.weights.load_into(model).map_err(crate::models::ModelError::from)?;
            model.restore_memory(state.memory);
            adam.restore(state.step, state.moments, &self.inference);
            history = state.history;
        }

        for index in first_step..steps {
            let place = batches.place(index);
            let batch = self.data.batch(batches.indices(place), &self.training);
            let losses = model.losses(&batch);
            let gradients = losses.total.backward();
            let (step, epoch) = (index + 1, place.epoch + 1);
            let terms = finite_terms(losses, epoch, step)?;
            model = adam.step(model, gradients, self.spec.schedule.factor(index, steps));
            let epoch_ended = place.within + 1 == batches.per_epoch();
            model.after_step(Clock { step, epoch, epoch_ended }, &|model| {
                encode_all(&model.valid(), self.data.images, &self.inference)
            });
            history.add(epoch, &terms);

            let loss = terms[0].1;
            let progress = Progress { epoch, epochs, step, steps, loss, terms: &terms };
            let flow = observer(&progress);
            if step < steps {
                self.keep(flow, &model, &adam, &history, step)?;
                if flow == Flow::Stop {
                    return Ok(Outcome::Stopped { step });
                }
            }
        }
        let weights = Weights::of(&model);
        // The losses were finite before the last update; the update itself may not be.
        match weights.0.iter().find(|(_, array)| !array.values.iter().all(|v| v.is_finite())) {
            Some((name, _)) => Err(TrainError::WeightsNotFinite { name: name.clone() }),
            None => Ok(Outcome::Finished { weights, history }),
        }
    }

    /// Keeps a checkpoint if one is due or the run is about to stop.
    fn keep<M: Autoencoder>(
        &self,
        flow: Flow,
        model: &M,
        adam: &Adam,
        history: &History,
        step: usize,
    ) -> Result<(), TrainError> {
        let Some(Keeper { settings, run }) = &self.keeper else {
            return Ok(());
        };
        if flow == Flow::Continue && !step.is_multiple_of(settings.every_steps.get()) {
            return Ok(());
        }
        let state = Checkpoint {
            step,
            weights: Weights::of(model),
            moments: adam.moments(),
            memory: model.memory(),
            history: history.clone(),
        };
        Ok(checkpoint::save(&settings.folder, run, &state)?)
    }
}

/// Reads the losses from the device, the total first, and refuses any that is not finite.
fn finite_terms(
    losses: Losses,
    epoch: usize,
    step: usize,
) -> Result<Vec<(&'static str, f64)>, TrainError> {
    let Losses { total, terms } = losses;
    let (mut names, mut tensors): (Vec<&'static str>, Vec<Tensor<1>>) =
        (vec!["total"], vec![total]);
    for (name, tensor) in terms {
        names.push(name);
        tensors.push(tensor);
    }
    // One transfer for all terms.
    let values = Tensor::cat(tensors, 0).inner().into_data();
    let terms: Vec<(&'static str, f64)> =
        names.into_iter().zip(values.iter::<f32>().map(f64::from)).collect();
    // A named term says more than the total, which is last to be blamed.
    match terms.iter().rev().find(|(_, value)| !value.is_finite()) {
        Some(&(term, value)) => {
            Err(TrainError::NotFinite { term: term.into(), value, epoch, step })
        }
        None => Ok(terms),
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use super::*;
    use crate::geometry::Distances;
    use crate::training::Length;
    use crate::training::lab::{Lab, options};

    fn checkpointing(folder: &tempfile::TempDir, every_steps: usize) -> Checkpointing {
        let every_steps = NonZeroUsize::new(every_steps).unwrap();
        Checkpointing { folder: folder.path().to_owned(), every_steps }
    }

    fn bytes(fit: &Fit) -> (Vec<u8>, History) {
        let Fit::Finished { model, history } = fit else { panic!("not finished: {fit:?}") };
        (model.to_files().unwrap().weights, history.clone())
    }

    #[test]
    fn a_stopped_and_resumed_run_ends_with_the_same_bytes() {
        let lab = Lab::new();
        let whole = bytes(&lab.run(None, 0));
        for stop_at in [1, 4, 6, 10] {
            let folder = tempfile::tempdir().unwrap();
            let keep = checkpointing(&folder, 100);
            assert_eq!(lab.run(Some(&keep), stop_at), Fit::Stopped { step: stop_at });
            assert_eq!(bytes(&lab.run(Some(&keep), 0)), whole, "stopped at {stop_at}");
        }
    }

    #[test]
    fn a_run_cut_off_between_checkpoints_repeats_the_steps_since_the_last_one() {
        let lab = Lab::new();
        let folder = tempfile::tempdir().unwrap();
        let keep = checkpointing(&folder, 3);
        let whole = bytes(&lab.run(Some(&keep), 0));
        let mut first_step = None;
        let mut observer = |progress: &Progress<'_>| {
            first_step.get_or_insert(progress.step);
            Flow::Continue
        };
        let again =
            fit(&lab.model, &lab.spec, lab.data(), DeviceName::Cpu, Some(&keep), &mut observer);
        assert_eq!(bytes(&again.unwrap()), whole);
        assert_eq!(first_step, Some(10), "the last checkpoint is that of step 9");
    }

    #[test]
    fn checkpoints_of_other_settings_or_data_are_not_taken_up() {
        let mut lab = Lab::new();
        let folder = tempfile::tempdir().unwrap();
        let keep = checkpointing(&folder, 100);
        lab.run(Some(&keep), 5);
        lab.spec.seed = crate::numerics::Seed(8);
        let expected = bytes(&lab.run(None, 0));
        assert_eq!(bytes(&lab.run(Some(&keep), 0)), expected);
    }

    #[test]
    fn the_number_of_threads_does_not_change_the_bytes() {
        let lab = Lab::new();
        let with_threads = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| bytes(&lab.run(None, 0)))
        };
        assert_eq!(with_threads(1), with_threads(3));
    }

    #[test]
    fn the_record_has_a_row_for_each_epoch_and_the_loss_falls() {
        let mut lab = Lab::new();
        lab.spec.length = Length::Epochs(NonZeroUsize::new(15).unwrap());
        let (_, history) = bytes(&lab.run(None, 0));
        let names = ["epoch", "steps", "total", "reconstruction", "variance", "isometry"];
        assert_eq!(history.columns, names);
        assert_eq!(history.rows.len(), 15);
        assert!(
            history.rows.iter().all(|row| (row[1] - 4.0).abs() < 1e-9),
            "50 images in batches of 16"
        );
        assert!(history.rows[14][2] < 0.7 * history.rows[0][2], "{:?}", history.rows);
    }

    #[test]
    fn a_diverging_run_names_the_term_and_the_step() {
        let mut lab = Lab::new();
        lab.spec.optimizer = options().from_str("Adam(rate: 1e30)").unwrap();
        let message = lab.error(lab.data());
        assert!(message.starts_with("loss term `isometry` became "), "{message}");
        assert!(message.ends_with("in epoch 1, step 2"), "{message}");
    }

    #[test]
    fn data_that_do_not_suit_the_model_are_refused() {
        let lab = Lab::new();
        let none = TrainingData { distances: None, ..lab.data() };
        assert_eq!(
            lab.error(none),
            "the model needs distances between the training images, but none are given"
        );
        let fewer = Distances::from_parts(1, vec![0.0], 1.0, crate::geometry::Rescale::None);
        let fewer = fewer.unwrap();
        assert_eq!(
            lab.error(TrainingData { distances: Some(&fewer), ..lab.data() }),
            "there are 50 training images but distances between 1 points"
        );
    }
}
