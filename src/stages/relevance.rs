//! The stage kind [`Relevance`].

use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::artifacts::AnySamples;
use crate::dimension::{
    Basis, JacobianWeights, RelevanceForm, RelevanceScores, count_name, rotated,
};
use crate::engine::stage::context::{RunContext, StageError};
use crate::engine::stage::estimate::{ArtifactEstimate, Work};
use crate::engine::stage::{Input, Inputs, Kind, Needs, Stage, StageRef};
use crate::numerics::rng::permutation;
use crate::numerics::units::Fraction;
use crate::numerics::{Points, Seed};
use crate::report::{RecordValue, Values};
use crate::training::{Codes, DecoderOutput, TrainedModel};

/// How many coordinates of a code matter to what is decoded from it.
///
/// ```ron
/// "relevance-{seed}": Relevance(
///     model: "train-{seed}", data: "train-images", form: Code, images: 100,
///     threshold: 0.99, also: [0.999], basis: Own,
/// ),
/// "relevance-irmae-{seed}": Relevance(
///     model: "irmae-{seed}", data: "train-images", threshold: 0.99, basis: Principal,
/// )
/// ```
///
/// Each coordinate is scored by its variance times its weight in the decoder's exact Jacobian, as
/// in ARD-VAE; the dimension is the number of coordinates, by decreasing score, whose share of all
/// scores exceeds the threshold. This is for models whose coordinates have no order. Codes without
/// preferred axes (`Irmae`, `Ae`) are rotated to their principal axes first, with `basis:
/// Principal`; the record then has these axes too, and `Interpolate` can keep the most relevant.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Relevance {
    /// The trained model.
    pub model: StageRef<TrainedModel>,
    /// The images or vectors that are encoded.
    pub data: StageRef<AnySamples>,
    /// How a coordinate is weighted by the Jacobian; ARD-VAE's published code and its text differ.
    #[serde(default)]
    pub form: RelevanceForm,
    /// Number of samples, drawn at random, at which the decoder is differentiated.
    #[serde(default = "default_images")]
    pub images: NonZeroUsize,
    /// Share of all scores that the counted coordinates must exceed.
    pub threshold: Fraction,
    /// Further shares to count at: 0.999 adds the value `dimension_99.9`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Fraction>,
    /// Which coordinates are scored.
    #[serde(default)]
    pub basis: Basis,
    /// Which output of the decoder is differentiated.
    #[serde(default)]
    pub output: DecoderOutput,
    /// Number of samples, drawn at random, whose codes give the variances; at most all.
    #[serde(default = "default_codes")]
    pub codes: NonZeroUsize,
    /// Random seed for drawing the samples, and for drawing codes where a model encodes a sample as
    /// a distribution.
    #[serde(default = "default_seed")]
    pub seed: Seed,
}

const fn default_images() -> NonZeroUsize {
    const DEFAULT: NonZeroUsize = NonZeroUsize::new(100).unwrap();
    DEFAULT
}

const fn default_codes() -> NonZeroUsize {
    const DEFAULT: NonZeroUsize = NonZeroUsize::new(10_000).unwrap();
    DEFAULT
}

const fn default_seed() -> Seed {
    Seed(0)
}

impl Stage for Relevance {
    fn kind(&self) -> Kind {
        Kind { name: "Relevance", version: 2 }
    }

    fn inputs(&self) -> Vec<Input> {
        vec![self.model.input("model"), self.data.input("data")]
    }

    fn output(&self, _inputs: &Inputs<'_, str>) -> String {
        "record".to_owned()
    }

    fn needs(&self) -> Needs {
        Needs::Device
    }

    fn values(&self) -> Option<Vec<String>> {
        let lists = ["order", "scores", "variances", "weights"].map(|name| self.list_name(name));
        let counts = self.also.iter().map(|&threshold| count_name(threshold));
        let numbers = ["dimension", "share"].map(str::to_owned);
        let axes = (self.basis == Basis::Principal).then(|| AXES.to_owned());
        Some(numbers.into_iter().chain(lists).chain(counts).chain(axes).collect())
    }

    fn work(&self, inputs: &Inputs<'_, ArtifactEstimate>) -> Option<Work> {
        let (model, samples) = (inputs.one("model")?, inputs.one("data")?);
        let coded = samples.rows?.min(self.codes.max(self.images).get());
        // The decoder is differentiated along each coordinate.
        let derivatives = self.images.get() * model.width()?;
        let work = model.application.times((coded + derivatives) as f64);
        (work.0 > 0.0).then_some(work)
    }

