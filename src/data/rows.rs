//! Which samples of a set: cut into parts that share nothing, then chosen by factor or class.
//!
//! The division is one of the whole set, whatever is chosen afterwards: parts of one division never
//! overlap, not even between stages that choose differently. Only the catalog is needed. Chosen rows
//! keep the order of the source unless they are shuffled.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Annotations, Catalog, DataError, Split};
use crate::numerics::Seed;
use crate::numerics::rng::{permutation, shuffle};
use crate::numerics::units::{Finite, Fraction};

/// Which values of a factor to select.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub enum Choice {
    /// Exactly these values, such as `Values([2])`.
    Values(Vec<Finite>),
    /// Everything from the first to the second value, both included.
    Range(Finite, Finite),
    /// From the first to the second of the factor's sorted values, counted from 0, both included.
    Levels(usize, usize),
    /// Classes by name, for the key `class`.
    Names(Vec<String>),
}

/// How a set is split into parts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub enum Division {
    /// As published.
    Published,
    /// As published, but only the first samples of each part.
    PublishedFirst {
        /// For training.
        train: usize,
        /// For validation.
        validation: usize,
        /// For testing.
        test: usize,
    },
    /// At random, by shares of the whole set.
    Shares {
        /// For training.
        train: Fraction,
        /// For validation.
        validation: Fraction,
        /// For testing.
        test: Fraction,
        /// Random seed for the assignment.
        seed: Seed,
    },
    /// At random, by numbers of samples.
    Counts {
        /// For training.
        train: usize,
        /// For validation.
        validation: usize,
        /// For testing.
        test: usize,
        /// Random seed for the assignment.
        seed: Seed,
    },
}

impl Division {
    /// Returns what can't hold about this division.
    pub fn problem(&self) -> Option<String> {
        let Self::Shares { train, validation, test, .. } = self else {
            return None;
        };
        let sum = train.get() + validation.get() + test.get();
        (sum > 1.0 + 1e-9).then(|| format!("these fractions add up to {sum:.3}, more than 1"))
    }
}

/// The name under which classes are chosen.
const CLASS: &str = "class";

/// Returns those of the rows whose factors and classes are all wanted.
pub(super) fn select(
    catalog: &Catalog,
    mut rows: Vec<usize>,
    wanted: &BTreeMap<String, Choice>,
) -> Result<Vec<usize>, DataError> {
    for (name, choice) in wanted {
        let kept = match choice {
            Choice::Names(names) => of_classes(&catalog.annotations, name, names)?,
            choice => by_factor(&catalog.annotations, name, choice)?,
        };
        rows.retain(|&row| kept[row]);
        if rows.is_empty() {
            return Err(DataError::Unfit(format!(
                "no sample is left after selecting by `{name}`{}",
                extent(&catalog.annotations, name)
            )));
        }
    }
    Ok(rows)
}

/// Returns the values that a factor has, for a message.
fn extent(annotations: &Annotations, name: &str) -> String {
    let column = annotations.factors.names.iter().position(|have| have == name);
    let values = column.map(|column| levels(annotations.factors.column(column)));
    match values.as_deref() {
        Some([first, .., last]) => format!(", which ranges from {first} to {last}"),
        Some([only]) => format!(", which is always {only}"),
        _ => String::new(),
    }
}

/// Returns the different values of a factor, sorted.
fn levels(values: impl Iterator<Item = f32>) -> Vec<f32> {
    let mut levels: Vec<f32> = values.collect();
    levels.sort_by(f32::total_cmp);
    levels.dedup();
    levels
}

