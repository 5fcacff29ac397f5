//! The shapes that points can be drawn from, with their dimensions.
//!
//! Each shape names the generator of scikit-dimension 0.5.0 that it equals: `M...` are the names of
//! its benchmark set, the others are functions of its module `datasets`. The formulas themselves
//! are in `formulas`, what random numbers they start from in `draws`.

use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::revolution::{Axis, Profile};
use crate::numerics::units::{Fraction, PositiveF64};

/// A shape of known dimension.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub enum ManifoldShape {
    /// The unit sphere, uniformly (`M1_Sphere`, `hyperSphere`).
    Sphere {
        /// Dimension of the surface.
        dimension: NonZeroUsize,
        /// Number of coordinates, at least one more; those not needed are zero.
        ambient: NonZeroUsize,
    },
    /// The solid unit ball, uniformly (`hyperBall`).
    Ball {
        /// Dimension of the ball.
        dimension: NonZeroUsize,
        /// Number of coordinates, at least as many; those not needed are zero.
        ambient: NonZeroUsize,
    },
    /// The solid unit cube, uniformly (`_gen_uniform_data`, not part of the benchmark set).
    Cube {
        /// Dimension of the cube.
        dimension: NonZeroUsize,
        /// Number of coordinates, at least as many; those not needed are zero.
        ambient: NonZeroUsize,
    },
    /// The faces of the unit cube, face after face with about equally many points on each
    /// (`M10a_Cubic` to `M10d_Cubic`).
    CubeSurface {
        /// Dimension of a face.
        dimension: NonZeroUsize,
        /// Number of coordinates, at least one more; those not needed are zero.
        ambient: NonZeroUsize,
    },
    /// A cube of side 5 about the origin (`M9_Affine`).
    Affine {
        /// Dimension of the cube.
        dimension: NonZeroUsize,
        /// Number of coordinates, at least as many; those not needed are zero.
        ambient: NonZeroUsize,
    },
    /// A skewed and shifted 3-dimensional box in 5 dimensions (`M2_Affine_3to5`).
    AffineThreeInFive,
    /// The standard normal distribution (`M12_Norm`).
    Gaussian {
        /// Dimension of the distribution.
        dimension: NonZeroUsize,
        /// Number of coordinates, at least as many; those not needed are zero.
        ambient: NonZeroUsize,
    },
    /// A 4-dimensional figure in 6 dimensions, easily mistaken for a 3-dimensional one
    /// (`M3_Nonlinear_4to6`).
    NonlinearFourInSix,
    /// Circles whose radii are each other's angles (`M4_Nonlinear`, `M6_Nonlinear`,
    /// `M8_Nonlinear`).
    Nonlinear {
        /// Number of circles.
        dimension: NonZeroUsize,
        /// How often all coordinates are repeated: there are 2 x dimension x copies.
        copies: NonZeroUsize,
    },
    /// Tangents and arctangents of coordinates that are paired from both ends (`Mn1_Nonlinear`,
    /// `Mn2_Nonlinear`); 4 x dimension coordinates.
    TangentArctangent {
        /// Number of uniform numbers behind a point.
        dimension: NonZeroUsize,
    },
    /// Curled images of Beta(10, 0.5) numbers, so most points crowd together (`Mbeta`);
    /// 4 x dimension coordinates.
    Beta {
        /// Number of Beta numbers behind a point.
        dimension: NonZeroUsize,
    },
    /// A paraboloid over a multivariate Burr distribution, with sines and squares of its
    /// coordinates (`Mp1_Paraboloid` to `Mp3_Paraboloid`); 3 x (dimension + 1) coordinates.
    Paraboloid {
        /// Dimension of the ground below the paraboloid.
        dimension: NonZeroUsize,
    },
    /// A closed curve that winds eight times around a ring (`M5a_Helix1d`).
    Helix,
    /// A spiral staircase (`M5b_Helix2d`).
    Helicoid,
    /// The Swiss roll (`M7_Roll`).
    SwissRoll,
    /// A sheet bent into an S (`M13a_Scurve`).
    SCurve,
    /// A band that turns ten half turns while it closes (`M11_Moebius`).
    Moebius,
    /// A wide, flat spiral of five turns (`M13b_Spiral`).
    Spiral {
        /// Number of coordinates, at least 3; those not needed are zero.
        ambient: NonZeroUsize,
    },
    /// A sheet along a figure eight (`_gen_helicoid_data`, not part of the benchmark set).
    FigureEightSheet,
    /// A landscape of peaks and dips over the unit cube (`hyperTwinPeaks`,
    /// `hyperTwinPeaksUniform`); dimension + 1 coordinates.
    TwinPeaks {
        /// Dimension of the cube.
        dimension: NonZeroUsize,
        /// Height of the peaks.
        #[serde(default = "one")]
        height: PositiveF64,
        /// What the points are spread over evenly.
        #[serde(default)]
        density: Density,
    },
    /// A line, a disk, a ball and another line end to end, labeled as such (`lineDiskBall`).
    ///
    /// They touch exactly; the original leaves gaps that vanish as the number of points grows.
    LineDiskBall,
    /// A Swiss roll around a 3-sphere in 4 dimensions, both uniform, labeled as such
    /// (`swissRoll3Sph`).
    ///
    /// The sphere is one, as the original's description says; its code drops a coordinate of a
    /// 4-sphere, which fills a 4-dimensional ball.
    SwissRollAndSphere {
        /// Share of the points that lies on the sphere.
        #[serde(default = "half")]
        sphere: Fraction,
        /// Radius of the sphere and of the roll's inner end.
        #[serde(default = "one")]
        radius: PositiveF64,
        /// How much farther from the axis the roll's outer end is.
        #[serde(default = "two")]
        growth: PositiveF64,
        /// Number of turns of the roll.
        #[serde(default = "one_and_a_half")]
        turns: PositiveF64,
        /// Half of the roll's height.
        #[serde(default = "four")]
        height: PositiveF64,
    },
    /// A ring's surface, uniformly (`torus`).
    Torus {
        /// Radius of the ring.
        #[serde(default = "one")]
        radius: PositiveF64,
        /// Radius of the tube, below the ring's.
        #[serde(default = "quarter")]
        tube: PositiveF64,
    },
    /// A curve wound around a ring, uniform along its length (`toroidal_spiral`).
    ToroidalSpiral {
        /// How often it winds around the tube in one round.
        #[serde(default = "twenty")]
        twists: NonZeroUsize,
        /// Radius of the ring.
        #[serde(default = "one")]
        radius: PositiveF64,
        /// Radius of the tube, below the ring's.
        #[serde(default = "quarter")]
        tube: PositiveF64,
    },
    /// The surface of a curve turned around an axis, uniformly (`SurfaceOfRevolution`, `dumbbell`).
    Revolution {
        /// The curve.
        profile: Profile,
        /// The axis it is turned around.
        axis: Axis,
    },
    /// The path of the Lorenz system from (0, 1, 1.05), at even times (`lorenz_attractor`).
    ///
    /// Not quite a manifold: the fractal dimension of the attractor is about 2.06, and its points
    /// follow each other instead of being independent.
    Lorenz {
        /// Time of the last point.
        #[serde(default = "hundred")]
        duration: PositiveF64,
    },
    /// The product of two shapes: the coordinates of the one, then of the other (`product`).
    ///
    /// Points of the second shape are shuffled, so that shapes with an order are independent too.
    Product {
        /// The shape of the leading coordinates.
        first: Box<ManifoldShape>,
        /// The shape of the trailing coordinates.
        second: Box<ManifoldShape>,
    },
}

