//! How many samples of which form a data set will have, told without opening it.
//!
//! Only what the settings say is known: the files of a user are not looked into. Choosing by values
//! of a factor leaves its share of a full lattice; by a range, all samples are taken to stay.

use std::collections::BTreeMap;

use super::rows::{self, Choice, Division};
use super::{
    DatasetSpec, Dsprites, ImageShape, Recipe, SampleForm, Sampling, Shapes3d, Shapes3dFactors,
    Split, Step,
};

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

    fn in_parts(form: SampleForm, parts: [usize; 3]) -> Self {
        Self { parts: Some(parts), ..Self::new(parts.iter().sum(), form) }
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
                ) => left.form = square(channels, side.get()),
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
                rows::counts_of(self.count, &rows::USUAL)[at]
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

impl DatasetSpec {
    /// Returns how many samples of which form there are, where the settings alone tell.
    pub fn extent(&self) -> Option<Extent> {
        const CLASSES: &[(&str, usize)] = &[("class", 10)];
        const SPRITES: &[(&str, usize)] =
            &[("shape", 3), ("scale", 6), ("orientation", 40), ("x", 32), ("y", 32)];
        const ELLIPSES: &[(&str, usize)] =
            &[("scale", 6), ("orientation", 15), ("x", 32), ("y", 32)];
        const SCENES: &[(&str, usize)] = &[
            ("floor_hue", 10),
            ("wall_hue", 10),
            ("object_hue", 10),
            ("scale", 8),
            ("shape", 4),
            ("orientation", 15),
        ];
        let full = |form, levels: &'static [(&'static str, usize)]| Extent {
            levels,
            ..Extent::new(levels.iter().map(|(_, count)| count).product(), form)
        };
        Some(match self {
            Self::Mnist(_) | Self::FashionMnist(_) => {
                let extent = Extent::in_parts(square(1, 28), [60_000, 5_000, 5_000]);
                Extent { levels: CLASSES, ..extent }
            }
            Self::CelebA(_) => {
                let face = SampleForm::Image(ImageShape { channels: 3, height: 218, width: 178 });
                Extent::in_parts(face, [162_770, 19_867, 19_962])
            }
            Self::Dsprites(Dsprites::Original) => full(square(1, 64), SPRITES),
            Self::Dsprites(Dsprites::Render(rendering)) => {
                let form = square(1, rendering.size.get());
                match &rendering.factors {
                    Sampling::Lattice => full(form, ELLIPSES),
                    Sampling::Continuous { samples, .. } => {
                        Extent::in_parts(form, [samples.get(); 3])
                    }
                }
            }
            Self::Shapes3d(Shapes3d::Original) => full(square(3, 64), SCENES),
            Self::Shapes3d(Shapes3d::Render { size, factors, .. }) => {
                let form = square(3, size.get());
                match factors {
                    Shapes3dFactors::Lattice => full(form, SCENES),
                    Shapes3dFactors::Subset => Extent::new(15_000, form),
                    Shapes3dFactors::Continuous { samples, .. } => {
                        Extent::in_parts(form, [samples.get(); 3])
                    }
                }
            }
            Self::Manifold(manifold) => {
                let form = SampleForm::Vector { width: manifold.width() };
                Extent::new(manifold.samples.get(), form)
            }
            Self::Array(_) | Self::ImageFolder(_) | Self::Table(_) => return None,
        })
    }
}

const fn square(channels: usize, side: usize) -> SampleForm {
    SampleForm::Image(ImageShape { channels, height: side, width: side })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{BrokenPolicy, Files, Samples};

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
