//! The stage kind [`Score`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::artifacts::AnySamples;
use super::cost;
use super::geodesic::check_samples;
use super::settings_in_words::loss_in_words;
use crate::data::SampleSet;
use crate::engine::stage::context::{RunContext, StageError};
use crate::engine::stage::estimate::{ArtifactEstimate, Work};
use crate::engine::stage::{Input, Inputs, Kind, Needs, Problem, Producer, Stage, StageRef};
use crate::evaluation::latent::{FactorFits, Factors, Isometry, OrderViolations, Smoothness};
use crate::geometry::{Distances, euclidean};
use crate::models::Reconstruction;
use crate::report::{RecordValue, Values};
use crate::training::TrainedModel;

/// The text in a record that names the loss.
const LOSS: &str = "loss";

/// The metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum MetricSpec {
    /// The reconstruction loss that the model was trained with, averaged over samples; the squared
    /// error of a PCA. The text `loss` in the record says which it is.
    Reconstruction,
    /// Squared error of the reconstruction, summed over values, averaged over samples.
    SquaredError,
    /// Smoothness of latent interpolation: the variance of the steps between decodings on straight
    /// lines between codes, x 100. Values: `smoothness`, its `smoothness_spread` over pairs, and
    /// the mean `step_length`.
    Smoothness(Smoothness),
    /// Distances between codes compared with those along the data. Values: `isometry_error` and
    /// `isometry_error_scaled` (relative, of squares), `isometry_correlation`, `isometry_scale` and
    /// `stress`. Needs `distances`.
    Isometry(Isometry),
    /// Coordinates that are out of order by variance. Values: `order_adjacent`, `order_pairs`, and
    /// `order_share`, the share of variance out of place.
    Order,
    /// Known factors predicted from codes. Values: `r2` (linear), `r2_knn`, `correlation` and
    /// `spearman`, each as the mean and for each factor (`r2_scale`), and the best
    /// `coordinate_scale`. With `first: 4` all names begin with `first_4_`.
    Factors(Factors),
}

impl MetricSpec {
    /// Returns the names of the values that this gives; factors are known only with the samples.
    const fn values(&self) -> Option<&'static [&'static str]> {
        match self {
            Self::Reconstruction => Some(&["reconstruction", LOSS]),
            Self::SquaredError => Some(&["squared_error"]),
            Self::Smoothness(_) => Some(&["smoothness", "smoothness_spread", "step_length"]),
            Self::Isometry(_) => Some(&[
                "isometry_error",
                "isometry_error_scaled",
                "isometry_correlation",
                "isometry_scale",
                "stress",
            ]),
            Self::Order => Some(&["order_adjacent", "order_pairs", "order_share"]),
            Self::Factors(_) => None,
        }
    }

    /// Gives numbers their names.
    fn named(&self, numbers: &[f64]) -> Vec<(String, f64)> {
        let names = self.values().into_iter().flatten();
        names.zip(numbers).map(|(name, number)| ((*name).to_owned(), *number)).collect()
    }
}

/// How well a trained model does on samples, and how good its code is.
///
/// ```ron
/// "quality-{seed}": Score(model: "train-{seed}", data: "test-images", metric: Reconstruction),
/// // Whether equal steps in the code are equal steps in the images, x 100.
/// "smoothness-{seed}": Score(
///     model: "train-{seed}", data: "test-images", metric: Smoothness(pairs: 1000, steps: 10, seed: 0),
/// ),
/// // Whether distances between codes are those along the data.
/// "isometry-{seed}": Score(
///     model: "train-{seed}", data: "train-images", distances: "distances",
///     metric: Isometry(pairs: 10000, seed: 0),
/// ),
/// "order-{seed}": Score(model: "train-{seed}", data: "test-images", metric: Order),
/// // What the code, or its first coordinates, reveal about the factors of the samples.
/// "factors-{seed}": Score(model: "train-{seed}", data: "test-images", metric: Factors()),
/// "leading-{seed}": Score(model: "train-{seed}", data: "test-images", metric: Factors(first: 4))
/// ```
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Score {
    /// The trained model.
    pub model: StageRef<TrainedModel>,
    /// The images or vectors it is evaluated on.
    pub data: StageRef<AnySamples>,
    /// Distances between those samples, for `Isometry`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distances: Option<StageRef<Distances>>,
    /// The metric.
    pub metric: MetricSpec,
}