/// What points are spread over evenly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Density {
    /// The ground below the surface, so that steep parts have fewer points.
    #[default]
    Ground,
    /// The surface itself.
    Surface,
}

/// A part of a shape that has a dimension of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The name of the class that its points get.
    pub name: &'static str,
    /// Its dimension.
    pub dimension: usize,
}

impl ManifoldShape {
    /// Returns the intrinsic dimension, the largest one where [pieces](Self::pieces) differ.
    pub fn dimension(&self) -> usize {
        match self {
            Self::Sphere { dimension, .. }
            | Self::Ball { dimension, .. }
            | Self::Cube { dimension, .. }
            | Self::CubeSurface { dimension, .. }
            | Self::Affine { dimension, .. }
            | Self::Gaussian { dimension, .. }
            | Self::Nonlinear { dimension, .. }
            | Self::TangentArctangent { dimension }
            | Self::Beta { dimension }
            | Self::Paraboloid { dimension }
            | Self::TwinPeaks { dimension, .. } => dimension.get(),
            Self::Helix | Self::Spiral { .. } | Self::ToroidalSpiral { .. } => 1,
            Self::Helicoid
            | Self::SwissRoll
            | Self::SCurve
            | Self::Moebius
            | Self::FigureEightSheet
            | Self::Torus { .. }
            | Self::Revolution { .. }
            | Self::Lorenz { .. } => 2,
            Self::SwissRollAndSphere { sphere, .. } if sphere.get() <= 0.0 => 2,
            Self::AffineThreeInFive | Self::LineDiskBall | Self::SwissRollAndSphere { .. } => 3,
            Self::NonlinearFourInSix => 4,
            Self::Product { first, second } => first.dimension().saturating_add(second.dimension()),
        }
    }

