//! What is known of each sample beside its values: factors, a class, its part of the set.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::DataError;

/// A part of a data set that shares no sample with the other parts.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum Split {
    /// What models learn from.
    Train,
    /// What settings are chosen on.
    Validation,
    /// What results are reported on.
    Test,
}

impl Split {
    /// All splits, in the order in which a shuffled set is cut into them.
    pub const ALL: [Self; 3] = [Self::Train, Self::Validation, Self::Test];

    /// Returns the split's name in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Train => "train",
            Self::Validation => "validation",
            Self::Test => "test",
        }
    }
}

/// The known causes of each sample, such as position and size.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Factors {
    /// One name for each column of `values`.
    pub names: Vec<String>,
    /// One row for each sample, row-major.
    pub values: Vec<f32>,
}

impl Factors {
    /// Returns the factors of one sample.
    pub fn row(&self, index: usize) -> &[f32] {
        let width = self.names.len();
        &self.values[index * width..(index + 1) * width]
    }

    /// Returns one factor of every sample.
    pub fn column(&self, index: usize) -> impl Iterator<Item = f32> + '_ {
        self.values.iter().skip(index).step_by(self.names.len().max(1)).copied()
    }
}

/// The class of each sample.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Classes {
    /// The classes, by number.
    pub names: Vec<String>,
    /// The class number of each sample.
    pub values: Vec<u16>,
}

impl Classes {
    /// Numbers the different labels in their order; `None` if there are more than 65,536.
    pub(super) fn numbered<T: Ord + ToString>(labels: &[T]) -> Option<Self> {
        let mut distinct: Vec<&T> = labels.iter().collect();
        distinct.sort_unstable();
        distinct.dedup();
        let number =
            |label| distinct.binary_search(&label).ok().and_then(|at| u16::try_from(at).ok());
        let values = labels.iter().map(number).collect::<Option<_>>()?;
        Some(Self { names: distinct.into_iter().map(ToString::to_string).collect(), values })
    }

    /// Returns the number of samples of each class.
    pub fn counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.names.len()];
        for &class in &self.values {
            counts[usize::from(class)] += 1;
        }
        counts
    }
}

/// Everything known of the samples of a set; empty where nothing is known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Annotations {
    /// The causes of each sample.
    pub factors: Factors,
    /// The class of each sample, if the set has classes.
    pub classes: Option<Classes>,
}

impl Annotations {
    /// Makes sure that these annotate exactly `count` samples.
    pub fn check(&self, count: usize) -> Result<(), DataError> {
        let check = |what, expected, found| {
            if expected == found {
                Ok(())
            } else {
                Err(DataError::Length { what, expected, found })
            }
        };
        check("factors", count * self.factors.names.len(), self.factors.values.len())?;
        self.classes.as_ref().map_or(Ok(()), |classes| {
            check("classes", count, classes.values.len())?;
            let unnamed =
                classes.values.iter().find(|&&class| usize::from(class) >= classes.names.len());
            unnamed.map_or(Ok(()), |class| {
                Err(DataError::Unfit(format!(
                    "class {class} has no name: the number of named classes is {}",
                    classes.names.len()
                )))
            })
        })
    }

    /// Returns the annotations of the chosen samples, in the given order.
    #[must_use]
    pub fn of(&self, rows: &[usize]) -> Self {
        let factors = Factors {
            names: self.factors.names.clone(),
            values: rows.iter().flat_map(|&row| self.factors.row(row)).copied().collect(),
        };
        let classes = self.classes.as_ref().map(|classes| Classes {
            names: classes.names.clone(),
            values: rows.iter().map(|&row| classes.values[row]).collect(),
        });
        Self { factors, classes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> Annotations {
        Annotations {
            factors: Factors {
                names: vec!["x".into(), "y".into()],
                values: vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
            },
            classes: Some(Classes {
                names: vec!["cat".into(), "dog".into()],
                values: vec![0, 1, 1],
            }),
        }
    }

    #[test]
    fn factors_and_classes_follow_the_chosen_samples() {
        let chosen = three().of(&[2, 0]);
        assert_eq!(chosen.factors.values, [4.0, 5.0, 0.0, 1.0]);
        assert_eq!(chosen.classes.unwrap().values, [1, 0]);
        assert_eq!(three().factors.column(1).collect::<Vec<_>>(), [1.0, 3.0, 5.0]);
    }

    #[test]
    fn annotations_of_another_number_of_samples_are_refused() {
        assert!(three().check(3).is_ok());
        let error = three().check(2).unwrap_err();
        assert_eq!(error.to_string(), "factors: expected 4 values, found 6");
    }

    #[test]
    fn a_class_without_a_name_is_refused() {
        let mut annotations = three();
        annotations.classes.as_mut().unwrap().names.pop();
        let error = annotations.check(3).unwrap_err();
        assert_eq!(error.to_string(), "class 1 has no name: the number of named classes is 1");
    }
}
