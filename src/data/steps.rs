//! Preprocessing: what is done to chosen samples, one after the other.
//!
//! Images stay bytes through every step; only `Flatten` makes them vectors of numbers between 0 and
//! 1. Steps that choose samples take effect before any pixel is read, wherever they stand.

use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::resize::{self, Filter};
use super::{Content, DataError, ImageShape, LARGEST_SIDE, rows};
use crate::numerics::units::PositiveF64;
use crate::numerics::{Points, Seed};

/// One step of preprocessing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub enum Step {
    /// Keeps the first samples.
    First(NonZeroUsize),
    /// Keeps samples drawn at random, in their original order.
    Subset {
        /// Number of samples.
        count: NonZeroUsize,
        /// Random seed for the choice.
        seed: Seed,
    },
    /// Puts the samples into a random order.
    Shuffle {
        /// Random seed for the order.
        seed: Seed,
    },
    /// Crops to a central square of this size.
    Crop(NonZeroUsize),
    /// Pads with black to a square of this size.
    Pad(NonZeroUsize),
    /// Scales to a square of this size.
    Resize {
        /// Height and width.
        size: NonZeroUsize,
        /// How pixels are combined.
        #[serde(default)]
        filter: Filter,
    },
    /// Turns each image into a vector of its pixels, between 0 and 1.
    Flatten,
    /// Scales vectors.
    Scale(Scale),
}

/// How vectors are scaled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub enum Scale {
    /// Multiplies every value by this.
    By(PositiveF64),
    /// Brings each coordinate to mean 0 and standard deviation 1; a constant one becomes 0.
    Standard,
    /// Brings each coordinate to the range from 0 to 1; a constant one becomes 0.
    UnitRange,
}

impl Step {
    /// Returns whether the step takes its measure from the data.
    pub const fn measures(&self) -> bool {
        matches!(self, Self::Scale(Scale::Standard | Scale::UnitRange))
    }

    /// Returns the side that images get, if the step gives them one.
    pub const fn side(&self) -> Option<usize> {
        match self {
            Self::Crop(size) | Self::Pad(size) | Self::Resize { size, .. } => Some(size.get()),
            Self::First(_)
            | Self::Subset { .. }
            | Self::Shuffle { .. }
            | Self::Flatten
            | Self::Scale(_) => None,
        }
    }

    /// Returns what is left of the chosen rows, in their new order.
    pub(super) fn choose(&self, chosen: Vec<usize>) -> Result<Vec<usize>, DataError> {
        match self {
            Self::First(count) => rows::first(&chosen, *count),
            Self::Subset { count, seed } => rows::subset(&chosen, *count, *seed),
            Self::Shuffle { seed } => Ok(rows::shuffled(chosen, *seed)),
            Self::Crop(_) | Self::Pad(_) | Self::Resize { .. } | Self::Flatten | Self::Scale(_) => {
                Ok(chosen)
            }
        }
    }
}

/// Returns why steps can't be done one after the other to samples of this content.
pub fn step_problem(mut content: Content, steps: &[Step]) -> Option<String> {
    let mut measured = false;
    for step in steps {
        if let Some(side) = step.side().filter(|&side| side > LARGEST_SIDE) {
            return Some(format!(
                "images can have sides of up to {LARGEST_SIDE} pixels, not {side}"
            ));
        }
        let problem = match (step, content) {
            (Step::First(_) | Step::Subset { .. }, _) if measured => {
                "samples are chosen before a scale is measured: put `First` and `Subset` before \
                 `Scale`"
            }
            (
                Step::Crop(_) | Step::Pad(_) | Step::Resize { .. } | Step::Flatten,
                Content::Vectors,
            ) => "`Crop`, `Pad`, `Resize` and `Flatten` are for images, and these are vectors",
            (Step::Scale(_), Content::Images) => {
                "images are bytes between 0 and 255: `Flatten` them before `Scale`"
            }
            (Step::Flatten, Content::Images) => {
                content = Content::Vectors;
                continue;
            }
            _ => {
                measured |= step.measures();
                continue;
            }
        };
        return Some(problem.to_owned());
    }
    None
}

/// Returns whether these steps make vectors of images.
pub(super) fn flatten(steps: &[Step]) -> bool {
    steps.contains(&Step::Flatten)
}

/// The steps that change pixels, with the shape that each one leaves.
pub(super) struct PixelSteps<'a> {
    from: ImageShape,
    steps: Vec<(&'a Step, ImageShape)>,
}

impl<'a> PixelSteps<'a> {
    /// Checks that the steps can follow each other on images of a shape.
    pub(super) fn new(from: ImageShape, steps: &'a [Step]) -> Result<Self, DataError> {
        let mut shape = from;
        let mut kept = Vec::new();
        for step in steps {
            let square =
                |size: &NonZeroUsize| ImageShape { height: size.get(), width: size.get(), ..shape };
            let (next, fits) = match step {
                Step::First(_) | Step::Subset { .. } | Step::Shuffle { .. } => continue,
                Step::Crop(size) => {
                    (square(size), size.get() <= shape.height && size.get() <= shape.width)
                }
                Step::Pad(size) => {
                    (square(size), size.get() >= shape.height && size.get() >= shape.width)
                }
                Step::Resize { size, .. } => (square(size), true),
                Step::Flatten | Step::Scale(_) => break,
            };
            if !fits {
                return Err(DataError::Unfit(format!(
                    "images of {} x {} pixels can't be made {} x {} by {}",
                    shape.height,
                    shape.width,
                    next.height,
                    next.width,
                    if matches!(step, Step::Crop(_)) { "`Crop`" } else { "`Pad`" }
                )));
            }
            shape = next;
            kept.push((step, next));
        }
        Ok(Self { from, steps: kept })
    }