fn by_factor(
    annotations: &Annotations,
    name: &str,
    choice: &Choice,
) -> Result<Vec<bool>, DataError> {
    let names = &annotations.factors.names;
    let Some(column) = names.iter().position(|have| have == name) else {
        if name == CLASS && annotations.classes.is_some() {
            let message = format!("select by `{CLASS}` with `Names([\"..\"])`");
            return Err(DataError::Unfit(message));
        }
        let (name, present) = (name.to_owned(), names.clone());
        return Err(DataError::Unknown { what: "factor", name, present });
    };
    let values: Vec<f32> = annotations.factors.column(column).collect();
    let unfit = |reason: String| Err(DataError::Unfit(reason));
    Ok(match choice {
        Choice::Values(wanted) => {
            let present = levels(values.iter().copied());
            let unknown = |wanted: &Finite| DataError::Unknown {
                what: "value",
                name: format!("{name} {wanted}"),
                present: present.iter().map(f32::to_string).collect(),
            };
            let level = |one: &Finite| nearest(&present, one.get()).ok_or_else(|| unknown(one));
            let wanted = wanted.iter().map(level).collect::<Result<Vec<_>, _>>()?;
            values.iter().map(|value| wanted.contains(value)).collect()
        }
        Choice::Range(low, high) if low.get() > high.get() => {
            return unfit(format!("`{name}`: the range goes from {low} down to {high}: swap them"));
        }
        Choice::Range(low, high) => {
            let (low, high) = (low.get() as f32, high.get() as f32);
            values.iter().map(|value| (low..=high).contains(value)).collect()
        }
        Choice::Levels(first, last) if first > last => {
            return unfit(format!("`{name}`: levels go from {first} down to {last}: swap them"));
        }
        Choice::Levels(first, last) => {
            let present = levels(values.iter().copied());
            let Some(wanted) = present.get(*first..=*last) else {
                let count = present.len();
                return unfit(format!("`{name}` has levels 0 to {}, not {last}", count - 1));
            };
            let ends = wanted[0]..=wanted[wanted.len() - 1];
            values.iter().map(|value| ends.contains(value)).collect()
        }
        Choice::Names(_) => Vec::new(),
    })
}

/// Returns the level that a number typed by hand stands for: the nearest, if it is near.
fn nearest(levels: &[f32], wanted: f64) -> Option<f32> {
    let far = |level: f32| (f64::from(level) - wanted).abs();
    let nearest = levels.iter().copied().min_by(|a, b| far(*a).total_cmp(&far(*b)))?;
    (far(nearest) <= 1e-5 * wanted.abs() + 1e-9).then_some(nearest)
}

fn of_classes(
    annotations: &Annotations,
    key: &str,
    wanted: &[String],
) -> Result<Vec<bool>, DataError> {
    let Some(classes) = annotations.classes.as_ref().filter(|_| key == CLASS) else {
        return Err(DataError::Unfit(format!(
            "`{key}`: `Names` selects by `{CLASS}`{}",
            if annotations.classes.is_some() { "" } else { ", and these samples have no classes" }
        )));
    };
    let numbers: Result<Vec<_>, _> = wanted
        .iter()
        .map(|name| {
            let number = classes.names.iter().position(|have| have == name);
            number.ok_or_else(|| DataError::Unknown {
                what: "class",
                name: name.clone(),
                present: classes.names.clone(),
            })
        })
        .collect();
    let numbers = numbers?;
    Ok(classes.values.iter().map(|&class| numbers.contains(&usize::from(class))).collect())
}

/// Returns the rows of one part, in their order.
pub(super) fn part(
    catalog: &Catalog,
    split: Split,
    division: Option<&Division>,
) -> Result<Vec<usize>, DataError> {
    let published = catalog.partition.as_ref();
    let count = catalog.count;
    let members = |partition: &[Split], most: usize| {
        (0..count).filter(|&row| partition[row] == split).take(most).collect()
    };
    let rows: Vec<usize> = match (division, published) {
        (None | Some(Division::Published), Some(partition)) => members(partition, usize::MAX),
        (Some(Division::PublishedFirst { train, validation, test }), Some(partition)) => {
            let wanted = [*train, *validation, *test][split as usize];
            let members: Vec<_> = members(partition, wanted);
            if members.len() < wanted {
                let (part, have) = (split.name(), members.len());
                return Err(DataError::Unfit(format!(
                    "{wanted} samples are requested, but the published {part} split has {have}"
                )));
            }
            members
        }
        (Some(Division::Published | Division::PublishedFirst { .. }), None) => {
            return Err(DataError::Unfit(
                "this data set has no published splits: use `Shares` or `Counts`".to_owned(),
            ));
        }
        (None, None) => cut(count, split, &counts_of(count, &DEFAULT_SHARES), Seed(0)),
        (Some(Division::Shares { train, validation, test, seed }), _) => {
            let shares = [*train, *validation, *test].map(Fraction::get);
            cut(count, split, &counts_of(count, &shares), *seed)
        }
        (Some(Division::Counts { train, validation, test, seed }), _) => {
            let counts = [*train, *validation, *test];
            let wanted = counts.iter().fold(0_usize, |sum, count| sum.saturating_add(*count));
            if wanted > count {
                return Err(DataError::Unfit(format!(
                    "the division needs {wanted} samples, but there are {count}"
                )));
            }
            cut(count, split, &counts, *seed)
        }
    };
    if rows.is_empty() {
        return Err(DataError::Unfit(format!("the {} split has no samples", split.name())));
    }
    Ok(rows)
}

