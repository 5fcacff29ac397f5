//! Settings that cannot hold, found before anything is drawn.

use std::num::NonZeroUsize;

use super::shape::{Density, ManifoldShape};
use super::{Manifold, Noise, lorenz};
use crate::numerics::units::PositiveF64;

/// The most numbers that a set may have: 8 GiB while it is made.
const MOST_NUMBERS: usize = 1 << 30;
/// The most numbers that the directions of an embedding may have: seconds of work.
const MOST_DIRECTIONS: usize = 1 << 22;
/// The largest length of a shape; beyond lies what single precision renders badly.
pub(super) const LONGEST: f64 = 1e6;
/// The highest peaks that are covered evenly in reasonable time.
const HIGHEST_EVEN_PEAKS: f64 = 100.0;

/// Returns what cannot hold, one line for each mistake; none if points can be drawn.
pub(super) fn of_settings(manifold: &Manifold) -> Vec<String> {
    let mut problems = manifold.shape.problems();
    let own = manifold.shape.ambient();
    if let Some(embed) = manifold.embed.map(NonZeroUsize::get) {
        if embed < own {
            problems.push(format!(
                "`embed` must be at least the {own} coordinates of the shape, found {embed}"
            ));
        }
        check_size(&mut problems, "the embedding", [embed, own], MOST_DIRECTIONS);
    }
    if let Noise::Gaussian(size) | Noise::Uniform(size) = manifold.noise {
        check_at_most(&mut problems, "noise", size, LONGEST);
    }
    let widest = own.max(manifold.width());
    check_size(&mut problems, "the set", [manifold.samples.get(), widest], MOST_NUMBERS);
    problems
}

impl ManifoldShape {
    /// Returns what cannot hold, one line for each mistake.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        match self {
            Self::Sphere { dimension, ambient } => {
                check_ambient(&mut problems, "Sphere", *dimension, 1, *ambient);
            }
            Self::CubeSurface { dimension, ambient } => {
                check_ambient(&mut problems, "CubeSurface", *dimension, 1, *ambient);
            }
            Self::Ball { dimension, ambient } => {
                check_ambient(&mut problems, "Ball", *dimension, 0, *ambient);
            }
            Self::Cube { dimension, ambient } => {
                check_ambient(&mut problems, "Cube", *dimension, 0, *ambient);
            }
            Self::Affine { dimension, ambient } => {
                check_ambient(&mut problems, "Affine", *dimension, 0, *ambient);
            }
            Self::Gaussian { dimension, ambient } => {
                check_ambient(&mut problems, "Gaussian", *dimension, 0, *ambient);
            }
            Self::Spiral { ambient } => {
                if ambient.get() < 3 {
                    problems.push(format!("Spiral needs `ambient` of at least 3, found {ambient}"));
                }
            }
            Self::TwinPeaks { height, density, .. } => {
                let highest = match density {
                    Density::Ground => LONGEST,
                    Density::Surface => HIGHEST_EVEN_PEAKS,
                };
                check_at_most(&mut problems, "height", *height, highest);
            }
            Self::SwissRollAndSphere { radius, growth, turns, height, .. } => {
                for (name, value) in
                    [("radius", radius), ("growth", growth), ("turns", turns), ("height", height)]
                {
                    check_at_most(&mut problems, name, *value, LONGEST);
                }
            }
            Self::Torus { radius, tube } | Self::ToroidalSpiral { radius, tube, .. } => {
                check_at_most(&mut problems, "radius", *radius, LONGEST);
                if tube >= radius {
                    problems.push(format!("`tube` must lie below `radius` {radius}, found {tube}"));
                }
            }
            Self::Revolution { profile, axis } => problems.extend(profile.problems(*axis)),
            Self::Lorenz { duration } => {
                check_at_most(&mut problems, "duration", *duration, lorenz::LONGEST);
            }
            Self::Product { first, second } => {
                for factor in [first, second] {
                    problems.extend(factor.problems());
                    if !factor.pieces().is_empty() {
                        problems.push(
                            "a shape of several dimensions cannot be part of a Product".to_owned(),
                        );
                    }
                }
            }
            Self::AffineThreeInFive
            | Self::NonlinearFourInSix
            | Self::Nonlinear { .. }
            | Self::TangentArctangent { .. }
            | Self::Beta { .. }
            | Self::Paraboloid { .. }
            | Self::Helix
            | Self::Helicoid
            | Self::SwissRoll
            | Self::SCurve
            | Self::Moebius
            | Self::FigureEightSheet
            | Self::LineDiskBall => {}
        }
        problems
    }
}

