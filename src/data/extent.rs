//! How many samples of which form a data set will have, told without opening it.
//!
//! Only what the settings say is known: the files of a user are not looked into. Choosing by values
//! of a factor leaves its share of a full lattice; by a range, all samples are taken to stay.

use std::collections::BTreeMap;

use super::rows::{self, Choice, Division};
use super::{ImageShape, Recipe, SampleForm, Split, Step};

/// Number and form of samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Extent {
    /// How many there are.
    pub count: usize,
    /// What one looks like.
    pub form: SampleForm,
    /// How many are in each published part, where there are such.
    parts: Option<[usize; 3]>,
    /// How many values factors and classes have.
    levels: &'static [(&'static str, usize)],
}

impl Extent {
    /// Describes samples of which nothing more is known.
    pub const fn new(count: usize, form: SampleForm) -> Self {
        Self { count, form, parts: None, levels: &[] }
    }

    /// Describes samples of which these numbers are in the published parts.
    pub(super) fn in_parts(form: SampleForm, parts: [usize; 3]) -> Self {
        Self { parts: Some(parts), ..Self::new(parts.iter().sum(), form) }
    }

    /// Describes one sample for each combination of the values of some factors.
    pub(super) fn lattice(form: SampleForm, levels: &'static [(&'static str, usize)]) -> Self {
        let count = levels.iter().map(|(_, count)| count).product();
        Self::new(count, form).with_levels(levels)
    }

    /// Adds how many values factors and classes have.
    pub(super) fn with_levels(self, levels: &'static [(&'static str, usize)]) -> Self {
        Self { levels, ..self }
    }

    /// Returns what is left when a recipe has been followed.
    #[must_use]
    pub fn after(self, recipe: &Recipe<'_>) -> Self {
        let split = recipe.split.map(|split| self.part(split, recipe.division));
        let count = self.chosen(split.unwrap_or(self.count), recipe.select);
        let mut left = Self::new(count, self.form);
        for step in recipe.steps {
            match (step, left.form) {
                (Step::First(most) | Step::Subset { count: most, .. }, _) => {
                    left.count = left.count.min(most.get());
                }
                (
                    Step::Crop(side) | Step::Pad(side) | Step::Resize { size: side, .. },
                    SampleForm::Image(ImageShape { channels, .. }),
                ) => left.form = SampleForm::square(channels, side.get()),
                (Step::Flatten, form) => left.form = SampleForm::Vector { width: form.values() },
                _ => {}
            }
        }
        left
    }

    fn part(&self, split: Split, division: Option<&Division>) -> usize {
        let at = split as usize;
        match (division, self.parts) {
            (None | Some(Division::Published), Some(parts)) => parts[at],
            (
                Some(
                    Division::PublishedFirst { train, validation, test }
                    | Division::Counts { train, validation, test, .. },
                ),
                _,
            ) => [*train, *validation, *test][at],
            (Some(Division::Shares { train, validation, test, .. }), _) => {
                let shares = [train, validation, test].map(|share| share.get());
                rows::counts_of(self.count, &shares)[at]
            }
            (None | Some(Division::Published), None) => {
                rows::counts_of(self.count, &rows::DEFAULT_SHARES)[at]
            }
        }
    }

    fn chosen(&self, count: usize, select: &BTreeMap<String, Choice>) -> usize {
        let mut share = 1.0;
        for (name, choice) in select {
            let levels = self.levels.iter().find(|(known, _)| known == name);
            let kept = match choice {
                Choice::Values(values) => Some(values.len()),
                Choice::Levels(first, last) => Some((last + 1).saturating_sub(*first)),
                Choice::Names(names) => Some(names.len()),
                Choice::Range(..) => None,
            };
            if let (Some(&(_, levels)), Some(kept)) = (levels, kept) {
                share *= (kept as f64 / levels as f64).min(1.0);
            }
        }
        (count as f64 * share).round() as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{BrokenPolicy, DatasetSpec, Files, Samples};

    fn spec(text: &str) -> DatasetSpec {
        ron::Options::default()
            .with_default_extension(ron::extensions::Extensions::UNWRAP_NEWTYPES)
            .with_default_extension(ron::extensions::Extensions::UNWRAP_VARIANT_NEWTYPES)
            .from_str(text)
            .unwrap()
    }

    fn recipe<'a>(
        split: Option<Split>,
        select: &'a BTreeMap<String, Choice>,
        steps: &'a [Step],
    ) -> Recipe<'a> {
        Recipe { select, split, division: None, steps, broken: BrokenPolicy::Fail, like: None }
    }

    #[test]
    fn what_is_told_beforehand_is_what_opening_finds() {
        let sources = [
            "Dsprites(Render(size: 8, factors: Continuous(samples: 7, seed: 0)))",
            "Dsprites(Render(size: 8, factors: Lattice))",
            "Shapes3d(Render(size: 8, factors: Subset))",
            "Manifold(shape: SwissRoll, samples: 20, seed: 0)",
        ];
        for text in sources {
            let spec = spec(text);
            let extent = spec.extent().unwrap();
            let (count, values) = match spec.open(&Files::new(BTreeMap::new())).unwrap() {
                Samples::Images(images) => (images.catalog().count, None),
                Samples::Vectors(vectors, _) => {
                    (vectors.points().rows(), Some(vectors.points().width()))
                }
            };
            assert_eq!(extent.count, count, "{text}");
            assert!(values.is_none_or(|values| values == extent.form.values()), "{text}");
        }
    }

    #[test]
    fn parts_choices_and_steps_count() {
        let digits = spec("Mnist()").extent().unwrap();
        let steps = [
            Step::Pad(std::num::NonZeroUsize::new(32).unwrap()),
            Step::First(std::num::NonZeroUsize::new(9_000).unwrap()),
        ];
        let select = BTreeMap::from([("class".to_owned(), Choice::Names(vec!["3".to_owned()]))]);
        let left = digits.clone().after(&recipe(Some(Split::Train), &select, &steps));
        assert_eq!((left.count, left.form.values()), (6_000, 32 * 32));
        let all = BTreeMap::new();
        let left = digits.after(&recipe(Some(Split::Train), &all, &steps));
        assert_eq!(left.count, 9_000);
        let lattice = spec("Dsprites(Render(size: 8, factors: Lattice))").extent().unwrap();
        let train = lattice.after(&recipe(Some(Split::Train), &all, &[Step::Flatten]));
        assert_eq!((train.count, train.form), (64_512, SampleForm::Vector { width: 64 }));
    }

    #[test]
    fn files_of_a_user_are_not_looked_into() {
        assert_eq!(spec("Table()").extent(), None);
    }
}