/// 70/15/15: the paper's shares for its synthetic sets.
pub(super) const DEFAULT_SHARES: [f64; 3] = [0.70, 0.15, 0.15];

/// Rounds shares to counts so that neighboring parts meet without gap or overlap.
pub(super) fn counts_of(count: usize, shares: &[f64; 3]) -> [usize; 3] {
    let mut counts = [0; 3];
    let (mut share, mut end) = (0.0, 0);
    for (part, own) in counts.iter_mut().zip(shares) {
        share += own;
        // A sum such as 0.7 + 0.15 + 0.15 falls short of 1 by less than this.
        let next = ((share * count as f64 + 1e-6).floor() as usize).min(count);
        *part = next - end;
        end = next;
    }
    counts
}

fn cut(count: usize, split: Split, counts: &[usize; 3], seed: Seed) -> Vec<usize> {
    let order = permutation(count, &mut seed.stream("data/division"));
    let start = counts[..split as usize].iter().sum::<usize>();
    let mut rows = order[start..start + counts[split as usize]].to_vec();
    rows.sort_unstable();
    rows
}

/// Returns the first `count` rows.
pub(super) fn first(rows: &[usize], count: NonZeroUsize) -> Result<Vec<usize>, DataError> {
    rows.get(..count.get()).map(<[usize]>::to_vec).ok_or_else(|| too_few(count, rows.len()))
}

/// Returns `count` rows drawn without replacement, in the order that they had.
pub(super) fn subset(
    rows: &[usize],
    count: NonZeroUsize,
    seed: Seed,
) -> Result<Vec<usize>, DataError> {
    let order = permutation(rows.len(), &mut seed.stream("data/subset"));
    let places = order.get(..count.get()).ok_or_else(|| too_few(count, rows.len()))?;
    let mut places = places.to_vec();
    places.sort_unstable();
    Ok(places.into_iter().map(|place| rows[place]).collect())
}

/// Returns all rows in a random order.
pub(super) fn shuffled(mut rows: Vec<usize>, seed: Seed) -> Vec<usize> {
    shuffle(&mut rows, &mut seed.stream("data/shuffle"));
    rows
}