impl Stage for Score {
    fn kind(&self) -> Kind {
        Kind { name: "Score", version: 2 }
    }

    fn inputs(&self) -> Vec<Input> {
        let mut inputs = vec![self.model.input("model"), self.data.input("data")];
        inputs.extend(self.distances.iter().map(|distances| distances.input("distances")));
        inputs
    }

    fn output(&self, _inputs: &Inputs<'_, str>) -> String {
        "record".to_owned()
    }

    fn needs(&self) -> Needs {
        Needs::Device
    }

    fn problems(&self, _inputs: &Inputs<'_, Producer>) -> Vec<Problem> {
        match (self.metric, &self.distances) {
            (MetricSpec::Smoothness(Smoothness { steps, .. }), None) if steps.get() < 2 => {
                vec![Problem {
                    field: "metric",
                    message: "a path of 1 step has no variance between steps".to_owned(),
                    help: Some("use `steps: 10`".to_owned()),
                }]
            }
            (MetricSpec::Isometry(_), None) => vec![Problem {
                field: "metric",
                message: "`Isometry` compares codes with distances, but the stage has none"
                    .to_owned(),
                help: Some(
                    "add `distances: \"..\"` with the name of a `Geodesic` stage".to_owned(),
                ),
            }],
            (MetricSpec::Isometry(_), Some(_)) | (_, None) => Vec::new(),
            (_, Some(_)) => vec![Problem {
                field: "distances",
                message: "only `Isometry` compares codes with distances".to_owned(),
                help: Some("delete this line".to_owned()),
            }],
        }
    }

    fn values(&self) -> Option<Vec<String>> {
        self.metric.values().map(|names| names.iter().map(|&name| name.to_owned()).collect())
    }

    fn work(&self, inputs: &Inputs<'_, ArtifactEstimate>) -> Option<Work> {
        cost::application(inputs.one("model"), inputs.one("data"))
    }

    fn run(&self, context: &mut RunContext) -> Result<(), StageError> {
        let model = context.load(&self.model)?;
        let samples = context.load(&self.data)?.0;
        let numbers = self.measure(&model, &samples, context)?;
        let mut record = Values::new();
        for (name, number) in numbers {
            context.log(&format!("{name} {number:.6} over {} samples", samples.len()));
            record.insert(name, RecordValue::Number(number));
        }
        if self.metric == MetricSpec::Reconstruction {
            let loss = loss_in_words(model.loss());
            context.log(&format!("{LOSS}: {loss}"));
            record.insert(LOSS.to_owned(), RecordValue::Text(loss.to_owned()));
        }
        context.store(&record)
    }
}

impl Score {
    /// Measures a model, each number under its name.
    fn measure(
        &self,
        model: &TrainedModel,
        samples: &SampleSet,
        context: &RunContext,
    ) -> Result<Vec<(String, f64)>, StageError> {
        let device = context.device().parse()?;
        let numbers = match &self.metric {
            MetricSpec::Reconstruction => vec![model.reconstruction(samples, device)?],
            MetricSpec::SquaredError => {
                vec![model.reconstruction_as(Reconstruction::SquaredError, samples, device)?]
            }
            MetricSpec::Smoothness(smoothness) => {
                let model = model.load(device)?;
                let codes = model.encode(samples)?;
                let steps = smoothness.measure(&codes, &mut |codes| model.decode(codes))?;
                vec![100.0 * steps.variance, 100.0 * steps.spread, steps.length]
            }
            MetricSpec::Isometry(isometry) => {
                let Some(distances) = &self.distances else {
                    return Err(StageError::Failed("`Isometry` needs `distances`".into()));
                };
                check_samples(context, distances, samples)?;
                let distances = context.load(distances)?;
                let codes = model.encode(samples, device)?;
                let straight = |one: usize, other: usize| {
                    euclidean(&samples.batch(&[one]), &samples.batch(&[other]))
                };
                let fit = isometry.measure(&codes, &distances, &straight)?;
                vec![fit.error, fit.scaled_error, fit.correlation, fit.scale, fit.stress]
            }
            MetricSpec::Order => {
                let order = OrderViolations::of(&model.encode(samples, device)?)?;
                vec![order.adjacent as f64, order.pairs as f64, order.share]
            }
            MetricSpec::Factors(factors) => {
                let fits = factors.measure(&model.encode(samples, device)?, &known(samples))?;
                if !fits.constant.is_empty() {
                    context.log(&format!("constant factors: {}", fits.constant.join(", ")));
                }
                return Ok(factor_numbers(*factors, &fits));
            }
        };
        Ok(self.metric.named(&numbers))
    }
}

