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
use crate::training::{History, TrainedModel};

/// The column of a training's record that numbers its stages, where it has several.
const COORDINATE: &str = "coordinate";

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
/// (both), `epochs` and a text `hardware`. An epoch includes forming batches, the steps and
/// checkpoints, but not validation. An epoch of a model that is trained coordinate by coordinate
/// (PCA-AE) is one epoch of each. A run that was stopped and resumed counts the
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
        Kind { name: "Runtime", version: 2 }
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
        let stages = by_stage(epochs, &history);
        let hardware = hardware(run);
        // A training without epochs took what its whole stage took.
        let training = if epochs.is_empty() { run.seconds } else { epochs.iter().sum() };
        let mut numbers = vec![
            ("also_seconds", also),
            ("epochs", epochs.len() as f64 / stages.len().max(1) as f64),
            ("total_seconds", training + also),
            ("training_seconds", training),
        ];
        if let Some(per_epoch) = whole_epoch(&stages) {
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

/// Returns the seconds of the epochs of each stage: a model that is trained coordinate by coordinate
/// has one for each, and its record says which epochs they are.
fn by_stage<'s>(epochs: &'s [f64], history: &History) -> Vec<&'s [f64]> {
    let column = history.columns.iter().position(|name| name == COORDINATE);
    let coordinate = |epoch: usize| Some(history.rows.get(epoch)?[column?].to_bits());
    let mut numbered = epochs.iter().enumerate().map(|(epoch, _)| coordinate(epoch)).peekable();
    let (mut stages, mut rest) = (Vec::new(), epochs);
    while let Some(first) = numbered.next() {
        let more = std::iter::from_fn(|| numbered.next_if(|next| *next == first)).count();
        let (stage, later) = rest.split_at(1 + more);
        stages.push(stage);
        rest = later;
    }
    stages
}

/// Returns the quartiles of one epoch of every stage.
fn whole_epoch(stages: &[&[f64]]) -> Option<[f64; 3]> {
    let of_stages: Vec<_> =
        stages.iter().map(|seconds| quartiles(seconds)).collect::<Option<_>>()?;
    let sum = |at: usize| of_stages.iter().map(|quartiles: &[f64; 3]| quartiles[at]).sum();
    (!of_stages.is_empty()).then(|| [sum(0), sum(1), sum(2)])
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
    (r#"Runtime(model: "train", also: ["distances"])"#, "f5085704");

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
        let history = |coordinates: &[f64]| {
            let rows = coordinates.iter().map(|&coordinate| vec![1.0, coordinate]).collect();
            History { columns: vec!["epoch".to_owned(), COORDINATE.to_owned()], rows }
        };
        let seconds = [1.0, 2.0, 3.0, 10.0, 100.0, 300.0];
        let stages = by_stage(&seconds, &history(&[1.0, 1.0, 1.0, 2.0, 3.0, 3.0]));
        assert_eq!(stages, [&seconds[..3], &seconds[3..4], &seconds[4..]]);
        assert_eq!(whole_epoch(&stages).unwrap()[1].to_bits(), 212.0_f64.to_bits());
        let plain = by_stage(&seconds, &History::default());
        assert_eq!(plain, [&seconds[..]]);
        assert_eq!(whole_epoch(&by_stage(&[], &History::default())), None);
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