fn check_ambient(
    problems: &mut Vec<String>,
    shape: &str,
    dimension: NonZeroUsize,
    extra: usize,
    ambient: NonZeroUsize,
) {
    let needed = dimension.get().saturating_add(extra);
    if ambient.get() < needed {
        problems.push(format!(
            "{shape} of dimension {dimension} needs `ambient` of at least {needed}, found {ambient}"
        ));
    }
}

fn check_at_most(problems: &mut Vec<String>, name: &str, value: PositiveF64, most: f64) {
    if value.get() > most {
        problems.push(format!("`{name}` must be at most {most}, found {value}"));
    }
}

fn check_size(problems: &mut Vec<String>, what: &str, [rows, width]: [usize; 2], most: usize) {
    if rows.checked_mul(width).is_none_or(|numbers| numbers > most) {
        problems.push(format!("{what} would have {rows} x {width} numbers, more than {most}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{DataSet, Files};

    /// Reads settings as a pipeline file does and returns their mistakes.
    fn told(shape: &str, more: &str) -> Vec<String> {
        let options = ron::Options::default()
            .with_default_extension(ron::extensions::Extensions::IMPLICIT_SOME)
            .with_default_extension(ron::extensions::Extensions::UNWRAP_VARIANT_NEWTYPES);
        let text = format!("(shape: {shape}, samples: 10, seed: 0{more})");
        let manifold: Manifold = options.from_str(&text).unwrap();
        assert_eq!(manifold.open(&Files::default()).is_err(), !manifold.problems().is_empty());
        manifold.problems()
    }

    #[test]
    fn settings_that_cannot_hold_are_told_in_one_line_each() {
        assert_eq!(
            told("Sphere(dimension: 10, ambient: 10)", ""),
            ["Sphere of dimension 10 needs `ambient` of at least 11, found 10"]
        );
        assert_eq!(
            told("Ball(dimension: 4, ambient: 3)", ", embed: 2"),
            [
                "Ball of dimension 4 needs `ambient` of at least 4, found 3",
                "`embed` must be at least the 3 coordinates of the shape, found 2",
            ]
        );
        assert_eq!(
            told("Spiral(ambient: 2)", ""),
            ["Spiral needs `ambient` of at least 3, found 2"]
        );
        assert_eq!(
            told("Torus(radius: 2, tube: 2)", ""),
            ["`tube` must lie below `radius` 2, found 2"]
        );
        assert_eq!(
            told("Lorenz(duration: 1e9)", ""),
            ["`duration` must be at most 10000, found 1000000000"]
        );
        assert_eq!(
            told("TwinPeaks(dimension: 2, height: 101, density: Surface)", ""),
            ["`height` must be at most 100, found 101"]
        );
    }

    #[test]
    fn a_product_tells_the_mistakes_of_both_shapes() {
        assert_eq!(
            told("Product(first: Spiral(ambient: 1), second: LineDiskBall)", ""),
            [
                "Spiral needs `ambient` of at least 3, found 1",
                "a shape of several dimensions cannot be part of a Product",
            ]
        );
    }

    #[test]
    fn a_set_that_no_memory_holds_is_told_rather_than_made() {
        let most = usize::MAX;
        let huge = told(&format!("Paraboloid(dimension: {most})"), "");
        assert_eq!(huge, [format!("the set would have 10 x {most} numbers, more than 1073741824")]);
        let wide = told("Helix", ", embed: 3000000");
        assert_eq!(wide, ["the embedding would have 3000000 x 3 numbers, more than 4194304"]);
    }
}