    fn run(&self, context: &mut RunContext) -> Result<(), StageError> {
        let model = context.load(&self.model)?.load(context.device().parse()?)?;
        let samples = context.load(&self.data)?.0;
        let samples = samples.at(&self.rows(samples.len()));
        let codes = model.draw(&samples, self.codes.max(self.images), self.seed)?;
        let directions = self.basis.directions(&first(&codes.points, self.codes.get()))?;
        let variances = self.variances(&codes, &directions);
        let first = first(&codes.points, self.images.get());
        let (latent, outputs) = (directions.rows(), model.values());
        let mut sums = JacobianWeights::new(self.form, latent, outputs, first.rows());
        model.differentiate(&first, &directions, self.output, &mut |coordinate, tangent| {
            sums.add(coordinate, tangent);
        });
        let weights = sums.weights();
        let scores = RelevanceScores::new(&weights, &variances)?;
        context.log(&format!(
            "variances over {} random codes{}, Jacobians at {} of them",
            codes.points.rows().min(self.codes.get()),
            if codes.are_drawn { " drawn from their distributions" } else { "" },
            first.rows()
        ));
        let dimension = scores.count(self.threshold);
        context.log(&format!(
            "dimension {dimension} of {latent}, with {:.4} of the total relevance",
            scores.share(dimension)
        ));
        let mut record = self.record(&scores);
        record.insert(self.list_name("variances"), RecordValue::List(variances));
        record.insert(self.list_name("weights"), RecordValue::List(weights));
        if self.basis == Basis::Principal {
            let entries = directions.values().iter().copied().map(f64::from);
            record.insert(AXES.to_owned(), RecordValue::List(entries.collect()));
        }
        context.store(&record)
    }
}

impl Relevance {
    /// Draws the rows of the samples that are encoded. They are in no order, since those of many data
    /// sets are sorted by factor or class, and the first of them are used alone.
    fn rows(&self, samples: usize) -> Vec<usize> {
        let mut rows = permutation(samples, &mut self.seed.stream("rows"));
        rows.truncate(self.codes.max(self.images).get());
        rows
    }

    /// Returns the variance of each scored coordinate: about zero for codes that were drawn, whose
    /// prior has a mean of zero, else about the mean.
    fn variances(&self, codes: &Codes, directions: &Points) -> Vec<f64> {
        let rotated = rotated(&first(&codes.points, self.codes.get()), directions);
        if codes.are_drawn { rotated.second_moments() } else { rotated.variances() }
    }

    /// Returns the name of a list in the record: one of principal axes must not be taken for one of
    /// coordinates.
    fn list_name(&self, name: &str) -> String {
        list_name(self.basis, name)
    }

    /// Lists what follows from the scores under its names.
    fn record(&self, scores: &RelevanceScores) -> Values {
        let dimension = scores.count(self.threshold);
        let order = scores.order.iter().map(|&coordinate| (coordinate + 1) as f64).collect();
        let values = [
            ("dimension".to_owned(), RecordValue::Number(dimension as f64)),
            (self.list_name("order"), RecordValue::List(order)),
            (self.list_name("scores"), RecordValue::List(scores.scores.clone())),
            ("share".to_owned(), RecordValue::Number(scores.share(dimension))),
        ];
        let counts = self.also.iter().map(|&threshold| {
            (count_name(threshold), RecordValue::Number(scores.count(threshold) as f64))
        });
        values.into_iter().chain(counts).collect()
    }
}

/// The list in a record that holds the principal axes one after the other.
const AXES: &str = "axes";

/// The list in a record that coordinates are chosen by.
const SCORES: &str = "scores";

fn list_name(basis: Basis, name: &str) -> String {
    match basis {
        Basis::Own => name.to_owned(),
        Basis::Principal => format!("axis_{name}"),
    }
}

/// Scores of coordinates, read from a record.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CoordinateScores {
    /// The score of each coordinate.
    pub(super) scores: Vec<f64>,
    /// The axes that the scores are of, if they are not those of the code itself.
    pub(super) axes: Option<Points>,
}

impl CoordinateScores {
    /// Returns the scores in a record, if it has any.
    pub(super) fn of(record: &Values) -> Option<Self> {
        let list = |name: &str| match record.get(name) {
            Some(RecordValue::List(list)) => Some(list),
            _ => None,
        };
        if let Some(scores) = list(SCORES) {
            return Some(Self { scores: scores.clone(), axes: None });
        }
        let scores = list(&list_name(Basis::Principal, SCORES))?;
        let entries = list(AXES)?.iter().map(|&entry| entry as f32);
        let axes = Points::new(scores.len(), scores.len(), entries.collect()).ok()?;
        Some(Self { scores: scores.clone(), axes: Some(axes) })
    }