fn too_few(wanted: NonZeroUsize, have: usize) -> DataError {
    DataError::Unfit(format!("{wanted} samples are requested, but there are {have}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Classes, Factors};

    fn catalog() -> Catalog {
        // Twelve samples: `shape` 1..3 slow, `angle` 0, 0.1, 0.2, 0.3 fast.
        let values = (0..12).flat_map(|row| [1.0 + (row / 4) as f32, (row % 4) as f32 * 0.1]);
        Catalog {
            count: 12,
            annotations: Annotations {
                factors: Factors {
                    names: vec!["shape".into(), "angle".into()],
                    values: values.collect(),
                },
                classes: Some(Classes {
                    names: vec!["cat".into(), "dog".into()],
                    values: (0..12).map(|row| row % 2).collect(),
                }),
            },
            partition: None,
        }
    }

    fn selected(settings: &str) -> Result<Vec<usize>, String> {
        let wanted: BTreeMap<String, Choice> = ron::from_str(settings).unwrap();
        select(&catalog(), (0..12).collect(), &wanted).map_err(|error| error.to_string())
    }

    #[test]
    fn rows_are_chosen_by_value_range_level_and_class() {
        assert_eq!(selected(r#"{"shape": Values([2])}"#).unwrap(), [4, 5, 6, 7]);
        assert_eq!(selected(r#"{"shape": Values([2]), "angle": Levels(0, 1)}"#).unwrap(), [4, 5]);
        assert_eq!(selected(r#"{"angle": Values([0.3])}"#).unwrap(), [3, 7, 11]);
        assert_eq!(selected(r#"{"angle": Range(0.05, 0.15)}"#).unwrap(), [1, 5, 9]);
        assert_eq!(selected(r#"{"class": Names(["dog"]), "shape": Values([1])}"#).unwrap(), [1, 3]);
    }

    #[test]
    fn a_value_typed_by_hand_means_one_level() {
        let steps: Vec<f32> = (0..20).map(|step| step as f32 * 1e-6).collect();
        assert_eq!(nearest(&steps, 1e-6), Some(1e-6));
        assert_eq!(nearest(&[99_999.0, 100_000.0, 100_001.0], 1e5), Some(1e5));
        assert_eq!(nearest(&[0.161_107_3], 0.161_107), Some(0.161_107_3));
        assert_eq!(nearest(&[0.5, 0.6], 0.55), None);
    }

    #[test]
    fn choices_that_lead_nowhere_say_what_there_is() {
        let told = |settings| selected(settings).unwrap_err();
        assert_eq!(
            told(r#"{"size": Values([1])}"#),
            "these samples have no factor `size`, only shape, angle"
        );
        assert_eq!(
            told(r#"{"class": Names(["cow"])}"#),
            "these samples have no class `cow`, only cat, dog"
        );
        assert_eq!(told(r#"{"angle": Levels(0, 4)}"#), "`angle` has levels 0 to 3, not 4");
        assert_eq!(
            told(r#"{"angle": Levels(2, 0)}"#),
            "`angle`: levels go from 2 down to 0: swap them"
        );
        assert_eq!(
            told(r#"{"shape": Values([1, 9])}"#),
            "these samples have no value `shape 9`, only 1, 2, 3"
        );
        assert_eq!(
            told(r#"{"shape": Range(5, 6)}"#),
            "no sample is left after selecting by `shape`, which ranges from 1 to 3"
        );
        assert_eq!(told(r#"{"class": Values([1])}"#), "select by `class` with `Names([\"..\"])`");
    }

    #[test]
    fn parts_share_no_sample_and_leave_none_out() {
        let catalog = Catalog { count: 92_160, ..Catalog::default() };
        let rows: Vec<usize> = (0..92_160).collect();
        let parts = Split::ALL.map(|split| part(&catalog, split, None).unwrap());
        assert_eq!(parts.each_ref().map(Vec::len), [64_512, 13_824, 13_824]);
        let mut all: Vec<usize> = parts.concat();
        all.sort_unstable();
        assert_eq!(all, rows);
    }

    #[test]
    fn published_parts_are_kept_unless_another_division_is_asked_for() {
        let mut catalog = catalog();
        catalog.partition =
            Some((0..12).map(|row| if row < 10 { Split::Train } else { Split::Test }).collect());
        let test = |division: Option<&Division>| part(&catalog, Split::Test, division);
        assert_eq!(test(None).unwrap(), [10, 11]);
        let few = Division::PublishedFirst { train: 5, validation: 0, test: 1 };
        assert_eq!(test(Some(&few)).unwrap(), [10]);
        let own = Division::Counts { train: 2, validation: 2, test: 8, seed: Seed(1) };
        assert_eq!(test(Some(&own)).unwrap().len(), 8);
        let error = part(&catalog, Split::Validation, None).unwrap_err();
        assert_eq!(error.to_string(), "the validation split has no samples");
    }

    #[test]
    fn shares_beyond_the_whole_are_a_problem() {
        let share = |value| Fraction::new(value).unwrap();
        let shares = |train| Division::Shares {
            train: share(train),
            validation: share(0.15),
            test: share(0.15),
            seed: Seed(0),
        };
        assert_eq!(shares(0.7).problem(), None);
        let problem = shares(0.9).problem().unwrap();
        assert_eq!(problem, "these fractions add up to 1.200, more than 1");
    }

    #[test]
    fn a_subset_is_random_but_keeps_the_order() {
        let rows: Vec<usize> = (100..200).collect();
        let few = subset(&rows, NonZeroUsize::new(10).unwrap(), Seed(3)).unwrap();
        assert_eq!(few.len(), 10);
        assert!(few.is_sorted() && few != rows[..10]);
        let backward: Vec<usize> = rows.iter().rev().copied().collect();
        let few = subset(&backward, NonZeroUsize::new(10).unwrap(), Seed(3)).unwrap();
        assert!(few.is_sorted_by(|one, next| one > next), "the order that it had: {few:?}");
        let error = subset(&rows, NonZeroUsize::new(500).unwrap(), Seed(3)).unwrap_err();
        assert_eq!(error.to_string(), "500 samples are requested, but there are 100");
    }
}