    /// Returns the shape of the images after all steps.
    pub(super) fn shape(&self) -> ImageShape {
        self.steps.last().map_or(self.from, |(_, shape)| *shape)
    }

    /// Returns whether pixels stay as they are.
    pub(super) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Takes one image through all steps.
    pub(super) fn apply(&self, image: &[u8]) -> Result<Vec<u8>, DataError> {
        let mut shape = self.from;
        let mut pixels = image.to_vec();
        for (step, next) in &self.steps {
            let mut changed = vec![0; next.pixels()];
            match step {
                Step::Crop(_) => resize::crop(shape, &pixels, *next, &mut changed),
                Step::Pad(_) => resize::pad(shape, &pixels, *next, &mut changed),
                Step::Resize { filter, .. } => {
                    resize::resize(shape, &pixels, *next, &mut changed, *filter)?;
                }
                _ => {}
            }
            pixels = changed;
            shape = *next;
        }
        Ok(pixels)
    }
}

/// What is taken from each coordinate, and by what the rest is multiplied.
pub(super) struct Scaling(Vec<(f64, f64)>);

impl Scaling {
    /// Takes the measure of points.
    pub(super) fn measured(scale: &Scale, points: &Points) -> Self {
        let factor = |spread: f64| if spread > 0.0 { 1.0 / spread } else { 0.0 };
        Self(match scale {
            Scale::By(by) => vec![(0.0, by.get()); points.width()],
            Scale::Standard => {
                let deviations = points.variances().into_iter().map(f64::sqrt);
                let means = points.means().into_iter();
                means.zip(deviations).map(|(mean, spread)| (mean, factor(spread))).collect()
            }
            Scale::UnitRange => (0..points.width())
                .map(|column| {
                    let values = (0..points.rows()).map(|row| f64::from(points.row(row)[column]));
                    let ends = (f64::INFINITY, f64::NEG_INFINITY);
                    let (low, high) =
                        values.fold(ends, |(low, high), value| (low.min(value), high.max(value)));
                    (low, factor(high - low))
                })
                .collect(),
        })
    }

    /// Scales points in place.
    pub(super) fn apply(&self, mut points: Points) -> Result<Points, DataError> {
        let width = points.width().max(1);
        for row in points.values_mut().chunks_exact_mut(width) {
            for (value, (offset, factor)) in row.iter_mut().zip(&self.0) {
                *value = ((f64::from(*value) - offset) * factor) as f32;
                if !value.is_finite() {
                    return Err(DataError::Unfit("this scale makes values infinite".to_owned()));
                }
            }
        }
        Ok(points)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(text: &str) -> Vec<Step> {
        let options = ron::Options::default()
            .with_default_extension(ron::extensions::Extensions::UNWRAP_VARIANT_NEWTYPES);
        options.from_str(text).unwrap()
    }

    #[test]
    fn pixel_steps_follow_each_other() {
        let from = ImageShape { channels: 1, height: 2, width: 4 };
        let steps = steps("[First(1), Crop(2), Pad(4), Flatten]");
        let pixels = PixelSteps::new(from, &steps).unwrap();
        assert_eq!(pixels.shape(), ImageShape { channels: 1, height: 4, width: 4 });
        let image = pixels.apply(&[9, 1, 2, 9, 9, 3, 4, 9]).unwrap();
        assert_eq!(image, [0, 0, 0, 0, 0, 1, 2, 0, 0, 3, 4, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn steps_that_cannot_be_done_say_why() {
        let from = ImageShape { channels: 1, height: 28, width: 28 };
        let told = |text| PixelSteps::new(from, &steps(text)).err().unwrap().to_string();
        assert_eq!(told("[Crop(32)]"), "images of 28 x 28 pixels can't be made 32 x 32 by `Crop`");
        assert_eq!(told("[Pad(20)]"), "images of 28 x 28 pixels can't be made 20 x 20 by `Pad`");
        assert_eq!(
            step_problem(Content::Images, &steps("[Scale(Standard)]")).unwrap(),
            "images are bytes between 0 and 255: `Flatten` them before `Scale`"
        );
    }

    #[test]
    fn a_scale_is_measured_on_the_reference() {
        let like = Points::new(2, 2, vec![0.0, 5.0, 2.0, 5.0]).unwrap();
        let points = Points::new(1, 2, vec![3.0, 7.0]).unwrap();
        let scaled = |scale| Scaling::measured(&scale, &like).apply(points.clone());
        assert_eq!(scaled(Scale::Standard).unwrap().values(), [2.0, 0.0]);
        assert_eq!(scaled(Scale::UnitRange).unwrap().values(), [1.5, 0.0]);
        let by = |factor| Scale::By(PositiveF64::new(factor).unwrap());
        assert_eq!(scaled(by(2.0)).unwrap().values(), [6.0, 14.0]);
        let error = scaled(by(1e300)).unwrap_err();
        assert_eq!(error.to_string(), "this scale makes values infinite");
    }
}
