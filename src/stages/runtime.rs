//! The stage kind [`Runtime`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::artifacts::TrainingHistory;
use super::command::AnyFiles;
use super::train::EPOCH_SECONDS;
use crate::engine::stage::artifact::Artifact;
use crate::engine::stage::context::{RunContext, StageError};
use crate::engine::stage::run_record::RunRecord;
use crate::engine::stage::{Input, Inputs, Kind, Stage, StageRef};
use crate::report::{RecordValue, Values};
use crate::training::TrainedModel;

/// How long a training run took, from its run record.
///
/// ```ron
/// "runtime-{model}-{seed}": Runtime(
///     model: "train-{model}-{seed}",
///     also: ["distances"],             // what the training needed beforehand; counts in the total
/// )
/// ```
///
/// The record has `seconds_per_epoch` (the median), its quartiles `lower_quartile` and
/// `upper_quartile`, `training_seconds` (the sum over all epochs), `also_seconds`, `total_seconds`
/// (both), `epochs` and a text `hardware`. An epoch includes everything that happens in it: forming
/// batches, validation if there is one, checkpoints. An epoch of a model that is trained coordinate
/// by coordinate (PCA-AE) is one epoch of each. A run that was stopped and resumed counts the
/// seconds of all its processes; a killed one, without the epoch in which it was killed. A run
/// of a number of steps may end with an incomplete epoch. Exact models have no epochs.
///
/// Times are measured when a stage runs and are kept in its run record, not in its result. So this
/// stage runs once for each trained model, by the content of the model: a `Train` that is forced
/// to run again, and ends with the same bytes, does not change this record. Stages that ran in
/// parallel take longer than on an idle machine: use `-j 1` to compare models.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Runtime {
    /// The trained model.
    pub model: StageRef<TrainedModel>,
    /// Other stages whose time counts in the total, such as distances or an evaluation.
    #[serde(default, skip_serializing)]
    pub also: Vec<StageRef<AnyFiles>>,
}

impl Stage for Runtime {
    fn kind(&self) -> Kind {
        Kind { name: "Runtime", version: 1 }
    }

    fn inputs(&self) -> Vec<Input> {
        let also = self.also.iter().enumerate();
        let also = also.map(|(at, stage)| stage.input(&format!("also[{at}]")));
        [self.model.input("model")].into_iter().chain(also).collect()
    }

    fn output(&self, _inputs: &Inputs<'_, str>) -> String {
        "record".to_owned()
    }

    fn values(&self) -> Option<Vec<String>> {
        let numbers = [
            "also_seconds",
            "epochs",
            "hardware",
            "lower_quartile",
            "seconds_per_epoch",
            "total_seconds",
            "training_seconds",
            "upper_quartile",
        ];
        Some(numbers.map(str::to_owned).into())
    }

    fn run(&self, context: &mut RunContext) -> Result<(), StageError> {
        let stages = context.load(&self.model)?.spec().stages().max(1);
        let history = TrainingHistory::read(context.files_of(&self.model)?)?.0;
        let run = context.run_of(&self.model)?;
        let epochs = run.measured.get(EPOCH_SECONDS).map(Vec::as_slice).unwrap_or_default();
        if epochs.len() < history.rows.len() {
            context.log(&format!(
                "only {} of {} epochs were timed; the sum is over these",
                epochs.len(),
                history.rows.len()
            ));
        }
        let mut also = 0.0;
        for stage in &self.also {
            also += context.run_of(stage)?.seconds;
        }
        let hardware = hardware(run);
        // A training without epochs took what its whole stage took.
        let training = if epochs.is_empty() { run.seconds } else { epochs.iter().sum() };
        let mut numbers = vec![
            ("also_seconds", also),
            ("epochs", epochs.len() as f64 / stages as f64),
            ("total_seconds", training + also),
            ("training_seconds", training),
        ];
        if let Some(per_epoch) = quartiles(&whole_epochs(epochs, stages)) {
            let names = ["lower_quartile", "seconds_per_epoch", "upper_quartile"];
            numbers.extend(names.into_iter().zip(per_epoch));
            context.log(&format!(
                "{:.4} s per epoch (median), quartiles {:.4} s and {:.4} s",
                per_epoch[1], per_epoch[0], per_epoch[2]
            ));
        }
        context.log(&format!("{training:.2} s of training, {also:.2} s of other stages"));
        context.log(&hardware);
        let numbers =
            numbers.into_iter().map(|(name, value)| (name.to_owned(), RecordValue::Number(value)));
        let mut record: Values = numbers.collect();
        record.insert("hardware".to_owned(), RecordValue::Text(hardware));
        context.store(&record)
    }
}

/// Describes the hardware that a stage ran on.
fn hardware(run: &RunRecord) -> String {
    let processor = if run.processor.is_empty() { "unknown processor" } else { &run.processor };
    format!("{processor}, {} of {} cores, device {}", run.threads, run.cores, run.device)
}

/// Returns the seconds of each epoch of all stages together: stages follow each other, and each has
/// as many epochs.
fn whole_epochs(epochs: &[f64], stages: usize) -> Vec<f64> {
    let each = epochs.len() / stages;
    (0..each).map(|epoch| epochs.iter().skip(epoch).step_by(each).take(stages).sum()).collect()
}

/// Returns the quartiles of some numbers, linearly interpolated.
fn quartiles(values: &[f64]) -> Option<[f64; 3]> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    Some([0.25, 0.5, 0.75].map(|share| {
        let place = share * last as f64;
        let below = place.floor() as usize;
        let above = (below + 1).min(last);
        sorted[below] + (sorted[above] - sorted[below]) * place.fract()
    }))
}

/// A stage and the key of its settings; when the key changes, every user computes again.
#[cfg(test)]
pub(super) const PINNED: (&str, &str) =
    (r#"Runtime(model: "train", also: ["distances"])"#, "e2cbf1e1");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_are_interpolated_as_in_numpy() {
        // numpy.quantile([4, 1, 3, 2], [0.25, 0.5, 0.75])
        let found = quartiles(&[4.0, 1.0, 3.0, 2.0]).unwrap();
        assert!(
            found.iter().zip([1.75, 2.5, 3.25]).all(|(have, want)| (have - want).abs() < 1e-12)
        );
        assert_eq!(quartiles(&[]), None);
        assert_eq!(quartiles(&[2.0]), Some([2.0; 3]));
    }

    #[test]
    fn an_epoch_of_a_model_with_stages_is_one_of_each_stage() {
        assert_eq!(whole_epochs(&[1.0, 2.0, 10.0, 20.0, 100.0, 200.0], 3), [111.0, 222.0]);
        assert_eq!(whole_epochs(&[1.0, 2.0], 1), [1.0, 2.0]);
        assert!(whole_epochs(&[], 2).is_empty());
    }

    #[test]
    fn hardware_is_described_in_one_line() {
        let run = RunRecord {
            processor: "Some CPU".to_owned(),
            cores: 8,
            threads: 2,
            device: "flex".to_owned(),
            ..RunRecord::default()
        };
        assert_eq!(hardware(&run), "Some CPU, 2 of 8 cores, device flex");
        assert!(hardware(&RunRecord::default()).starts_with("unknown processor"));
    }
}