    /// Returns the number of coordinates of a point.
    pub fn ambient(&self) -> usize {
        let times =
            |dimension: &NonZeroUsize, factor: usize| dimension.get().saturating_mul(factor);
        match self {
            Self::Sphere { ambient, .. }
            | Self::Ball { ambient, .. }
            | Self::Cube { ambient, .. }
            | Self::CubeSurface { ambient, .. }
            | Self::Affine { ambient, .. }
            | Self::Gaussian { ambient, .. }
            | Self::Spiral { ambient } => ambient.get(),
            Self::Helix
            | Self::Helicoid
            | Self::SwissRoll
            | Self::SCurve
            | Self::Moebius
            | Self::FigureEightSheet
            | Self::LineDiskBall
            | Self::Torus { .. }
            | Self::ToroidalSpiral { .. }
            | Self::Revolution { .. }
            | Self::Lorenz { .. } => 3,
            Self::SwissRollAndSphere { .. } => 4,
            Self::AffineThreeInFive => 5,
            Self::NonlinearFourInSix => 6,
            Self::Nonlinear { dimension, copies } => {
                times(dimension, 2).saturating_mul(copies.get())
            }
            Self::TangentArctangent { dimension } | Self::Beta { dimension } => times(dimension, 4),
            Self::Paraboloid { dimension } => times(dimension, 3).saturating_add(3),
            Self::TwinPeaks { dimension, .. } => dimension.get().saturating_add(1),
            Self::Product { first, second } => first.ambient().saturating_add(second.ambient()),
        }
    }

    /// Returns the parts of different dimension that the shape is made of, if there are several.
    pub fn pieces(&self) -> &'static [Piece] {
        match self {
            Self::LineDiskBall => &[
                Piece { name: "line", dimension: 1 },
                Piece { name: "disk", dimension: 2 },
                Piece { name: "ball", dimension: 3 },
            ],
            Self::SwissRollAndSphere { .. } => {
                &[Piece { name: "roll", dimension: 2 }, Piece { name: "sphere", dimension: 3 }]
            }
            _ => &[],
        }
    }
}

/// Makes a default from a number that is written down here.
fn positive(value: f64) -> PositiveF64 {
    PositiveF64::new(value).unwrap_or_else(|_| unreachable!("{value} lies above 0"))
}

fn quarter() -> PositiveF64 {
    positive(0.25)
}

fn half() -> Fraction {
    Fraction::new(0.5).unwrap_or_else(|_| unreachable!("0.5 lies between 0 and 1"))
}

fn one() -> PositiveF64 {
    positive(1.0)
}

fn one_and_a_half() -> PositiveF64 {
    positive(1.5)
}

fn two() -> PositiveF64 {
    positive(2.0)
}

fn four() -> PositiveF64 {
    positive(4.0)
}

fn twenty() -> NonZeroUsize {
    const { NonZeroUsize::new(20).unwrap() }
}

fn hundred() -> PositiveF64 {
    positive(100.0)
}