/// Returns the known factors of samples by name.
fn known(samples: &SampleSet) -> Vec<(String, Vec<f64>)> {
    let factors = &samples.annotations().factors;
    let names = factors.names.iter().enumerate();
    names.map(|(at, name)| (name.clone(), factors.column(at).map(f64::from).collect())).collect()
}

/// Names the fits of factors, the means first.
fn factor_numbers(factors: Factors, found: &FactorFits) -> Vec<(String, f64)> {
    let prefix = factors.first.map_or_else(String::new, |first| format!("first_{first}_"));
    let mut numbers = vec![
        ("r2".to_owned(), found.mean(|fit| fit.linear)),
        ("r2_knn".to_owned(), found.mean(|fit| fit.neighbors)),
        ("correlation".to_owned(), found.mean(|fit| fit.pearson)),
        ("spearman".to_owned(), found.mean(|fit| fit.spearman)),
    ];
    for fit in &found.fits {
        numbers.extend([
            (format!("r2_{}", fit.name), fit.linear),
            (format!("r2_knn_{}", fit.name), fit.neighbors),
            (format!("correlation_{}", fit.name), fit.pearson),
            (format!("spearman_{}", fit.name), fit.spearman),
            (format!("coordinate_{}", fit.name), fit.coordinate as f64),
        ]);
    }
    numbers.into_iter().map(|(name, number)| (format!("{prefix}{name}"), number)).collect()
}

/// A stage and the key of its settings; when the key changes, every user computes again.
#[cfg(test)]
pub(super) const PINNED: (&str, &str) =
    (r#"Score(model: "train", data: "images", metric: Reconstruction)"#, "cf3b1dd9");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::pipeline::values::dialect;
    use crate::evaluation::latent::FactorFit;
    use crate::stages::test_inputs::problems_of;

    fn score(metric: &str, more: &str) -> Score {
        let text = format!(r#"(model: "m", data: "d", metric: {metric}{more})"#);
        dialect().from_str(&text).unwrap()
    }

    #[test]
    fn distances_belong_to_isometry_and_to_nothing_else() {
        let given = r#", distances: "distances""#;
        assert!(problems_of(&score("Isometry(seed: 0)", given), &[]).is_empty());
        assert!(problems_of(&score("Smoothness(seed: 0)", ""), &[]).is_empty());
        assert_eq!(problems_of(&score("Smoothness(seed: 0, steps: 1)", ""), &[]).len(), 1);
        assert_eq!(
            problems_of(&score("Isometry(seed: 0)", ""), &[]),
            ["metric: `Isometry` compares codes with distances, but the stage has none \
              (add `distances: \"..\"` with the name of a `Geodesic` stage)"]
        );
        assert_eq!(
            problems_of(&score("Order", given), &[]),
            ["distances: only `Isometry` compares codes with distances (delete this line)"]
        );
    }

    #[test]
    fn factors_are_named_in_the_record_and_so_is_the_number_of_coordinates() {
        let fit = |name: &str, by: f64| FactorFit {
            name: name.to_owned(),
            coordinate: 3,
            pearson: 0.1 * by,
            spearman: 0.2 * by,
            linear: 0.3 * by,
            neighbors: 0.4 * by,
        };
        let found = FactorFits { fits: vec![fit("scale", 1.0), fit("x", 2.0)], constant: vec![] };
        let stage = score("Factors(first: 4)", "");
        assert_eq!(stage.values(), None);
        let MetricSpec::Factors(factors) = stage.metric else { panic!("these are factors") };
        let numbers = factor_numbers(factors, &found);
        let number = |name: &str| numbers.iter().find(|(own, _)| own == name).unwrap().1;
        assert!((number("first_4_r2") - 0.45).abs() < 1e-12);
        assert!((number("first_4_r2_x") - 0.6).abs() < 1e-12);
        assert!((number("first_4_r2_knn_scale") - 0.4).abs() < 1e-12);
        assert!((number("first_4_coordinate_x") - 3.0).abs() < 1e-12);
        let all = factor_numbers(Factors { first: None, ..factors }, &found);
        assert_eq!(all[0].0, "r2");
    }
}
