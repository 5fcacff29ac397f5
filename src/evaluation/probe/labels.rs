//! Where classes come from: the data set's own, or a factor cut into bins.

use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ClassificationError;
use crate::data::Annotations;

/// The classes to predict.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub enum ClassSpec {
    /// The classes of the data set.
    #[default]
    Given,
    /// Bins of a factor, for data sets with factors but without classes.
    Bins {
        /// The factor, by name.
        factor: String,
        /// Number of classes: bins of equal width between the smallest and the largest value in the
        /// training samples. Values beyond belong to the first or the last bin.
        count: NonZeroUsize,
    },
}

/// The class of each sample, and how many classes there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels {
    /// Names of the classes, by number.
    pub names: Vec<String>,
    /// The class number of each sample.
    pub values: Vec<u16>,
}

impl ClassSpec {
    /// Returns whether the classes are the data set's own.
    pub const fn is_given(&self) -> bool {
        matches!(self, Self::Given)
    }

    /// Returns the labels of training and test samples.
    pub fn labels(
        &self,
        train: &Annotations,
        test: &Annotations,
    ) -> Result<[Labels; 2], ClassificationError> {
        match self {
            Self::Given => {
                let [train, test] = [given(train, "training")?, given(test, "test")?];
                if train.names == test.names {
                    return Ok([train, test]);
                }
                let [train, test] = [train, test].map(|labels| labels.names.join(", "));
                Err(ClassificationError::OtherClasses { train, test })
            }
            Self::Bins { factor, count } => {
                let learned = column(train, factor, "training")?;
                let least = learned.iter().copied().fold(f32::INFINITY, f32::min);
                let most = learned.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                if least >= most {
                    return Err(ClassificationError::ConstantFactor { factor: factor.clone() });
                }
                let width = (f64::from(most) - f64::from(least)) / count.get() as f64;
                let bin = |value: &f32| {
                    let place = ((f64::from(*value) - f64::from(least)) / width).floor();
                    place.clamp(0.0, (count.get() - 1) as f64) as u16
                };
                let names: Vec<String> =
                    (0..count.get()).map(|bin| format!("{factor} {}", bin + 1)).collect();
                let labels = |values: Vec<f32>| Labels {
                    names: names.clone(),
                    values: values.iter().map(bin).collect(),
                };
                Ok([labels(learned), labels(column(test, factor, "test")?)])
            }
        }
    }
}

/// Returns the data set's own classes.
pub(super) fn given(
    known: &Annotations,
    what: &'static str,
) -> Result<Labels, ClassificationError> {
    let classes = known.classes.as_ref().ok_or(ClassificationError::NoClasses { what })?;
    Ok(Labels { names: classes.names.clone(), values: classes.values.clone() })
}

fn column(
    known: &Annotations,
    factor: &str,
    what: &'static str,
) -> Result<Vec<f32>, ClassificationError> {
    let names = &known.factors.names;
    let index = names.iter().position(|name| name == factor);
    let index = index.ok_or_else(|| ClassificationError::NoFactor {
        what,
        factor: factor.to_owned(),
        known: names.join(", "),
    })?;
    Ok(known.factors.column(index).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Classes, Factors};

    fn factor(values: &[f32]) -> Annotations {
        let factors = Factors { names: vec!["size".into()], values: values.to_vec() };
        Annotations { factors, classes: None }
    }

    fn bins(train: &[f32], test: &[f32]) -> Result<[Labels; 2], ClassificationError> {
        let spec: ClassSpec = ron::from_str(r#"Bins(factor: "size", count: 4)"#).unwrap();
        spec.labels(&factor(train), &factor(test))
    }

    #[test]
    fn bins_are_those_of_the_training_samples() {
        let [train, test] = bins(&[0.0, 1.0, 2.5, 4.0], &[-9.0, 3.1, 99.0]).unwrap();
        assert_eq!((train.values, test.values), (vec![0, 1, 2, 3], vec![0, 3, 3]));
        assert_eq!(test.names, ["size 1", "size 2", "size 3", "size 4"]);
        assert_eq!(
            bins(&[2.0, 2.0], &[1.0]).unwrap_err().to_string(),
            "the factor `size` is the same in all training samples: it cannot define classes"
        );
    }

    #[test]
    fn classes_that_are_not_there_or_not_the_same_are_refused() {
        let classes = |names: &[&str]| Annotations {
            classes: Some(Classes {
                names: names.iter().map(|name| (*name).to_owned()).collect(),
                values: vec![0],
            }),
            ..Annotations::default()
        };
        let told =
            |spec: &ClassSpec, train, test| spec.labels(&train, &test).unwrap_err().to_string();
        assert_eq!(
            told(&ClassSpec::Given, classes(&["a", "b"]), classes(&["a"])),
            "the training classes are a, b, but the test classes are a: take both from the same \
             data set with the same `select`"
        );
        assert!(
            told(&ClassSpec::Given, classes(&["a"]), factor(&[0.0]))
                .starts_with("the test samples have no classes")
        );
        let spec = ClassSpec::Bins { factor: "hue".into(), count: NonZeroUsize::MIN };
        assert_eq!(
            told(&spec, factor(&[0.0]), factor(&[0.0])),
            "the training samples have no factor `hue`, only size"
        );
    }
}
