//! The stage kind [`Frechet`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::features::NETWORK;
use super::report_counts;
use crate::engine::stage::context::{RunContext, StageError};
use crate::engine::stage::{Input, Inputs, Kind, Problem, Producer, Stage, StageRef};
use crate::evaluation::fid::{Gaussian, KidSpec};
use crate::numerics::Points;
use crate::report::{RecordValue, Values};

/// Names of the values in the record.
const VALUES: [&str; 4] = ["features", "frechet_distance", "real_samples", "samples"];
/// Names of further values if there is a kernel distance.
const KID_VALUES: [&str; 3] = ["kid", "kid_spread", "kid_subset_size"];

/// The distance of generated samples from real ones, measured on their features.
///
/// ```ron
/// "fid": Frechet(
///     real: "real-features", generated: "generated-features",
///     kid: Kid(subsets: 100, subset_size: 1000, seed: 0),   // optional
/// ),
/// "pixel-distance": Frechet(real: "test-images", generated: "images")
/// ```
///
/// The record has `frechet_distance`, `samples` and `real_samples`, with `kid` also `kid`,
/// `kid_spread` and `kid_subset_size`, and in `features` the network that produced them. With
/// those of `Inception` the distance is FID, and can be compared with others of the same `resize`
/// and the same number of samples; with any other features it is a Frechet distance, but not FID.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Frechet {
    /// The features of real samples.
    pub real: StageRef<Points>,
    /// The features of generated samples, by the same network.
    pub generated: StageRef<Points>,
    /// Settings of the kernel distance (KID), if it is measured too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kid: Option<KidSpec>,
}

impl Stage for Frechet {
    fn kind(&self) -> Kind {
        Kind { name: "Frechet", version: 1 }
    }

    fn inputs(&self) -> Vec<Input> {
        vec![self.real.input("real"), self.generated.input("generated")]
    }

    fn output(&self, _inputs: &Inputs<'_, str>) -> String {
        "record".to_owned()
    }

    fn problems(&self, _inputs: &Inputs<'_, Producer>) -> Vec<Problem> {
        let too_small = self.kid.iter().filter(|kid| kid.subset_size.get() < 2);
        let problem = |_| Problem {
            field: "kid",
            message: "a subset of 1 sample has no pairs".to_owned(),
            help: Some("papers use `subset_size: 1000`".to_owned()),
        };
        too_small.map(problem).collect()
    }

    fn values(&self) -> Option<Vec<String>> {
        let kid = if self.kid.is_some() { &KID_VALUES[..] } else { &[] };
        Some(VALUES.iter().chain(kid).map(|&name| name.to_owned()).collect())
    }

    fn run(&self, context: &mut RunContext) -> Result<(), StageError> {
        let features = self.network(context)?;
        let (real, generated) = (context.load(&self.real)?, context.load(&self.generated)?);
        let needed = real.width() + 1;
        for (name, points) in [("real", &real), ("generated", &generated)] {
            if points.rows() < needed {
                context.log(&format!(
                    "warning: {} {name} samples, but a covariance of {} features needs {needed}: it is \
                     singular, and the distance depends on the number of samples",
                    points.rows(),
                    points.width()
                ));
            }
        }
        let (of_real, of_generated) =
            rayon::join(|| Gaussian::of(&real), || Gaussian::of(&generated));
        let distance = of_real?.distance(&of_generated?)?;
        let (samples, real_samples) = (generated.rows(), real.rows());
        context.log(&format!(
            "Frechet distance {distance:.6} between {real_samples} real and {samples} generated \
             samples (features: {features})"
        ));
        let mut values = vec![
            RecordValue::Text(features),
            RecordValue::Number(distance),
            RecordValue::Number(real_samples as f64),
            RecordValue::Number(samples as f64),
        ];
        if let Some(kid) = &self.kid {
            let found = kid.measure(&real, &generated, &mut report_counts(context, "subset"))?;
            context.log(&format!(
                "KID {:.6} with a standard deviation of {:.6} over {} subsets of {} samples",
                found.mean, found.spread, kid.subsets, found.subset_size
            ));
            let subset_size = found.subset_size as f64;
            values.extend([found.mean, found.spread, subset_size].map(RecordValue::Number));
        }
        let names = VALUES.into_iter().chain(KID_VALUES).map(str::to_owned);
        context.store(&names.zip(values).collect::<Values>())
    }
}

impl Frechet {
    /// Returns in one line the network that the features of both sides come from.
    fn network(&self, context: &RunContext) -> Result<String, StageError> {
        let line = |side: &StageRef<Points>| -> Result<_, StageError> {
            let reader = context.files_of(side)?;
            let known = reader.files().contains_key(NETWORK);
            let text = known.then(|| reader.read(NETWORK)).transpose()?;
            Ok(text.map(|text| String::from_utf8_lossy(&text).trim().to_owned()))
        };
        match (line(&self.real)?, line(&self.generated)?) {
            (Some(real), Some(generated)) if real != generated => Err(StageError::from(format!(
                "the features come from different networks: `{}` from {real}, `{}` from {generated}",
                self.real.name(),
                self.generated.name()
            ))),
            (Some(same), Some(_)) => Ok(same),
            _ => Ok("not known".to_owned()),
        }
    }
}

/// A stage and the key of its settings; when the key changes, every user computes again.
#[cfg(test)]
pub(super) const PINNED: (&str, &str) = (
    r#"Frechet(
    real: "features", generated: "codes", kid: Kid(subsets: 100, subset_size: 1000, seed: 0),
)"#,
    "12f9ba2a",
);

#[cfg(test)]
mod tests {
    use ron::extensions::Extensions;

    use super::*;
    use crate::stages::test_inputs::problems_of;

    fn stage(kid: &str) -> Frechet {
        let text = format!(r#"(real: "a", generated: "b"{kid})"#);
        let options = ron::Options::default();
        options.with_default_extension(Extensions::IMPLICIT_SOME).from_str(&text).unwrap()
    }

    #[test]
    fn the_kernel_distance_is_among_the_values_only_if_it_is_asked_for() {
        let plain = stage("").values().unwrap();
        assert_eq!(plain, VALUES);
        let kid = stage(", kid: Kid(subsets: 10, subset_size: 50, seed: 0)").values().unwrap();
        assert_eq!(kid[VALUES.len()..], KID_VALUES);
    }

    #[test]
    fn a_subset_needs_pairs() {
        assert_eq!(
            problems_of(&stage(", kid: Kid(subsets: 10, subset_size: 1, seed: 0)"), &[]),
            ["kid: a subset of 1 sample has no pairs (papers use `subset_size: 1000`)"]
        );
    }
}