    /// Returns whether a record with these values has scores.
    pub(super) fn are_among(values: &[String]) -> bool {
        let has = |name: &str| values.iter().any(|value| value == name);
        has(SCORES) || has(&list_name(Basis::Principal, SCORES)) && has(AXES)
    }
}

/// Returns the first points, at most `count`.
fn first(points: &Points, count: usize) -> Points {
    let values = points.values().len().min(count * points.width());
    Points::from_rows(points.width(), points.values()[..values].to_vec())
}

/// A stage and the key of its settings; when the key changes, every user computes again.
#[cfg(test)]
pub(super) const PINNED: (&str, &str) =
    (r#"Relevance(model: "train", data: "images", threshold: 0.99)"#, "4bedbdbd");

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(more: &str) -> Relevance {
        let text = format!(r#"(model: "m", data: "d", threshold: 0.8{more})"#);
        ron::from_str(&text).unwrap()
    }

    #[test]
    fn a_record_has_one_dimension_for_each_threshold_and_the_coordinates_by_relevance() {
        let stage = stage(", also: [0.95, 0.999]");
        let scores = RelevanceScores::new(&[1.0, 6.0, 3.0], &[1.0, 1.0, 1.0]).unwrap();
        let record = stage.record(&scores);
        assert_eq!(record["dimension"], RecordValue::Number(2.0));
        assert_eq!(record["dimension_95"], RecordValue::Number(3.0));
        assert_eq!(record["dimension_99.9"], RecordValue::Number(3.0));
        assert_eq!(record["order"], RecordValue::List(vec![2.0, 3.0, 1.0]));
        assert_eq!(record["scores"], RecordValue::List(vec![1.0, 6.0, 3.0]));
        let mut names: Vec<String> = record.keys().cloned().collect();
        names.extend(["variances", "weights"].map(str::to_owned));
        names.sort_unstable();
        let mut declared = stage.values().unwrap();
        declared.sort_unstable();
        assert_eq!(names, declared);
    }

    #[test]
    fn scores_of_principal_axes_are_read_together_with_the_axes() {
        let list = |values: &[f64]| RecordValue::List(values.to_vec());
        let mut record = Values::new();
        assert_eq!(CoordinateScores::of(&record), None);
        record.insert("axis_scores".to_owned(), list(&[1.0, 2.0]));
        assert_eq!(CoordinateScores::of(&record), None, "which axes is not known");
        record.insert("axes".to_owned(), list(&[0.0, 1.0, 1.0, 0.0]));
        let found = CoordinateScores::of(&record).unwrap();
        assert_eq!(found.scores, [1.0, 2.0]);
        assert_eq!(found.axes.unwrap().row(0), [0.0, 1.0]);
        record.insert("axes".to_owned(), list(&[0.0, 1.0]));
        assert_eq!(CoordinateScores::of(&record), None, "one axis is missing");
        record.insert("scores".to_owned(), list(&[3.0]));
        assert_eq!(CoordinateScores::of(&record).unwrap().axes, None);
        let principal = stage(", basis: Principal").values().unwrap();
        let own = stage("").values().unwrap();
        assert!(CoordinateScores::are_among(&principal) && CoordinateScores::are_among(&own));
        assert!(!own.contains(&"axes".to_owned()));
    }

    #[test]
    fn samples_come_from_all_parts_of_a_sorted_set() {
        let rows = stage(", codes: 1000, images: 100, seed: 3").rows(64_512);
        assert_eq!(rows.len(), 1000);
        for part in [&rows[..], &rows[..100]] {
            // A tenth of the rows is drawn from each tenth of the set: 3 or 9.5 is the deviation.
            for tenth in 0..10 {
                let count = part.iter().filter(|&row| row * 10 / 64_512 == tenth).count();
                assert!(count.abs_diff(part.len() / 10) < part.len() / 20 + 10, "{count}");
            }
        }
        assert_eq!(rows, stage(", codes: 1000, images: 100, seed: 3").rows(64_512));
        assert_ne!(rows, stage(", codes: 1000, images: 100").rows(64_512));
        let all = stage("").rows(50);
        assert_eq!(all.len(), 50, "there are no more");
    }

    #[test]
    fn drawn_codes_vary_about_zero_and_others_about_their_mean() {
        let stage = stage(", codes: 2");
        let points = Points::from_rows(1, vec![1.0, 3.0, 100.0]);
        let directions = Points::from_rows(1, vec![1.0]);
        let codes = |are_drawn| Codes { points: points.clone(), are_drawn };
        assert_eq!(stage.variances(&codes(true), &directions), [5.0], "only the first two count");
        assert_eq!(stage.variances(&codes(false), &directions), [1.0]);
    }
}
